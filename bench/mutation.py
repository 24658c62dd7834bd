"""`python -m bench.mutation`: mutation tests of the machine and the pump.

mutmut makes one small change at a time (pyproject.toml says where) and runs the tests that reach
it. This runs it, prints the score of each module and names the mutants that survived. Results are
stored in ./mutants/. Only changed code is tested again. With --report nothing is run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

__all__ = ["main", "score"]

MUTANTS = Path("mutants")

# mutmut's exit codes: pytest found a failure, an error, or the change made the tests hang
_KILLED = {1, 3, -9, -11, 36, 24, 152, 255, -24}
_SURVIVED = {0, 5, 33}  # 5, 33: no test reaches it


def main() -> int:
    """Run, report; 1 if mutmut itself failed."""
    parser = argparse.ArgumentParser(prog="python -m bench.mutation", description=__doc__)
    parser.add_argument("--report", action="store_true", help="only what is in ./mutants/")
    parser.add_argument("--children", default="2", help="processes")
    options = parser.parse_args()
    if not options.report:
        command = ["-m", "mutmut", "run", "--max-children", options.children]
        if subprocess.run([sys.executable, *command]).returncode:
            return 1
    print(score(MUTANTS))
    return 0


def score(mutants: Path) -> str:
    """The score of each module and of all, and the names of the surviving mutants."""
    lines, survivors = [], []
    total: Counter[str] = Counter()
    for meta in sorted(mutants.rglob("*.py.meta")):
        codes = json.loads(meta.read_text(encoding="utf-8"))["exit_code_by_key"]
        tried = {name: code for name, code in codes.items() if code in _KILLED | _SURVIVED}
        lived = [name for name, code in tried.items() if code in _SURVIVED]
        if not codes:
            continue
        module = str(meta.relative_to(mutants)).removesuffix(".meta")
        lines.append(_line(module, len(tried) - len(lived), len(tried), len(codes)))
        total.update(killed=len(tried) - len(lived), tried=len(tried), all=len(codes))
        survivors += [_readable(name) for name in lived]
    lines.append(_line("in all", total["killed"], total["tried"], total["all"]))
    return "\n".join([*lines, "", "survivors:", *(f"  {name}" for name in survivors)])


def _line(what: str, killed: int, tried: int, made: int) -> str:
    percent = 100 * killed / tried if tried else 0.0
    left = f", {made - tried} not tried" if made > tried else ""
    return f"{what:22} {killed:5} of {tried:5} killed, {percent:5.1f} %{left}"


def _readable(name: str) -> str:
    # turnfsm.fsm.machine.xǁMachineǁstep__mutmut_3
    return name.replace(".xǁ", ".").replace("ǁ", ".").replace(".x_", ".").replace("__mutmut_", " #")


if __name__ == "__main__":
    sys.exit(main())
