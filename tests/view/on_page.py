"""What the tests ask a page."""

from __future__ import annotations

import json
import time
from typing import Any


def until(tab: Any, condition: str, seconds: float = 60.0) -> None:
    """Wait for what a script says; the policy of the page forbids Playwright's own waiting.

    Only a test that fails waits to the end: it must not fail because the machine is busy.
    """
    for _ in range(round(seconds / 0.02)):  # a stage has a clock of its own: none is asked
        if tab.evaluate(condition):
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds:g} s: {condition}")


def violations(tab: Any, axe: str) -> list[str]:
    """What axe has against the page as it stands."""
    tab.evaluate(axe)
    found = tab.evaluate("axe.run()")["violations"]
    return [f"{v['id']}: {json.dumps([n['html'][:160] for n in v['nodes'][:4]])}" for v in found]
