"""Overrides of livekit-agents. No other module uses its private names.

An override asks the conductor before LiveKit acts, or reports what LiveKit has done. `contract`
checks the names at import. Each override is necessary: without it a scenario of
tests/livekit/test_ablation.py fails.
"""

from .left_out import LEFT_OUT

__all__ = ["LEFT_OUT"]
