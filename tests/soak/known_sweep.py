"""Interruptions that ours does not stand yet: what is worse, and the finding.

Whoever mends one takes it out: what is not worse any more fails the test.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

KNOWN: dict[str, dict[str, str]] = {
    "interrupt at 0.85 s, tool hangs, hold": {"words": "12"},
    "commit at 5.45 s, tool hangs, hold": {"words": "12"},
}
