"""The calls that wait for a yes of the user: the question, and whether it was heard."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Literal

from turnfsm.fsm.expect import Expectation

from .expecting import Expecting
from .floor import Floor
from .ports import Agent, Session, Speech
from .tool_call import ToolCall
from .tool_calls import ToolCalls

__all__ = ["Confirming"]

logger = logging.getLogger("turnfsm")


_EARLY = "the user was asked whether to do it, and spoke before they had heard the question"
_STALE = "the user was asked whether to do it, and then the agent said something else"


class Confirming:
    """Asks the user about one call after the other. The flow decides when, and what follows.

    Args:
        session: Its active agent asks.
        tools: The calls.
        expecting: Gets the expectation of a yes or a no.
        floor: The floor.
        can_say: Returns whether the agent can speak now.
    """

    def __init__(
        self,
        session: Session,
        tools: ToolCalls,
        expecting: Expecting,
        floor: Floor,
        can_say: Callable[[], bool],
    ) -> None:
        self._session = session
        self._tools = tools
        self._expecting = expecting
        self._floor = floor
        self._can_say = can_say
        self._times: Counter[str] = Counter()
        self._asked: ToolCall | None = None
        self._question: Speech | None = None
        self._early: Literal["voice", "words"] | None = None
        self._begun = self._stale = False

    @property
    def awaited(self) -> ToolCall | None:
        """The call of the current or the next question."""
        if self._asked is not None and self._asked.state == "asking":
            return self._asked
        agent = self._session.activity
        return next((call for call in self._tools.asking if call.agent is agent), None)

    @property
    def asked(self) -> bool:
        """The user was asked about that call."""
        return self._asked is not None and self._asked is self.awaited

    @property
    def settled(self) -> bool:
        """No answer to the last question is awaited any more."""
        return self._asked is not None and not self.asked

    @property
    def due(self) -> bool:
        """The user is to be asked."""
        return self.awaited is not None and not self.asked

    @property
    def heard(self) -> bool:
        """The question was played to the end, nothing else was said since, and the user spoke only
        afterwards."""
        return self._over and self._early is None and not self._stale

    def agrees(self, text: str) -> bool:
        """Whether this text is a yes to the question."""
        call = self.awaited
        return call is not None and call.confirm is not None and call.confirm.agrees(text)

    # -- what happens

    def floor_taken(self, speech: Speech) -> None:
        """A step of this speech has the floor."""
        self._stale |= self._over and speech is not self._question
        self._begun |= speech is self._question

    def voice_started(self) -> None:
        """The user begins to speak."""
        if self.asked and not self._over:
            self._early = self._early or "voice"

    def transcript_received(self) -> None:
        """A transcript has come of what the user says."""
        if self._early is not None:
            self._early = "words"

    def noise_ended(self) -> None:
        """The last speech got no transcript."""
        if self._early == "voice":
            self._early = None

    def transcript_ignored(self) -> None:
        """The user's turn was ignored."""
        self._early = None

    # -- what the flow decides

    def ask(self) -> None:
        """Ask the user about the next call."""
        call, agent = self.awaited, self._session.activity
        if call is None or call.confirm is None or agent is None:
            return
        self._asked, self._begun, self._early, self._stale = call, False, None, False
        if missing := call.confirm.lacks(call.arguments):
            why = f"the question to the user needs {', '.join(missing)}; make the call with it"
            self._tools.refuse(call, "not_asked", why)
            return
        try:
            self._question = self._speak(agent, call.name, call.confirm.question(call.arguments))
        except Exception:
            logger.exception("the user cannot be asked about tool %s (%s)", call.name, call.id)
            self._tools.refuse(call, "not_asked")
            return
        self._expecting.ask(Expectation("yes_no"))

    def run(self) -> None:
        """Run the tool of the call that the user was asked about."""
        if (call := self.awaited) is not None:
            self._over_with(call)
            self._tools.confirm(call)

    def refuse(self) -> None:
        """The user has not answered in time."""
        if (call := self.awaited) is not None:
            self._over_with(call)
            self._tools.refuse(call, "not_confirmed")

    def say_otherwise(self) -> None:
        """Say the declared text for a call that got no answer in time."""
        call, agent = self._asked, self._session.activity
        if call is None or call.confirm is None or agent is None or not self._can_say():
            return
        if call.confirm.otherwise:
            self._speak(agent, call.name, call.confirm.otherwise)

    def end_all(self) -> None:
        """The user says something else, so no call waits any more."""
        for call in self._tools.asking:
            why = None
            if call is self._asked and not self.heard:
                why = _STALE if self._stale else _EARLY
            self._over_with(call)
            self._tools.refuse(call, "unblocked", why)

    # -- inside

    @property
    def _over(self) -> bool:
        said = self._question
        if said is None or not (self.asked and self._begun):
            return False
        return not (said.interrupted or self._floor.holds(said))

    def _over_with(self, call: ToolCall) -> None:
        if call is self._asked:
            self._expecting.withdrawn()

    def _speak(self, agent: Agent, tool: str, texts: tuple[str, ...]) -> Speech:
        text = texts[self._times[f"{tool} {texts}"] % len(texts)]
        self._times[f"{tool} {texts}"] += 1
        return agent.speak(text)
