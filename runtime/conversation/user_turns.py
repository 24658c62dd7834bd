"""The user's turns. Each one ends as replied, silent, superseded or dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Literal, get_args

import attrs

from .deferred import Deferred
from .ports import Source, Speech, UserTurn

__all__ = ["OUTCOMES", "Outcome", "Turn", "UserTurns"]

Outcome = Literal["replied", "silent", "superseded", "dropped"]
"""How a turn ends. ``replied``: audio of its reply was heard, or text where there is no audio.
``silent``: its reply has ended by itself without audio, such as a handoff. ``superseded``: a newer
turn was committed before anything was heard. ``dropped``: it gets no reply, or the reply failed or
was interrupted before anything was heard."""
OUTCOMES = get_args(Outcome)


NEWER = "a newer turn was committed"
CLOSED = "the session closed"


@attrs.define(eq=False)
class Turn:
    """A committed user turn.

    Attributes:
        number: Its place in the conversation, from 1.
        info: The turn as the framework describes it.
        owner: The agent that it was committed to.
        deferred: It had to wait for the floor, or for another agent.
        speech: The speech of its reply, once that was requested. The text of the turn is in the
            conversation then.
        failure: What has failed in that reply, as a sentence; empty if nothing has.
        too_late: It cannot be answered now, because a handoff has begun, or because a speech that
            cannot be interrupted has taken the floor.
        items: The ids of the items in the conversation when the turn began.
        over: It ended without a reply.
        answers: The id of its message in the conversation, if its reply has it. Empty if the model
            gives the id.
        reply_over: Its reply has ended.
        cut_by: What has interrupted its reply. None if that continues, or is an unused speculation.
    """

    number: int
    info: UserTurn
    owner: str = ""
    deferred: bool = False
    speech: Speech | None = None
    failure: str = ""
    too_late: bool = False
    items: frozenset[str] = frozenset()
    over: bool = False
    answers: str = ""
    reply_over: bool = False
    cut_by: Source | None = None

    @property
    def unanswered(self) -> bool:
        """It could not be answered at once, and is deferred."""
        return self.too_late and self.speech is None

    def stands_in(self, said: Collection[str]) -> bool:
        """Whether its message is in the conversation, or never will be.

        Args:
            said: The ids of the user's messages in the conversation.
        """
        if self.over or self.speech is None:
            return self.over
        if self.speech.finished:
            return True
        if self.answers:
            return self.answers in said
        return any(id not in self.items for id in said)  # a realtime model gives the id


class UserTurns:
    """Follows each committed turn to its end.

    Args:
        ended: Called with the turn, its outcome, the reason, and `current`: whether it is the
            latest turn.
        closing: Says whether the session closes.
        due: Says whether another reply will answer a message of the user.

    Attributes:
        deferred: What the framework needs to commit the deferred turn, which contains all turns
            that were deferred. The flow's fact `turn_deferred` says that there is one.
    """

    def __init__(
        self,
        ended: Callable[[Turn, Outcome, str, bool], None],
        closing: Callable[[], bool],
        due: Callable[[str], bool],
    ) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.deferred: Deferred[UserTurn] | None = None
        self._ended = ended
        self._closing, self._due = closing, due
        self._count = 0
        self._latest: Turn | None = None
        self._tasks: dict[Hashable, Turn] = {}  # the task that answers each
        self._asked: list[Turn] = []  # turns whose replies were requested, and not heard yet
        self._failed = ("", "")  # the speech that failed last, and how
        self._answers: dict[str, str] = {}  # the messages that speeches answer, by id
        self._said: set[str] = set()  # the ids of the user's messages in the conversation
        self._unsaid: list[Turn] = []  # turns whose message may not be in the conversation yet

    def restore(self, outcomes: Mapping[str, int]) -> None:
        """Continue the count: this many turns of the session have ended before."""
        self.outcomes.update({how: outcomes[how] for how in OUTCOMES if how in outcomes})
        self._count = self.outcomes.total()

    def commit(self, info: UserTurn, owner: str) -> Turn:
        """A turn is committed.

        It is the deferred turn, or contains it: then it begins with its text.
        """
        deferred = self.is_deferred(info)
        self._take_in_deferred(info)
        self._latest = turn = Turn(self._next(), info, owner, deferred=deferred)
        self._follow_words(turn)
        for older in self._asked:
            if older.reply_over:
                self._end(older, "superseded", NEWER)
        return turn

    def typed(self, info: UserTurn, speech: Speech, items: Iterable[str]) -> None:
        """A reply to typed text is scheduled.

        Args:
            items: The ids of the items in the conversation.
        """
        answers = self._answers.get(speech.id, "")
        self._follow_words(Turn(0, info, speech=speech, items=frozenset(items), answers=answers))

    def reply_asked(self, speech: Speech, message: str) -> None:
        """A reply answers this message of the user.

        Args:
            message: Its id.
        """
        self._answers[speech.id] = message
        for turn in (*self._tasks.values(), *self._asked):
            if turn.speech is speech:
                turn.answers = message

    def is_deferred(self, info: UserTurn) -> bool:
        return self.deferred is not None and self.deferred.work is info

    def with_deferred(self, words: str) -> str:
        """The text of a turn that is committed now: that of the deferred turn, then its own."""
        before = self.deferred.work.new_transcript if self.deferred is not None else ""
        return _joined(before, words)

    @property
    def reply_due(self) -> bool:
        """A committed turn is being answered, but its reply is not scheduled yet."""
        return any(turn.speech is None for turn in self._tasks.values())

    def message_added(self, id: str) -> None:
        """A message of the user is in the conversation."""
        self._said.add(id)

    def begun(self) -> list[UserTurn]:
        """The turns that are being answered, or are next, and whose messages are not in the
        conversation yet, in order."""
        self._unsaid = [turn for turn in self._unsaid if not turn.stands_in(self._said)]
        return [turn.info for turn in self._unsaid]

    def waiting(self) -> list[UserTurn]:
        """The turns whose messages are not in the conversation, in order: first those that have
        begun, then the deferred one."""
        deferred = [self.deferred.work] if self.deferred is not None else []
        return [*self.begun(), *deferred]

    def defer(self, info: UserTurn, owner: str, reason: str) -> None:
        """A turn is deferred. It takes in the turn that was deferred before it."""
        if not self.is_deferred(info):
            self._take_in_deferred(info)
            self.deferred = Deferred("user turn", info, owner, reason)

    def follow(self, task: Hashable, items: Iterable[str]) -> None:
        """This task answers the latest turn, unless its agent is closed before.

        Args:
            task: Used only as an identity. Its end is reported: `task_ended`.
            items: The ids of the items in the conversation.
        """
        if self._latest is not None:
            self._latest.items = frozenset(items)
            self._tasks[task] = self._latest

    def mark_unanswerable(self, task: Hashable | None) -> None:
        """The turn that this task answers cannot be answered now."""
        turn = self.answered_by(task)
        if turn is not None:
            turn.too_late = True

    def answered_by(self, task: Hashable | None) -> Turn | None:
        """The turn that this task answers, or None."""
        return self._tasks.get(task) if task is not None else None

    @property
    def asked(self) -> int:
        """How many turns have a reply that was requested but not heard yet."""
        return len(self._asked)

    def ask(self, task: Hashable | None, speech: Speech) -> Turn | None:
        """This task has requested a reply. Returns the turn that it answers, or None."""
        turn = self.answered_by(task)
        if turn is not None:
            turn.speech, turn.answers = speech, self._answers.get(speech.id, "")
            if self._failed[0] == speech.id:  # it was requested speculatively
                turn.failure = self._failed[1]
            self._asked.append(turn)
        return turn

    def is_asked(self, speech: Speech) -> bool:
        """It is the reply to a turn, and was not heard yet."""
        return any(turn.speech is speech for turn in self._asked)

    def ask_again(self, words: Collection[str], speech: Speech) -> None:
        """Another reply answers the turns with these messages, after one that nobody heard."""
        for turn in self._asked:
            if turn.answers in words:
                turn.speech, turn.answers = speech, ""
                turn.reply_over, turn.cut_by = False, None

    def hear(self, speech: Speech) -> Turn | None:
        """This speech starts to play. Returns the turn whose reply is heard for the first time, or
        None."""
        turn = next((turn for turn in self._asked if turn.speech is speech), None)
        if turn is not None:
            self._end(turn, "replied")
        return turn

    def fail(self, speech: str, failure: str) -> None:
        """A component that this speech needs has failed for good."""
        self._failed = (speech, failure)
        for turn in self._asked:
            if turn.speech is not None and turn.speech.id == speech:
                turn.failure = failure

    def is_latest(self, turn: Turn) -> bool:
        """No newer turn was committed."""
        return turn is self._latest

    def task_ended(self, task: Hashable) -> None:
        """The task that answered a turn has ended, with or without requesting a reply."""
        if (turn := self._tasks.pop(task, None)) is None:
            return
        turn.over = turn.speech is None
        if turn.unanswered:  # it supersedes itself: it is committed again
            self._defer_again(turn)
            self._end(turn, "superseded", "it is answered later")
        elif turn.speech is None and self.is_latest(turn):
            self._end(turn, "dropped", "no reply was generated")
        elif turn.speech is None:
            self._end(turn, "superseded", NEWER)

    def close(self) -> None:
        """The session has closed: drop the turns that are not finished."""
        for task in tuple(self._tasks):
            self.task_ended(task)
        for turn in tuple(self._asked):
            self._end(turn, "dropped", CLOSED)
        self.drop_deferred()

    def drop_deferred(self) -> UserTurn | None:
        """Drop the deferred turn, and return it."""
        deferred, self.deferred = self.deferred, None
        if deferred is None:
            return None
        deferred.end = "dropped"
        self._end_deferred(deferred, "dropped", CLOSED)
        return deferred.work

    def _defer_again(self, turn: Turn) -> None:
        if (deferred := self.deferred) is None:
            why = "it found a handoff or a speech that cannot be interrupted"
            self.defer(turn.info, turn.owner, why)
        else:  # that was said after it
            words = turn.info.new_transcript, deferred.work.new_transcript
            deferred.work.new_transcript = _joined(*words)

    def _take_in_deferred(self, info: UserTurn) -> None:
        deferred, self.deferred = self.deferred, None
        if deferred is None:
            return
        deferred.end = "begun"
        if deferred.work is not info:
            info.new_transcript = _joined(deferred.work.new_transcript, info.new_transcript)
            self._end_deferred(deferred, "superseded", NEWER)

    def _end_deferred(self, deferred: Deferred[UserTurn], outcome: Outcome, why: str) -> None:
        turn = Turn(self._next(), deferred.work, deferred.owner, deferred=True)
        self._end(turn, outcome, why, current=False)

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _follow_words(self, turn: Turn) -> None:
        self._unsaid = [turn for turn in self._unsaid if not turn.stands_in(())]
        self._unsaid.append(turn)

    def reply_interrupted(self, speech: Speech, by: Source | None) -> None:
        """A speech is interrupted by this."""
        for turn in self._asked:
            if turn.speech is speech:
                turn.cut_by = by

    def speech_finished(self, speech: Speech) -> None:
        """A speech has ended."""
        self._answers.pop(speech.id, None)
        for turn in self._asked:
            if turn.speech is speech:
                turn.reply_over = True
                self._reply_over(turn, speech)

    def _reply_over(self, turn: Turn, speech: Speech) -> None:
        if self.deferred is not None or not self.is_latest(turn):
            self._end(turn, "superseded", NEWER)
        elif turn.failure:
            self._end(turn, "dropped", turn.failure)
        elif self._closing():
            self._end(turn, "dropped", CLOSED)
        elif not speech.interrupted:
            self._end(turn, "silent", "its reply had nothing to be heard")
        elif turn.cut_by not in ("audio_activity", "user_turn") and not self._due(turn.answers):
            # otherwise the user continues, and the next turn supersedes it
            self._end(turn, "dropped", "its reply was interrupted before it was heard")

    def _end(
        self, turn: Turn, outcome: Outcome, why: str = "", current: bool | None = None
    ) -> None:
        self._asked = [other for other in self._asked if other is not turn]
        self.outcomes[outcome] += 1
        self._ended(turn, outcome, why, self.is_latest(turn) if current is None else current)


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text)
