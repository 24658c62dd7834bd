"""docs/proof.md and other pages: the findings and the places of `turn` that they show."""

import re
from pathlib import Path

import pytest

from turnfsm.check import as_text, check_file

ROOT = Path(__file__).parents[2]
TURN = (ROOT / "specs" / "turn.yaml").read_text(encoding="utf-8")
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
}
AGENDA_OPEN = (
    "        - {conditions: agenda_open, unless: [user_speaking, turn_open, turn_deferred, "
    "manual_turns], actions: request_next_reply}\n"
)
# What the page says about each change of the flow, and the change.
CHANGES = {
    "if each sound restarts the timers of a held reply:": (
        "conditions: output_held, unless: first_sound_ended, restarts",
        "conditions: output_held, restarts",
    ),
    "after a condition of a guard was removed from `turn`:": (
        "preemptive_generation: {unless: [tools_running, result_uncommitted, ",
        "preemptive_generation: {unless: [tools_running, ",
    ),
    "the second row of `noise_limit` in `listening`:": (AGENDA_OPEN, ""),
}


@pytest.mark.parametrize("words", CHANGES, ids=["restart", "guard", "row"])
def test_a_changed_turn_has_the_finding_of_the_page(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page leaves out lines after those that it shows."""
    _, found, after = PAGES["docs/proof.md"].partition(words)
    assert found, f"docs/proof.md no longer says {words!r}"
    shown = after.partition("```text\n")[2].partition("```")[0]
    old, new = CHANGES[words]
    assert TURN.count(old) == 1
    monkeypatch.chdir(tmp_path)
    Path("turn.yaml").write_text(TURN.replace(old, new), encoding="utf-8")
    assert shown in f"{as_text([check_file('turn.yaml')])}\n"


def test_each_place_in_turn_that_a_page_names_has_that_trigger() -> None:
    """`turn.yaml:265:7: turn_committed: tool_running -> ...`, in what a command prints."""
    named = [
        (page, int(line), int(column), trigger)
        for page, text in PAGES.items()
        if page != "docs/proof.md"  # its flows are changed ones
        for line, column, trigger in re.findall(r"turn\.yaml:(\d+):(\d+): (\w+): \w", text)
    ]
    assert len(named) > 5
    assert [place for place in named if trigger_at(*place[1:3]) != place[3]] == []


def trigger_at(line: int, column: int) -> str:
    """The key at a place of turn.yaml; of one of several alternatives, the key above them."""
    lines = TURN.splitlines()[:line]
    if lines[-1][column - 1] == "{":
        lines = [above for above in lines if not above.lstrip().startswith(("-", "#"))]
    return lines[-1].strip().partition(":")[0]
