"""The benchmark measures engines that do the same thing."""

import pytest

from bench.__main__ import agree, measure
from bench.engines import ENGINES, Engine


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_goes_round_the_same_cycle(name: str) -> None:
    """An engine passes the same states twice, so a cycle ends where it begins."""
    engine = ENGINES[name]()
    agree(name, engine)
    agree(name, engine)


def test_an_engine_that_goes_elsewhere_is_not_measured() -> None:
    """A wrong state stops the benchmark and names engine, trigger and both states."""
    lost = Engine(lambda trigger: None, lambda: "listening")
    with pytest.raises(SystemExit, match="lost: turn_committed led to listening, not to thinking"):
        agree("lost", lost)


def test_the_figures_are_relative_to_the_floor() -> None:
    """Every engine has a time and a ratio; the floor's ratio is one."""
    figures = measure(rounds=1, cycles=1)
    assert list(figures) == list(ENGINES)
    assert next(iter(figures.values()))["ratio"] == 1
    assert all(figure["ns"] > 0 for figure in figures.values())
