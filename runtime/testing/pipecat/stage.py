"""A conversation of Pipecat in virtual time, with and without a governor.

The pipeline, the aggregators, the strategies, the function calls, the audio contexts of the TTS and
the output transport are Pipecat's own. Only the user's input, the model's answers and the durations
are scripted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any

import attrs
from pipecat.audio.filters.base_audio_filter import BaseAudioFilter
from pipecat.audio.vad.vad_analyzer import VADAnalyzer
from pipecat.frames import frames as f
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_start import (
    TranscriptionUserTurnStartStrategy,
    VADUserTurnStartStrategy,
)
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from turnfsm.runtime.pipecat.governor import TurnGovernor
from turnfsm.runtime.testing.clock import VirtualClock, VirtualLoop, run
from turnfsm.runtime.testing.heard import Heard, TimelineEntry

from .outcome import Outcome, Request, ToolRun
from .parts import RATE, Loudspeaker, Messages, Microphone, Model, ScriptedModel, Voice
from .realtime import RATE_OF_SERVER, MakeService, RealtimeServer, openai

__all__ = ["Script", "Stage", "Tool", "own_strategies"]

HANGS = 300.0
"""Virtual seconds after which a hanging pipeline is aborted."""


Handler = Callable[[Any], Awaitable[None]]


@attrs.frozen
class Tool:
    """A tool.

    Attributes:
        seconds: Its duration.
        result: Its result, or an exception to raise.
        options: The options of its registration.
        mark: A decorator of the handler.
        commits: It calls `commit_point` before its side effect, if it is governed.
        effect_at: Seconds until its side effect; None: at its end.
        run: Your handler, which is called instead of all this.
    """

    seconds: float
    result: Any = "ok"
    options: Mapping[str, Any] = attrs.field(factory=dict)
    mark: Callable[[Any], Any] = lambda handler: handler
    commits: bool = False
    effect_at: float | None = None
    run: Handler | None = None


Tools = Mapping[str, Tool | Handler]
Script = Callable[["Stage"], Awaitable[None]]


def own_strategies() -> UserTurnStrategies:
    """The application's strategies, if it gives no others."""
    return UserTurnStrategies(
        start=[VADUserTurnStartStrategy(), TranscriptionUserTurnStartStrategy()],
        stop=[SpeechTimeoutUserTurnStopStrategy()],
    )


