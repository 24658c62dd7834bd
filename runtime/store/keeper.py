"""Writes one session's journal in batches, and immediately if somebody waits for it.

The store is called in a thread of its own, so that the event loop never waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain, repeat
from typing import Any, TypeVar

from turnfsm.runtime.journal import LiveJournal, Raw, Redactor, as_line

from .protocol import Acquired, Batch, Check, Store, StoreError, StoreUnavailable

__all__ = ["Keeper"]

logger = logging.getLogger("turnfsm")

INTERVAL = 0.02
"""Seconds between two batches. A dying worker may lose this much."""

LOOKS = 25
"""The keeper stops polling after so many intervals without an entry. Until then, posts need not
start a timer."""

BEAT = 5.0
"""Seconds after which an idle session checks that no other worker has taken it over."""

PAUSES = (0.05, 0.1, 0.2, 0.5)
"""Seconds between attempts to reach a store that does not answer; the last one is repeated."""

Records = Iterable[Mapping[str, Any]]

T = TypeVar("T")


class Keeper:
    """Writes a running session: the journal, and what `gather` returns.

    Args:
        store: The store. It must not be called from elsewhere.
        session: The id of the session.
        redact: Removes what must not be stored.
        failed: Called once if the session may not write any more: another worker has taken it over,
            or the store cannot be used.
    """

    def __init__(
        self,
        store: Store,
        session: str,
        redact: Redactor,
        failed: Callable[[StoreError], None],
    ) -> None:
        self.session = session
        self.epoch = 0
        self.error: StoreError | None = None
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="turnfsm-store")
        self._redact = redact
        self._failed = failed
        self._journal: LiveJournal | None = None
        self._gather: Callable[[], Records] = tuple
        self._first = 1
        self._requested = self._completed = 0
        self._changed = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._away: StoreUnavailable | None = None
        self._beating: asyncio.TimerHandle | None = None
        self._look = False
        self._idle = 0
        self._start: Records = ()
        self._closed = False

    async def acquire(self, limit: float, check: Check | None = None) -> Acquired:
        """Take over the session.

        Args:
            limit: Seconds to wait for a store that does not answer.
            check: As in `Store.acquire`.

        Raises:
            StoreUnavailable: It has not answered in that time.
            StoreError: The store cannot be used, or `check` has raised it.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + limit

        def away(exc: StoreUnavailable) -> None:
            if loop.time() >= end:
                raise StoreUnavailable(
                    f"{exc}; the session {self.session!r} cannot begin: start the store, or "
                    "leave store= out to continue without one"
                )

        acquired = await self._call(partial(self._store.acquire, self.session, check), away)
        self.epoch = acquired.epoch
        return acquired

    def begin(self, journal: LiveJournal, start: Records, gather: Callable[[], Records]) -> None:
        """Write the journal from now on, and what `gather` returns before each write.

        `start` is everything older that the next worker needs. It is written first.
        """
        self._journal, self._gather = journal, gather
        self._start = start
        journal.tap(self._wake)
        self._write_now()
        self._beat()

    async def durable(self, limit: float) -> None:
        """Wait until everything so far is stored, and the store has confirmed that no other worker
        has the session.

        Args:
            limit: Seconds to wait for a store that does not answer.

        Raises:
            StoreUnavailable: It has not answered in that time.
            SessionTaken: Another worker has the session.
            StoreError: The store cannot be used.
        """
        self._requested += 1
        number = self._requested
        self._write_now()
        try:
            async with asyncio.timeout(limit):
                while self._completed < number and self.error is None:
                    await self._changed.wait()
        except TimeoutError:
            raise self._away or StoreUnavailable(
                f"the store has not answered for {limit:g} s"
            ) from None
        if self.error is not None:
            raise self.error

    def look(self) -> None:
        """Write what `gather` returns, even if the journal has no new entry."""
        self._look = True
        self._write_now()

    async def aclose(self, limit: float) -> None:
        """Write the rest, with a timeout in seconds, and close the store."""
        try:
            if self._journal is not None and self.error is None:
                await self.durable(limit)
        except StoreError as exc:
            if exc is not self.error:
                logger.warning("session %r: its end was not stored: %s", self.session, exc)
        finally:
            self._closed = True
            for timer in (self._timer, self._beating):
                if timer is not None:
                    timer.cancel()
            if self._writing is not None:
                self._writing.cancel()
                await asyncio.wait({self._writing})
            await self._in_thread(self._store.close)
            self._thread.shutdown(wait=False)

    # -- inside

    def _wake(self) -> None:
        if self._timer is None and self._writing is None and not self._closed:
            self._idle = 0
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._poll)

    def _poll(self) -> None:
        assert self._journal is not None
        self._timer = None
        if self._journal.waiting:
            self._write_now()
        elif self._idle < LOOKS:
            self._idle += 1
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._poll)

    def _beat(self) -> None:
        self._beating = asyncio.get_running_loop().call_later(BEAT, self._beat)
        self.look()

    def _write_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._writing is None and self.error is None and not self._closed:
            self._writing = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        assert self._journal is not None
        try:
            while True:
                requested, look = self._requested, self._look
                more, raws = [*self._start, *self._gather()], self._journal.drain()
                self._start = ()
                durable = requested > self._completed
                if not (more or raws or look or durable):
                    break
                self._look = False
                await self._call(partial(self._append, more, raws, durable), self._not_answered)
                if self._away is not None:
                    logger.warning("session %r: the store answers again", self.session)
                self._away = None
                self._first += len(more) + len(raws)
                self._completed = requested
                self._notify()
        except StoreError as exc:
            self._fail(exc)
        finally:
            self._writing = None
            if self.error is None:
                self._wake()

    def _append(
        self, more: Sequence[Mapping[str, Any]], raws: Iterable[Raw], durable: bool
    ) -> None:
        """Write records. Called in the thread of the store."""
        assert self._journal is not None
        try:
            records = (*more, *(self._journal.typed(raw).to_json() for raw in raws))
            lines = tuple(as_line(self._redact(record)).rstrip("\n") for record in records)
            batch = Batch(self.session, self.epoch, self._first, lines, durable)
            [taken] = self._store.append([batch])
        except StoreError:
            raise
        except Exception as exc:  # an error of a user's own store: retried, so nothing is lost
            raise StoreUnavailable(f"{type(exc).__name__}: {exc}") from exc
        if taken is not None:
            raise taken

    def _not_answered(self, exc: StoreUnavailable) -> None:
        if self._away is None:
            logger.warning(
                "session %r: %s; the conversation continues, and its records are written "
                "when the store answers again", self.session, exc,
            )  # fmt: skip
        self._away = exc

    async def _call(self, work: Callable[[], T], away: Callable[[StoreUnavailable], None]) -> T:
        """Call the store until it answers; `away` is called each time that it does not."""
        pauses = chain(PAUSES, repeat(PAUSES[-1]))
        while True:
            try:
                return await self._in_thread(work)
            except StoreUnavailable as exc:
                away(exc)
            await asyncio.sleep(next(pauses))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _fail(self, error: StoreError) -> None:
        self.error = error
        if self._journal is not None:
            self._journal.tap(None)
        self._notify()
        self._failed(error)

    def _notify(self) -> None:
        self._changed.set()
        self._changed.clear()
