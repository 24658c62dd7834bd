"""What an application passes to a session stays its own: nothing is set on it."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession, ModelSettings, RunContext, function_tool, llm
from livekit.agents.voice.run_result import RunResult
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.livekit import EventRecorder, TurnSession
from turnfsm.runtime.livekit.overrides.run import GovernedRun
from turnfsm.runtime.livekit.overrides.speech import GovernedHandle
from turnfsm.runtime.livekit.overrides.tool_context import GovernedContext
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

BOTH = pytest.mark.parametrize("session_class", [AgentSession, TurnSession])


class Weatherman(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def weather(self) -> str:
        """The weather."""
        return "It rains."


def _conversation(session_class: Any, *, realtime: bool = False) -> Stage:
    """A greeting, a call, an answer with its result and an interruption, in ten seconds."""
    user = ScriptedUser().says("weather", at=2.0).says("stop", at=5.0)
    answers = ScriptedLLM(
        {"weather": Reply("Let me see.", calls=(Call("weather"),))},
        otherwise=lambda request: Reply("It rains today, and tomorrow, and for ever."),
    )
    voice = ScriptedTTS()
    model = ScriptedRealtime(user, answers, voice) if realtime else answers
    stage = Stage(session_class, user=user, llm=model, tts=voice, agent=Weatherman)
    return stage.at(0.2, lambda s: s.session.say("Good morning.") and None)


def _set_on(stage: Stage) -> dict[str, list[str]]:
    """What the application's objects have in their instances, by the name of the object."""
    agent, output, model = stage.session.current_agent, stage.session.output.audio, stage.llm
    passed = {"agent": agent, "output": output, "llm": model, "tts": stage.tts, "vad": stage.vad}
    passed |= {"stt": stage.stt, "tool": agent.tools[0], "class": type(agent)}
    if isinstance(model, ScriptedRealtime):
        passed["realtime session"] = model.sessions[-1]
    return {name: sorted(map(str, vars(one))) for name, one in passed.items() if one is not None}


def _watched(session_class: Any, realtime: bool) -> list[dict[str, list[str]]]:
    stage, seen = _conversation(session_class, realtime=realtime), []
    for tenth in range(1, 90):
        stage.at(tenth / 10, lambda s: seen.append(_set_on(s)))
    agents: list[Agent] = []
    stage.at(0.1, lambda s: agents.append(s.session.current_agent))
    outcome = stage.run(10.0)
    assert len(outcome.heard) > 2, outcome.timeline()
    assert len(seen) == 89
    return [*seen, {"agent": sorted(vars(agents[0]))}]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("realtime", [False, True], ids=["pipeline", "realtime"])
def test_nothing_is_set_on_what_the_application_passes(realtime: bool) -> None:
    """Not while it is used, and not after the close."""
    names = {name for moment in _watched(AgentSession, realtime) for name in moment}
    for name in names:
        theirs, ours = (
            {one for moment in _watched(kind, realtime) for one in moment.get(name, ())}
            for kind in (AgentSession, TurnSession)
        )
        assert ours == theirs, name


@BOTH
def test_the_model_node_of_an_agent_is_its_method(session_class: Any) -> None:
    """In the session, and after it; it can be called with keywords and replaced."""
    stage, seen = _conversation(session_class), []

    def look(agent: Agent) -> None:
        node = agent.llm_node
        seen.append((node.__name__, node.__func__ is Agent.llm_node, "llm_node" in vars(agent)))  # type: ignore[attr-defined]

    async def ask(stage: Stage) -> None:
        agent = stage.session.current_agent
        look(agent)
        asked = llm.ChatContext.empty()
        asked.add_message(role="user", content="hello")
        node = agent.llm_node(chat_ctx=asked, tools=[], model_settings=ModelSettings())
        seen.append([chunk async for chunk in node] != [])  # type: ignore[union-attr]

    stage.at(1.0, ask)
    agents: list[Agent] = []
    stage.at(1.0, lambda s: agents.append(s.session.current_agent))
    stage.run(10.0)
    look(agents[0])
    own = ("llm_node", True, False)
    assert seen == [own, True, own]


