"""The shipped variants of `turn` on a real session: what the user hears, and what the flow did.

Each conversation goes wrong with `turn`: it is the variant that makes the difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from realtime_stage import realtime
from scripted_tool import tool

from turnfsm.fsm import Taken, shipped_flows
from turnfsm.fsm.journal import replay
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

STORY = "Once upon a time there was a king who had three daughters and no sons."
NOTICE = "This train ends here, please take all your belongings with you."
HOURS, QUESTION = "We are open all day.", "what are your opening hours"
BOOKED = "Your table is booked."


@attrs.frozen
class Played:
    """One conversation: what was heard, and the journal of the flow."""

    outcome: Outcome
    turn: Any

    @property
    def heard(self) -> list[str]:
        """Each stretch of audio."""
        return [heard.text for heard in self.outcome.heard]

    @property
    def states(self) -> list[str]:
        """The states in their order, each as long as it was held."""
        moves = [e.verdict for e in self.turn.journal if e.verdict.entered]
        return [move.dest for move in moves if move.dest != move.state]

    def refused(self, trigger: str) -> list[str]:
        """The states that refused a trigger by name."""
        return [
            e.verdict.state
            for e in self.turn.journal
            if e.trigger == trigger
            and not isinstance(e.verdict, Taken)
            and e.verdict.reason == "refuses"
        ]

    def said(self) -> list[str]:
        """The user's messages in the conversation."""
        lines = self.outcome.context
        return [line.removeprefix("user: ") for line in lines if line.startswith("user: ")]


def play(stage: Stage, seconds: float = 15.0) -> Played:
    """Play; the journal gives every verdict again, and nothing is left over."""
    outcome = stage.run(seconds)
    turn = stage.session.turn  # type: ignore[attr-defined]
    assert replay(turn.journal.read(), turn.flow) is None
    assert outcome.errors == []
    assert outcome.orphans == ()
    return Played(outcome, turn)


def session(flow: str) -> Any:
    """A session class under this flow."""
    return partial(TurnSession, flow=flow)


# -- half_duplex


