"""A flow file that is being edited: what the page shows of it, and its simulator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from turnfsm.fsm.flow import Flow

from .flow_page import flow_view
from .simulator import simulate

__all__ = ["FlowFile"]


class FlowFile:
    """A flow's file, and the last flow that could be loaded from it.

    Args:
        name: A file, or the name of a shipped flow. It is read and proved.

    Attributes:
        data: What the page shows.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._flow: Flow | None
        self._flow, self.data = flow_view(name)

    def read(self) -> dict[str, Any]:
        """Read and prove the file again. Returns what the page shows."""
        flow, data = flow_view(self.name, self._flow)
        self._flow, self.data = flow or self._flow, data
        return data

    def simulate(self, presses: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Simulate triggers, as `simulate`. None if the file has never been a flow."""
        return None if self._flow is None else simulate(self._flow, presses)
