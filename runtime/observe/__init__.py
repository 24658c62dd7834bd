"""Observes a running session without affecting it: log lines, telemetry, checks of its journal."""

from .watch import Consumer, Watch

__all__ = ["Consumer", "Watch"]
