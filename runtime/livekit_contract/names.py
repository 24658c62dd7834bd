"""The features of turnfsm on LiveKit, and the private names of livekit-agents that they need.

`names.yaml` lists them. A feature is lost if one of its names disappears. `docs/livekit.md` shows
them. A test checks that the list is complete.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, cast

from turnfsm.fsm.load.yaml12 import read_table

__all__ = ["FEATURES", "ORDERS", "PRIVATE_NAMES", "Feature", "Order", "PrivateName"]

Kind = Literal["method", "property", "attribute", "global", "call", "task"]


class Feature(NamedTuple):
    """A feature of `TurnSession`.

    Attributes:
        what: Its guarantee.
        essential: No session runs without it, even if `strict=False`.
    """

    what: str
    essential: bool = False


class PrivateName(NamedTuple):
    """One name: where it is, of what kind, what it is used for, and the feature that needs it.

    `takes` are the parameters of a method or function, in order; an ellipsis at the end allows
    more. A `call` is a function of LiveKit's that the owner, itself a function, calls. A `task` is
    the name that a method of the owner gives to a task. `instead` is the owner and the name in
    livekit-agents 2.0, if they differ.
    """

    owner: str
    name: str
    kind: Kind
    why: str
    feature: str
    takes: str = ""
    instead: tuple[str, str] | None = None


class Order(NamedTuple):
    """A method whose code has `first` before `then`."""

    owner: str
    name: str
    first: tuple[str, ...]
    then: tuple[str, ...]
    why: str
    feature: str


def _names(feature: str, tables: Mapping[str, Mapping[str, str]]) -> Iterator[PrivateName]:
    for place, names in tables.items():
        owner, kind = place.rsplit(" ", 1)
        for written, why in names.items():
            left, _, later = written.partition(" -> ")
            elsewhere, _, renamed = later.rpartition(".")
            name, _, takes = left.partition("(")
            instead = (elsewhere or owner, renamed) if renamed else None
            yield PrivateName(owner, name, cast(Kind, kind), why, feature, takes[:-1], instead)


def _order(of: Mapping[str, Any]) -> Order:
    return Order(**{**of, "first": tuple(of["first"]), "then": tuple(of["then"])})


_FILE: Any = read_table(Path(__file__).with_name("names.yaml"))

FEATURES = MappingProxyType(
    {
        name: Feature(of["what"], of.get("essential", False))
        for name, of in _FILE["features"].items()
    }
)
"""By name."""

PRIVATE_NAMES = tuple(
    row for name, of in _FILE["features"].items() for row in _names(name, of["names"])
)

ORDERS = tuple(map(_order, _FILE["orders"]))
