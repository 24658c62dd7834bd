"""Observes a running session: log lines, telemetry, the check of its own journal. Has no influence
on it.
"""

from .watch import Consumer, Listener, Watch

__all__ = ["Consumer", "Listener", "Watch"]
