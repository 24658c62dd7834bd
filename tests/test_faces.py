"""What `import turnfsm` shows: the public names, each of which can be had, and nothing else."""

import asyncio
import doctest
import inspect
import io
import pydoc
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import attrs
import pytest
from livekit.agents import AgentSession

import turnfsm
from turnfsm.livekit import EventRecorder, TurnContext, TurnSession
from turnfsm.testing import ScriptedLLM, ScriptedUser, Stage

PLAIN = (turnfsm.Event, Protocol, TurnContext)  # nobody calls these
FACES = ("turnfsm", "turnfsm.check", "turnfsm.demo", "turnfsm.diagram")
FACES += ("turnfsm.livekit", "turnfsm.store", "turnfsm.testing")
FACES += ("turnfsm.metrics", "turnfsm.audit")


@pytest.mark.parametrize("name", FACES)
def test_a_public_package_lists_its_names(name: str) -> None:
    """`__all__`, `dir()` and attributes agree; a missing name is an ordinary AttributeError."""
    face = import_module(name)
    assert [n for n in face.__all__ if getattr(face, n, None) is None] == []
    assert set(face.__all__) <= set(dir(face))
    assert not [n for n in dir(face) if n.startswith("_")]
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Nothing'"):
        _ = face.Nothing


def test_public_packages_need_no_import_of_their_own() -> None:
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
def test_the_examples_of_a_public_package_run(name: str) -> None:
    """The examples in the docstrings of the public modules."""
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


# They load a speech model: their examples are not run.
MODELS = {"MoonshineSTT", "PiperTTS", "PiperVoice", "Transcriber"}
PUBLIC = {
    f"{face}.{name}": thing
    for face in FACES
    for name in import_module(face).__all__
    if inspect.isclass(thing := getattr(import_module(face), name)) or inspect.isfunction(thing)
}


@pytest.mark.parametrize("name", PUBLIC)
def test_a_docstring_says_every_argument(name: str) -> None:
    """Below `Args:` or, for a value, below `Attributes:`; a function also says what it returns."""
    thing = PUBLIC[name]
    text = inspect.getdoc(thing) or ""
    assert vars(thing)["__doc__"] if inspect.isclass(thing) else text
    said = set(re.findall(r"^    (\w[\w, ]*): ", text, re.MULTILINE))
    said = {word for words in said for word in words.split(", ")}
    if inspect.isfunction(thing) or ("__init__" in vars(thing) and not issubclass(thing, PLAIN)):
        assert [p for p in inspect.signature(thing).parameters if p not in said] == []
    if inspect.isfunction(thing) and inspect.signature(thing).return_annotation != "None":
        assert "Returns:" in text


HELLO = """\
name: the agent greets
user: [{at: 1.0, says: hello}]
model: {on_user: {hello: Hi there.}}
expect: [{speaking: Hi there, within: 1.0, after: hello}]
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the examples read: a journal, events, a scenario."""
    folder = tmp_path_factory.mktemp("recorded")
    user = ScriptedUser().says("tell me a story", at=1.0)
    user.says("stop please now", at=5.0).says("thanks", at=10.0)
    story = "Once upon a time there was a very small and very old house."

    events = io.StringIO()

    def watched(**options: Any) -> AgentSession[Any]:
        sink = turnfsm.JsonlSink(folder / "journal.jsonl", redact=None)
        session = TurnSession(sinks=[sink], **options)
        EventRecorder(session, events)
        return session

    model = ScriptedLLM({"story": story, "thanks": "Bye."})
    Stage(watched, user=user, llm=model).run(15.0)  # type: ignore[arg-type]
    (folder / "events.jsonl").write_text(events.getvalue(), encoding="utf-8")
    (folder / "hello.yaml").write_text(HELLO, encoding="utf-8")
    return folder


@pytest.fixture
def event_loop() -> Iterator[None]:
    """A session that is made outside a coroutine takes the current loop."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.usefixtures("event_loop")
@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_a_public_name_runs(
    name: str, recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions and what users make themselves have an example, and the example is true."""
    monkeypatch.chdir(recorded)
    thing = PUBLIC[name]
    module = import_module(thing.__module__)
    tests = doctest.DocTestFinder().find(thing, module=module)
    short = name.rpartition(".")[2]
    [own] = [test for test in tests if test.name == thing.__name__]
    if inspect.isfunction(thing) or not (attrs.has(thing) or issubclass(thing, Exception)):
        assert own.examples or (short in MODELS and "Example::" in own.docstring)
    for test in tests:  # of the class and its methods
        assert not any(doctest.SKIP in example.options for example in test.examples)
        assert doctest.DocTestRunner().run(test).failed == 0


@pytest.mark.exhaustive
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
