"""A conversation of Pipecat in virtual time, with and without a governor.

The pipeline, the aggregators, the strategies, the function calls, the audio contexts of the TTS and
the output transport are Pipecat's own. Scripted is what is heard of the user, what the model says,
and how long it takes.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.audio.filters.base_audio_filter import BaseAudioFilter
from pipecat.frames import frames as f
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.turns.user_start import (
    TranscriptionUserTurnStartStrategy,
    VADUserTurnStartStrategy,
)
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner
from pipecat_parts import (
    RATE,
    Loudspeaker,
    Messages,
    Microphone,
    Model,
    Says,
    ScriptedModel,
    Voice,
    said,
    shows,
)

from turnfsm.pipecat import TurnGovernor
from turnfsm.testing import PermutedLoop, VirtualLoop, run

__all__ = [
    "Loudspeaker",
    "Messages",
    "Microphone",
    "Says",
    "Script",
    "ScriptedModel",
    "Stage",
    "Tool",
    "Voice",
    "brief",
    "own_strategies",
    "said",
    "shows",
]


@dataclass
class Tool:
    """A tool: how long it takes, what it gives or raises, the options of its registration, and
    whether it has a commit point before its effect."""

    seconds: float
    result: Any = "ok"
    options: Mapping[str, Any] = field(default_factory=dict)
    mark: Callable[[Any], Any] = lambda handler: handler
    commits: bool = False


Script = Callable[["Stage"], Awaitable[None]]


class Stage:
    """One conversation.

    Args:
        model: What the model says to a list of messages.
        tools: By name.
        stock: Pipecat alone.
        strategies: Makes the application's strategies.
        llm: The arguments of the LLM service.
        mutes: The application's mute strategies.
        times_words: The TTS says when each word is spoken.
        voice_fails_on: The TTS fails on sentences with this.
        filter: The application's filter of the audio output.
        other_params: The transport is built with other parameters than those of the governor.
        governor: The arguments of the governor.

    Attributes:
        schedule: The seed of the order in which tasks run that are ready at the same time; None for
            that of asyncio.
    """

    schedule: int | None = None

    def __init__(
        self,
        model: Model,
        tools: Mapping[str, Tool] | None = None,
        *,
        stock: bool = False,
        strategies: Callable[[], UserTurnStrategies] | None = None,
        times_words: bool = False,
        voice_fails_on: str = "",
        llm: Mapping[str, Any] | None = None,
        mutes: Sequence[BaseUserMuteStrategy] = (),
        filter: BaseAudioFilter | None = None,
        other_params: bool = False,
        **governor: Any,
    ) -> None:
        self._tools = tools or {}
        self.effects: list[str] = []  # what tools have done
        self.cancelled: list[str] = []
        self.states: list[str] = []
        self.told: list[object] = []
        self.words: list[str] = []
        self.errors: list[str] = []
        self._strategies = strategies or own_strategies
        self._times_words, self._mutes = times_words, list(mutes)
        self._voice_fails_on = voice_fails_on
        self._filter, self._other_params = filter, other_params
        self.microphone, self.model = Microphone(), ScriptedModel(model, **(llm or {}))
        self.governor = None if stock else TurnGovernor(tell=self.told.append, **governor)
        if self.governor is not None:
            self.governor.turn.observe(lambda seq, verdict: self._note_state())

    @property
    def heard(self) -> str:
        """All words that were heard."""
        return " ".join(word for _, word in self.speaker.heard)

    def when(self, word: str) -> float:
        """The second at which a word was first heard."""
        return (
            next(at for at, heard in self.speaker.heard if heard.strip(".,?") == word) - self.began
        )

    @property
    def user_turns(self) -> dict[str, int]:
        """How many turns have ended, by how."""
        assert self.governor is not None
        return {how: count for how, count in self.governor.user_turns.items() if count}

    @property
    def requests(self) -> list[Messages]:
        """The messages of each request."""
        return self.model.requests

    async def says(self, words: str, seconds: float = 1.0) -> None:
        await self.microphone.says(words, seconds)

    async def coughs(self, seconds: float = 0.4) -> None:
        await self.microphone.makes_noise(seconds)

    async def until(self, second: float) -> None:
        """Wait until this second of the conversation."""
        await asyncio.sleep(max(0.0, self.began + second - asyncio.get_running_loop().time()))

    async def pushes(self, frame: f.Frame) -> None:
        """The application queues a frame."""
        await self.worker.queue_frame(frame)

    def play(self, script: Script, *, seconds: float = 30.0) -> "Stage":
        """Play a conversation of so many seconds."""
        seed = self.schedule
        loop = VirtualLoop if seed is None else partial(PermutedLoop, seed=seed)
        run(self._play(script, seconds), limit=600.0, make_loop=loop)
        return self

    async def _play(self, script: Script, seconds: float) -> None:
        await asyncio.sleep(1.0)  # a clock of Pipecat that is started at 0 stands still
        governor = self.governor
        params = other = TransportParams(
            audio_out_enabled=True, audio_out_sample_rate=RATE, audio_out_filter=self._filter
        )
        user = LLMUserAggregatorParams(
            user_turn_strategies=self._strategies(), user_mute_strategies=self._mutes
        )
        schemas = [FunctionSchema(name, name, {}, []) for name in self._tools]
        self.context = LLMContext(tools=ToolsSchema(schemas)) if schemas else LLMContext()
        if governor is not None:
            params, user = governor.transport(params), governor.user(user)
        pair = LLMContextAggregatorPair(self.context, user_params=user)
        self.speaker = Loudspeaker(self.words, other if self._other_params else params)
        for name, tool in self._tools.items():
            handler = tool.mark(self._handler(name, tool))
            if governor is not None:
                governor.register_function(self.model, name, handler, **tool.options)
            else:
                self.model.register_function(name, handler, **tool.options)
        voice = Voice(self.words, times_words=self._times_words)
        voice.fails_on = self._voice_fails_on
        parts = [self.microphone, pair.user(), self.model, voice, self.speaker, pair.assistant()]
        pipeline = Pipeline(governor.processors(parts) if governor is not None else parts)
        self.worker = PipelineWorker(pipeline, cancel_on_idle_timeout=False, enable_rtvi=False)
        started = asyncio.Event()

        async def note_start(*_: Any) -> None:
            started.set()

        async def note_error(worker: Any, frame: f.ErrorFrame) -> None:
            self.errors.append(frame.error)

        self.worker.add_event_handler("on_pipeline_started", note_start)
        self.worker.add_event_handler("on_pipeline_error", note_error)
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self.worker)
        running = asyncio.ensure_future(runner.run())
        await started.wait()
        self._note_state()
        self.began = asyncio.get_running_loop().time()
        playing = asyncio.ensure_future(script(self))
        await asyncio.wait({playing, running}, timeout=seconds, return_when="FIRST_EXCEPTION")
        await self.until(seconds)
        if playing.done():
            playing.result()
        playing.cancel()
        self.state_at_end = self.states[-1:]
        await self.worker.cancel()
        await running
        own = (asyncio.current_task(), playing)
        assert [task for task in asyncio.all_tasks() if task not in own] == []

    def _note_state(self) -> None:
        if self.governor is not None and self.states[-1:] != [self.governor.turn.state]:
            self.states.append(self.governor.turn.state)

    def _handler(self, name: str, tool: Tool) -> Callable[[Any], Awaitable[None]]:
        async def handler(params: Any) -> None:
            try:
                await asyncio.sleep(tool.seconds)
            except asyncio.CancelledError:
                self.cancelled.append(name)
                raise
            if tool.commits and self.governor is not None:
                await self.governor.commit_point(params)
            self.effects.append(name)
            if isinstance(tool.result, Exception):
                raise tool.result
            await params.result_callback(tool.result)

        return handler


def brief(messages: Messages) -> list[str]:
    """The messages, each in a few words."""
    return [_brief(message) for message in messages]


def _brief(message: dict[str, Any]) -> str:
    if calls := message.get("tool_calls"):
        return f"call {calls[0]['function']['name']}"
    content = str(message.get("content"))
    try:
        payload = json.loads(content)
    except ValueError:
        payload = content
    if isinstance(payload, dict) and payload.get("type") == "async_tool":
        content = f"<{payload['status']} {payload.get('result', '')}>"
    return f"{message['role']}: {content}"


def own_strategies() -> UserTurnStrategies:
    return UserTurnStrategies(
        start=[VADUserTurnStartStrategy(), TranscriptionUserTurnStartStrategy()],
        stop=[SpeechTimeoutUserTurnStopStrategy()],
    )
