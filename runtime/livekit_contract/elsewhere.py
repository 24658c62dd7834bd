"""Inspects a livekit-agents outside of this environment."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from turnfsm.fsm.errors import TurnfsmError

from .look import Look

__all__ = ["interpreter_with", "look_with"]

_LOOK = "import site; [site.addsitedir(p) for p in {paths}]; import {module} as m; m.main()"


@contextmanager
def interpreter_with(release: str) -> Iterator[Path]:
    """An interpreter with this livekit-agents, and otherwise the packages of this process.

    Args:
        release: A version on the package index, the path of a wheel, or an environment in which
            livekit-agents is installed: its folder, or its interpreter.

    Raises:
        TurnfsmError: There is no such environment, or the release cannot be installed.
    """
    path = Path(release)
    if path.is_dir():
        yield _interpreter_of(path)
    elif path.is_file() and path.suffix != ".whl":
        yield path
    elif path.suffix == ".whl" and not path.is_file():
        raise TurnfsmError(f"error: {path} is no file")
    else:
        with TemporaryDirectory(prefix="turnfsm-livekit-") as folder:
            yield _install(release if path.is_file() else f"livekit-agents=={release}", folder)


def look_with(interpreter: Path) -> Look:
    """Inspect the livekit-agents of an interpreter.

    Raises:
        TurnfsmError: It cannot import livekit-agents or turnfsm.
    """
    module = f"{__package__}.look"
    code = _LOOK.format(paths=_own_paths(), module=module)
    done = _run([interpreter, "-P", "-c", code], f"{interpreter} cannot look at livekit-agents")
    return Look.read(json.loads(done))


def _install(requirement: str, folder: str) -> Path:
    try:
        venv.create(folder, with_pip=find_spec("pip") is None)
    except (OSError, subprocess.CalledProcessError) as error:
        raise TurnfsmError(
            f"error: no environment for {requirement}: {error}\n"
            "  = help: this needs the modules venv and ensurepip (apt-get install python3-venv)"
        ) from None
    interpreter = _interpreter_of(Path(folder))
    # The packages of this environment, pip among them, are visible there, with lower precedence:
    # only livekit-agents, and its dependencies in other versions, are downloaded.
    site = next(Path(folder).rglob("site-packages"))
    lines = [f"import site; site.addsitedir({path!r})" for path in _own_paths()]
    (site / "as_here.pth").write_text("\n".join(lines), encoding="utf-8")
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-compile")
    _run([interpreter, *pip, requirement], f"{requirement} cannot be installed")
    return interpreter


def _interpreter_of(folder: Path) -> Path:
    places = [folder / "bin" / "python", folder / "Scripts" / "python.exe"]
    if (found := next(filter(Path.exists, places), None)) is None:
        raise TurnfsmError(
            f"error: {folder} is no environment: it has no {places[0].relative_to(folder)}"
        )
    return found


def _own_paths() -> list[str]:
    library = {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}
    paths = (str(Path(path).resolve()) for path in sys.path if Path(path).is_dir())
    return [path for path in paths if path not in library and not path.endswith("lib-dynload")]


def _run(command: Sequence[str | Path], failed: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise TurnfsmError(f"error: {failed}: {said[-1] if said else 'no reason is given'}")
    return done.stdout
