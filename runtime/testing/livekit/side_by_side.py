"""What two sessions did in the same conversation, with any agent."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs

from turnfsm.runtime.testing.livekit.outcome import Outcome

__all__ = ["CLOSES", "LATE", "MEASURES", "SLOW", "Found", "SessionMeasures", "Sides"]

SLOW = 1.0
"""Seconds that what the application waits for may take longer."""

LATE = 0.35
"""Seconds that an answer may come later."""

CLOSES = 6.0
"""Seconds that closing may take in any case: tools that nobody waits for have five."""

Found = Iterator[tuple[int, str]]
"""What is worse: which job, sentence, move or line of the log it is about, or 0, and what it is."""


@attrs.frozen
class SessionMeasures:
    """One conversation as it came out; times in seconds from its start.

    Attributes:
        stretches: How often audio began.
        wrong_state: Seconds in which the published state was not what was heard.
        states: How often it changed.
        requests: How often the model was asked.
        errors: What was logged as an error, numbers left out, but for what was expected;
            `warnings` likewise.
        closes: How many `close` events there were; `closed_in`: how long closing took.
        orphans: Tasks and timers that outlived the session.
    """

    stretches: int = 0
    wrong_state: float = 0.0
    states: int = 0
    requests: int = 0
    errors: Mapping[str, int] = attrs.field(factory=dict)
    warnings: Mapping[str, int] = attrs.field(factory=dict)
    closes: int = 0
    closed_in: float = 0.0
    orphans: tuple[str, ...] = ()

    @staticmethod
    def figures(outcome: Outcome, end: float, expected: Counter[str] | None = None) -> Any:
        """The attributes, measured.

        Args:
            end: When the session was closed, or the conversation ended.
            expected: How often LiveKit logs what, because a tool does what it is to do.
        """
        known = expected or Counter()
        wrong = (b - a for a, b, _ in outcome.wrong_agent_states(0.021) if b < end)
        return {
            "stretches": len(outcome.heard),
            "wrong_state": round(sum(wrong), 3),
            "states": len(outcome.agent_states),
            "requests": len(outcome.requests),
            "errors": _texts(outcome.errors, end, known),
            "warnings": _texts(outcome.warnings, end, known),
            "closes": sum(event.what.startswith("close: ") for event in outcome.events),
            "closed_in": outcome.closed_in,
            "orphans": (*outcome.orphans, *outcome.timers),
        }


class Sides(Protocol):
    """The same conversation on a stock session and on the one that is judged."""

    @property
    def stock(self) -> SessionMeasures:
        """On the stock session."""
        ...

    @property
    def ours(self) -> SessionMeasures:
        """On the one that is judged."""
        ...


def _chopped(sides: Sides) -> Found:
    if sides.ours.stretches > 2 * sides.stock.stretches + 4 + _more_requests(sides):
        yield 0, f"audio begins {sides.ours.stretches} times, on stock {sides.stock.stretches}"


def _agent_state(sides: Sides) -> Found:
    if sides.ours.wrong_state > sides.stock.wrong_state + 0.05:
        yield 0, f"the state is wrong for {sides.ours.wrong_state} s, on stock not as long"
    heard = 2 * (sides.ours.stretches - sides.stock.stretches)  # it is right to speak, and to stop
    more = max(3 * _more_requests(sides), heard)
    if sides.ours.states > 2 * sides.stock.states + 6 + more:
        yield 0, f"the state changes {sides.ours.states} times, on stock {sides.stock.states}"


def _more_requests(sides: Sides) -> int:
    """What was put to the model on ours alone: stock had dropped words of the user, say. An answer
    is heard, and changes the state three times."""
    return max(0, sides.ours.requests - sides.stock.requests)


def _error(sides: Sides) -> Found:
    for about, text in enumerate(sides.ours.errors):
        if text not in sides.stock.errors:
            yield about, f"an error is logged that stock does not log: {text[:160]}"


def _warning(sides: Sides) -> Found:
    for about, (text, count) in enumerate(sides.ours.warnings.items()):
        if text not in sides.stock.warnings or count > 3 * sides.stock.warnings[text] + 3:
            yield about, f"a warning is logged {count} times that stock does not log: {text[:160]}"


def _close(sides: Sides) -> Found:
    ours, stock = sides.ours.closed_in, sides.stock.closed_in
    if ours > max(CLOSES, stock + SLOW):
        yield 0, f"closing takes {ours:.2f} s, on stock {stock:.2f} s"
    if sides.ours.closes != 1 == sides.stock.closes:
        yield 0, f"there are {sides.ours.closes} close events, on stock {sides.stock.closes}"


def _leftover(sides: Sides) -> Found:
    if len(sides.ours.orphans) > len(sides.stock.orphans):
        yield 0, f"left after the close: {', '.join(sides.ours.orphans)}"


MEASURES: Mapping[str, Callable[[Sides], Found]] = {
    "chopped": _chopped,
    "agent_state": _agent_state,
    "log": _error,
    "warning": _warning,
    "close": _close,
    "leftover": _leftover,
}
"""By the name of what they find."""


def _texts(logged: Sequence[tuple[float, str]], end: float, known: Counter[str]) -> dict[str, int]:
    texts = Counter(re.sub(r"\d+(\.\d+)?", "#", text) for at, text in logged if at < end)
    return dict(texts - known)
