"""Observes a running session: log lines, telemetry, the audit of its own journal.

Decides nothing.
"""

from .watch import Consumer, Listener, Watch

__all__ = ["Consumer", "Listener", "Watch"]
