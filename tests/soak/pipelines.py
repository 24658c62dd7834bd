"""`make soak ARGS=--pipecat`: conversations in a pipeline of Pipecat; see docs/soak.md."""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import count, islice

from differential.facts import Finding
from differential.on_pipecat import draw_for_pipecat, findings, play
from loguru import logger

__all__ = ["play_pipelines"]

Found = tuple[str, tuple[Finding, ...], tuple[Finding, ...]]
"""The name of a script, and what is wrong with it on Pipecat alone, and governed."""


def play_pipelines(words: argparse.Namespace) -> int:
    """Random scripts, every other one in another order of tasks; 1 if something was found."""
    if words.seed is not None:
        return _one(words.seed, words.schedule, words.show)
    print(f"the first seed is {words.first}; --first {words.first} plays these again", flush=True)
    ends = time.monotonic() + 60 * words.minutes
    played, alone, governed = 0, 0, 0
    for name, stock, ours in _found(islice(count(words.first), words.count), words.jobs):
        played, alone, governed = played + 1, alone + bool(stock), governed + bool(ours)
        if ours:
            print(f"--pipecat {name}", *ours, sep="\n  ", flush=True)
        if words.count is None and time.monotonic() > ends:
            break
    print(f"{played} conversations in a pipeline: found in {governed}, on Pipecat alone in {alone}")
    return int(bool(governed))


def _found(seeds: Iterable[int], jobs: int) -> Iterator[Found]:
    seeds = iter(seeds)
    with multiprocessing.get_context("fork").Pool(jobs, _quiet, maxtasksperchild=200) as pool:
        while batch := list(islice(seeds, 8 * jobs)):
            yield from pool.imap_unordered(_judge, batch)


def _judge(seed: int) -> Found:
    script = draw_for_pipecat(seed, seed * (seed % 2))
    stock, ours = (findings(play(script, governed=governed)) for governed in (False, True))
    return script.name, stock, ours


def _one(seed: int, schedule: int, show: bool) -> int:
    _quiet()
    script = draw_for_pipecat(seed, schedule)
    played = play(script)
    print(script.text(), *[played.outcome.timeline()] * show, sep="\n")
    found = findings(played)
    print(*found or ["nothing is wrong"], sep="\n")
    return int(bool(found))


def _quiet() -> None:
    """What LiveKit and Pipecat log is looked at, not printed."""
    logging.lastResort = None
    warnings.simplefilter("ignore")
    logger.disable("pipecat")
