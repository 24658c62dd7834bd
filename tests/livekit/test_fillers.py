"""The section `fillers`: what the agent says to a user who waits for a tool."""

from __future__ import annotations

import asyncio
import wave
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from flow_text import parsed
from livekit.agents import Agent, function_tool
from outcomes import run

from turnfsm.fsm import Flow, HostError, load_flow
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

WAIT = "One moment, please."
ANSWER = "Your table is booked."
CALLED = 2.1
"""When the tool begins, if the user says "a table" at 1.0."""


class Desk(Agent):
    """Its tool takes some seconds, each time the next ones."""

    def __init__(self, *seconds: float) -> None:
        super().__init__(instructions="Book tables.")
        self.seconds = list(seconds)

    @function_tool
    async def book(self) -> str:
        """Book a table."""
        await asyncio.sleep(self.seconds.pop(0))
        return "booked"


def flow_of(fillers: str, extends: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {extends}\nfillers: {fillers}\n")


FILLERS = flow_of(f'{{after: 1.5, say: "{WAIT}"}}')


@attrs.frozen
class Played:
    outcome: Outcome
    stage: Stage

    def said(self, text: str) -> list[tuple[float, float]]:
        """When a text was heard, from when to when."""
        heard = [one for one in self.outcome.heard if one.text == text]
        return [(round(one.start, 2), round(one.end, 2)) for one in heard]


def play(
    flow: Any,
    *seconds: float,
    user: ScriptedUser | None = None,
    lasts: float = 1.2,
    until: float = 20.0,
    model: ScriptedLLM | None = None,
    **options: Any,
) -> Played:
    model = model or ScriptedLLM(
        {"a table": Reply(calls=Call("book")), "never mind": "As you like."},
        on_tool={"book": ANSWER},
    )
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off"),
        user=user or ScriptedUser().says("a table", at=1.0),
        llm=model,
        tts=ScriptedTTS(durations={WAIT: lasts}),
        agent=lambda: Desk(*seconds),
        **options,
    )
    outcome = run(stage, until)
    return Played(outcome, stage)


def test_a_slow_tool_is_bridged_after_a_second_and_a_half() -> None:
    played = play(FILLERS, 6.0)
    ((start, _),) = played.said(WAIT)
    assert start == pytest.approx(CALLED + 1.5 + 0.1, abs=0.05), played.outcome.timeline()
    assert len(played.said(ANSWER)) == 1


def test_a_fast_tool_is_not_bridged() -> None:
    assert play(FILLERS, 1.2).said(WAIT) == []


def test_it_is_said_once_a_turn() -> None:
    """Two slow tools in one turn are bridged once; the next turn has its own."""
    results = iter([Reply(calls=Call("book")), ANSWER, ANSWER])
    model = ScriptedLLM(
        {"a table": Reply(calls=Call("book")), "another": Reply(calls=Call("book"))},
        on_tool={"book": lambda request: next(results)},
        believes=False,
    )
    user = ScriptedUser().says("a table", at=1.0).says("another one", at=14.0)
    played = play(FILLERS, 3.0, 3.0, 3.0, user=user, model=model, until=25.0)
    assert [start > 14.0 for start, _ in played.said(WAIT)] == [False, True], (
        played.outcome.timeline()
    )


def test_several_texts_are_said_in_turn() -> None:
    flow = flow_of("{after: 1.0, say: [Let me see., One second.]}")
    user = ScriptedUser()
    for at in (1.0, 9.0, 17.0):
        user.says("a table", at=at)
    model = ScriptedLLM({"a table": Reply(calls=Call("book"))}, on_tool={"book": ANSWER})
    played = play(flow, 3.0, 3.0, 3.0, user=user, model=model, until=26.0)
    heard = [one.text for one in played.outcome.heard if one.text != ANSWER]
    assert heard == ["Let me see.", "One second.", "Let me see."], played.outcome.timeline()


