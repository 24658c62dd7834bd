"""An application that is written for a `TurnSession` runs in an observed one."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent, RunContext, function_tool

from turnfsm import TurnfsmError
from turnfsm.livekit import (
    NotMade,
    OrphanedCall,
    TurnContext,
    TurnSession,
    host_fact,
    on_interruption,
    once,
    recover_with,
    turn_action,
)
from turnfsm.metrics import measure
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedUser, Stage

observed = partial(TurnSession, observe=True)


async def never_made(call: OrphanedCall) -> str:
    raise NotMade


class Clerk(Agent):
    """Uses what docs/livekit.md, docs/faq.md and docs/store.md show."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")
        self.keys: list[str] = []

    @recover_with(never_made)
    @on_interruption("hold")
    @once
    @function_tool
    async def pay(self, ctx: TurnContext, amount: int) -> str:
        """Pay."""
        self.keys.append(ctx.call_key)
        await ctx.wait_for_playout()
        await asyncio.sleep(3.0)
        await ctx.commit_point()
        assert ctx.call_key == self.keys[-1]
        return f"paid {amount} for {ctx.userdata}"

    @function_tool
    async def search(self, ctx: RunContext[str]) -> str:
        """Search."""
        assert isinstance(ctx, TurnContext)
        async with ctx.with_filler("One moment.", delay=0.5):
            await asyncio.sleep(2.0)
        async with ctx.foreground():
            pass
        await ctx.update("half done")
        ctx.disallow_interruptions()
        session = ctx.session
        session.turn.expect("digits", length=4)
        session.turn.expect_parameter("pay", "amount")
        return f"{session.epoch} {dict(session.missing_features)} {session.ledger['call_1'].state}"

    @turn_action
    def ring(self, event: object) -> None:
        raise AssertionError("an observed session carries out nothing")

    @host_fact
    def rung(self) -> bool:
        raise AssertionError("an observed session asks nothing")


def play(tool: str, make: Any = observed, **arguments: object) -> tuple[Any, Clerk]:
    """A call of the tool, during which the user speaks: `commit_point` of a governed session
    raises."""
    reply = Reply("I do it.", calls=Call(tool, arguments))
    model = ScriptedLLM({tool: reply}, {tool: "It is done."})
    user = ScriptedUser().says(tool, at=1.0).says("no stop that", at=4.0)
    clerk = Clerk()
    stage = Stage(make, user=user, llm=model, agent=lambda: clerk, userdata="Ada")
    return stage.run(15.0), clerk


def test_a_tool_gets_a_turn_context_whose_commit_point_does_nothing() -> None:
    outcome, clerk = play("pay", amount=5)
    assert outcome.errors == []
    assert [run.message for run in outcome.tools] == ["paid 5 for Ada"]
    assert len(set(clerk.keys)) == 1
    assert clerk.keys[0].startswith("speech_")


def test_every_member_of_the_context_does_what_it_does_in_livekit() -> None:
    outcome, _ = play("search")
    assert outcome.errors == []
    assert outcome.heard_saying("One moment.") is not None
    assert outcome.tools[0].message == "0 {} running"


def test_the_context_of_an_observed_session_overrides_nothing_of_livekit() -> None:
    """Each member that is not LiveKit's does nothing, or calls LiveKit's."""
    own = {name for name in vars(TurnContext) if not name.startswith("_")}
    assert own == {"commit_point", "call_key", "wait_for_playout"}


HOOKS = {"agent_comes", "follow_options", "session_closed", "taken"}
"""What turnfsm itself calls."""


async def test_an_observed_session_has_the_members_of_a_governed_one() -> None:
    """Each works without an effect."""
    session = observed()
    own = {name for name in vars(TurnSession) if not name.startswith("_")} - HOOKS
    assert own - set(dir(session)) == set()
    for event in ("turn_verdict", "turn_waits_long", "turn_limit_reached", "turn_property_broken"):
        session.on(event, print)
    assert await session.restore() is None
    assert session.epoch == 0
    assert session.missing_features == {}
    assert session.backchannel_output is None
    assert list(session.ledger) == []
    session.turn.retime({"settle": 1.0})
    session.turn.note("mine")
    assert session.turn.ask("barge_in") is not None


