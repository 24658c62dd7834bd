"""A tool waits for its preamble, or hands over: only an objection of the user stops it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent, AgentSession, RunContext, StopResponse, function_tool, llm
from livekit.agents.beta.tools import EndCallTool
from realtime_stage import Says
from sweeps import swept

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

GOODBYE = "thank you for calling and have a nice day goodbye"
PREAMBLE = "I put you through to our billing department right now"
BEGUN = 2.3
"""Seconds: when the goodbye or the preamble is first heard. It takes three seconds."""

BYE, THANKS, OBJECTION = "okay bye", "okay thank you", "no wait one more thing"
HUNG_UP = "hung up"
MOMENTS = [round(BEGUN - 0.15 + 0.14 * n, 2) for n in range(22)]
"""When the user begins to speak: from just before the preamble to just before its end."""

SWEPT = swept("moments", MOMENTS, every=7)
SOME_SWEPT = swept("moments", MOMENTS[3::4], every=2)

PAUSING = pytest.mark.parametrize("can_pause", [True, False], ids=["pauses", "cannot pause"])
KINDS = pytest.mark.parametrize("kind", ["client", "server"])
SESSIONS = pytest.mark.parametrize("session", [TurnSession, AgentSession])

ANSWERS = {
    "that is all": Reply(GOODBYE, calls=Call("hang_up")),
    "billing": Reply(PREAMBLE, calls=Call("transfer")),
    "okay": "You are welcome.",
    "one more": "Of course.",
}


class Clerk(Agent):
    """Hangs up, as the documentation of LiveKit has it, and transfers."""

    def __init__(self, *, transfer_takes: float = 0.0, ignores: str = "nothing") -> None:
        super().__init__(instructions="Help.")
        self.hung_up_at: float | None = None
        self._transfer_takes = transfer_takes
        self._ignores = ignores

    @function_tool
    async def hang_up(self, ctx: RunContext[Any]) -> str:
        """End the call."""
        await ctx.wait_for_playout()
        self.hung_up_at = asyncio.get_running_loop().time()
        return HUNG_UP

    @function_tool
    async def transfer(self) -> Agent:
        """Put the caller through to billing."""
        await asyncio.sleep(self._transfer_takes)
        return Says("Billing here.")

    async def on_user_turn_completed(self, _: Any, new_message: llm.ChatMessage) -> None:
        if self._ignores in (new_message.text_content or ""):
            raise StopResponse


def _said(user: ScriptedUser, words: str, at: float) -> ScriptedUser:
    return user.says(words, at=at) if words else user.makes_noise(at=at, duration=0.8)


def _stage(
    ask: str,
    words: str,
    at: float,
    clerk: Clerk,
    *,
    session: Any = TurnSession,
    kind: str = "pipeline",
    **options: Any,
) -> Stage:
    """`words` are said over the goodbye, or over "I put you through"; none: a noise."""
    user = ScriptedUser().says(ask, at=0.5, duration=1.1)
    if at:
        _said(user, words, at)
    answers = ScriptedLLM(ANSWERS, {"hang_up": "", "transfer": "It was not done."})
    tts = ScriptedTTS(durations={GOODBYE: 3.0, PREAMBLE: 3.0})
    model: Any = answers
    if kind != "pipeline":
        server = kind == "server"
        model = ScriptedRealtime(user, answers, tts, turn_detection=server)
        options["turn_handling"] = {"turn_detection": "realtime_llm" if server else "vad"}
    return Stage(session, user=user, llm=model, tts=tts, agent=lambda: clerk, **options)


def _hangs_up(words: str, at: float, **options: Any) -> float | None:
    clerk = options.pop("clerk", None) or Clerk()
    _stage("that is all", words, at, clerk, **options).run(11.0)
    return clerk.hung_up_at


def _transfers(words: str, at: float, *, takes: float = 0.0, **options: Any) -> int:
    clerk = Clerk(transfer_takes=takes)
    outcome = _stage("to billing please", words, at, clerk, **options).run(11.0)
    assert not outcome.errors
    assert outcome.orphans == ()
    return _handoffs(outcome)


def _handoffs(outcome: Outcome) -> int:
    return sum(item.type == "agent_handoff" for item in outcome.history.items) - 1


# -- the goodbye


@PAUSING
@SWEPT
def test_a_caller_who_says_bye_over_the_goodbye_is_hung_up(
    can_pause: bool, moments: list[float]
) -> None:
    """Whenever they say it."""
    never = [at for at in moments if _hangs_up(BYE, at, can_pause=can_pause) is None]
    assert never == []


@pytest.mark.one_in(2)
@PAUSING
@SWEPT
def test_a_caller_who_objects_is_not_hung_up(can_pause: bool, moments: list[float]) -> None:
    """Even if they begin so late that the goodbye is heard to its end."""
    hung_up = [at for at in moments if _hangs_up(OBJECTION, at, can_pause=can_pause) is not None]
    assert hung_up == []


@PAUSING
@SWEPT
def test_a_noise_is_no_objection(can_pause: bool, moments: list[float]) -> None:
    """It is over two seconds after it, when no words have come."""
    times = [_hangs_up("", at, can_pause=can_pause) for at in moments]
    assert all(time is not None for time in times)


@KINDS
@SOME_SWEPT
@pytest.mark.parametrize("words", [BYE, OBJECTION, ""], ids=["bye", "objection", "noise"])
def test_a_realtime_model_hangs_up_unless_the_user_objects(
    kind: str, words: str, moments: list[float]
) -> None:
    """Its transcripts may come after it has begun to answer."""
    times = [_hangs_up(words, at, kind=kind) for at in moments]
    assert [time is None for time in times] == [words == OBJECTION] * len(times)


def test_the_effect_comes_when_the_words_are_known() -> None:
    """The caller says "okay bye" from 3.0 to 3.6 s, and the turn ends 0.5 s later."""
    at = _hangs_up(BYE, 3.0)
    assert at is not None
    assert 3.6 <= at < 4.3


def test_the_model_reads_that_an_objection_has_stopped_the_call() -> None:
    """It is asked when that is known, and answers nothing before."""
    outcome = _stage("that is all", OBJECTION, 3.0, Clerk()).run(11.0)
    asked = [request for request in outcome.requests if OBJECTION in request.prompt]
    assert asked
    for request in asked:
        assert any(line.startswith("output") and "(error)" in line for line in request.context)


def test_what_the_application_does_not_answer_is_no_objection() -> None:
    """Its hook has raised `StopResponse`."""
    assert _hangs_up(OBJECTION, 3.0, clerk=Clerk(ignores="one more")) is not None


def test_the_wait_does_not_go_on_for_a_user_who_may_not_interrupt() -> None:
    """What they say is answered afterwards."""
    unless = {"turn_detection": "vad", "interruption": {"enabled": False}}
    at = _hangs_up(OBJECTION, 4.5, turn_handling=unless)
    assert at is not None
    assert at < 5.4


def test_the_application_stops_a_tool_that_waits() -> None:
    """The user has said nothing."""
    clerk = Clerk()
    stage = _stage("that is all", "", 0.0, clerk)
    stage.at(3.0, lambda stage: stage.session.interrupt() and None)
    outcome = stage.run(11.0)
    assert clerk.hung_up_at is None
    (run,) = outcome.tools
    assert run.end is not None
    assert run.end < 3.1


@SESSIONS
def test_a_close_is_no_objection(session: Any) -> None:
    """The caller hangs up while the tool waits: it has its effect, as on `AgentSession`."""
    clerk = Clerk()
    stage = _stage("that is all", "", 0.0, clerk, session=session)
    stage.run(3.0)
    assert clerk.hung_up_at is not None


@pytest.mark.parametrize(
    "limit",
    [
        {"timers": {"pause_limit": 3.0}},
        {"flow": parsed("{flow: mine, extends: turn, tools: {objection_limit: 3.0}}")},
    ],
    ids=["pause_limit", "objection_limit"],
)
def test_a_voice_without_words_is_not_waited_for_forever(limit: dict[str, Any]) -> None:
    """The goodbye is cut at its start; the sound goes on for eight seconds."""
    clerk = Clerk()
    stage = _stage("that is all", "", 0.0, clerk, **limit, can_pause=False)
    stage.user.makes_noise(at=2.5, duration=8.0)
    outcome = stage.run(11.0)
    assert clerk.hung_up_at is not None
    assert 5.9 < clerk.hung_up_at < 6.5
    assert any("stops waiting for the user" in text for _, text in outcome.warnings)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "change",
    [
        "phrases: {acknowledged: {without: [okay, bye]}}",
        "groups: {all: {on: {message_answered: "
        "{unless: empty_transcript, actions: note_objection}}}}\n"
        "properties: {waived: {thanks_are_no_objection: Every answer counts.}}",
    ],
)
def test_a_flow_says_what_an_objection_is(change: str) -> None:
    """Its phrases, or its guard."""
    flow = parsed(f"flow: mine\nextends: turn\n{change}\n")
    assert _hangs_up(BYE, 3.0, session=partial(TurnSession, flow=flow, proof="off")) is None


@SESSIONS
@pytest.mark.parametrize("words", [BYE, OBJECTION], ids=["bye", "objection"])
def test_livekits_own_tool_ends_the_call_on_both(session: Any, words: str) -> None:
    """`EndCallTool` closes the session when its reply is over, whatever the caller has said."""
    tool = EndCallTool(delete_room=False)
    tool._on_session_close = lambda ev: None  # type: ignore[method-assign]
    closed: list[float] = []
    for at in (2.0, 2.6, 3.4, 4.9):
        user = ScriptedUser().says("that is all", at=0.5).says(words, at=at)
        model = ScriptedLLM(
            {"all": Reply(calls=Call("end_call")), "one more": "Of course."}, {"end_call": GOODBYE}
        )
        tts = ScriptedTTS(durations={GOODBYE: 3.0})
        stage = Stage(session, user=user, llm=model, tts=tts, tools=[tool])

        def listen(stage: Stage) -> None:
            stage.session.on("close", lambda _: closed.append(stage.now))

        stage.at(0.1, listen).run(11.0)
    assert len(closed) == 4
    assert max(closed) < 9.0


# -- the transfer


@pytest.mark.one_in(3)
@PAUSING
@SWEPT
@pytest.mark.parametrize("takes", [0.0, 2.0], ids=["at once", "after 2 s"])
def test_thanks_over_a_transfer_let_it_happen(
    can_pause: bool, takes: float, moments: list[float]
) -> None:
    """Whenever the caller thanks."""
    made = [_transfers(THANKS, at, takes=takes, can_pause=can_pause) for at in moments]
    assert made == [1] * len(moments)


@KINDS
@SOME_SWEPT
def test_thanks_let_a_realtime_model_transfer(kind: str, moments: list[float]) -> None:
    """Its transcripts may come after it has begun to answer."""
    assert [_transfers(THANKS, at, kind=kind) for at in moments] == [1] * len(moments)


@pytest.mark.parametrize("kind", ["pipeline", "client", "server"])
def test_a_noise_does_not_stop_a_transfer(kind: str) -> None:
    """Even if the output cannot pause."""
    made = [_transfers("", at, kind=kind, can_pause=False) for at in MOMENTS[3::6]]
    assert made == [1] * 4


@PAUSING
@swept("moments", MOMENTS[:-2:3], every=2)
def test_an_objection_stops_a_transfer_and_the_model_may_call_again(
    can_pause: bool, moments: list[float]
) -> None:
    """The caller comes back to it later."""
    for at in moments:
        stage = _stage("to billing please", OBJECTION, at, Clerk(), can_pause=can_pause)
        stage.user.says("now to billing", at=9.0)
        seen: list[str] = []
        stage.at(8.9, lambda stage, seen=seen: seen.append(stage.session.current_agent.id))
        outcome = stage.run(18.0)
        assert seen == ["clerk"], at
        assert _handoffs(outcome) == 1, outcome.timeline()
        refused = next(i for i in outcome.history.items if i.type == "function_call_output")
        assert "did not happen" in refused.output


def test_the_application_stops_a_transfer() -> None:
    """The user has said nothing."""
    stage = _stage("to billing please", "", 0.0, Clerk())
    stage.at(3.0, lambda stage: stage.session.interrupt() and None)
    assert _handoffs(stage.run(11.0)) == 0


def test_the_words_of_an_agent_that_hands_over_are_in_the_conversation() -> None:
    """A tool may return text beside the agent; it is the output of the call."""

    class Porter(Clerk):
        @function_tool
        async def transfer(self) -> Any:
            """Put the caller through."""
            return Says("Billing here."), "put through"

    outcome = _stage("to billing please", THANKS, 3.0, Porter()).run(11.0)
    assert _handoffs(outcome) == 1
    outputs = [i.output for i in outcome.history.items if i.type == "function_call_output"]
    assert outputs == ["put through"]
