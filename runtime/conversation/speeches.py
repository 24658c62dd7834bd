"""The speeches that have not ended: replies, and the fixed texts of the flow."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator

import attrs

from turnfsm.fsm.agenda.entries import (
    AnswerDue,
    AnswersByItself,
    PlayoutStarted,
    ReplyAsked,
    ReplyEnded,
    ReplyStopped,
)
from turnfsm.fsm.agenda.settlement import Ending
from turnfsm.fsm.flow import Action
from turnfsm.fsm.sound import Sound
from turnfsm.runtime.event import Event
from turnfsm.runtime.log import Log

from .floor import Floor
from .ports import Session, Speech

__all__ = ["Speeches", "Spoken"]


@attrs.define(eq=False)
class Spoken:
    """A speech that has not ended, or that has ended and still holds the floor.

    Attributes:
        agent: The agent that says it.
        reply: It is a live reply, and not a fixed text.
        text: It is a fixed text of the flow.
        done: The trigger to post when such a text has been played.
        failed: The trigger to post if only a part of it was heard, or an error has ended it.
        heard: The user has begun to hear it.
        queued: It waits for the floor.
        first: It was queued when a turn was deferred, so it comes before that turn.
        held: A step of it has had the floor.
        begun: It waits for the floor, and its model has begun, or is asked as soon as it has the
            floor.
        silent: Its model was asked for the step, and has produced nothing.
        yielded: It has released the floor for a fixed text, and does not have it again.
        message: The id of the user's message that it answers, if known.
        over: It has ended, and still holds the floor.
    """

    speech: Speech
    agent: object
    reply: bool = False
    text: bool = False
    done: str | None = None
    failed: str | None = None
    heard: bool = False
    queued: bool = False
    first: bool = False
    held: bool = False
    begun: bool = False
    silent: bool = False
    yielded: bool = False
    message: str = ""
    over: bool = False


class Speeches:
    """Each speech from its request to its end. It logs the beginnings and ends of replies.

    Args:
        session: Its active agent says the flow's fixed texts.
        log: The log.
        floor: The floor.
    """

    def __init__(self, session: Session, log: Log, floor: Floor) -> None:
        self._session, self._log, self._floor = session, log, floor
        self._known: dict[str, Spoken] = {}
        self._times: Counter[str] = Counter()

    def of(self, speech: Speech) -> Spoken:
        """What is known of a speech; of one that has ended, nothing."""
        return self._known.get(speech.id) or Spoken(speech, None)

    # -- a speech waits for the floor, has it, and ends

    def scheduled(self, agent: object, speech: Speech) -> None:
        """A speech of this agent waits for the floor."""
        self._begin(speech, agent).queued = True

    def has_come(self, agent: object, speech: Speech) -> None:
        """A step of a speech has the floor."""
        self._begin(speech, agent).held = True
        self.needs_no_floor(speech)

    def needs_no_floor(self, speech: Speech) -> None:
        """A speech waits for the floor no longer."""
        spoken = self.of(speech)
        spoken.queued = spoken.begun = spoken.yielded = False

    def plays(self, speech: Speech) -> None:
        """The user starts to hear a step of a speech."""
        self.of(speech).heard = True
        self._log.add(PlayoutStarted(speech.id))

    def yields(self, speech: Speech) -> None:
        """A reply releases the floor for a waiting text, and waits for it again."""
        spoken = self.of(speech)
        spoken.yielded = spoken.queued = True
        spoken.held = False  # as if the step had never had the floor

    def left_floor(self, speech: Speech) -> str | None:
        """A speech has returned the floor. Returns the trigger to post, as `over` does."""
        spoken = self.of(speech)
        return self._done(spoken) if spoken.over else None

    def over(self, speech: Speech, *, failed: bool) -> str | None:
        """A speech has ended; none of it is played from now on.

        Args:
            failed: An error has ended it.

        Returns:
            The trigger to post: a fixed text was played, to the end or not, and has released the
            floor.
        """
        if speech.id not in self._known:
            return None
        spoken = self.of(speech)
        done = spoken.done
        if failed or speech.interrupted:
            done = spoken.failed if failed or spoken.heard else None
        over = Spoken(speech, spoken.agent, spoken.reply, done=done, first=spoken.first, over=True)
        self._known[speech.id] = over
        self.reply_over(speech, failed=failed)
        return self._done(over)

    # -- fixed texts of the flow: such speech is no answer, and is not on the agenda

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
        spoken = self._begin(speech, agent)
        spoken.text, spoken.done, spoken.failed = True, action.done, action.failed
        return None if action.owner == "session" else self._unless_over(speech)

    @property
    def can_say(self) -> bool:
        """The agent can speak now: no handoff is running, and the session is not closing."""
        agent = self._session.activity
        says = agent is not None and agent.phase in ("greeting", "present")
        return says and not self._session.closing

    def _unless_over(self, speech: Speech) -> asyncio.Future[None]:
        """The task of a text, which only its owner ends."""
        task: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def ended(task: asyncio.Future[None]) -> None:
            if not (self._floor.plays(speech) or speech.finished):
                speech.stop("programmatic", force=True)

        task.add_done_callback(ended)
        return task

    # -- replies

    def asked(
        self, speech: Speech, agent: object, utterances: Iterable[str] = (), *, instructed: bool
    ) -> None:
        """A reply is requested.

        Args:
            utterances: The ids of the user's messages that it answers.
            instructed: It has its own instructions, and delivers only what they name.
        """
        self._begin(speech, agent).reply = True
        self._log.add(ReplyAsked(speech.id, instructed=instructed))
        for utterance in utterances:
            self._log.add(AnswerDue(utterance))
            self._log.add(ReplyAsked(speech.id, utterances=[utterance]))

    def answers_by_itself(self, speech: Speech, agent: object) -> None:
        """A realtime model replies without being asked. It delivers no results."""
        self._begin(speech, agent).reply = True
        self._log.add(AnswersByItself(speech.id))

    def reply_over(self, speech: Speech, *, failed: bool = False) -> None:
        """A reply has ended, perhaps before its speech. `failed`: an error has ended it."""
        if not (spoken := self.of(speech)).reply:
            return
        spoken.reply = False
        by: Ending = "failure" if failed else "finished"
        call: str | None = None
        reply = self._log.agenda.reply(speech.id)
        if speech.interrupted and reply is not None:
            by, call = reply.ending
        self._log.add(ReplyEnded(speech.id, by, call))

    def leaving(self, agent: object) -> None:
        """An agent is being replaced: that becomes the reason if its reply is interrupted."""
        for reply in self._replies_of(agent):
            self._log.add(ReplyStopped(reply.speech.id, "agent_left"))

    def left(self, agent: object) -> None:
        """An agent was replaced; its remaining speech is dropped."""
        for reply in self._replies_of(agent):
            if reply.speech.interrupted:
                self.reply_over(reply.speech)
            else:
                reply.reply = False
                self._log.add(ReplyEnded(reply.speech.id, "agent_left"))

    # -- questions

    @property
    def replies(self) -> list[Speech]:
        """The replies that have not ended."""
        return [spoken.speech for spoken in self._known.values() if spoken.reply]

    def may_still_call(self, before: Speech) -> Iterator[Speech]:
        """The earlier replies to utterances whose model may still make calls."""
        for speech in self.replies:
            if speech is before:
                return
            if not speech.interrupted and self._log.agenda.may_call_for_utterance(speech.id):
                yield speech

    def would_deliver(self, speech: Speech) -> bool:
        """A request of this reply would include results of other replies."""
        due = self._log.agenda.due
        return any(o.kind == "result" and o.made_by != speech.id for o in due)

    def between_steps(self, speech: Speech) -> bool:
        """A step of this speech has had the floor, and none has it."""
        return self.of(speech).held and not self._floor.holds(speech)

    @property
    def yielded(self) -> list[Speech]:
        """The replies that have released the floor for a text."""
        return [spoken.speech for spoken in self._known.values() if spoken.yielded]

    @property
    def text_waits(self) -> bool:
        """A fixed text was requested, and is neither finished nor interrupted."""
        texts = (spoken.speech for spoken in self._known.values() if spoken.text)
        return any(not (text.interrupted or text.finished) for text in texts)

    @property
    def text_has_floor(self) -> bool:
        """A fixed text of the flow has the floor."""
        step = self._floor.step
        return step is not None and step.fixed

    @property
    def text_delays_answer(self) -> bool:
        """A fixed text has the floor, and a reply waits for its end."""
        if not self.text_has_floor:
            return False
        begun = (spoken for spoken in self._known.values() if spoken.begun and not spoken.text)
        return any(not spoken.speech.interrupted for spoken in begun)

    @property
    def none_queued(self) -> bool:
        """No speech waits for the floor."""
        return not any(spoken.queued for spoken in self._known.values())

    # -- the deferred turn

    def turn_deferred(self, agent: object) -> None:
        """A turn was deferred: the speeches of this agent that are queued now come before it."""
        for spoken in self._known.values():
            spoken.first = spoken.queued and spoken.agent is agent

    def comes_first(self, agent: object) -> bool:
        """A speech that was queued before the deferred turn has not left the floor."""
        first = (s for s in self._known.values() if s.first and not s.speech.interrupted)
        return any((s.queued and s.agent is agent) or self._floor.holds(s.speech) for s in first)

    # -- inside

    def _begin(self, speech: Speech, agent: object) -> Spoken:
        spoken = self._known.setdefault(speech.id, Spoken(speech, agent))
        spoken.agent = agent if spoken.agent is None else spoken.agent
        return spoken

    def _done(self, spoken: Spoken) -> str | None:
        if self._floor.holds(spoken.speech):
            return None
        del self._known[spoken.speech.id]
        return spoken.done

    def _replies_of(self, agent: object) -> list[Spoken]:
        return [reply for reply in self._known.values() if reply.reply and reply.agent is agent]
