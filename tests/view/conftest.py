"""Chromium, a recorded conversation, and pages of it."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_thread import Browser
from rich.console import Console

from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import Journal, journal_of, read_journal
from turnfsm.runtime.demo.main import Settings, demo
from turnfsm.runtime.view.journal_page import journal_page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--mute-audio",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium as the system has it; without it the tests that need it are skipped."""
    pytest.importorskip("playwright", reason="no playwright: pip install playwright")
    if CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    browser = Browser(CHROMIUM, FLAGS)
    yield browser.chromium
    browser.close()


@pytest.fixture(scope="session")
def only_tab(browser: Any) -> Iterator[Any]:
    """The one page of the browser: a new one for each test would take longer than most tests."""
    context = browser.new_context()
    context.set_default_timeout(60_000)  # milliseconds; see `until`
    yield context.new_page()
    context.close()


@pytest.fixture
def tab(only_tab: Any) -> Iterator[Any]:
    """That page as a new one; an error in a script, or a request to anybody, fails the test."""
    problems: list[str] = []
    listeners = {
        "pageerror": lambda error: problems.append(str(error)),
        "dialog": lambda dialog: problems.append(f"a dialog: {dialog.message}"),
        "request": lambda request: _outside(request.url) and problems.append(request.url),
    }
    only_tab.set_viewport_size({"width": 1440, "height": 900})
    only_tab.emulate_media(color_scheme="light")
    for event, listener in listeners.items():
        only_tab.on(event, listener)
    yield only_tab
    only_tab.evaluate("try { localStorage.clear() } catch { /* about:blank has none */ }")
    only_tab.goto("about:blank")
    for event, listener in listeners.items():
        only_tab.remove_listener(event, listener)
    assert problems == []


def _outside(url: str) -> bool:
    return not url.startswith(("file://", "data:", "blob:", "http://127.0.0.1:"))


@pytest.fixture(scope="session")
def talk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `turnfsm demo --text` leaves: a real session in virtual time."""
    out = tmp_path_factory.mktemp("talk") / "out"
    demo(Settings(out, flow="turn", text=True, console=Console(file=io.StringIO())))
    return out


@pytest.fixture(scope="session")
def journal(talk: Path) -> Journal:
    """The journal of a real session."""
    return read_journal(talk / "journal.jsonl")


@pytest.fixture(scope="session")
def half_an_hour(journal: Journal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of thirty minutes: the conversation, again and again."""
    path = tmp_path_factory.mktemp("long") / "long.html"
    path.write_text(journal_page(journal_of(repeated(journal, 1800.0)), load_flow("turn")))
    return path


def repeated(journal: Journal, seconds: float) -> Iterator[dict[str, Any]]:
    """The records of a journal, repeated until so many seconds are full."""
    header, *records = journal.to_json()
    yield header
    whole, count = records[-1]["t"] + 1.0, len(records)
    for number in range(int(seconds / whole) + 1):
        for record in records:
            data = dict(record["data"])
            for key in ("start", "end"):
                if isinstance(data.get(key), float):
                    data[key] += number * whole
            moved = {"seq": record["seq"] + number * count, "t": record["t"] + number * whole}
            yield record | moved | {"data": data} | _cause(record, number * count)


def _cause(record: dict[str, Any], more: int) -> dict[str, Any]:
    return {"cause": record["cause"] + more} if record.get("cause") else {}


@pytest.fixture(scope="session")
def axe() -> str:
    """axe-core, the accessibility checker, as npm installs it."""
    for folder in os.environ.get("NODE_PATH", "").split(os.pathsep):
        path = Path(folder) / "axe-core" / "axe.min.js"
        if folder and path.is_file():
            return path.read_text()
    pytest.skip("no axe-core: npm install axe-core, and its node_modules in NODE_PATH")
