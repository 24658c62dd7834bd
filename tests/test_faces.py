"""What `import turnfsm` shows: the public names, each of which can be had, and nothing else."""

import doctest
import pydoc
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import turnfsm

FACES = ("turnfsm", "turnfsm.check", "turnfsm.demo", "turnfsm.diagram")
FACES += ("turnfsm.livekit", "turnfsm.store", "turnfsm.testing")
FACES += ("turnfsm.metrics", "turnfsm.audit")


@pytest.mark.parametrize("name", FACES)
def test_a_face_lists_what_it_has(name: str) -> None:
    """`__all__`, `dir()` and attributes agree; what is not there is said in Python's own words."""
    face = import_module(name)
    assert [n for n in face.__all__ if getattr(face, n, None) is None] == []
    assert set(face.__all__) <= set(dir(face))
    assert not [n for n in dir(face) if n.startswith("_")]
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Nothing'"):
        _ = face.Nothing


def test_the_faces_are_found_from_the_first() -> None:
    """`turnfsm.check` needs no import of its own."""
    code = "import turnfsm; print(turnfsm.check.check_flow, sorted(dir(turnfsm)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for face in FACES[1:]:
        assert repr(face.partition(".")[2]) in done.stdout


def test_a_public_name_means_one_thing() -> None:
    things: dict[str, set[int]] = {}
    for name in FACES:
        face = import_module(name)
        for public in face.__all__:
            things.setdefault(public, set()).add(id(getattr(face, public)))
    assert [public for public, found in things.items() if len(found) > 1] == []


def test_help_describes_the_package() -> None:
    """`help(turnfsm)` begins with what the package is."""
    assert "finite-state-machine runtime" in pydoc.render_doc(turnfsm)


@pytest.mark.parametrize("name", FACES)
def test_the_examples_of_a_face_run(name: str) -> None:
    """The examples in the docstrings of the public modules."""
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


SHOWN = (turnfsm.load_flow, turnfsm.Machine, turnfsm.TurnRuntime, turnfsm.Ledger, turnfsm.JsonlSink)
SHOWN += (turnfsm.metrics.measure, turnfsm.metrics.panel, turnfsm.metrics.explain)
SHOWN += (turnfsm.check.check_flow, turnfsm.diagram.render, turnfsm.testing.Stage)


@pytest.mark.parametrize("thing", SHOWN, ids=lambda thing: thing.__name__)
def test_the_example_of_a_public_name_runs(thing: Any) -> None:
    """Each has an example in its docstring, and the example is true."""
    module = import_module(thing.__module__)
    [test] = doctest.DocTestFinder(recurse=False).find(thing, module=module)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_a_project_may_have_folders_of_the_same_names(wheel: Path, tmp_path: Path) -> None:
    """The wheel beside a project with its own `fsm` and `runtime`: both work."""
    site, project = tmp_path / "site", tmp_path / "project"
    zipfile.ZipFile(wheel).extractall(site)
    for name in ("fsm", "runtime", "specs"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f"NAME = 'the {name} of the project'\n")
    (project / "main.py").write_text(
        f"import sys; sys.path.insert(1, {str(site)!r})\n"
        "import fsm, runtime, specs, turnfsm\n"
        "from turnfsm.livekit import TurnSession\n"
        "print(fsm.NAME, runtime.NAME, specs.NAME, turnfsm.load_flow('turn').name,\n"
        "      TurnSession.__name__, turnfsm.__file__)\n"
    )
    command = [sys.executable, "main.py"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the fsm of the project the runtime of the project" in done.stdout
    assert f"turn TurnSession {site}" in done.stdout
