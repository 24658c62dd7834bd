"""The ports of `runtime/conversation`, filled by Pipecat's public seams: one agent, as small as a
conversation with a tool and a barge-in needs."""

import asyncio
import json
import time
from dataclasses import dataclass, replace
from typing import Any

import attrs
from pipecat.audio.filters.base_audio_filter import BaseAudioFilter
from pipecat.frames import frames as f
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.turns.types import ProcessFrameResult
from pipecat.turns.user_start import BaseUserTurnStartStrategy
from pipecat.turns.user_stop import BaseUserTurnStopStrategy

from turnfsm.fsm import load_flow
from turnfsm.fsm.flow import Tuning
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.custom import CustomHost
from turnfsm.runtime.conversation.deferred import DeferredQueue
from turnfsm.runtime.conversation.ports import Phase, Report, Settings, Setup, Source, Speech
from turnfsm.runtime.conversation.tool_calls import Result
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["Binding"]


@attrs.define(eq=False)
class Turn:
    """A turn of the user."""

    new_transcript: str


@attrs.define(eq=False)
class Reply:
    """A `Speech`: an answer, in one or more requests to the model."""

    binding: "Binding"
    id: str
    interrupted_by: Source | None = None
    interruptible: bool = True
    finished: bool = False
    steps: int = 0

    @property
    def interrupted(self) -> bool:
        return self.interrupted_by is not None

    @property
    def steps_over(self) -> bool:
        return self.steps > 0 and not self.binding.conductor.floor.holds(self)

    def stop(self, source: Source, *, force: bool = False) -> None:
        if not (self.finished or self.interrupted):
            self.interrupted_by = source
            self.binding.conductor.speech_interrupted(self)
            self.binding.spawn(self.binding.gate.push_frame(f.InterruptionFrame()))

    def hold(self, on: bool) -> None:
        self.interruptible = not on

    def end(self, *, step: bool = False) -> None:
        if step:
            self.binding.give_floor_back()
        elif not self.finished:
            self.finished = True
            self.binding.conductor.speech_over(self)


class Tap(BaseAudioFilter):
    """An `Output`: the last public place before audio is written. It can keep it waiting."""

    can_pause = True

    def __init__(self, binding: "Binding") -> None:
        self._binding, self._open, self._dropped = binding, asyncio.Event(), 0
        self._open.set()

    async def start(self, sample_rate: int) -> None:
        self._rate = sample_rate

    async def stop(self) -> None:
        self._open.set()

    async def process_frame(self, frame: f.FilterControlFrame) -> None:
        """It has no settings."""

    async def filter(self, audio: bytes) -> bytes:
        conductor, dropped = self._binding.conductor, self._dropped
        if (step := conductor.floor.step) is not None:
            if not step.gate.reached:
                conductor.start_playout(step.speech)
            held = conductor.floor.frame_came(step.speech, len(audio) / 2 / self._rate)
            if held is not None:
                await held
        await self._open.wait()
        return audio if self._dropped == dropped else b""

    def pause(self, *, heard: bool) -> None:
        self._open.clear()

    def resume(self, *, heard: bool) -> None:
        self._open.set()

    def drop(self) -> None:
        self._dropped += 1
        self._open.set()


@dataclass
class StepOver(f.DataFrame):
    """A step was heard to its end. Behind the assistant's aggregator it is in the conversation."""


