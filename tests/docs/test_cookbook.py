"""docs/cookbook.md: each flow is short, proved as it stands, and does what its heading says."""

from __future__ import annotations

import asyncio
import re
import wave
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from flow_text import parsed
from livekit.agents import Agent, function_tool
from scripted_tool import tool

from turnfsm import Flow
from turnfsm.check import check_flow
from turnfsm.livekit import TurnContext, TurnSession
from turnfsm.testing import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

PAGE = (Path(__file__).parents[2] / "docs" / "cookbook.md").read_text(encoding="utf-8")
TEXTS = {
    re.search(r"flow: (\w+)", text)[1]: text  # type: ignore[index]
    for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
}
STORY = "The first train leaves at seven, the second one at nine, and the last one at noon."


@pytest.fixture(autouse=True)
def typing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sound that the page names is beside each flow: 0.8 s."""
    with wave.open(str(tmp_path / "typing.wav"), "wb") as file:
        file.setparams((1, 2, 24_000, 0, "NONE", "not compressed"))
        file.writeframes(b"\0\0" * 19_200)
    monkeypatch.chdir(tmp_path)


def flow_of(name: str) -> Flow:
    return parsed(TEXTS[name])


def play(name: str, user: ScriptedUser, until: float, **options: Any) -> Outcome:
    stage = stage_of(name, user, **options)
    return run(stage, until)


def stage_of(name: str, user: ScriptedUser, **options: Any) -> Stage:
    """The story lasts from 2.2 to 8.2 s, if it is asked for at 1.0 s."""
    model = ScriptedLLM(
        {
            "trains": STORY,
            "transfer": Reply(calls=Call("transfer_money")),
            "search": Reply(calls=Call("search")),
        },
        on_tool={"transfer_money": "It is transferred.", "search": "I have found it."},
        otherwise="As you like.",
    )
    options.setdefault("tts", ScriptedTTS(durations={STORY: 6.0}))
    options.setdefault("llm", model)
    return Stage(partial(TurnSession, flow=flow_of(name), proof="off"), user=user, **options)


def run(stage: Stage, until: float) -> Outcome:
    outcome = stage.run(until)
    assert outcome.errors == [], outcome.timeline()
    return outcome


def said(outcome: Outcome) -> list[str]:
    return [one.text for one in outcome.heard]


def silence_in(outcome: Outcome, start: float, end: float) -> float:
    """Seconds in which nothing of the agent was heard."""
    spans = [(max(one.start, start), min(one.end, end)) for one in outcome.heard]
    return end - start - sum(max(0.0, b - a) for a, b in spans)


def asks_for_trains() -> ScriptedUser:
    return ScriptedUser().says("which trains", at=1.0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TEXTS)
def test_a_flow_of_the_page_is_proved_as_it_stands(name: str) -> None:
    """It has at most eight lines, and the proof has nothing to say about it."""
    assert len(TEXTS[name].splitlines()) <= 8
    report = check_flow(flow_of(name))
    assert report.ok
    assert list(report.findings) == []


@pytest.mark.parametrize("name", TEXTS)
def test_a_flow_of_the_page_says_what_it_is(name: str) -> None:
    """It extends a shipped flow, and needs no method of the application."""
    assert re.search(r"^extends: (turn|overlap|push_to_talk)$", TEXTS[name], re.MULTILINE)
    Stage(partial(TurnSession, flow=flow_of(name), actions=object(), proof="off"))


@pytest.mark.parametrize("word", ["mhm", "yeah", "okay", "roger"])
def test_it_talks_on_through_a_backchannel(word: str) -> None:
    user = asks_for_trains().says(word, at=5.0, duration=0.4, interims=((0.25, word),))
    outcome = play("talks_on", user, 12.0)
    assert " ".join(said(outcome)) == STORY, outcome.timeline()


@pytest.mark.parametrize("words", ["stop", "what about sunday"])
def test_it_stops_at_another_word(words: str) -> None:
    first = words.split()[0]
    user = asks_for_trains().says(words, at=5.0, duration=0.9, interims=((0.3, first),))
    outcome = play("talks_on", user, 12.0)
    assert silence_in(outcome, 5.6, 6.2) == pytest.approx(0.6), outcome.timeline()
    assert said(outcome)[-1] == "As you like."


def test_it_stops_within_a_fifth_of_a_second_and_goes_on_after_a_cough() -> None:
    user = asks_for_trains().makes_noise(at=5.0, duration=0.6)
    outcome = play("quick_ears", user, 12.0)
    first, rest = outcome.heard
    assert first.end <= 5.25, outcome.timeline()
    assert rest.start <= 5.6 + 0.4 + 0.5, outcome.timeline()
    assert f"{first.text} {rest.text}".split() == STORY.split()


def test_a_cough_does_not_end_the_reply_on_an_output_that_cannot_pause() -> None:
    user = asks_for_trains().makes_noise(at=5.0, duration=0.6)
    outcome = play("quick_ears", user, 12.0, can_pause=False)
    assert said(outcome) == [STORY], outcome.timeline()


def test_a_word_ends_the_reply_on_an_output_that_cannot_pause() -> None:
    user = asks_for_trains().says("stop it", at=5.0, duration=0.8, interims=((0.3, "stop"),))
    outcome = play("quick_ears", user, 12.0, can_pause=False)
    assert outcome.heard[0].end <= 5.6, outcome.timeline()


def test_a_number_that_is_dictated_in_groups_is_one_turn() -> None:
    user = ScriptedUser().says("five five five", at=1.0).says("one two three", at=3.5)
    user.says("four five six seven", at=6.0)
    outcome = play("takes_numbers", user, 12.0)
    assert said(outcome) == ["As you like."], outcome.timeline()
    assert "user: five five five one two three four five six seven" in outcome.context
    assert outcome.heard[0].start < 6.0 + 1.2 + 0.8


def test_a_caller_who_says_nothing_is_asked_and_let_go() -> None:
    outcome = play("notices_silence", ScriptedUser(), 45.0)
    assert [text.split()[-1] for text in said(outcome)] == ["there?", "me?", "Goodbye."]
    assert " session  close" in outcome.timeline()


transfer_money = tool("transfer_money", "done", seconds=4.0)


CANCELLED: list[str] = []


@function_tool
async def search() -> str:
    """Search."""
    try:
        await asyncio.sleep(4.0)
    except asyncio.CancelledError:
        CANCELLED.append("search")
        raise
    return "found"


TOOLS = [transfer_money, search]


def test_a_slow_tool_is_bridged() -> None:
    user = ScriptedUser().says("transfer it", at=1.0)
    outcome = play("says_one_moment", user, 12.0, tools=TOOLS)
    assert said(outcome) == ["One moment, please.", "It is transferred."], outcome.timeline()


def test_the_detector_stops_it_before_a_word_is_known() -> None:
    """Its verdict comes 0.5 s after the voice. LiveKit's service is not asked here."""
    user = asks_for_trains().says("what about sunday", at=5.0, duration=2.0)
    stage = stage_of("hears_intent", user, can_pause=False)

    def judged(stage: Stage) -> None:
        conductor = cast(Any, stage.session).activity._conductor
        conductor.speech.overlap_judged(conductor.floor.step.id, interrupts=True)

    outcome = run(stage.at(5.5, judged), 12.0)
    assert outcome.heard[0].end == pytest.approx(5.5, abs=0.1), outcome.timeline()
    assert said(outcome)[-1] == "As you like."


