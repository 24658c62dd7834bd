"""What the application queues behind a text or a request keeps its place, as without a governor."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat_stage import Stage, counts

from turnfsm.runtime.host.tasks import Tasks
from turnfsm.runtime.pipecat.line import LONGEST, Arrival, Line
from turnfsm.runtime.testing.pipecat import Messages, Says, said, shows
from turnfsm.testing import run

BYE = "Goodbye my friend."
ANSWER = "As you like."
SAY_BYE = {"role": "developer", "content": "say goodbye"}

Acts = Callable[[Stage], Awaitable[None]]


def _model(messages: Messages) -> Says:
    if shows(messages, SAY_BYE["content"]):
        return Says(BYE)
    return counts(messages) if said(messages) == "please count" else Says(ANSWER)


def _says(*frames: f.Frame) -> Acts:
    async def act(stage: Stage) -> None:
        await stage.worker.queue_frames([f.TTSSpeakFrame(BYE), *frames])

    return act


def _asks(*frames: f.Frame) -> Acts:
    async def act(stage: Stage) -> None:
        stage.context.add_message(SAY_BYE)
        await stage.worker.queue_frames([f.LLMRunFrame(), *frames])

    return act


async def _appends_and_ends(stage: Stage) -> None:
    frames = [f.LLMMessagesAppendFrame([SAY_BYE], run_llm=True), f.EndFrame()]
    await stage.worker.queue_frames(frames)


async def _says_and_stops_when_done(stage: Stage) -> None:
    await stage.worker.queue_frame(f.TTSSpeakFrame(BYE))
    await stage.worker.stop_when_done()


async def _idle_handler_ends(stage: Stage) -> None:
    """As in a handler of `on_user_turn_idle`, which may be called again."""
    for _ in range(2):
        await stage.pair.user().push_frame(f.TTSSpeakFrame(BYE))
        await stage.pair.user().push_frame(f.EndFrame())


async def _tool_ends(stage: Stage) -> None:
    """As in a tool that hangs up."""
    await stage.model.push_frame(f.TTSSpeakFrame(BYE))
    await stage.model.push_frame(f.EndWorkerFrame(), FrameDirection.UPSTREAM)


HANG_UPS = {
    "say": _says(f.EndFrame()),
    "say, as a task": _says(f.EndWorkerFrame()),
    "ask": _asks(f.EndFrame()),
    "append": _appends_and_ends,
    "ask and say": _asks(f.TTSSpeakFrame("Really."), f.EndFrame()),
    "say and ask": _says(f.LLMRunFrame(), f.EndFrame()),
    "stop_when_done": _says_and_stops_when_done,
    "idle handler": _idle_handler_ends,
    "tool": _tool_ends,
}


def _plays(
    act: Acts, *, at: float, governed: bool, seed: int | None = None, **options: Any
) -> Stage:
    async def script(stage: Stage) -> None:
        await stage.says("hello" if at > 5.0 else "please count")
        await stage.until(at)
        await act(stage)

    stage = Stage(_model, **options) if governed else Stage(_model, governor=None, **options)
    stage.schedule = seed
    return stage.play(script, seconds=80.0)


TIMES = {"thinking": 1.9, "speaking": 3.0, "silence": 6.0}


@pytest.mark.parametrize(
    ("how", "when"),
    [(how, when) for how in HANG_UPS for when in TIMES if (how, when) != ("tool", "thinking")],
)
def test_a_goodbye_is_heard_before_the_pipeline_ends(
    how: str, when: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A text that a tool says during the generation of an answer is said after the answer."""
    at = TIMES[when]
    alone = _plays(HANG_UPS[how], at=at, governed=False)
    governed = _plays(HANG_UPS[how], at=at, governed=True, seed=int(at))
    assert governed.heard == alone.heard
    assert BYE in governed.heard
    assert governed.governor is not None
    assert governed.governor.turn.closed
    assert "the turn waits" not in caplog.text


@dataclass
class Marker(f.ControlFrame):
    """A frame of the application's own."""


@dataclass
class LastingMarker(Marker):
    """Pipecat does not drop it at an interruption."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.interruptible = False


class Passes(FrameProcessor):
    """At the end of the pipeline: notes when each marker arrives."""

    def __init__(self, times: list[float], now: Callable[[], float]) -> None:
        super().__init__()
        self._times, self._now = times, now

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, Marker):
            self._times.append(round(self._now(), 1))
        await self.push_frame(frame, direction)


def _marks(act: Acts, at: float, *, governed: bool) -> list[float]:
    """When the markers have passed through the pipeline."""
    times: list[float] = []
    stages: list[Stage] = []

    def around(parts: list[FrameProcessor]) -> list[FrameProcessor]:
        return [*parts, Passes(times, lambda: stages[0].now)]

    async def acts(stage: Stage) -> None:
        stages.append(stage)
        await act(stage)

    _plays(acts, at=at, governed=governed, around=around)
    return times


@pytest.mark.parametrize("at", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize(
    "act",
    [
        _says(Marker()),
        _asks(Marker()),
        _asks(f.TTSSpeakFrame("Really."), Marker(), f.TTSSpeakFrame("Really."), LastingMarker()),
    ],
    ids=["text", "request", "both"],
)
def test_any_frame_of_the_application_arrives_after_what_it_was_queued_behind(
    act: Acts, at: float
) -> None:
    alone, governed = _marks(act, at, governed=False), _marks(act, at, governed=True)
    assert len(governed) == len(alone)
    assert governed == pytest.approx(alone, abs=1.0)  # a request waits for the floor
    assert sorted(set(governed)) == governed


async def _interrupts_what_waits(stage: Stage) -> None:
    """While the agent is speaking, the user takes over what the application has queued."""
    stage.context.add_message(SAY_BYE)
    await stage.worker.queue_frames([f.LLMRunFrame(), Marker(), LastingMarker()])
    await stage.until(3.2)
    await stage.says("and now something else")


def test_an_interruption_drops_what_waits_behind_the_interrupted_reply_as_pipecat_does() -> None:
    alone = _marks(_interrupts_what_waits, 3.0, governed=False)
    assert len(_marks(_interrupts_what_waits, 3.0, governed=True)) == len(alone) == 1


async def _speaks_over_the_end(stage: Stage) -> None:
    await stage.pushes(f.VADUserStartedSpeakingFrame())  # nobody reports that they stop
    await stage.until(3.5)
    await stage.worker.queue_frames([f.TTSSpeakFrame(BYE), f.EndFrame()])


def test_a_user_who_speaks_when_the_end_is_queued_does_not_delay_it() -> None:
    stage = _plays(_speaks_over_the_end, at=3.0, governed=True)
    assert stage.heard.endswith(BYE)
    assert stage.when("Goodbye") < 9.0


def test_a_frame_waits_no_longer_than_the_limit(caplog: pytest.LogCaptureFixture) -> None:
    """Only seconds count in which the agent does not speak."""

    async def play() -> None:
        passed: list[f.Frame] = []
        agent: Any = SimpleNamespace(tasks=Tasks(), agent_state="speaking")

        async def go_on(frame: f.Frame) -> None:
            passed.append(frame)

        waits = Line(agent, go_on, lambda: ())
        assert waits.takes(Marker(), [Arrival()])
        await asyncio.sleep(LONGEST + 1.0)
        agent.agent_state = "listening"
        await asyncio.sleep(LONGEST - 2.0)
        assert not passed
        await asyncio.sleep(2.0)
        assert len(passed) == 1
        await agent.tasks.aclose()

    run(play())
    assert "has waited for 30 s for what was queued before it, and goes on" in caplog.text
