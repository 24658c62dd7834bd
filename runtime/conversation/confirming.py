"""Tool calls that need the user's yes: the question, and whether it was heard."""

from __future__ import annotations

import logging
from collections import Counter

from turnfsm.fsm.agenda.entries import QuestionAsked
from turnfsm.fsm.expect import Expectation
from turnfsm.runtime.event import Event

from .core import Core
from .open_calls import AWAITS_YES
from .ports import Agent, Speech
from .tool_call import ToolCall

__all__ = ["Confirming"]

logger = logging.getLogger("turnfsm")


_EARLY = "the user was asked whether to do it, and spoke before they had heard the question"
_STALE = "the user was asked whether to do it, and then the agent said something else"


class Confirming:
    """Asks the user about one call at a time. The flow decides when, and what follows: its actions
    and host facts about questions are methods of this class. The log says whether the user has
    heard a question before they began to speak.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._times: Counter[str] = Counter()
        self._asked_call: ToolCall | None = None

    @property
    def awaited(self) -> ToolCall | None:
        """The call of the current or the next question."""
        if self._asked_call is not None and self._asked_call.state == "asking":
            return self._asked_call
        calls, agent = self._core.tools.find(AWAITS_YES), self._core.agent
        return next((call for call in calls if call.agent is agent), None)

    def yes_awaited(self) -> bool:
        """A call waits until the user has said yes."""
        return self.awaited is not None

    def question_asked(self) -> bool:
        """The user was asked about the awaited call."""
        return self._asked_call is not None and self._asked_call is self.awaited

    @property
    def settled(self) -> bool:
        """No answer to the last question is awaited any more."""
        return self._asked_call is not None and not self.question_asked()

    @property
    def due(self) -> bool:
        """The user is to be asked."""
        return self.awaited is not None and not self.question_asked()

    def question_heard(self) -> bool:
        """The question was played to the end, nothing else was said since, and the user had not
        begun to speak before."""
        asked = self._core.log.asked
        return self.question_asked() and not (asked.early or asked.stale)

    def agrees(self, text: str) -> bool:
        """Whether this text is a yes to the question, also without what an earlier turn has left
        over."""
        call, since = self.awaited, text.removeprefix(self._core.log.asked.leftover)
        if call is None or call.confirm is None:
            return False
        return call.confirm.agrees(text) and call.confirm.agrees(since)

    # -- what the flow decides

    def ask_for_yes(self, event: Event) -> None:
        """Ask the user about the next call."""
        call, agent = self.awaited, self._core.agent
        if call is None or call.confirm is None or agent is None:
            return
        self._asked_call = call
        if missing := call.confirm.lacks(call.arguments):
            reason = f"the question to the user needs {', '.join(missing)}; make the call with it"
            self._core.tools.refuse(call, "not_asked", reason)
            return
        try:
            question = self._speak(agent, call, call.confirm.question(call.arguments))
        except Exception:
            logger.exception("the user cannot be asked about tool %s (%s)", call.name, call.id)
            self._core.tools.refuse(call, "not_asked")
            return
        self._core.log.add(QuestionAsked(question.id))
        self._core.expecting.ask(Expectation("yes_no"))

    def run_confirmed(self, event: Event) -> None:
        """Run the tool of the call that the user was asked about."""
        if (call := self.awaited) is not None:
            self._close_question(call)
            self._core.tools.confirm(call)

    def refuse_unconfirmed(self, event: Event) -> None:
        """The user has not answered in time."""
        if (call := self.awaited) is not None:
            self._close_question(call)
            self._core.tools.refuse(call, "not_confirmed")

    def say_unconfirmed(self, event: Event) -> None:
        """Say the declared text for a call without an answer in time."""
        call, agent = self._asked_call, self._core.agent
        if call is None or call.confirm is None or agent is None or not self._core.speeches.can_say:
            return
        if call.confirm.otherwise:
            self._speak(agent, call, call.confirm.otherwise)

    def end_questions(self, event: Event) -> None:
        """The user says something else, which ends all waiting calls."""
        for call in self._core.tools.find(AWAITS_YES):
            reason = None
            if call is self._asked_call and not self.question_heard():
                reason = _STALE if self._core.log.asked.stale else _EARLY
            self._close_question(call)
            self._core.tools.refuse(call, "unblocked", reason)

    # -- inside

    def _close_question(self, call: ToolCall) -> None:
        if call is self._asked_call:
            self._core.expecting.withdrawn()

    def _speak(self, agent: Agent, call: ToolCall, texts: tuple[str, ...]) -> Speech:
        text = texts[self._times[f"{call.name} {texts}"] % len(texts)]
        self._times[f"{call.name} {texts}"] += 1
        return agent.speak(text, in_reply=True)
