"""Conversations of Pipecat under the shipped flow. What Pipecat does alone is in
`test_pipecat_compare.py`."""

import asyncio

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.pipeline.parallel_pipeline import ParallelPipeline
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.turns.user_start import MinWordsUserTurnStartStrategy
from pipecat.turns.user_turn_strategies import (
    ExternalUserTurnStrategies,
    UserTurnStrategies,
)
from pipecat_stage import (
    COUNT,
    LATE,
    PRICE,
    QUESTION,
    Stage,
    asks_again,
    brief,
    coughs_at,
    counts,
    look_up,
    moments,
    orders,
)

from turnfsm.host import FalseInterruption
from turnfsm.pipecat import AgentStateChanged
from turnfsm.runtime.testing.pipecat import Messages, Says, Script, own_strategies, said


def agent_states(stage: Stage) -> list[str]:
    """The agent states that were reported."""
    return [report.new for report in stage.reports if isinstance(report, AgentStateChanged)]


def others(stage: Stage) -> list[object]:
    """What else was reported."""
    return [report for report in stage.reports if not isinstance(report, AgentStateChanged)]


def test_the_agent_state_is_thinking_while_the_model_generates_a_reply() -> None:
    changes = agent_states(Stage(counts).play(coughs_at(20.0)))
    assert changes == ["thinking", "speaking", "listening"]


def test_the_agent_state_is_thinking_while_a_tool_runs() -> None:
    changes = agent_states(Stage(orders, look_up(1.0)).play(asks_again(20.0), seconds=15.0))
    assert changes == ["thinking", "speaking", "listening"]


def test_the_agent_state_of_a_text_that_no_model_generates_is_never_thinking() -> None:
    stage = Stage(orders).play(moments((0.0, f.TTSSpeakFrame("Good morning."))))
    assert agent_states(stage) == ["speaking", "listening"]


def test_a_false_interruption_is_resumed() -> None:
    stage = Stage(counts).play(coughs_at(4.5))
    assert stage.heard == COUNT
    assert len(stage.requests) == 1
    assert others(stage) == [FalseInterruption()]
    assert "paused" in stage.states


@pytest.mark.parametrize("coughs_first", [False, True])
def test_after_a_barge_in_the_context_has_the_words_that_were_heard(coughs_first: bool) -> None:
    """Also if the answer was paused before, or is paused until the words are recognised."""

    async def script(stage: Stage) -> None:
        await stage.says("please count")
        if coughs_first:
            await stage.until(3.5)
            await stage.coughs()
            await stage.until(6.8)
        else:
            await stage.until(4.5)
        await stage.says("hello there", 2.0)

    stage = Stage(counts, times_words=True).play(script)
    kept = brief(stage.requests[-1])[1].removeprefix("assistant: ").split()
    heard = stage.heard.removesuffix(" You said hello there.").split()
    assert 5 <= len(heard) < 9
    assert kept in (heard, COUNT.split()[: len(heard) + 1])  # a word counts when it begins
    assert stage.context.messages[-1]["content"] == "You said hello there."


def test_timed_words_that_wait_come_all_into_the_context() -> None:
    stage = Stage(counts, times_words=True).play(coughs_at(4.5))
    assert stage.heard == COUNT
    assert stage.context.messages[-1] == {"role": "assistant", "content": COUNT}
    assert stage.states[-1] == "listening"


def test_too_few_words_do_not_interrupt_and_belong_to_no_turn() -> None:
    def strategies() -> UserTurnStrategies:
        own = own_strategies()
        own.start = [MinWordsUserTurnStartStrategy(min_words=3)]
        return own

    script = moments((0.0, "please count to ten"), (4.5, "mhm", 0.5), (9.0, "please stop that now"))
    stage = Stage(counts, strategies=strategies).play(script)
    assert stage.heard == f"{COUNT} You said please stop that now."
    assert stage.user_turns == {"replied": 2}
    assert others(stage) == []


def test_turns_that_a_service_detects_are_governed() -> None:
    """An answer that it would interrupt is paused, and goes on if there are no words."""

    async def proposes(stage: Stage, words: str) -> None:
        await stage.microphone.push_frame(f.ProposedUserStartedSpeakingFrame())
        await asyncio.sleep(0.5)
        if words:
            frame = f.TranscriptionFrame(words, "user", "now", finalized=True)
            await stage.microphone.push_frame(frame)
        await stage.microphone.push_frame(f.ProposedUserStoppedSpeakingFrame())

    async def script(stage: Stage) -> None:
        await proposes(stage, "please count to ten")
        await stage.until(3.0)
        await proposes(stage, "")
        await stage.until(10.0)
        await proposes(stage, "thank you")

    stage = Stage(counts, strategies=ExternalUserTurnStrategies).play(script)
    assert stage.heard == f"{COUNT} You said thank you."
    assert stage.states.count("paused") == 1
    assert stage.user_turns == {"replied": 2}