@BOTH
def test_a_model_node_that_is_replaced_in_the_session_is_used(session_class: Any) -> None:
    stage = _conversation(session_class)

    async def node(chat_ctx: Any, tools: Any, model_settings: Any) -> str:
        return "Nobody knows."

    stage.at(1.0, lambda s: setattr(s.session.current_agent, "llm_node", node))
    assert "Nobody knows." in [heard.text for heard in stage.run(10.0).heard]


@BOTH
def test_a_recorder_of_events_leaves_a_session_as_it_was(session_class: Any) -> None:
    import io

    kept: list[AgentSession[Any]] = []

    def make(**options: Any) -> AgentSession[Any]:
        session = session_class(**options)
        EventRecorder(session, io.StringIO())
        kept.append(session)
        return session  # type: ignore[no-any-return]

    _conversation(make).run(10.0)
    assert "aclose" not in vars(kept[0])


# -- the classes


def _parameters(function: Any) -> dict[str, tuple[Any, Any]]:
    """The kind and the default of each parameter; arguments of a `TypedDict` are keywords."""
    found: dict[str, tuple[Any, Any]] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        found[name] = parameter.kind, parameter.default
    return found


PUBLIC = [
    (theirs, ours, name)
    for theirs, ours in [
        (AgentSession, TurnSession),
        (SpeechHandle, GovernedHandle),
        (RunResult, GovernedRun),
        (RunContext, GovernedContext),
    ]
    for name in ["__init__", *(name for name in dir(theirs) if not name.startswith("_"))]
    if inspect.isfunction(inspect.getattr_static(theirs, name))
]


@pytest.mark.parametrize(
    ("theirs", "ours", "name"), PUBLIC, ids=[f"{a.__name__}.{name}" for a, _, name in PUBLIC]
)
def test_a_method_takes_what_livekits_takes(theirs: type, ours: type, name: str) -> None:
    """Each parameter, of the same kind, in the same order, with the same default."""
    expected = _parameters(getattr(theirs, name))
    found = _parameters(getattr(ours, name))
    assert {one: found.get(one) for one in expected} == expected
    order = [one for one in found if one in expected]
    assert order == list(expected)
    own = set(found) - set(expected)
    assert all(found[one][0] is inspect.Parameter.KEYWORD_ONLY for one in own)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    {(theirs, ours): None for theirs, ours, _ in PUBLIC},
    ids=lambda k: k.__name__,
)
def test_a_class_has_the_properties_of_livekits(theirs: type, ours: type) -> None:
    """A property is one, and can be set if LiveKit's can."""
    for name in dir(theirs):
        static = inspect.getattr_static(theirs, name)
        if isinstance(static, property) and not name.startswith("_"):
            own = inspect.getattr_static(ours, name)
            assert isinstance(own, property)
            assert (own.fset is None) == (static.fset is None), name


EXPRESSIONS: dict[str, Any] = {
    "repr": lambda one: repr(one).partition(" at 0x")[0],
    "str": lambda one: str(one).partition(" at 0x")[0],
    "pickle": pickle.dumps,
    "hash": lambda one: hash(one) == hash(one),
    "equal": lambda one: one == one,
    "run a second one": lambda one: None,
}


def _said_of(value: Any) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, expression in EXPRESSIONS.items():
        try:
            said[name] = expression(value)
        except Exception as error:
            said[name] = type(error), str(error)
    return said


def _results(session_class: Any) -> dict[str, Any]:
    """What a speech and a run are to an application, while they run and when they are done."""
    stage, kept, said = _conversation(session_class), {}, {}

    async def begin(stage: Stage) -> None:
        kept["speech"] = stage.session.generate_reply(user_input="hello")
        said["speech"] = _said_of(kept["speech"])
        await kept["speech"]
        kept["run"] = stage.session.run(user_input="hello again")
        said["run"] = _said_of(kept["run"])
        await kept["run"]

    stage.at(10.0, begin)
    stage.run(30.0)
    return said | {f"{name} done": _said_of(one) for name, one in kept.items()}


def test_a_speech_and_a_run_print_and_pickle_as_livekits() -> None:
    ours = _results(TurnSession)
    assert len(ours) == 4
    assert ours == _results(AgentSession)
