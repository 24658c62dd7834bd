"""What begins later than it was asked for, with the context variables of who asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from typing import Any, Generic, Literal, TypeVar

import attrs

__all__ = ["Deferred", "DeferredQueue", "Kind"]

T = TypeVar("T")

Kind = Literal["run", "user turn", "owed reply"]


@attrs.define(eq=False)
class Deferred(Generic[T]):
    """Work that waits.

    Attributes:
        what: A run, a user turn that was kept, or a reply that is owed.
        work: What it is about: the arguments of the run, the turn, the tool call.
        owner: Whose it is: the agent that was in charge, or the call.
        reason: Why it could not begin at once.
        context: The context variables at the moment when it was asked for. What it does sees them,
            such as the mocks of `mock_tools` and the span of a trace.
        end: None while it waits.
    """

    what: Kind
    work: T
    owner: str
    reason: str
    context: Context = attrs.field(factory=copy_context, repr=False)
    end: Literal["begun", "dropped"] | None = None

    def run(self, call: Callable[[T], object]) -> None:
        """Call with the work, with the context variables of who asked for it."""
        self.context.run(call, self.work)


class DeferredQueue:
    """Everything that waits in a session, in the order in which it was asked for."""

    def __init__(self) -> None:
        self._waiting: list[Deferred[Any]] = []

    def __iter__(self) -> Iterator[Deferred[Any]]:
        return iter(tuple(self._waiting))

    def add(self, what: Kind, work: T, *, owner: str, reason: str) -> Deferred[T]:
        """Keep work for later, with the context variables that hold now."""
        deferred = Deferred(what, work, owner, reason)
        self._waiting.append(deferred)
        return deferred

    def of(self, what: Kind) -> list[Deferred[Any]]:
        """What waits of one kind."""
        return [deferred for deferred in self._waiting if deferred.what == what]

    def begun(self, deferred: Deferred[Any]) -> None:
        """It waits no more."""
        self._end(deferred, "begun")

    def drop(self, deferred: Deferred[Any]) -> None:
        """It does not begin any more."""
        self._end(deferred, "dropped")

    def _end(self, deferred: Deferred[Any], how: Literal["begun", "dropped"]) -> None:
        deferred.end = how
        self._waiting.remove(deferred)
