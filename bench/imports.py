"""`python -m bench.imports [ROUNDS]`: the CPU time that `import turnfsm.livekit` takes.

Each round is a process of its own. It imports all of livekit-agents that `turnfsm.livekit` uses,
and then `turnfsm.livekit`, both without the garbage collector: when a full collection comes is
chance, and what it looks at is LiveKit's. It prints the medians.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

__all__ = ["imported"]

ROUND = """\
import gc, json, time
gc.disable()
begun = time.process_time()
import livekit.agents, livekit.agents.llm.async_toolset
livekit = time.process_time()
import turnfsm.livekit
print(json.dumps([livekit - begun, time.process_time() - livekit]))
"""


def imported(rounds: int) -> tuple[float, float]:
    """Median seconds for LiveKit, and then for `turnfsm.livekit`."""
    command = [sys.executable, "-c", ROUND]
    spent = [json.loads(subprocess.check_output(command)) for _ in range(rounds)]
    theirs, ours = map(statistics.median, zip(*spent, strict=True))
    return theirs, ours


if __name__ == "__main__":
    theirs, ours = imported(int(sys.argv[1]) if sys.argv[1:] else 9)
    print(f"livekit-agents {theirs * 1000:.0f} ms, then turnfsm.livekit {ours * 1000:.0f} ms")
