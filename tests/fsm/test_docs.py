"""docs/diagnostics.md has every code, and each of its examples is what is really printed."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from cases import prepare
from flow_text import parsed

from turnfsm.fsm import FlowError, load_flow, parse_flow, problems, shipped_flows
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.codes import LOADER_CODES, PROOF_CODES
from turnfsm.fsm.diagnostics import render_findings

DOCS = Path(__file__).parents[2] / "docs"


def printed(text: str) -> str:
    """What is said about a text in the file case.yaml."""
    Path("case.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(FlowError) as caught:
        load_flow("case.yaml")
    return str(caught.value)


def _of_bytes(data: bytes) -> Callable[[Path], str]:
    def example(folder: Path) -> str:
        (folder / "my.yaml").write_bytes(data)
        with pytest.raises(FlowError) as caught:
            load_flow("my.yaml")
        return str(caught.value)

    return example


def _unreadable(folder: Path) -> str:
    with pytest.raises(FlowError) as caught:
        load_flow("gone.yaml")
    return str(caught.value)


def _too_many(folder: Path) -> str:
    states = "".join(f"  s{i}: {{dest: s0}}\n" for i in range(200))
    findings = parse_flow(f"flow: x\ninitial: s0\nstates:\n{states}", "my.yaml")[1]
    return render_findings(findings[-1:])


EXAMPLES: dict[str, Callable[[Path], str]] = {
    "unreadable": _unreadable,
    "encoding": _of_bytes(b"flow: x\nis: caf\xe9\n"),
    "character": _of_bytes(b"flow: x\nis: a\0b\n"),
    "too-large": _of_bytes(b"#" * 300_000),
    "too-many": _too_many,
}
"""The codes that no readable example can cause."""


def test_each_code_of_the_catalogue_has_a_meaning() -> None:
    catalogue = Path(problems.__file__).with_suffix(".toml").read_text(encoding="utf-8")
    assert {*tomllib.loads(catalogue)} <= {*LOADER_CODES, *PROOF_CODES}


def sections() -> dict[str, str]:
    """Code to the text of its section."""
    text = (DOCS / "diagnostics.md").read_text(encoding="utf-8")
    parts = re.split(r"^### `(.+)`\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def block(section: str, language: str) -> str | None:
    """The first fenced block of a language."""
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    return found[1] if found else None


def test_every_code_has_a_section() -> None:
    """All codes of the loader, each with the sentence that the code has in turnfsm.fsm.codes."""
    assert set(LOADER_CODES) <= set(sections())
    for code, sentence in LOADER_CODES.items():
        assert sentence in sections()[code]


@pytest.mark.parametrize("code", LOADER_CODES)
def test_every_example_is_what_is_printed(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example of a section gives, word for word, what stands below it."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)
    section = sections()[code]
    shown, text = block(section, "text"), block(section, "yaml")
    said = EXAMPLES[code](tmp_path) if text is None else printed(text)
    assert shown == said + "\n"
    place = r"^\S+?(:\d+:\d+)?: error: "
    codes = {f.code for f in parse_flow(text, "case.yaml")[1]} if text else {code}
    assert code in codes
    assert re.search(place, said)


@pytest.mark.exhaustive
def test_the_examples_of_the_reference_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each flow that docs/flows.md shows is a valid one."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "flows.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert len(examples) > 20  # they are found at all
    for example in examples:
        flow, findings = parse_flow(example)
        assert flow is not None, render_findings(findings)
        assert check_flow(flow).findings == ()


def test_a_variant_is_ten_lines_and_its_mistake_is_shown() -> None:
    """The variant of docs/flows.md is proved; without its last line it gives what stands there."""
    section = (DOCS / "flows.md").read_text(encoding="utf-8").partition("## Extending a flow")[2]
    text, shown = block(section, "yaml"), block(section, "text")
    assert text is not None
    lines = text.splitlines(keepends=True)
    assert len(lines) <= 10
    flow = parsed("".join(lines[:-1]), "patient.yaml")
    assert render_findings(check_flow(flow).findings) + "\n" == shown


def test_every_shipped_flow_is_explained() -> None:
    """By its name in docs/flows.md, and in three lines or a little more at the head of its file."""
    section = (DOCS / "flows.md").read_text(encoding="utf-8").partition("## The shipped flows")[2]
    for name, path in shipped_flows().items():
        assert f"`{name}`" in section
        if load_flow(path).extends:
            lines = path.read_text(encoding="utf-8").splitlines()
            head = next(i for i, line in enumerate(lines) if not line.startswith("#"))
            assert 4 <= head <= 6
            assert len(lines) <= (120 if name == "overlap" else 30)
