"""The commands render, timeline and diagrams: what they write and what bad input gets."""

from pathlib import Path

import pytest
from command import run
from conversation import CALL, half_a_minute


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """Write a journal."""
    path = tmp_path / "talk.jsonl"
    path.write_text(half_a_minute().jsonl)
    return path


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        ("svg", b"<svg"),
        ("png", b"\x89PNG"),
        ("mmd", b"stateDiagram-v2"),
        ("dot", b"digraph"),
        ("md", b"# turn"),
    ],
)
def test_render_writes_each_format(ending: str, start: bytes, tmp_path: Path) -> None:
    """The name of the file chooses the format; folders are made."""
    path = tmp_path / "new" / f"turn.{ending}"
    assert run("render", "turn", "-o", path) == 0
    assert path.read_bytes().startswith(start)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_render_shows_a_configuration_and_a_trace(tmp_path: Path, talk: Path) -> None:
    """--state and --trace change the picture."""
    plain, state, trace = (tmp_path / f"{name}.svg" for name in "abc")
    run("render", CALL, "-o", plain)
    run("render", CALL, "-o", state, "--state", "paused", "--facts", "user_speaking", "--focus")
    run("render", CALL, "-o", trace, "--trace", talk)
    assert 'class="current"' in state.read_text()
    assert "Now: paused, with user_speaking." in state.read_text()
    assert "\u00d7" in trace.read_text()
    run("render", CALL, "-o", tmp_path / "d.dot", "--trace", talk)
    assert "\u00d7" in (tmp_path / "d.dot").read_text()
    assert len({path.read_text() for path in (plain, state, trace)}) == 3


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_timeline_writes_a_picture(ending: str, talk: Path, tmp_path: Path) -> None:
    """A journal becomes an SVG or a PNG."""
    path = tmp_path / f"talk.{ending}"
    assert run("timeline", talk, "-o", path, "--from", 2, "--to", 9) == 0
    assert path.read_bytes().startswith(b"<svg" if ending == "svg" else b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("render", "turn", "-o", "x.gif"), "cannot draw .gif"),
        (("render", "trun", "-o", "x.svg"), "did you mean 'turn'?"),
        (("render", "turn", "-o", "x.svg", "--state", "pausd"), "did you mean 'paused'?"),
        (("render", "turn", "-o", "x.svg", "--state", "paused", "--facts", "x"), "no fact 'x'"),
        (("render", "turn", "-o", "x.svg", "--facts", "x"), "need --state"),
        (("render", "turn", "-o", "x.svg", "--state", "paused", "--trace", "y"), "not both"),
        (("render", "turn", "-o", "x.svg", "--state", "paused", "--overview"), "give --overview"),
        (("render", "turn", "-o", "x.svg", "--trace", "gone.jsonl"), "gone.jsonl: no such file"),
        (("timeline", "gone.jsonl", "-o", "x.svg"), "gone.jsonl: no such file"),
        (("timeline", "talk.jsonl", "-o", "x.gif"), "a timeline is .svg or .png"),
        (("timeline", "talk.jsonl", "-o", "x.svg", "--from", "99"), "nothing between 99 s"),
        (("timeline", "bad.jsonl", "-o", "x.svg"), "bad.jsonl:1: not JSON"),
    ],
)
def test_bad_input_gets_one_message(
    words: tuple[str, ...],
    said: str,
    talk: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Exit status 2, the remedy, no traceback, nothing written."""
    monkeypatch.chdir(talk.parent)
    Path("bad.jsonl").write_text("?")
    assert run(*words) == 2
    written = capsys.readouterr().err
    assert said in written
    assert "Traceback" not in written
    assert {path.name for path in Path().iterdir()} == {"talk.jsonl", "bad.jsonl"}


def test_diagrams_knows_what_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check names missing, stale and left-over files and writes nothing."""
    monkeypatch.setattr("turnfsm.runtime.cli.diagrams.shipped_flows", lambda: {"call": CALL})
    folder = tmp_path / "pictures"
    assert run("diagrams", "-o", folder) == 0
    assert run("diagrams", "-o", folder, "--check") == 0
    (folder / "call.svg").write_text("old")
    (folder / "call.matrix.md").unlink()
    (folder / "gone.svg").write_text("left over")
    capsys.readouterr()
    assert run("diagrams", "-o", folder, "--check") == 1
    assert capsys.readouterr().err.splitlines() == [
        f"{folder}/call.svg: is stale",
        f"{folder}/call.matrix.md: is missing",
        f"{folder}/gone.svg: belongs to no shipped flow",
        f"  = help: run 'turnfsm diagrams -o {folder}' and commit the result",
    ]
    assert (folder / "call.svg").read_text() == "old"
    assert run("diagrams", "-o", folder) == 0
    assert not (folder / "gone.svg").exists()
    assert run("diagrams", "-o", folder, "--check") == 0
