"""Deferred work, which runs with the context variables of its requester."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Generic, TypeVar

import attrs

__all__ = ["Deferred"]

T_co = TypeVar("T_co", covariant=True)


@attrs.frozen(eq=False)
class Deferred(Generic[T_co]):
    """One piece of deferred work.

    Attributes:
        work: The turn, or the arguments of a run.
        context: The context variables at the time of the request, such as the mocks of `mock_tools`
            and the span of a trace. The work runs with them.
    """

    work: T_co
    context: Context = attrs.field(factory=copy_context, repr=False)

    def run(self, call: Callable[[T_co], object]) -> None:
        """Call a function with the work, in the requester's context."""
        self.context.run(call, self.work)
