"""docs/tutorial.md: its flows, what `turnfsm check` prints of them, and its tests."""

import re
from pathlib import Path

import pytest

from turnfsm.check import as_text, check_file

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "menu"
PAGE = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


FIRST_MENU, TIMERS, HOURS, FIRST_HOLD, HOLD = blocks("yaml")


def printed(command: str) -> list[str]:
    """What the page shows below a command, each time it stands there."""
    shown = [text.partition("\n") for text in blocks("console")]
    return [output.rstrip() for line, _, output in shown if line == f"$ {command}"]


def checked(file: str) -> str:
    """What the command prints, without the time it took."""
    return re.sub(r", [\d.]+ s$", "", as_text([check_file(file)]))


def test_the_files_of_the_example_are_shown() -> None:
    """Each once; the tests among them are run by pytest."""
    shown = [*blocks("python"), HOLD]
    files = [p.read_text(encoding="utf-8") for p in EXAMPLE.iterdir() if p.is_file()]
    menu = (EXAMPLE / "menu.yaml").read_text(encoding="utf-8")
    assert sorted([*shown, menu]) == sorted(files)


def test_the_menu_is_fixed_as_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first version has the finding of the page; with the two changes it is the example."""
    monkeypatch.chdir(tmp_path)
    Path("menu.yaml").write_text(FIRST_MENU, encoding="utf-8")
    first, second = printed("turnfsm check menu.yaml")
    assert checked("menu.yaml") == first
    mended = FIRST_MENU.replace("timers: {remind: 5.0}\n", TIMERS)
    mended = re.sub(r"  hours:\n.*?(?=  connected:)", HOURS, mended, flags=re.DOTALL)
    assert mended == (EXAMPLE / "menu.yaml").read_text(encoding="utf-8")
    Path("menu.yaml").write_text(mended, encoding="utf-8")
    assert checked("menu.yaml") == second


def test_the_first_try_has_the_findings_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page leaves the counterexamples out."""
    monkeypatch.chdir(tmp_path)
    Path("hold.yaml").write_text(FIRST_HOLD, encoding="utf-8")
    [shown] = printed("turnfsm check hold.yaml")
    text = checked("hold.yaml").splitlines()
    assert [line for line in shown.splitlines() if line not in text] == []
    places = [line for line in text if re.match(r"hold.yaml:\d+:\d+: error", line)]
    assert [line for line in places if line not in shown] == []


def test_the_fixed_flow_is_proved() -> None:
    """`hold.yaml` as it stands in the example."""
    assert check_file(EXAMPLE / "hold.yaml").ok
