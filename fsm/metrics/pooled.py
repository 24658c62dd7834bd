"""The panel of several conversations, from the panel of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from .panel import Panel, PanelCounts

__all__ = ["pooled"]


def pooled(panels: Iterable[Panel]) -> Panel:
    """Combine the panels of single conversations. Each event counts the same.

    Args:
        panels: One panel for each conversation.

    Returns:
        The panel of all of them, equal to `panel` of their ticks but for rounding.

    Example:
        >>> from turnfsm.fsm.metrics.panel import Tick, panel
        >>> from turnfsm.fsm.metrics.pooled import pooled
        >>> quick = [Tick(user=True), Tick(agent=True), Tick()]
        >>> slow = [Tick(user=True), Tick(), Tick(), Tick(agent=True), Tick()]
        >>> round(pooled([panel([quick]), panel([slow])]).response_latency, 3)
        0.2
    """
    all_ = list(panels)
    names = [field.name for field in attrs.fields(PanelCounts)]
    counts = PanelCounts(*(sum(getattr(one.counts, name) for one in all_) for name in names))
    answered = [(one.response_rate or 0.0) * one.counts.responses for one in all_]
    stopped = [(one.yield_rate or 0.0) * one.counts.yields for one in all_]

    def mean(rate: str, weights: Sequence[float]) -> float | None:
        known = [(getattr(one, rate), w) for one, w in zip(all_, weights, strict=True) if w]
        total = sum(weight for _, weight in known)
        return sum(value * weight for value, weight in known) / total if total else None

    def share(rate: str, count: str) -> float | None:
        return mean(rate, [getattr(one.counts, count) for one in all_])

    return Panel(
        response_latency=mean("response_latency", answered),
        yield_latency=mean("yield_latency", stopped),
        response_rate=share("response_rate", "responses"),
        yield_rate=share("yield_rate", "yields"),
        agent_interruption_rate=(
            counts.agent_interrupts / counts.responses if counts.responses else None
        ),
        backchannels_ignored=share("backchannels_ignored", "backchannels"),
        vocal_tics_ignored=share("vocal_tics_ignored", "vocal_tics"),
        non_directed_ignored=share("non_directed_ignored", "non_directed"),
        counts=counts,
    )
