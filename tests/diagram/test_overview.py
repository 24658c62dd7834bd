"""The overview: small, the same each time, and true."""

import xml.etree.ElementTree as ElementTree

import pytest
from command import run

from turnfsm.fsm import load_flow, shipped_flows
from turnfsm.fsm.diagram import render
from turnfsm.fsm.diagram.overview import build_overview

TURNS = [name for name in shipped_flows() if load_flow(name).kind == "turn"]


@pytest.mark.parametrize("name", TURNS)
def test_it_fits_a_page(name: str) -> None:
    """800 wide and at most 900 high, in both themes the same size."""
    for theme in ("light", "dark"):
        root = ElementTree.fromstring(render(load_flow(name), overview=True, theme=theme))  # type: ignore[arg-type]
        assert float(root.attrib["width"]) == 800
        assert float(root.attrib["height"]) <= 900


@pytest.mark.parametrize("name", shipped_flows())
def test_what_it_shows_is_in_the_flow(name: str) -> None:
    """Every state has a way in and a way out, and each arrow names triggers that lead so."""
    flow = load_flow(name)
    chart = build_overview(flow)
    assert {card.state for card in (*chart.cards, *chart.finals)} == {*flow.states}
    rows = {(row.source, row.dest, row.trigger) for row in flow.rows()}
    for group in chart.groups:
        named = [part.tokens[0].text for item in group.items for part in item]
        assert 1 <= len(named) <= 2
        assert {(group.source, group.dest, trigger) for trigger in named} <= rows
    for end in ("source", "dest"):
        drawn = {getattr(group, end) for group in chart.groups}
        moving = {getattr(r, end) for r in flow.rows() if r.source != r.dest}
        assert {s for s in moving if not flow.states[s].final} - drawn <= {
            r.source for r in flow.rows() if flow.states[r.dest].final
        }


def test_it_shows_the_few_arrows_that_matter() -> None:
    """What most states have alike is drawn once."""
    drawn = {(group.source, group.dest) for group in build_overview(load_flow("turn")).groups}
    assert {("listening", "thinking"), ("thinking", "speaking"), ("speaking", "paused")} <= drawn
    assert ("speaking", "listening") not in drawn
    assert len(drawn) <= 16


def test_the_same_flow_gives_the_same_bytes() -> None:
    """It is deterministic, and follows the theme."""
    flow = load_flow("turn")
    assert render(flow, overview=True) == render(flow, overview=True)
    light, dark = (render(flow, overview=True, theme=theme) for theme in ("light", "dark"))
    assert light != dark


def test_it_has_no_marks(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    """An overview of a configuration is refused, with what to give."""
    assert run("render", "turn", "--overview", "--state", "paused", "-o", f"{tmp_path}/x.svg") == 2
    assert "give --overview, or --state or --trace" in capsys.readouterr().err
