"""Runs Spin on a flow: generate, compile, verify each property."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

from turnfsm.fsm.errors import TurnfsmError
from turnfsm.fsm.flow import Flow, Properties
from turnfsm.fsm.interop.promela import claims, to_promela

__all__ = ["Opinion", "SpinError", "missing_tools", "verify"]

_DEPTHS = (20_000, 2_000_000)
"""The stack of a search: the first is quick to set up, the second is for long ways."""

_CUT = "max search depth too small"
_SAFE = re.compile(r"^ltl (\w+) \{ \[\] (.*) \}$", re.MULTILINE)
"""What never happens, in the Promela of a flow: all of them can be asked for at once."""

_ERRORS = re.compile(r"errors: (\d+)")
_STATES = re.compile(r"^\s*(\d+) states, stored", re.MULTILINE)


class SpinError(TurnfsmError):
    """Spin or the compiler failed, or gave no verdict. This never counts as a proof."""


@attrs.frozen
class Opinion:
    """Spin's verdict on one property.

    Attributes:
        holds: No run breaks it.
        states: States that were stored; properties that hold may share a search.
        trail: The rows that were taken on the way to the violation, if asked for.
    """

    name: str
    holds: bool
    states: int
    trail: tuple[str, ...] = ()


def missing_tools() -> str:
    """The missing tools, as a sentence with the remedy; empty if there are none."""
    missing = [] if shutil.which("spin") else ["spin"]
    missing += [] if _compiler() else ["a C compiler (tcc or gcc)"]
    return f"{' and '.join(missing)} not found; apt-get install spin gcc" if missing else ""


def _compiler() -> list[str]:
    """What compiles Spin's verifier: tcc takes 0.05 s where gcc takes 1.2 s."""
    known = (["tcc"], ["gcc", "-O0"])
    return next((words for words in known if shutil.which(words[0])), [])


def verify(
    flow: Flow,
    properties: Properties | None = None,
    *,
    trails: bool = False,
    seconds: float = 300.0,
) -> dict[str, Opinion]:
    """Spin's opinion on each property of a flow, by name.

    Args:
        properties: Properties to verify instead of the flow's own.
        trails: Say how each violation is reached; Spin's way there may be long.
        seconds: The most that each of Spin's runs may take.

    Raises:
        SpinError: A tool is missing, fails, or says neither yes nor no.
    """
    if missing := missing_tools():
        raise SpinError(missing)
    wanted = claims(flow, properties)
    if not wanted:
        return {}
    with tempfile.TemporaryDirectory(prefix="turnfsm-spin-") as name:
        folder = Path(name)
        text = to_promela(flow, properties)
        safe = tuple(name for name, fair in wanted.items() if not fair)
        (folder / "flow.pml").write_text(text + _together(text, safe), encoding="utf-8")
        _run(folder, seconds, ["spin", "-a", "flow.pml"])
        # Fairness counts processes: pan takes 4 * NFAIR - 2 of them, and 4 are no timers.
        fair = f"-DNFAIR={(len(flow.timers) + 4) // 4 + 2}"
        _run(folder, seconds, [*_compiler(), "-w", fair, "-o", "pan", "pan.c"])
        # All runs write their counterexample to one file, so those with trails take turns.
        with ThreadPoolExecutor(1 if trails else os.cpu_count()) as pool:
            never = pool.submit(_safe, folder, seconds, safe, trails)
            waits = {
                name: pool.submit(_opinion, folder, seconds, name, True, trails)
                for name, fair in wanted.items()
                if fair
            }
            found = never.result() | {name: run.result() for name, run in waits.items()}
        return {name: found[name] for name in wanted}


def _halves(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return names[: len(names) // 2], names[len(names) // 2 :]


def _group(names: tuple[str, ...]) -> str:
    """The formula of several properties; that of one is its own."""
    return _word(names[0]) if len(names) == 1 else f"from_{_word(names[0])}_{len(names)}"


def _together(text: str, names: tuple[str, ...]) -> str:
    """Formulas that say several properties at once: all of `names`, each half, and so on."""
    if len(names) < 2:
        return ""
    bodies = dict(_SAFE.findall(text))
    both = " && ".join(f"({bodies[_word(name)]})" for name in names)
    halves = (_together(text, half) for half in _halves(names))
    return f"ltl {_group(names)} {{ [] ({both}) }}\n" + "".join(halves)


def _safe(folder: Path, seconds: float, names: tuple[str, ...], trails: bool) -> dict[str, Opinion]:
    """One search for all; which of them are broken is then looked for by halves."""
    if len(names) < 2:
        return {name: _opinion(folder, seconds, name, False, trails) for name in names}
    opinion = _opinion(folder, seconds, _group(names), False, False)
    if opinion.holds:
        return {name: attrs.evolve(opinion, name=name) for name in names}
    left, right = _halves(names)
    return _safe(folder, seconds, left, trails) | _safe(folder, seconds, right, trails)


def _word(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _opinion(folder: Path, seconds: float, name: str, fair: bool, trails: bool) -> Opinion:
    # -E: a flow that comes to rest is no error of a formula.
    words = ["./pan", "-a", "-E", "-w16", "-N", _word(name), *(["-f"] if fair else [])]
    said = _searched(folder, seconds, words)
    errors, stored = _ERRORS.search(said), _STATES.search(said)
    if errors is None or stored is None or _CUT in said:
        raise SpinError(f"spin gave no verdict on {name!r}:\n{said.strip()}")
    holds = errors[1] == "0"
    trail = _trail(folder, seconds) if trails and not holds else ()
    return Opinion(name, holds, int(stored[1]), trail)


def _searched(folder: Path, seconds: float, words: list[str]) -> str:
    said = _CUT
    for depth in _DEPTHS:
        if _CUT in said:
            said = _run(folder, seconds, [*words, f"-m{depth}"])
    return said


def _trail(folder: Path, seconds: float) -> tuple[str, ...]:
    """The lines that the steps of a counterexample print."""
    said = _run(folder, seconds, ["spin", "-t", "-T", "-B", "flow.pml"])
    lines = (line.strip() for line in said.splitlines())
    # A row is STATE.TRIGGER.INDEX; whatever else Spin says has spaces in it.
    return tuple(line for line in lines if re.fullmatch(r"\S+\.\S+", line))


def _run(folder: Path, seconds: float, words: Iterable[str]) -> str:
    command = list(words)
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"{command[0]} took more than {seconds:g} s; allow more seconds"
        raise SpinError(message) from None
    if done.returncode != 0:
        raise SpinError(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr).strip()}")
    return done.stdout
