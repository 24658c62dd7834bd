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
    """A gate names what an audit cannot find."""

    exit_status = 2


@attrs.frozen
class Gate:
    """What a session must not have.

    Attributes:
        names: The letter of a class of failures (docs/failures.md), one of the ten properties of a
            turn, or ``any`` for each finding.
        silence: Seconds; a longer silence fails.
    """

    names: frozenset[str] = frozenset({_ANY})
    silence: float = math.inf

    @classmethod
    def of(cls, words: Iterable[str]) -> Gate:
        """Read a gate as the command line has it.

        Args:
            words: Names, or ``silence:SECONDS``. Without any, each finding fails.

        Returns:
            The gate.

        Raises:
            GateError: Nothing that is found has such a name, or the seconds are no number.

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
        """What of an audit fails the gate.

        Args:
            audit: What was found in a session.

        Returns:
            A line each; empty if the session passes.
        """
        broken = [line for line in audit.broken if _ANY in self.names or self._names_in(line)]
        return (
            *(str(f) for f in audit.findings if {f.failure, f.property, _ANY} & self.names),
            *broken,
            *(str(gap) for gap in audit.silences if gap.end - gap.start > self.silence),
        )

    def _names_in(self, line: str) -> bool:
        return any(part in self.names for part in line.split(": "))


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
    known = (_ANY, *FAILURES, *PROPERTIES)
    if word not in known:
        raise GateError(f"an audit finds nothing named {quoted(word)}; {near(word, known)}")
    return word
