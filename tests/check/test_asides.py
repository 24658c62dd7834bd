"""Facts that decide only on what is said do not make the proof larger, nor weaker."""

from __future__ import annotations

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.maker import declared_rules
from turnfsm.fsm.check.parts import Bits
from turnfsm.fsm.check.shape import aside_facts
from turnfsm.fsm.check.turn import turn_world
from turnfsm.fsm.check.turn_rules import turn_rules
from turnfsm.fsm.machine import Program

SILENCE = "silence: [{after: 8, say: One.}, {after: 8, say: Two.}]\n"
TOLD = (
    "facts: {session: {told: {set_by: told_by}}}\n"
    "timers: {told_by: 3.0}\nactions: {say_it: {say: Wait.}}\n"
)


def flow_of(text: str, base: str = "turn") -> Flow:
    return parsed(f"flow: mine\nextends: {base}\n{text}", "mine.yaml")


def asides(text: str) -> tuple[str, ...]:
    flow = flow_of(text)
    bits = Bits(Program(flow), turn_world(flow))
    return aside_facts(flow, bits, [*declared_rules(flow, bits), *turn_rules(flow, bits)])


def never(item: str) -> str:
    return f"properties: {{never: {{mine: {{{item}}}}}}}\n"


def test_a_section_does_not_multiply_the_configurations() -> None:
    report = check_flow(flow_of(SILENCE))
    assert report.findings == ()
    assert report.configurations < 1.2 * 17_352  # those of `turn`


def test_a_property_about_such_a_fact_can_fail() -> None:
    once = "silence: [{after: 8, say: One.}]\n"  # each text that is exact multiplies by four
    flow = flow_of(once + never("action: say_silence_1, when: silence_1_begun"), "uninterruptible")
    assert [finding.code for finding in check_flow(flow).findings] == ["mine"]


def test_a_flow_without_such_actions_has_none() -> None:
    assert asides("") == ()


def test_the_facts_of_a_section_decide_only_on_what_is_said() -> None:
    first, second = ("silence_1_begun", "silence_1_said"), ("silence_2_begun", "silence_2_said")
    assert asides(SILENCE) == first + second


@pytest.mark.parametrize(
    ("item", "left"),
    [
        ("action: say_silence_2, unless: silence_1_said", ()),
        (
            "state: paused, when: silence_2_said",
            ("silence_1_begun", "silence_1_said", "silence_2_begun"),
        ),
    ],
)
def test_a_fact_that_a_property_reads_is_exact(item: str, left: tuple[str, ...]) -> None:
    """So is one that decides on an action of which something is to be proved."""
    assert asides(SILENCE + never(item)) == left


@pytest.mark.parametrize(
    ("row", "aside"),
    [
        ("{unless: told, actions: say_it}", True),
        ("{unless: told, dest: thinking, actions: say_it}", False),
        ("{unless: told, actions: [say_it, release_tools]}", False),
        ("{unless: told, actions: say_it, restarts: tool_limit}", False),
    ],
)
def test_a_fact_that_decides_more_is_exact(row: str, aside: bool) -> None:
    """It may leave a state, restart a limit, or choose an action of the turn."""
    found = asides(TOLD + f"states: {{tool_running: {{after: {{told_by: {row}}}}}}}\n")
    assert ("told" in found) is aside
