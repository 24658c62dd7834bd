"""Measures the CPU time of other processes, to decide whether a check in real time is valid."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TypeVar

import psutil
from attrs import define

__all__ = ["BUSY", "Busy", "Others", "cpu_seconds", "judged"]

T = TypeVar("T")

BUSY = 0.3
"""The share of the CPU that other processes may use while a conversation is checked in real time.
The speech models need most of one core for a short time in every turn. If they do not get it, words
are interrupted by silence, answers are late and turns are split. On two cores this is 0.6 of a
core."""

_PR_SET_CHILD_SUBREAPER = 36
_TWICE = 2
_ATTEMPTS = 3


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


class Busy(Exception):
    """Other processes have used the CPU in every attempt. The message says how much."""


@define
class Others:
    """Measures from its creation.

    Example::

        others = Others()
        ...
        others.share()  # 0.02: of all processors, since then
    """

    _began: float = 0.0
    _used: float = 0.0
    _own: float = 0.0

    def __attrs_post_init__(self) -> None:
        _adopt_orphans()
        self._began, self._used, self._own = _times()

    def share(self) -> float:
        """The share of the CPU time that other processes have used, from 0 to 1."""
        ended, used, own = _times()
        if ended == self._began:
            return 0.0
        others = (used - self._used) - (own - self._own)
        return min(1.0, max(0.0, others / (ended - self._began)))


def judged(
    play: Callable[[], T],
    report: Callable[[str], None] = _to_stderr,
    failing: tuple[type[Exception], ...] = (AssertionError, TimeoutError),
) -> T:
    """Play something in real time, and check it. No two plays are the same, so a failure is
    reported and repeated. It is final if two plays fail without other processes on the CPU.

    Args:
        report: Called with a sentence for each failed play that is repeated.
        failing: The error of a failed play. All other errors are raised at once.

    Raises:
        Busy: Three plays have failed, and other processes have used the CPU.
    """
    failures: list[float] = []
    while True:
        others = Others()
        try:
            return play()
        except failing as error:
            failures.append(others.share())
            if sum(share < BUSY for share in failures) == _TWICE:
                raise
            used = f"other programs used {', '.join(f'{share:.0%}' for share in failures)}"
            if len(failures) == _ATTEMPTS:
                raise Busy(f"{used} of the processor; the last time: {error}") from error
            report(f"failed, played again ({used} of the processor): {error}")


def _times() -> tuple[float, float, float]:
    """CPU seconds so far: in total, used, and used by this process and its children."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    passed = sum(times[:8])  # the time of guests is also in the time of the user
    return passed, passed - idle, cpu_seconds(psutil.Process())


def _adopt_orphans() -> None:
    """Make processes whose parent was killed children of this one, so that their CPU time counts as
    ours. Only Linux can do this; see prctl(2)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cpu_seconds(process: psutil.Process) -> float:
    """The CPU time of a process and of all that it has started."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += sum(times[:4])  # with those of children that have ended
    return total
