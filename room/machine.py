"""How much of the machine other processes use: it decides whether real time can be judged."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import TypeVar

import psutil
from attrs import define

__all__ = ["BUSY", "Busy", "Others", "judged"]

T = TypeVar("T")

BUSY = 0.3
"""The share of the machine that others may use while a conversation in real time is judged. The
speech models need most of one core for a moment at every turn; what they lack comes as silence
inside of words, answers that are late and turns that are cut in two. Of two cores this is 0.6."""

_PR_SET_CHILD_SUBREAPER = 36
_TWICE = 2
_ATTEMPTS = 3


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)


class Busy(Exception):
    """Other processes have used the processor at every attempt; the message says how much."""


@define
class Others:
    """Measures from when it is made.

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
        """The share of all processors that processes used which are not ours, from 0 to 1."""
        ended, used, own = _times()
        if ended == self._began:
            return 0.0
        others = (used - self._used) - (own - self._own)
        return min(1.0, max(0.0, others / (ended - self._began)))


def judged(
    play: Callable[[], T],
    told: Callable[[str], None] = _to_stderr,
    failing: tuple[type[Exception], ...] = (AssertionError, TimeoutError),
) -> T:
    """Play something in real time and judge it.

    No two plays are the same, so one that fails is reported and played again. It has failed if it
    fails twice while other processes leave the processor alone.

    Args:
        told: Gets a sentence for each play that has failed and is played again.
        failing: The error of a play that has failed; all other errors are raised at once.

    Raises:
        Busy: It has failed three times, and other processes have used the processor.
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
            told(f"failed, played again ({used} of the processor): {error}")


def _times() -> tuple[float, float, float]:
    """Seconds of all processors so far: those that passed, were used, and were used by us."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    passed = sum(times[:8])  # what guests use stands in the user's time, too
    return passed, passed - idle, _own()


def _adopt_orphans() -> None:
    """Processes whose parent is killed become children of this one: what they have used counts as
    ours, and not as that of others. Only Linux can do this; see prctl(2)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _own() -> float:
    """Of this process and all that it has started."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += sum(times[:4])  # with those of children that have ended
    return total
