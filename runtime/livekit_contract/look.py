"""The result of inspecting a livekit-agents, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from .contract import Lost, installed, lost
from .names import FEATURES, ORDERS, PRIVATE_NAMES

__all__ = ["Look", "main"]


class Look(NamedTuple):
    """The result of inspecting a livekit-agents.

    Attributes:
        version: Its version.
        lost: The differences from what turnfsm needs.
    """

    version: str
    lost: tuple[Lost, ...]

    @classmethod
    def here(cls) -> Look:
        """Inspect the livekit-agents that this process imports."""
        return cls(installed(), tuple(lost()))

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Look:
        """The inverse of `as_data`."""
        return cls(data["version"], tuple(Lost(*pair) for pair in data["lost"]))

    def as_data(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {"version": self.version, "lost": [list(pair) for pair in self.lost]}

    def as_text(self) -> str:
        """The missing features, each with its missing names."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        needed = len(PRIVATE_NAMES) + len(ORDERS)
        yield f"livekit-agents {self.version}: {needed - len(self.lost)} of {needed} names fit"
        for name in dict.fromkeys(pair.feature for pair in self.lost):
            feature = FEATURES[name]
            yield ""
            yield f"lost: {feature.what} ({name}{', essential' if feature.essential else ''})"
            yield from (f"  - {pair.said}" for pair in self.lost if pair.feature == name)


def main() -> None:
    """Print what this process sees, for the process that has started it."""
    print(json.dumps(Look.here().as_data()))