class Passes(FrameProcessor):
    """Passes everything on, and counts the requests and the audio that it sees."""

    seen = 0

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        self.seen += isinstance(frame, f.TranscriptionFrame | f.TTSAudioRawFrame)
        await self.push_frame(frame, direction)


def test_processors_that_run_beside_each_other_change_nothing() -> None:
    """Before the user aggregator and before the output, in parallel pipelines."""
    beside = [Passes() for _ in range(4)]

    def around(parts: list[FrameProcessor]) -> list[FrameProcessor]:
        return [
            *(parts[0], ParallelPipeline([beside[0]], [beside[1]]), *parts[1:4]),
            *(ParallelPipeline([beside[2]], [beside[3]]), *parts[4:]),
        ]

    script = asks_again(6.0)
    alone, stage = (
        Stage(orders, look_up(1.0), **options).play(script) for options in ({}, {"around": around})
    )
    assert all(one.seen for one in beside)
    assert (stage.heard, stage.states) == (alone.heard, alone.states)
    assert stage.context.messages == alone.context.messages
    assert stage.user_turns == alone.user_turns == {"replied": 2}


def test_what_the_model_does_not_say_in_time_is_given_up_with_a_limit() -> None:
    """`limits="brisk"`: the turn after it is answered."""

    def model(messages: Messages) -> Says:
        return Says("Here.", after=500.0 if "hello" in said(messages) else 0.4)

    stage = Stage(model, limits="brisk").play(
        moments((0.0, "hello there"), (15.0, "are you there"))
    )
    assert stage.heard == "Here."
    assert stage.user_turns == {"dropped": 1, "replied": 1}


def test_the_end_of_the_pipeline_leaves_nothing_behind() -> None:
    """While a tool runs, while the agent speaks, while it is paused. The stage looks for tasks."""

    async def script(stage: Stage) -> None:
        await stage.says(QUESTION)
        await asyncio.sleep(60.0)

    stage = Stage(orders, look_up(60.0)).play(script, seconds=6.0)
    assert stage.cancelled == ["look_up"]
    assert stage.governor is not None
    assert stage.governor.turn.closed
    speaking = Stage(counts).play(coughs_at(4.5), seconds=4.0)
    paused = Stage(counts).play(coughs_at(4.5), seconds=5.0)
    assert (speaking.states[-1], paused.states[-1]) == ("speaking", "paused")


def test_a_pipeline_that_ends_while_the_agent_is_paused_says_the_rest() -> None:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(4.5)
        await asyncio.gather(stage.coughs(3.0), moments((5.0, f.EndFrame()))(stage))

    stage = Stage(counts).play(script)
    assert stage.heard == COUNT


@pytest.mark.parametrize("seed", [0, 3, 6, 9])
def test_another_order_of_tasks_changes_nothing(seed: int) -> None:
    """A handler may begin before its call is announced."""

    class Reordered(Stage):
        schedule = seed

    stage = Reordered(orders, look_up(6.0), times_words=True).play(asks_again(4.0))
    assert (stage.heard, stage.effects) == (f"{PRICE} {LATE}", ["look_up"])
    coughed = Reordered(counts).play(coughs_at(4.5))
    assert (coughed.heard, len(coughed.requests)) == (COUNT, 1)


def test_after_a_voice_that_failed_the_next_turn_is_answered() -> None:
    stage = Stage(counts, voice_fails_on="hello").play(
        moments((0.0, "hello there"), (9.0, "please count"))
    )
    assert stage.heard == COUNT
    assert stage.user_turns == {"dropped": 1, "replied": 1}
    assert "the voice is down" in stage.errors


def test_an_end_frame_lets_the_agent_finish_and_stops_a_tool() -> None:
    def ends_at(words: str) -> Script:
        return moments((0.0, words), (4.0, f.EndFrame()))

    assert Stage(counts).play(ends_at("please count")).heard == COUNT
    stage = Stage(orders, look_up(60.0)).play(ends_at(QUESTION))
    assert (stage.effects, stage.cancelled) == ([], ["look_up"])


def test_timed_words_of_two_sentences_come_into_the_context_in_their_order() -> None:
    stage = Stage(lambda messages: Says("One two three. Four five."), times_words=True).play(
        moments((0.0, "hello there"))
    )
    assert stage.context.messages[-1]["content"] == "One two three. Four five."


@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3])
def test_an_interruption_by_the_application_ends_no_later_reply(seed: int | None) -> None:
    """The model that it stops ends its answer at once, and another reply waits for the floor."""

    script = moments(
        (0.0, "please count"),
        (0.0, f.LLMRunFrame()),
        (1.9, f.LLMRunFrame()),
        (2.0, f.InterruptionFrame()),
    )

    class Reordered(Stage):
        schedule = seed

    stage = Reordered(counts).play(script)
    assert COUNT in stage.heard
    began = stage.when("One") + 0.05
    assert [n.what for n in stage.notes if n.lane == "flow" and n.at <= began][-1] == "speaking"
