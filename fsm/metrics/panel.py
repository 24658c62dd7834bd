"""The interaction panel of tau-voice, computed from who spoke when.

The definitions are those of tau2-bench (Sierra Research, MIT licence), version 1.0 of its
interaction metrics: docs/observe.md describes them. The code is our own; tests compare it with the
figures that tau2-bench gives for the recorded simulations in its repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from statistics import fmean
from typing import TypeVar

import attrs

__all__ = ["FIGURES", "TICK", "Panel", "PanelCounts", "Tick", "panel", "spans_of"]

Time = TypeVar("Time", int, float)

TICK = 0.2
"""The length of a tick, in seconds."""

_YIELD, _TALK_ON, _IGNORE = 2.0, 1.0, 2.0
"""Time limits in seconds: to stop for an interruption; to talk through a sound; to ignore it."""

_SOUNDS = (("vocal_tic", "vocal_tics"), ("non_directed", "non_directed"))
"""The kinds of sounds, and what counts them."""


@attrs.frozen
class Tick:
    """A fifth of a second of a conversation.

    Attributes:
        user, agent: The user or the agent speaks.
        backchannel: A backchannel of the user begins in this tick.
        sounds: Vocal tics (``vocal_tic``) and speech to somebody else (``non_directed``) in this
            tick, each with a text that distinguishes it from the next one.

    Example:
        >>> from turnfsm.metrics import Tick
        >>> Tick(user=True).agent
        False
    """

    user: bool = False
    agent: bool = False
    backchannel: bool = False
    sounds: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class PanelCounts:
    """How many events the rates of the panel are based on.

    Attributes:
        responses: Turns of the user.
        yields: Interruptions by the user.
        backchannels: Backchannels over the agent.
        vocal_tics: Vocal tics.
        non_directed: Speech to somebody else.
        agent_interrupts: Times that the agent began to speak over the user.
    """

    responses: int = 0
    yields: int = 0
    backchannels: int = 0
    vocal_tics: int = 0
    non_directed: int = 0
    agent_interrupts: int = 0


@attrs.frozen
class Panel:
    """The interaction panel of tau-voice. A figure is None if there is nothing to count.

    Attributes:
        response_latency: L_R, mean seconds from the end of a user's turn to the agent's response.
        yield_latency: L_Y, mean seconds from a user's interruption until the agent stops.
        response_rate: R_R, the share of the user's turns that got a response before the user spoke
            again.
        yield_rate: R_Y, the share of interruptions after which the agent stopped within 2 s.
        agent_interruption_rate: I_A, how often the agent began to speak over the user, per turn.
        backchannels_ignored, vocal_tics_ignored, non_directed_ignored: S_BC, S_VT, S_ND, the share
            of sounds not meant for the agent that did not change what it did.
        counts: How many events these are based on.
    """

    response_latency: float | None
    yield_latency: float | None
    response_rate: float | None
    yield_rate: float | None
    agent_interruption_rate: float | None
    backchannels_ignored: float | None
    vocal_tics_ignored: float | None
    non_directed_ignored: float | None
    counts: PanelCounts


FIGURES = (
    ("L_R", "response latency", "response_latency", "responses"),
    ("L_Y", "yield latency", "yield_latency", "yields"),
    ("R_R", "response rate", "response_rate", "responses"),
    ("R_Y", "yield rate", "yield_rate", "yields"),
    ("I_A", "agent interrupts", "agent_interruption_rate", "responses"),
    ("S_BC", "backchannels", "backchannels_ignored", "backchannels"),
    ("S_VT", "vocal tics", "vocal_tics_ignored", "vocal_tics"),
    ("S_ND", "not to the agent", "non_directed_ignored", "non_directed"),
)
"""Each figure of the panel: the symbol of tau-voice, a name, and the attributes that have its value
and what it is based on. The latencies, L, are in seconds; all others are shares."""


@attrs.frozen
class _Span:
    """Consecutive ticks with speech or a sound; `end` is the first tick after them."""

    start: int
    end: int
    backchannel: bool = False
    kinds: frozenset[str] = frozenset()


Event = tuple[str, float | None]
"""A field of `PanelCounts`, and the seconds that the event took; None if it failed."""


def panel(conversations: Iterable[Sequence[Tick]]) -> Panel:
    """The panel of tau-voice over conversations.

    Args:
        conversations: The ticks of each conversation, in order.

    Returns:
        The panel.

    Example:
        >>> from turnfsm.metrics import Tick, panel
        >>> spoken = [Tick(user=True)] * 5 + [Tick()] * 5 + [Tick(agent=True)] * 5 + [Tick()]
        >>> round(panel([spoken]).response_latency, 3)
        1.0
    """
    found: dict[str, list[float | None]] = {field.name: [] for field in attrs.fields(PanelCounts)}
    for ticks in conversations:
        for what, seconds in _events(_without_hangup(ticks)):
            found[what].append(seconds)
    counts = PanelCounts(**{what: len(events) for what, events in found.items()})
    done = {what: [s for s in events if s is not None] for what, events in found.items()}

    def rate(what: str, of: str | None = None) -> float | None:
        total = len(found[of or what])
        return len(done[what]) / total if total else None

    return Panel(
        response_latency=fmean(done["responses"]) if done["responses"] else None,
        yield_latency=fmean(done["yields"]) if done["yields"] else None,
        response_rate=rate("responses"),
        yield_rate=rate("yields"),
        agent_interruption_rate=rate("agent_interrupts", of="responses"),
        backchannels_ignored=rate("backchannels"),
        vocal_tics_ignored=rate("vocal_tics"),
        non_directed_ignored=rate("non_directed"),
        counts=counts,
    )


def _without_hangup(ticks: Sequence[Tick]) -> Sequence[Tick]:
    """Without the last user tick of a simulation, which only marks the end."""
    if len(ticks) >= 2 and ticks[-1].user and not ticks[-2].user:
        return ticks[:-1]
    return ticks


def _events(ticks: Sequence[Tick]) -> Iterator[Event]:
    users = list(_spans(ticks, lambda tick: tick.user))
    agents = list(_spans(ticks, lambda tick: tick.agent))
    yield from _responses(ticks, users, agents)
    for user in users:
        yield from _interruption(ticks, user, agents)
    yield from (("agent_interrupts", 0.0) for agent in agents if ticks[agent.start].user)
    for sound in _sounds_apart(ticks):
        yield from _sound(sound, agents)


def _ignored(kind: str, ignored: bool) -> Event:
    return kind, 0.0 if ignored else None


def _spans(ticks: Sequence[Tick], speaks: Callable[[Tick], bool]) -> Iterator[_Span]:
    for start, end in spans_of(enumerate(map(speaks, ticks)), len(ticks)):
        kinds = frozenset(kind for tick in ticks[start:end] for kind, _ in tick.sounds)
        yield _Span(start, end, ticks[start].backchannel, kinds)


def spans_of(moments: Iterable[tuple[Time, bool]], end: Time) -> Iterator[tuple[Time, Time]]:
    """The spans in which a condition holds.

    Args:
        moments: Times in order, each with whether the condition holds from then on.
        end: The end of the last span, if the condition still holds.
    """
    since: Time | None = None
    for t, holds in moments:
        if holds and since is None:
            since = t
        elif not holds and since is not None:
            yield since, t
            since = None
    if since is not None:
        yield since, end


def _at(ticks: Sequence[Tick], n: int) -> Tick:
    return ticks[n] if n < len(ticks) else Tick()


def _responses(ticks: Sequence[Tick], users: list[_Span], agents: list[_Span]) -> Iterator[Event]:
    turns = [u for u in users if not u.backchannel and not _at(ticks, u.end).agent]
    for turn, again in zip_longest(turns, turns[1:]):
        answer = next((a for a in agents if a.start >= turn.end), None)
        if answer is not None and (again is None or answer.start <= again.start):
            yield "responses", (answer.start - turn.end) * TICK
        elif again is not None:
            yield "responses", None


def _kind(kinds: frozenset[str]) -> str | None:
    """The count of these sounds."""
    return next((count for kind, count in _SOUNDS if kind in kinds), None)


def _interruption(ticks: Sequence[Tick], user: _Span, agents: list[_Span]) -> Iterator[Event]:
    """A user who starts over the agent, or makes a sound while the agent is silent."""
    kind = _kind(user.kinds)
    if not ticks[user.start].agent:
        if kind is not None:
            yield _ignored(kind, not _reacts(user, agents))
        return
    kind = "backchannels" if user.backchannel else kind
    window = range(user.start, user.start + int((_YIELD if kind is None else _TALK_ON) / TICK))
    stopped = next((n for n in window if n < len(ticks) and not ticks[n].agent), None)
    if kind is not None:
        yield _ignored(kind, stopped is None)
    else:
        yield "yields", None if stopped is None else (stopped - user.start) * TICK


def _reacts(sound: _Span, agents: list[_Span]) -> bool:
    """The agent begins to speak during a sound, or soon after it."""
    last = sound.end + int(_IGNORE / TICK)
    return any(sound.start <= agent.start <= last for agent in agents)


def _sounds_apart(ticks: Sequence[Tick]) -> Iterator[_Span]:
    """The user's sounds while they do not speak."""
    open_: list[tuple[tuple[str, str], int]] = []
    for n, tick in enumerate((*ticks, Tick(user=True))):
        present = [] if tick.user else list(tick.sounds)
        still = []
        for sound, start in open_:
            if sound in present:
                present.remove(sound)
                still.append((sound, start))
            else:
                yield _Span(start, n, kinds=frozenset((sound[0],)))
        open_ = still + [(sound, n) for sound in present]


def _sound(sound: _Span, agents: list[_Span]) -> Iterator[Event]:
    kind = _kind(sound.kinds)
    if kind is None:
        return
    over = next((a for a in agents if a.start <= sound.start < a.end), None)
    if over is None:
        yield _ignored(kind, not _reacts(sound, agents))
    elif (over.end - sound.start) * TICK <= _TALK_ON:
        yield _ignored(kind, False)
