"""Steps through a flow along the events of a session that it does not govern."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.machine import Machine
from turnfsm.fsm.verdicts import Verdict

from .events import Recorded

__all__ = ["Follower", "Post", "Triggers"]

Post = Callable[[str, Any], Verdict | None]
"""Decides on a trigger, with the ``of`` that it belongs to. None: the flow does not have it."""


class Triggers(Protocol):
    """Translates events to the triggers of one kind of flow."""

    def process(self, event: Recorded) -> None:
        """Post the triggers of an event."""

    def host_facts(self) -> Mapping[str, bool]:
        """The known host facts; all others are false."""


class Follower:
    """Steps through a flow along a session's events, with the timers of the flow.

    Attributes:
        verdicts: The last verdict of each trigger, and its time.
    """

    def __init__(self, flow: Flow, triggers: Callable[[Post], Triggers]) -> None:
        self.flow = flow
        self.verdicts: dict[str, tuple[float, Verdict]] = {}
        self._machine = Machine(flow)
        self._triggers = triggers(self._post)
        self._now = 0.0
        self._due: dict[str, float] = {}
        self._late: dict[str, None] = {}
        self._arm(self._machine.timers)

    @property
    def state(self) -> str:
        """The state that the flow would be in."""
        return self._machine.state

    def process(self, event: Recorded) -> None:
        """Process the next event."""
        self.go_to(event.t)
        self._triggers.process(event)

    def go_to(self, t: float) -> None:
        """Fire the timers that are due until then."""
        while self._due and min(self._due.values()) <= t:
            timer = min(self._due, key=lambda name: self._due[name])
            self._now = self._due.pop(timer)
            self._late[timer] = None
            self._fire_late()
        self._now = t

    def ask(self, trigger: str) -> Verdict:
        """The verdict that the flow would give now. Changes nothing."""
        self._answer()
        return self._machine.ask(trigger)

    def _post(self, trigger: str, of: Any) -> Verdict | None:
        if trigger not in self.flow.triggers:
            return None
        verdict = self._decide(trigger, of)
        self._fire_late()
        return verdict

    def _fire_late(self) -> None:
        """Fire a due timer as soon as its guard holds."""
        while (timer := next(filter(self.ask, self._late), None)) is not None:
            del self._late[timer]
            self._decide(timer, None)

    def _decide(self, trigger: str, of: Any) -> Verdict:
        self._answer()
        verdict = self._machine.step(trigger, of)
        self.verdicts[trigger] = (self._now, verdict)
        if verdict.entered:
            self._due = {timer: due for timer, due in self._due.items() if timer in verdict.keeps}
            self._late = {timer: None for timer in self._late if timer in verdict.keeps}
            self._arm(timer for timer in self._machine.timers if timer not in verdict.keeps)
        self._arm(verdict.restarts)
        return verdict

    def _answer(self) -> None:
        host_facts = self._triggers.host_facts()
        self._machine.set_host_facts({n: host_facts.get(n, False) for n in self.flow.host_facts})

    def _arm(self, timers: Iterable[str]) -> None:
        for timer in timers:
            self._late.pop(timer, None)
            self._due[timer] = self._now + self.flow.timers[timer]
