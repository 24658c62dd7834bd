"""The cone of influence: which bits of a configuration can matter in each state.

A bit matters in a state if it decides on a move that matters, or if it is kept by a move into a
state in which it matters. All other bits can be forgotten there: two configurations of one state
that agree on the bits that matter can do the same, and after the same move they agree again on what
matters in the state that it leads to. So whatever follows is the same, move by move (they are
bisimilar), and it is enough to follow one of them.

What matters depends on the question: on the moves that are followed, and on the bits that it looks
at itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["Choice", "Effect", "bits_that_matter"]


class Effect(NamedTuple):
    """What a move does to a configuration.

    Attributes:
        dest: The number of the state that it leads to.
        keeps: The bits that have the same value afterwards.
        changes: The bits that can have another value afterwards.
        matters: It matters in itself, whatever bits it changes.
    """

    dest: int
    keeps: int
    changes: int
    matters: bool


class Choice(NamedTuple):
    """The moves of a trigger in a state.

    Attributes:
        state: The number of that state.
        reads: The bits that decide on them.
        effects: What they can do.
    """

    state: int
    reads: int
    effects: tuple[Effect, ...]


def bits_that_matter(choices: Iterable[Choice], looked_at: Mapping[int, int]) -> dict[int, int]:
    """For each state the bits that can matter there, now or later.

    Args:
        choices: All moves that are followed.
        looked_at: For each state the bits that matter there in any case.
    """
    matter, choices = {**looked_at}, tuple(choices)
    grown = True
    while grown:
        grown = False
        for state, reads, effects in choices:
            bits = matter[state]
            for dest, keeps, changes, matters in effects:
                later = matter[dest]
                bits |= later & keeps
                if matters or changes & later:
                    bits |= reads
            if bits != matter[state]:
                matter[state], grown = bits, True
    return matter