def test_a_slow_tool_is_bridged_by_a_sound() -> None:
    outcome = play("types_audibly", ScriptedUser().says("transfer it", at=1.0), 12.0, tools=TOOLS)
    sound, answer = outcome.heard
    assert sound.end - sound.start == pytest.approx(0.8, abs=0.05), outcome.timeline()
    assert answer.text == "It is transferred."
    assert outcome.context[-1] == "assistant: It is transferred."


def test_a_slow_model_is_bridged() -> None:
    user = ScriptedUser().says("what is it", at=1.0)
    model = ScriptedLLM(otherwise=Reply("It is a clock.", ttft=4.0))
    outcome = play("bridges_the_model", user, 12.0, llm=model)
    assert said(outcome) == ["One moment, please.", "It is a clock."], outcome.timeline()


def test_a_caller_who_waits_hears_something_at_least_every_four_seconds() -> None:
    """First the filler of the tool; then what is said in any case, until the model is given up."""
    model = ScriptedLLM(
        {"transfer": Reply(calls=Call("transfer_money"))},
        on_tool={"transfer_money": Reply("It is transferred.", ttft=20.0)},
    )
    user = ScriptedUser().says("transfer it", at=1.0)
    outcome = play("always_there", user, 30.0, llm=model, tools=TOOLS)
    first, *_, last = outcome.heard
    assert first.text == "One moment, please.", outcome.timeline()
    assert last.text == "Sorry, I have no answer. Please say it again."
    for before, after in pairwise(outcome.heard):
        assert after.start - before.end <= 4.0 + 0.2, outcome.timeline()


def test_a_transfer_is_not_broken_off() -> None:
    """What the caller says meanwhile is answered after it, with its result."""
    user = ScriptedUser().says("transfer it", at=1.0).says("no wait", at=3.5)
    outcome = play("careful_clerk", user, 14.0, tools=TOOLS)
    (transfer,) = outcome.tools
    (answer,) = outcome.heard
    assert answer.text == "As you like.", outcome.timeline()
    assert transfer.status == "done"
    assert answer.start > (transfer.end or 0.0) > 3.5
    assert any("done" in line for line in outcome.context if "transfer_money" in line)


