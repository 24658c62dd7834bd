"""A timer that fires may set and clear facts, like any trigger that is taken."""

from __future__ import annotations

import asyncio

from calls import flow_of

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import parse_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.interop.machine_out import to_transitions
from turnfsm.fsm.interop.promela import to_promela
from turnfsm.fsm.journal import replay
from turnfsm.runtime.testing.clock import VirtualClock

SILENT = """\
flow: silent
initial: waiting
facts:
  session:
    reminded: {set_by: silence, cleared_by: spoke}
events: {spoke: The caller has said something.}
timers: {silence: 5.0}
actions: {remind: Ask whether the caller is there., hang_up: End the call.}
states:
  waiting:
    on:
      spoke: {dest: waiting}
    after:
      silence:
        - {dest: over, conditions: reminded, actions: hang_up}
        - {dest: waiting, actions: remind}
  over: {final: true}
properties:
  leads_to:
    a_silent_caller_is_let_go: {from: waiting, to: over, until: spoke}
"""


class Caller:
    """Carries the actions out."""

    def remind(self, event: Event) -> None:
        """Nobody listens."""

    def hang_up(self, event: Event) -> None:
        """Nobody is there."""


async def test_the_second_silence_is_another_one(virtual_time: VirtualClock) -> None:
    """The first one is remembered until the caller speaks, and the journal replays."""
    flow = flow_of(SILENT)
    turn = TurnRuntime(flow, Caller())
    turn.start()
    await asyncio.sleep(6)
    assert turn.facts == ("reminded",)
    turn.post("spoke")
    assert turn.facts == ()
    await asyncio.sleep(10.5)
    assert turn.state == "over"
    taken = [e.verdict.actions for e in turn.journal if e.trigger == "silence"]
    assert taken == [("remind",), ("remind",), ("hang_up",)]
    assert replay(turn.journal.read(), flow) is None
    await turn.aclose()


def test_the_proof_follows_the_fact() -> None:
    """Through the runs without events, too: a caller who stays silent is let go after two."""
    report = check_flow(flow_of(SILENT))
    assert report.ok, report.findings
    bounds = {result.name: result.detail for result in report.properties}
    assert bounds["a_silent_caller_is_let_go"] == "at most 10 s (silence 5 + silence 5)"
    never = SILENT.replace("silence, cleared_by: spoke", "spoke, cleared_by: silence")
    (finding,) = check_flow(flow_of(never)).findings
    assert finding.code == "a_silent_caller_is_let_go"
    assert "silence can come again and again, and no timer ends the wait" in finding.message


def test_other_tools_follow_it() -> None:
    """A machine of `transitions` hangs up, too."""
    flow = flow_of(SILENT)
    machine = to_transitions(flow)
    for _ in range(2):
        assert machine.model.trigger("silence")  # type: ignore[union-attr]
    assert machine.model.state == "over"  # type: ignore[union-attr]
    assert 'printf("waiting.silence.1\\n"); f_reminded = true' in to_promela(flow)


def test_a_misspelt_timer_is_an_error() -> None:
    """With the timer that was meant."""
    _, (finding,) = parse_flow(SILENT.replace("set_by: silence", "set_by: silense"))
    assert finding.remedy == "did you mean 'silence'?"
