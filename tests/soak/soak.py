"""Random conversations without end: see docs/soak.md."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from oracles import judge
from pairs import measure_memory, play_one, play_seeds, play_sweep
from reach import Coverage
from talk import Played, draw_talk, play

from turnfsm.fsm import load_flow


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
        return measure_memory(words.memory)
    if words.sweep:
        return play_sweep(words)
    if words.pairs:
        return play_seeds(words) if words.seed is None else play_one(words)
    if words.seed is not None:
        return _one(words.seed, words.schedule, words.show)
    found = _flow(words)
    return max(found, play_seeds(words)) if not words.flow else found


def _flow(words: argparse.Namespace) -> int:
    """Random conversations under the oracles of the flow, for half of the time."""
    progress = Progress(words.state) if words.fresh else Progress.load(words.state)
    coverage = Coverage(load_flow("turn"), progress.taken, progress.refused)
    before = len(progress.found)
    for seed, schedule in _seeds(
        progress, words.count, words.minutes * 60 * (1 if words.flow else 0.5)
    ):
        _count(progress, coverage, seed, schedule)
    progress.save()
    print(_summary(progress, coverage))
    return int(len(progress.found) > before)


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak ARGS=", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to play (5)")
    parser.add_argument("--count", type=int, help="how many conversations, instead")
    parser.add_argument("--state", type=Path, default=Path(".soak/progress.json"))
    parser.add_argument("--fresh", action="store_true", help="begin with seed 1 again")
    parser.add_argument("--seed", type=int, help="play this conversation only")
    parser.add_argument("--schedule", type=int, default=0, help="in this order of waking (0)")
    parser.add_argument("--show", action="store_true", help="print its script and timeline too")
    parser.add_argument("--flow", action="store_true", help="under the oracles of the flow only")
    parser.add_argument("--pairs", action="store_true", help="on AgentSession too, only")
    parser.add_argument(
        "--sweep", action="store_true", help="interruptions at every moment, on both"
    )
    parser.add_argument("--memory", type=int, help="objects a turn, over so many turns, on both")
    parser.add_argument("--every", type=float, default=0.05, help="seconds between moments (0.05)")
    parser.add_argument("--only", help="of the sweep, what has this in its name")
    parser.add_argument("--first", type=int, help="of --pairs: begin with this seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes for --pairs, --sweep (2)")
    parser.add_argument("--shrink", action="store_true", help="of a seed of --pairs, the simplest")
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