class Stage:
    """One conversation.

    Args:
        model: The model's answer to a list of messages.
        tools: The tools, by name: scripted, or your handlers; or a function of the governor that
            makes them.
        script: The actions of the user and the application.
        governor: Makes the governor; None: Pipecat alone.
        strategies: Makes the application's strategies.
        llm: The arguments of the LLM service.
        user: Makes arguments of the user aggregator's parameters.
        vad: The VAD; None: the user's speech is reported without one.
        times_words: The TTS reports when each word is spoken.
        voice_fails_on: The TTS fails on sentences that contain this.
        filter: The application's filter of the audio output.
        around: Puts more processors around those of the pipeline.
        other_params: The transport is built without the governor's parameters.
        realtime: The model is that of a `RealtimeServer`, behind Pipecat's service for OpenAI
            Realtime, or the service that this makes. It needs a VAD.
        server_vad: Instead, its server detects the turns, and gives the transcripts: there is no
            STT.
        speaks: There is a TTS.
        options: The arguments of the governor.
    """

    context: LLMContext
    worker: PipelineWorker

    def __init__(
        self,
        model: Model,
        tools: Tools | Callable[[TurnGovernor | None], Tools] | None = None,
        *,
        script: Script | None = None,
        governor: Callable[..., TurnGovernor] | None = TurnGovernor,
        strategies: Callable[[], UserTurnStrategies] = own_strategies,
        llm: Mapping[str, Any] | None = None,
        user: Callable[[], Mapping[str, Any]] = dict,
        vad: VADAnalyzer | None = None,
        times_words: bool = False,
        voice_fails_on: str = "",
        filter: BaseAudioFilter | None = None,
        around: Callable[[list[FrameProcessor]], list[FrameProcessor]] = list,
        other_params: bool = False,
        realtime: bool | MakeService = False,
        server_vad: bool = False,
        speaks: bool = True,
        **options: Any,
    ) -> None:
        self.script = script
        self.reports: list[object] = []
        self.words: list[str] = []
        self.errors: list[str] = []
        self.notes: list[TimelineEntry] = []
        self.tools: list[ToolRun] = []
        self.voice: list[Heard] = []
        self.asked: list[Request] = []
        self.states: list[str] = []
        self.orphans: tuple[str, ...] = ()
        self.began = 0.0
        self._strategies, self._user, self._vad = strategies, user, vad
        self._filter, self._other_params, self._around = filter, other_params, around
        self._server_vad = server_vad
        self.microphone = Microphone(vad, always=bool(realtime), transcribes=not server_vad)
        self.model: LLMService[Any] = ScriptedModel(model, self._ask, **(llm or {}))
        self._rate = RATE_OF_SERVER if realtime else RATE
        self.tts = Voice(
            self.words, times_words=times_words, fails_on=voice_fails_on, rate=self._rate
        )
        self.server: RealtimeServer | None = None
        if realtime:
            uttered = self.microphone.utterances
            make = openai if realtime is True else realtime
            self.server = RealtimeServer(model, self._ask, self.words, uttered, make)
            self.server.transcribes = self.server.server_vad = server_vad
        self._speaks = speaks
        with VirtualClock().patched():  # real time until the conversation begins does not count
            self.governor = governor(on_report=self.reports.append, **options) if governor else None
        made = tools(self.governor) if callable(tools) else tools or {}
        self._tools = {n: t if isinstance(t, Tool) else Tool(0.0, run=t) for n, t in made.items()}
        if self.governor is not None:
            self.governor.turn.observe(lambda seq, verdict: self._note_state())

    # -- for scripts

    @property
    def now(self) -> float:
        """The time in seconds from the start of the conversation."""
        return asyncio.get_running_loop().time() - self.began

    async def until(self, second: float) -> None:
        """Wait until this time of the conversation."""
        await asyncio.sleep(max(0.0, second - self.now))

    async def says(self, words: str, seconds: float = 1.0, **options: Any) -> None:
        """The user speaks."""
        self.note("user", f"says {words!r}, {seconds:g} s")
        self.voice.append(Heard(self.now, self.now + seconds, words))
        await self.microphone.says(words, seconds, **options)

    async def coughs(self, seconds: float = 0.4) -> None:
        """The VAD detects speech, but the STT recognises nothing."""
        self.note("user", f"makes a noise, {seconds:g} s")
        self.voice.append(Heard(self.now, self.now + seconds, ""))
        await self.microphone.makes_noise(seconds)

    async def pushes(self, frame: f.Frame) -> None:
        """The application queues a frame."""
        self.note("app", f"queues {type(frame).__name__}")
        await self.worker.queue_frame(frame)

    def note(self, lane: str, what: str) -> None:
        """Add a line to the timeline."""
        self.notes.append(TimelineEntry(self.now, lane, what))

    # -- playing

    def run(
        self, seconds: float, *, make_loop: Callable[..., VirtualLoop] = VirtualLoop
    ) -> Outcome:
        """Play a conversation of a number of virtual seconds, on its own loop."""
        run(self._play(seconds), limit=seconds + HANGS, make_loop=make_loop)
        began = self.began
        return Outcome(
            tuple(heard.since(began) for heard in self.speaker.played),
            tuple(self.voice),
            tuple(self.asked),
            tuple(self.tools),
            [dict(message) for message in self.context.messages],
            tuple(self.errors),
            tuple(self.notes),
            self.orphans,
            tuple(heard.since(began) for heard in self.speaker.beside),
        )

    async def _play(self, seconds: float) -> None:
        await asyncio.sleep(1.0)  # a Pipecat clock that is started at 0 does not run
        async with self.server or nullcontext():
            if self.server is not None:
                self.model = self.server.service()
            script = await self._converse(seconds)
        ours = (asyncio.current_task(), script)
        self.orphans = tuple(task.get_name() for task in asyncio.all_tasks() if task not in ours)

    async def _converse(self, seconds: float) -> asyncio.Future[None]:
        self.worker = PipelineWorker(
            self._pipeline(), cancel_on_idle_timeout=False, enable_rtvi=False
        )
        started = asyncio.Event()

        async def note_start(*_: Any) -> None:
            started.set()

        async def note_error(worker: Any, frame: f.ErrorFrame) -> None:
            self.errors.append(frame.error)
            self.note("error", frame.error)

        self.worker.add_event_handler("on_pipeline_started", note_start)
        self.worker.add_event_handler("on_pipeline_error", note_error)
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self.worker)
        running = asyncio.ensure_future(runner.run())
        await started.wait()
        self._note_state()
        self.began = asyncio.get_running_loop().time()
        assert self.script is not None
        playing: asyncio.Future[None] = asyncio.ensure_future(self.script(self))
        await asyncio.wait({playing, running}, timeout=seconds, return_when="FIRST_EXCEPTION")
        await self.until(seconds)
        if playing.done():
            playing.result()
        playing.cancel()
        await self.worker.cancel()
        await running
        return playing

    def _pipeline(self) -> Pipeline:
        governor = self.governor
        params = other = TransportParams(
            audio_out_enabled=True,
            audio_out_sample_rate=self._rate,
            audio_out_filter=self._filter,
        )
        strategies = None if self._server_vad else self._strategies()
        user = LLMUserAggregatorParams(
            user_turn_strategies=strategies, vad_analyzer=self._vad, **self._user()
        )
        self.context = LLMContext()
        if governor is not None:
            params, user = governor.transport(params), governor.user(user)
        pair = self.pair = LLMContextAggregatorPair(self.context, user_params=user)
        self.speaker = Loudspeaker(self.words, other if self._other_params else params)
        for name, tool in self._tools.items():
            handler = tool.mark(self._handler(name, tool))
            if governor is not None:
                governor.register_function(self.model, name, handler, **tool.options)
            else:
                self.model.register_function(name, handler, **tool.options)
        voice = [self.tts] if self._speaks else []
        inputs = [self.microphone, pair.user(), self.model, *voice]
        parts = self._around([*inputs, self.speaker, pair.assistant()])
        return Pipeline(governor.processors(parts) if governor is not None else parts)

    def _ask(self, messages: Messages) -> None:
        self.asked.append(Request(self.now, messages))
        self.note("model", f"gets a request of {len(messages)} messages")

    def _note_state(self) -> None:
        if self.governor is not None and self.states[-1:] != [self.governor.turn.state]:
            self.states.append(self.governor.turn.state)
            self.note("flow", self.states[-1])

    def _handler(self, name: str, tool: Tool) -> Callable[[Any], Awaitable[None]]:
        before = tool.seconds if tool.effect_at is None else tool.effect_at

        async def handler(params: Any) -> None:
            call = ToolRun(params.tool_call_id, name, self.now)
            self.tools.append(call)
            self.note("tool", f"{name} begins")
            try:
                if tool.run is not None:
                    await tool.run(params)
                    call.effect = self.now
                    return
                await asyncio.sleep(before)
                if tool.commits and self.governor is not None:
                    await self.governor.commit_point(params)
                call.effect = self.now
                self.note("tool", f"{name} has its effect")
                await asyncio.sleep(tool.seconds - before)
            except asyncio.CancelledError:
                call.cancelled = True
                self.note("tool", f"{name} is cancelled")
                raise
            finally:
                call.end = self.now
            self.note("tool", f"{name} ends")
            if isinstance(tool.result, Exception):
                raise tool.result
            await params.result_callback(tool.result)

        return handler if tool.run is None else wraps(tool.run)(handler)
