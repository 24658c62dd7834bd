"""The arguments of a stage's session: those of the factory, those of the test, and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from livekit.agents import TurnHandlingOptions

from turnfsm.fsm import Flow, load_flow
from turnfsm.fsm.errors import near, quoted
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.errors import KitError

__all__ = ["own_settings", "session_settings", "turn_detection_of"]

_DEFAULTS: dict[str, Any] = {
    "aec_warmup_duration": None,
    "user_away_timeout": None,
}

_DEPRECATED = {
    "turn_detection": ("turn_detection",),
    "min_endpointing_delay": ("endpointing", "min_delay"),
    "max_endpointing_delay": ("endpointing", "max_delay"),
    "allow_interruptions": ("interruption", "enabled"),
    "discard_audio_if_uninterruptible": ("interruption", "discard_audio_if_uninterruptible"),
    "min_interruption_duration": ("interruption", "min_duration"),
    "min_interruption_words": ("interruption", "min_words"),
    "false_interruption_timeout": ("interruption", "false_interruption_timeout"),
    "agent_false_interruption_timeout": ("interruption", "false_interruption_timeout"),
    "resume_false_interruption": ("interruption", "resume_false_interruption"),
    "preemptive_generation": ("preemptive_generation", "enabled"),
}
"""Where `turn_handling` has what LiveKit ignores beside it."""


def own_settings(factory: Callable[..., Any]) -> dict[str, Any]:
    """The arguments that a session factory sets by itself.

    Args:
        factory: A class of sessions, or a `partial` of one.

    Returns:
        The keywords of a `partial`, and the defaults of a subclass that are not LiveKit's.
    """
    stock = inspect.signature(AgentSession).parameters
    own: dict[str, Any] = {}
    while isinstance(factory, partial):
        own = {**factory.keywords, **own}
        factory = factory.func
    for name, parameter in inspect.signature(factory).parameters.items():
        default = parameter.default
        if name in stock and default not in (parameter.empty, stock[name].default):
            own.setdefault(name, default)
    return own


def turn_detection_of(factory: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """How turns end if neither the factory nor the test says it: as the flow needs it, or by VAD.

    Args:
        factory: A class of sessions, or a `partial` of one.
        given: The arguments that the test gives to the stage.
    """
    parameter = inspect.signature(factory).parameters.get("flow")
    flow = given.get("flow", None if parameter is None else parameter.default)
    if isinstance(flow, str | Path):
        flow = load_flow(flow)
    return (flow.turn_detection if isinstance(flow, Flow) else None) or "vad"


def session_settings(
    own: Mapping[str, Any], given: Mapping[str, Any], turn_detection: str = "vad"
) -> dict[str, Any]:
    """The arguments of a session.

    Args:
        own: The arguments that the factory sets.
        given: The arguments that the test gives to the stage.
        turn_detection: How turns end if neither says it.

    Raises:
        KitError: The two contradict each other, or LiveKit would ignore a setting.
    """
    for settings in (own, given):
        for name in settings.keys() & _DEPRECATED.keys():
            where = "".join(f"[{key!r}]" for key in _DEPRECATED[name])
            raise KitError(
                f"{name} is deprecated, and LiveKit ignores it beside turn_handling, which a stage "
                f"always gives; write it as turn_handling{where}"
            )
        _check_handling(settings.get("turn_handling") or {})
    settings = _joined(own, given)
    handling = {"turn_detection": turn_detection} | (settings.get("turn_handling") or {})
    # a copy: LiveKit stores the object, and `update_options` changes it
    return _DEFAULTS | settings | {"turn_handling": deepcopy(handling)}


def _joined(own: Mapping[str, Any], given: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    joined = {**own, **given}
    for name in own.keys() & given.keys():
        ours, theirs = own[name], given[name]
        where = f"{path}[{name!r}]" if path else name
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            joined[name] = _joined(ours, theirs, where)
        elif ours is not theirs and ours != theirs:
            raise KitError(
                f"{where} is {ours!r} in the session factory and {theirs!r} in Stage(...); "
                "give it in one of them"
            )
    return joined


def _check_handling(handling: Mapping[str, Any]) -> None:
    known = TurnHandlingOptions.__annotations__
    for name in handling:
        if name not in known:
            raise KitError(f"turn_handling has no {quoted(name)}; {near(name, known)}")
