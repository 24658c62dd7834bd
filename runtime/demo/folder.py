"""The output folder of a run: replaced only when there is a complete new one."""

import shutil
from pathlib import Path

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["FolderOccupied", "OutFolder"]

_PARTIAL = ".partial"


class FolderOccupied(TurnfsmError):
    """The folder for the output holds what no demo wrote."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"error: {problem}\n  = help: name another folder with --out")


class OutFolder:
    """Where a run writes; files go to a folder inside until `publish` puts them in their place.

    Raises:
        FolderOccupied: It is no folder, or holds files that no earlier run has left.
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
        """Make room for a new run; what an earlier one left stays until `publish`."""
        self._drop_partial()
        self.partial.mkdir(parents=True)

    def publish(self) -> list[Path]:
        """Put each new file in its place in one step, and take away what is of an earlier run."""
        fresh = [name for name in self.NAMES if (self.partial / name).is_file()]
        for name in self.NAMES:
            if name in fresh:
                (self.partial / name).replace(self.path / name)
            else:
                (self.path / name).unlink(missing_ok=True)
        self._drop_partial()
        return [self.path / name for name in fresh]

    def close(self) -> None:
        """Leave nothing of a run that wrote nothing; what an earlier one left stays."""
        self._drop_partial()
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def _look(self) -> None:
        if not self.path.exists():
            if self.path.is_symlink():
                raise FolderOccupied(f"{self.path} is a link that leads nowhere")
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