class Processor(FrameProcessor):
    """`gate` is before the model: a request waits until the flow allows it. `heard` is behind the
    loudspeaker, and `tail` behind the assistant's aggregator: what comes there is in the
    conversation."""

    def __init__(self, binding: "Binding", place: str) -> None:
        super().__init__(name=place)
        self._binding, self._place = binding, place
        self._begun = self._ended = self._plays = False

    async def process_frame(self, frame: f.Frame, direction: Any) -> None:
        await super().process_frame(frame, direction)
        if self._place == "gate" and isinstance(frame, f.LLMContextFrame):
            self._binding.answer_turn()
            return
        await self.push_frame(frame, direction)
        if self._place == "heard":
            await self._hear(frame)
        elif self._place == "tail" and isinstance(frame, StepOver | f.InterruptionFrame):
            self._binding.give_floor_back()

    async def _hear(self, frame: f.Frame) -> None:
        match frame:
            case f.LLMFullResponseStartFrame():
                self._begun = True
            case f.LLMFullResponseEndFrame():
                self._ended = self._begun  # else it is late: its reply was interrupted
            case f.InterruptionFrame():
                self._begun = self._ended = False
            case f.BotStartedSpeakingFrame():
                self._plays = True
                self._binding.conductor.playout_started(time.time())
            case f.BotStoppedSpeakingFrame():
                self._plays = False
                self._binding.conductor.playout_finished()
        if self._ended and not self._plays:
            self._begun = self._ended = False
            await self.push_frame(StepOver())


class Starts(BaseUserTurnStartStrategy):
    """Reports the user's voice. Pipecat itself interrupts nothing."""

    def __init__(self, conductor: Conductor) -> None:
        super().__init__()
        self._conductor = conductor

    async def process_frame(self, frame: f.Frame) -> ProcessFrameResult:
        if isinstance(frame, f.VADUserStartedSpeakingFrame):
            self._conductor.user_started()
            self._conductor.utterance.voice_started()
            self._conductor.barge_in()
            await self.trigger_user_turn_started(enable_interruptions=False)
        return ProcessFrameResult.CONTINUE


class Stops(BaseUserTurnStopStrategy):
    """Reports transcripts. Each final one ends the user's turn, when the flow takes it."""

    def __init__(self, binding: "Binding") -> None:
        super().__init__()
        self._binding, self._conductor = binding, binding.conductor

    async def process_frame(self, frame: f.Frame) -> ProcessFrameResult:
        if isinstance(frame, f.VADUserStoppedSpeakingFrame):
            self._conductor.utterance.voice_ended()
            self._conductor.user_stopped()
        elif isinstance(frame, f.TranscriptionFrame):
            self._conductor.final_transcript()
            self._conductor.utterance.post("final_transcript")
            await self.commit(Turn(frame.text))
        return ProcessFrameResult.CONTINUE

    async def commit(self, turn: Turn) -> None:
        if self._conductor.may_commit("agent", turn):
            self._conductor.utterance.post("turn_decided")
            self._conductor.turn_begun(turn, ())
            self._binding.turn = turn
            await self.trigger_user_turn_stopped()


