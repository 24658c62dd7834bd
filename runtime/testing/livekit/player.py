"""Plays a scenario of a YAML file on a `TurnSession`, and reports failed checks."""

from __future__ import annotations

import copy
import inspect
from functools import partial
from typing import Any

from turnfsm.fsm.errors import TurnfsmError, near
from turnfsm.fsm.journal import Entry
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.named import load_named
from turnfsm.runtime.testing.script import Answer, Script, Step
from turnfsm.runtime.testing.script_checks import Observed, Played, judge

from .outcome import Outcome
from .scripted_llm import Call, Reply, ScriptedLLM
from .stage import Stage
from .user import user_of
from .voice import ScriptedTTS

__all__ = ["Played", "play_script"]


def play_script(script: Script) -> Played[Outcome]:
    """Play a scenario in virtual time, on its own loop.

    Args:
        script: The scenario.

    Returns:
        The observations, and the failed checks.

    Raises:
        TurnfsmError: The agent that the file names cannot be imported, or the scenario is for a
            Pipecat pipeline.

    Example:
        >>> from turnfsm.testing import load_script, play_script
        >>> play_script(load_script("hello.yaml")).problems
        ()
    """
    if script.host != "livekit":
        remedy = "play it with turnfsm.testing.pipecat.play_script"
        raise TurnfsmError(f"{script.place('host')}: the host is {script.host}; {remedy}")
    stage = _stage(script)
    outcome = stage.run(script.length)
    assert isinstance(stage.session, TurnSession)
    entries = tuple(e for e in stage.session.turn.journal if isinstance(e, Entry))
    observed = Observed(
        script,
        entries,
        tuple(outcome.heard),
        tuple((run.name, run.start) for run in outcome.tools),
        outcome.context,
        tuple(outcome.events),
    )
    errors = [f"at {t:.2f} s an error is logged: {text}" for t, text in outcome.errors]
    return judge(observed, outcome, errors)


def _stage(script: Script) -> Stage:
    model = ScriptedLLM(
        {key: _reply(answer) for key, answer in script.model.on_user.items()},
        {key: _reply(answer) for key, answer in script.model.on_tool.items()},
        on_update={key: _reply(answer) for key, answer in script.model.on_update.items()},
        otherwise=_reply(script.model.otherwise),
    )
    stage = Stage(
        partial(TurnSession, flow=script.load_flow()),
        user=user_of(script.user),
        llm=model,
        tts=ScriptedTTS(durations=dict(script.durations)),
        agent=_named(script, "agent", script.agent) if script.agent else None,
        can_pause=script.can_pause,
        **_options(script),
    )
    for step in script.do:
        stage.at(step.at, partial(_do, step))
    return stage


def _options(script: Script) -> dict[str, Any]:
    """The arguments of the session, by the names of `AgentSession`."""
    allowed = set(inspect.signature(AgentSession.__init__).parameters) - _SCRIPTED
    for name in script.session:
        if name not in allowed:
            remedy = _OTHER_KEYS.get(name) or near(name, allowed)
            place = script.place("session", name)
            raise TurnfsmError(f"{place}: a session has no option {name!r}; {remedy}")
    options = dict(script.session)
    handling = options.pop("turn_handling", {})
    options["turn_handling"] = {"turn_detection": script.turn_detection} | handling
    if script.timers:
        options["timers"] = dict(script.timers)
    if script.userdata is not None:
        options["userdata"] = _userdata(script)
    return options


_SCRIPTED = {"self", "stt", "vad", "llm", "tts", "loop", "userdata"}
_OTHER_KEYS = {
    **dict.fromkeys(("stt", "vad", "llm", "tts"), "it is scripted"),
    **dict.fromkeys(("userdata", "timers", "flow"), "it is a key of the scenario itself"),
}


def _userdata(script: Script) -> Any:
    """Plain data is used as written; a text names a function that makes it."""
    if not isinstance(script.userdata, str):
        return copy.deepcopy(script.userdata)
    value = _named(script, "userdata", script.userdata)
    return value() if callable(value) else value


def _reply(answer: Answer) -> Reply:
    calls = [Call(call.tool, call.arguments) for call in answer.calls]
    return Reply(answer.text, calls=calls, ttft=answer.after)


async def _do(step: Step, stage: Stage) -> None:
    session = stage.session
    if step.interrupt:
        session.interrupt()
    elif step.say is not None:
        session.say(step.say)
    elif step.reply is not None:
        session.generate_reply(user_input=step.reply)
    elif step.commit:
        session.commit_user_turn()
    else:
        await session.aclose()


def _named(script: Script, key: str, name: str) -> Any:
    return load_named(name, script.file.parent, f"{script.place(key)}: {key}")
