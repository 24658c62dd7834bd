"""Who is told of every verdict."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from turnfsm.fsm import Verdict

__all__ = ["Observer", "Observers"]

logger = logging.getLogger("turnfsm")

Observer = Callable[[int, Verdict], None]
"""Is told the entry's number and its verdict, before the effects run."""


class Observers:
    """Told in the order of the verdicts, also of what one of them posts (test_observers)."""

    __slots__ = ("_news", "_observers", "telling")

    def __init__(self) -> None:
        self._observers: tuple[Observer, ...] = ()
        self._news: deque[tuple[int, Verdict]] = deque()
        self.telling: int | None = None  # the entry that they are being told of

    def add(self, observer: Observer) -> Callable[[], None]:
        """Tell this one, too; gives what ends it."""
        self._observers = (*self._observers, observer)

        def end() -> None:
            self._observers = tuple(o for o in self._observers if o is not observer)

        return end

    def tell(self, seq: int, verdict: Verdict) -> None:
        """One that raises is logged and stays: the fault may be a passing one."""
        self._news.append((seq, verdict))
        if self.telling is not None:
            return
        try:
            while self._news:
                news = self._news.popleft()
                self.telling = news[0]
                for observer in self._observers:
                    self._tell(observer, *news)
        finally:
            self.telling = None
            self._news.clear()

    def _tell(self, observer: Observer, seq: int, verdict: Verdict) -> None:
        try:
            observer(seq, verdict)
        except Exception:
            logger.exception("observer %r raised at entry %d", observer, seq)
