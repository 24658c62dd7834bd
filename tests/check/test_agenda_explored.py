"""The exploration of the agenda: what the table of `turn` guarantees, and what breaks it."""

from __future__ import annotations

import attrs
import pytest
from flow_text import parsed

from turnfsm import load_flow
from turnfsm.check import check_flow
from turnfsm.fsm.agenda.settlement import Rules
from turnfsm.fsm.check.agenda import Bounds, explore_agenda, explore_table

RULES = load_flow("turn").agenda


def changed(row: str, column: str, fate: str) -> Rules:
    settle = {name: dict(cells) for name, cells in RULES.settle.items()}
    assert settle[row][column] != fate
    settle[row][column] = fate
    return attrs.evolve(RULES, settle=settle)


def test_nothing_is_forgotten_or_comes_twice() -> None:
    """Two utterances, two calls, four replies; and what `check` explores."""
    for report in (explore_agenda(RULES, Bounds(replies=4, disturbances=1)), explore_table(RULES)):
        assert (report.broken, report.path) == ("", ())
        assert report.states > 4_000, "it has a world to look at"


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("row", "column", "fate", "broken"),
    [
        ("heard", "result", "open", "a_result_is_delivered_once"),
        ("heard", "sole_result", "open", "a_result_is_delivered_once"),
        ("heard", "sole_result", "with_next", "nothing_due_is_forgotten"),
        ("interrupted_by_user_unheard", "utterance", "with_next", "nothing_due_is_forgotten"),
        ("interrupted_by_user_unheard", "pending_result", "dropped", "nothing_unheard_is_dropped"),
        ("interrupted_by_user_unheard", "sole_result", "dropped", "nothing_unheard_is_dropped"),
        ("agent_left", "utterance", "with_next", "nothing_due_is_forgotten"),
        ("agent_left", "pending_result", "dropped", "nothing_unheard_is_dropped"),
        ("worker_died", "utterance", "with_next", "nothing_due_is_forgotten"),
        ("worker_died", "sole_result", "dropped", "nothing_unheard_is_dropped"),
        (
            "interrupted_by_application_unheard",
            "sole_result",
            "delivered",
            "nothing_unheard_is_dropped",
        ),
        ("interrupted_by_application", "pending_result", "open", "what_was_stopped_stays_stopped"),
        ("interrupted_by_user", "sole_result", "open", "what_was_stopped_stays_stopped"),
        ("interrupted_by_tool_unheard", "own_result", "open", "what_was_stopped_stays_stopped"),
        ("failed", "sole_result", "open", "what_fails_is_not_retried_for_ever"),
        ("limit_reached", "sole_result", "open", "what_fails_is_not_retried_for_ever"),
        ("heard", "utterance", "open", "an_utterance_is_answered_once"),
        ("heard", "pending_result", "with_next", "nothing_due_is_forgotten"),
        ("interrupted_by_user", "result", "delivered", "nothing_unheard_is_dropped"),
        ("interrupted_by_user", "result", "delivered_with_turn", "nothing_unheard_is_dropped"),
        ("interrupted_by_user", "sole_result", "delivered", "nothing_unheard_is_dropped"),
        (
            "interrupted_by_user",
            "utterance",
            "delivered_with_turn",
            "an_utterance_is_answered_once",
        ),
        ("heard", "sole_result", "delivered_with_turn", "nothing_due_is_forgotten"),
        ("interrupted_by_user_unheard", "utterance", "retry", "nothing_due_is_forgotten"),
        ("interrupted_by_tool_unheard", "pending_result", "with_next", "nothing_due_is_forgotten"),
        ("superseded_by_result", "utterance", "dropped", "nothing_unheard_is_dropped"),
        ("failed", "sole_result", "with_next", "nothing_due_is_forgotten"),
    ],
)
def test_a_wrong_cell_gives_the_shortest_conversation(
    row: str, column: str, fate: str, broken: str
) -> None:
    report = explore_table(changed(row, column, fate))
    assert report.broken == broken
    assert 2 <= len(report.path) <= 16, report.path


def test_the_check_of_a_flow_names_the_place_and_the_conversation() -> None:
    text = (
        "flow: mine\nkind: turn\nextends: turn\n"
        "agenda: {settle: {agent_left: {utterance: with_next}}}\n"
    )
    flow = parsed(text, "mine.yaml")
    (finding,) = (f for f in check_flow(flow).findings if f.code == "agenda")
    assert "nothing_due_is_forgotten: utterance 0 is never delivered" in finding.message
    assert "the agent of reply 0 is left" in finding.message
    assert finding.severity == "error"
