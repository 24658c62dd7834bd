"""Random conversations: see docs/soak.md. Each run draws new ones, and prints the first seed."""

from __future__ import annotations

import argparse
import secrets
import time
from collections.abc import Iterator
from itertools import count, islice

import attrs
from livekit.agents import AgentSession
from memory import objects_per_turn
from oracles import judge
from pairs import play_one, play_seeds, play_sweep
from reach import Coverage
from talk import Played, draw_talk, play

from turnfsm.fsm import load_flow
from turnfsm.livekit import TurnSession

JOURNAL_TURNS = 300
"""Turns after which the journal that is kept in memory no longer grows."""

SPEECH = 1.0
"""Objects that a speech has more on `TurnSession`: Python 3.11 makes a dict for an object whose
class is set. LiveKit keeps every speech."""

SCATTER = 0.5
"""Objects per turn: asyncio removes cancelled timers late."""


def main() -> int:
    """Play until the time is over; 1 if something was found."""
    words = _words()
    if words.memory:
        return _memory(words.memory)
    if words.sweep:
        return play_sweep(words)
    if words.first is None:
        words.first = secrets.randbelow(2**32)
    if words.pipecat:
        from pipelines import play_pipelines  # Pipecat need not be installed for the rest

        return play_pipelines(words)
    if words.seed is not None:
        return play_one(words) if words.pairs else _one(words.seed, words.schedule, words.show)
    print(f"the first seed is {words.first}; --first {words.first} plays these again", flush=True)
    found = 0 if words.pairs else _flow(words)
    return found if words.flow else max(found, play_seeds(words))


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make soak ARGS=", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to play (5)")
    parser.add_argument("--count", type=int, help="how many conversations, instead")
    parser.add_argument("--first", type=int, help="begin with this seed (a random one)")
    parser.add_argument("--seed", type=int, help="play this conversation only")
    parser.add_argument("--schedule", type=int, default=0, help="in this order of tasks (0)")
    parser.add_argument("--show", action="store_true", help="print its script and timeline too")
    parser.add_argument("--flow", action="store_true", help="under the rules of the flow only")
    parser.add_argument("--pairs", action="store_true", help="on both sessions only")
    parser.add_argument("--pipecat", action="store_true", help="in a pipeline of Pipecat only")
    parser.add_argument("--sweep", action="store_true", help="interruptions at every moment")
    parser.add_argument("--every", type=float, default=0.05, help="seconds between moments (0.05)")
    parser.add_argument("--only", default="", help="of --sweep, what has this in its name")
    parser.add_argument("--jobs", type=int, default=2, help="processes for all but --flow (2)")
    parser.add_argument("--shrink", action="store_true", help="of --pairs --seed, the simplest")
    parser.add_argument("--rates", action="store_true", help="write the rates of --pairs")
    parser.add_argument("--memory", type=int, help="objects a turn, over so many turns, on both")
    return parser.parse_args()


def _memory(turns: int) -> int:
    """What each turn leaves behind, once the journal in memory is full."""
    sessions = (AgentSession, TurnSession)
    stock, ours = (objects_per_turn(session, turns, JOURNAL_TURNS) for session in sessions)
    print(f"{ours:.1f} objects a turn, on AgentSession {stock:.1f}, over {turns} turns")
    return int(ours > stock + SPEECH + SCATTER)


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


@attrs.define
class _Tally:
    """What was played under the rules of the flow."""

    coverage: Coverage
    conversations: int = 0
    turns: int = 0
    calls: int = 0
    seconds: float = 0.0
    found: int = 0

    def play(self, seed: int, schedule: int) -> None:
        """Play one conversation, and print what is wrong."""
        played, problems = _judged(seed, schedule)
        self.conversations += 1
        if played is not None:
            self.turns += sum(r.get("note") == "turn" for r in played.records)
            self.calls += len(played.session.ledger)
            self.seconds += played.talk.seconds
            self.coverage.add(played.records)
        if problems:
            self.found += 1
            print(f"--seed {seed} --schedule {schedule}", *problems, sep="\n  ", flush=True)

    def __str__(self) -> str:
        return (
            f"{self.conversations} conversations, {self.seconds / 3600:.1f} h of talk, "
            f"{self.turns} turns, {self.calls} tool calls; {self.found} with problems\n"
            f"{self.coverage.text()}"
        )


def _flow(words: argparse.Namespace) -> int:
    """Each conversation in asyncio's order, then in another one; for half of the time."""
    tally = _Tally(Coverage(load_flow("turn"), {}, {}))
    until = time.monotonic() + words.minutes * 60 * (1.0 if words.flow else 0.5)
    for seed in islice(count(words.first), words.count):
        if words.count is None and time.monotonic() > until:
            break
        tally.play(seed, 0)
        tally.play(seed, seed)
    print(tally)
    return int(bool(tally.found))


def _judged(seed: int, schedule: int) -> tuple[Played | None, list[str]]:
    try:
        played = play(draw_talk(seed), schedule)
    except Exception as error:
        return None, [f"it ends with {type(error).__name__}: {str(error)[:300]}"]
    return played, judge(played)
