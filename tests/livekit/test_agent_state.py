"""The agent's state and the order of its events are stock's wherever stock tells the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from both import Session
from livekit.agents import Agent, AgentSession, RunContext, function_tool
from scripted_tool import tool

from turnfsm.livekit import TurnSession, host_fact
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

GIVES = "It is done."
slow = tool("slow", "done", seconds=1.0)


quick = tool("quick", "done", seconds=0.5)


gives_nothing = tool("gives_nothing", seconds=1.0)


@function_tool
async def speaks(context: RunContext[Any]) -> str:
    """Say something first."""
    await context.session.say("Working on it.")
    await asyncio.sleep(1.0)
    return "done"


@function_tool
async def fills(context: RunContext[Any]) -> str:
    """Say again and again that it takes a moment."""
    async with context.with_filler("One moment please.", delay=0.5, interval=1.0):
        await asyncio.sleep(5.0)
    return "done"


TOOLS = [slow, quick, gives_nothing, speaks, fills]


class _Greets(Agent):
    def __init__(self, how: str) -> None:
        super().__init__(instructions="Greet.", tools=TOOLS)
        self.how = how

    async def on_enter(self) -> None:
        if self.how == "generate_reply":
            self.session.generate_reply(instructions="greet")
        elif self.how == "say":
            await self.session.say("Hello there.")


def _stage(session_class: Session, reply: Reply | str = "", greets: str = "") -> Stage:
    """The user asks at 1 s if there is a reply; each tool that gives something is answered."""
    user = ScriptedUser()
    if reply:
        user.says("do it please", at=1.0)
    names = ("slow", "quick", "speaks", "nope", "fills")
    rules = {"please": reply, "thanks": "Welcome.", "never mind": "All right.", "greet": "Hello."}
    model = ScriptedLLM(rules, dict.fromkeys(names, GIVES))  # type: ignore[arg-type]
    return Stage(session_class, user=user, llm=model, agent=lambda: _Greets(greets))


def _calls(text: str, *names: str) -> Callable[[Session], Stage]:
    reply = Reply(text, calls=[Call(name) for name in names])
    return lambda kind: _stage(kind, reply)


CONVERSATIONS: dict[str, Callable[[Session], Stage]] = {
    "say": lambda k: _stage(k).at(1.0, lambda s: s.session.say("Hello.") and None),
    "on_enter says": lambda k: _stage(k, greets="say"),
    "on_enter asks the model": lambda k: _stage(k, greets="generate_reply"),
    "a reply": lambda k: _stage(k, "Sure I do."),
    "typed": lambda k: _stage(k).at(
        1.0, lambda s: s.session.generate_reply(user_input="thanks") and None
    ),
    "a tool": _calls("", "slow"),
    "a preamble and a tool": _calls("Let me see that.", "slow"),
    "two tools": _calls("", "slow", "quick"),
    "a tool without a reply": _calls("", "gives_nothing"),
    "a preamble and a tool without a reply": _calls("Let me see.", "gives_nothing"),
    "an unknown tool": _calls("", "nope"),
    "a preamble and an unknown tool": _calls("One moment.", "nope"),
    "a tool that speaks": _calls("", "speaks"),
}


def _events(stage: Stage) -> tuple[list[Any], list[str]]:
    outcome = stage.run(12.0)
    lines = [event.what for event in outcome.events if event.lane in ("agent", "context")]
    return outcome.agent_states, lines


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_states_and_the_order_of_events_are_those_of_stock(name: str) -> None:
    stock, ours = (_events(CONVERSATIONS[name](kind)) for kind in (AgentSession, TurnSession))
    assert ours == stock


def test_a_model_that_works_on_after_a_text_of_the_application_is_thinking() -> None:
    """The result comes while the text is heard; the reply to it is requested, and comes later."""
    stage = _calls("", "slow")(TurnSession)
    stage.at(2.6, lambda stage: stage.session.say("One moment please."))
    outcome = stage.run(12.0)
    said = outcome.heard_saying("One moment")
    answer = outcome.heard[-1]
    assert said is not None
    assert answer.start - said.end > 0.1
    between = [state for t, state in outcome.agent_states if said.end <= t < answer.start]
    assert between == ["thinking"], outcome.timeline()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("at", [3.6, 4.0, 4.2, 4.4])
@pytest.mark.parametrize("awaited", [False, True])
def test_a_filler_ends_with_its_turn(awaited: bool, at: float) -> None:
    """Typed text interrupts and asks in one breath, at any moment of the filler."""

    async def type_text(stage: Stage) -> None:
        interrupting = stage.session.interrupt()
        if awaited:
            await interrupting
        stage.session.generate_reply(user_input="never mind")

    outcome = _calls("", "fills")(TurnSession).at(at, type_text).run(25.0)
    assert [h.text for h in outcome.heard if h.start > 9.0 and "moment" in h.text] == []


DICTATION = """\
flow: dictation
extends: turn
facts: {host: {dictates: The user dictates.}}
timers: {dictation_limit: 5.0}
states:
  listening:
    on:
      user_started_speaking: {dest: dictating, conditions: dictates, unless: turn_open}
  dictating:
    is: The user dictates; nothing is answered.
    on:
      turn_committed: {dest: listening, actions: answer_turn}
      tool_started: {dest: tool_running}
    after:
      dictation_limit: {dest: listening}
properties:
  waived:
    nothing_open_waits_at_rest: Nothing is said while the user dictates.
"""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("published", ["listening", "thinking"])
def test_a_state_of_ones_own_publishes_what_the_flow_says(published: str, tmp_path: Path) -> None:
    """By default listening: no sound of thinking is played."""

    class Host:
        @host_fact
        def dictates(self) -> bool:
            return True

    flow = tmp_path / "dictation.yaml"
    key = f"    agent_state: {published}\n" if published == "thinking" else ""
    head = "  dictating:\n"
    flow.write_text(DICTATION.replace(head, head + key))
    session: Any = partial(TurnSession, flow=flow, proof="off", actions=Host())
    user = ScriptedUser().says("to whom it may concern", at=1.0, duration=4.0)
    stage = Stage(session, user=user)
    states: list[str] = []
    stage.at(4.0, lambda stage: states.append(stage.session.turn.state))  # type: ignore[attr-defined]
    outcome = stage.run(5.0)
    assert states == ["dictating"]
    assert outcome.state_at(4.0) == published
