"""A flow that is being written: what the page shows of its file, and its simulator."""

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
        name: A file, or the name of a shipped flow. It is read, and proved.

    Attributes:
        data: What the page shows.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._flow: Flow | None
        self._flow, self.data = flow_view(name)

    def read(self) -> dict[str, Any]:
        """Read and prove it again; gives what the page shows."""
        flow, data = flow_view(self.name, self._flow)
        self._flow, self.data = flow or self._flow, data
        return data

    def simulate(self, presses: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
        """Press triggers, as `simulate`; None as long as the file was never a flow."""
        return None if self._flow is None else simulate(self._flow, presses)
