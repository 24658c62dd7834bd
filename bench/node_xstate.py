"""XState in Node, for comparison. It is another language, so it runs in its own process."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from .cycle import CYCLE, FLOW, REPLIES, ROWS, STATES

__all__ = ["xstate"]

HOME = Path(__file__).with_name("node")


def xstate(rounds: int) -> tuple[float, str] | str:
    """Nanoseconds of CPU time for a trigger and the versions, or why it was not measured."""
    node, package = shutil.which("node"), HOME / "node_modules/xstate/package.json"
    if node is None:
        return "XState was not measured: there is no node"
    if not package.exists():
        return "XState was not measured: npm install --prefix bench/node"
    told = {"cycle": CYCLE, "states": STATES, "initial": FLOW.initial, "replies": REPLIES}
    text = json.dumps(told | {"rows": [row._asdict() for row in ROWS], "rounds": rounds})
    ran = subprocess.run(
        [node, HOME / "cycle.mjs"], input=text, capture_output=True, text=True, timeout=300
    )
    if ran.returncode:
        return f"XState was not measured: {ran.stderr.strip().splitlines()[-1]}"
    got = json.loads(ran.stdout)
    version = json.loads(package.read_text(encoding="utf-8"))["version"]
    return got["ns"], f"xstate {version} on Node {got['node']}"