def test_a_search_stops_at_once() -> None:
    CANCELLED.clear()
    user = ScriptedUser().says("search it", at=1.0).says("no wait", at=3.5)
    outcome = play("careful_clerk", user, 14.0, tools=TOOLS)
    assert said(outcome) == ["As you like."], outcome.timeline()
    assert CANCELLED == ["search"]


def test_a_long_answer_stops_at_a_sentence_and_asks() -> None:
    answer = " ".join(f"The train number {n} leaves at noon today." for n in range(10, 30))
    outcome = play("concise", asks_for_trains(), 45.0, llm=ScriptedLLM(otherwise=answer))
    talk, question = outcome.heard
    assert 20.0 <= talk.end - talk.start <= 23.0, outcome.timeline()
    assert talk.text.endswith("today.")
    assert question.text == "Shall I go on?"


@pytest.mark.parametrize(("words", "stops"), [("stop", False), ("stop it right now", True)])
def test_one_word_does_not_stop_what_is_said_while_the_money_is_transferred(
    words: str, stops: bool
) -> None:
    wait = "I am transferring it now, and that takes a little while."
    model = ScriptedLLM(
        {"transfer": Reply(wait, calls=Call("transfer_money"))},
        on_tool={"transfer_money": "It is transferred."},
        otherwise="As you like.",
    )
    user = ScriptedUser().says("transfer it", at=1.0).says(words, at=3.4, duration=1.2)
    tts = ScriptedTTS(durations={wait: 3.5})
    outcome = play("strict_clerk", user, 14.0, llm=model, tts=tts, tools=TOOLS)
    assert (outcome.heard[0].text != wait) is stops, outcome.timeline()


def test_a_disclaimer_is_said_once_and_to_its_end_and_who_speaks_over_it_is_answered() -> None:
    text = "This call is recorded."
    user = ScriptedUser().says("which trains", at=1.0)
    outcome = play("recorded_line", user, 18.0, tts=ScriptedTTS(durations={text: 4.0, STORY: 6.0}))
    assert said(outcome) == [text, STORY], outcome.timeline()
    assert outcome.heard[0].end - outcome.heard[0].start == pytest.approx(4.0, abs=0.05)


@pytest.mark.parametrize("name", ["ReadTerms", "Clerk"])
def test_nobody_interrupts_a_task_that_reads_the_terms(name: str) -> None:
    reader = partial(type(name, (Agent,), {}), instructions="Read the terms.")
    user = asks_for_trains().says("stop it now", at=5.0)
    outcome = play("reads_terms", user, 18.0, agent=reader)
    assert (outcome.heard[0].text == STORY) is (name == "ReadTerms"), outcome.timeline()
    assert said(outcome)[-1] == "As you like."


def test_a_disclaimer_is_said_again_until_it_was_heard_to_its_end() -> None:
    text = "This call is recorded."
    user = ScriptedUser().says("which trains", at=2.0)
    tts = ScriptedTTS(durations={text: 4.0, STORY: 6.0})
    outcome = play("heard_out", user, 30.0, tts=tts)
    cut, story, whole = outcome.heard
    assert cut.end < 3.0, outcome.timeline()
    assert [story.text, whole.text] == [STORY, text]
    assert whole.start == pytest.approx(story.end + 0.6, abs=0.1)


def test_it_says_mhm_at_a_pause_and_takes_no_turn() -> None:
    user = ScriptedUser().says("I was on the train", at=1.0, duration=5.0)
    user.says("and then it stopped", at=6.4, duration=2.0)
    outcome = play("good_listener", user, 15.0, vad=ScriptedVAD(min_silence=0.55))
    (mhm,) = outcome.backchannels
    assert (mhm.text, mhm.start) == ("Mhm.", pytest.approx(6.2, abs=0.1)), outcome.timeline()
    assert said(outcome) == ["As you like."]
    assert "assistant: Mhm." not in outcome.context


def test_a_patient_agent_asks_later_and_lets_the_caller_finish() -> None:
    user = ScriptedUser().says("which trains", at=1.0)
    handling = {"preemptive_generation": {"enabled": False}}
    outcome = play("takes_its_time", user, 50.0, turn_handling=handling)
    story, asked, goodbye = outcome.heard
    assert story.start > 1.9 + 0.75, outcome.timeline()
    assert asked.start == pytest.approx(story.end + 12.1, abs=0.1)
    assert goodbye.start == pytest.approx(asked.end + 12.1, abs=0.1)
    assert " session  close" in outcome.timeline()


