"""What is made of the measurements: when a step breaks, what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.docs import write_table
from bench.report import room_table
from bench.room import broken
from room.beside import report
from room.worker import ROOT

STEP = {"rooms": 4, "agents": 4, "missing": 0, "median": 1.1, "p95": 1.2}
STEP |= {"worker": 0.05, "memory": 30.0, "machine": 60.0, "busy": 3.0, "broken": ""}


@pytest.mark.parametrize(
    ("step", "said"),
    [
        ({}, ""),
        ({"agents": 3}, "1 rooms got no agent"),
        ({"missing": 2}, "2 of 16 questions were not answered"),
        ({"p95": 2.5}, "1.3 s later than at first"),
    ],
)
def test_a_step_breaks_for_a_reason(step: dict[str, float], said: str) -> None:
    found = broken(STEP | step, STEP)
    assert said in found
    assert bool(found) == bool(said)


def test_the_table_of_rooms_has_each_step_and_how_busy_the_machine_was() -> None:
    text = room_table({"cores": 2, "stock": [STEP], "turn": [STEP | {"broken": "a reason"}]})
    assert "stock, 4 rooms" in text
    assert "holds" in text
    assert "a reason" in text
    assert "up to 3 % of the machine" in text
    assert "stock: 4 rooms, 2.0 a core; more were not tried." in text
    assert "turn: 0 rooms, 0.0 a core; with 4, a reason." in text


def test_a_table_of_the_page_is_replaced_and_the_other_one_stays(tmp_path: Path) -> None:
    page = tmp_path / "room.md"
    page.write_text((ROOT / "docs" / "room.md").read_text("utf-8"), "utf-8")
    write_table(page, "python -m room.beside", "| a table |\n")
    write_table(page, "python -m bench room", "| another |\n")
    write_table(page, "python -m bench room", "| a third |\n")
    text = page.read_text("utf-8")
    assert "<!-- python -m room.beside -->\n\n| a table |\n\n<!-- to here -->" in text
    assert "<!-- python -m bench room -->\n\n| a third |\n\n<!-- to here -->" in text
    assert "| another |" not in text
    with pytest.raises(ValueError, match="has no <!-- nothing -->"):
        write_table(page, "nothing", "")


def test_the_table_beside_says_what_was_wrong_how_often_and_the_interval() -> None:
    waits = [([], {"response": 1.0 + number / 100, "stop": 0.5}) for number in range(4)]
    later = [([], {"response": 1.1 + number / 100, "stop": 0.5}) for number in range(4)]
    text = report(
        {
            "S5": {"stock": [(["the contract is cancelled"], {}), ([], {})], "turn": [([], {})]},
            "L": {"stock": waits, "turn": later},
        }
    )
    assert "wrong, 1 of 2: the contract is cancelled | right, 1 of 1" in text
    assert "+82 to +118 ms" in text
