"""The picture of a flow: nothing overlaps, everything is there, the same bytes each time."""

from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from conversation import CALL
from flow_text import parsed
from random_flows import random_flow

from turnfsm.fsm import Flow, load_flow, shipped_flows
from turnfsm.fsm.diagram import render, state_marks
from turnfsm.fsm.diagram.chart import build_chart
from turnfsm.fsm.diagram.geometry import Picture, Point, Rect
from turnfsm.fsm.diagram.layout import layout

Segment = tuple[Point, Point]


def picture_of(flow: Flow) -> Picture:
    """Lay a flow out."""
    return layout(build_chart(flow))


def overlap(a: Rect, b: Rect) -> bool:
    """Tell whether two boxes share more than a border."""
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def crosses(line: Segment, box: Rect) -> bool:
    """Tell whether a line goes through the inside of a box; all our lines are upright or level."""
    (x0, y0), (x1, y1) = line
    left, right, top, bottom = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    inside_x = left < box.right - 0.5 and right > box.x + 0.5
    return inside_x and top < box.bottom - 0.5 and bottom > box.y + 0.5


def boxes_of(picture: Picture) -> dict[str, Rect]:
    """Every box of a picture by its name."""
    boxes = {card.card.state: card.rect for card in picture.cards}
    boxes |= {f"{g.group.source}--{g.group.dest}": g.rect for g in picture.groups}
    return boxes | ({"common": picture.common.rect} if picture.common else {})


def lines_of(picture: Picture) -> list[tuple[str, str, Segment]]:
    """Every straight line: what it starts from, what it ends in, and its ends."""
    return [
        (f"out {g.group.source}" if half is g.out else f"into {g.group.dest}", g.group.source, s)
        for g in picture.groups
        for half in (g.out, g.into)
        for s in pairwise(half)
    ]


def collinear(a: Segment, b: Segment) -> bool:
    """Tell whether two lines run on top of each other for a stretch."""
    for axis in (0, 1):
        other = 1 - axis
        if abs(a[0][axis] - a[1][axis]) < 0.1 and abs(b[0][axis] - b[1][axis]) < 0.1:
            low = max(min(a[0][other], a[1][other]), min(b[0][other], b[1][other]))
            high = min(max(a[0][other], a[1][other]), max(b[0][other], b[1][other]))
            if abs(a[0][axis] - b[0][axis]) < 1 and high - low > 1:
                return True
    return False


@pytest.mark.one_in(3)
@pytest.mark.parametrize("start", range(0, 300, 50))
def test_nothing_overlaps(start: int) -> None:
    """In 300 random flows no box meets a box and no line meets a box or a foreign line."""
    for seed in range(start, start + 50):
        picture = picture_of(random_flow(seed))
        boxes = boxes_of(picture)
        for (one, a), (other, b) in combinations(boxes.items(), 2):
            assert not overlap(a, b), (seed, one, other)
        lines = lines_of(picture)
        for name, _, line in lines:
            for box, rect in boxes.items():
                assert not crosses(line, rect), (seed, name, box)
        for (one, source, a), (other, second, b) in combinations(lines, 2):
            shared = one == other or (one[:3] == other[:3] == "out" and source == second)
            assert shared or not collinear(a, b), (seed, one, other)


@pytest.mark.parametrize("seed", range(0, 300, 10))
def test_all_text_stays_inside_its_box(seed: int) -> None:
    """Every run of text ends inside the box that it belongs to, every box inside the picture."""
    picture = picture_of(random_flow(seed))
    for box in [*picture.cards, *picture.groups]:
        for _, line, runs in box.rows.items:
            for run in runs:
                assert run.x + run.width <= box.rect.w - 12, (seed, run)
                assert 17 * (line + run.line + 1) <= box.rect.h, (seed, run)
        assert 0 <= box.rect.x < box.rect.right <= picture.width, seed
        assert 0 <= box.rect.y < box.rect.bottom <= picture.height, seed


