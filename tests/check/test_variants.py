"""What a variant breaks is said at its own line, not at the line of its base that shows it."""

from pathlib import Path

import pytest
from flow_text import parsed
from proved import codes

from turnfsm.fsm import load_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import Report

HEAD = "flow: mine\nextends: turn\n"


def proved(changes: str) -> Report:
    """The proof of a variant of `turn`; its changes begin in line 3."""
    flow = parsed(HEAD + changes, "mine.yaml")
    return check_flow(flow)


CAUSES = {
    "an ignored event": (
        "states:\n  interrupted:\n    ignores: [step_finished]\n",
        "the_agent_state_is_true",
        "mine.yaml:5:15",
    ),
    "a transition": (
        "states:\n  thinking:\n    on:\n      playout_started: {actions: [release_output]}\n",
        "the_agent_state_is_true",
        "mine.yaml:6:7",
    ),
    "a timer that is gone": (
        "states:\n  speaking:\n    after: {speaking_limit: null}\n",
        "no_dead_floor",
        "mine.yaml:5:13",
    ),
    "a fact": (
        "facts:\n  turn:\n    tools_running: {cleared_by: tools_released}\n",
        "the_agent_state_is_true",
        "mine.yaml:5:5",
    ),
    "a scope": (
        "scopes:\n  step: {ends: [step_finished]}\n",
        "the_agent_state_is_true",
        "mine.yaml:4:3",
    ),
    "a way that is gone": (
        "states:\n  speaking:\n    refuses: [barge_in]\n",
        "unreachable",
        "mine.yaml:5:15",
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("cause", CAUSES)
def test_a_finding_stands_where_the_variant_caused_it(cause: str) -> None:
    """All findings are at the line of the variant that causes them, wherever they show."""
    changes, code, place = CAUSES[cause]
    report = proved(changes)
    assert code in codes(report)
    assert {finding.place for finding in report.findings} == {place}


def test_where_it_shows_is_said_as_well() -> None:
    """The base's line stands in the message."""
    changes, _, _ = CAUSES["a fact"]
    shown = [f.message.rpartition(", at ")[2] for f in proved(changes).findings]
    assert shown
    assert all(place.startswith("turn.yaml:") for place in shown)


def test_a_state_behind_an_unreachable_one_has_the_same_cause() -> None:
    """`paused` is led to from `speaking` only: both are out of reach by one line."""
    changes, _, place = CAUSES["a transition"]
    report = proved(changes)
    lost = [f for f in report.findings if f.code == "unreachable"]
    assert [(f.place, f.message) for f in lost] == [
        (place, "state 'paused' is never reached"),
        (place, "state 'speaking' is never reached"),
    ]


@pytest.mark.exhaustive
def test_removing_the_state_as_well_fixes_it() -> None:
    """What the remedy says is enough; what nobody uses any more is no mistake of a variant."""
    changes = "states:\n  speaking:\n    refuses: [barge_in]\n  paused: null\n"
    report = proved(changes)
    assert report.findings == ()
    names = {verdict.name for verdict in report.properties}
    assert "speaking_means_that_it_is_heard" in names
    assert "paused_means_that_it_was_heard" not in names


def test_an_inherited_property_is_waived_with_a_reason() -> None:
    """The base's own properties can be given up like the built-in ones; the report says why."""
    waived = "properties: {waived: {paused_means_that_it_was_heard: We pause early.}}\n"
    report = proved(waived)
    assert report.findings == ()
    (verdict,) = (v for v in report.properties if v.name == "paused_means_that_it_was_heard")
    assert (verdict.origin, verdict.result, verdict.detail) == (
        "declared",
        "waived",
        "We pause early.",
    )


def test_a_name_that_neither_has_cannot_be_waived() -> None:
    """A misspelt waiver waives nothing, and is said."""
    (finding,) = proved("properties: {waived: {no_ded_floor: Never.}}\n").findings
    assert (finding.code, finding.place) == ("waived", "mine.yaml:3:23")


def test_errors_of_the_base_stay_at_the_lines_of_the_base(tmp_path: Path) -> None:
    """Findings that no change of the variant causes stay at the base's line."""
    base = "flow: base\ninitial: a\nevents: {go, more}\nstates: {a: {on: {go: {}}}, b: {}}\n"
    (tmp_path / "base.yaml").write_text(base)
    (tmp_path / "mine.yaml").write_text("flow: mine\nextends: base.yaml\nis: Mine.\n")
    found = check_flow(load_flow(tmp_path / "mine.yaml")).findings
    assert {Path(f.file).name for f in found} == {"base.yaml"}
    assert "unreachable" in {f.code for f in found}


WORDS = "states:\n  thinking:\n    {}\n  speaking: {{refuses: [barge_in]}}\n  paused: null\n"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("thinking", "found"),
    [
        ("refuses: barge_in\n    ignores: final_transcript", set()),
        ("on: {final_transcript: {}}", {"no_playout_over_the_user"}),
    ],
)
def test_words_are_ignored_only_where_a_state_says_so(thinking: str, found: set[str]) -> None:
    """A reply that is held is interrupted by words, unless the state ignores them."""
    assert codes(proved(WORDS.format(thinking))) == found
