"""What other tools render: PNG by resvg, DOT by Graphviz, Mermaid by mermaid.js."""

import shutil
import struct
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from conversation import CALL
from flow_text import parsed
from random_flows import random_flow

from turnfsm.fsm import (
    Flow,
    State,
    Transition,
    TurnfsmError,
    load_flow,
    shipped_flows,
)
from turnfsm.fsm.diagram import render, state_marks
from turnfsm.fsm.diagram.metrics import FONT_FILES, Face, clip, text_width

NASTY = 'a "b" <c> & {d}; #e%% `f` \\ |g|'


def nasty_flow() -> Flow:
    """Make a flow whose words are all syntax to somebody."""
    on = {NASTY: (Transition(dest="end state", conditions=(NASTY,), actions=(NASTY,)),)}
    return Flow("x", NASTY, {NASTY: State(NASTY, on), "end state": State(NASTY, ignores=(NASTY,))})


ALL = [*shipped_flows(), "nasty", *(f"random {seed}" for seed in range(6))]


def flow_of(name: str) -> Flow:
    """A shipped flow, the one with nasty names, or a random one."""
    if name == "nasty":
        return nasty_flow()
    kind, _, seed = name.partition(" ")
    return random_flow(int(seed)) if kind == "random" else load_flow(name)


@pytest.mark.parametrize("name", ALL)
def test_graphviz_renders_the_dot(name: str) -> None:
    """Graphviz takes the DOT without a warning and draws every state and edge."""
    if shutil.which("dot") is None:
        pytest.skip("Graphviz is not installed: apt-get install graphviz")
    flow = flow_of(name)
    command = ["dot", "-Tsvg"]
    done = subprocess.run(command, input=render(flow, "dot"), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stderr
    root = ElementTree.fromstring(done.stdout)
    ids = {element.attrib.get("id") for element in root.iter()}
    pairs = {(r.source, r.dest) for r in flow.rows() if r.source != r.dest}
    pairs = {(a, b) for a, b in pairs if not flow.states[b].final}
    assert {f"state-{name}" for name in flow.states} <= ids
    assert {f"label-{a}--{b}" for a, b in pairs} <= ids


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["turn", "resume", "nasty", "random 1"])
def test_mermaid_renders_the_mermaid(name: str) -> None:
    """mermaid.js takes the text, and the picture holds every state. Slow: a flow of each kind."""
    reason = "mermaidx is not installed: pip install mermaidx"
    mermaid = pytest.importorskip("mermaidx", reason=reason)
    flow = flow_of(name)
    svg = str(mermaid.render(render(flow, "mmd").decode()).svg())
    assert svg.count("<svg") >= 1
    assert "Syntax error" not in svg
    for index, state in enumerate(flow.states):
        assert f"s{index}_" in svg, state


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", ["turn", "session"])
def test_a_png_is_drawn_with_the_shipped_fonts(name: str) -> None:
    """The PNG is as wide as was asked, the same each time, and has text in it."""
    first, second = (render(load_flow(name), "png", width=800) for _ in range(2))
    assert first == second
    assert struct.unpack(">I", first[16:20]) == (800,)
    bare = Flow("x", "a", {"a": State()})
    assert len(first) > 10 * len(render(bare, "png", width=800))


def test_png_names_the_extra_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without resvg-py the error says what to install."""
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(TurnfsmError, match=r"pip install 'turnfsm\[png\]'"):
        render(load_flow(CALL), "png")


def test_svg_survives_all_names() -> None:
    """Words that are syntax in XML are escaped."""
    root = ElementTree.fromstring(render(nasty_flow()))
    assert NASTY in "".join(root.itertext())


def test_markdown_holds_every_transition_once() -> None:
    """Each row of the flow is a row of the tables."""
    flow = load_flow(CALL)
    lines = render(flow, "md").decode().splitlines()
    rows = [line for line in lines if line.startswith("| ") and "---" not in line]
    tables = sum(1 for line in rows if line.startswith("| trigger |"))
    assert len(rows) - tables == sum(1 for _ in flow.rows())


@pytest.mark.parametrize("path", FONT_FILES, ids=lambda path: path.stem)
def test_widths_are_those_of_the_fonts(path: object) -> None:
    """The widths that we ship with the fonts are theirs, as fontTools reads them."""
    tools = pytest.importorskip("fontTools.ttLib", reason="pip install fonttools")
    font = tools.TTFont(path)
    style = str(path).rpartition("-")[2].removesuffix(".otf")
    for code, glyph in font.getBestCmap().items():
        wide = font["hmtx"][glyph][0] / font["head"].unitsPerEm
        assert text_width(chr(code), Face(style, 1)) == pytest.approx(wide or 0.65, abs=1e-9)


def test_clipped_text_fits() -> None:
    """A clipped text ends with an ellipsis and is no wider than allowed."""
    face = Face()
    for width in range(0, 200, 7):
        words = clip("Your parcel is on its way", face, width)
        assert not words or text_width(words, face) <= width
        assert not words or words.endswith("…") or words == "Your parcel is on its way"


SCOPED = """
flow: desk
extends: turn
overlays: {read_terms: {interruptible: false, policies: {pay: hold, look: cancel}}}
questions: {pin: {asked: [your pin, secret number], kind: yes_no, tuning: {min_words: 1}}}
tools: {tuning: {pay: {min_words: 3}}}
"""


def test_settings_of_tools_agents_and_questions_are_shown() -> None:
    flow = parsed(SCOPED)
    page, picture = render(flow, "md").decode(), render(flow, "svg").decode()
    assert "- Tool pay: `min_words` 3\n" in page
    assert "- Agent read_terms: `interruptible` false, `policies` pay: hold, look: cancel\n" in page
    asked = '`asked` "your pin", "secret number"'
    assert f"- Question pin: {asked}, `expect` yes_no (wait 4.0), `min_words` 1\n" in page
    for part in ("Tool_pay.min_words", "Agent_read_terms.policies", "Question_pin.expect"):
        assert f'id="tuning-{part}"' in picture


@pytest.mark.parametrize("kind", ["svg", "md"])
def test_settings_of_a_state_are_shown(kind: str) -> None:
    """A reader sees what else changes while a state is held."""
    text = render(load_flow("half_duplex"), kind).decode()
    assert (
        "Settings in this state: `mute` true." in text
        if kind == "md"
        else 'id="tuning-speaking.mute"' in text
    )


@pytest.mark.parametrize("kind", ["svg", "md"])
def test_what_a_state_expects_is_shown(kind: str) -> None:
    """With all that is declared of it."""
    text = "flow: asks\nextends: turn\nstates: {listening: {tuning: {expect: {kind: yes_no}}}}\n"
    flow = parsed(text)
    shown = render(flow, kind).decode()
    assert "yes_no (wait 4.0)" in shown if kind == "md" else "tuning-listening.expect" in shown


def test_an_overview_has_no_marks() -> None:
    """It is the same for every conversation."""
    flow = load_flow("turn")
    with pytest.raises(ValueError, match="leave overview or marks out"):
        render(flow, marks=state_marks(flow, "speaking"), overview=True)


def test_wide_characters_are_given_room() -> None:
    """The fonts that we ship do not have them; one is as wide as two letters."""
    face = Face()
    assert text_width("漢字", face) == 2 * face.size
    assert text_width("漢", face) > 1.3 * text_width("a", face)
    assert clip("漢字漢字", face, text_width("漢字…", face)) == "漢字…"
