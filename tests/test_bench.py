"""The benchmark measures engines that do the same thing, and says what was missed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bench.__main__
import bench.frame
from bench.caller import SESSIONS
from bench.cycle import Engine, Floor
from bench.engines import ENGINES
from bench.files import barge_in
from bench.frame import DOCS, write_table
from bench.history import stall
from bench.measure import agree, measure
from bench.minute import TURNS, spoken
from bench.mutation import score
from bench.report import goals, goals_text

pytestmark = pytest.mark.usefixtures("old_objects_stay")

LOST = Engine(lambda trigger: None, lambda: "listening")


def test_every_engine_goes_round_the_same_cycle() -> None:
    """An engine passes the same states twice, so a cycle ends where it begins."""
    for name, make in ENGINES.items():
        engine = make()
        agree(name, engine)
        agree(name, engine)
        engine.close()


def test_an_engine_that_goes_elsewhere_is_not_measured() -> None:
    """A wrong state stops the benchmark and names engine, trigger and both states."""
    with pytest.raises(SystemExit, match="lost: turn_committed led to listening, not to thinking"):
        agree("lost", LOST)


def test_an_engine_that_does_not_act_is_not_measured() -> None:
    """The right states are not enough: each reply has to be asked for."""
    floor = Floor()
    idle = Engine(floor.fire, lambda: floor.state, lambda: 7)
    with pytest.raises(SystemExit, match="idle: 0 replies in a cycle, not 2"):
        agree("idle", idle)


def test_the_figures_are_relative_to_the_baseline() -> None:
    """Every engine has a time and a ratio; the floor's ratio is one."""
    names = ["if/elif", "Machine.step"]
    figures = measure({name: ENGINES[name] for name in names}, rounds=1)
    assert list(figures) == names
    assert figures[names[0]]["ratio"] == 1
    assert all(figure["ns"] > 0 for figure in figures.values())


def _figures(ratio: float) -> dict[str, Any]:
    engines = {name: {"ns": 100.0 * ratio, "ratio": ratio} for name in ENGINES}
    sides = {"stock": 0.7, "TurnSession": 0.7}
    return {
        "versions": {"Python": "3"},
        "engines": engines,
        "caller": {"end of speech to first audio": {"virtual": sides}},
        "session": {
            "minute": {"scripted": sides | {"ratio": 1.1}, "vad": sides | {"ratio": 1.04}},
            "begin": {"seconds": sides, "bytes": {"stock": 1e5, "TurnSession": 1.2e5}, "ratio": 2},
            "stall": sides | {"ratio": ratio},
        },
    }


def test_what_was_missed_is_said_with_how_much() -> None:
    lines = {line[0]: line for line in goals(_figures(7.0))}
    missed = ("at most 6", "7.00", "missed by 1.00")
    assert lines["post as in a session, x if/elif"][1:] == missed
    assert lines["end of speech to first audio, virtual, ms more"][3] == "met"


def test_all_tables_are_written_into_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of the page stays, and the same figures write the same page."""
    figures = _figures(3.0)
    monkeypatch.setattr(bench.frame, "DOCS", tmp_path)
    for part in ("engines", "caller", "session"):
        monkeypatch.setitem(bench.__main__.PARTS, part, lambda _, part=part: figures[part])
    page = tmp_path / "performance.md"
    page.write_text((DOCS / "performance.md").read_text("utf-8"), "utf-8")
    texts = []
    for _ in range(2):
        monkeypatch.setattr("sys.argv", ["bench", "docs"])
        bench.__main__.main()
        texts.append(page.read_text("utf-8"))
    assert texts[0] == texts[1]
    assert goals_text(figures) in texts[0]
    assert "- livekit-agents " in texts[0]
    assert "The goal was at most 2 % more for a minute of conversation" in texts[0]


def test_one_table_is_written_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (DOCS / "performance.md").read_text("utf-8")
    (tmp_path / "performance.md").write_text(before, "utf-8")
    monkeypatch.setattr(bench.frame, "DOCS", tmp_path)
    monkeypatch.setitem(bench.__main__.PARTS, "session", lambda _: _figures(4.0)["session"])
    monkeypatch.setattr("sys.argv", ["bench", "session", "--docs"])
    bench.__main__.main()
    after = (tmp_path / "performance.md").read_text("utf-8")
    assert after.partition("<!-- session -->")[0] == before.partition("<!-- session -->")[0]
    assert "|   700 |         700 |    1.10 |" in after


def test_a_conversation_with_a_real_vad_is_the_same_on_both_sessions() -> None:
    """What is compared is the CPU time, so both must have heard and said the same."""
    heard = [spoken(session).run(60.0).heard for session in SESSIONS.values()]
    assert len(heard[0]) == TURNS
    assert heard[0] == heard[1]


def test_the_steps_of_the_loop_are_timed_from_a_result_on() -> None:
    figures = stall(1, calls=2)
    assert 0 < figures["stock"] < 0.5
    assert 0 < figures["TurnSession"] < 0.5


def test_the_score_of_mutants_is_read_from_what_mutmut_keeps(tmp_path: Path) -> None:
    """Killed of tried, a mutant that no test reaches as survivor, one not tried apart."""
    (tmp_path / "fsm").mkdir()
    codes = {
        "turnfsm.fsm.machine.xǁMachineǁstep__mutmut_1": 1,
        "turnfsm.fsm.machine.xǁMachineǁstep__mutmut_2": 0,
        "turnfsm.fsm.machine.xǁMachineǁstep__mutmut_3": 33,
        "turnfsm.fsm.machine.x_helper__mutmut_1": 24,
        "turnfsm.fsm.machine.x_helper__mutmut_2": None,
    }
    text = json.dumps({"exit_code_by_key": codes})
    (tmp_path / "fsm" / "machine.py.meta").write_text(text, encoding="utf-8")
    lines = score(tmp_path).splitlines()
    said = " ".join(lines[0].split())
    assert said == "fsm/machine.py 2 of 4 killed, 50.0 %, 1 not tried"
    assert lines[1].startswith("in all ")
    assert lines[3:] == [
        "survivors:",
        "  turnfsm.fsm.machine.Machine.step #2",
        "  turnfsm.fsm.machine.Machine.step #3",
    ]


def test_a_page_without_the_mark_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- engines -->\n", "utf-8")
    with pytest.raises(ValueError, match="has no <!-- nothing -->"):
        write_table(page, "nothing", "")


def test_the_files_of_a_barge_in_are_those_from_the_report_to_the_next_request() -> None:
    """The tool has not ended by then, and the next reply has not begun to play."""
    files = barge_in()
    assert {"conversation/user_reports.py", "livekit/overrides/requests.py"} <= set(files)
    assert "livekit/overrides/tool_context.py" not in files