def test_lines_lead_from_source_to_dest() -> None:
    """Each line starts on its source's border, touches its text and ends on its dest's border."""
    for seed in range(40):
        picture = picture_of(random_flow(seed))
        boxes = boxes_of(picture)
        for g in picture.groups:
            for point, box in (
                (g.out[0], boxes[g.group.source]),
                (g.out[-1], g.rect),
                (g.into[0], g.rect),
                (g.into[-1], boxes[g.group.dest]),
            ):
                assert on_border(point, box), (seed, g.group.source, g.group.dest)


def on_border(point: Point, box: Rect) -> bool:
    """Tell whether a point lies on the border of a box."""
    x, y = point
    level = abs(y - box.y) < 0.1 or abs(y - box.bottom) < 0.1
    upright = abs(x - box.x) < 0.1 or abs(x - box.right) < 0.1
    return (level and box.x <= x <= box.right) or (upright and box.y <= y <= box.bottom)


def ids_of(flow: Flow) -> list[str]:
    """Every id of a flow's SVG."""
    root = ElementTree.fromstring(render(flow))
    return [element.attrib["id"] for element in root.iter() if "id" in element.attrib]


@pytest.mark.parametrize("name", shipped_flows())
def test_every_element_has_its_id(name: str) -> None:
    """States, edges, labels, rows and refusals are found by their ids, each id once."""
    flow = load_flow(name)
    ids = ids_of(flow)
    assert len(ids) == len(set(ids))
    moving = {(r.source, r.dest) for r in flow.rows() if r.source != r.dest}
    pairs = {p for p in moving if not flow.states[p[1]].final}
    wanted = {f"state-{state}" for state in flow.states}
    wanted |= {f"row-{row.id}" for row in flow.rows()}
    wanted |= {f"{kind}-{a}--{b}" for a, b in pairs for kind in ("edge", "label")}
    wanted |= {
        f"refuse-{s}.{t}"
        for s, body in flow.states.items()
        if not body.final
        for t in flow.without_effect(s)
    }
    assert wanted <= set(ids)


def test_every_row_of_a_random_flow_is_drawn() -> None:
    """No transition is lost, whatever the flow looks like."""
    for seed in range(60):
        flow = random_flow(seed)
        assert {f"row-{row.id}" for row in flow.rows()} <= set(ids_of(flow)), seed


@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_a_picture_is_the_same_each_time(theme: str) -> None:
    """The same flow gives the same bytes, and another theme gives others."""
    pictures = {render(load_flow("turn"), theme=theme) for _ in range(3)}  # type: ignore[arg-type]
    assert len(pictures) == 1
    assert (b"prefers-color-scheme" in pictures.pop()) == (theme == "auto")


def test_the_shipped_flow_is_legible_at_1600_pixels() -> None:
    """At 1600 pixels the text of the shipped flow is at least 14 pixels high."""
    assert 12 * 1600 / picture_of(load_flow("turn")).width >= 14


def test_a_configuration_shows_what_would_be_taken() -> None:
    """Rows whose guard holds are live, the others held back, and the facts decide which."""
    flow = load_flow(CALL)
    free = state_marks(flow, "thinking")
    assert free.rows["thinking.step_finished.0"] == "blocked"
    assert free.rows["thinking.step_finished.1"] == "live"
    busy = state_marks(flow, "thinking", ["tools_running"])
    assert busy.rows["thinking.step_finished.0"] == "live"
    assert busy.rows["thinking.step_finished.1"] == "blocked"
    root = ElementTree.fromstring(render(flow, marks=busy, focus=True))
    named = {e.attrib["id"]: e.attrib.get("class", "") for e in root.iter() if "id" in e.attrib}
    assert named["state-thinking"] == "current"
    assert named["row-thinking.step_finished.1"] == "blocked"
    assert "away" in named["edge-speaking--paused"]
    assert "away" not in named["edge-thinking--speaking"]


def test_the_legend_names_a_timer_that_continues_when_the_state_changes() -> None:
    section = "never_silent: {after: 4, say: Still with you., give_up: Please say it again.}"
    flow = parsed(f"flow: mine\nextends: turn\n{section}\n")
    assert "continues when the state changes" in render(flow).decode()
    assert "continues when the state changes" not in render(load_flow("turn")).decode()