def test_an_observed_session_counts_turns_and_calls() -> None:
    """As a governed one does."""
    outcomes = {}
    figures = {}
    for observe in (True, False):
        model = ScriptedLLM(
            {"pay": Reply("I do it.", calls=Call("pay", {"amount": 5})), "time": "It is noon."},
            {"pay": "It is done."},
        )
        user = ScriptedUser().says("pay", at=1.0).says("the time please", at=12.0)
        make = partial(TurnSession, observe=observe)
        stage = Stage(make, user=user, llm=model, agent=Clerk, userdata="Ada")
        stage.run(18.0)
        session: Any = stage.session
        calls = [(call.name, call.gave) for call in session.ledger]
        outcomes[observe] = dict(session.user_turns), calls
        figures[observe] = measure(session.turn.journal.read())
    assert outcomes[True] == outcomes[False]
    assert outcomes[True][0]["replied"] == 2
    assert outcomes[True][1] == [("pay", "result")]
    assert figures[True].turns == figures[False].turns == {"replied": 2}
    assert len(figures[True].responses) == len(figures[False].responses) == 2
    assert figures[True].tool_calls == figures[False].tool_calls
    assert len(figures[True].turn_ends) == 2


async def test_a_flow_with_what_a_client_calls_is_an_error_that_names_the_remedy() -> None:
    """Nothing would open the microphone of an observed session."""
    flow = parsed("flow: radio\nextends: push_to_talk\nbutton: {}\n")
    with pytest.raises(TurnfsmError, match=r"'radio' cannot be observed.*flow='turn'"):
        observed(flow=flow)


async def test_a_flow_that_needs_a_turn_detection_does_not_start_without_it() -> None:
    """As a governed session; the message says what to give."""
    session = observed(flow="push_to_talk")
    with pytest.raises(TurnfsmError, match=r"give turn_handling=\{'turn_detection': 'manual'\}"):
        await session.start(Clerk())
    assert session.turn.state == "listening"


async def test_a_subclass_whose_methods_would_be_missing_is_an_error() -> None:
    class Ours(TurnSession[Any]):
        def greet(self) -> None: ...

    with pytest.raises(
        TurnfsmError, match=r"none of the methods of Ours.*TurnSession\(observe=True"
    ):
        Ours(observe=True)


SECTIONS = """
flow: desk
extends: turn
tools:
  by_name: {pay: hold}
  confirm: {pay: {say: "Shall I pay {amount} euros?"}}
fillers: [{in: tool_running, after: 1.0, say: One moment., tools: pay}]
silence: {after: 4.0, say: Are you still there?}
"""


def test_what_a_section_of_the_flow_would_have_done_is_in_the_notes() -> None:
    """The question before a tool, a policy, a filler, and what is said to a silent user."""
    model = ScriptedLLM({"pay": Reply(calls=Call("pay", {"amount": 5}))}, {"pay": "It is done."})
    user = ScriptedUser().says("pay", at=1.0).says("no stop that", at=5.0)
    make = partial(observed, flow=parsed(SECTIONS, "desk.yaml"))
    stage = Stage(make, user=user, llm=model, agent=Clerk, userdata="Ada")
    stage.run(25.0)
    session: Any = stage.session
    notes = [note.data for note in session.turn.journal.notes("otherwise")]
    said = {data["did"]: data["at"] for data in reversed(notes)}
    assert list(said)[::-1][:2] == [
        "pay ran without a question",
        'the agent did not say "One moment."',
    ]
    assert notes[0]["decided"] == "tools: confirm: pay runs after the user's yes"
    assert said["pay ran without a question"] == "desk.yaml:6:13"
    assert said['the agent did not say "One moment."'].startswith("desk.yaml:7:")
    assert said['the agent did not say "Are you still there?"'].startswith("desk.yaml:8:")


def test_a_policy_that_the_code_declares_is_in_the_notes() -> None:
    """The tool holds its turn, so the next one would have waited."""
    model = ScriptedLLM({"pay": Reply(calls=Call("pay", {"amount": 5}))}, {"pay": "It is done."})
    user = ScriptedUser().says("pay", at=1.0).says("no stop that", at=3.0)
    stage = Stage(observed, user=user, llm=model, agent=Clerk, userdata="Ada")
    stage.run(12.0)
    session: Any = stage.session
    notes = [note.data for note in session.turn.journal.notes("otherwise")]
    decided = "turn_committed refused in tool_running: tools_held"
    assert ("the turn was answered", decided) in [(n["did"], n["decided"]) for n in notes]


def test_an_action_of_your_own_is_in_the_notes() -> None:
    text = """
flow: bell
extends: turn
actions: {ring: Ring the bell.}
states: {listening: {on: {turn_committed: {actions: [ring, answer_turn]}}}}
"""
    make = partial(observed, flow=parsed(text, "bell.yaml"))
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(make, user=user, llm=ScriptedLLM({"hello": "Hi."}), agent=Clerk, userdata="Ada")
    stage.run(6.0)
    session: Any = stage.session
    [note] = session.turn.journal.notes("otherwise")
    assert note.data["did"] == "ring was not carried out"
    assert note.data["at"].startswith("bell.yaml:5:")
