"""The property `no_silence_longer_than`: a user who waits for the agent hears something in time.

The user waits while their turn is open, the reply to it has not started, a step holds the floor, a
tool call blocks the turn, or the results are there and the step that uses them has not started. The
silence ends when audio starts, or when the flow chooses an action that says a text. Output that is
held or paused because of the user's voice does not count: `no_dead_floor` bounds that time. A step
that was interrupted is not waited for.
"""

from __future__ import annotations

from turnfsm.fsm.flow import Flow, in_words
from turnfsm.fsm.source import Path

from .leads import Outcome, comes
from .restless import Wait
from .space import StateSpace
from .turn import CONFIRMING, REQUESTED

__all__ = ["NO_SILENCE", "rows_of", "unheard", "unheard_advice"]

NO_SILENCE = "no_silence_longer_than"

_AT_WORK = ("step_running", "unreleased", "reply_due")
_UP_TO_THE_USER = ("endpointing", "answer_pending")
"""While one of these is true, the agent waits for the user."""


def unheard(model: StateSpace, seconds: float) -> Wait:
    """The wait of a user who hears nothing."""
    flow, bits = model.flow, model.bits
    audible = {name for name, action in flow.actions.items() if action.audible}
    opened, stopped = bits.mask(["~turn_open", f"~{REQUESTED}"]), bits.mask(["~step_stopped"])
    at_work = bits.mask(f"~{name}" for name in _AT_WORK)
    idle = bits.mask(["~heard", "~paused", "~output_held"])
    idle |= bits.mask(name for name in ("on_hold",) if name in flow.facts)
    voice = bits.mask(["~user_speaking"])

    def waits(node: int) -> bool:
        works = model.state(node) != flow.initial and node & at_work and not node & stopped
        confirming = model.state(node) == CONFIRMING
        return bool(node & opened or works) and not (confirming or node & idle)

    return Wait(
        NO_SILENCE,
        f"something is heard within {in_words(seconds)}",
        lambda node: waits(node) and not node & voice,
        lambda state, actions: bool(audible & {*actions}),
        comes("turn_committed"),
        builtin=False,
        at_most=seconds,
        free=voice,
        reads=opened | stopped | at_work | idle,
        denied=bits.mask(n for n in _UP_TO_THE_USER if n in flow.host_facts),
        granted=bits.mask(n for n in ("can_say",) if n in flow.host_facts),
        lasts=waits,
    )


def unheard_advice(flow: Flow, outcome: Outcome) -> str:
    """What to write so that the agent says something in time."""
    seconds = flow.properties.no_silence_longer_than or 0.0
    if outcome.timers:
        names = ", ".join(dict.fromkeys(outcome.timers))
        return f"make shorter: {names}; or allow {outcome.seconds:g}"
    quiet = [timer for timer in flow.lasting if any(_says(flow, timer))]
    if not quiet:
        return (
            f"add 'never_silent: {{after: {seconds:g}, say: TEXT, give_up: TEXT}}': "
            "its timer continues whatever other triggers come"
        )
    moves = [edge[3] for _, edge in outcome.moves]
    states = [*filter(None, (outcome.end, *(move.dest for move in reversed(moves))))]
    for state in states:
        if quiet[0] not in flow.states[state].after:
            return f"say something in {state!r}, too: add {quiet[0]!r} to its 'after'"
    for _, edge in outcome.again:
        if quiet[0] in edge[3].restarts:
            return f"do not let {edge[3].trigger!r} restart {quiet[0]!r}: the user does not hear it"
    within = " and ".join(repr(state) for state in dict.fromkeys(states[:2]))
    return f"let {quiet[0]!r} say something in {within}, whatever the host answers"


def rows_of(flow: Flow, outcome: Outcome) -> list[Path]:
    """The rows that repeat while nothing is heard."""
    rows = {row.id: row.path for row in flow.rows()}
    taken = [edge[3].taken for _, edge in outcome.again]
    return [
        *dict.fromkeys(
            rows[verdict.row] for verdict in taken if verdict is not None and verdict.row
        )
    ]


def _says(flow: Flow, timer: str) -> list[str]:
    return [
        action
        for row in flow.rows()
        if row.trigger == timer
        for action in row.transition.actions
        if flow.actions[action].audible
    ]
