"""The interaction panel of tau-voice, computed from who spoke when.

The definitions are those of tau2-bench (Sierra Research, MIT licence), version 1.0 of its
interaction metrics: docs/observe.md describes them. The code is our own; tests compare it with the
figures that tau2-bench gives for the recorded simulations in its repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

import attrs

from .spans import spans_of

__all__ = ["FIGURES", "TICK", "Panel", "PanelCounts", "Tick", "panel"]

TICK = 0.2
"""The length of a tick, in seconds."""

_YIELD, _TALK_ON, _IGNORE = 2.0, 1.0, 2.0
"""Time limits in seconds: to stop for an interruption; to talk through a sound; to ignore it."""


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


@attrs.define
class _Tally:
    """The events of the panel, by success and failure."""

    latencies: list[float] = attrs.field(factory=list)
    unanswered: int = 0
    yields: list[float] = attrs.field(factory=list)
    talked_through: int = 0
    agent_interrupts: int = 0
    right: dict[str, int] = attrs.field(factory=dict)
    wrong: dict[str, int] = attrs.field(factory=dict)

    def ignored(self, kind: str, ignored: bool) -> None:
        side = self.right if ignored else self.wrong
        side[kind] = side.get(kind, 0) + 1


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
    tally = _Tally()
    for ticks in conversations:
        _count(_without_hangup(ticks), tally)
    return _rates(tally)


def _without_hangup(ticks: Sequence[Tick]) -> Sequence[Tick]:
    """Without the last user tick of a simulation, which only marks the end."""
    if len(ticks) >= 2 and ticks[-1].user and not ticks[-2].user:
        return ticks[:-1]
    return ticks


def _count(ticks: Sequence[Tick], tally: _Tally) -> None:
    users = list(_spans(ticks, lambda tick: tick.user))
    agents = list(_spans(ticks, lambda tick: tick.agent))
    _count_responses(ticks, users, agents, tally)
    for user in users:
        _count_user(ticks, user, agents, tally)
    tally.agent_interrupts += sum(ticks[agent.start].user for agent in agents)
    for sound in _sounds_apart(ticks):
        _count_sound(sound, agents, tally)


def _spans(ticks: Sequence[Tick], speaks: Callable[[Tick], bool]) -> Iterator[_Span]:
    for start, end in spans_of(enumerate(map(speaks, ticks)), len(ticks)):
        kinds = frozenset(kind for tick in ticks[start:end] for kind, _ in tick.sounds)
        yield _Span(start, end, ticks[start].backchannel, kinds)


def _at(ticks: Sequence[Tick], n: int) -> Tick:
    return ticks[n] if n < len(ticks) else Tick()


def _count_responses(
    ticks: Sequence[Tick], users: list[_Span], agents: list[_Span], tally: _Tally
) -> None:
    turns = [u for u in users if not u.backchannel and not _at(ticks, u.end).agent]
    for n, turn in enumerate(turns):
        answer = next((a for a in agents if a.start >= turn.end), None)
        again = turns[n + 1] if n + 1 < len(turns) else None
        if answer is not None and (again is None or answer.start <= again.start):
            tally.latencies.append((answer.start - turn.end) * TICK)
        elif again is not None:
            tally.unanswered += 1


def _kind(kinds: frozenset[str]) -> str | None:
    return next((kind for kind in ("vocal_tic", "non_directed") if kind in kinds), None)


def _count_user(ticks: Sequence[Tick], user: _Span, agents: list[_Span], tally: _Tally) -> None:
    """Count a user who starts over the agent, or makes a sound while the agent is silent."""
    kind = _kind(user.kinds)
    if not ticks[user.start].agent:
        if kind is not None:
            last = user.end + int(_IGNORE / TICK)
            tally.ignored(kind, not any(user.start <= a.start <= last for a in agents))
        return
    kind = "backchannel" if user.backchannel else kind
    window = range(user.start, user.start + int((_YIELD if kind is None else _TALK_ON) / TICK))
    stopped = next((n for n in window if n < len(ticks) and not ticks[n].agent), None)
    if kind is not None:
        tally.ignored(kind, stopped is None)
    elif stopped is not None:
        tally.yields.append((stopped - user.start) * TICK)
    else:
        tally.talked_through += 1


def _sounds_apart(ticks: Sequence[Tick]) -> Iterator[_Span]:
    """The user's sounds while they do not speak."""
    open_: list[tuple[tuple[str, str], int]] = []
    for n, tick in enumerate((*ticks, Tick(user=True))):
        goes_on = [] if tick.user else list(tick.sounds)
        still = []
        for sound, start in open_:
            if sound in goes_on:
                goes_on.remove(sound)
                still.append((sound, start))
            else:
                yield _Span(start, n, kinds=frozenset((sound[0],)))
        open_ = still + [(sound, n) for sound in goes_on]


def _count_sound(sound: _Span, agents: list[_Span], tally: _Tally) -> None:
    kind = _kind(sound.kinds)
    if kind is None:
        return
    over = next((a for a in agents if a.start <= sound.start < a.end), None)
    if over is not None:
        if (over.end - sound.start) * TICK <= _TALK_ON:
            tally.ignored(kind, False)
        return
    last = sound.end + int(_IGNORE / TICK)
    tally.ignored(kind, not any(sound.start <= a.start <= last for a in agents))


def _rates(tally: _Tally) -> Panel:
    responses = len(tally.latencies) + tally.unanswered
    yields = len(tally.yields) + tally.talked_through
    totals = {
        kind: tally.right.get(kind, 0) + tally.wrong.get(kind, 0)
        for kind in ("backchannel", "vocal_tic", "non_directed")
    }

    def ignored(kind: str) -> float | None:
        return tally.right.get(kind, 0) / totals[kind] if totals[kind] else None

    return Panel(
        response_latency=_mean(tally.latencies),
        yield_latency=_mean(tally.yields),
        response_rate=len(tally.latencies) / responses if responses else None,
        yield_rate=len(tally.yields) / yields if yields else None,
        agent_interruption_rate=tally.agent_interrupts / responses if responses else None,
        backchannels_ignored=ignored("backchannel"),
        vocal_tics_ignored=ignored("vocal_tic"),
        non_directed_ignored=ignored("non_directed"),
        counts=PanelCounts(
            responses,
            yields,
            totals["backchannel"],
            totals["vocal_tic"],
            totals["non_directed"],
            tally.agent_interrupts,
        ),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
