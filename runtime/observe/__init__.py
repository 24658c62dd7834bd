"""A running session observed: log lines, telemetry, its own conformance. Nothing here decides."""

from .watch import Consumer, Listener, Watch

__all__ = ["Consumer", "Listener", "Watch"]
