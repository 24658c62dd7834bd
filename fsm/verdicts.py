"""What a machine answers: `Taken` or `Refused`."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import attrs

__all__ = ["Reason", "Refused", "Taken", "Verdict"]

Reason = Literal["guard", "undeclared", "refuses", "stale", "closed"]


@attrs.frozen(eq=False)
class Taken:
    """The trigger was taken. True in a condition.

    Attributes:
        trigger: What was posted.
        source, dest: The states before and after.
        actions: What the host now does, in order.
        entered: ``dest`` was entered, so its timers start; False for an internal transition.
        row: The id of the row in the flow; None where only facts were noted.
    """

    trigger: str
    source: str
    dest: str
    actions: tuple[str, ...]
    entered: bool
    row: str | None

    def __bool__(self) -> Literal[True]:
        return True

    def __str__(self) -> str:
        arrow = f"{self.source} -> {self.dest}" if self.entered else f"stays {self.source}"
        return f"{self.trigger}: {arrow}" + (f" / {', '.join(self.actions)}" * bool(self.actions))


@attrs.frozen(eq=False)
class Refused:
    """The trigger was refused and nothing has changed. False in a condition.

    Attributes:
        trigger: What was posted.
        source: The state that refused it.
        reason: ``guard`` (a fact forbids it), ``refuses`` (the state says so), ``undeclared`` (the
            state does not know it), ``stale`` (it belongs to a scope that is over) or ``closed``.
        why: The reason as a sentence, naming the fact or the scope.
    """

    trigger: str
    source: str
    reason: Reason
    why: str
    actions: ClassVar[tuple[()]] = ()
    entered: ClassVar[Literal[False]] = False

    @property
    def dest(self) -> str:
        """The state afterwards: the one before."""
        return self.source

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        return f"{self.trigger} refused in {self.source}: {self.why}"


Verdict: TypeAlias = Taken | Refused
