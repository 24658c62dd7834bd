"""The properties that a flow declares."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from .fields import Names, described, doc, loaded

__all__ = ["Always", "LeadsTo", "Never", "Properties"]


@described
@attrs.frozen
class Never:
    """A state that the flow must not be in, or an action that it must not choose, while some facts
    hold.

    Example:
        >>> from turnfsm import load_flow
        >>> [one.action for one in load_flow("session").properties.never]
        ['begin_run', 'end_run', 'end_asked_run']
    """

    action: str | None = doc("The action that must not be chosen ...", default=None)
    state: str | None = doc("... or the state that the flow must not be in ...", default=None)
    when: Names = doc("... while these facts are true ...", default=())
    unless: Names = doc("... and these are false.", default=())
    because: str = doc("Why, in one sentence; reports repeat it.", default="")
    name: str = loaded("The name of the property.", default="", kw_only=True)


@described
@attrs.frozen
class Always:
    """Facts that always hold in a state.

    Example:
        >>> from turnfsm import load_flow
        >>> [one.state for one in load_flow("turn").properties.always]
        ['paused', 'speaking']
    """

    state: str = doc("In this state ...")
    when: Names = doc("... these facts are true ...", default=())
    unless: Names = doc("... and these are false.", default=())
    because: str = doc("Why, in one sentence; reports repeat it.", default="")
    name: str = loaded("The name of the property.", default="", kw_only=True)


@described
@attrs.frozen
class LeadsTo:
    """A state that timers reach, whatever keeps happening.

    Example:
        >>> from turnfsm import LeadsTo
        >>> LeadsTo("speaking", "listening", within="speaking_limit", name="ends").to
        'listening'
    """

    from_: str = doc("From this state ...", yaml="from")
    to: str = doc("... this one is reached ...")
    within: str | None = doc("... no later than this timer's seconds ...", default=None)
    until: Names = doc(
        "... unless one of these triggers comes first. All others may come again and again.",
        default=(),
    )
    because: str = doc("Why, in one sentence; reports repeat it.", default="")
    name: str = loaded("The name of the property.", default="", kw_only=True)


@attrs.frozen
class Properties:
    """What must hold; proved before the flow runs.

    Attributes:
        never: What must not happen.
        always: What holds in a state.
        leads_to: What timers alone reach.
        no_silence_longer_than: Seconds: no silence is longer while the user waits.
        waived: Built-in properties that the flow does not have to satisfy, each with the reason.

    Example:
        >>> from turnfsm import load_flow
        >>> list(load_flow("push_to_talk").properties.waived)
        ['no_effect_over_the_user', 'no_playout_over_the_user']
    """

    never: tuple[Never, ...] = ()
    always: tuple[Always, ...] = ()
    leads_to: tuple[LeadsTo, ...] = ()
    waived: Mapping[str, str] = attrs.field(factory=dict)
    no_silence_longer_than: float | None = None