def test_a_voice_without_the_button_changes_nothing_and_the_button_does() -> None:
    def post(trigger: str) -> Callable[[Stage], None]:
        return lambda stage: cast(Any, stage.session).turn.post(trigger) and None

    press, release = post("button_pressed"), post("button_released")
    user = asks_for_trains().says("not to you", at=4.0, duration=0.8).says("stop now", at=6.1)
    stage = stage_of("radio", user, turn_handling={"turn_detection": "manual"})
    stage.at(0.9, press).at(2.0, release).at(6.0, press).at(7.0, release)
    outcome = run(stage, 12.0)
    story, answer = outcome.heard
    assert story.end == pytest.approx(6.0, abs=0.1), outcome.timeline()
    assert answer.text == "As you like."
    assert [line for line in outcome.context if line.startswith("user")] == [
        "user: which trains",
        "user: stop now",
    ]


def test_the_agent_waits_for_a_caller_who_talks_to_somebody_else() -> None:
    user = ScriptedUser().says("hold on please", at=1.0).says("have you seen my card", at=8.0)
    outcome = play("can_wait", user.says("hello I am back", at=40.0), 50.0)
    assert said(outcome) == ["Take your time.", "As you like."], outcome.timeline()
    assert outcome.heard[1].start > 41.0


def test_a_caller_who_stays_away_is_asked_once_and_then_again_by_the_ladder() -> None:
    outcome = play("can_wait", ScriptedUser().says("one moment please", at=1.0), 80.0)
    time, back, there = outcome.heard
    assert [time.text, back.text] == ["Take your time.", "Are you back?"], outcome.timeline()
    assert back.start == pytest.approx(time.end + 60.1, abs=0.2)
    assert there.start == pytest.approx(back.end + 8.1, abs=0.2)


def test_a_caller_who_is_not_understood_or_not_heard_is_told() -> None:
    user = ScriptedUser().makes_noise(at=1.0, duration=1.5).drops_out(at=12.0, duration=8.0)
    outcome = play("says_so", user, 25.0)
    assert said(outcome) == ["Could you say that again?", "I cannot hear you."], outcome.timeline()


@pytest.mark.parametrize(("answer", "transferred"), [("yes please", [500]), ("no", [])])
def test_money_is_transferred_only_after_a_yes(answer: str, transferred: list[int]) -> None:
    done: list[int] = []

    @function_tool
    async def transfer_money(amount: int) -> str:
        """Transfer money."""
        done.append(amount)
        return "transferred"

    user = ScriptedUser().says("send it", at=1.0).says(answer, at=6.0)
    model = ScriptedLLM({"send": Reply(calls=Call("transfer_money", {"amount": 500}))})
    outcome = play("careful_bank", user, 14.0, llm=model, tools=[transfer_money])
    assert said(outcome)[0] == "Shall I transfer 500 euros?", outcome.timeline()
    assert done == transferred


def test_a_caller_who_changes_their_mind_pays_once() -> None:
    done: list[int] = []

    @function_tool
    async def transfer_money(ctx: TurnContext, to: str, amount: int) -> str:
        """Transfer money."""
        await asyncio.sleep(4.0)
        await ctx.commit_point()
        done.append(amount)
        return "transferred"

    calls = {
        said: Reply(calls=Call("transfer_money", {"to": "Kim", "amount": amount}))
        for said, amount in (("fifty", 50), ("sixty", 60))
    }
    user = ScriptedUser().says("send Kim fifty", at=1.0).says("no sixty", at=4.0)
    outcome = play("flexible_clerk", user, 16.0, llm=ScriptedLLM(calls), tools=[transfer_money])
    assert done == [60], outcome.timeline()


def test_the_music_of_the_page_plays_while_the_caller_is_away() -> None:
    """From "hold on" until "I am back"."""
    names: dict[str, Any] = {}
    exec(re.search(r"```python\n(class HoldMusic.*?)```", PAGE, re.DOTALL)[1], names)  # type: ignore[index]
    heard: list[tuple[str, float]] = []

    class Player:
        """Stands for LiveKit's player, which needs a room."""

        def play(self, audio: str, *, loop: bool) -> Player:
            heard.append((audio, round(stage.now, 1)))
            return self

        def stop(self) -> None:
            heard.append(("stop", round(stage.now, 1)))

    user = ScriptedUser().says("hold on please", at=1.0).says("I am back", at=9.0)
    stage = stage_of("can_wait", user)
    stage.at(0.1, lambda stage: names["HoldMusic"](stage.session, Player()))
    run(stage, 14.0)
    assert heard == [("music.ogg", 2.4), ("stop", 10.4)]
