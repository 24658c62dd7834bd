"""The goals, and the difference where one was missed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .engines import SESSION

__all__ = ["goals"]

Line = tuple[str, str, str, str, str]

_POST = (
    "the parts of a post cost, in multiples of if/elif: the call with `**data` and the decision "
    "1.9, the effects of two triggers in fourteen 2.0, the record 1.3, the timers of the next "
    "state 1.3, the observer 1.2, the clock 1.0. It was 12.5 before. One call less between the "
    "caller and the pump saved 1.0; calling observers inside `post`, and only if there are any, "
    "2.6; effects without a queue while nothing else runs 0.9. Three changes were not made: "
    "separate columns for times and verdicts instead of records would save 0.6, but a store needs "
    "whole records; posts without keyword arguments would save 0.5; a shorter path for posts "
    "without data would save 0.7, but then there would be two paths"
)
_COLD = (
    "an event costs several times as much as in the next table: each event is for another runtime, "
    "whose memory is not in the CPU's cache. So 10,000 runtimes need more than one core. With a "
    "tenth of the runtimes the wait is far below the limit"
)
_NOISE = "waits in real time vary by more than this on this machine"


def goals(figures: dict[str, Any]) -> Iterator[Line]:
    """For each goal: its name, limit, measured value, result, and the reason if it was missed."""
    engines = figures["engines"]["engines"]
    post = "TurnRuntime.post, journal"
    ratio = {name: one["ratio"] for name, one in engines.items()}
    yield _most("`Machine.step`, x if/elif", 2.0, ratio["Machine.step"], "")
    yield _most("post as in a session, x if/elif", 6.0, ratio[SESSION], _POST)
    for peer, times in _PEERS.items():
        yield _least(f"times faster than {peer}", times, ratio[peer] / ratio[post])
    size = figures["size"]["size"]
    machine, runtime = size["Machine"], size["TurnRuntime, empty journal"]
    yield _most("bytes of a Machine", 300, machine["bytes"], "")
    yield _most("bytes of a TurnRuntime, empty journal", 2000, runtime["bytes"], "")
    yield _most("us to make a Machine", 2.0, machine["us"], "")
    yield _most("us to make a TurnRuntime", 10.0, runtime["us"], "")
    many = figures["scale"][0]
    yield _most("p99 of post to effect, 10,000 runtimes, ms", 5.0, many["p99_ms"], _COLD)
    yield from _caller(figures["caller"])


_PEERS = {
    "transitions": 15,
    "transitions, AsyncMachine": 80,
    "python-statemachine": 150,
}


def _caller(figures: dict[str, Any]) -> Iterator[Line]:
    first = figures["end of speech to first audio"]
    for clock, sides in first.items():
        if None in sides.values():
            continue
        more = sides["TurnSession"] - sides["stock"]
        why = _NOISE if clock == "real" else ""
        yield _most(f"end of speech to first audio, {clock}, ms more", 1.0, 1000 * more, why)
        yield _most(f"the same, % more, {clock}", 0.5, 100 * more / sides["stock"], why)


def _most(what: str, limit: float, measured: float, why: str) -> Line:
    met = measured <= limit
    said = "met" if met else f"missed by {_short(measured - limit)}"
    return what, f"at most {limit:g}", _short(measured), said, "" if met else why


def _least(what: str, limit: float, measured: float) -> Line:
    met = measured >= limit
    said = "met" if met else f"missed by {_short(limit - measured)}"
    return what, f"at least {limit:g}", _short(measured), said, ""


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.2f}"
