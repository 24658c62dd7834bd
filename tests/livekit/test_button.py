"""The section `button`: a turn lasts as long as the user holds a button."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit import rtc
from livekit.agents import function_tool

from turnfsm.fsm import Flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.livekit import TurnSession
from turnfsm.runtime.livekit.remote import REFUSED, RemoteTriggers
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "Once upon a time there was a king."
ANSWER = "At platform nine."


def flow_of(button: str = "{}", extends: str = "push_to_talk", more: str = "") -> Flow:
    return parsed(f"flow: radio\nextends: {extends}\nbutton: {button}\n{more}")


def play(moves: dict[float, str], user: ScriptedUser, flow: Flow | None = None) -> Outcome:
    stage = Stage(
        partial(TurnSession, flow=flow or flow_of(), proof="off"),
        user=user,
        llm=ScriptedLLM({"train": ANSWER}, otherwise="As you like."),
        tts=ScriptedTTS(durations={STORY: 6.0}),
    )
    stage.at(0.5, lambda s: s.session.say(STORY) and None)

    def post(trigger: str) -> Callable[[Stage], None]:
        def move(stage: Stage) -> None:
            session: Any = stage.session
            assert session.turn.post(trigger)

        return move

    for at, trigger in moves.items():
        stage.at(at, post(trigger))
    outcome = stage.run(14.0)
    assert outcome.errors == [], outcome.timeline()
    assert outcome.orphans == ()
    return outcome


def said(outcome: Outcome) -> list[str]:
    return [line for line in outcome.context if line.startswith("user")]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("extends", ["push_to_talk", "turn"])
def test_a_press_interrupts_and_the_release_is_answered(extends: str) -> None:
    user = ScriptedUser().says("when is the train", at=3.3)
    outcome = play({3.0: "button_pressed", 5.0: "button_released"}, user, flow_of(extends=extends))
    story, answer = outcome.heard
    assert story.end == pytest.approx(3.0, abs=0.1), outcome.timeline()
    assert (answer.text, answer.start > 5.0) == (ANSWER, True), outcome.timeline()
    assert said(outcome) == ["user: when is the train"]


def test_nothing_is_heard_without_the_button() -> None:
    user = ScriptedUser().says("when is the train", at=1.0)
    outcome = play({}, user)
    assert [one.text for one in outcome.heard] == [STORY]
    assert outcome.heard[0].end > 6.0
    assert said(outcome) == []


def test_what_was_said_before_the_press_does_not_count() -> None:
    user = ScriptedUser().says("not this", at=1.0).says("when is the train", at=7.5)
    outcome = play({7.2: "button_pressed", 9.5: "button_released"}, user)
    assert said(outcome) == ["user: when is the train"], outcome.timeline()


def test_a_turn_that_is_taken_back_is_not_answered() -> None:
    user = ScriptedUser().says("when is the train", at=7.5)
    outcome = play({7.2: "button_pressed", 9.5: "button_cancelled"}, user)
    assert [one.text for one in outcome.heard] == [STORY], outcome.timeline()
    assert said(outcome) == []


def test_a_turn_whose_transcript_has_come_is_answered_when_the_button_is_released() -> None:
    """LiveKit would wait two more seconds for a transcript."""
    user = ScriptedUser().says("when is the train", at=7.5)
    outcome = play({7.2: "button_pressed", 10.5: "button_released"}, user)
    assert outcome.heard[-1].text == ANSWER
    assert outcome.heard[-1].start < 11.3, outcome.timeline()


@pytest.mark.parametrize("delay", [0.05, 0.3, 1.5], ids="transcribed after {} s".format)
def test_a_turn_that_was_released_counts_although_the_button_is_pressed_again(delay: float) -> None:
    user = ScriptedUser().says("when is the train", at=7.5, duration=0.9, stt_delay=delay)
    user.says("to the coast", at=8.9, duration=0.9)
    moves = {7.2: "button_pressed", 8.6: "button_released"}
    outcome = play(moves | {8.8: "button_pressed", 10.2: "button_released"}, user)
    words = " ".join(line.removeprefix("user: ") for line in said(outcome))
    assert words == "when is the train to the coast", outcome.timeline()
    during = [one for one in outcome.heard if 8.8 < one.start < 10.2]
    assert during == [], outcome.timeline()


@pytest.mark.parametrize("delay", [0.05, 0.3, 1.5], ids="transcribed after {} s".format)
@pytest.mark.parametrize("more", [True, False], ids=["speaks", "says nothing"])
def test_a_cancel_discards_what_was_said_since_the_press_only(delay: float, more: bool) -> None:
    user = ScriptedUser().says("when is the train", at=7.5, duration=0.9, stt_delay=delay)
    if more:
        user.says("to the coast", at=8.9, duration=0.5, stt_delay=delay)
    moves = {7.2: "button_pressed", 8.6: "button_released"}
    outcome = play(moves | {8.8: "button_pressed", 9.6: "button_cancelled"}, user)
    assert said(outcome) == ["user: when is the train"], outcome.timeline()
    assert outcome.heard[-1].text == ANSWER, outcome.timeline()


def test_a_press_without_speech_is_no_turn() -> None:
    outcome = play({7.2: "button_pressed", 7.5: "button_released"}, ScriptedUser())
    assert [one.text for one in outcome.heard] == [STORY], outcome.timeline()
    assert (said(outcome), outcome.requests) == ([], [])


def test_the_silence_of_the_user_begins_when_the_button_is_released() -> None:
    flow = flow_of(more="silence: [{after: 3, say: Are you there?}]")
    outcome = play({7.0: "button_pressed", 9.0: "button_cancelled"}, ScriptedUser(), flow)
    asks = outcome.heard_saying("there?")
    assert asks is not None
    assert asks.start == pytest.approx(12.1, abs=0.1), outcome.timeline()


@pytest.mark.parametrize("answer", ["yes please", "no thanks"])
def test_the_button_works_while_a_call_waits_for_a_yes(answer: str) -> None:
    flow = flow_of(more='tools: {confirm: {pay: {say: "Shall I pay?"}}}')
    paid: list[str] = []

    @function_tool
    async def pay() -> str:
        """Pay."""
        paid.append("now")
        return "paid"

    user = ScriptedUser().says("pay for it", at=1.0).says(answer, at=5.0)
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=user,
        llm=ScriptedLLM({"pay for it": Reply(calls=Call("pay"))}, otherwise="As you like."),
        tools=[pay],
    )
    for at, what in {0.8: "pressed", 2.5: "released", 4.8: "pressed", 6.5: "released"}.items():
        stage.at(at, lambda stage, what=what: stage.session.turn.post(f"button_{what}") and None)
    outcome = stage.run(12.0)
    assert f"user: {answer}" in said(outcome), outcome.timeline()
    assert bool(paid) == answer.startswith("yes")
    assert outcome.heard[-1].text == "As you like.", outcome.timeline()


def test_a_button_needs_manual_turns() -> None:
    assert flow_of(extends="turn").turn_detection == "manual"


@pytest.mark.exhaustive
@pytest.mark.parametrize("extends", ["half_duplex", "uninterruptible"])
def test_it_is_proved(extends: str) -> None:
    """A session has proved the others above."""
    assert check_flow(flow_of(extends=extends)).ok


# -- by RPC


class Participant:
    def __init__(self) -> None:
        self.methods: dict[str, Any] = {}
        self.register_rpc_method = self.methods.__setitem__
        self.unregister_rpc_method = self.methods.pop


class Room(rtc.EventEmitter[str]):
    """As much of a room as is needed for RPC; tests/room has one with a server."""

    def __init__(self) -> None:
        super().__init__()
        self.local_participant, self.connected = Participant(), False

    def isconnected(self) -> bool:
        return self.connected

    def connect(self) -> None:
        self.connected = True
        self.emit("connection_state_changed", rtc.ConnectionState.CONN_CONNECTED)

    async def call(self, method: str) -> str:
        data = rtc.RpcInvocationData("1", "ann", "", 10.0)
        answer: str = await self.local_participant.methods[method](data)
        return answer


def with_room(flow: Flow, then: Callable[[Room, Any], Any]) -> Room:
    room: Any = Room()

    async def at(stage: Stage) -> None:
        session: Any = stage.session
        remote = RemoteTriggers(session.turn, room)
        await then(room, session)
        remote.close()

    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"), turn_handling={"turn_detection": "manual"}
    )
    outcome = stage.at(1.0, at).run(2.0)
    assert outcome.errors == []
    room_: Room = room
    return room_


def test_methods_are_registered_while_the_room_is_connected() -> None:
    async def then(room: Room, session: Any) -> None:
        methods = room.local_participant.methods
        assert methods == {}
        room.connect()
        assert set(methods) == {"talk", "end_turn", "cancel_turn"}

    assert with_room(flow_of("{press: talk}"), then).local_participant.methods == {}


def test_a_participant_gets_the_state_that_follows_or_the_reason_of_a_refusal() -> None:
    more = "requests: {transfer: {rpc: transfer}}\n"
    more += "states: {listening: {on: {transfer: {conditions: user_speaking}}}}\n"

    async def then(room: Room, session: Any) -> None:
        room.connect()
        assert await room.call("cancel_turn") == "listening"
        with pytest.raises(rtc.RpcError) as caught:
            await room.call("transfer")
        assert (caught.value.code, caught.value.message) == (REFUSED, "not user_speaking")
        session.turn.post("user_started_speaking")
        assert await room.call("transfer") == "listening"

    with_room(flow_of(more=more), then)
