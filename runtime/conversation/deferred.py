"""Deferred work, which runs with the context variables of its requester."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Generic, Literal, TypeVar

import attrs

__all__ = ["Deferred", "Kind"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Kind = Literal["run", "user turn", "next reply"]


@attrs.define(eq=False)
class Deferred(Generic[T_co]):
    """One piece of deferred work.

    Attributes:
        what: Its kind: a run, a deferred user turn, or the next reply, which delivers a result.
        work: The arguments of the run, the turn, or the tool call.
        owner: The agent that was active, or the name of the tool.
        reason: Why it could not begin at once.
        context: The context variables at the time of the request, such as the mocks of `mock_tools`
            and the span of a trace. The work runs with them.
        end: How it ended; None while it waits.
    """

    what: Kind
    work: T_co
    owner: str
    reason: str
    context: Context = attrs.field(factory=copy_context, repr=False)
    end: Literal["begun", "dropped"] | None = None

    def run(self, call: Callable[[T_co], object]) -> None:
        """Call a function with the work, in the requester's context."""
        self.context.run(call, self.work)
