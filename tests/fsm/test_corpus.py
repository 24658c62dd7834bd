"""Each malformed flow of the corpus is said to be wrong at its place, with its remedy."""

from pathlib import Path

import pytest
from cases import CASES, Case, expectation, prepare

from turnfsm.fsm import FlowError, load_flow, parse_flow
from turnfsm.fsm.codes import LOADER_CODES
from turnfsm.runtime.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the flows that the corpus extends."""
    made = tmp_path_factory.mktemp("corpus")
    prepare(made)
    return made


@pytest.fixture
def case_file(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The case as a file, in the working folder."""
    monkeypatch.chdir(folder)
    file = Path("case.yaml")
    file.write_text(case.text, encoding="utf-8")
    return file


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_finding_is_as_expected(case: Case, case_file: Path) -> None:
    """Line, column, code, message and remedy of every finding, in order, and no more. What a
    message quotes first is what its caret underlines, where it can be seen there."""
    flow, findings = parse_flow(case.text, str(case_file))
    assert [expectation(finding) for finding in findings] == list(case.expected)
    assert flow is None
    assert findings, "the corpus holds malformed flows only"
    for finding in findings:
        marked = finding.text[finding.column - 1 :][: finding.width]
        quoted = finding.message.split("'")[1] if "'" in finding.message else None
        if finding.code in {"unknown-key", "unknown-state", "unknown-fact", "duplicate-key"}:
            assert marked.strip("'\"") == quoted


@pytest.mark.one_in(10)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_file_is_read_like_a_text(case: Case, case_file: Path) -> None:
    """`load_flow` raises one error that holds and prints all findings."""
    with pytest.raises(FlowError) as caught:
        load_flow(case_file)
    assert [expectation(finding) for finding in caught.value.findings] == list(case.expected)
    assert all(finding.message in str(caught.value) for finding in caught.value.findings)


@pytest.mark.parametrize("case", CASES[::6], ids=str)
def test_the_command_exits_with_2_and_names_the_place(
    case: Case, case_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`turnfsm check` exits with 2, names the place, and shows no traceback."""
    pytest.importorskip("turnfsm.runtime.cli.check")
    with pytest.raises(SystemExit) as stopped:
        main(["check", str(case_file)])
    written = "".join(capsys.readouterr())
    assert stopped.value.code == 2
    assert "Traceback" not in written
    assert f"{case.expected[0].partition(' ')[0]}: error: " in written


def test_the_corpus_has_150_cases_with_unique_names() -> None:
    """At least 150 flows, no two of one name, none without an expectation."""
    assert len(CASES) >= 150
    assert len({str(case) for case in CASES}) == len(CASES)
    assert all(case.expected for case in CASES)


def test_every_kind_of_text_is_covered() -> None:
    """Every code that a text alone can cause has a case."""
    found = {line.split()[1] for case in CASES for line in case.expected}
    of_bytes = {"unreadable", "encoding", "character", "too-large", "too-many"}
    assert found == set(LOADER_CODES) - of_bytes
