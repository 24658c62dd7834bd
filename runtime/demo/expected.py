"""What must happen in the demo's conversation."""

from collections.abc import Iterable, Mapping

from attrs import field, frozen
from attrs.converters import optional

from .script import CONTENT

__all__ = ["EXPECTED", "SILENCE", "WORD_ERRORS", "Expectation", "Mark"]

WORD_ERRORS = 0.15
"""The share of words that an STT may get wrong, of the user and of the agent."""

SILENCE = 0.3
"""Seconds for which the agent may be silent after a backchannel."""


@frozen
class Mark:
    """A record of the journal. The given fields must match; the others may have any value."""

    what: str = ""  # the trigger, or the kind of the note
    verdict: str = ""  # taken or refused
    state: str = ""  # when the trigger was posted
    dest: str = ""
    action: str = ""  # one of the actions
    fact: str = ""  # one of the facts that were true afterwards
    text: str = ""  # consecutive words in the text of a note
    name: str = ""  # of a tool
    new: str = ""  # the agent state that LiveKit publishes from now on


def _mark(given: Mark | Mapping[str, str]) -> Mark:
    return given if isinstance(given, Mark) else Mark(**given)


def _marks(given: Iterable[Mark | Mapping[str, str]]) -> tuple[Mark, ...]:
    return tuple(map(_mark, given))


@frozen
class Expectation:
    """Records that must occur in this order, and records that must not occur, within a part of the
    conversation."""

    name: str
    line: str = ""  # the part begins with this line of the user; empty: at the start
    until: str = ""  # it ends before this line; empty: at the end
    # or already before the first such record
    before: Mark | None = field(default=None, converter=optional(_mark))
    order: tuple[Mark, ...] = field(default=(), converter=_marks)
    never: tuple[Mark, ...] = field(default=(), converter=_marks)


EXPECTED = tuple(Expectation(name, **given) for name, given in CONTENT["expected"].items())
