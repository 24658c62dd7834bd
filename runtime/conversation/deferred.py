"""Work that begins later than it was requested, with the context variables of its requester."""

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
        work: The arguments of the run, the turn, or the tool call.
        owner: The agent that was active, or the name of the tool.
        reason: Why it could not begin at once.
        context: The context variables at the time of the request, such as the mocks of `mock_tools`
            and the span of a trace. The work runs with them.
        end: How it ended; None while it waits.
    """

    what: Kind
    work: T
    owner: str
    reason: str
    context: Context = attrs.field(factory=copy_context, repr=False)
    end: Literal["begun", "dropped"] | None = None

    def run(self, call: Callable[[T], object]) -> None:
        """Call a function with the work, in the context of the request."""
        self.context.run(call, self.work)


class DeferredQueue:
    """Everything that waits in a session, in the order in which it was requested."""

    def __init__(self) -> None:
        self._waiting: list[Deferred[Any]] = []

    def __iter__(self) -> Iterator[Deferred[Any]]:
        return iter(tuple(self._waiting))

    def add(self, what: Kind, work: T, *, owner: str, reason: str) -> Deferred[T]:
        """Keep work for later, with the current context variables."""
        deferred = Deferred(what, work, owner, reason)
        self._waiting.append(deferred)
        return deferred

    def of(self, what: Kind) -> list[Deferred[Any]]:
        """The waiting work of one kind."""
        return [deferred for deferred in self._waiting if deferred.what == what]

    def begun(self, deferred: Deferred[Any]) -> None:
        """The work begins: it does not wait any more."""
        self._end(deferred, "begun")

    def drop(self, deferred: Deferred[Any]) -> None:
        """The work will never begin."""
        self._end(deferred, "dropped")

    def _end(self, deferred: Deferred[Any], how: Literal["begun", "dropped"]) -> None:
        deferred.end = how
        self._waiting.remove(deferred)
