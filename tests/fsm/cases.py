"""The corpus: malformed flows, each with what is said about it.

A case is a title, a text, and one line for each finding, in order::

    === title
    flow: x
    --- 1:1 code | message | remedy

A finding in another file has ``FILE:`` before its line.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import attrs

from turnfsm.fsm.diagnostics import Finding

__all__ = ["CASES", "FOLDER", "Case", "expectation", "prepare"]

FOLDER = Path(__file__).parent / "corpus"


@attrs.frozen
class Case:
    """One malformed flow and what is expected of it."""

    group: str
    title: str
    text: str
    expected: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.group}: {self.title}"


def expectation(finding: Finding) -> str:
    """A finding as the corpus writes it."""
    place = f"{finding.line}:{finding.column}"
    file = "" if finding.file == "case.yaml" else f"{Path(finding.file).name}:"
    remedy = finding.remedy
    if finding.code == "unknown-key" and remedy.startswith("there is: "):
        remedy = "there is: ..."  # the keys of a flow grow; the cases stay
    return f"{file}{place} {finding.code} | {finding.message} | {remedy}".rstrip()


def prepare(folder: Path) -> None:
    """Lay the flows out that the corpus extends."""
    shutil.copytree(FOLDER / "bases", folder, dirs_exist_ok=True)
    (folder / "folder.yaml").mkdir()
    (folder / "latin.yaml").write_bytes(b"flow: caf\xe9\n")


def _read(path: Path) -> Iterator[Case]:
    for block in path.read_text(encoding="utf-8").split("=== ")[1:]:
        title, _, body = block.partition("\n")
        lines = body.splitlines(keepends=True)
        text = "".join(line for line in lines if not line.startswith("--- "))
        expected = [line[4:].rstrip() for line in lines if line.startswith("--- ")]
        yield Case(path.stem, title, text, tuple(expected))


CASES = [case for path in sorted(FOLDER.glob("*.flows")) for case in _read(path)]
