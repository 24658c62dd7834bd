"""Built-in properties of a turn, written as declared ones for provers that know only those."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.flow import Flow, LeadsTo, Never, Properties

__all__ = ["with_turn_claims"]

_NEVER = (
    Never(
        action="start_preemptive_generation",
        when=("tools_running",),
        name="no_speculation_while_a_tool_runs",
    ),
    Never(
        action="resume_output",
        unless=("playout_started",),
        name="no_resume_of_a_silent_step",
    ),
    Never(
        action="request_reply",
        when=("result_uncommitted",),
        name="no_request_before_the_results",
    ),
    Never(
        action="start_output",
        when=("user_speaking", "interruptible", "holdable"),
        unless=("playout_started", "user_silent"),
        name="no_playout_over_the_user",
    ),
)
_SETTLES = LeadsTo("interrupted", "listening", "settle", name="an_interruption_settles")


def with_turn_claims(flow: Flow) -> Properties:
    """What a flow declares and, for a turn, those of the ten that a flow could declare itself.

    They are weaker than the built-in ones: these look at the facts of the flow.
    """
    held = flow.properties
    if flow.kind != "turn":
        return held
    said = {*held.waived, *(p.name for p in held.leads_to)}
    said |= {p.name for p in held.never} | {p.name for p in held.always}
    never = tuple(p for p in _never(flow) if p.name not in said and _fits(flow, p))
    settles = {"interrupted", "listening"} <= {*flow.states} and "settle" in flow.timers
    leads = (_SETTLES,) if settles and _SETTLES.name not in said else ()
    return attrs.evolve(held, never=(*held.never, *never), leads_to=(*held.leads_to, *leads))


def _never(flow: Flow) -> Iterator[Never]:
    """A host that does not answer for `user_silent` has no user who is silent inside a turn."""
    asked = "user_silent" in flow.host_facts
    for body in _NEVER:
        kept = tuple(fact for fact in body.unless if asked or fact != "user_silent")
        yield attrs.evolve(body, unless=kept)


def _fits(flow: Flow, body: Never) -> bool:
    return body.action in flow.actions and {*body.when, *body.unless} <= {*flow.facts}