def test_a_second_filler_counts_from_the_first() -> None:
    flow = flow_of(f'[{{after: 1.5, say: "{WAIT}"}}, {{after: 4, say: It takes a little longer.}}]')
    played = play(flow, 12.0)
    ((_, end),) = played.said(WAIT)
    ((start, _),) = played.said("It takes a little longer.")
    assert start == pytest.approx(end + 4.0 + 0.1, abs=0.1), played.outcome.timeline()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seconds", [1.45, 1.55, 1.65, 1.8, 2.0, 2.3, 2.6, 3.0])
def test_an_answer_comes_at_most_three_tenths_later(seconds: float) -> None:
    """Whenever the tool ends: while the filler is asked for, while it plays, and after it."""
    before = play("turn", seconds).said(ANSWER)[0][0]
    played = play(FILLERS, seconds, lasts=3.0)
    assert played.said(ANSWER)[0][0] <= before + 0.3, played.outcome.timeline()


@pytest.mark.parametrize("seconds", [1.6, 2.0, 3.0])
def test_a_realtime_model_is_asked_at_most_three_tenths_later(seconds: float) -> None:
    """LiveKit asks it for the answer when nothing else is said."""

    def answered(flow: Any) -> float:
        user, voice = ScriptedUser().says("a table", at=1.0), ScriptedTTS(durations={WAIT: 3.0})
        model = ScriptedLLM({"a table": Reply(calls=Call("book"))}, otherwise=ANSWER)
        stage = Stage(
            partial(TurnSession, flow=flow, proof="off"),
            user=user,
            llm=ScriptedRealtime(user, model, voice, turn_detection=False),
            tts=voice,
            agent=lambda: Desk(seconds),
        )
        outcome = stage.run(15.0)
        assert outcome.errors == []
        return outcome.heard_saying(ANSWER).start

    assert answered(FILLERS) <= answered("turn") + 0.31