def while_the_agent_is_heard(flow: str) -> Played:
    """A story from 2.9 s on; the user says something into it, and something after it."""
    user = ScriptedUser().says("tell me a story", at=1.0).says("no stop", at=4.0, duration=0.9)
    user.says("hello", at=10.0)
    model = ScriptedLLM({"story": STORY, "stop": "I have stopped.", "hello": "Good morning."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    return play(Stage(session(flow), user=user, llm=model, tts=tts))


def test_half_duplex_hears_nothing_while_it_speaks() -> None:
    """The story is heard in one piece, what was said into it is no turn, what follows is one."""
    played = while_the_agent_is_heard("half_duplex")
    assert played.heard == [STORY, "Good morning."], played.outcome.timeline()
    assert played.said() == ["tell me a story", "hello"]
    once = ["thinking", "speaking", "thinking", "listening"]
    assert played.states == once + once


def test_half_duplex_keeps_a_turn_that_ends_while_it_speaks() -> None:
    """The application commits words that were said before: they are answered after the story."""

    def tell(stage: Stage) -> None:
        stage.session.say(STORY)

    def commit(stage: Stage) -> None:
        stage.session.commit_user_turn()

    user = ScriptedUser().says("hello", at=0.5)
    stage = Stage(
        session("half_duplex"),
        user=user,
        llm=ScriptedLLM({"hello": "Good morning."}),
        tts=ScriptedTTS(durations={STORY: 6.0}),
        turn_handling={"turn_detection": "manual"},
    )
    played = play(stage.at(1.5, tell).at(3.0, commit))
    assert played.heard == [STORY, "Good morning."], played.outcome.timeline()
    assert played.refused("turn_committed") == ["speaking"]


def test_a_turn_is_interrupted_where_half_duplex_is_not() -> None:
    """The same conversation under `turn`: the user has the floor at once."""
    played = while_the_agent_is_heard("turn")
    assert played.heard[0] != STORY
    assert played.heard[1:] == ["I have stopped.", "Good morning."]
    assert "paused" in played.states


# -- uninterruptible


def during_an_announcement(flow: str, asked_at: float = 2.0) -> Played:
    """An announcement that `say` has left interruptible; the user asks into it."""

    def announce(stage: Stage) -> None:
        stage.session.say(NOTICE)

    user = ScriptedUser().says("where can I change", at=asked_at)
    model = ScriptedLLM({"change": "At platform nine."})
    tts = ScriptedTTS(durations={NOTICE: 5.0}, latency=0.5)
    return play(Stage(session(flow), user=user, llm=model, tts=tts).at(0.5, announce))


@pytest.mark.parametrize("asked_at", [0.6, 2.0], ids=["before-the-first-sound", "into-it"])
def test_uninterruptible_answers_when_it_has_finished(asked_at: float) -> None:
    """The announcement is heard in one piece; the turn is kept, and answered afterwards."""
    played = during_an_announcement("uninterruptible", asked_at)
    assert played.heard == [NOTICE, "At platform nine."], played.outcome.timeline()
    assert played.said() == ["where can I change"]
    assert not {"paused", "interrupted"} & {*played.states}
    assert len(played.refused("turn_committed")) == 1
    (turn,) = played.turn.journal.notes("turn")
    assert (turn.data["outcome"], turn.data["deferred"]) == ("replied", True)


def test_uninterruptible_waits_with_its_first_sound() -> None:
    """A user who is speaking is not spoken over, nor before the words can have come; the words do
    not make the announcement go."""
    played = during_an_announcement("uninterruptible", asked_at=0.6)
    (end_of_speech,) = [t for t, state in played.outcome.user_states if state == "listening"]
    waited = played.turn.flow.timers["transcript_wait"]
    assert played.outcome.heard[0].start == pytest.approx(end_of_speech + waited, abs=0.02)
    assert played.refused("turn_committed") == ["thinking"]


@pytest.mark.parametrize("asked_at", [0.6, 2.0])
def test_a_turn_gives_the_announcement_up(asked_at: float) -> None:
    """The same under `turn`: who asks does not hear the rest."""
    played = during_an_announcement("turn", asked_at)
    assert NOTICE not in played.heard
    assert played.heard[-1] == "At platform nine."
    assert "interrupted" in played.states


# -- push_to_talk


def with_a_radio_on(flow: str, at: float) -> Played:
    """The user asks until 2.5 s and lets the button go; the news are read meanwhile."""

    def release(stage: Stage) -> None:
        stage.session.commit_user_turn()

    user = ScriptedUser().says(QUESTION, at=1.0)
    user.says("and now the news", at=at, duration=0.9)
    user.says("it is raining in the north", at=at + 1.0, duration=3.0)
    model = ScriptedLLM({"hours": Reply(HOURS, ttft=1.0)})
    manual = {"turn_detection": "manual"}
    stage = Stage(session(flow), user=user, llm=model, turn_handling=manual)
    return play(stage.at(2.55, release))


@pytest.mark.parametrize("at", [2.7, 3.3], ids=["all-the-time", "while-the-model-thinks"])
def test_push_to_talk_answers_into_other_voices(at: float) -> None:
    """The reply is heard as soon as the model has it, even if other voices are heard."""
    played = with_a_radio_on("push_to_talk", at)
    assert played.heard == [HOURS], played.outcome.timeline()
    assert played.outcome.heard[0].start < 4.6
    assert played.states == ["thinking", "speaking", "thinking", "listening"]


def test_a_turn_waits_for_other_voices() -> None:
    """The same under `turn`: the voice holds the reply back until it has ended; its words, which
    nobody has committed, end no reply."""
    played = with_a_radio_on("turn", 3.3)
    assert played.heard == [HOURS], played.outcome.timeline()
    voice_ends = max(t for t, state in played.outcome.user_states if state == "listening")
    assert voice_ends <= played.outcome.heard[0].start <= voice_ends + 0.32
    assert "interrupted" not in played.states


def pressed(then: Callable[[Stage], object]) -> Played:
    """The button is pressed while a story is heard; then it is released, or the turn taken back."""

    def press(stage: Stage) -> None:
        stage.session.interrupt()
        stage.session.clear_user_turn()

    user = ScriptedUser().says("no stop", at=4.2, duration=0.9)
    stage = Stage(
        session("push_to_talk"),
        user=user,
        llm=ScriptedLLM({"stop": "I have stopped."}),
        tts=ScriptedTTS(durations={STORY: 6.0}),
        turn_handling={"turn_detection": "manual"},
    )
    stage.at(1.0, lambda s: s.session.say(STORY) and None)
    return play(stage.at(4.0, press).at(5.5, lambda s: then(s) and None))


def test_a_button_interrupts_and_its_release_is_answered() -> None:
    """Silence from the press on; the reply follows the release."""
    played = pressed(lambda stage: stage.session.commit_user_turn())
    story, answer = played.outcome.heard
    assert story.end == pytest.approx(4.0, abs=0.1)
    assert (answer.text, 5.5 < answer.start < 6.6) == ("I have stopped.", True)
    assert "paused" not in played.states


def test_a_turn_that_is_taken_back_gets_no_reply() -> None:
    """`clear_user_turn` instead of the commit: nothing is answered, and nothing waits for it."""
    played = pressed(lambda stage: stage.session.clear_user_turn())
    assert len(played.heard) == 1
    assert played.said() == []
    assert (played.turn.flow.name, played.states[-1]) == ("push_to_talk", "listening")


# -- speech_to_speech


def by_model(flow: str, user: ScriptedUser, seconds: float, *, auto: bool = True) -> Played:
    """A table is booked by a model that decides on turns by itself; the tool takes its time."""
    book = tool("book", "booked", seconds=seconds)
    by_user = {"table": Reply(calls=Call("book")), "hm": "Yes?", "result of": "As I said: booked."}
    answers = ScriptedLLM(by_user, {"book": BOOKED})
    return play(realtime(user, answers, book, auto=auto, session=session(flow)))


def asked_and_interrupted() -> ScriptedUser:
    """A user who asks for a table, and says something while the tool runs."""
    return ScriptedUser().says("book a table", at=1.0).says("hm", at=3.5, duration=0.3)


@pytest.mark.parametrize("flow", ["speech_to_speech", "turn"])
def test_a_result_is_left_to_a_model_that_replies_to_it(flow: str) -> None:
    """An interrupted tool's result is told once, by the reply that the model begins itself."""
    played = by_model(flow, asked_and_interrupted(), 6.0)
    assert played.heard == ["Yes?", BOOKED], played.outcome.timeline()
    assert not [r for r in played.outcome.requests if "result of" in r.prompt]
    assert [r.outcome for r in played.outcome.requests] == ["complete"] * 3


def test_speech_to_speech_asks_where_the_model_does_not_reply() -> None:
    """A model without replies of its own to tools is asked for the next reply."""
    played = by_model("speech_to_speech", asked_and_interrupted(), 6.0, auto=False)
    assert played.heard == ["Yes?", "As I said: booked."], played.outcome.timeline()


def test_speech_to_speech_waits_for_the_tool_and_the_reply() -> None:
    """Without an interruption: the tool runs, its result is told, and the floor is free again."""
    played = by_model("speech_to_speech", ScriptedUser().says("book a table", at=1.0), 2.0)
    assert played.heard == [BOOKED]
    reply = ["thinking", "speaking", "thinking", "listening"]
    assert played.states == ["thinking", "tool_running", *reply]


@pytest.mark.parametrize("auto", [True, False], ids=["auto", "asked"])
def test_nothing_is_said_while_the_model_hears_the_user(auto: bool) -> None:
    """The model, not a VAD, tells that the user speaks, and has its say when that ends. What it
    says to the user is not taken for news of the result: it is asked for them afterwards."""
    user = ScriptedUser().says("book a table", at=1.0)
    user.says("hm and one more thing for you to remember", at=3.5)  # the result is there at 5.4 s
    played = by_model("speech_to_speech", user, 3.0, auto=auto)
    ends = 3.5 + 9 * 0.3
    told = [BOOKED, "Yes?"] if auto else ["Yes?", "As I said: booked."]
    assert played.heard == told, played.outcome.timeline()
    assert ends <= played.outcome.heard[0].start < ends + 1.5


# -- all of them


def test_each_variant_is_played_here() -> None:
    """A flow that is shipped is also run."""
    played = {"half_duplex", "uninterruptible", "push_to_talk", "speech_to_speech"}
    played |= {"overlap", "duplex"}  # in test_overlap.py and test_duplex.py
    assert {"turn", "session", "tool_call", "resume", "utterance", "outages"} | played == {
        *shipped_flows()
    }


@pytest.mark.parametrize("name", ["session", "utterance"])
def test_a_file_does_not_replace_a_flow_that_every_session_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / name).write_text("no flow", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    user = ScriptedUser().says("hello", at=0.5)
    outcome = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": "Hi there."})).run(5.0)
    assert [heard.text for heard in outcome.heard] == ["Hi there."]
