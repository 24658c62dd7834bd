"""Random conversations without end: see docs/soak.md."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from livekit.agents import AgentSession
from memory import objects_per_turn
from oracles import judge
from reach import Coverage
from talk import Played, draw_talk, play

from turnfsm.fsm import load_flow
from turnfsm.runtime.livekit import TurnSession

JOURNAL_TURNS = 300
"""Turns after which the journal that is kept in memory no longer grows."""

SPEECH = 1.0
"""Objects that a speech has more on `TurnSession`: Python 3.11 makes a dict for an object whose
class is set. LiveKit keeps every speech."""

SCATTER = 0.5
"""Objects per turn: asyncio removes cancelled timers late."""


@attrs.define
class Progress:
    """Where a soak stands; kept in a file so that the next one goes on from there."""

    path: Path
    next_seed: int = 1
    conversations: int = 0
    turns: int = 0
    calls: int = 0
    seconds: float = 0.0
    taken: dict[str, int] = attrs.field(factory=dict)
    refused: dict[str, int] = attrs.field(factory=dict)
    found: list[dict[str, Any]] = attrs.field(factory=list)

    @classmethod
    def load(cls, path: Path) -> Progress:
        fields = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return cls(path, **fields)

    def save(self) -> None:
        fields = attrs.asdict(self, filter=lambda a, _: a.name != "path")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(fields, indent=1), encoding="utf-8")
        part.replace(self.path)


def main() -> int:
    """Play until the time is over; 1 if something was found."""
    words = _words()
    if words.memory:
        return _memory(words.memory)
    if words.seed is not None:
        return _one(words.seed, words.schedule, words.show)
    progress = Progress(words.state) if words.fresh else Progress.load(words.state)
    coverage = Coverage(load_flow("turn"), progress.taken, progress.refused)
    before = len(progress.found)
    for seed, schedule in _seeds(progress, words.count, words.minutes * 60):
        _count(progress, coverage, seed, schedule)
    progress.save()
    print(_summary(progress, coverage))
    return int(len(progress.found) > before)


def _memory(turns: int) -> int:
    """What each turn leaves behind, once the journal in memory is full."""
    sessions = (AgentSession, TurnSession)
    stock, ours = (objects_per_turn(session, turns, JOURNAL_TURNS) for session in sessions)
    print(f"{ours:.1f} objects a turn, on AgentSession {stock:.1f}, over {turns} turns")
    return int(ours > stock + SPEECH + SCATTER)


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak ARGS=", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to play (5)")
    parser.add_argument("--count", type=int, help="how many conversations, instead")
    parser.add_argument("--state", type=Path, default=Path(".soak/progress.json"))
    parser.add_argument("--fresh", action="store_true", help="begin with seed 1 again")
    parser.add_argument("--seed", type=int, help="play this conversation only")
    parser.add_argument("--schedule", type=int, default=0, help="in this order of waking (0)")
    parser.add_argument("--show", action="store_true", help="print its script and timeline too")
    parser.add_argument("--memory", type=int, help="objects a turn, over so many turns, on both")
    return parser.parse_args()


def _one(seed: int, schedule: int, show: bool) -> int:
    talk = draw_talk(seed)
    played, problems = _judged(seed, schedule)
    if show:
        print(talk.text())
        if played is not None:
            print("\n".join(line for _, line in sorted(_lines(played), key=lambda line: line[0])))
    print("\n".join(problems) or "nothing is wrong")
    return int(bool(problems))


def _lines(played: Played) -> Iterator[tuple[float, str]]:
    for event in played.outcome.events:
        yield event.at, str(event)
    for record in played.records:
        if "trigger" in record:
            how = ", ".join(record.get("actions", ())) or record.get("why", "")
            move = f"{record['state']} -> {record['dest']}"
            yield record["t"], f"{record['t']:7.3f}  turn     {record['trigger']}: {move} {how}"


def _seeds(progress: Progress, count: int | None, seconds: float) -> Iterator[tuple[int, int]]:
    """Each conversation in asyncio's order, then in one that is drawn."""
    until = time.monotonic() + seconds
    played = 0
    while played < count if count is not None else time.monotonic() < until:
        seed = progress.next_seed
        yield seed, 0
        yield seed, seed
        progress.next_seed += 1
        played += 1
        if played % 20 == 0:
            progress.save()


def _count(progress: Progress, coverage: Coverage, seed: int, schedule: int) -> None:
    played, problems = _judged(seed, schedule)
    progress.conversations += 1
    if played is not None:
        progress.turns += sum(r.get("note") == "turn" for r in played.records)
        progress.calls += len(played.session.ledger)
        progress.seconds += played.talk.seconds
        coverage.add(played.records)
        progress.taken, progress.refused = dict(coverage.taken), dict(coverage.refused)
    if problems:
        progress.found.append({"seed": seed, "schedule": schedule, "problems": problems})
        print(f"--seed {seed} --schedule {schedule}", *problems, sep="\n  ", flush=True)


def _judged(seed: int, schedule: int) -> tuple[Played | None, list[str]]:
    try:
        played = play(draw_talk(seed), schedule)
    except Exception as error:
        return None, [f"it ends with {type(error).__name__}: {str(error)[:300]}"]
    return played, judge(played)


def _summary(progress: Progress, coverage: Coverage) -> str:
    return (
        f"{progress.conversations} conversations, {progress.seconds / 3600:.1f} h of talk, "
        f"{progress.turns} turns, {progress.calls} tool calls; "
        f"{len(progress.found)} with problems\n{coverage.text()}"
    )
