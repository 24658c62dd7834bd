from __future__ import annotations

import re
import warnings
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of what Pipecat imports
    from clerk import Clerk

from loguru import logger

from turnfsm import parse_flow
from turnfsm.pipecat import TurnGovernor
from turnfsm.testing import run

PAGE = (Path(__file__).parents[2] / "docs" / "pipecat.md").read_text("utf-8")


def play(governed: bool) -> Clerk:
    logger.disable("pipecat")
    clerk = Clerk(governed)
    try:
        run(clerk.take_call())
    finally:
        logger.enable("pipecat")
    return clerk


def test_a_caller_who_coughs_gets_the_transfer_and_hears_the_answer():
    clerk = play(governed=True)

    messages = [m for m in clerk.context.messages if isinstance(m, dict)]
    said = [m["content"] for m in messages if m["role"] == "assistant" and "content" in m]
    assert clerk.transfers == [50]
    assert said[1:] == ["Your fifty euros are on their way to Anna.", "You are welcome."]
    pauses = [b.start - a.end > 0.5 for a, b in pairwise(clerk.loudspeaker.played)]
    assert sum(pauses) >= 3  # before the answer, in it, and before the next


def test_the_page_shows_how_the_call_goes():
    """Two timers end the pause at the same time; either may be the first."""
    shown = re.findall(r"^ {8}(\w+) -> (\w+)$", PAGE, re.MULTILINE)
    moves = [tuple(move.split(" -> ")) for move in play(governed=True).moves[: len(shown)]]
    differ = {pair for pair in zip(moves, shown, strict=True) if pair[0] != pair[1]}
    assert len(shown) > 10
    assert differ <= {(("endpointing_ended", "speaking"), ("false_interruption", "speaking"))}


def test_the_flow_of_the_page_governs():
    (quick,) = re.findall(r"```yaml\n(flow: quick.*?)```", PAGE, re.DOTALL)
    flow, _ = parse_flow(quick)
    assert flow is not None
    assert TurnGovernor(flow).turn.state == "listening"


def test_on_pipecat_alone_the_cough_cancels_the_transfer():
    clerk = play(governed=False)

    assert clerk.transfers == []
