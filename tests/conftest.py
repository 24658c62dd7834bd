"""Fixtures for all tests: `virtual_time` from the project's own pytest plugin, and its wheel."""

import atexit
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

pytest_plugins = ["turnfsm.testing.plugin"]

# a busy machine is no failure; `make exhaustive` draws more
settings.register_profile("turnfsm", max_examples=25, deadline=None)
settings.register_profile("exhaustive", max_examples=400, deadline=None)
settings.load_profile("turnfsm")

if "TURNFSM_PROOFS" not in os.environ:  # what was proved before does not count; workers share it
    os.environ["TURNFSM_PROOFS"] = tempfile.mkdtemp(prefix="turnfsm-proofs-")
    atexit.register(shutil.rmtree, os.environ["TURNFSM_PROOFS"], ignore_errors=True)

gc.disable()  # while modules are imported and tests are collected, which all stay


def pytest_collection_finish() -> None:
    """Nothing that is there now is looked at by the garbage collector again; what a conversation
    makes is garbage before it is looked at a second time."""
    gc.freeze()
    gc.set_threshold(5000, 10, 10)
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a sweep that is marked `one_in(n)`, `make test` plays one case in n."""
    places = Counter[str]()
    for item in items:
        if (mark := item.get_closest_marker("one_in")) and "exhaustive" not in item.keywords:
            test = item.nodeid.partition("[")[0]
            if places[test] % mark.args[0]:
                item.add_marker("exhaustive")
            places[test] += 1


@pytest.fixture(scope="module")
def old_objects_stay() -> None:
    """For tests that collect garbage often: what other tests have left is passed over."""
    gc.freeze()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist and, from it alone, the wheel."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.glob("*.whl")
    return path
