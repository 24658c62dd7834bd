"""`make crash`: the worker is killed at every record of a conversation; what the next one does.

    python tests/store/crash.py [--from N] [--to N] [--step N] [--seconds S] [--show]
                              [--policy detach|hold|finish|cancel]

The conversation has a greeting, three turns, an interruption and two tool calls. Each place is a
process that is killed with SIGKILL, and one that goes on; the caller says one thing more. Before, a
worker is stopped (SIGSTOP), has a successor, and comes back. It prints what is wrong with a place,
then a table, and exits with 1 if something is.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import attrs

from store.play import GREETING, SORRY, Guest, talk
from turnfsm.livekit import on_interruption
from turnfsm.runtime.testing.livekit import Outcome, ScriptedUser
from turnfsm.store import SqliteStore

LATE = "thank you very much"
"""What the caller says to the next worker."""


@attrs.frozen
class Place:
    """One place where a worker was killed.

    Attributes:
        record: The number of the journal's record.
        last: What the store had last.
        wrong: What is wrong.
    """

    record: int
    last: str
    heard: tuple[str, ...]
    effects: tuple[int, int]
    wrong: tuple[str, ...]


def user() -> ScriptedUser:
    """Interrupts the answer to the first wish."""
    return talk().says("wait a moment", at=5.5)


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill at every record; 1 if something is wrong."""
    options = _options().parse_args(arguments)
    if problems := paused():
        print(f"a worker that was stopped and comes back: {'; '.join(problems)}")
        return 1
    print("a worker that was stopped and comes back beside its successor closes")
    began, places = time.monotonic(), []
    for place in sweep(options):
        places.append(place)
        if place.wrong or options.show:
            print(f"record {place.record} ({place.last}): {'; '.join(place.wrong) or 'right'}")
            print(f"    heard {list(place.heard)}, effects {place.effects}")
        if time.monotonic() - began > options.seconds:
            print(f"{options.seconds:g} s are over at record {place.record}")
            break
    wrong = [place for place in places if place.wrong]
    said = Counter(_kind(place) for place in places)
    print(f"{len(places)} places, {len(wrong)} wrong, {time.monotonic() - began:.0f} s")
    for kind, count in sorted(said.items()):
        print(f"  {count:4} {kind}")
    return 1 if wrong or not places else 0


def paused() -> list[str]:
    """SIGSTOP in the middle of a call, a successor, SIGCONT: what is wrong. In real time, 10 s."""
    folder = Path(tempfile.mkdtemp(prefix="paused-"))
    guest = Guest(folder, works=3.0)
    try:
        old = _in_process(guest, "old", ScriptedUser().says("please book a table", at=1.0), 12.0)
        _wait_until(lambda: any(r.get("note") == "tool_started" for r in _written(guest)))
        os.kill(old, signal.SIGSTOP)
        new = _in_process(guest, "new", ScriptedUser(), 7.0)
        _wait_until(lambda: any(r.get("note") == "apology" for r in _written(guest)))
        os.kill(old, signal.SIGCONT)
        back = time.time()
        for pid in (old, new):
            os.waitpid(pid, 0)
        heard, closed = (folder / "old").read_text().splitlines()
        return list(_wrong_of_pause(guest, heard, float(closed) - back))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wrong_of_pause(guest: Guest, heard: str, closed: float) -> Iterator[str]:
    said = (guest.folder / "new").read_text().splitlines()[0]
    if guest.effects("book") != 1:
        yield f"the call was made {guest.effects('book')} times"
    if "perhaps" not in said:
        yield f"the successor has not told that nobody knows of the call: {said}"
    if "The book is" in heard:
        yield f"it has told of the call: {heard}"
    if closed > 6.0:
        yield f"it closed after {closed:.1f} s"


def _in_process(guest: Guest, name: str, user: ScriptedUser, seconds: float) -> int:
    """Play in real time, in a process of its own; its number."""
    if child := os.fork():
        return child
    try:
        stage = guest.stage(user)
        closes: list[float] = []

        async def play() -> Outcome:
            stage.at(0.0, lambda s: s.session.on("close", lambda _: closes.append(time.time())))
            return await stage.play(seconds)

        outcome = asyncio.run(play())
        texts = [heard.text for heard in outcome.heard]
        (guest.folder / name).write_text(f"{texts}\n{closes[0]}\n")
    finally:
        os._exit(0)


