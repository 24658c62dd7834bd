"""Posts events of the agent's speech: the floor, playout, interruptions."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from functools import partial

import attrs

from turnfsm.fsm.agenda.entries import SpeechInterrupted, StepFinished
from turnfsm.fsm.agenda.settlement import Ending

from .agent_state import AgentState, Publish
from .core import Core
from .floor import Step
from .host import TurnHost
from .objections import Objections
from .open_calls import RUNNING
from .ports import Agent, Output, Source, Speech
from .user_reports import UserReports

__all__ = ["SpeechReports"]

_BY_SOURCE: dict[Source | None, Ending] = {
    "audio_activity": "user",
    "user_turn": "user",
    "programmatic": "application",
    None: "dropped",
}


@attrs.define(eq=False)
class SpeechReports:
    """Takes the reports about what the agent says."""

    _core: Core
    _host: TurnHost
    _user: UserReports
    _objections: Objections
    _agent_state: AgentState

    # -- a speech and its replies

    def scheduled(self, task: Hashable | None, speech: Speech, agent: Agent) -> None:
        """A speech waits for the floor. Posts `reply_requested` if it answers the latest turn.

        Args:
            task: The task that has requested it.
            speech: The speech, which takes the floor after those before it.
            agent: The agent that says it.
        """
        core = self._core
        core.speeches.scheduled(agent, speech)
        if agent.setup.keeps_context:
            self.reply_started(speech)
        turn = core.turns.ask(task, speech)
        if turn is not None and turn.number == core.log.turns.latest:
            text = turn.info.new_transcript or self._user.transcript  # which has come meanwhile
            self._objections.answered(text, speech)
            core.turn.post("reply_requested", turn=turn.number, speech=speech.id)

    def answers_by_itself(self, speech: Speech) -> None:
        """A realtime model with turn detection answers the user by itself, and was not asked to
        deliver any result. Posts `message_answered`, once the transcript arrives."""
        self._core.speeches.answers_by_itself(speech, self._core.agent)
        self._core.tools.overtaken_by(speech)
        self._objections.answered(self._user.transcript, speech)

    def stop_older_replies(self) -> None:
        """The reply to a new turn is about to be requested. It replaces replies that wait for
        their tools or for the floor. Posts `speech_interrupted` for those with running calls.

        For a framework that does not interrupt them itself.
        """
        core = self._core
        for speech in core.speeches.replies:
            waits = core.speeches.between_steps(speech) or core.log.turns.answered_by(speech.id)
            if waits and not core.floor.holds(speech):
                speech.stop("user_turn")

    def interrupted(self, speech: Speech, by: Source | None) -> None:
        """A speech is interrupted. Posts `step_interrupted` if a step of it holds the floor, else
        `speech_interrupted` if calls of it run.

        Args:
            by: What has interrupted it; None if it is a speculation that is not used.
        """
        core = self._core
        core.log.add(SpeechInterrupted(speech.id, _BY_SOURCE[by], turn=by == "user_turn"))
        if (step := core.floor.step_of(speech)) is not None:
            core.turn.post("step_interrupted", step.id)
            return
        if core.tools.find(RUNNING, speech):  # before its claims settle: some calls end with it
            core.turn.post("speech_interrupted", speech=speech.id)
        elif core.speeches.between_steps(speech):
            speech.end()  # its calls have ended, so it need not wait for other speeches
        core.speeches.reply_over(speech)
        core.moved()

    def interrupted_by_code(self, speech: Speech, task: Hashable | None) -> None:
        """Code has interrupted a speech. Posts nothing.

        It is the application's code, unless the session is closing or the current task answers a
        user turn, which interrupts speeches that wait for their calls.
        """
        if not self._core.closing and self._core.turns.answered_by(task) is None:
            self._core.tools.stopped(speech)

    def interruptions_turned(self, speech: Speech, *, on: bool) -> None:
        """Interruptions of a speech were allowed or disallowed. Posts `interruptions_disallowed`,
        or posts `start_playout` again if the output has received none of the step and the step can
        now be held back."""
        if (step := self._core.floor.step_of(speech)) is None:
            return
        if not on:
            self._core.turn.post("interruptions_disallowed", step.id)
        elif not step.gate.passed:
            self._core.turn.post("start_playout", step.id)

    def finished(self, speech: Speech, *, failed: bool = False) -> None:
        """A speech has ended; none of it is played from now on. Posts `turn_dropped` if a turn
        waited for it, or, unless it still holds the floor, the `done` trigger of its action.

        Args:
            failed: An error has ended it.
        """
        core = self._core
        done = core.speeches.over(speech, failed=failed)
        core.ledger.close_turn(speech.id)
        if done is not None:
            core.turn.post(done)
        asyncio.get_running_loop().call_soon(core.turns.speech_finished, speech)

    # -- the floor

    def floor_taken(self, agent: Agent, speech: Speech, output: Output | None) -> Step:
        """A step of this speech has the floor. Posts `step_started`.

        Args:
            agent: Its agent.
            speech: The speech that the step belongs to.
            output: Its audio output, if known; otherwise `output_known` follows. None if it is text
                only: then its first text counts as playout.

        Returns:
            The step.
        """
        core = self._core
        step = core.floor.take(agent, speech, output)
        core.speeches.has_come(agent, speech)
        step.fixed = core.speeches.of(speech).text
        self._user.step_started()
        self._host.results_need_reply = False
        self._agent_state.muted = speech.interrupted  # nothing waits for such a step
        core.progress.begin()
        core.turn.post("step_started", step.id)
        if self._host.resumption is not None:
            self._host.resumption.post("reply_started")
        self._agent_state.muted = False
        if speech.interrupted:
            core.turn.post("step_interrupted", step.id)
        core.tools.count()
        self._answer_may_wait()
        return step

    def output_known(self, speech: Speech, output: Output | None) -> None:
        """The task that plays a step starts, with this output. Posts nothing.

        The step may already have the floor, and be held back.
        """
        if (step := self._core.floor.output_known(speech, output)) is not None:
            self._host.output_known(step)

    def floor_released(self, speech: Speech) -> None:
        """The step of this speech returns the floor. Posts `step_finished`, and the `done` trigger
        of its action if it has ended."""
        core = self._core
        step = core.floor.leave(speech)
        core.log.add(StepFinished(speech.id))
        if speech.interrupted:
            core.speeches.reply_over(speech)  # the heard part is in the conversation
        if step is not None:
            core.progress.end()
            core.turn.post("step_finished", step.id)
            if (done := core.speeches.left_floor(speech)) is not None:
                core.turn.post(done)
        if core.tools.released_with(speech):
            speech.end()

    def overlap_judged(self, step: str, *, interrupts: bool) -> None:
        """A detector has judged the audio of a user who speaks over this step. Posts
        `interruption_detected` or `backchannel_detected`, in a flow that has it."""
        if interrupts:
            self._core.offer("interruption_detected", step)
        else:
            self._core.offer("backchannel_detected", step)

    # -- playout

    @property
    def needs_text(self) -> bool:
        """The flow reads the text of a step."""
        flow = self._core.turn.flow
        return self.needs_sound or bool(flow.questions) or "agent_asked" in flow.host_facts

    @property
    def needs_sound(self) -> bool:
        """The flow looks for pauses in the audio of a step."""
        return "between_sentences" in self._core.turn.flow.host_facts

    def start_playout(self, speech: Speech) -> None:
        """A step is about to be played. Posts `start_playout`."""
        if (step := self._core.floor.step_of(speech)) is not None:
            step.gate.begin()
            self._core.turn.post("start_playout", step.id)

    def step_plays(self, step: str, at: float) -> None:
        """The output starts to play a step. Posts `playout_started`, and `turn_replied` if that is
        the first audible part of the reply to a turn.

        Args:
            step: The id of the step.
            at: The wall clock's time.
        """
        if not self._core.governs:
            return
        verdict = self._core.turn.post("playout_started", step)
        holder = self._core.floor.step
        if verdict and holder is not None:
            self._core.speeches.plays(holder.speech)
            publish = partial(self._core.session.publish, heard=holder.speech, at=at)
            self._agent_state.project(publish)

    def step_played(self, step: str) -> None:
        """The output has played the audio of a step, or was cleared. Posts `playout_finished`."""
        if self._core.governs:
            self._core.turn.post("playout_finished", step)

    def progressed(self) -> None:
        """The model or the TTS has produced something for the step that has the floor. Posts
        `step_progressed`."""
        core, step = self._core, self._core.floor.step
        if step is not None and core.governs and core.turn.ask("step_progressed", step.id):
            core.turn.post("step_progressed", step.id)

    def agent_state_wanted(self, wanted: str, publish: Publish) -> None:
        """The framework wants to publish an agent state. That of the flow's state is published
        instead.

        Posts `playout_started` where there is no audio.

        Args:
            wanted: The agent state that the framework wants.
            publish: Publishes an agent state as the framework would have done.
        """
        if not self._core.governs or wanted == "initializing":
            publish(wanted)
            return
        step = self._core.floor.step
        # its first text counts as playout
        silent = wanted == "speaking" and step is not None and step.output is None
        if silent and step is not None and self._core.turn.post("playout_started", step.id):
            self._core.speeches.plays(step.speech)
        self._agent_state.wanted(wanted, publish, None if step is None else step.id)

    # -- a reply that waits for the end of a scripted text

    def reply_started(self, speech: Speech) -> None:
        """The model has produced the first text of a reply that waits for the floor, or will be
        asked once the reply has it. Posts `reply_ready`, if the flow has it and a scripted text
        has the floor."""
        self._core.speeches.of(speech).begun = not self._core.floor.holds(speech)
        self._answer_may_wait()

    def response_awaited(self, speech: Speech) -> None:
        """The model is about to be asked for a step of a reply to the user. Posts nothing."""
        if "yield_floor" in self._core.turn.flow.actions:
            self._core.speeches.of(speech).silent = True

    def response_over(self, speech: Speech) -> None:
        """The model has produced text or a call for such a step, or has failed. Posts nothing."""
        spoken = self._core.speeches.of(speech)
        if spoken.silent:
            spoken.silent = False
            self._core.moved()

    def needs_no_floor(self, speech: Speech) -> bool:
        """The response of the model has only calls. Posts nothing.

        Returns:
            Whether the reply has released the floor for a filler. Then it stops waiting for the
            floor, as it has nothing to say: its calls run during the filler.
        """
        if beside := self._core.speeches.of(speech).yielded:
            self._core.speeches.needs_no_floor(speech)
        return beside

    def _answer_may_wait(self) -> None:
        core, step = self._core, self._core.floor.step
        if step is not None and core.speeches.text_delays_answer:
            core.offer("reply_ready", step.id)
