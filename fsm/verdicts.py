"""The verdicts of a machine: `Taken` or `Refused`."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import attrs

__all__ = ["Reason", "Refused", "Taken", "Verdict"]

Reason = Literal["guard", "refuses", "ignores", "unarmed", "stale", "closed"]


@attrs.frozen(eq=False)
class Taken:
    """The trigger was taken. True in a condition.

    Attributes:
        trigger: The posted trigger.
        state, dest: The states before and after.
        actions: The host's actions, in order.
        entered: ``dest`` was entered, so its timers start; False for an internal transition.
        row: The id of the row in the flow; None where an event only changed facts.
        restarts: The timers that restart although the state was not entered.
        keeps: The timers that go on, though a state was entered.

    Example:
        >>> from turnfsm import Machine, load_flow
        >>> verdict = Machine(load_flow("turn")).step("turn_committed")
        >>> bool(verdict), verdict.dest, verdict.actions
        (True, 'listening', ('answer_turn',))
    """

    trigger: str
    state: str
    dest: str
    actions: tuple[str, ...]
    entered: bool
    row: str | None
    restarts: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()

    def __bool__(self) -> Literal[True]:
        return True

    def __str__(self) -> str:
        arrow = f"{self.state} -> {self.dest}" if self.entered else f"stays {self.state}"
        return f"{self.trigger}: {arrow}" + (f" / {', '.join(self.actions)}" * bool(self.actions))


@attrs.frozen(eq=False)
class Refused:
    """The trigger was not taken, and nothing has changed. False in a condition.

    Attributes:
        trigger: The posted trigger.
        state: The current state.
        reason: One word.

            - ``guard``: the facts do not allow this request or timer.
            - ``refuses``: no transition of the state takes this request.
            - ``ignores``: the state ignores this event.
            - ``unarmed``: the state does not have this timer.
            - ``stale``: the trigger belongs to a scope that is over.
            - ``closed``: the runtime is closed.
        why: The reason as a sentence, with the name of the fact or the scope.

    Example:
        >>> from turnfsm import Machine, load_flow
        >>> verdict = Machine(load_flow("turn")).step("start_playout")
        >>> bool(verdict), verdict.reason
        (False, 'refuses')
    """

    trigger: str
    state: str
    reason: Reason
    why: str
    actions: ClassVar[tuple[()]] = ()
    entered: ClassVar[Literal[False]] = False
    restarts: ClassVar[tuple[()]] = ()
    keeps: ClassVar[tuple[()]] = ()

    @property
    def dest(self) -> str:
        """The state afterwards, which is the same as before."""
        return self.state

    def __bool__(self) -> Literal[False]:
        return False

    def __str__(self) -> str:
        word = "ignored" if self.reason == "ignores" else "refused"
        return f"{self.trigger} {word} in {self.state}: {self.why}"


Verdict: TypeAlias = Taken | Refused
