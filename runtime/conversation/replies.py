"""The live replies, and how they end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from turnfsm.fsm.agenda.entries import (
    AnswerDue,
    AnswersByItself,
    ReplyAsked,
    ReplyEnded,
    ReplyStopped,
)
from turnfsm.fsm.agenda.settlement import Ending
from turnfsm.runtime.log import Log

from .ports import Speech

__all__ = ["Replies"]


class Replies:
    """The speeches and agents of the live replies, whose beginnings and ends it logs."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._live: dict[str, tuple[Speech, object]] = {}  # each with its agent

    # -- reports

    def asked(
        self, speech: Speech, agent: object, utterances: Iterable[str] = (), *, instructed: bool
    ) -> None:
        """A reply is requested.

        Args:
            utterances: The ids of the user's messages that it answers.
            instructed: It has its own instructions, and delivers only what they name.
        """
        self._live[speech.id] = speech, agent
        self._log.add(ReplyAsked(speech.id, instructed=instructed))
        for utterance in utterances:
            self._log.add(AnswerDue(utterance))
            self._log.add(ReplyAsked(speech.id, utterances=[utterance]))

    def answers_by_itself(self, speech: Speech, agent: object) -> None:
        """A realtime model replies without being asked. It delivers no results."""
        self._live[speech.id] = speech, agent
        self._log.add(AnswersByItself(speech.id))

    def over(self, speech: Speech, *, failed: bool = False) -> None:
        """A reply has ended; none of it is played from now on.

        Args:
            failed: An error has ended it.
        """
        if self._live.pop(speech.id, None) is None:
            return
        by: Ending = "failure" if failed else "finished"
        call: str | None = None
        reply = self._log.agenda.reply(speech.id)
        if speech.interrupted and reply is not None:
            by, call = reply.ending
        self._log.add(ReplyEnded(speech.id, by, call))

    def leaving(self, agent: object) -> None:
        """An agent is being replaced: that becomes the reason if its reply is interrupted."""
        for speech in self._of(agent):
            self._log.add(ReplyStopped(speech.id, "agent_left"))

    def left(self, agent: object) -> None:
        """An agent was replaced; its remaining speech is dropped."""
        for speech in self._of(agent):
            if speech.interrupted:
                self.over(speech)
            else:
                del self._live[speech.id]
                self._log.add(ReplyEnded(speech.id, "agent_left"))

    # -- questions

    @property
    def live(self) -> list[Speech]:
        """The replies that have not ended, without fixed texts."""
        return [speech for speech, _ in self._live.values()]

    def may_still_call(self, before: Speech) -> Iterator[Speech]:
        """The earlier replies to utterances whose model may still make calls."""
        for speech in self.live:
            if speech is before:
                return
            if not speech.interrupted and self._log.agenda.may_call_for_utterance(speech.id):
                yield speech

    def would_deliver(self, speech: Speech) -> bool:
        """A request of this reply would include results of other replies."""
        due = self._log.agenda.due
        return any(o.kind == "result" and o.made_by != speech.id for o in due)

    def _of(self, agent: object) -> list[Speech]:
        return [speech for speech, own in self._live.values() if own is agent]
