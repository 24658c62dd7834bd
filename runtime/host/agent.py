"""The base of hosts that run in one process: a session with one agent."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.journal import Closed, ReplyText
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.floor import Step
from turnfsm.runtime.conversation.governing import govern
from turnfsm.runtime.conversation.ports import (
    Agent,
    Output,
    Phase,
    Report,
    Settings,
    Setup,
    Speech,
    UserTurn,
)
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.proof import Proof

from .calls import Calls, OpenCall
from .reply import Reply
from .tasks import Tasks
from .turns import Turn, commit_turn

__all__ = ["Host"]

logger = logging.getLogger("turnfsm")


class Host:
    """A `Session` and its only `Agent`. It requests one step after the other from the model, each
    when the flow grants the floor, and reports the outcome.

    Your own host implements the methods that raise `NotImplementedError`.

    Attributes:
        settings: The current settings.
        conductor: Takes the reports; `govern` makes it.
        output: The audio output; None if steps are text.
        agent_state: ``listening``, ``thinking`` or ``speaking``.
        closing: The session is closing or closed.
        calls: The tool calls.
        replies: The replies that have not ended.
        tasks: Its tasks, which end when it closes.
        ids: The prefix of the replies' ids.
    """

    conductor: Conductor
    settings: Settings
    output: Output | None = None
    phase: Phase = "present"
    setup = Setup()
    user_silent = False
    agent_state = "listening"
    closing = False
    ids = "reply"

    def __init__(self) -> None:
        self.calls = Calls(self)
        self.tasks = Tasks()
        self.replies: list[Reply] = []
        self._count = 0
        self._heard = ""  # the latest step that was heard

    def govern(
        self,
        flow: Flow | str | Path = "turn",
        *,
        timers: Mapping[str, float] | None = None,
        actions: object | None = None,
        sinks: Iterable[Sink] = (),
        proof: Proof = "require",
    ) -> None:
        """Put a flow in charge of this host. Call it first; it sets `settings` and `conductor`.

        The arguments and errors are those of `turnfsm.host.govern`.
        """
        loaded = flow if isinstance(flow, Flow) else load_flow(flow)
        self.settings = Settings({**loaded.timers, **(timers or {})})
        self.conductor = govern(
            self, loaded, timers=timers, actions=actions, sinks=sinks, proof=proof
        )

    def start(self) -> None:
        """The session starts."""
        self.conductor.start()
        self.conductor.started()
        self.conductor.speech.agent_state_wanted("listening", self.publish)

    def close(self, reason: str = "ended") -> None:
        """The session starts to close: no turn is answered from now on.

        Args:
            reason: Why, for the journal.
        """
        if not self.closing:
            self.closing = True
            self.conductor.outages.closing(Closed(reason))
            self.conductor.close_started()

    async def aclose(self) -> None:
        """Close the session, and end its tasks."""
        self.close()
        await self.tasks.aclose()
        await self.conductor.aclose()

    # -- what differs between hosts

    async def may_request(self, reply: Reply) -> None:
        """Wait until the model may be asked for the next step of a reply."""
        await self.conductor.requests.may_request(reply)

    async def say(self, reply: Reply, step: Step) -> None:
        """Request the step from the model, unless the reply has a `text`, and play it. Add the
        heard part to the conversation, also after an interruption."""
        raise NotImplementedError

    async def run_step(self, reply: Reply, step: Step) -> None:
        """Run `say`, then report the end of the step. Override it if something else reports the
        end, with `playout` and `step_finished`."""
        try:
            await self.say(reply, step)
        except Exception:
            reply.failed = True
            logger.exception("%s has failed", reply.id)
        finally:  # also after an interruption
            if self._heard == step.id:
                self.playout(begins=False)
            self.step_finished(step)

    async def add_result(self, call: OpenCall) -> None:
        """Add `call.result` to the conversation, under the id `call.result_id`.
        `Calls.result_added` follows."""
        raise NotImplementedError

    def add_cancelled_output(self, call: str, text: str) -> None:
        """Add an output to the conversation for a call that was answered and then cancelled.
        `ToolCalls.late_result` follows."""
        raise NotImplementedError

    def add_user_message(self, text: str) -> str:
        """Add a message of the user to the conversation, and return its id."""
        raise NotImplementedError

    def hang_up(self) -> None:
        """Close after all queued speech."""
        raise NotImplementedError

    def interrupt_step(self, reply: Reply) -> None:
        """The step of a reply is interrupted: cancel the task that runs `say`."""
        if reply.task is not None:
            reply.task.cancel()

    def yield_floor(self, reply: Reply) -> None:
        """A reply releases the floor and waits for it again. Called only if the host reports
        `SpeechReports.response_awaited`."""
        raise NotImplementedError

    def may_interrupt(self, reply: Reply) -> bool:
        """Whether the user may interrupt a reply now."""
        return True

    # -- events

    def user_typed(self, text: str) -> None:
        """The user has typed a line. It counts as speech that starts and stops at once."""
        conductor = self.conductor
        conductor.user.voice_started()
        conductor.utterance.voice_started()
        conductor.user.transcript_received(text, final=True)
        conductor.user.barge_in()
        conductor.user.final_transcript()
        conductor.utterance.post("final_transcript")
        conductor.utterance.voice_ended()
        conductor.user.voice_ended()
        self.take_turn(Turn(text))

    def interrupt(self) -> None:
        """The application interrupts the reply."""
        if (step := self.step) is not None and step.speech.interruptible:
            self.conductor.speech.interrupted_by_code(step.speech, None)
            step.speech.stop("programmatic")

    @property
    def step(self) -> Step | None:
        """The step that holds the floor."""
        return self.conductor.floor.step

    def new_reply(
        self, *, text: str | None = None, instructions: str | None = None, of: Any = None
    ) -> Reply:
        """Make a reply. The arguments are as in `Reply`."""
        self._count += 1
        reply = Reply(f"{self.ids}_{self._count}", self, text, instructions, of)
        self.replies = [*(earlier for earlier in self.replies if not earlier.finished), reply]
        return reply

    def ask(self, reply: Reply, turn: Hashable = None, said: str | None = None) -> Reply:
        """Request a reply from the model, as soon as the flow allows it.

        Args:
            turn: The turn of the user that it answers, as given to `UserTurns.answer_started`.
            said: The id of the turn's message, which is in the conversation.
        """
        conductor = self.conductor
        if turn is not None:
            conductor.speech.stop_older_replies()
        instructed, messages = reply.instructions is not None, [said] if said is not None else []
        conductor.speeches.asked(reply, self, messages, instructed=instructed)
        for message in messages:
            conductor.turns.reply_asked(reply, message)
            conductor.turns.message_added(message)
        self._schedule(reply, turn)
        if turn is not None:
            conductor.turns.answer_ended(turn)
        return reply

    def answers_by_itself(self, reply: Reply) -> Reply:
        """A realtime model has begun to answer without being asked. `run_step` follows when the
        answer has the floor."""
        reply.unasked = True
        self.conductor.speech.answers_by_itself(reply)
        self._schedule(reply)
        return reply

    async def replies_finished(self) -> None:
        """Wait until all replies have ended."""
        await self.conductor.until(lambda: all(reply.finished for reply in self.replies))

    def playout(self, *, begins: bool) -> None:
        """Playout of the step that has the floor has begun or ended."""
        if begins:
            self._heard = self.step.id if self.step is not None else ""
            self.conductor.floor.playout_started(time.time())
        else:
            self.conductor.floor.playout_finished()

    def step_finished(self, step: Step) -> None:
        """A step has ended, and its heard part is in the conversation."""
        if step is not self.step:
            return
        reply = step.speech
        assert isinstance(reply, Reply)
        if self._heard == step.id:
            whole = not (reply.interrupted or reply.failed)
            self.conductor.requests.reply_heard(reply.id, whole=whole)
        self.conductor.speech.floor_released(reply)
        if reply.interrupted or not reply.calls:
            self.continue_reply(reply)

    def continue_reply(self, reply: Reply) -> None:
        """The results of all calls of a reply have come: it delivers them, or ends."""
        if reply.finished or self.conductor.floor.holds(reply):
            return  # `step_finished` calls this again when the step has released the floor
        if reply.continues and not reply.interrupted:
            reply.task = self.tasks.start(self._run(reply))
        else:
            reply.end()

    def _schedule(self, reply: Reply, turn: Hashable = None) -> None:
        self.conductor.speech.scheduled(turn, reply, self)
        reply.task = self.tasks.start(self._run(reply))

    async def _run(self, reply: Reply) -> None:
        conductor, floor, from_model = self.conductor, self.conductor.floor, reply.text is None
        if from_model:
            conductor.speech.reply_started(reply)  # the request is sent when it has the floor
        while not reply.over:
            await conductor.until(lambda: reply.over or floor.step is None)
            if from_model and not (reply.unasked or reply.over):
                await asyncio.sleep(0)  # a deferred turn comes first
                await self.may_request(reply)
                if conductor.keeping is not None:
                    await conductor.keeping.before_reply()
            if floor.step is None:
                break
        if reply.over:
            reply.end()
            return
        reply.continues = reply.failed = False
        step = conductor.speech.floor_taken(self, reply, self.output)
        if from_model:
            conductor.speech.agent_state_wanted("thinking", self.publish)
        else:
            conductor.record(ReplyText(reply.id))
        await self.run_step(reply, step)

    # -- the ports

    @property
    def activity(self) -> Agent:
        """The agent, which is the host itself."""
        return self

    def reply(self, instructions: str | None = None) -> Reply:
        """Request a reply that the conversation needs."""
        return self.ask(self.new_reply(instructions=instructions))

    def speak(
        self,
        text: str,
        *,
        interruptible: bool = True,
        sound: Sound | None = None,
        in_reply: bool = False,
        of: Any = None,
    ) -> Reply:
        """Say a fixed text, or play a sound, which becomes the reply's `of`.

        Args:
            in_reply: Makes no difference here.
            of: As in `Reply`.
        """
        reply = self.new_reply(text=text, of=sound or of)
        if not interruptible:
            reply.hold(True)
        self._schedule(reply)
        return reply

    def cancel_call(self, call: str) -> None:
        """Cancel a running tool."""
        self.calls.cancel(call)

    def answer(self, calls: Sequence[str]) -> None:
        """Continue without these calls."""
        self.calls.answer(calls)

    def take_turn(self, turn: UserTurn) -> None:
        """A turn of the user is complete, or was deferred: answer it if the flow allows that."""
        assert isinstance(turn, Turn)
        if commit_turn(self.conductor, turn):
            self.ask(self.new_reply(), turn, self.add_user_message(turn.new_transcript))

    @property
    def endpointing(self) -> bool:
        """The end of the user's turn is being decided."""
        return False

    @property
    def answer_pending(self) -> bool:
        """A transcript may still be committed."""
        return self.endpointing

    def tune(self, tuning: Tuning) -> None:
        """Do nothing: no setting can change."""

    def publish(self, state: str, heard: Speech | None = None, at: float | None = None) -> None:
        """Publish the agent's state."""
        self.agent_state = state

    def report(self, report: Report) -> None:
        """Do nothing: override it to notify the application."""
