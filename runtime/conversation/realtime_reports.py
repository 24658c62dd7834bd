"""Logs what a realtime model does by itself: it hears the user, and answers."""

from __future__ import annotations

from collections.abc import Iterable

from turnfsm.fsm.agenda.entries import AnswerDue, Answered, HeardByModel

from .core import Core
from .host import TurnHost
from .objections import Objections
from .ports import Speech
from .user_reports import UserReports

__all__ = ["RealtimeReports"]


class RealtimeReports:
    """Takes the reports about realtime models. A host without them needs none of these.

    Args:
        core: The conversation.
        host: Carries out the flow's actions.
        user: Has the transcript of the last speech.
        objections: Learns what the user has said.
    """

    def __init__(
        self, core: Core, host: TurnHost, user: UserReports, objections: Objections
    ) -> None:
        self._core, self._host = core, host
        self._user = user
        self._objections = objections

    def message_added(self, id: str, text: str) -> None:
        """A message of the user, transcribed by the model, was added to the conversation.

        Posts `message_answered` if the model is already answering it. A model that owns its turns
        commits none, so this message may answer a call that waits for a yes. Posts `yes_said`, or
        `other_answer` if it is no yes, if the flow has them.
        """
        self._core.turns.message_added(id)
        self._user.transcript = text
        self._objections.transcribed(text)
        core, agent = self._core, self._core.agent
        if agent is not None and agent.setup.overlaps and text:
            with self._host.about(text):
                if not core.offer("yes_said", text=text, source="user_turn"):
                    core.offer("other_answer")

    def answer_awaited(self) -> None:
        """A model with turn detection reports that the user has stopped speaking.

        Posts `endpointing_ended` once the model has begun to answer, or will not answer.
        """
        self._host.answer_pending()

    def heard(self, utterances: Iterable[str]) -> None:
        """These messages of the user are new in the model's conversation. Posts nothing: the model
        answers them by itself, or is asked to."""
        for id in utterances:
            self._core.log.add(HeardByModel(id))

    def answers_by_itself(self, speech: Speech) -> None:
        """A model with turn detection answers the user by itself, and was not asked to deliver any
        result. Posts `message_answered`, once the transcript arrives."""
        self._core.replies.answers_by_itself(speech, self._core.agent)
        self._core.tools.overtaken_by(speech)
        self._objections.answered(self._user.transcript, speech)

    def answer_skipped(self, utterances: Iterable[str]) -> None:
        """The model's own answer will not be played: its agent is about to be replaced, or the
        model was asked for something else. Posts nothing: the messages are answered when the floor
        is free.

        Args:
            utterances: The ids of the messages that the model answers.
        """
        for id in utterances:
            self._core.log.add(AnswerDue(id))

    def answered(self) -> None:
        """The model was asked for something else, and has also answered the user.

        Posts nothing: no message is left to answer.
        """
        due = self._core.log.agenda.due
        self.forgotten(o.id for o in due if o.kind == "utterance")

    def forgotten(self, utterances: Iterable[str]) -> None:
        """These messages get no answer, such as those unknown to a new agent. Posts
        nothing."""
        self._core.log.add(Answered(utterances))
