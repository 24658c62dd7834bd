"""Disables features for which the installed livekit-agents lacks names. LiveKit decides there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from turnfsm.runtime.livekit_contract import FEATURES, PRIVATE_NAMES, check

from .activity import GovernedActivity
from .recognition import GovernedRecognition
from .run import GovernedRun
from .session import GovernedSession
from .speech import GovernedHandle
from .tools import GovernedExecutor

__all__ = ["LEFT_OUT"]

_GOVERNED = (
    *(GovernedActivity, GovernedExecutor, GovernedHandle),
    *(GovernedRecognition, GovernedRun, GovernedSession),
)


def _nothing(*_: Any, **__: Any) -> None:
    """Do nothing."""


_NEVER = SimpleNamespace(set=_nothing, is_set=lambda: False)

_REPLACEMENTS: Mapping[str, tuple[tuple[type, str, Any], ...]] = {
    "speculation": (
        (GovernedActivity, "_cancel_preemptive_generation", _nothing),
        (GovernedActivity, "_preemptive_generation", None),
    ),
    "interruption_detector": ((GovernedActivity, "_interruption_detector", None),),
    "silences": ((GovernedActivity, "_user_silence_event", _NEVER),),
    "realtime": (
        (GovernedActivity, "_rt_session", None),
        (GovernedActivity, "_rt_turn_detection_enabled", False),
    ),
    "turn_detection": (
        (GovernedActivity, "fallen_silent", _nothing),
        (GovernedActivity, "heard_again", _nothing),
    ),
    "agent_state": ((GovernedSession, "publish", _nothing),),
    "limits": ((GovernedHandle, "_mark_generation_done", _nothing),),
}
"""Replacements for the names of a disabled feature that other features use: our names, or LiveKit's
missing ones."""


def _leave_out(features: Iterable[str]) -> Mapping[str, str]:
    for feature in features:
        for row in PRIVATE_NAMES:
            if row.feature == feature:
                for governed in _overriding(row.owner, row.name):
                    delattr(governed, row.name)
        for governed, name, value in _REPLACEMENTS.get(feature, ()):
            if any(name in vars(ours) for ours in _ours(governed)) or not hasattr(governed, name):
                setattr(governed, name, value)
    return MappingProxyType({feature: FEATURES[feature].what for feature in features})


def _overriding(owner: str, name: str) -> Iterator[type]:
    for governed in _GOVERNED:
        if any(base.__name__ == owner.rpartition(":")[2] for base in governed.__mro__):
            yield from (ours for ours in _ours(governed) if name in vars(ours))


def _ours(governed: type) -> Iterator[type]:
    return (cls for cls in governed.__mro__ if cls.__module__.startswith(f"{__package__}."))


LEFT_OUT = _leave_out(dict.fromkeys(lost.feature for lost in check(strict=False)))
"""The features that are not governed with this livekit-agents, with their guarantees."""
