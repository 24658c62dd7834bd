"""How a finding is printed: the line, and the caret under the word."""

import pytest

from turnfsm.fsm import parse_flow
from turnfsm.fsm.diagnostics import Finding, render_findings


def test_a_finding_is_printed_like_a_compiler_does() -> None:
    """Place, severity, sentence; the line; the caret and the remedy."""
    findings = parse_flow("flow: x\ninitail: a\nstates: {a: {}}\n", "my.yaml")[1]
    assert render_findings(findings) == (
        "my.yaml:2:1: error: unknown key 'initail' in a flow\n"
        "    2 | initail: a\n"
        "      | ^^^^^^^ did you mean 'initial'?"
    )


@pytest.mark.parametrize(
    ("text", "column", "width", "caret"),
    [
        ("a: word", 4, 4, "   ^^^^"),
        ("\ta:\tword", 5, 4, "\t  \t^^^^"),
        ("音声: word", 5, 4, "      ^^^^"),
        ("a: 音声", 4, 2, "   ^^^^"),
        ("e\u0301: word", 5, 4, "   ^^^^"),
        ("a:", 3, 1, "  ^"),
    ],
)
def test_tabs_and_wide_letters_keep_the_caret_in_place(
    text: str, column: int, width: int, caret: str
) -> None:
    """Tabs stay tabs, wide letters take two cells, combining ones none."""
    finding = Finding(1, column, width, "it is wrong", text=text)
    assert finding.render().splitlines()[2] == "      | " + caret


def test_a_long_line_is_cut_around_the_caret() -> None:
    """A finding never prints a page, and its caret still stands under the word."""
    finding = Finding(1, 1001, 4, "it is wrong", text="x" * 1000 + "word" + "y" * 1000)
    _, line, caret = finding.render().splitlines()
    assert len(line) < 150
    assert line[caret.index("^") :].startswith("word")
    assert caret.count("^") == 4


def test_without_a_line_the_remedy_stands_below() -> None:
    """A finding of a file that could not be read has no line to show."""
    finding = Finding(1, 1, 1, "it is gone", "name another", file="a.yaml")
    assert finding.render() == "a.yaml:1:1: error: it is gone\n  name another"


def test_findings_sort_by_file_and_place() -> None:
    """Findings of several files stay together, each in the order of its lines."""
    places = [("b", 1, 1), ("a", 10, 2), ("a", 9, 1), ("a", 10, 1)]
    findings = [Finding(line, column, 1, "", file=file) for file, line, column in places]
    assert [f.place for f in sorted(findings)] == ["a:9:1", "a:10:1", "a:10:2", "b:1:1"]
