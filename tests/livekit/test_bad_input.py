"""What a session is given in error is told when it is made, in one message with the remedy."""

from __future__ import annotations

import asyncio
import re
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import attrs
import pytest
from livekit.agents import Agent

import turnfsm.runtime.livekit
from turnfsm.fsm import HostError, TurnfsmError, load_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.conversation.vocabulary import FACTS, OPTIONAL_TRIGGERS, TRIGGERS
from turnfsm.runtime.journal import JsonlSink
from turnfsm.runtime.testing.clock import VirtualClock
from turnfsm.runtime.testing.livekit import ScriptedLLM, Stage

TURN = load_flow("turn")


def _variant(path: Path, text: str) -> Path:
    file = path / "variant.yaml"
    file.write_text(f"flow: variant\nkind: turn\nextends: turn\n{text}")
    return file


async def test_a_flow_of_something_else_is_refused() -> None:
    """With every name that is missing, and how to get them."""
    with pytest.raises(HostError, match=r"lacks the trigger 'user_started_speaking', .*'turn_com"):
        TurnSession(flow="session")
    with pytest.raises(HostError, match="write 'extends: turn', which has them all"):
        TurnSession(flow="session")


async def test_a_start_that_fails_can_be_made_again(virtual_time: VirtualClock) -> None:
    """A run before it is an error, as on AgentSession; nothing watches a session that has not
    started."""
    session = TurnSession(llm=ScriptedLLM({"hello": "Hi."}), telemetry=True)
    with pytest.raises(RuntimeError, match="isn't running"):
        session.run(user_input="hello")
    with pytest.raises(TypeError, match="nonsense"):
        await session.start(Agent(instructions="Help."), nonsense=True)  # type: ignore[call-arg]
    assert asyncio.all_tasks() == {asyncio.current_task()}
    await session.start(Agent(instructions="Help."))
    result = await session.run(user_input="hello")
    result.expect.next_event().is_message(role="assistant")
    await session.aclose()
    assert session.turn.closed


async def test_a_flow_that_never_answers_is_refused() -> None:
    """An action that the binding needs must be used somewhere, not only declared."""
    states = {
        name: attrs.evolve(state, on={**state.on, "turn_committed": ()})
        for name, state in TURN.states.items()
    }
    with pytest.raises(HostError, match="lacks the action 'answer_turn' in a transition"):
        TurnSession(flow=attrs.evolve(TURN, states=states))


async def test_an_action_without_a_method_is_refused(tmp_path: Path) -> None:
    """It is named, with what to do."""
    text = "actions: {dance: {}}\nstates: {listening: {on: {final_transcript: {actions: [dance]}}}}"
    with pytest.raises(HostError, match="needs the action 'dance', which Agent does not implement"):
        await TurnSession(flow=_variant(tmp_path, text), proof="off").start(Agent(instructions=""))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"flow": "tunr"}, "no flow 'tunr'; did you mean 'turn'?"),
        ({"timers": {"setle": 1.0}}, "no timer 'setle'; did you mean 'settle'?"),
        ({"timers": {"settle": -1.0}}, "timer 'settle' is -1.0; give 0 < seconds < 86400"),
        ({"timers": {"settle": "1"}}, "timer 'settle' is '1'; give 0 < seconds < 86400"),
        ({"timers": {"settle": True}}, "timer 'settle' is True; give 0 < seconds < 86400"),
        ({"timers": 0.5}, "timers is 0.5; give timers and seconds: timers={'settle': 0.5}"),
        ({"sinks": JsonlSink(StringIO())}, "sinks is one JsonlSink; give a list: sinks=[...]"),
        ({"sinks": "x.jsonl"}, "sinks is 'x.jsonl'; give a list of sinks: sinks=[JsonlSink("),
        ({"sinks": 5}, "sinks is 5; give a list of sinks"),
        ({"sinks": ["x.jsonl"]}, "'x.jsonl' is not a sink; give a list of sinks"),
        ({"sinks": [JsonlSink]}, "is not a sink; give a list of sinks"),
    ],
)
async def test_misspelt_and_impossible_options_are_refused(options: Any, said: str) -> None:
    """A name is compared with those that there are, a number with what is possible."""
    with pytest.raises(TurnfsmError, match=re.escape(said)):
        TurnSession(**options)


def test_a_misspelt_argument_is_named_with_the_one_that_was_meant() -> None:
    """LiveKit's arguments count, too."""
    for wrong, meant in {
        "flwo": "flow",
        "turn_handlng": "turn_handling",
        "obseve": "observe",
    }.items():
        said = (
            f"TurnSession() got an unexpected keyword argument {wrong!r}; did you mean {meant!r}?"
        )
        with pytest.raises(TypeError, match=re.escape(said)):
            TurnSession(**{wrong: True})  # type: ignore[misc]
        with pytest.raises(TypeError, match=re.escape(said)):
            TurnSession(**{"observe": True, wrong: True})  # type: ignore[misc]


@pytest.mark.parametrize("text", ["by_name: {book: finnish}", "interrupted: never"])
def test_an_unknown_policy_is_refused_where_it_stands(text: str, tmp_path: Path) -> None:
    """The policies are those of the language, and the place is that of the word."""
    with pytest.raises(TurnfsmError, match=r"variant.yaml:4:\d+(.|\n)*(finish|'detach')"):
        load_flow(_variant(tmp_path, f"tools: {{{text}}}"))


def test_after_the_close_everything_is_refused() -> None:
    """A post to a closed session changes nothing and says why."""
    stage = Stage(TurnSession)
    stage.run(1.0)
    turn = stage.session.turn  # type: ignore[attr-defined]
    verdict = turn.post("turn_committed")
    assert not verdict
    assert "the runtime is closed; make a new one for a new session" in str(verdict)


def test_two_sessions_have_a_runtime_each() -> None:
    """They share the flow, which is a value; they do not share the state."""
    session: Any = partial(TurnSession, flow=TURN)
    one, two = Stage(session), Stage(session)
    one.run(1.0)
    two.run(1.0)
    first, second = one.session.turn, two.session.turn  # type: ignore[attr-defined]
    assert first is not second
    assert first.machine.program is second.machine.program
    assert first.journal is not second.journal


def test_the_vocabulary_has_every_name_that_the_binding_uses() -> None:
    """Every trigger that is posted and every fact that is read is in the table."""
    home = Path(turnfsm.runtime.livekit.__file__).parent
    code = "".join(
        p.read_text(encoding="utf-8")
        for p in (*home.glob("*.py"), *(home.parent / "conversation").glob("*.py"))
        if p.name
        not in ("lifecycle.py", "tool_call.py", "utterance.py")  # they have flows of their own
    )
    posted = set(re.findall(r"(?:turn\.|core\.)(?:post|offer)\(\s*\"(\w+)\"", code))
    assert {*TRIGGERS, *OPTIONAL_TRIGGERS} == posted
    assert set(TRIGGERS) == set(TURN.triggers)
    assert set(FACTS) == set(re.findall(r"holds\(\"(\w+)\"", code))