def _wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20.0
    while not holds():
        if time.monotonic() > end:
            raise SystemExit("make crash: the worker did not come so far in 20 s")
        time.sleep(0.02)


def sweep(options: argparse.Namespace) -> Iterator[Place]:
    """Every place, until the conversation ends before it."""
    for record in range(options.first, options.last, options.step):
        folder = Path(tempfile.mkdtemp(prefix="crash-"))
        try:
            mark = on_interruption(options.policy)
            guest = Guest(folder, mark=mark, gives={"table": record})
            if not guest.killed(user(), record):
                return
            yield _judge(record, guest)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _judge(record: int, guest: Guest) -> Place:
    before = _written(guest)
    outcome = guest.gone_on(ScriptedUser().says(LATE, at=12.0), 20.0)
    after = _written(guest)
    heard = tuple(heard.text for heard in outcome.heard)
    effects = guest.effects("book"), guest.effects("taxi")
    last = next((r for r in reversed(before) if "trigger" in r or "note" in r), {})
    name = f"{last.get('trigger') or last.get('note') or 'nothing'}"
    return Place(record, name, heard, effects, tuple(_wrong(before, after, outcome, effects)))


def _wrong(
    before: Sequence[Any], after: Sequence[Any], outcome: Outcome, effects: tuple[int, int]
) -> Iterator[str]:
    """What a caller, or who pays for the calls, has a right to complain of."""
    if max(effects) > 1:
        yield f"a call was made twice: {effects}"
    heard = [heard.text for heard in outcome.heard]
    greeted = any(r.get("trigger") == "playout_started" for r in before)
    if greeted and any(GREETING in text for text in heard):
        yield "a second greeting"
    if sum(SORRY in text for text in heard) > 1:
        yield "two apologies"
    if not any("pleasure" in text.lower() or "help" in text for text in heard):
        yield "what the caller said to the next worker was not answered"
    said = [m.text_content for m in outcome.history.messages() if m.role == "user"]
    for words in _words(before):
        if not any(words in (text or "") for text in said):
            yield f"words are lost: {words!r}"
    if outcome.history.messages() and said.count(LATE) > 2:
        yield "words are there twice"
    made = {r["data"]["name"] for r in before if r.get("note") == "tool_started"}
    told = " ".join(m.text_content or "" for m in outcome.history.messages())
    for name in made:
        if f"The {name} is" not in told:
            yield f"nobody has told what became of {name}"
    if problems := [e.what for e in outcome.events if e.lane in ("error", "warning")]:
        yield f"logged: {problems}"
    if outcome.orphans:
        yield f"tasks are left: {outcome.orphans}"


def _words(records: Sequence[Any]) -> list[str]:
    """What was recognised, as far as the store has it."""
    turns = [r["data"] for r in records if r.get("kept") == "turns"][-1:]
    words = [turn["uncommitted"] for turn in turns if turn["uncommitted"]]
    words += [waiting["text"] for turn in turns for waiting in turn["waiting"]]
    items = [r["data"]["item"] for r in records if r.get("kept") == "item"]
    return words + [" ".join(item["content"]) for item in items if item.get("role") == "user"]


def _written(guest: Guest) -> list[Any]:
    store = SqliteStore(guest.path)
    try:
        store.path.stat()
        with store._transaction(durable=False) as connection:
            found = connection.execute("SELECT body FROM record ORDER BY epoch, n")
            return [json.loads(body) for (body,) in found]
    except FileNotFoundError:
        return []  # nothing was written yet
    finally:
        store.close()


def _kind(place: Place) -> str:
    if any(GREETING in text for text in place.heard):
        return "began again"
    if any("perhaps" in text for text in place.heard):
        return "said that it is not known what became of a call"
    if any(SORRY in text for text in place.heard):
        return "apologised and went on"
    return "went on without a word about it"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make crash", description=__doc__)
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first record")
    parser.add_argument("--to", dest="last", type=int, default=10_000, help="the last record")
    parser.add_argument("--step", type=int, default=1, help="every so many records")
    parser.add_argument("--seconds", type=float, default=300.0, help="stop after so long")
    policies = ("detach", "hold", "finish", "cancel")
    parser.add_argument("--policy", choices=policies, default="detach", help="of the two tools")
    parser.add_argument("--show", action="store_true", help="print every place")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
