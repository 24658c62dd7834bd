"""Strategies for the start and end of the user's turn: the application's strategies propose, the
flow decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessorSetup
from pipecat.turns.types import ProcessFrameResult, UserTurnSpeculation
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.turns.user_start import BaseUserTurnStartStrategy, UserTurnStartedParams
from pipecat.turns.user_stop import (
    BaseUserTurnStopStrategy,
    ExternalUserTurnStopStrategy,
    UserTurnStoppedParams,
)
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.utils.base_object import BaseObject

from turnfsm.fsm import HostError
from turnfsm.runtime.host.turns import Turn

from .agent import PipecatAgent
from .hearing import Hearing
from .own_turns import OwnTurns

__all__ = ["FlowMutes", "governed", "service_strategies"]


HEARD = (
    *(f.VADUserStoppedSpeakingFrame, f.ProposedUserStoppedSpeakingFrame),
    *(f.TranscriptionFrame, f.InterimTranscriptionFrame),
)
"""After these, the user may have said enough."""


class Ears(BaseUserTurnStartStrategy):
    """The first strategy: reports what is heard before another strategy acts on it.

    Args:
        check: Raises a `HostError` if the pipeline is not governed, which ends it at its start.
    """

    def __init__(self, hearing: Hearing, check: Callable[[], None]) -> None:
        super().__init__()
        self._hearing, self._check = hearing, check

    async def commit(self, turn: Turn | None = None) -> bool:
        """As `Hearing.commit`. What the flow ignores does not get into the context."""
        taken = self._hearing.commit(turn)
        if self._hearing.unwanted:
            await self.trigger_reset_aggregation()
        return taken

    async def process_frame(self, frame: f.Frame) -> ProcessFrameResult:
        match frame:
            case f.StartFrame():
                await self._refuse_ungoverned()
            case f.VADUserStartedSpeakingFrame():
                self._hearing.voice_started("vad", after=frame.start_secs)
            case f.VADUserStoppedSpeakingFrame():
                self._hearing.voice_ended("vad", after=frame.stop_secs)
            case f.ProposedUserStartedSpeakingFrame():
                self._hearing.voice_started("service")
            case f.ProposedUserStoppedSpeakingFrame():
                self._hearing.voice_ended("service")
            case f.TranscriptionFrame() | f.InterimTranscriptionFrame():
                if text := frame.text.strip():
                    final = isinstance(frame, f.TranscriptionFrame)
                    self._hearing.transcript_received(text, final=final)
        return ProcessFrameResult.CONTINUE

    async def _refuse_ungoverned(self) -> None:
        try:
            self._check()
        except HostError as error:
            up = FrameDirection.UPSTREAM
            await self.push_frame(f.ErrorFrame(str(error), exception=error), up)
            await self.push_frame(f.CancelWorkerFrame(reason=str(error)), up)


class ServiceEars(Ears):
    """The only start strategy if the LLM service detects the turns: the flow cannot refuse them.

    Args:
        check: As in `Ears`.
    """

    def __init__(self, hearing: Hearing, turns: OwnTurns, check: Callable[[], None]) -> None:
        super().__init__(hearing, check)
        self._turns = turns

    @property
    def resolves_proposed_turn_start_frames(self) -> bool:
        return True

    async def process_frame(self, frame: f.Frame) -> ProcessFrameResult:
        match frame:
            case f.TranscriptionFrame():
                if text := frame.text.strip():
                    self._turns.transcribed(text)
                return ProcessFrameResult.CONTINUE
            case f.InterimTranscriptionFrame():
                return ProcessFrameResult.CONTINUE
            case f.ProposedUserStoppedSpeakingFrame():
                self._turns.user_stopped()
        await super().process_frame(frame)
        if isinstance(frame, f.ProposedUserStartedSpeakingFrame):
            self._turns.user_speaks()
            await self.trigger_user_turn_started(enable_interruptions=False)
            return ProcessFrameResult.STOP
        return ProcessFrameResult.CONTINUE


class _Around(BaseObject):
    """Wraps a strategy of the application, which does everything except the decision."""

    _inner: BaseUserTurnStartStrategy | BaseUserTurnStopStrategy

    async def setup(self, setup: FrameProcessorSetup) -> None:
        await super().setup(setup)
        await self._inner.setup(setup)
        self._inner.add_event_handler("on_push_frame", self._pushed)
        self._inner.add_event_handler("on_broadcast_frame", self._broadcast)

    async def cleanup(self) -> None:
        await super().cleanup()
        await self._inner.cleanup()

    async def handle_user_turn_started(self) -> None:
        await self._inner.handle_user_turn_started()

    async def handle_user_turn_stopped(self) -> None:
        await self._inner.handle_user_turn_stopped()

    async def process_frame(self, frame: f.Frame) -> ProcessFrameResult | None:
        return await self._inner.process_frame(frame)

    async def _pushed(self, inner: Any, *args: Any) -> None:
        await self.push_frame(*args)

    async def _broadcast(self, inner: Any, kind: type[f.Frame], **fields: Any) -> None:
        await self.broadcast_frame(kind, **fields)


class Starts(_Around, BaseUserTurnStartStrategy):
    """A start strategy of the application. Before it interrupts, the flow is asked."""

    def __init__(self, inner: BaseUserTurnStartStrategy, hearing: Hearing) -> None:
        super().__init__()
        self._inner, self._hearing = inner, hearing

    @property
    def resolves_proposed_turn_start_frames(self) -> bool:
        return bool(self._inner.resolves_proposed_turn_start_frames)

    async def setup(self, setup: FrameProcessorSetup) -> None:
        await super().setup(setup)
        self._inner.add_event_handler("on_user_turn_started", self._started)
        self._inner.add_event_handler("on_reset_aggregation", self._text_reset)

    async def _started(self, inner: Any, params: UserTurnStartedParams) -> None:
        self._hearing.turn_started(interrupts=params.enable_interruptions)
        if params.enable_interruptions:
            self._hearing.interruption_proposed()
        await self.trigger_user_turn_started(
            enable_interruptions=False,
            enable_user_speaking_frames=params.enable_user_speaking_frames,
        )

    async def _text_reset(self, inner: Any) -> None:
        self._hearing.transcript_reset()
        await self.trigger_reset_aggregation()


class Stops(_Around, BaseUserTurnStopStrategy):
    """A stop strategy of the application. A turn that must not be answered now stays open, and so
    does one that lacks a part of the expected value."""

    def __init__(self, inner: BaseUserTurnStopStrategy, agent: PipecatAgent, ends: Ends) -> None:
        super().__init__()
        self._inner, self._agent, self._hearing, self._ends = inner, agent, agent.hearing, ends

    @property
    def resolves_proposed_turn_stop_frames(self) -> bool:
        return bool(self._inner.resolves_proposed_turn_stop_frames)

    async def setup(self, setup: FrameProcessorSetup) -> None:
        await super().setup(setup)
        self._inner.add_event_handler("on_user_turn_inference_triggered", self._complete)
        self._inner.add_event_handler("on_user_turn_stopped", self._stopped)
        self._inner.add_event_handler("on_user_turn_speculation_cancelled", self._withdrawn)

    async def _complete(self, inner: Any, speculation: UserTurnSpeculation | None) -> None:
        if speculation is not None:
            if self._hearing.may_speculate():
                await self.trigger_user_turn_inference_triggered(speculation=speculation)
        elif await self._ends.commits():
            await self.trigger_user_turn_inference_triggered()

    async def _withdrawn(self, inner: Any) -> None:
        await self.trigger_user_turn_speculation_cancelled()

    async def _stopped(self, inner: Any, params: UserTurnStoppedParams) -> None:
        if (taken := await self._ends.commits()) is None:
            return
        speculated = params.confirms_speculation and self._agent.speculation.pending
        if speculated and not taken:
            await self.trigger_user_turn_speculation_cancelled()
        if not self._hearing.turn_waits:
            requests = self._hearing.close_turn() and not (speculated and taken)
            await self.trigger_user_turn_finalized(
                enable_user_speaking_frames=params.enable_user_speaking_frames,
                confirms_speculation=not requests,  # no request is sent
            )
        if speculated and taken:
            self._agent.asked(f.LLMContextFrame(self._agent.context, speculation=True))


class Ends(BaseUserTurnStopStrategy):
    """The first stop strategy: counts words, takes deferred turns, and ends a turn that no other
    strategy ends. Pipecat's own watchdog would do that without asking the flow. It also ends a turn
    at once when the expected value is complete, and later when a part is missing.

    Args:
        patience: Seconds without speech or transcripts after which an open turn is complete.
    """

    def __init__(self, agent: PipecatAgent, ears: Ears, patience: float) -> None:
        super().__init__()
        self._hearing, self._until, self._patience = agent.hearing, agent.conductor.until, patience
        self._ears = ears
        agent.hearing.take = self.take
        self._heard = asyncio.Event()
        self._watch: asyncio.Task[None] | None = None
        self._later: asyncio.Task[None] | None = None

    async def handle_user_turn_started(self) -> None:
        self._hearing.turn_opened()
        await self._stop()
        self._watch = self.create_task(self._watch_turn())

    async def handle_user_turn_stopped(self) -> None:
        self._hearing.turn_closed()
        await self._stop()

    async def cleanup(self) -> None:
        await self.handle_user_turn_stopped()
        await super().cleanup()

    async def process_frame(self, frame: f.Frame) -> ProcessFrameResult:
        if isinstance(frame, f.TranscriptionFrame) and (text := frame.text.strip()):
            self._hearing.transcript_processed(text)
        if isinstance(frame, HEARD):
            self._heard.set()
            if self._hearing.ends_now:
                await self._end()
                return ProcessFrameResult.STOP
        return ProcessFrameResult.CONTINUE

    async def commits(self) -> bool | None:
        """The turn is complete. Whether its text may be answered now; None if the turn stays open.

        If a part of the expected value is missing, it ends when the rest has not come in time. If
        the rest comes, another strategy, or this one, ends the turn.
        """
        if self._hearing.value_due:
            if self._later is None or self._later.done():
                self._later = self.create_task(self._end_without_the_rest())
            return None
        if self._hearing.leaves_open():
            return None
        return self._hearing.has_turn and await self._ears.commit()

    async def _end_without_the_rest(self) -> None:
        await self._until(lambda: not self._hearing.value_due)
        if self._hearing.endpointing:
            await self._end()

    async def take(self, turn: Turn) -> None:
        """A deferred turn may be answered now."""
        if await self._ears.commit(turn):
            await self.trigger_user_turn_stopped()

    async def _watch_turn(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._patience):
                    await self._heard.wait()
                self._heard.clear()
            except TimeoutError:
                if not (self._hearing.speaks or self._hearing.waits):
                    await self._end()
                if self._watch is not asyncio.current_task():
                    return  # the strategy has ended the turn

    async def _end(self) -> None:
        if await self.commits() is not None and not self._hearing.turn_waits:
            requests = self._hearing.close_turn()
            await self.trigger_user_turn_finalized(confirms_speculation=not requests)

    async def _stop(self) -> None:
        tasks = self._watch, self._later
        self._watch = self._later = None
        for task in tasks:
            if task is not None and task is not asyncio.current_task():
                await self.cancel_task(task)


class FlowMutes(BaseUserMuteStrategy):
    """Mutes the user while the flow is in a state whose tuning says so."""

    def __init__(self, hearing: Hearing) -> None:
        super().__init__()
        self._hearing = hearing

    async def process_frame(self, frame: f.Frame) -> bool:
        return bool(self._hearing.tuning.mute)


def service_strategies(
    agent: PipecatAgent, turns: OwnTurns, check: Callable[[], None]
) -> UserTurnStrategies:
    """The strategies if the LLM service detects the turns."""
    return UserTurnStrategies(
        start=[ServiceEars(agent.hearing, turns, check)],
        stop=[ExternalUserTurnStopStrategy(wait_for_transcript=False)],
    )


def governed(
    own: UserTurnStrategies, agent: PipecatAgent, patience: float, check: Callable[[], None]
) -> UserTurnStrategies:
    """The application's strategies, wrapped so that they ask the flow. `patience` is as in `Ends`,
    and `check` as in `Ears`."""
    ears = Ears(agent.hearing, check)
    ends = Ends(agent, ears, patience)
    return UserTurnStrategies(
        start=[ears, *(Starts(strategy, agent.hearing) for strategy in own.start or ())],
        stop=[ends, *(Stops(strategy, agent, ends) for strategy in own.stop or ())],
    )
