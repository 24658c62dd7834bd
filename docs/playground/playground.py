"""The playground of the site: the page of a flow, with Python and `fsm` in the browser.

Python for the browser is Pyodide, from the npm package ``pyodide`` at the version and with the
hash of ``package-lock.json``. The packages beside it are those that the documentation is built
with. All of it is served by the site itself.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import turnfsm
from turnfsm.runtime.view.flow_page import FlowFile
from turnfsm.runtime.view.page import build_page

__all__ = ["pyodide", "write"]

HERE = Path(__file__).parent
PACKAGE = Path(turnfsm.__file__).parent

NAME = "mine.yaml"

START = """\
# The shipped flow, and what differs from it.
flow: mine
extends: turn
timers: {false_interruption: 1.2}  # seconds
states:
  speaking:
    tuning: {min_words: 2}  # only while the agent speaks
"""

FAULT = """\
# Resumes although the user still speaks.
flow: mine
extends: turn
states:
  paused:
    after:
      false_interruption:
        {dest: speaking, actions: resume_output}
"""

RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
RUNTIME += ("pyodide-lock.json",)

OURS = ("__init__.py", "fsm", "specs", "runtime/__init__.py", "runtime/journal", "runtime/view")

NO_PART_OF_FSM = ("typer",)

ALONE = ("rich",)  # the width of a character is all that is asked of it

NOT_BUILT = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>The playground</title>
<h1>The playground was not built</h1>
<p>It needs Pyodide, which comes with npm: install npm and run <code>make docs</code> again.</p>
<p>{why}</p>
<p><code>turnfsm view FLOW.yaml</code> shows the same page, without it.</p>
</html>
"""


class NotThere(Exception):
    """Pyodide cannot be had here."""


def write(out: Path) -> str | None:
    """Write the playground, or a page that says how to build it.

    Returns:
        Why it is not there; None if it is.
    """
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    try:
        source = pyodide()
    except NotThere as why:
        (out / "index.html").write_text(NOT_BUILT.format(why=why), "utf-8")
        return str(why)
    (out / "index.html").write_text(build_page(_shown()), "utf-8")
    shutil.copy(HERE / "worker.mjs", out)
    (out / "pyodide").mkdir()
    for name in RUNTIME:
        shutil.copy(source / name, out / "pyodide")
    with zipfile.ZipFile(out / "packages.zip", "w", zipfile.ZIP_DEFLATED) as to:
        for path, name in sorted(_packages(), key=lambda each: each[1]):
            to.write(path, name)
    return None


def pyodide() -> Path:
    """The folder of the npm package, installed if it is not there yet.

    Raises:
        NotThere: There is no npm, or it has no registry.
    """
    folder = HERE / "node_modules/pyodide"
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]["pyodide"]
    if _version(folder) == wanted:
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise NotThere("There is no npm.")
    with tempfile.TemporaryDirectory(dir=HERE, prefix=".npm.") as there:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, there)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        done = subprocess.run(command, cwd=there, capture_output=True, text=True)
        if "EINTEGRITY" in done.stderr:
            raise SystemExit(f"pyodide is not what package-lock.json says:\n{done.stderr}")
        if done.returncode:
            raise NotThere(f"npm cannot install pyodide {wanted}: {done.stderr.strip()[:200]}")
        if _version(folder) != wanted:  # no other process was quicker
            shutil.rmtree(HERE / "node_modules", ignore_errors=True)
            with contextlib.suppress(OSError):
                Path(there, "node_modules").rename(HERE / "node_modules")
    return folder


def _version(folder: Path) -> str | None:
    try:
        return str(json.loads((folder / "package.json").read_text())["version"])
    except OSError:
        return None


def _shown() -> dict[str, object]:
    """The page before Python has started."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path(NAME).write_text(START, "utf-8")
        data = FlowFile(NAME).data
    starts = [{"name": "an extension", "text": START}, {"name": "a fault", "text": FAULT}]
    for path in sorted((PACKAGE / "specs").glob("*.yaml")):
        starts.append({"name": path.stem, "text": path.read_text("utf-8")})
    editor = {"name": NAME, "text": START, "starts": starts}
    return {**data, "worker": "worker.mjs", "editor": editor}


def _packages() -> Iterator[tuple[Path, str]]:
    """What `fsm` needs to run, and its name in the archive."""
    for part in OURS:
        for path in (PACKAGE / part, *(PACKAGE / part).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path, f"turnfsm/{path.relative_to(PACKAGE)}"
    for name in _needed("turnfsm"):
        found = distribution(name)
        for file in found.files or ():
            if file.suffix in (".py", ".typed"):
                yield Path(str(found.locate_file(file))), str(file)


def _needed(name: str) -> set[str]:
    """What a distribution requires, without extras, and what that requires in turn."""
    found: set[str] = set()
    for line in distribution(name).requires or ():
        requirement, _, marker = line.partition(";")
        one = re.split(r"[^\w.-]", requirement.strip())[0].lower()
        if "extra" in marker or "python_version" in marker or one in NO_PART_OF_FSM:
            continue
        found |= {one} | (_needed(one) if one not in ALONE else set())
    return found