def test_a_filler_that_is_not_heard_yet_is_dropped_when_the_answer_is_ready() -> None:
    """Here its voice takes a second to begin."""
    model = ScriptedLLM({"a table": Reply(calls=Call("book"))}, on_tool={"book": ANSWER})
    stage = Stage(
        partial(TurnSession, flow=FILLERS, proof="off"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=model,
        tts=ScriptedTTS(latency=1.0),
        agent=lambda: Desk(1.7),
    )
    outcome = stage.run(15.0)
    assert len([line for line in outcome.timeline().splitlines() if "created by say" in line]) == 1
    assert [one.text for one in outcome.heard] == [ANSWER], outcome.timeline()
    assert WAIT not in " ".join(outcome.context)


def test_a_user_who_speaks_is_not_talked_over() -> None:
    """They speak when the filler is due; then they are answered."""
    user = ScriptedUser().says("a table", at=1.0).says("never mind that then", at=3.3)
    played = play(FILLERS, 8.0, user=user)
    assert [start for start, _ in played.said(WAIT) if 3.3 <= start <= 4.6] == []
    assert len(played.said("As you like.")) == 1, played.outcome.timeline()


def test_a_user_who_interrupts_the_filler_is_answered() -> None:
    user = ScriptedUser().says("a table", at=1.0).says("never mind that then", at=4.0)
    played = play(FILLERS, 12.0, user=user, lasts=3.0, until=25.0)
    (cut,) = [one for one in played.outcome.heard if 3.0 < one.start < 4.0]
    assert cut.end < 5.0, played.outcome.timeline()
    assert len(played.said("As you like.")) == 1
    assert len(played.said(ANSWER)) == 1, "the tool goes on, and its result is said"


def test_the_filler_stands_in_the_conversation_and_is_no_answer() -> None:
    """The turn is replied to by the answer alone."""
    played = play(FILLERS, 5.0)
    said = [line for line in played.outcome.context if line.startswith("assistant: ")]
    assert said == [f"assistant: {WAIT}", f"assistant: {ANSWER}"]
    session: Any = played.stage.session
    assert session.user_turns["replied"] == 1


def test_the_limit_of_a_tool_still_ends_the_wait() -> None:
    """It counts from the last filler."""
    stage = Stage(
        partial(TurnSession, flow=FILLERS, proof="off", limits="brisk"),
        user=ScriptedUser().says("a table", at=1.0),
        llm=ScriptedLLM({"a table": Reply(calls=Call("book"))}, otherwise="It takes long."),
        agent=lambda: Desk(40.0),
    )
    outcome = stage.run(20.0)
    assert outcome.heard_saying("It takes long.").start < CALLED + 1.5 + 1.2 + 10.0 + 0.5


@pytest.mark.parametrize(("tool", "times"), [("book", 1), ("[pay, book]", 1), ("pay", 0)])
def test_a_filler_for_a_tool_is_said_while_that_tool_runs(tool: str, times: int) -> None:
    played = play(flow_of(f'{{after: 1.5, say: "{WAIT}", tools: {tool}}}'), 6.0)
    assert len(played.said(WAIT)) == times, played.outcome.timeline()


def test_a_misspelt_tool_of_a_filler_is_reported() -> None:
    played = play(flow_of(f'{{after: 1.5, say: "{WAIT}", tools: bok}}'), 1.0)
    assert any("the tool 'bok'" in str(one) for one in played.outcome.warnings)


@pytest.mark.parametrize("extends", ["overlap", "half_duplex", "uninterruptible"])
def test_it_works_with_other_flows(extends: str) -> None:
    flow = flow_of(f'{{after: 1.5, say: "{WAIT}"}}', extends)
    played = play(flow, 6.0)
    assert len(played.said(WAIT)) == len(played.said(ANSWER)) == 1, played.outcome.timeline()


RATE = 24_000


def sound_flow(folder: Path, seconds: float) -> Flow:
    """The filler is a sound of so many seconds, in a file beside that of the flow."""
    with wave.open(str(folder / "typing.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(b"\x00\x00" * round(seconds * RATE))
    flow = folder / "mine.yaml"
    flow.write_text("flow: mine\nextends: turn\nfillers: {after: 1.5, audio: typing.wav}\n")
    return load_flow(flow)


def test_a_sound_bridges_a_tool_and_is_not_in_the_conversation(tmp_path: Path) -> None:
    played = play(sound_flow(tmp_path, 1.2), 6.0)
    sound, answer = played.outcome.heard
    assert sound.start == pytest.approx(CALLED + 1.5, abs=0.05), played.outcome.timeline()
    assert sound.end - sound.start == pytest.approx(1.2, abs=0.03)
    assert answer.text == ANSWER
    said = [line for line in played.outcome.context if line.startswith("assistant")]
    assert said == [f"assistant: {ANSWER}"]


@pytest.mark.parametrize("seconds", [1.55, 2.0, 3.0])
def test_an_answer_comes_at_most_three_tenths_later_because_of_a_sound(
    tmp_path: Path, seconds: float
) -> None:
    before = play("turn", seconds).said(ANSWER)[0][0]
    played = play(sound_flow(tmp_path, 5.0), seconds)
    assert played.said(ANSWER)[0][0] <= before + 0.3, played.outcome.timeline()


def test_a_user_who_interrupts_a_sound_is_answered(tmp_path: Path) -> None:
    user = ScriptedUser().says("a table", at=1.0).says("never mind that then", at=4.5)
    played = play(sound_flow(tmp_path, 10.0), 12.0, user=user, until=25.0)
    assert played.outcome.heard[0].end < 5.1, played.outcome.timeline()
    assert len(played.said("As you like.")) == 1


def test_a_sound_that_is_gone_is_an_error_when_the_session_is_made(tmp_path: Path) -> None:
    flow = sound_flow(tmp_path, 1.0)
    (tmp_path / "typing.wav").unlink()
    with pytest.raises(HostError, match=r"'say_filler_1' cannot play 'typing.wav'"):
        play(flow, 1.0)
