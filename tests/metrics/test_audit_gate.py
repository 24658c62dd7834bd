"""What fails a build: `turnfsm audit --fail-on`, and its JUnit report."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

import pytest

from turnfsm.audit import Audit, AuditFinding, Gap, Gate, GateError, as_junit

LATE = AuditFinding(7.05, "D", "an_interruption_settles", "answered after 5.4 s")
LOST = AuditFinding(9.0, "C", "every_call_ends_once", "a <result> is lost")
SILENCE = Gap(7.05, 12.4, "tool_running")
SESSION = Audit("recording", (LATE, LOST), (), (SILENCE,))
RIGHT = Audit("recording", (), (), (SILENCE,))
TWO = AuditFinding(4.0, "", "one_reply_to_a_turn", "turn_committed in thinking: two")
BROKEN = Audit("journal", (TWO,), (), ())
DIVERGED = Audit("journal", (), ("entry 4 is decided differently",), ())


@pytest.mark.parametrize(
    ("words", "failed"),
    [
        ([], [LATE, LOST]),
        (["any"], [LATE, LOST]),
        (["D"], [LATE]),
        (["every_call_ends_once"], [LOST]),
        (["D", "C"], [LATE, LOST]),
        (["A"], []),
        (["silence:5"], [SILENCE]),
        (["silence:5.5"], []),
        (["silence:9", "silence:5", "C"], [LOST, SILENCE]),
    ],
)
def test_a_session_fails_by_what_the_gate_names(words: list[str], failed: list[object]) -> None:
    assert Gate.of(words).failed_by(SESSION) == tuple(map(str, failed))


def test_without_a_limit_a_silence_fails_nothing() -> None:
    assert Gate.of([]).failed_by(RIGHT) == ()


@pytest.mark.parametrize(
    ("words", "fails"), [([], True), (["one_reply_to_a_turn"], True), (["D"], False)]
)
def test_a_property_that_a_journal_breaks_fails_like_a_finding(
    words: list[str], fails: bool
) -> None:
    assert bool(Gate.of(words).failed_by(BROKEN)) is fails
    assert bool(Gate.of(words).failed_by(DIVERGED)) is (words == [])


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("one_reply_to_turn", "did you mean 'one_reply_to_a_turn'?"),
        ("Z", "no finding is named 'Z'"),
        ("silence:", "write silence:4 for more than 4 s"),
        ("silence:-1", "write silence:4 for more than 4 s"),
        ("silence:nan", "write silence:4 for more than 4 s"),
    ],
)
def test_a_gate_that_nothing_can_fail_is_refused(word: str, said: str) -> None:
    with pytest.raises(GateError) as error:
        Gate.of([word])
    assert said in str(error.value)


def test_in_junit_each_session_is_a_test_that_fails_by_the_gate() -> None:
    written = as_junit([("one.jsonl", SESSION), ("two.jsonl", RIGHT)], Gate.of(["C"]))
    suite = Xml.fromstring(written)[0]
    first, second = suite
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert (first.get("name"), second.get("name")) == ("one.jsonl", "two.jsonl")
    assert first.findtext("failure") == "\n".join(LOST.lines())
    assert first.findtext("system-out") == str(LATE)
    assert len(second) == 0
