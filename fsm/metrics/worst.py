"""The moment at which a conversation went worst."""

from __future__ import annotations

from collections.abc import Iterable

from .values import Refusal, Response, Silence, Value

__all__ = ["worst_moment"]


def worst_moment(values: Iterable[Value]) -> float | None:
    """The second of a conversation to look at first.

    This is the start of the longest silence in which somebody waited for the agent. Without such a
    silence it is the slowest response, counted from the end of the user's voice; without a response
    it is the first refusal.

    Args:
        values: What was measured, for example by `values_of`.

    Returns:
        Seconds from the start of the journal; None if there is none of these.

    Example:
        >>> from turnfsm.fsm.metrics import Response, worst_moment
        >>> worst_moment([Response(2.0, 2.6), Response(9.0, 12.0)])
        9.0
    """
    values = list(values)
    waits = [v for v in values if isinstance(v, Silence) and v.cause != "nothing_asked"]
    if waits:
        return max(waits, key=lambda silence: silence.seconds).start
    responses = [v for v in values if isinstance(v, Response)]
    if responses:
        return max(responses, key=lambda response: response.seconds).at
    return next((v.at for v in values if isinstance(v, Refusal)), None)
