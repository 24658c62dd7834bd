"""The live replies: their requests, what they deliver, and how they end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import attrs

from turnfsm.fsm.agenda import (
    AnswerDue,
    AnswersByItself,
    CallsReceived,
    Ending,
    NoiseEnded,
    ReplyAsked,
    ReplyEnded,
    ReplyHeard,
    ReplyStopped,
    RequestSent,
    SpeechInterrupted,
)
from turnfsm.runtime.log import Log

from .ports import Source, Speech

__all__ = ["Replies"]

_BY_SOURCE: dict[Source | None, Ending] = {
    "audio_activity": "user",
    "user_turn": "user",
    "programmatic": "application",
    None: "dropped",
}


@attrs.define(eq=False)
class _Live:
    """A reply that has not ended.

    Attributes:
        agent: Its agent.
    """

    speech: Speech
    agent: object


class Replies:
    """Reports each reply to the log, from its request to its end."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._live: dict[str, _Live] = {}

    # -- reports

    def asked(
        self, speech: Speech, agent: object, utterances: Iterable[str] = (), *, instructed: bool
    ) -> None:
        """A reply is requested.

        Args:
            utterances: The ids of the user's messages that it answers.
            instructed: It has its own instructions, and delivers only what they name.
        """
        self._live[speech.id] = _Live(speech, agent)
        self._log.add(ReplyAsked(speech.id, instructed=instructed))
        self.answers(speech, utterances)

    def answers(self, speech: Speech, utterances: Iterable[str]) -> None:
        """A reply answers these messages of the user."""
        for utterance in utterances:
            self._log.add(AnswerDue(utterance))
            self._log.add(ReplyAsked(speech.id, utterances=[utterance]))

    def claims(
        self, speech: Speech, *, utterances: Iterable[str] = (), results: Iterable[str] = ()
    ) -> None:
        """A reply was requested to deliver these."""
        self._log.add(ReplyAsked(speech.id, utterances, results))

    def request_sent(
        self,
        speech: Speech,
        agent: object,
        shown: Collection[str],
        instructions: str | None,
        *,
        answers: bool,
        unanswered: Iterable[str] = (),
    ) -> None:
        """The request for a step of a reply is sent to the model.

        Args:
            shown: The calls whose results the request contains.
            instructions: The reply's own instructions.
            answers: It answers the user.
            unanswered: The ids of the user's messages at the end of the request.
        """
        if speech.id not in self._live:
            if speech.interrupted:
                return
            self.asked(speech, agent, instructed=instructions is not None)
        named = None
        if instructions is not None:
            results = (o for o in self._log.agenda.obligations if o.kind == "result")
            named = [o.id for o in results if o.id in instructions]
        self._log.add(RequestSent(speech.id, shown, named, answers, unanswered))

    def calls_received(self, speech: Speech, calls: int) -> None:
        """The model has answered a reply's last request, with this number of calls."""
        self._log.add(CallsReceived(speech.id, calls))

    def answers_by_itself(self, speech: Speech, agent: object) -> None:
        """A realtime model replies without being asked. It delivers no results."""
        self._live[speech.id] = _Live(speech, agent)
        self._log.add(AnswersByItself(speech.id))

    def heard(self, speech: str, *, whole: bool) -> None:
        """The user has heard the step of a reply's last request, or a part of it."""
        self._log.add(ReplyHeard(speech, whole))

    def interrupted(self, speech: Speech, by: Source | None) -> None:
        """A speech is interrupted.

        Args:
            by: What has interrupted it; None if it is a speculation that is not used.
        """
        self._log.add(SpeechInterrupted(speech.id, _BY_SOURCE[by]))

    def noise_ended(self) -> None:
        """The last speech of the user gets no answer."""
        self._log.add(NoiseEnded())

    def stopped(self, speech: Speech, by: Ending, call: str | None = None) -> None:
        """A reply is about to be interrupted for this reason; `over` follows."""
        self._log.add(ReplyStopped(speech.id, by, call))

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
        for live in self._live.values():
            if live.agent is agent:
                self.stopped(live.speech, "agent_left")

    def left(self, agent: object) -> None:
        """An agent was replaced; its remaining speech is dropped."""
        for live in tuple(self._live.values()):
            if live.agent is agent and not live.speech.interrupted:
                del self._live[live.speech.id]
                self._log.add(ReplyEnded(live.speech.id, "agent_left"))
            elif live.agent is agent:
                self.over(live.speech)

    # -- questions

    @property
    def live(self) -> list[Speech]:
        """The replies that have not ended, without fixed texts."""
        return [live.speech for live in self._live.values()]

    def may_still_call(self, before: Speech) -> Iterator[Speech]:
        """The earlier replies to utterances whose model may still make calls."""
        for live in self._live.values():
            if live.speech is before:
                return
            if not live.speech.interrupted and self._log.agenda.may_call_for_utterance(
                live.speech.id
            ):
                yield live.speech

    def would_deliver(self, speech: Speech) -> bool:
        """A request of this reply would include results of other replies."""
        due = self._log.agenda.due
        return any(o.kind == "result" and o.made_by != speech.id for o in due)
