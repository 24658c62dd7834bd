"""Files that releases have written: each later turnfsm reads them. docs/versions.md promises it."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnfsm.fsm.journal import read_journal
from turnfsm.runtime.cli import main

RELEASES = sorted(
    path for path in Path(__file__).parent.iterdir() if (path / "clerk.yaml").is_file()
)
each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


def _prints(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = capsys.readouterr()
    assert ended.value.code == 0, said.out + said.err
    return said.out


@pytest.mark.exhaustive
@each_release
def test_a_flow_of_the_release_is_proved(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "proved: 0 errors" in _prints(capsys, "check", str(release / "clerk.yaml"))


@each_release
def test_a_journal_of_the_release_is_read(release: Path) -> None:
    journal = read_journal(release / "journal.jsonl")
    assert journal.damage is None
    assert len(journal.entries) + len(journal.notes) == 119


@each_release
def test_a_recording_of_the_release_is_audited(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = _prints(capsys, "audit", str(release / "events.jsonl"))
    assert "0 findings" in said
    assert "L_R 1.20 s" in said
