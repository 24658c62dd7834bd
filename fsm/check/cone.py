"""The cone of influence: which bits of a configuration can matter in each state.

A bit matters in a state if it decides on a move that matters, or if a move keeps it and leads to a
state in which it matters. All other bits can be ignored there: two configurations of a state that
agree on the bits that matter have the same moves, and after the same move they agree again on the
bits that matter in the next state. They are bisimilar, so it is enough to follow one of them.

What matters depends on the question: on the moves that are followed, and on the bits that the
question itself reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["Choice", "Effect", "bits_that_matter"]


class Effect(NamedTuple):
    """What a move does to a configuration.

    Attributes:
        dest: The number of the state that it leads to.
        keeps: The bits that keep their value.
        changes: The bits whose value can change.
        matters: The move itself matters, whatever bits it changes.
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
        looked_at: For each state the bits that always matter there.
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
