"""Which seeds `make soak ARGS=--pairs` plays, and what it keeps for the next soak."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pairs
import pytest


def soak(state: Path, **words: Any) -> list[int]:
    """The seeds that were judged; nothing is played."""
    given = {"first": None, "fresh": False, "count": 2, "schedule": 0, "jobs": 1, **words}
    played: list[int] = []

    def judge(plans: Any, jobs: int) -> tuple[int, int]:
        played.extend(int(re.findall(r"\d+", plan.name)[0]) for plan in plans)
        return len(played), 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "_play", judge)
        pairs.play_seeds(argparse.Namespace(state=state, minutes=1.0, pairs=True, **given))
    return played


def test_a_soak_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    """`--fresh` begins with seed 1 again."""
    state = tmp_path / ".soak" / "progress.json"
    assert soak(state) == [1, 2]
    assert soak(state) == [3, 4]
    assert soak(state, fresh=True) == [1, 2]


@pytest.mark.parametrize("first", [0, 475])
def test_seeds_that_are_asked_for_leave_the_next_soak_where_it_was(
    tmp_path: Path, first: int
) -> None:
    """`--first N` plays from N, also from 0, and the soak after it does not notice."""
    state = tmp_path / "progress.json"
    soak(state)
    assert soak(state, first=first) == [first, first + 1]
    assert json.loads((tmp_path / "pairs.json").read_text(encoding="utf-8")) == {"next_seed": 3}
    assert soak(state) == [3, 4]
