"""Connects a session with its turn's flow.

The framework reports to the parts of the `Conductor`, one for each subject. They post to the flow,
and ask it before the framework acts. The flow's actions are in `TurnHost`.
"""

from __future__ import annotations

from collections.abc import Sequence

from turnfsm.fsm import Taken, Verdict
from turnfsm.fsm.expect import Expectation
from turnfsm.fsm.flow import Policy, Tuning
from turnfsm.fsm.journal import ReplyAudio
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
from .ports import Session, UserTurn
from .progress import Progress
from .request_reports import RequestReports
from .speech_reports import SpeechReports
from .speeches import Speeches
from .tool_calls import ToolCalls
from .turn_reports import TurnReports
from .user_reports import UserReports
from .user_turns import UserTurns

__all__ = ["Conductor"]


class Conductor(Core):
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
        outages: Takes those about failures, and about audio that stops.
        utterance: The user's last utterance.
        floor, speeches, tools, turns, log: The state of the conversation.
        host: Carries out the flow's actions.
    """

    def __init__(self, session: Session, ledger: Ledger, keeping: Keeping | None = None) -> None:
        super().__init__()
        self.session, self.ledger, self.keeping = session, ledger, keeping
        self.log = Log(self.moved, lambda end: self.commits.turn_ended(end))
        self.progress = Progress(lambda: self.speech.progressed(), session.settings.timers)
        self.floor = Floor(
            lambda step, at: self.speech.step_plays(step, at),
            lambda step: self.speech.step_played(step),
            self.progress.audio_came,
            lambda speech: self.record(ReplyAudio(speech.id)),
        )
        self.speeches = Speeches(session, self.log, self.floor)
        self.tools = ToolCalls(session, ledger, self.log, self.speeches, self.moved, self._policy)
        self.turns = UserTurns(self.log, self.speeches, lambda: session.closing)
        self.expecting = Expecting(
            lambda: self.tuning.expect, lambda: self.turn.now, self._expected
        )
        self.host = host = TurnHost(self)
        self.objections = Objections(self, host)
        self.outages = Outages(self, lambda: self.utterance.due)
        self.user = UserReports(self, host, self.objections, self.outages)
        self.utterance = host.utterance = self.user.utterance
        host.confirming = Confirming(self)
        host.classifiers = Classifiers(
            host.said_so_far, self.user.transcript_classified, self._classified
        )
        self.agent_state = AgentState(self)
        self.commits = TurnReports(self, host)
        self.speech = SpeechReports(self, host, self.user, self.objections, self.agent_state)
        self.requests = RequestReports(self, host)
        self._started = False

    def govern(self, turn: TurnRuntime, unproved: Sequence[str] = ()) -> None:
        """Post to this runtime from now on. Its host is `host`.

        Args:
            unproved: Why its flow is not known to be proved, for the journal.
        """
        if unproved:
            turn.note("unproved", reasons=[*unproved])
        self.turn = self.tools.turn = turn
        self.ledger.note = turn.note
        self.log.govern(turn.flow, turn.note)
        self.ledger.delivers = lambda call: self.log.agenda.find("result", call) is not None

    # -- the session

    def start(self) -> None:
        """The session starts."""
        self.turn.observe(self._observed)
        self.turn.start()
        self._tune()

    def started(self) -> None:
        """The session has started, perhaps after a worker has died.

        Posts `next_reply` when the floor is free, if the agent has something to say.
        """
        self._started = True
        self.outages.start()
        if self.host.resumption is not None:
            self.host.resumption.post("started")
            self.offer_soon()

    def close_started(self) -> UserTurn | None:
        """The session starts to close, and no turn is answered from now on. Posts
        `endpointing_ended` if a reply is held back, as no transcript is awaited any more.

        Returns:
            The user's turn that gets no answer, to be added to the conversation. None if there is
            none, or only its audio.
        """
        if self.governs and self.turn.holds("output_held"):
            self.turn.post("endpointing_ended")
        if self.governs:
            self.tools.refuse_left()
        dropped = self.turns.drop_deferred()
        return dropped if dropped is not None and dropped.new_transcript else None

    async def aclose(self) -> None:
        """The session has closed."""
        self._started = False
        self.host.wait.over(self.turn.now)
        self.turns.close()
        self.outages.end()
        self.objections.settle()
        self.progress.end()
        self.agent_state.close()
        self.session.tune(Tuning())
        await self.utterance.aclose()
        await self.host.classifiers.aclose()
        await self.turn.aclose()

    def agent_phase_changed(self) -> None:
        """`Agent.phase` has changed: an agent was entered, or hands over. Posts the changes
        for the new agent."""
        if self.governs and self.turn.flow.overlays:
            self._tune()
        if self.governs and self._started:
            self.tools.refuse_left()
            self.tools.count()
            self.offer_soon()

    # -- the application

    def reply_requested(self) -> None:
        """The application has asked for a reply. Posts nothing."""
        if self.host.resumption is not None:
            self.host.resumption.post("overtaken")

    def microphone_turned(self, *, on: bool) -> None:
        """The application has turned the microphone on or off. Posts nothing; requests that wait
        for the push-to-talk button are tried again."""
        self.host.button_pressed = on
        if on:
            self.outages.post("microphone_on")
        self.moved()

    def commit_requested(self) -> None:
        """The application commits the turn: the push-to-talk button is released. Posts nothing."""
        self.host.button_pressed = False
        self.utterance.post("commit_requested")

    # -- inside

    def _policy(self, tool: str) -> Policy | None:
        return (self.tuned.policies or {}).get(tool)

    def _tune(self) -> None:
        """Apply the settings. Posts a change of whether the step may be interrupted."""
        speech = self.floor.step.speech if self.floor.step is not None else None
        before = speech is not None and speech.interruptible
        if (owners := self.owners) != self.tuned_by:
            self.turn.note("settings", **owners.fields())
        self.tuned, self.tuned_by = self.tuning, owners
        self.session.tune(self.tuned)
        if speech is not None and speech.interruptible != before:
            self.speech.interruptions_turned(speech, on=not before)

    def _expected(self, asked: Expectation | None) -> None:
        if self.governs:
            self.turn.note("expected", what=None if asked is None else str(asked))

    def _classified(self, fact: str, holds: bool) -> None:
        if self.governs:
            self.turn.note("classified", fact=fact, holds=holds)

    def _observed(self, seq: int, verdict: Verdict) -> None:
        """After every verdict: update the agent state, and retry pending work."""
        flow = self.turn.flow
        if flow.tools.tuning or flow.overlays or flow.questions:  # not only the state decides
            self._tune()
        if not isinstance(verdict, Taken):
            return
        begins = verdict.entered or "report_after" in verdict.restarts
        if self.host.wait.reported and (begins or not self.host.waits_on()):
            self.host.wait.over(self.turn.now)
        if verdict.entered:
            self._tune()
            self.agent_state.project()
        self.moved()

    def _work_waits(self) -> bool:
        host = self.host
        waits = host.wants_reply or self.turns.deferred is not None or host.outdated
        asks = host.confirming.due or host.confirming.settled
        due = self.turn.has_due or self.outages.runtime.has_due
        return self.commits.speculation_waits or waits or asks or due

    def _offer_pending_work(self) -> None:
        """Offer all pending work to the flow. Its guards define the order."""
        agent = self.agent
        if not self.governs or self.closing or agent is None or agent.phase == "leaving":
            return  # offered again after the handoff
        self.commits.speculate_again()
        step, ask = self.floor.step, self.turn.ask
        if step is not None and self.host.outdated and ask("newer_result", step.id):
            self.turn.post("newer_result", step.id, source="programmatic")
        if self.turns.deferred is not None and ask("deferred_turn") and ask("turn_committed"):
            self.turn.post("deferred_turn")
        if self.host.wants_reply and ask("next_reply"):
            self.turn.post("next_reply")
        if self.host.confirming.due and ask("question_due"):
            self.turn.post("question_due")
        if self.host.confirming.settled and ask("question_over"):
            self.turn.post("question_over")
        self.turn.take_due()
        self.outages.runtime.take_due()
