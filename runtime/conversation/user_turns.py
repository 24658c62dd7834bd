"""The user's turns, as the framework describes them. The log says how each one ends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable
from contextvars import copy_context

import attrs

from turnfsm.fsm.agenda.entries import (
    NoReply,
    ReplyScheduled,
    SessionClosed,
    SpeechEnded,
    TurnCommitted,
    TurnNotCommitted,
)
from turnfsm.runtime.log import Log

from .ports import Agent, Speech, UserTurn
from .speeches import Speeches

__all__ = ["Turn", "UserTurns"]


@attrs.define(eq=False)
class Turn:
    """A committed user turn.

    Attributes:
        number: Its place in the conversation, from 1; 0 if it was typed.
        info: The turn as the framework describes it.
        speech: The speech of its reply, once requested. The text of the turn is in the
            conversation then.
        too_late: It cannot be answered now, because a handoff has begun, or because a speech that
            cannot be interrupted has taken the floor.
        items: The ids of the items in the conversation when the turn began.
        answers: The id of its message in the conversation, if its reply has it. Empty if the model
            sets the id.
    """

    number: int
    info: UserTurn
    speech: Speech | None = None
    too_late: bool = False
    items: frozenset[str] = frozenset()
    answers: str = ""


class UserTurns:
    """Reports each turn of the user to the log, which says how it ends.

    Args:
        log: The log.
        speeches: Has the message that each reply answers.
        closing: Says whether the session closes.

    Attributes:
        deferred: The deferred turn, which contains all turns that were deferred. The flow's fact
            `turn_deferred` says that there is one.
    """

    def __init__(self, log: Log, speeches: Speeches, closing: Callable[[], bool]) -> None:
        self.deferred: UserTurn | None = None
        self._context = copy_context()  # when the turn was deferred
        self._log, self._speeches = log, speeches
        self._closing = closing
        self._latest: Turn | None = None
        self._tasks: dict[Hashable, Turn] = {}  # the task that answers each
        self._open: list[Turn] = []  # turns whose message may not be in the conversation yet
        self._added: set[str] = set()  # the ids of the messages that were added meanwhile

    # -- a turn is committed or deferred

    def commit(self, info: UserTurn) -> None:
        """A turn is committed.

        It is the deferred turn, or begins with the text of that turn.
        """
        deferred = self.is_deferred(info)
        self._absorb_deferred(info)
        self._latest = Turn(self._next, info)
        self._follow_utterance(self._latest)
        self._log.add(TurnCommitted(self._latest.number, deferred))

    def typed(self, info: UserTurn, speech: Speech, items: Iterable[str]) -> None:
        """A reply to typed text is scheduled.

        Args:
            items: The ids of the items in the conversation.
        """
        answers = self._speeches.of(speech).message
        self._follow_utterance(
            Turn(0, info, speech=speech, items=frozenset(items), answers=answers)
        )

    def is_deferred(self, info: UserTurn) -> bool:
        return self.deferred is info

    def with_deferred(self, text: str) -> str:
        """The text of a turn that is committed now: that of the deferred turn, then its own."""
        before = self.deferred.new_transcript if self.deferred is not None else ""
        return _joined(before, text)

    def defer(self, info: UserTurn) -> None:
        """A turn is deferred. It absorbs the turn that was deferred before."""
        if not self.is_deferred(info):
            self._absorb_deferred(info)
            self.deferred, self._context = info, copy_context()

    def take_deferred(self, agent: Agent) -> None:
        """Let an agent commit the deferred turn, with the context variables of the deferral, such
        as the mocks of `mock_tools` and the span of a trace."""
        if self.deferred is not None:
            self._context.run(agent.take_turn, self.deferred)

    def drop_deferred(self) -> UserTurn | None:
        """Drop the deferred turn, and return it."""
        deferred, self.deferred = self.deferred, None
        if deferred is not None:
            self._log.add(TurnNotCommitted(self._next, dropped=True))
        return deferred

    # -- its message is in the conversation

    def message_added(self, id: str) -> None:
        """A message of the user is in the conversation."""
        if self._open:
            self._added.add(id)

    def begun(self) -> list[UserTurn]:
        """The turns that are being answered, or are next, and whose messages are not in the
        conversation yet, in order."""
        self._open = [turn for turn in self._open if not self._is_settled(turn, self._added)]
        if not self._open:
            self._added.clear()
        return [turn.info for turn in self._open]

    def waiting(self) -> list[UserTurn]:
        """The turns whose messages are not in the conversation, in order: first those that have
        begun, then the deferred one."""
        deferred = [self.deferred] if self.deferred is not None else []
        return [*self.begun(), *deferred]

    # -- a turn is answered

    def answer_started(self, task: Hashable, items: Iterable[str]) -> None:
        """The task that answers the committed turn has begun. Posts nothing.

        Args:
            task: The framework's task, used only as an identity; `answer_ended` follows.
            items: The ids of the conversation's items when the task begins. The request may be sent
                much later.
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
    def reply_due(self) -> bool:
        """A committed turn is being answered, but its reply is not scheduled yet."""
        return any(turn.speech is None for turn in self._tasks.values())

    def reply_asked(self, speech: Speech, message: str) -> None:
        """A reply answers this message of the user.

        Args:
            message: Its id.
        """
        self._speeches.of(speech).message = message
        for turn in self._open:
            if turn.speech is speech:
                turn.answers = message

    def ask(self, task: Hashable | None, speech: Speech) -> Turn | None:
        """This task has requested a reply. Returns the turn that it answers, or None."""
        turn = self.answered_by(task)
        if turn is not None:
            turn.speech, turn.answers = speech, self._speeches.of(speech).message
            self._log.add(ReplyScheduled(turn.number, speech.id, turn.answers))
        return turn

    def answer_ended(self, task: Hashable) -> None:
        """The task that answers a turn has ended. Posts `turn_dropped` if it has requested no
        reply."""
        turn = self._tasks.pop(task, None)
        if turn is None or turn.speech is not None:
            return
        if turn.too_late:  # it is committed again
            self._defer_again(turn)
        self._log.add(NoReply(turn.number, later=turn.too_late))

    # -- its reply

    def speech_finished(self, speech: Speech) -> None:
        """A speech has ended."""
        newer, closing = self.deferred is not None, self._closing()
        self._log.add(SpeechEnded(speech.id, speech.interrupted, newer, closing))

    def close(self) -> None:
        """The session has closed: drop the turns that are not finished."""
        for task in tuple(self._tasks):
            self.answer_ended(task)
        self._log.add(SessionClosed())
        self.drop_deferred()

    # -- inside

    @property
    def _next(self) -> int:
        return self._log.turns.count + 1

    def _defer_again(self, turn: Turn) -> None:
        if (deferred := self.deferred) is None:
            self.defer(turn.info)
        else:  # the deferred turn is newer
            texts = turn.info.new_transcript, deferred.new_transcript
            deferred.new_transcript = _joined(*texts)

    def _absorb_deferred(self, info: UserTurn) -> None:
        deferred, self.deferred = self.deferred, None
        if deferred is not None and deferred is not info:
            info.new_transcript = _joined(deferred.new_transcript, info.new_transcript)
            self._log.add(TurnNotCommitted(self._next))

    def _follow_utterance(self, turn: Turn) -> None:
        self._open = [turn for turn in self._open if not self._is_settled(turn, ())]
        self._open.append(turn)

    def _is_settled(self, turn: Turn, added: Collection[str]) -> bool:
        """Whether the message of a turn is in the conversation, or never will be."""
        if turn.speech is None:
            return self._log.turns.find(turn.number) is None
        if turn.speech.finished:
            return True
        if turn.answers:
            return turn.answers in added
        return any(id not in turn.items for id in added)  # a realtime model sets the id


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text)
