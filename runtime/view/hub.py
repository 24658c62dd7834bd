"""The live sessions, and their viewers.

A session only appends to a bounded queue. Everything else happens in the thread of the server:
records are encoded once and stored in a bounded ring, which each viewer reads at its own pace. A
viewer that is too slow misses records, and is told how many.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from time import monotonic
from typing import Any

from turnfsm.fsm.flow import Flow
from turnfsm.fsm.journal import Closed, Entry, Header, JournalReader, Note, Record
from turnfsm.fsm.metrics.measuring import event_of
from turnfsm.runtime.journal.redact import Redact, Redactor

from .flow_data import flow_data
from .records import RecordEncoder

__all__ = ["MOST_ROWS", "Conversation", "Feed", "Hub"]

MOST_ROWS = 20_000
"""The maximum number of records of one session; more than an hour."""

MOST_WAITING = 10_000
"""The maximum number of records that wait for the server's thread."""

MOST_SESSIONS = 500

MOST_UNREAD = 20
"""The maximum number of messages about journals that cannot be shown; older ones are dropped."""

MOST_ROWS_IN_ALL = 400_000
"""The maximum number of records of all sessions, before finished ones are removed."""


class Conversation:
    """One session as viewers see it. Used in the server's thread only.

    Attributes:
        first: The number of the oldest row in memory, from 0.
        ended: The session is over.
        closed: The journal has the record of the close.
        how: How it has ended, in a sentence; empty if the journal does not say it.
    """

    def __init__(self, key: str, flow: Flow, head: Header, title: str) -> None:
        self.key, self.title = key, title
        self.flow = flow
        self.started_at = head.started_at
        self.ended = self.closed = False
        self.how = ""
        self.trouble: str | None = None
        self.first = 0
        self.seen = monotonic()
        self.t = 0.0
        self._head = head
        self._rows: deque[str] = deque()
        self._encode = RecordEncoder(flow)
        self._state, self._facts = head.initial, "[]"  # before the oldest row in memory
        self._seq = 0
        self._marks: deque[tuple[str, str]] = deque()

    def __len__(self) -> int:
        return self.first + len(self._rows)

    def add(self, record: Record) -> None:
        """Add a record. If records before it are missing, a mark says so."""
        if self._seq and record.seq > self._seq + 1:
            state = record.verdict.state if isinstance(record, Entry) else None
            self._encode.restart()
            self._keep(self._mark(record.seq - self._seq - 1, record.t, state), state, None)
        self._seq = record.seq
        row = self._encode(record)
        self.t, self.seen = max(self.t, record.t), monotonic()
        if isinstance(record, Note) and isinstance(closed := event_of(record), Closed):
            self.ended, self.closed, self.how = True, True, str(closed)
            row["h"] = [*row.get("h", ()), *self._encode.end()]
        state = record.verdict.dest if isinstance(record, Entry) else None
        self._keep(row, state, row.get("f"))

    def rows(self, after: int, most: int = 500) -> tuple[int, list[str]]:
        """The rows after a number, as JSON, and the number after them.

        Dropped rows are replaced by a mark with their number.
        """
        found: list[str] = []
        if after < self.first:
            mark = self._mark(self.first - after, None, self._state)
            found.append(json.dumps(mark)[:-1] + f',"f":{self._facts}}}')
            after = self.first
        start = after - self.first
        part = list(islice(self._rows, start, start + most))
        return after + len(part), found + part

    def opened(self) -> dict[str, Any]:
        """What a viewer needs before the rows."""
        return {
            "mode": "live",
            "key": self.key,
            "title": self.title,
            "flow": flow_data(self.flow, self._head.timers),
            "initial": self._head.initial,
            "startedAt": self.started_at,
            "redacted": self._head.redacted is not None,
            "damage": self.trouble,
            "records": [],
            "end": 0.1,
        }

    def listed(self) -> dict[str, Any]:
        """The session's entry in the list of sessions, with what went wrong in it."""
        tally = self._encode.tally
        longest = tally.longest
        return {
            "key": self.key,
            "title": self.title,
            "ended": self.ended,
            "how": self.how,
            "waited": round(tally.waited, 2),
            "longest": None if longest is None else [round(longest.seconds, 2), longest.cause],
            "refusals": tally.refusals,
            "limits": tally.limits,
            "failures": tally.failures,
            "at": tally.worst,
        }

    @property
    def rank(self) -> tuple[float, ...]:
        """Orders sessions by trouble."""
        return self._encode.tally.rank

    @property
    def now(self) -> float:
        """The current second of the journal."""
        return self.t if self.ended else self.t + monotonic() - self.seen

    def _mark(self, count: int, t: float | None, state: str | None) -> dict[str, Any]:
        if t is None:  # that of the oldest row
            t = float(json.loads(self._rows[0])["t"]) if self._rows else self.t
        mark = {"n": -1, "m": "dropped", "x": {"records": count}, "t": round(t, 4)}
        return mark | ({"d": state, "e": 1} if state else {})

    def _keep(self, row: dict[str, Any], state: str | None, facts: list[int] | None) -> None:
        self._rows.append(json.dumps(row, separators=(",", ":"), default=str))
        self._marks.append((state or "", "" if facts is None else json.dumps(facts)))
        if len(self._rows) > MOST_ROWS:
            self._rows.popleft()
            old_state, old_facts = self._marks.popleft()
            self._state, self._facts = old_state or self._state, old_facts or self._facts
            self.first += 1