class Binding:
    """The `Session`, and its only `Agent`."""

    closing = deciding = answer_coming = talked_over = user_silent = False
    phase: Phase = "present"
    setup = Setup()

    def __init__(self, context: LLMContext) -> None:
        flow = load_flow("turn")
        self.context, self.activity, self.settings = context, self, Settings(flow.timers)
        self.states: list[str] = []
        self.reports: list[Report] = []
        self.turn: Turn | None = None
        self.output = Tap(self)
        self._made, self._said, self._shown = 0, 0, list[str]()
        self._tasks = set[asyncio.Task[None]]()
        self.conductor = Conductor(self, Ledger(), DeferredQueue())
        host = CustomHost(flow, self.conductor.host, self, None, lambda: self)
        self.flow = TurnRuntime(flow, host)
        self.conductor.govern(self.flow)
        self.flow.observe(lambda seq, verdict: self._note_state())
        self.gate, self.heard, self.tail = (Processor(self, p) for p in ("gate", "heard", "tail"))
        self.starts, self.stops = Starts(self.conductor), Stops(self)

    def start(self) -> None:
        self._note_state()
        self.conductor.start()
        self.conductor.resumed()

    async def aclose(self) -> None:
        self.closing = True
        self.conductor.close_begun()
        await self.conductor.aclose()

    def spawn(self, work: Any) -> None:
        """Do this beside what Pipecat does now, which an interruption may end."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _note_state(self) -> None:
        if self.states[-1:] != [self.flow.state]:
            self.states.append(self.flow.state)

    # -- the session

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        self.agent_state = state

    def tune(self, tuning: Tuning) -> None:
        """The flow `turn` has none."""

    def report(self, report: Report) -> None:
        self.reports.append(report)

    # -- the model

    def answer_turn(self) -> None:
        """Pipecat asks the model to answer the turn that was committed."""
        turn, self.turn = self.turn, None
        self._said += 1
        reply = self._new_reply([f"user_{self._said}"], None)
        self.conductor.speech_scheduled(turn, reply, self)
        self.conductor.turn_task_ended(turn)

    def reply(self, instructions: str | None = None) -> Reply:
        return self._new_reply([], instructions)

    def _new_reply(self, utterances: list[str], instructions: str | None) -> Reply:
        self._made += 1
        reply = Reply(self, f"reply_{self._made}")
        self.conductor.replies.asked(reply, self, utterances, instructed=instructions is not None)
        self.spawn(self._ask(reply, instructions))
        return reply

    async def _ask(self, reply: Reply, instructions: str | None = None) -> None:
        conductor, floor, context = self.conductor, self.conductor.floor, self.context
        await conductor.until(lambda: reply.interrupted or floor.step is None)
        await conductor.may_request(reply)
        if reply.interrupted:
            reply.end()
            return
        reply.steps += 1
        conductor.floor_taken(self, reply, self.output)
        conductor.request_sent(reply, self._shown, instructions)
        if instructions is not None:
            own = {"role": "developer", "content": instructions}
            context = LLMContext([*context.messages, own], tools=context.tools)
        await self.gate.push_frame(f.LLMContextFrame(context))

    def give_floor_back(self) -> None:
        """The step was heard, or was interrupted, and that is in the conversation."""
        if (step := self.conductor.floor.step) is None:
            return
        reply, tools = step.speech, self.conductor.tools
        if self.flow.holds("playout_started"):
            self.conductor.reply_heard(reply.id, whole=not reply.interrupted)
        self.conductor.floor_returned(reply)
        goes_on = tools.runs_for(reply) or any(c.speech is reply for c in tools.uncommitted())
        if reply.interrupted or not goes_on:
            reply.end()

    def interrupt_model(self) -> None:
        """The interruption that follows ends the request."""

    def take_turn(self, turn: Any) -> None:
        self.spawn(self.stops.commit(turn))

    # -- tool calls

    def register(self, llm: Any, name: str, tool: Any) -> None:
        """Register a tool whose calls the flow governs."""
        tools = self.conductor.tools

        async def governed(params: Any) -> None:
            id, step = params.tool_call_id, self.conductor.floor.step
            reply: Any = step.speech if step is not None else None
            tools.started(id, name, json.dumps(dict(params.arguments)), reply, self, tool)

            async def committed() -> None:
                self._shown.append(id)
                tools.committed([Result(id)])
                if not reply.interrupted:
                    await self._ask(reply)

            async def give(result: Any, **_: Any) -> None:
                tools.ended(id, "result", str(result), result_id=id)
                tools.given([Result(id)])
                how = f.FunctionCallResultProperties(run_llm=False, on_context_updated=committed)
                await params.result_callback(result, properties=how)

            await tool(replace(params, result_callback=give))

        llm.register_function(name, governed, cancel_on_interruption=False)

    def cancel_call(self, call: str) -> None:
        """No tool has the policy `cancel`."""

    def answer(self, calls: Any) -> None:
        for call in calls:  # Pipecat has told the model that they run
            self.conductor.tools.may_answer(call)

    def tell_cancelled(self, call: str, text: str) -> None:
        """No tool has the policy `cancel`."""
