"""Connects a session with its turn's flow.

The framework reports to the parts of the `Conductor`, one for each subject. They post to the flow,
and ask it before the framework acts. The flow's actions are in `TurnHost`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from turnfsm.fsm import Taken, Verdict
from turnfsm.fsm.agenda.entries import SpeechFailed
from turnfsm.fsm.flow import Tuning
from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    ReplyAudio,
    SessionEvent,
    VoiceUnrecognised,
)
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.log import Log
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.turn import TurnRuntime

from .agent_state import AgentState
from .classifying import Classifiers
from .confirming import Confirming
from .core import Core
from .expecting import Expecting
from .floor import Floor
from .host import TurnHost
from .objections import Objections
from .outages import Outages
from .pending import Pending
from .ports import Agent, Session, UserTurn
from .progress import Progress
from .realtime_reports import RealtimeReports
from .replies import Replies
from .request_reports import RequestReports
from .sayings import Sayings
from .speech_queue import SpeechQueue
from .speech_reports import SpeechReports
from .tool_calls import ToolCalls
from .turn_reports import TurnReports
from .user_reports import UserReports
from .user_turns import UserTurns

__all__ = ["Conductor"]


class Conductor:
    """Takes a session's reports and questions, and its start and end.

    Each method of its parts corresponds to one event of the framework, or to one moment at which
    the framework is about to act. Its docstring says which, and names the trigger that it posts.

    Args:
        session: Carries out the decisions.
        ledger: Has an entry for every tool call.
        keeping: Writes to the store, if the session has one.

    Attributes:
        user: Takes the reports about speech and transcripts.
        commits: Takes those about the turns of the user.
        speech: Takes those about what the agent says.
        requests: Takes those about requests to the model, and about calls.
        realtime: Takes those about realtime models.
        outages: Takes those about failures, and about audio that stops.
        utterance: The user's last utterance.
        floor, tools, turns, log, replies: The state of the conversation.
        host: Carries out the flow's actions.
    """

    def __init__(self, session: Session, ledger: Ledger, keeping: Keeping | None = None) -> None:
        pending = Pending(self._waits, self._offer_pending_work)
        self.log = Log(pending.moved, lambda end: self.commits.turn_ended(end))
        self.replies = Replies(self.log)
        progress = Progress(lambda: self.speech.progressed(), session.settings.timers)
        self.floor = Floor(
            lambda step, at: self.speech.step_plays(step, at),
            lambda step: self.speech.step_played(step),
            progress.audio_came,
            lambda speech: self.record(ReplyAudio(speech.id)),
        )
        self.tools = ToolCalls(session, ledger, self.log, self.floor, self.replies, pending.moved)
        self.turns = UserTurns(self.log, lambda: session.closing)
        self.expecting = Expecting(lambda: self._core.tuning.expect, lambda: self.turn.now)
        self._core = core = Core(
            session,
            ledger,
            pending,
            self.log,
            self.replies,
            self.floor,
            progress,
            SpeechQueue(self.floor),
            self.tools,
            self.turns,
            self.expecting,
            Sayings(session, self.floor),
            keeping,
        )
        self.host = host = TurnHost(core)
        self.user = UserReports(core, host)
        self.utterance = host.utterance = self.user.utterance
        host.confirming = Confirming(core)
        host.classifiers = Classifiers(
            host.said_so_far, self.user.transcript_classified, self._classified
        )
        self.objections = Objections(core, host)
        self.agent_state = AgentState(core)
        self.commits = TurnReports(core, host)
        self.speech = SpeechReports(core, host, self.user, self.objections, self.agent_state)
        self.requests = RequestReports(core, host)
        self.realtime = RealtimeReports(core, host, self.user, self.objections)
        self.outages = Outages(
            session,
            self._outage,
            lambda: self.turn.now,
            lambda: self.utterance.due,
            lambda speech, failure: self.log.add(SpeechFailed(speech, failure)),
        )
        self._started = False

    @property
    def turn(self) -> TurnRuntime:
        """Runs the flow."""
        return self._core.turn

    @property
    def keeping(self) -> Keeping | None:
        """Writes to the store, if the session has one."""
        return self._core.keeping

    @property
    def agent(self) -> Agent | None:
        """The active agent."""
        return self._core.agent

    @property
    def closing(self) -> bool:
        """The session closes."""
        return self._core.closing

    def govern(self, turn: TurnRuntime, unproved: Sequence[str] = ()) -> None:
        """Post to this runtime from now on. Its host is `host`.

        Args:
            unproved: Why its flow is not known to be proved, for the journal.
        """
        if unproved:
            turn.note("unproved", reasons=[*unproved])
        core = self._core
        core.turn = self.tools.turn = turn
        core.ledger.note = turn.note
        self.log.govern(turn.flow, turn.note)
        core.ledger.delivers = lambda call: self.log.agenda.find("result", call) is not None

    # -- the session

    def start(self) -> None:
        """The session starts."""
        self.turn.observe(self._observed)
        self.turn.start()
        self._core.session.tune(self._core.tuning)

    def started(self) -> None:
        """The session has started, perhaps after a worker has died.

        Posts `next_reply` when the floor is free, if the agent has something to say.
        """
        self._started = True
        self.outages.start()
        if self.host.resumption is not None:
            self.host.resumption.post("started")
            self._core.pending.offer_soon()

    def close_started(self) -> UserTurn | None:
        """The session starts to close, and no turn is answered from now on. Posts
        `endpointing_ended` if a reply is held back, as no transcript is awaited any more.

        Returns:
            The user's turn that gets no answer, to be added to the conversation. None if there is
            none, or only its audio.
        """
        core = self._core
        if core.governs and self.turn.holds("output_held"):
            core.post("endpointing_ended")
        if core.governs:
            self.tools.refuse_left()
        dropped = self.turns.drop_deferred()
        return dropped if dropped is not None and dropped.new_transcript else None

    async def aclose(self) -> None:
        """The session has closed."""
        core, self._started = self._core, False
        self.host.wait.over(self.turn.now)
        self.turns.close()
        self.outages.end()
        self.objections.settle()
        core.progress.end()
        self.agent_state.close()
        core.session.tune(Tuning())
        await self.utterance.aclose()
        await self.host.classifiers.aclose()
        await self.turn.aclose()

    def agent_phase_changed(self) -> None:
        """`Agent.phase` has changed: an agent was entered, or hands over. Posts the changes
        for the new agent."""
        if self._core.governs and self._started:
            self.tools.refuse_left()
            self.tools.count()
            self._core.pending.offer_soon()

    # -- the application

    def reply_requested(self) -> None:
        """The application has asked for a reply. Posts nothing."""
        if self.host.resumption is not None:
            self.host.resumption.post("overtaken")

    def microphone_turned(self, *, on: bool) -> None:
        """The application has turned the microphone on or off. Posts nothing; requests that wait
        for the push-to-talk button are tried again."""
        self.host.button_moved(pressed=on)
        if on:
            self.outages.post("microphone_on")
        self._core.pending.moved()

    def commit_requested(self) -> None:
        """The application commits the turn: the push-to-talk button is released. Posts nothing."""
        self.host.button_moved(pressed=False)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds. It is checked after every event."""
        await self._core.pending.until(holds)

    def record(self, event: SessionEvent) -> None:
        """Add a note to the journal."""
        if self._core.governs:
            self.turn.note(event.KIND, **event.fields())

    # -- inside

    def _classified(self, fact: str, holds: bool) -> None:
        if self._core.governs:
            self.turn.note("classified", fact=fact, holds=holds)

    def _outage(self, event: SessionEvent) -> None:
        """Posts `voice_unrecognised`, `audio_stopped` or `audio_resumed`, if the flow has it."""
        self.record(event)
        if not self._core.governs:
            return
        match event:
            case VoiceUnrecognised() if event.long:
                self._core.offer("voice_unrecognised")
            case AudioStopped():
                self._core.offer("audio_stopped")
            case AudioResumed():
                self._core.offer("audio_resumed")

    def _observed(self, seq: int, verdict: Verdict) -> None:
        """After every verdict: update the agent state, and retry pending work."""
        core = self._core
        if self.turn.flow.tools.tuning:  # a call may have begun or ended
            core.session.tune(core.tuning)
        if not isinstance(verdict, Taken):
            return
        begins = verdict.entered or "report_after" in verdict.restarts
        if self.host.wait.reported and (begins or not self.host.waits_on()):
            self.host.wait.over(self.turn.now)
        if verdict.entered:
            core.session.tune(core.tuning)
            self.agent_state.project()
        core.pending.moved()

    def _waits(self) -> bool:
        host = self.host
        waits = host.wants_reply or self.turns.deferred is not None or host.outdated
        asks = host.confirming.due or host.confirming.settled
        due = self.turn.has_due or self.outages.has_due
        return self.commits.speculation_waits or waits or asks or due

    def _offer_pending_work(self) -> None:
        """Offer all pending work to the flow. Its guards define the order."""
        core, agent = self._core, self._core.agent
        if not core.governs or core.closing or agent is None or agent.phase == "leaving":
            return  # offered again after the handoff
        self.commits.speculate_again()
        step, ask = self.floor.step, self.turn.ask
        if step is not None and self.host.outdated and ask("newer_result", step.id):
            core.post("newer_result", step.id, source="programmatic")
        if self.turns.deferred is not None and ask("deferred_turn") and ask("turn_committed"):
            core.post("deferred_turn")
        if self.host.wants_reply and ask("next_reply"):
            core.post("next_reply")
        if self.host.confirming.due and ask("question_due"):
            core.post("question_due")
        if self.host.confirming.settled and ask("question_over"):
            core.post("question_over")
        self.turn.take_due()
        self.outages.take_due()
