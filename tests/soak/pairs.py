"""`make soak ARGS=--pairs` and `--sweep`: conversations on both sessions; see docs/soak.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path

from differential.draw import draw_script
from differential.many import findings, judge, judge_all, shrink
from differential.play import play
from differential.rates import RECORD, Rates, worse
from differential.script import Script
from differential.sweep import sweep

from turnfsm.livekit import TurnSession

__all__ = ["play_one", "play_seeds", "play_sweep"]

PAGE = Path(__file__).parents[2] / "docs" / "soak.md"


def play_seeds(words: argparse.Namespace) -> int:
    """Random scripts, every other one in another order of tasks; 1 if something was found, or the
    rates have become worse."""
    scripts = (draw_script(seed, seed * (seed % 2)) for seed in count(words.first))
    rates, found = _play(_until(scripts, words), words.jobs)
    print(rates.table())
    if words.rates:
        rates.write(RECORD, PAGE, words.first)
    more = worse(rates)
    print(*(f"more often than recorded: {line}" for line in more), sep="\n", end="\n" * bool(more))
    return int(bool(found or more))


def play_sweep(words: argparse.Namespace) -> int:
    """Every moment of a tool call and of an answer, every interruption, tool and policy."""
    chosen = (script for script in sweep(words.every) if words.only in script.name)
    return int(bool(_play(islice(chosen, words.count), words.jobs)[1]))


def play_one(words: argparse.Namespace) -> int:
    """One seed again; with `--shrink` the simplest that is wrong in the same way."""
    script = draw_script(words.seed, words.schedule)
    judged = judge(script)
    if words.shrink and judged.found:
        kind = judged.found[0].kind
        script = shrink(script, lambda s: kind in {f.kind for f in findings(play(s, TurnSession))})
        judged = judge(script)
    print(script.text())
    if words.show:
        print(play(script, TurnSession).outcome.timeline())
    print(*judged.found or ["nothing is wrong"], sep="\n")
    return int(bool(judged.found))


def _until(scripts: Iterable[Script], words: argparse.Namespace) -> Iterator[Script]:
    ends = time.monotonic() + 60 * words.minutes * (1.0 if words.pairs else 0.5)
    for script in islice(scripts, words.count):
        if words.count is None and time.monotonic() > ends:
            return
        yield script


def _play(scripts: Iterable[Script], jobs: int) -> tuple[Rates, int]:
    """The rates, and in how many conversations something was found."""
    rates, found, seconds = Rates(), 0, 0.0
    for judged in judge_all(scripts, jobs=jobs):
        rates.add(judged.stock, judged.ours)
        found, seconds = found + bool(judged.found), seconds + judged.seconds
        if judged.found:
            print(f"--pairs {judged.script.name}", *judged.found, sep="\n  ", flush=True)
    each = f"{seconds / max(1, rates.conversations):.2f} s of a core each"
    print(f"{rates.conversations} conversations on both sessions, {each}; found in {found}")
    return rates, found
