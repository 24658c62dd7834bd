"""Classifiers of the application: they judge the user's transcript by more than phrases."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from typing import TypeVar, overload

import attrs

from turnfsm.runtime.tasks import OwnedTasks

__all__ = ["Classifiers", "Judge", "Transcript", "classifier", "deadline_of"]

logger = logging.getLogger("turnfsm")

_WITHIN = 0.3
_DEADLINE = "__turnfsm_within__"


@attrs.frozen
class Transcript:
    """The input of a classifier.

    Attributes:
        text: The transcript so far.
        final: If not, more may follow, and the last word may be incomplete.
        by_phrases: Whether it matches the fact's phrases; False if it has none.
        agent_text: What the agent is saying, as far as it is known; empty if it says nothing.
    """

    text: str
    final: bool
    by_phrases: bool = False
    agent_text: str = attrs.field(default="", eq=False)


Judge = Callable[[Transcript], "bool | Awaitable[bool]"]
"""A classifier, bound to its object."""

_F = TypeVar("_F", bound=Callable[..., object])


@overload
def classifier(method: _F, /) -> _F: ...
@overload
def classifier(*, within: float = _WITHIN) -> Callable[[_F], _F]: ...


def classifier(
    method: Callable[..., object] | None = None, /, *, within: float = _WITHIN
) -> object:
    """Mark a method of an agent or a session as the classifier for the host fact of its name.

    It is called once for each transcript, even if the fact has phrases in the flow. A coroutine may
    take its time: until it has answered, the phrases count, and then the flow decides again. The
    proof assumes nothing about the answer, so a wrong one breaks no property.

    Args:
        method: Takes a `Transcript`, and returns a bool or is a coroutine that does.
        within: Seconds after which the answer of a coroutine does not count any more.

    Returns:
        The same method.

    Example:
        >>> from turnfsm.host import Transcript, classifier
        >>> class Receptionist:  # an agent of the framework
        ...     @classifier(within=0.2)
        ...     async def backchannel(self, said: Transcript) -> bool:
        ...         return said.by_phrases and not said.agent_text.endswith("?")
    """

    def mark(method: _F) -> _F:
        setattr(method, _DEADLINE, within)
        return method

    return mark if method is None else mark(method)


def deadline_of(method: object) -> float | None:
    """The seconds that a classifier may take; None if the method is no classifier."""
    within: float | None = getattr(method, _DEADLINE, None)
    return within


class Classifiers:
    """Asks the classifiers, once for each transcript, and stores their latest answers.

    Args:
        transcript: Returns the current transcript, given whether the phrases match.
        changed: Called when a coroutine's answer differs from the phrases.
        note: Called after each answer that differs from the phrases, with the name and the answer.
    """

    def __init__(
        self,
        transcript: Callable[[bool], Transcript],
        changed: Callable[[], None],
        note: Callable[[str, bool], None],
    ) -> None:
        self._transcript, self._changed, self._note = transcript, changed, note
        self._answers: dict[str, tuple[Transcript, bool]] = {}
        self._tasks = OwnedTasks()

    def ask(self, name: str, judge: Judge, by_phrases: bool) -> bool:
        """The answer for the current transcript; until it is known, that of the phrases."""
        transcript = self._transcript(by_phrases)
        if not transcript.text:
            return by_phrases
        judged, answer = self._answers.get(name, (None, False))
        if judged == transcript:
            return answer
        answer = by_phrases
        try:
            given = judge(transcript)
        except Exception as exc:
            _log(name, exc)
        else:
            if isinstance(given, Awaitable):
                self._begin(name, given, transcript, deadline_of(judge) or _WITHIN)
            else:
                answer = bool(given)
                if answer != by_phrases:  # not during the decision
                    asyncio.get_running_loop().call_soon(self._note, name, answer)
        self._answers[name] = transcript, answer
        return answer

    async def aclose(self) -> None:
        """The session has closed."""
        self._tasks.end_all()
        await self._tasks.wait(1.0)

    def _begin(
        self, name: str, given: Awaitable[bool], transcript: Transcript, within: float
    ) -> None:
        async def answer() -> None:
            async with asyncio.timeout(within):
                self._answered(name, transcript, bool(await given))

        def ended(exc: BaseException | None) -> None:
            if isinstance(exc, TimeoutError):
                logger.debug("classifier %s has not answered within %g s", name, within)
            elif isinstance(exc, Exception):
                _log(name, exc)

        self._tasks.end((name,))  # it judges an older transcript
        loop = asyncio.get_running_loop()
        self._tasks.own(answer(), name, loop, copy_context(), ended)

    def _answered(self, name: str, transcript: Transcript, answer: bool) -> None:
        if self._answers[name][0] == transcript and answer != transcript.by_phrases:
            self._answers[name] = transcript, answer
            self._note(name, answer)
            self._changed()


def _log(name: str, exc: Exception) -> None:
    logger.error("classifier %s failed; the phrases count", name, exc_info=exc)
