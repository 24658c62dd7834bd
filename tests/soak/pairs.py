"""The differential soak and the sweeps: every conversation on both sessions; see docs/soak.md."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, count, islice
from pathlib import Path

import attrs
from livekit.agents import AgentSession

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit.differential import (
    Judged,
    Plan,
    Worse,
    answer_plans,
    draw_plan,
    judge_plan,
    judge_plans,
    objects_per_turn,
    shrink,
    sweep_plans,
)

JOURNAL_TURNS = 300
"""Turns after which the journal that is kept in memory no longer grows."""

SPEECH = 1.0
"""Objects that a speech has more on `TurnSession`: Python 3.11 makes a dict for an object whose
class is set. LiveKit keeps every speech."""

SCATTER = 0.5
"""Objects per turn: asyncio removes cancelled timers late."""


def play_seeds(words: argparse.Namespace) -> int:
    """Random plans, from where the last soak stopped, or from the seed that is asked for."""
    state: Path = words.state.with_name("pairs.json")
    first = 1 if words.first is None else words.first
    if words.first is None and state.exists() and not words.fresh:
        first = json.loads(state.read_text(encoding="utf-8"))["next_seed"]
    plans = (draw_plan(seed, words.schedule) for seed in count(first))
    if words.count is not None:
        plans = islice(plans, words.count)  # type: ignore[assignment]
    judged, found = _play(_until(plans, words), words.jobs)
    if words.first is None:
        state.parent.mkdir(parents=True, exist_ok=True)
        state.write_text(json.dumps({"next_seed": first + judged}), encoding="utf-8")
    return found


def play_sweep(words: argparse.Namespace) -> int:
    """Every moment of an answer and of a tool call, every interruption, tool and policy."""
    plans = chain(answer_plans(every=words.every), sweep_plans(every=words.every))
    chosen = (plan for plan in plans if words.only is None or words.only in plan.name)
    return _play(islice(chosen, words.count), words.jobs)[1]


def measure_memory(turns: int) -> int:
    """What each turn leaves behind, once the journal in memory is full."""
    sessions = (AgentSession, TurnSession)
    stock, ours = (objects_per_turn(session, turns, JOURNAL_TURNS) for session in sessions)
    print(f"{ours:.1f} objects a turn, on stock {stock:.1f}, over {turns} turns")
    return int(ours > stock + SPEECH + SCATTER)


def play_one(words: argparse.Namespace) -> int:
    """One seed again, with its script; with `--shrink` the simplest that is wrong likewise."""
    plan = draw_plan(words.seed, words.schedule)
    judged = judge_plan(plan, TurnSession)
    if words.shrink and judged.worse:
        kind = judged.worse[0].kind
        plan = shrink(plan, lambda p: kind in {w.kind for w in judge_plan(p, TurnSession).worse})
        judged = judge_plan(plan, TurnSession)
    print(plan.text(), *judged.worse or ["nothing is worse"], sep="\n")
    return int(bool(judged.worse))


@attrs.define
class Counted:
    """In how many conversations something was worse, and what."""

    where: str
    conversations: int = 0
    kinds: Counter[str] = attrs.field(factory=Counter)

    def add(self, found: Iterable[Worse]) -> None:
        kinds = {w.kind for w in found}
        self.conversations += bool(kinds)
        self.kinds.update(kinds)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {n}" for kind, n in self.kinds.most_common()) or "none"
        return f"{self.where}: {self.conversations} ({kinds})"


def _until(plans: Iterable[Plan], words: argparse.Namespace) -> Iterator[Plan]:
    ends = time.monotonic() + 60 * words.minutes * (1.0 if words.pairs else 0.5)
    for plan in plans:
        if words.count is None and time.monotonic() > ends:
            return
        yield plan


def _play(plans: Iterable[Plan], jobs: int) -> tuple[int, int]:
    """How many were played, and whether something was worse."""
    ours, stock = Counted("TurnSession"), Counted("AgentSession")
    explained = Counted("TurnSession, explained by the table in docs/livekit.md")
    played, seconds = 0, 0.0
    for judged in judge_plans(plans, TurnSession, jobs=jobs):
        played, seconds = played + 1, seconds + judged.seconds
        ours.add(judged.worse)
        explained.add(judged.explained)
        stock.add(judged.on_stock)
        if judged.worse:
            print(_line(judged), flush=True)
    each = f"{seconds / max(1, played):.2f} s of a core each"
    print(f"{played} conversations on both sessions, {each}; worse on")
    print(*(f"  {counted}" for counted in (ours, explained, stock)), sep="\n")
    return played, int(bool(ours.conversations))


def _line(judged: Judged) -> str:
    again = judged.plan.name.replace("seed ", "--pairs --seed ")
    return f"{again}  {'; '.join(map(str, judged.worse))}"
