"""The output folder of a run. It is replaced only when the new one is complete."""

import shutil
from pathlib import Path

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["FolderOccupied", "OutFolder"]

_PARTIAL = ".partial"


class FolderOccupied(TurnfsmError):
    """The output folder has files that no demo wrote."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"error: {problem}\n  = help: name another folder with --out")


class OutFolder:
    """Where a run writes. Files stay in a subfolder until `publish` moves them.

    Raises:
        FolderOccupied: It is not a folder, or has files that no earlier run wrote.
    """

    PAGE, WAV, JOURNAL, TIMELINE, TRANSCRIPT = (
        *("conversation.html", "conversation.wav", "journal.jsonl"),
        *("timeline.svg", "transcript.txt"),
    )
    NAMES = (PAGE, WAV, JOURNAL, TIMELINE, TRANSCRIPT)

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path / _PARTIAL
        self._look()

    def open(self) -> None:
        """Prepare for a new run. The files of an earlier one stay until `publish`."""
        self._drop_partial()
        self.partial.mkdir(parents=True)

    def publish(self) -> list[Path]:
        """Move each new file to its place in one step, and remove the files of an earlier run."""
        fresh = [name for name in self.NAMES if (self.partial / name).is_file()]
        for name in self.NAMES:
            if name in fresh:
                (self.partial / name).replace(self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)
        self._drop_partial()
        return [self.path / name for name in fresh]

    def close(self) -> None:
        """Remove the traces of a run that wrote nothing. The files of an earlier one stay."""
        self._drop_partial()
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def _look(self) -> None:
        if not self.path.exists():
            if self.path.is_symlink():
                raise FolderOccupied(f"{self.path} is a broken link")
            return
        if not self.path.is_dir():
            raise FolderOccupied(f"{self.path} is no folder")
        there = {entry.name for entry in self.path.iterdir()}
        if others := sorted(there - {*self.NAMES, _PARTIAL}):
            more = f" and {len(others) - 3} more" if len(others) > 3 else ""
            listed = ", ".join(others[:3]) + more
            raise FolderOccupied(f"{self.path} holds files of no earlier demo: {listed}")
        if there and not there & {self.JOURNAL, _PARTIAL}:
            listed = ", ".join(sorted(there))
            raise FolderOccupied(f"{self.path} holds {listed} without the journal of a demo")

    def _drop_partial(self) -> None:
        if self.partial.is_dir():
            shutil.rmtree(self.partial)
