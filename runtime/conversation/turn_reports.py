"""Posts events of the user's turns: commits, deferrals, handoffs, ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

import attrs

from turnfsm.fsm import Refused, Taken
from turnfsm.fsm.agenda.entries import MessageTyped, NoiseEnded, TurnDecided
from turnfsm.fsm.agenda.turns import TurnEnd

from .core import Core
from .host import TurnHost
from .ports import Speech, UserTurn

__all__ = ["TurnReports"]


@attrs.define(eq=False)
class TurnReports:
    """Takes the reports about the user's turns."""

    _core: Core
    _host: TurnHost
    _carried: str = attrs.field(default="", init=False)
    _carried_commit: bool = attrs.field(default=False, init=False)
    _yes: UserTurn | None = attrs.field(default=None, init=False)
    _speculation: Callable[[], None] | None = attrs.field(default=None, init=False)

    # -- a turn is complete, or nearly

    def may_speculate(self, again: Callable[[], None]) -> bool:
        """A speculative reply is about to be requested. Posts `preemptive_generation`.

        Args:
            again: If the flow refuses, called as soon as it would accept, unless a turn is
                committed first.
        """
        taken = bool(self._core.turn.post("preemptive_generation"))
        self._speculation = None if taken else again
        return taken

    @property
    def speculation_waits(self) -> bool:
        """A speculative reply was refused, and may be requested later."""
        return self._speculation is not None

    def speculate_again(self) -> None:
        """Request that reply, if the flow would accept it now."""
        if self._speculation is not None and self._core.turn.ask("preemptive_generation"):
            again, self._speculation = self._speculation, None
            again()

    def defers_short_turn(self, info: UserTurn) -> bool:
        """A turn has ended with too few words to interrupt (`min_words`).

        Posts `turn_too_short`, and `turn_deferred` if the flow chooses `defer_turn`. Otherwise the
        text becomes part of what the user says next.

        Args:
            info: The turn.
        """
        core, self._speculation = self._core, None
        with self._host.about(info.new_transcript):
            verdict = core.turn.post("turn_too_short", text=info.new_transcript, source="user_turn")
        if not (isinstance(verdict, Taken) and "defer_turn" in verdict.actions):
            core.log.add(TurnDecided(leftover=info.new_transcript))
            return False
        core.log.add(TurnDecided())
        self._host.utterance_over()
        core.expecting.turn_complete()
        self.defer(info)
        return True

    def may_commit(self, info: UserTurn, *, empty_transcript: bool = False) -> bool:
        """A turn of the user is complete, after the framework's own checks.

        Posts `hold_turn` and `ignore_turn`, in a flow that has them, if the turn was not deferred,
        and `endpointing_ended` if one is taken. If neither is: `turn_committed`, and
        `turn_deferred` if that is refused.

        Args:
            info: The turn.
            empty_transcript: It has no transcript. It is not deferred, as there is nothing to
                answer later.
        """
        core, self._speculation = self._core, None
        deferred = core.turns.is_deferred(info)
        self._host.utterance_over()
        with self._host.about(info.new_transcript, empty_transcript=empty_transcript):
            if not deferred and self._ignores(info):
                self.left_unanswered()
                core.turn.post("endpointing_ended")
                return False
            verdict = core.turn.post("turn_committed", text=info.new_transcript, source="user_turn")
        if not deferred:
            core.log.add(TurnDecided())
        if not (empty_transcript or deferred):
            core.expecting.turn_complete()
        if isinstance(verdict, Refused):
            if empty_transcript:  # what the user has interrupted is not answered
                core.log.add(NoiseEnded())
            else:
                self.defer(info)
            return False
        core.turns.commit(info)
        return True

    def left_unanswered(self) -> None:
        """A turn ends without a reply, such as one that the application commits so. Posts
        nothing."""
        self._core.expecting.cleared()
        self._core.log.add(TurnDecided())

    def was_yes(self, info: UserTurn) -> bool:
        """The turn was the yes for a call, so it gets no answer. It belongs in the conversation."""
        return self._yes is info

    def _ignores(self, info: UserTurn) -> bool:
        core, text = self._core, info.new_transcript
        if core.offer("yes_said", text=text, source="user_turn"):
            self._yes = info
            return True
        if core.offer("hold_turn", text=text, source="user_turn"):
            core.log.add(NoiseEnded())
            return True
        if core.offer("ignore_turn", text=text, source="user_turn"):
            core.log.add(NoiseEnded())
            return True
        return False

    # -- a turn is deferred, or passed on to the next agent

    def defer(self, info: UserTurn) -> None:
        """A turn cannot be answered now. Posts `turn_deferred`."""
        self._core.turns.defer(info)
        self._deferred()

    def defer_to_next_agent(self, info: UserTurn, complete: bool) -> None:
        """A turn has ended, and its agent is about to be replaced: the next agent answers it. Posts
        `turn_deferred`. Also posts `endpointing_ended` if the turn is complete, so that this
        agent's remaining speech need not wait for a transcript."""
        self._core.expecting.turn_complete()
        self._core.log.add(TurnDecided())
        self.defer(info)
        if complete:
            self._core.turn.post("endpointing_ended")

    def defer_uncommitted(self, info: UserTurn, commits_by_itself: bool) -> None:
        """An agent is closed during a turn; the next agent gets it. Posts `turn_deferred` if it
        needs no further commit."""
        if commits_by_itself:
            self.defer(info)
        else:
            self._carried = info.new_transcript

    def take_carried_transcript(self) -> str:
        """The transcript of the previous agent's STT. Returned only once."""
        transcript, self._carried = self._carried, ""
        return transcript

    def carry_commit(self) -> None:
        """The agent is closed, and the application has committed a turn whose transcript may still
        arrive. The next agent commits it. Posts nothing."""
        self._carried_commit = True

    def take_carried_commit(self) -> bool:
        """Whether `carry_commit` was called. True only once."""
        carried, self._carried_commit = self._carried_commit, False
        return carried

    def floor_denied(self, speech: Speech, task: Hashable | None) -> None:
        """The turn must not interrupt this speech. Its task ends, and the turn is deferred."""
        if self._core.floor.holds(speech):
            self._core.turns.mark_unanswerable(task)

    def handoff_seen(self, task: Hashable | None) -> None:
        """A handoff has begun. The turn's task ends, and the turn is deferred."""
        if not self._core.closing:  # speech during a close goes into the history
            self._core.turns.mark_unanswerable(task)

    def typed_yes(self, task: Hashable | None, text: str) -> Speech | None:
        """The user types, perhaps the yes that a call waits for; it belongs in the conversation.
        Posts `yes_said`, in a flow that has it.

        Returns:
            The reply that made the call, if it runs now. There is no other reply to the yes.
        """
        core, call = self._core, self._host.confirming.awaited
        if call is None or core.turns.answered_by(task) is not None:
            return None
        core.log.add(MessageTyped())
        with self._host.about(text):
            agreed = core.offer("yes_said", text=text)
        if agreed and core.keeping is not None:
            core.keeping.transcript_received()
        return call.speech if agreed else None

    def continues_to_wait(self) -> bool:
        """The application interrupts the agent. Whether nothing is to be stopped, as the agent
        waits for a yes. Posts `application_interrupts`, in a flow that has it."""
        core = self._core
        asked = self._host.confirming.question_asked()
        return asked and bool(core.offer("application_interrupts"))

    def typed(
        self, task: Hashable | None, speech: Speech, info: UserTurn, items: Iterable[str]
    ) -> None:
        """A reply to the user is requested. Posts `user_typed`, in a flow that has it, if the user
        typed."""
        core = self._core
        if core.turns.answered_by(task) is None:
            core.turns.typed(info, speech, items)
            core.log.add(MessageTyped())
            core.offer("user_typed", speech=speech.id)
            if core.keeping is not None:
                core.keeping.transcript_received()

    def turn_ended(self, end: TurnEnd) -> None:
        """A turn has ended. Posts `turn_replied` if its reply is heard, `turn_deferred` if it is
        answered later, or `turn_dropped` if it is the latest and gets no reply."""
        core, turn, outcome = self._core, end.turn, end.outcome
        if not core.governs:
            return
        if outcome != "superseded":
            core.expecting.answered()
        why = {"why": end.why} if end.why else {}
        core.turn.note("turn", number=turn.number, outcome=outcome, deferred=turn.deferred, **why)
        if outcome == "replied":
            core.turn.post("turn_replied", turn=turn.number, speech=turn.speech)
        if end.later:
            self._deferred()
        if outcome in ("superseded", "dropped") and end.latest:
            core.turn.post("turn_dropped", turn=turn.number, reason=end.why)

    def _deferred(self) -> None:
        self._core.speeches.turn_deferred(self._core.agent)
        if self._core.governs:
            self._core.turn.post("turn_deferred")
