"""The flow's fixed texts that the agent says, and the answers that wait for their end."""

from __future__ import annotations

import asyncio
from collections import Counter

from turnfsm.fsm.flow import Action
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.event import Event

from .floor import Floor
from .ports import Session, Speech

__all__ = ["Sayings"]


class Sayings:
    """Says the texts of a flow's actions. Such speech is no answer, and is not on the agenda.

    Args:
        session: Its active agent says the texts.
        floor: The floor.
    """

    def __init__(self, session: Session, floor: Floor) -> None:
        self._session = session
        self._floor = floor
        self._times: Counter[str] = Counter()
        self._texts: dict[str, Speech] = {}
        self._done: dict[str, str] = {}
        self._begun: dict[str, Speech] = {}
        self._silent: set[str] = set()
        self._yielded: Speech | None = None

    def say(
        self, name: str, action: Action, sound: Sound | None, event: Event
    ) -> asyncio.Future[None] | None:
        """Say the next text of the action with this name, or play its sound, if an agent can.

        Returns:
            The task of an action that has an owner. If it is cancelled before the text is heard,
            the text is not said.
        """
        if (agent := self._session.activity) is None or not self.can_say:
            return None
        text = action.say[self._times[name] % len(action.say)] if action.say else ""
        self._times[name] += 1
        speech = agent.speak(text, interruptible=action.interruptible, sound=sound)
        self._texts[speech.id] = speech
        if action.done:
            self._done[speech.id] = action.done
        return None if action.owner == "session" else self._unless_over(speech)

    @property
    def can_say(self) -> bool:
        """The agent can speak now: no handoff is running, and the session is not closing."""
        agent = self._session.activity
        says = agent is not None and agent.phase in ("greeting", "present")
        return says and not self._session.closing

    def began(self, speech: Speech) -> None:
        """The model has begun a reply, or is asked for it as soon as the reply has the floor."""
        if not self._floor.holds(speech):
            self._begun[speech.id] = speech

    def response_awaited(self, speech: Speech) -> None:
        """The model is asked for a step of a reply to the user."""
        self._silent.add(speech.id)

    def response_over(self, speech: Speech) -> None:
        """Nothing waits for the model any more."""
        self._silent.discard(speech.id)

    def awaits_model(self, speech: Speech) -> bool:
        """The model has produced nothing for the step of this reply."""
        return speech.id in self._silent

    def yields(self, speech: Speech) -> None:
        """A reply releases the floor for a waiting text."""
        if any(not (text.interrupted or text.finished) for text in self._texts.values()):
            self._yielded = speech
            speech.end(step=True)

    def has_yielded(self, speech: Speech) -> bool:
        """A reply has released the floor for a text, and does not have it again."""
        return speech is self._yielded

    def replaced(self) -> None:
        """The reply to a newer turn replaces the one that has released the floor."""
        if (reply := self._yielded) is not None and reply.interruptible:
            reply.stop("user_turn")

    def has_come(self, speech: Speech) -> None:
        """A step of a speech has the floor."""
        self._begun.pop(speech.id, None)
        if self.has_yielded(speech):
            self._yielded = None

    def over(self, speech: Speech, *, failed: bool) -> None:
        """A speech has ended."""
        self._texts.pop(speech.id, None)
        if failed or speech.interrupted:
            self._done.pop(speech.id, None)
        self.response_over(speech)
        self.has_come(speech)

    def done(self, speech: Speech) -> str | None:
        """The `done` trigger to post: the text was played to the end, and has released the floor.
        At most once."""
        if speech.id in self._texts or self._floor.holds(speech):
            return None
        return self._done.pop(speech.id, None)

    def _unless_over(self, speech: Speech) -> asyncio.Future[None]:
        """The task of a text, which only its owner ends."""
        task: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def ended(task: asyncio.Future[None]) -> None:
            if not (self._floor.plays(speech) or speech.finished):
                speech.stop("programmatic", force=True)

        task.add_done_callback(ended)
        return task

    @property
    def has_floor(self) -> bool:
        """The speech that has the floor comes from `say`."""
        step = self._floor.step
        return step is not None and step.speech.id in self._texts

    @property
    def delays_answer(self) -> bool:
        """The speech that has the floor comes from `say`, and a reply waits for its end."""
        if not self.has_floor:
            return False
        others = (reply for id, reply in self._begun.items() if id not in self._texts)
        return any(not reply.interrupted for reply in others)
