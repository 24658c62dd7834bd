"""How much of a flow the conversations have been through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from turnfsm.fsm import Flow


class Coverage:
    """Rows that were taken and pairs of state and trigger that were refused, with how often."""

    def __init__(self, flow: Flow, taken: Mapping[str, int], refused: Mapping[str, int]) -> None:
        self.flow = flow
        self.taken, self.refused = Counter(dict(taken)), Counter(dict(refused))

    def add(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Count one conversation."""
        for record in records:
            if "trigger" not in record:
                continue
            if record["verdict"] == "taken":
                self.taken[record["row"] or "(facts only)"] += 1
            else:
                self.refused[f"{record['state']} {record['trigger']}"] += 1

    @property
    def rows(self) -> list[str]:
        """Every transition of the flow."""
        return [row.id for row in self.flow.rows()]

    @property
    def pairs(self) -> list[str]:
        """Every pair that changes nothing whatever the facts are: refused or ignored."""
        return [
            f"{name} {trigger}"
            for name in self.flow.states
            for trigger in self.flow.without_effect(name)
        ]

    def text(self) -> str:
        """Both shares, and what is missing."""
        return "\n".join(
            (
                _share("transitions taken", self.rows, self.taken),
                _share("pairs refused", self.pairs, self.refused),
            )
        )


def _share(what: str, wanted: list[str], counts: Mapping[str, int]) -> str:
    missing = [name for name in wanted if not counts.get(name)]
    share = f"{what}: {len(wanted) - len(missing)} of {len(wanted)}"
    return f"{share}; never: {', '.join(missing)}" if missing else share
