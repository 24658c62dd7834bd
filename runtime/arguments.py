"""Checks the arguments that an application passes to a runtime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from turnfsm.fsm import Flow, TurnfsmError, UnknownName
from turnfsm.fsm.errors import closest
from turnfsm.fsm.flow import NEVER

if TYPE_CHECKING:
    from .journal import Sink

__all__ = ["check_count", "check_keywords", "check_limits", "check_sinks", "check_timers"]

_LONGEST = 86_400


def check_count(name: str, value: int, usual: int = 4096) -> int:
    """The value of an argument, if it is a positive whole number.

    Raises:
        TurnfsmError: It is not. The message gives `usual` as an example.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TurnfsmError(
            f"{name} is {_shown(value)}; give a whole number from 1 on: {name}={usual}"
        )
    return value


def check_keywords(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Check the names of keyword arguments that are passed on.

    Raises:
        TypeError: The function has no such keyword. The message says which one was probably meant.
    """
    known = list(known)
    for name in given:
        if name not in known:
            meant = closest(name, known)
            remedy = f"; did you mean {meant!r}?" if meant else ""
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{remedy}")


def check_timers(flow: Flow, timers: Mapping[str, float] | None) -> dict[str, float]:
    """Check the seconds that override those of the flow, by timer.

    Raises:
        UnknownName: The flow has no timer of this name.
        TurnfsmError: It does not map timers to seconds.
    """
    if timers is None:
        return {}
    if not isinstance(timers, Mapping):
        raise TurnfsmError(
            f"timers is {_shown(timers)}; give timers and seconds: timers={{'settle': 0.5}}"
        )
    for name, seconds in timers.items():
        if name not in flow.settable:
            raise UnknownName("timer", name, flow.name, flow.settable)
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not (0 < seconds < _LONGEST or seconds == NEVER):
            raise TurnfsmError(
                f"timer {name!r} is {_shown(seconds)}; "
                f"give 0 < seconds < {_LONGEST}, or math.inf if it is never to fire"
            )
    return dict(timers)


def check_limits(flow: Flow, limits: str | None) -> dict[str, float]:
    """The seconds that a set of limits gives to a flow's timers that are ``never``.

    Raises:
        UnknownName: The flow has no such set.
    """
    if limits is None:
        return {}
    if limits not in flow.limit_sets:
        raise UnknownName("set of limits", limits, flow.name, flow.limit_sets)
    return dict(flow.limited(limits))


def check_sinks(sinks: Iterable[Sink] | None) -> tuple[Sink, ...]:
    """Check the sinks of a journal.

    Raises:
        TurnfsmError: It is not a list of sinks.
    """
    if sinks is None:
        return ()
    if _is_sink(sinks):
        raise TurnfsmError(f"sinks is one {type(sinks).__name__}; give a list: sinks=[...]")
    if isinstance(sinks, str | bytes) or not isinstance(sinks, Iterable):
        raise TurnfsmError(f"sinks is {_shown(sinks)}; {_SINKS}")
    checked = tuple(sinks)
    for sink in checked:
        if not _is_sink(sink):
            raise TurnfsmError(f"{_shown(sink)} is not a sink; {_SINKS}")
    return checked


_SINKS = "give a list of sinks: sinks=[JsonlSink('journals/')]"


def _is_sink(value: Any) -> bool:
    named = (getattr(value, name, None) for name in ("write", "close"))
    return not isinstance(value, type) and all(map(callable, named))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
