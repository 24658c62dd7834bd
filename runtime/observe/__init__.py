"""A running session observed: log lines, telemetry, its own conformance. Nothing here decides."""

from .turn_log import log_consumers
from .watch import Consumer, Watch

__all__ = ["Consumer", "Watch", "log_consumers"]
