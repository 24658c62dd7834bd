"""The score of a proof: which mutants of a flow it catches, and why the others are correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

import attrs

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.load.names import check_names
from turnfsm.fsm.source import Page, Source

from .cells import broken_by, why_same
from .check import LIMIT, first_error
from .equal import Twin
from .mutate import CELLS, Mutant, mutants

__all__ = ["Fate", "Result", "Score", "judge_mutants", "score"]

Result: TypeAlias = Literal["caught", "equivalent", "explained", "survives"]


@attrs.frozen
class Fate:
    """The outcome of a mutant.

    Attributes:
        by: The code of the finding that caught it, or the reason why it is correct.
    """

    mutant: Mutant
    result: Result
    by: str


@attrs.frozen
class Score:
    """All mutants of a flow.

    Attributes:
        stale: Explained mutants that are caught, are equivalent, or do not exist.
    """

    fates: tuple[Fate, ...]
    stale: tuple[str, ...] = ()

    def count(self, result: Result) -> int:
        return sum(fate.result == result for fate in self.fates)

    @property
    def of_faults(self) -> float:
        """The caught share of the mutants that are not proved to be equivalent."""
        faults = len(self.fates) - self.count("equivalent")
        return self.count("caught") / faults if faults else 1.0

    @property
    def ok(self) -> bool:
        """Every mutant is caught, equivalent or explained, and every explanation is needed."""
        return not self.count("survives") and not self.stale


def judge_mutants(
    flow: Flow, chosen: Iterable[Mutant], explained: Mapping[str, str]
) -> Iterator[Fate]:
    twin: Twin | None = None
    for mutant in chosen:
        if mutant.operator == CELLS:
            tables = flow.agenda, mutant.flow.agenda
            reason = why_same(*tables)
            code = None if reason is not None else broken_by(*tables)
        else:
            code, reason = _caught(mutant.flow), None
        if code is not None:
            yield Fate(mutant, "caught", code)
            continue
        if mutant.operator != CELLS:
            twin = twin or Twin(flow, LIMIT)
            reason = twin.why_equal(mutant.flow)
        if reason is not None:
            yield Fate(mutant, "equivalent", reason)
        elif mutant.id in explained:
            yield Fate(mutant, "explained", explained[mutant.id])
        else:
            yield Fate(mutant, "survives", "")


def score(flow: Flow, explained: Mapping[str, str], every: int = 1) -> Score:
    """Judge every mutant of a flow, or every n-th (`every`) and all explained ones."""
    chosen = [
        mutant
        for index, mutant in enumerate(mutants(flow))
        if index % every == 0 or mutant.id in explained
    ]
    fates = tuple(judge_mutants(flow, chosen, explained))
    used = {fate.mutant.id for fate in fates if fate.result == "explained"}
    return Score(fates, tuple(name for name in explained if name not in used))


def _caught(flow: Flow) -> str | None:
    source = flow.source or Source(Page(flow.name, ""))
    for finding in check_names(flow, source):
        if finding.severity == "error":
            return finding.code
    return first_error(flow)
