"""Interruptions that ours does not stand yet: what is worse, and the finding.

Whoever mends one takes it out: what is not worse any more fails the test.
"""

from __future__ import annotations

__all__ = ["KNOWN"]

KNOWN: dict[str, dict[str, str]] = {
    "interrupt at 0.85 s, tool hangs, hold": {"lie": "9", "words": "12"},
    "commit at 0.85 s, tool hangs, detach": {"lie": "9"},
    "voice at 2 s, tool says, detach": {"lie": "1", "warning": "1"},
    "update_agent at 2 s, tool hangs, finish": {"lie": "9"},
    "interrupt at 3.15 s, tool says, finish": {"lie": "1", "twice": "1", "warning": "1"},
    "commit at 5.45 s, tool hangs, hold": {"lie": "9", "words": "12"},
    "ask at 5.45 s, tool hangs, detach": {"lie": "9"},
}
