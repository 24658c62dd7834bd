"""Checks the installed livekit-agents for the names that turnfsm needs."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import CodeType
from typing import Any, NamedTuple, TypeVar

from turnfsm.fsm.errors import TurnfsmError

from .names import FEATURES, ORDERS, PRIVATE_NAMES, Order, PrivateName

__all__ = ["SUPPORTED", "Lost", "UnsupportedLiveKit", "check", "installed", "lost"]

SUPPORTED = ">=1.8.7,<1.9"
"""The versions of livekit-agents that the binding was written for and is tested with."""

PREVIEWS = ("2.0.0b1",)
"""Pre-releases that it is tested with, too. pip does not install them unless asked to."""

_FROM, _BELOW = (1, 8, 7), (1, 9)

_Row = TypeVar("_Row", PrivateName, Order)


class UnsupportedLiveKit(TurnfsmError):
    """The installed livekit-agents is a version that turnfsm does not support."""


class Lost(NamedTuple):
    """A name that is missing or different.

    Attributes:
        feature: The feature that needs it.
        said: The difference, in one sentence.
    """

    feature: str
    said: str


def check(*, strict: bool = True) -> list[Lost]:
    """Raise if the overrides do not fit the installed livekit-agents.

    Args:
        strict: Require the version and every name. Otherwise only require the names without which
            no session can run.

    Returns:
        The tolerated differences.

    Raises:
        UnsupportedLiveKit: The message has the version, the supported range and every missing name.
    """
    found, problems = installed(), lost()
    needed = sorted({one.feature for one in problems if FEATURES[one.feature].essential})
    if not needed and (not strict or (_fits(found) and not problems)):
        return problems
    lines = [f"error: livekit-agents {found} is installed, turnfsm supports {SUPPORTED}"]
    lines += [f"  - {problem.said}" for problem in problems]
    lines.append("  = help: pip install 'turnfsm[livekit]' installs a livekit-agents that fits")
    if needed:
        lines.append(f"  = note: no session runs without {', '.join(needed)}, even if strict=False")
    else:
        lines.append("  = help: TurnSession(strict=False) runs without the features that it lacks")
    raise UnsupportedLiveKit("\n".join(lines))


def installed() -> str:
    """The version of livekit-agents."""
    try:
        return version("livekit-agents")
    except PackageNotFoundError:  # installed without pip
        return str(getattr(import_module("livekit.agents"), "__version__", "of unknown version"))


def lost() -> list[Lost]:
    """The differences from what turnfsm needs."""
    return [*_problems(_missing, PRIVATE_NAMES), *_problems(_disordered, ORDERS)]


def _fits(text: str) -> bool:
    release = re.match(r"(\d+)\.(\d+)\.(\d+)", text)
    if release is None:
        return False
    numbers = tuple(int(part) for part in release.groups())
    return text in PREVIEWS or (numbers >= _FROM and numbers[:2] < _BELOW)


def _problems(examine: Callable[[_Row], str | None], rows: Iterable[_Row]) -> Iterator[Lost]:
    return (Lost(row.feature, said) for row in rows if (said := examine(row)) is not None)


def _missing(row: PrivateName) -> str | None:
    problem = _different(row)
    if problem is not None and row.instead is not None:
        owner, name = row.instead
        if _different(row._replace(owner=owner, name=name)) is None:
            return None
    return problem


def _different(row: PrivateName) -> str | None:
    place = f"{row.owner.partition(':')[2]}.{row.name}".lstrip(".")
    try:
        owner = _resolve(row.owner)
    except (ImportError, AttributeError):
        return f"livekit.agents.{row.owner.replace(':', '.')} is missing"
    if row.kind == "method":
        return _method(owner, row, place)
    if row.kind == "call":
        if hasattr(owner, "__wrapped__") or not _reads(owner.__code__, row.name):
            return f"{row.owner.partition(':')[2]} calls no {row.name}"
        return _method(import_module(owner.__module__), row, row.name)
    if row.kind == "property":
        found = isinstance(inspect.getattr_static(owner, row.name, None), property)
    elif row.kind == "attribute":
        found = row.name in _assigned(_code(owner.__init__))
    elif row.kind == "task":
        functions = filter(inspect.isfunction, vars(owner).values())
        found = any(row.name in _code(function).co_consts for function in functions)
    else:
        found = hasattr(owner, row.name)
    return None if found else f"the {row.kind} {place} is missing"


def _method(owner: Any, row: PrivateName, place: str) -> str | None:
    function = inspect.getattr_static(owner, row.name, None)
    if not inspect.isfunction(function):
        return f"the {row.kind} {place} is missing"
    wanted, more, _ = row.takes.partition(" ...")
    names = _parameters(function)
    fits = set(wanted.split()) <= set(names) if more else wanted.split() == names
    return None if fits else f"{place} takes ({', '.join(names)}), not ({row.takes})"


def _disordered(row: Order) -> str | None:
    try:
        function = inspect.getattr_static(_resolve(row.owner), row.name)
    except (ImportError, AttributeError):
        return f"the method {row.owner.partition(':')[2]}.{row.name} is missing"
    words = _words(_code(function))
    missing = [word for word in (*row.first, *row.then) if word not in words]
    if not missing and max(map(words.index, row.first)) < min(map(words.index, row.then)):
        return None
    return f"{row.owner.partition(':')[2]}.{row.name} works in another order: {row.why}"


def _resolve(owner: str) -> Any:
    module, _, path = owner.partition(":")
    found: Any = import_module(f"livekit.agents.{module}")
    for name in filter(None, path.split(".")):
        found = getattr(found, name)
    return found


def _parameters(function: Any) -> list[str]:
    code = _code(function)
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _code(function: Any) -> CodeType:
    code: CodeType = inspect.unwrap(function).__code__
    return code


@cache
def _assigned(code: CodeType) -> frozenset[str]:
    """The attributes that a constructor sets."""
    return frozenset(i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")


@cache
def _reads(code: CodeType, name: str) -> bool:
    """Whether a function, or one in it, reads this global."""
    instructions = dis.get_instructions(code) if name in code.co_names else ()
    if any(i.opname == "LOAD_GLOBAL" and i.argval == name for i in instructions):
        return True
    return any(_reads(inner, name) for inner in code.co_consts if isinstance(inner, CodeType))


@cache
def _words(code: CodeType) -> tuple[str, ...]:
    """The names and strings in a function's code, in order."""
    return tuple(i.argval for i in dis.get_instructions(code) if isinstance(i.argval, str))
