"""The page that `turnfsm audit -o audit.html` writes, in a real browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command import run
from on_page import violations


def event(t: float, name: str, **fields: object) -> str:
    return json.dumps({"t": t, "event": name, **fields})


def heard(start: float, end: float) -> list[str]:
    return [event(start, "playback_started"), event(end, "playback_finished", interrupted=False)]


QUIET = ['{"events": 1}', *heard(1.0, 2.0), event(9.0, "close", reason="user_initiated")]

SLOW = [
    '{"events": 1}',
    event(1.0, "user_state_changed", old="listening", new="speaking"),
    event(2.0, "user_state_changed", old="speaking", new="listening"),
    event(2.1, "speech_created", speech="s", source="generate_reply", interruptible=True),
    event(2.2, "tool_execution_updated", call="c", update="started"),
    event(3.0, "user_state_changed", old="listening", new="speaking"),
    event(4.0, "user_state_changed", old="speaking", new="listening"),
    event(9.8, "tool_execution_updated", call="c", update="ended", status="done"),
    *heard(10.0, 11.0),
    event(12.0, "close", reason="user_initiated"),
]


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("a_quiet", QUIET), ("slow<b>", SLOW)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    assert run("audit", "a_quiet.jsonl", "slow<b>.jsonl", "-o", "audit.html") == 1
    return tmp_path / "audit.html"


def test_the_session_that_cost_the_most_comes_first_with_its_timeline(tab: Any, page: Path) -> None:
    """A bar for each span, at its place; the finding with the line of the flow."""
    tab.goto(page.as_uri())
    assert tab.text_content("h1") == "2 sessions, 1 with findings"
    heads = tab.eval_on_selector_all("summary", "all => all.map(one => one.textContent)")
    assert heads[0].startswith("slow<b>.jsonl (recording) 1 found, 6.0 s of silence")
    assert heads[1].startswith("a_quiet.jsonl (recording) 0 found")
    bars = "all => all.map(one => one.classList[0] + one.getAttribute('x'))"
    marks = tab.eval_on_selector_all("details:first-of-type svg rect", bars)
    assert marks == [
        "silence333.3",
        "user83.3",
        "user250.0",
        "agent833.3",
        "tools183.3",
        "found333.3",
    ]
    told = tab.text_content("details:first-of-type li")
    assert "the user speaks while a tool runs, and is answered after 6.0 s" in told
    assert "turn.yaml:" in tab.text_content("details:first-of-type code")


@pytest.mark.parametrize("width", [360, 1000])
def test_it_can_be_used_with_the_keyboard_and_on_a_phone(tab: Any, page: Path, width: int) -> None:
    """Tab reaches the table and each session, Enter opens one, nothing is wider than the page."""
    tab.set_viewport_size({"width": width, "height": 640})
    tab.goto(page.as_uri())
    for _ in range(2):
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    assert tab.locator("details[open]").count() == 1
    assert tab.is_visible("details:first-of-type li")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_axe_has_nothing_against_it(tab: Any, axe: str, page: Path) -> None:
    """With a session that is opened."""
    tab.goto(page.as_uri())
    tab.click("summary")
    assert violations(tab, axe) == []
