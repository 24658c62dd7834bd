"""Sweeps: `make test` plays a part of them, `make exhaustive` the rest."""

from collections.abc import Sequence
from typing import Any

import pytest

__all__ = ["swept"]


def swept(name: str, values: Sequence[Any], every: int) -> pytest.MarkDecorator:
    """A parameter that holds one in so many values, or all of them."""
    some = pytest.param(values[::every], id=f"one in {every}")
    every_one = pytest.param(values, id="all", marks=pytest.mark.exhaustive)
    return pytest.mark.parametrize(name, [some, every_one])
