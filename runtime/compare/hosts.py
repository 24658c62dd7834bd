"""The hosts on which scenarios are played, by name."""

from __future__ import annotations

from typing import Literal

from .scenario import Host

__all__ = ["HostName", "load_host"]

HostName = Literal["livekit", "pipecat"]


def load_host(name: HostName) -> Host:
    """The host of this name.

    Raises:
        ModuleNotFoundError: Its framework is not installed.
    """
    if name == "pipecat":
        from .pipecat import HOST as ON_PIPECAT

        return ON_PIPECAT
    from .livekit import HOST as ON_LIVEKIT

    return ON_LIVEKIT
