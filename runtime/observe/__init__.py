"""Observes a running session: log lines, telemetry, the check of its own journal. Has no influence
on it.
"""

from .watch import Consumer, Watch

__all__ = ["Consumer", "Watch"]