class Feed:
    """A sink that shows a session to the viewers of a hub.

    `redact` says how the text of the conversation is removed; None shows it.
    """

    def __init__(self, hub: Hub, flow: Flow, redact: Redact | None = "leave_out") -> None:
        self._hub, self._flow = hub, flow
        self._redact = Redactor(redact)
        self._waiting: deque[Mapping[str, Any] | None] = deque(maxlen=MOST_WAITING)
        self._reader = JournalReader()
        self._shown: Conversation | None = None

    def write(self, record: Mapping[str, Any]) -> None:
        """Take one record: append it. The server's thread does the rest."""
        self._waiting.append(record)
        if "journal" in record:
            self._hub.feeds.append(self)
        self._hub.wake()

    def close(self) -> None:
        """The session is over. What was shown stays."""
        self._waiting.append(None)
        self._hub.wake()

    def drain(self) -> bool:
        """Show the queued records. Called in the server's thread. Returns whether there were
        any."""
        count = 0
        while self._waiting:
            self._show(self._waiting.popleft())
            count += 1
        return count > 0

    def _show(self, record: Mapping[str, Any] | None) -> None:
        if record is None:
            if self._shown is not None:
                self._shown.ended = True
                self._hub.feeds.remove(self)  # `write` adds it again if the session restarts
            self._shown = None
            return
        try:
            clean = self._redact(record)
            if "journal" in clean:
                self._reader = JournalReader()
            found = self._reader.take("record", clean)
            if found is not None and self._shown is not None:
                self._shown.add(found)
            elif found is None and self._reader.header is not None:
                self._shown = self._hub.begin(self._flow, self._reader.header)
        except Exception as error:  # a value of the application that cannot be shown
            if self._shown is not None:
                self._shown.trouble = f"a record cannot be shown: {error}"


class Hub:
    """All sessions of one server.

    Attributes:
        unread: Why journals cannot be shown, a sentence for each.
        changed: Called in the server's thread when there is something new.
    """

    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}
        self.feeds: list[Feed] = []
        self.unread: deque[str] = deque(maxlen=MOST_UNREAD)
        self.changed: Callable[[], None] = lambda: None
        self._call: Callable[[Callable[[], None]], object] | None = None
        self._woken = False
        self._count = 0

    def bind(self, call: Callable[[Callable[[], None]], object] | None) -> None:
        """Set how a function is called in the server's thread; None: the server has ended."""
        self._call = call
        self._woken = False
        self.wake()

    def wake(self) -> None:
        """Let the server empty the queues. May be called from any thread."""
        if self._woken or (call := self._call) is None:
            return
        self._woken = True
        try:
            call(self._drain)
        except RuntimeError:  # the server has ended
            self._call = None

    def begin(self, flow: Flow, head: Header, title: str = "") -> Conversation:
        """Add a session. If there are too many, the oldest finished ones are removed."""
        self._count += 1
        when = time.strftime("%H:%M:%S", time.localtime(head.started_at or time.time()))
        shown = Conversation(str(self._count), flow, head, title or f"{flow.name}, {when}")
        for key in [key for key, one in self.conversations.items() if one.ended]:
            kept = self.conversations.values()
            if (
                len(kept) < MOST_SESSIONS
                and sum(len(one) - one.first for one in kept) < MOST_ROWS_IN_ALL
            ):
                break
            del self.conversations[key]
        self.conversations[shown.key] = shown
        return shown

    def newest(self) -> Conversation | None:
        """The session that began last; a running one before a finished one."""
        running = [one for one in self.conversations.values() if not one.ended]
        return next(reversed(running or list(self.conversations.values())), None)

    def listed(self) -> Iterator[dict[str, Any]]:
        """The sessions, those with the most trouble first; among equals, the newest first."""
        newest = reversed(list(self.conversations.values()))
        return (one.listed() for one in sorted(newest, key=lambda one: one.rank, reverse=True))

    def _drain(self) -> None:
        self._woken = False
        fresh = False
        for feed in list(self.feeds):
            fresh |= feed.drain()
        if fresh:
            self.changed()
