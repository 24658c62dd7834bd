"""The output folder: what is somebody else's stays."""

from pathlib import Path

import pytest

from turnfsm.runtime.demo.folder import FolderOccupied, OutFolder


@pytest.mark.parametrize(
    ("there", "message"),
    [
        (["notes.md"], "notes.md"),
        (["journal.jsonl", "a", "b", "c", "d"], "a, b, c and 1 more"),
        (["transcript.txt"], "without the journal of a demo"),
    ],
)
def test_files_of_others_are_refused(there: list[str], message: str, tmp_path: Path) -> None:
    """A folder that no demo has left is not written to, and nothing in it is touched."""
    for name in there:
        (tmp_path / name).write_text("mine")
    with pytest.raises(FolderOccupied, match=message) as caught:
        OutFolder(tmp_path)
    assert "--out" in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(there)


def test_file_and_dangling_link_are_refused(tmp_path: Path) -> None:
    """A folder is needed."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FolderOccupied, match="no folder"):
        OutFolder(tmp_path / "file")
    with pytest.raises(FolderOccupied, match="broken link"):
        OutFolder(tmp_path / "link")


def test_earlier_run_stays_until_the_new_one_is_published(tmp_path: Path) -> None:
    """Half a run replaces nothing; what a killed one left is cleared by the next."""
    (tmp_path / "journal.jsonl").write_text("old")
    (tmp_path / ".partial").mkdir()
    (tmp_path / ".partial" / "journal.jsonl").write_text("killed")
    folder = OutFolder(tmp_path)
    folder.open()
    assert list(folder.partial.iterdir()) == []
    (folder.partial / "journal.jsonl").write_text("new")
    assert (tmp_path / "journal.jsonl").read_text() == "old"
    assert folder.publish() == [tmp_path / "journal.jsonl"]
    assert (tmp_path / "journal.jsonl").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["journal.jsonl"]


def test_run_that_wrote_nothing_leaves_no_folder(tmp_path: Path) -> None:
    """An error before the first record leaves the place as it was."""
    folder = OutFolder(tmp_path / "out")
    folder.open()
    folder.close()
    assert not (tmp_path / "out").exists()
