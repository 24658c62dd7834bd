"""The playground of the documentation site: the page of a flow, with Python in the browser."""

from __future__ import annotations

import functools
import http.server
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from on_page import until, violations

from turnfsm.fsm.check.check import check_file

sys.path.insert(0, str(Path(__file__).parents[2] / "docs/playground"))
import playground

SLOW = 120.0
"""Seconds for Python to start on a machine that does much else."""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[str]:
    """The playground, served by a server that only serves files."""
    missing = playground.write(tmp_path)
    if missing:
        pytest.skip(missing)
    handler = functools.partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.exhaustive  # Python starts in the browser
def test_a_flow_is_edited_proved_and_pressed_in_the_browser(
    tab: Any, site: str, tmp_path: Path
) -> None:
    """With the findings of `turnfsm check`; nothing is asked of another server."""
    tab.goto(site)
    assert tab.text_content(".badge.good").startswith("proved")
    tab.fill("#editor", playground.FAULT)
    until(tab, "document.querySelectorAll('.paper .finding').length > 0", SLOW)
    (tmp_path / "mine.yaml").write_text(playground.FAULT)
    findings = check_file(tmp_path / "mine.yaml").findings
    shown = tab.eval_on_selector_all("#problems li", "all => all.map(one => one.textContent)")
    assert len(shown) == len(findings)
    for one, finding in zip(shown, findings, strict=True):
        assert one.startswith(f"mine.yaml:{finding.line} error: {finding.message}")
    wrong = tab.eval_on_selector_all(".line.wrong .number", "all => all.map(one => one.innerText)")
    assert wrong == [str(line) for line in sorted({finding.line for finding in findings})]

    tab.click("#simulator button:text-is('step_started')")
    until(tab, "page.recording.records.length === 1", SLOW)
    assert tab.text_content("#state") == "thinking"

    tab.select_option("#files", label="mine.yaml")
    tab.fill("#editor", "flow: mine\nstates: [")
    until(tab, "document.querySelector('.badge.bad')?.textContent === 'not a flow'", SLOW)
    tab.fill("#editor", playground.START)
    until(tab, "document.querySelector('.badge.good') !== null", SLOW)
    assert tab.locator(".finding").count() == 0
    until(tab, "page.recording.records.length === 1", SLOW)  # what was pressed is pressed again
    assert tab.text_content("#state") == "thinking"


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_has_nothing_against_the_editor(
    tab: Any, axe: str, site: str, tmp_path: Path, theme: str, width: int
) -> None:
    """With findings; and what Python misses to start is said."""
    (tmp_path / "worker.mjs").unlink()
    tab.set_viewport_size({"width": width, "height": 844})
    tab.emulate_media(color_scheme=theme)
    tab.goto(site)
    until(tab, "document.querySelector('.badge.bad')?.textContent.includes('did not start')")
    tab.evaluate(FINDING)
    assert tab.is_visible("#problems")
    assert violations(tab, axe) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


FINDING = """() => page.source.annotate(["error", "warning"].map((severity, n) => (
  {file: "mine.yaml", line: n + 2, severity, message: "no such key", remedy: "write another"})))"""


def test_without_npm_the_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the site does not need it."""
    monkeypatch.setattr(playground, "HERE", tmp_path)
    (tmp_path / "package.json").write_text('{"dependencies": {"pyodide": "1"}}')
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert playground.write(tmp_path / "out") == "There is no npm."
    assert "make docs" in (tmp_path / "out/index.html").read_text()
