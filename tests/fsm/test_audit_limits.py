"""The limits of the states, judged against what has happened."""

from __future__ import annotations

from turnfsm.fsm import Machine, parse_flow
from turnfsm.fsm.audit.properties import Judge
from turnfsm.fsm.journal import Entry

FLOW, _ = parse_flow("flow: mine\nextends: turn\nlimits: brisk\n")
assert FLOW is not None

HEARD = ((0.0, "step_started"), (0.0, "start_playout"), (0.0, "playout_started"))

PAUSED = (*HEARD, (1.0, "user_started_speaking"), (1.5, "barge_in"), (1.5, "output_paused"))


def overstayed(*moves: tuple[float, str]) -> list[str]:
    """What the judge says about limits if these triggers come at these seconds."""
    machine, judge = Machine(FLOW), Judge(FLOW, FLOW.timers)
    machine.set_host_facts({"interruptible": True, "pausable": True, "results_available": True})
    names = machine.program.names
    found = []
    for seq, (t, trigger) in enumerate(moves, 1):
        verdict = machine.step(trigger)
        entry = Entry(seq, t, trigger, None, names(machine.facts), verdict, None, {})
        found += [b.what for b in judge.entry(entry) if b.property == "no_dead_floor"]
    return found


def test_a_state_that_is_held_longer_than_its_limit_is_found() -> None:
    """A timer that does not fire."""
    late = FLOW.timers["thinking_limit"] + 1.0
    (line,) = overstayed((0.0, "step_started"), (late, "user_started_speaking"))
    assert line.startswith(f"thinking lasted for {late:.3f} s after the start of thinking_limit")


def test_a_limit_counts_from_the_last_progress() -> None:
    """It starts again, though its state is not entered."""
    limit = FLOW.timers["speaking_limit"]
    going_on = (*HEARD, (limit - 1.0, "step_progressed"))
    assert overstayed(*going_on, (2 * limit - 2.0, "user_started_speaking")) == []
    assert len(overstayed(*going_on, (2 * limit, "user_started_speaking"))) == 1


def test_another_timer_that_starts_again_does_not_prolong_a_limit() -> None:
    """The end of a sound starts false_interruption again; pause_limit runs on."""
    limit = FLOW.timers["pause_limit"]
    first_sound_ended = (*PAUSED, (limit - 1.0, "user_stopped_speaking"))
    assert overstayed(*first_sound_ended) == []
    (line,) = overstayed(*first_sound_ended, (limit + 2.0, "user_started_speaking"))
    assert line.startswith(f"paused lasted for {limit + 0.5:.3f} s after the start of pause_limit")
