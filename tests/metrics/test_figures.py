"""The figures of a conversation are what its user could have measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from livekit.agents import function_tool

from turnfsm import Journal, read_journal, write_journal
from turnfsm.fsm.metrics.report import Format
from turnfsm.livekit import TurnSession
from turnfsm.metrics import (
    Figures,
    Interruption,
    Response,
    measure,
    report,
    summarize,
    ticks_of,
)
from turnfsm.testing import Call, Outcome, Reply, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

STORY = "Once upon a time there was a king who had three daughters and a horse."


def played(
    user: ScriptedUser, model: ScriptedLLM, seconds: float = 20.0, **more: Any
) -> tuple[Outcome, Journal]:
    """What was observed from outside, and the journal."""
    stage = Stage(TurnSession, user=user, llm=model, **more)
    outcome = stage.run(seconds)
    return outcome, stage.session.turn.journal.read()


def story(user: ScriptedUser, **more: Any) -> tuple[Outcome, Journal]:
    """A reply of 8 s, and what the user does meanwhile; it is heard from 3.3 s on."""
    model = ScriptedLLM({"story": STORY, "stop": "All right."})
    tts = ScriptedTTS(durations={STORY: 8.0})
    return played(user.says("tell me a story", at=1.0), model, tts=tts, **more)


def test_the_response_latency_is_from_the_users_voice_to_the_agents() -> None:
    """From the end of the voice, as the VAD says it, to the first frame that is heard."""
    outcome, journal = story(ScriptedUser())
    stopped = [t for t, state in outcome.user_states if state == "listening"]
    figures = measure(journal)
    assert figures.responses == (pytest.approx(outcome.heard[0].start - stopped[0]),)
    assert figures.turns == {"replied": 1}
    assert figures.interruptions == {}


def test_an_interruption_with_words_is_one() -> None:
    """It stops the agent as fast as was heard, and for good."""
    outcome, journal = story(ScriptedUser().says("stop please", at=6.0))
    figures = measure(journal)
    assert figures.interruptions == {"interrupted": 1}
    began = [t for t, state in outcome.user_states if state == "speaking"][1]
    assert figures.stops == (pytest.approx(outcome.heard[0].end - began),)
    assert (figures.yield_rate, figures.false_interruption_rate) == (1.0, 0.0)
    assert len(figures.responses) == 2
    [overlap] = figures.overlaps
    assert (overlap.by, overlap.seconds) == ("user", pytest.approx(figures.stops[0]))


def test_noise_is_a_false_interruption_and_is_resumed() -> None:
    """The agent stops, and goes on."""
    outcome, journal = story(ScriptedUser().makes_noise(at=6.0, duration=0.8))
    assert len(outcome.false_interruptions) == 1
    figures = measure(journal)
    assert figures.interruptions == {"resumed": 1}
    assert (figures.false_interruption_rate, figures.resume_rate) == (1.0, 1.0)


def test_an_announcement_is_talked_through() -> None:
    """A speech that cannot be interrupted goes on."""

    def announce(stage: Stage) -> None:
        stage.session.say(STORY, allow_interruptions=False)

    tts = ScriptedTTS(durations={STORY: 8.0})
    user = ScriptedUser().makes_noise(at=3.0, duration=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({}), tts=tts).at(0.5, announce)
    stage.run(15.0)
    figures = measure(stage.session.turn.journal.read())
    assert figures.interruptions == {"talked_through": 1}
    assert (figures.yield_rate, figures.talk_through_rate, figures.stops) == (0.0, 1.0, ())
    assert figures.false_interruption_rate is None


def test_a_reply_that_is_cut_at_once_is_a_blip() -> None:
    """Less than 0.7 s of it was heard."""
    outcome, journal = story(ScriptedUser().says("stop", at=2.95))
    blips = measure(journal).blips
    cut = [heard for heard in outcome.heard if heard.text in STORY]
    assert [blip.seconds for blip in blips] == [pytest.approx(h.end - h.start) for h in cut]
    assert len(blips) == 1


def test_a_tool_that_runs_on_is_counted_once() -> None:
    """The end that counts is the one for its turn."""

    @function_tool
    async def look_up() -> str:
        """Look it up."""
        import asyncio

        await asyncio.sleep(9.0)
        return "rain"

    model = ScriptedLLM(
        {"weather": Reply(calls=Call("look_up")), "Paris": "Paris is sunny."},
        {"look_up": "It rains."},
    )
    user = ScriptedUser().says("what is the weather", at=1.0).says("and Paris", at=5.0)
    _, journal = played(user, model, tools=[look_up])
    figures = measure(journal)
    assert figures.tool_calls == {"released": 1}
    assert figures.turns == {"superseded": 1, "replied": 1}  # the first was still waiting
    assert [s.cause for s in figures.silences] == ["tool_running", "nothing_asked", "nothing_asked"]


def test_the_states_take_all_of_the_time() -> None:
    """Nothing is left out and nothing counted twice."""
    _, journal = story(ScriptedUser().says("stop please", at=6.0))
    figures = measure(journal)
    assert sum(map(sum, figures.states.values())) == pytest.approx(figures.seconds)


def test_a_journal_that_was_read_gives_the_same(tmp_path: Path) -> None:
    """To the last digit."""
    _, journal = story(ScriptedUser().says("stop please", at=6.0))
    write_journal(tmp_path / "a.jsonl", journal)
    assert measure(read_journal(tmp_path / "a.jsonl")) == measure(journal)


def test_a_labelled_overlap_counts_as_a_backchannel() -> None:
    """S_BC: the agent went on, or not."""
    stage = Stage(
        TurnSession,
        user=ScriptedUser().says("tell me a story", at=1.0).makes_noise(at=6.0, duration=0.2),
        llm=ScriptedLLM({"story": STORY}),
        tts=ScriptedTTS(durations={STORY: 8.0}),
    )

    def label(stage: Stage) -> None:
        stage.session.turn.note("user_sound", what="backchannel", start=6.0, end=6.6)

    stage.at(7.0, label).run(20.0)
    panel = measure(stage.session.turn.journal.read()).panel
    assert panel.counts.backchannels == 1
    assert panel.backchannels_ignored == 1.0
    assert panel.yield_rate is None


def test_many_conversations_are_measured_together() -> None:
    """Percentiles are over all values, rates over all events."""
    _, one = story(ScriptedUser())
    _, other = story(ScriptedUser().says("stop please", at=6.0))
    both = Figures.over([measure(one), measure(other)])
    assert both.responses == measure(one).responses + measure(other).responses
    assert both.panel.counts.responses == 3
    assert both.journals == 2


@pytest.mark.parametrize(
    ("values", "p50", "p90"), [([3.0], 3.0, 3.0), ([1.0, 2.0], 1.5, 1.9), (range(11), 5.0, 9.0)]
)
def test_percentiles_lie_between_their_neighbours(values: Any, p50: float, p90: float) -> None:
    """As NumPy gives them."""
    summed = summarize(map(float, values))
    assert summed is not None
    assert (summed.p50, summed.p90) == (pytest.approx(p50), pytest.approx(p90))


@pytest.mark.parametrize("format", get_args(Format))
def test_every_format_has_the_response_latency(format: Format) -> None:
    """And JSON has it in full."""
    _, journal = story(ScriptedUser().says("stop please", at=6.0))
    figures = measure(journal)
    text = report(figures, format)
    if format == "json":
        assert json.loads(text)["response_latency"]["count"] == 2
        assert json.loads(text)["stop_latency"]["mean"] == figures.stops[0]
    else:
        assert f"{sum(figures.responses) / 2:.2f}" in text


def test_ticks_sample_who_speaks() -> None:
    """Half a tick and more counts."""
    _, journal = story(ScriptedUser())
    spoken = ticks_of(journal)
    assert sum(t.agent for t in spoken) * 0.2 == pytest.approx(8.1, abs=0.2)
    kinds = {type(value) for value in measure(journal).values}
    assert {Response} <= kinds
    assert Interruption not in kinds
