"""A wait is bounded whatever keeps happening, or the counterexample says what goes on forever."""

from __future__ import annotations

import pytest
from proved import TURN, flow_of, shipped

from turnfsm.fsm import Machine, Taken
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import Report

ROOM = """
flow: room
initial: calm
facts:
  session:
    noisy: {set_by: sound, cleared_by: silence}
    heard: {set_by: silence, cleared_by: question}
  host: {shut: It is late.}
events: {question, sound, silence, token, leave}
timers: {wait: 0.5, limit: 4.0}
states:
  calm:
    on: {question: {dest: asked}}
  asked:
    on:
      silence: {unless: heard, restarts: wait}
      leave: {dest: hall}
    after:
      wait: {dest: calm, unless: noisy}
      limit: {dest: calm}
  hall: {on: {question: {dest: asked}}, after: {limit: {dest: asked}}}
properties:
  leads_to:
    it_is_answered: {from: asked, to: calm, until: [leave, question]}
"""


def _report(old: str = "", new: str = "") -> Report:
    assert old in ROOM
    return check_flow(flow_of(ROOM.replace(old, new)))


def test_a_lasting_timer_bounds_states_that_are_entered_again_and_again() -> None:
    """Any other timer starts anew with each of them."""
    again = ROOM.replace("silence: {unless: heard, restarts: wait}", "token: {dest: asked}")
    assert "token can come again" in _says(check_flow(flow_of(again)))
    lasts = f"{again}lasting: limit\n"
    assert _says(check_flow(flow_of(lasts))) == "at most 4 s (limit 4)"
    anew = lasts.replace("token: {dest: asked}", "token: {dest: asked, restarts: limit}")
    assert "token can come again" in _says(check_flow(flow_of(anew)))


def _says(report: Report) -> str:
    (verdict,) = (v for v in report.properties if v.name == "it_is_answered")
    if verdict.result == "holds":
        return verdict.detail
    (finding,) = (f for f in report.findings if f.code == "it_is_answered")
    return finding.message


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("", "", "at most 4 s (limit 4)"),
        ("unless: noisy}", "unless: shut}", "at most 4 s (limit 4)"),
        ("wait: {dest: calm, unless: noisy}", "wait: {dest: calm}", "at most 1 s (wait 0.5 + wait"),
        ("silence: {unless: heard, restarts: wait}", "silence: {restarts: wait}", "at most 4 s"),
        ("restarts: wait}", "restarts: [wait, limit]}", "at most 8 s (limit 4 + limit 4)"),
        (
            "silence: {unless: heard, restarts: wait}",
            "silence: {restarts: [wait, limit]}",
            "silence",
        ),
        (
            "silence: {unless: heard, restarts: wait}",
            "token: {dest: asked}",
            "token can come again",
        ),
        ("until: [leave, question]", "until: question", "leave, limit can come again and again"),
        ("      limit: {dest: calm}\n", "", "no timer leaves asked: wait is refused (noisy)"),
    ],
    ids=[
        "one timer is not restarted",
        "the host may refuse a timer forever",
        "restarted once",
        "restarted again and again, beside a limit",
        "the limit is restarted once",
        "the limit is restarted again and again",
        "the state is entered again and again",
        "the way back is not excluded",
        "a timer that a fact may hold back forever",
    ],
)
def test_a_wait_is_as_long_as_the_timers_that_nothing_restarts(
    old: str, new: str, says: str
) -> None:
    """Sounds, silences and tokens may come at any moment; `until` names what ends the wait."""
    assert says in _says(_report(old, new))


def test_the_counterexample_can_be_repeated() -> None:
    """A machine takes its moves, and the last of them once more."""
    report = _report(
        "silence: {unless: heard, restarts: wait}", "silence: {restarts: [wait, limit]}"
    )
    ((finding, way),) = report.traces.items()
    assert finding.code == "it_is_answered"
    assert "can repeat forever" in way.quiet[0]
    machine = Machine(
        flow_of(ROOM.replace("unless: heard, restarts: wait", "restarts: [wait, limit]"))
    )
    for step in (*way.steps, way.steps[-1]):
        verdict = machine.step(step.trigger, step.of)
        assert isinstance(verdict, Taken)
    assert machine.state == "asked"
    assert "limit" in verdict.restarts


WAITS = "restarts: [transcript_wait, false_interruption, noise_limit]"
HELD = (
    f"      user_stopped_speaking: {{conditions: output_held, unless: first_sound_ended, {WAITS}}}"
)
ANEW = "      user_stopped_speaking: {dest: thinking, conditions: output_held}"
PAUSED = (
    "      user_stopped_speaking: "
    "{unless: first_sound_ended, restarts: [false_interruption, noise_limit]}"
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (HELD, HELD.replace(", unless: first_sound_ended", "")),
        (HELD, ANEW),
        (PAUSED, PAUSED.replace("unless: first_sound_ended, ", "")),
        (PAUSED, ANEW.replace("thinking, conditions: output_held", "paused")),
    ],
    ids=["each sound restarts", "each enters thinking", "each pause", "each pause is entered"],
)
def test_a_turn_that_noise_can_silence_is_refuted_with_the_conversation(old: str, new: str) -> None:
    """A sound, a silence, a sound, a silence, and so on: the reply is ready and never heard."""
    assert TURN.count(old) == 1
    report = check_flow(flow_of(TURN.replace(old, new)))
    found = [f for f in report.findings if "and no timer ends the wait" in f.message]
    assert {finding.code for finding in found} == {"no_dead_floor"}
    for finding in found:
        triggers = [step.trigger for step in report.traces[finding].steps]
        assert triggers[-2:] == ["user_started_speaking", "user_stopped_speaking"]


def test_a_ready_reply_waits_no_longer_than_two_noise_limits() -> None:
    """Held output and paused audio: one from the moment at which it was held back, one from the end
    of the first sound after it. Not counted is the time in which a voice is heard."""
    details = {v.name: v.detail for v in shipped("turn").properties}
    assert details["no_dead_floor"].endswith("; at most 5 s (noise_limit 2.5 + noise_limit 2.5)")


DARK = """
flow: dark
initial: dark
facts: {session: {seen: {set_by: flash}}}
events: {switched_on, flash, switched_off}
timers: {bulb: 1.0}
states:
  dark: {on: {switched_on: {dest: lit}}}
  lit: {on: {flash: {}, switched_off: {dest: out}}, after: {bulb: {dest: dark}}}
  out: {is: Nobody is in.}
properties: {leads_to: {it_goes_out: {from: lit, to: out}}}
"""


def test_a_counterexample_leads_into_the_state_that_no_timer_leaves() -> None:
    """Also if it is the initial state, with no fact true."""
    traces = check_flow(flow_of(DARK)).traces
    (way,) = (way for finding, way in traces.items() if finding.code == "it_goes_out")
    assert way.quiet == ("no timer leaves dark",)
    assert [step.state for step in way.steps] == ["lit", "dark"]
