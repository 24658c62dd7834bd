"""The delays that a caller notices: how long silences last, and how soon a wait is ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

import attrs

from turnfsm.fsm.bounds import AT_LEAST, BOUNDS
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import Flow, Names
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .explore import Exploration
from .leads import comes, either, judge, ready_reply, settles, total
from .restless import Wait
from .space import StateSpace
from .turn import missing

__all__ = ["Delay", "delays_of", "unmet", "worse"]

LONGER = 10.0
"""A silence that is this many times longer than in the base gets a warning."""

PATIENT = 10.0
"""Ending a wait sooner than after this many seconds gets a warning, since AgentSession would
wait."""

MUCH_LONGER = 100.0
"""A timer that is this many times longer than in the base was probably meant in milliseconds."""

LONGEST_PAUSE = 600.0
_LONGEST = {"after": LONGEST_PAUSE, "limit": 6 * LONGEST_PAUSE}
"""More seconds than these in a key of a section, `limit` of `hold`, were probably meant in
milliseconds, too."""

END_OF_SPEECH = 0.55
"""Seconds of silence after which Silero reports the end of speech on LiveKit."""

_LIMITS = {"tool_running": "tool_limit", "thinking": "thinking_limit"}
_VOICE = ("user_started_speaking", "user_stopped_speaking", "barge_in")
_GIVES_UP = {
    "for_a_model": ("thinking", ("force_interrupt", "interrupt_speech")),
    "for_a_tool": ("tool_running", ("give_up_tools", "unblock_tools")),
    "for_an_answer": ("listening", ("drop_turn",)),
}


@attrs.frozen
class Delay:
    """One of the delays that a caller notices.

    Attributes:
        name: Its name in ``bounds``.
        seconds: At most, or for ``for_...`` at least; infinite if nothing limits it.
        timers: The timers that add up to it.
        base: The seconds in the flow that this one extends; None if it extends none.
    """

    name: str
    seconds: float
    timers: Names = ()
    base: float | None = None

    def line(self, flow: str = "") -> str:
        """The delay in words, compared with that of the flow with this name."""
        most = "at least" if self.name in AT_LEAST else "at most"
        text = "no limit" if self.seconds == inf else f"{most} {self.seconds:g} s"
        if self.base is not None and self.base != self.seconds:
            text += f" (in {flow}: {'no limit' if self.base == inf else f'{self.base:g} s'})"
        return f"{text}, {BOUNDS[self.name]}"


def delays_of(model: StateSpace, exploration: Exploration) -> Iterator[Delay]:
    """All delays that a caller notices, as far as the flow has the names for them."""
    if model.flow.kind != "turn" or missing(model.flow, "no_dead_floor"):
        return
    waits: dict[str, list[Wait]] = {}
    for name, wait in _waits(model):
        waits.setdefault(name, []).append(wait)
    for name, several in waits.items():
        outcomes = [judge(model, exploration, wait) for wait in several]
        longest = max(outcomes, key=lambda outcome: outcome.seconds)
        if longest.seconds or longest.node is not None:
            yield Delay(name, longest.seconds, longest.timers)
    for name, (state, actions) in _GIVES_UP.items():
        if state in model.flow.states:
            yield _patience(model.flow, name, state, actions)


def _patience(flow: Flow, name: str, state: str, actions: Names) -> Delay:
    rows = [r for r in flow.rows(state) if r.timer and {*actions} & {*r.transition.actions}]
    timers = sorted({row.trigger for row in rows}, key=flow.timers.__getitem__)
    first = timers[0] if timers else None
    return Delay(name, flow.timers[first] if first else inf, (first,) if first else ())


def _waits(model: StateSpace) -> Iterator[tuple[str, Wait]]:
    ghosts, host = model.bits.ghosts, model.bits.facts
    for state, wait in ready_reply(model):
        yield "after_noise", wait
        rests = comes(*_VOICE, "start_playout", "step_progressed", "output_released")
        quiet = attrs.evolve(
            wait,
            over=either(wait.over, rests),
            denied=sum(host[name] for name in ("endpointing",) if name in model.flow.host_facts),
        )
        long = host.get("barged_in", 0)
        for name, barged in (("after_a_short_sound", 0), ("after_a_long_sound", long)):
            if barged or (state == "thinking" and name == "after_a_short_sound"):
                yield name, _starting(quiet, ghosts["user_speaking"] | long, barged)
    yield from (("after_an_interruption", wait) for wait in settles(model))
    bit = ghosts["step_running"]
    yield (
        "after_a_tool",
        Wait(
            "no_dead_floor",
            "the floor is free",
            lambda node: not node & bit,
            lambda state, actions: state != "thinking",
            comes("step_started"),
            reads=bit,
            denied=sum(host[name] for name in ("model_replies",) if name in model.flow.host_facts),
            states=("thinking",),
        ),
    )


def _starting(wait: Wait, mask: int, want: int) -> Wait:
    before = wait.start
    return attrs.evolve(
        wait,
        start=lambda node: before(node) and node & mask == want,
        reads=wait.reads | mask,
    )


def unmet(flow: Flow, times: Iterable[Delay]) -> Iterator[tuple[str, str, str]]:
    """Each declared bound: its name, the delay, and the remedy if it is broken."""
    by_name = {delay.name: delay for delay in times}
    for name, seconds in flow.bounds.items():
        delay = by_name.get(name) or Delay(name, inf if name in AT_LEAST else 0.0)
        broken = delay.seconds < seconds if name in AT_LEAST else delay.seconds > seconds
        detail = "no limit" if delay.seconds == inf else f"{delay.seconds:g} s"
        if delay.timers and delay.seconds < inf:
            detail = total(flow, delay.timers)
        change = "longer" if name in AT_LEAST else "shorter"
        cause = ", ".join(dict.fromkeys(delay.timers)) or "what ends this wait"
        yield name, detail, f"make {cause} {change}, or change the bound" if broken else ""


def worse(flow: Flow, source: Source, base: Flow, times: tuple[Delay, ...]) -> Iterator[Finding]:
    """Warnings about delays that an edit makes ten times longer, waits that it ends early, and
    times that were probably meant in milliseconds."""
    for delay in times:
        if delay.name in flow.bounds or delay.base is None:
            continue
        if delay.name in AT_LEAST:
            silence = flow.properties.no_silence_longer_than or inf
            if delay.seconds < min(PATIENT, delay.base, silence):
                text = f"given up after {delay.seconds:g} s; AgentSession would wait"
                yield _warning(source, delay, f"{delay.name}: {text}")
        elif delay.seconds > LONGER * delay.base:
            much = f"{delay.seconds:g} s, in {base.name} {delay.base:g} s"
            yield _warning(source, delay, f"{delay.name}: {much} ({BOUNDS[delay.name]})")
    yield from _without_effect(flow, source)
    yield from _milliseconds(flow, source, base)


def _without_effect(flow: Flow, source: Source) -> Iterator[Finding]:
    """A timer that never fires because another one of the same wait is always earlier."""
    pairs = [(timer, "noise_limit") for timer in ("transcript_wait", "false_interruption")]
    for state, limit in _LIMITS.items():
        rows = flow.rows(state) if state in flow.states else ()
        timers = {row.trigger for row in rows if row.timer} - {*flow.lasting, limit, "report_after"}
        pairs += [(timer, limit) for timer in sorted(timers)]
    for name, held in flow.states.items():
        path: Path = ("states", name, "tuning", "min_silence")
        pause = held.tuning.min_silence or 0.0
        if "backchannel_after" in held.after and pause >= END_OF_SPEECH:
            yield problem(source, path, "delay.pause", pause=pause, most=END_OF_SPEECH)
    for timer, limit in pairs:
        seconds, most = flow.timers.get(timer, 0.0), flow.timers.get(limit, inf)
        if most < seconds < inf and not source.inherited(("timers", timer)):
            named = {"timer": timer, "seconds": seconds, "limit": limit, "most": most}
            yield problem(source, ("timers", timer), "delay.without_effect", **named)


def _milliseconds(flow: Flow, source: Source, base: Flow) -> Iterator[Finding]:
    """Times that are so long that they were probably meant in milliseconds."""
    usual = {
        **base.limit_sets.get("brisk", {}),
        **{n: s for n, s in base.timers.items() if s < inf},
    }
    times: dict[Path, tuple[float, float]] = {}
    sections: set[Path] = set()
    for timer, seconds in flow.timers.items():
        path: Path = ("timers", timer)
        if (place := source.path(path))[-1] in _LONGEST:
            if place not in sections:
                times[path] = seconds, _LONGEST[str(place[-1])]
            sections.add(place)
        elif timer in usual:
            times[path] = seconds, max(MUCH_LONGER * usual[timer], LONGEST_PAUSE / 6)
    for _, _, tuning, place in flow.tunings:
        for key in ("min_duration", "min_silence"):
            times[*place, key] = getattr(tuning, key) or 0.0, LONGEST_PAUSE / 10
    for path, (seconds, most) in times.items():
        if most < seconds < inf and not source.inherited(path):
            times_meant = {"minutes": seconds / 60, "meant": seconds / 1000}
            named = {"name": path[-1], "seconds": seconds, **times_meant}
            yield problem(source, path, "delay.milliseconds", **named)


def _warning(source: Source, delay: Delay, message: str) -> Finding:
    own = [timer for timer in delay.timers if not source.inherited(("timers", timer))]
    path = ("timers", own[0]) if own else ("flow",)
    remedy = f"if this is meant, say so: 'bounds: {{{delay.name}: {delay.seconds:g}}}'"
    return source.at_key(path, message, remedy, code="delay", severity="warning")
