"""Which findings fail a build."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from turnfsm.fsm.check.turn import PROPERTIES
from turnfsm.fsm.errors import TurnfsmError, near, quoted

from .audit import Audit
from .rules import FAILURES

__all__ = ["Gate", "GateError"]

_ANY = "any"
_SILENCE = "silence:"


class GateError(TurnfsmError):
    """A gate has a name that no finding can have."""

    exit_status = 2


@attrs.frozen
class Gate:
    """The findings that fail a session.

    Attributes:
        names: Letters of classes of failures (docs/failures.md), properties of a turn, or ``any``
            for every finding.
        silence: The longest silence that passes, in seconds.
    """

    names: frozenset[str] = frozenset({_ANY})
    silence: float = math.inf

    @classmethod
    def of(cls, words: Iterable[str]) -> Gate:
        """Parse a gate of the command line.

        Args:
            words: Names, or ``silence:SECONDS``. If empty, every finding fails.

        Returns:
            The gate.

        Raises:
            GateError: No finding can have such a name, or the seconds are not a number.

        Example:
            >>> from turnfsm.audit import Gate
            >>> Gate.of(["C", "silence:4"])
            Gate(names=frozenset({'C'}), silence=4.0)
        """
        names: set[str] = set()
        silence = math.inf
        for word in words:
            if word.startswith(_SILENCE):
                silence = min(silence, _seconds(word))
            else:
                names.add(_known(word))
        return cls(frozenset(names), silence) if names or silence < math.inf else cls()

    def failed_by(self, audit: Audit) -> tuple[str, ...]:
        """The findings of an audit that fail the gate.

        Args:
            audit: The findings of a session.

        Returns:
            One line for each; empty if the session passes.
        """
        return (
            *(str(f) for f in audit.findings if {f.failure, f.property, _ANY} & self.names),
            *(audit.broken if _ANY in self.names else ()),
            *(str(gap) for gap in audit.silences if gap.end - gap.start > self.silence),
        )


def _seconds(word: str) -> float:
    try:
        seconds = float(word.removeprefix(_SILENCE))
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise GateError(
            f"{quoted(word)} has no number of seconds; write silence:4 for more than 4 s"
        )
    return seconds


def _known(word: str) -> str:
    names = (_ANY, *FAILURES, *PROPERTIES)
    if word not in names:
        raise GateError(f"no finding is named {quoted(word)}; {near(word, names)}")
    return word
