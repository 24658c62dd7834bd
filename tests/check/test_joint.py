"""Turn and agenda are explored together: the rows decide which reply may start."""

from __future__ import annotations

import attrs
import pytest
from proved import TURN, flow_of

from turnfsm import load_flow
from turnfsm.check import check_flow
from turnfsm.fsm.check import agenda
from turnfsm.fsm.check.agenda import REST, Bounds, explore_joint

DEFERRED = (
    "        - {conditions: turn_deferred, unless: [user_speaking, "
    "deferred_turn_blocked, manual_turns], actions: take_deferred_turn}"
)
OPEN = (
    "        - {conditions: agenda_open, unless: [user_speaking, turn_open, turn_deferred, "
    "manual_turns], actions: request_next_reply}"
)


def test_what_is_open_is_asked_for_whatever_sounds_come() -> None:
    """However long a transcript may still come."""
    report = explore_joint(load_flow("turn"))
    assert (report.broken, report.path) == ("", ())
    assert report.states > 20_000, "it has a world to look at"
    assert report.rest is not None
    assert report.rest.timers == ("handover", "noise_limit", "noise_limit")


def test_another_number_of_seconds_needs_no_other_exploration() -> None:
    """What it may read is all that is kept; the longest wait has the seconds of its flow."""
    turn = load_flow("turn")
    before, explored = explore_joint(turn), agenda._joined.cache_info().misses
    patient = attrs.evolve(turn, timers={**turn.timers, "noise_limit": 9.0})
    report = explore_joint(patient)
    assert agenda._joined.cache_info().misses == explored
    assert before.rest is not None
    assert report.rest is not None
    assert report.rest.timers == before.rest.timers
    assert report.rest.seconds == before.rest.seconds + 2 * (9.0 - turn.timers["noise_limit"])


@pytest.mark.exhaustive
def test_nothing_is_wrong_in_a_larger_world() -> None:
    report = explore_joint(
        load_flow("turn"), Bounds(utterances=2, calls=2, replies=3, disturbances=0)
    )
    assert (report.broken, report.path) == ("", ())


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            OPEN,
            "        - {conditions: turn_open}",
            "no timer of listening ends the wait",
        ),
        (
            DEFERRED,
            "        - {conditions: turn_open}",
            "it is not certain that a reply is requested for the deferred turn",
        ),
        (
            "      user_stopped_speaking: {unless: first_sound_ended, restarts: noise_limit}",
            "      user_stopped_speaking: {restarts: noise_limit}",
            "and so on: a voice is heard, the voice ends",
        ),
    ],
    ids=["no timer", "no timer for a deferred turn", "each sound starts it anew"],
)
def test_a_dog_that_silences_the_agent_is_a_conversation(old: str, new: str, says: str) -> None:
    assert TURN.count(old) == 1
    report = explore_joint(flow_of(TURN.replace(old, new)))
    assert report.broken == REST
    conversation = "; ".join((*report.path, report.why))
    assert says in conversation, conversation
    assert "the user says utterance 0" in conversation
    assert "its transcript may still come" in conversation


def test_a_flow_that_extends_turn_is_proved_in_the_same_way() -> None:
    text = (
        "flow: mine\nkind: turn\nextends: turn\n"
        "facts: {host: {shop_open: The shop is open.}}\n"
        "states:\n  listening:\n    on:\n"
        "      next_reply: {conditions: [shop_open, agenda_open], unless: [user_speaking, "
        "endpointing, answer_pending, turn_open, turn_deferred], actions: request_next_reply}\n"
        "    after:\n"
        "      noise_limit: {conditions: [shop_open, agenda_open], unless: [user_speaking, "
        "turn_open, turn_deferred], actions: request_next_reply}\n"
    )
    report = check_flow(flow_of(text))
    (finding,) = (f for f in report.findings if REST in f.message)
    assert finding.code == "agenda"
    assert (finding.line, finding.text) == (6, "  listening:"), "the state in which it waits"
    assert "The shortest way there: the user says utterance 0" in finding.message
    waived = f"{text}properties: {{waived: {{{REST}: The shop is open in the end.}}}}\n"
    assert not [f for f in check_flow(flow_of(waived)).findings if f.code == "agenda"]


def test_a_wrong_cell_is_a_conversation_of_the_turn() -> None:
    flow = load_flow("turn")
    settle = {row: dict(cells) for row, cells in flow.agenda.settle.items()}
    settle["heard"]["sole_result"] = "open"
    wrong = attrs.evolve(flow, agenda=attrs.evolve(flow.agenda, settle=settle))
    report = explore_joint(wrong, Bounds(utterances=1, calls=1, replies=3, disturbances=0))
    assert report.broken == "a_result_is_delivered_once"
    assert "is heard to its end" in report.path[-1]
