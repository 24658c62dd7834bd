"""The words of a TTS that says when each is spoken."""

import asyncio

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.workers.runner import WorkerRunner

from turnfsm.runtime.pipecat.output import Tap
from turnfsm.runtime.pipecat.words import WordGate
from turnfsm.testing import run


class Heard(FrameProcessor):
    """Notes when each word arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.words: dict[str, float] = {}

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, f.TTSTextFrame):
            self.words[frame.text] = asyncio.get_running_loop().time()
        await self.push_frame(frame, direction)


def _word(text: str, at: float) -> f.Frame:
    frame = f.TTSTextFrame(text, text_type="word")
    frame.pts = int(at * 1e9)
    return frame


def test_a_word_after_an_interruption_does_not_wait_for_the_time_of_a_dropped_one() -> None:
    heard = Heard()

    async def play() -> float:
        await asyncio.sleep(1.0)  # a Pipecat clock that is started at 0 does not run
        pipeline = Pipeline([WordGate(Tap()), heard])
        worker = PipelineWorker(pipeline, cancel_on_idle_timeout=False, enable_rtvi=False)
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        running = asyncio.ensure_future(runner.run())
        await worker.queue_frame(_word("dropped", 3.0))
        await asyncio.sleep(0.5)
        await worker.queue_frame(f.InterruptionFrame())
        await asyncio.sleep(0.1)
        await worker.queue_frame(_word("next", 1.0))
        await asyncio.sleep(5.0)
        await worker.cancel()
        await running
        return heard.words["next"] - 1.0

    assert run(play()) == pytest.approx(1.0, abs=0.01)
    assert [*heard.words] == ["next"]
