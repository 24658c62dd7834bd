"""No input gives a traceback: the loader answers with a flow or with findings."""

from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from trees import EVERY_KEY, TURN, TURN_TREE, as_yaml, mutated_trees, near_flows

from turnfsm.fsm import Flow, compile_flow, parse_flow
from turnfsm.fsm.codes import LOADER_CODES
from turnfsm.fsm.diagnostics import render_findings

FUZZ = settings(
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_LINES = TURN.splitlines(keepends=True)
_PIECES = st.sampled_from(
    [*"{}[]:,-?!&*#|>%@`'\"\\\t\n\r \0", "- ", ": ", "<<: ", "&a ", "*a", "---\n"]
)
_WORDS = st.sampled_from(
    ["flow: ", "states:\n", "on: ", "null", "true", "1.5", "a", "\u97f3", "\ufeff"]
)


def answers(text: str) -> Flow | None:
    """Parse, hold the loader to its promises, and give the flow."""
    flow, findings = parse_flow(text)
    assert (flow is None) == any(f.severity == "error" for f in findings)
    lines = text.count("\n") + text.count("\r") + text.count("\x85") + 3
    for finding in findings:
        assert finding.code in LOADER_CODES
        assert 1 <= finding.line <= lines + text.count("\u2028") + text.count("\u2029")
        assert finding.column >= 1
        assert finding.width >= 1
        assert finding.message
    assert findings == sorted(findings)
    assert render_findings(findings).count(": error: ") >= len(findings)
    if flow is not None:
        compile_flow(flow)
    return flow


@FUZZ
@given(st.text())
def test_any_text_loads_or_gives_findings(text: str) -> None:
    """Any characters at all."""
    answers(text)


@FUZZ
@given(st.lists(_PIECES | _WORDS, max_size=30).map("".join))
@example("? ")
@example("*a")
@example("&a *a")
@example("{<<: *a, : }")
@example("!!int {}")
@example("! a")
@example("%TAG ! a\n--- !b c")
def test_any_yaml_loads_or_gives_findings(text: str) -> None:
    """Whatever the signs of YAML make together."""
    answers(text)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The shipped flow with some lines moved, lost or repeated, and some characters changed."""
    lines = list(_LINES)
    for _ in range(draw(st.integers(1, 3))):
        at, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
        change = draw(
            st.sampled_from(["drop", "repeat", "swap", "indent", "outdent", "insert", "cut"])
        )
        line = lines[at]
        column = draw(st.integers(0, max(0, len(line) - 1)))
        if change == "swap":
            lines[at], lines[other] = lines[other], line
        else:
            lines[at] = {
                "drop": "",
                "repeat": line * 2,
                "indent": " " + line,
                "outdent": line[1:],
                "insert": line[:column] + draw(_PIECES) + line[column:],
                "cut": line[:column] + line[column + 1 :],
            }[change]
    return "".join(lines)


@FUZZ
@given(damaged())
def test_a_damaged_flow_loads_or_gives_findings(text: str) -> None:
    """What an editor leaves behind: lines moved, lost, repeated; characters typed and lost."""
    answers(text)


@FUZZ
@given(st.integers(0, len(TURN)))
def test_a_cut_off_flow_loads_or_gives_findings(end: int) -> None:
    """A file that was not written to its end."""
    answers(TURN[:end])


@FUZZ
@given(near_flows())
def test_any_tree(tree: Any) -> None:
    """Values of every kind in every place of a flow."""
    answers(as_yaml(tree))


@FUZZ
@given(mutated_trees(TURN_TREE) | mutated_trees(EVERY_KEY))
def test_a_flow_with_one_change_loads_or_gives_findings(tree: Any) -> None:
    """One value of the shipped flow replaced, removed or put under another key."""
    answers(as_yaml(tree))


@FUZZ
@given(mutated_trees({"flow": "x", "extends": "turn", "states": TURN_TREE["states"]}))
def test_any_variant_loads_or_gives_findings(tree: Any) -> None:
    """A flow that extends the shipped one, with anything instead of its changes."""
    answers(as_yaml(tree))
