"""Flows are proved before they govern: when, how often, and what is said of one that is not."""

import logging
from pathlib import Path
from typing import Any

import attrs
import pytest
from flow_text import parsed

import turnfsm.fsm.check.check
from turnfsm import Flow, FlowError, TurnfsmError, load_flow, shipped_flows
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import Report
from turnfsm.runtime import proof
from turnfsm.runtime.cli import main
from turnfsm.runtime.proof import digest, require_proof, shipped_proofs

TURN = load_flow("turn")
BROKEN = attrs.evolve(
    TURN,
    states={
        name: attrs.evolve(state, after={}) if name == "interrupted" else state
        for name, state in TURN.states.items()
    },
)
"""Nothing leads out of `interrupted` when no further event comes."""
REPORTS: dict[str, Report] = {}
"""By digest, what each flow of this file was found to be."""


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of the flows that are checked from now on; nothing is remembered."""
    checked: list[str] = []

    def check(flow: turnfsm.Flow) -> Report:
        checked.append(flow.name)
        if (known := digest(flow)) not in REPORTS:
            REPORTS[known] = check_flow(flow)
        return REPORTS[known]

    monkeypatch.setattr(turnfsm.fsm.check.check, "check_flow", check)
    monkeypatch.setattr(proof, "_proved", set())
    monkeypatch.setenv("TURNFSM_PROOFS", str(tmp_path / "proofs"))
    return checked


@pytest.mark.exhaustive
def test_the_recorded_proofs_are_those_of_the_shipped_flows() -> None:
    """`make diagrams` has recorded each flow as it is now, and what its check came to."""
    fresh = {}
    for name in shipped_flows():
        flow = load_flow(name)
        report = check_flow(flow)
        assert report.ok
        counts = {"configurations": report.configurations, "transitions": report.transitions}
        fresh[name] = {"digest": digest(flow), **counts}
    assert shipped_proofs() == fresh, "run `make diagrams`"


def test_a_shipped_flow_is_not_checked_again(checks: list[str]) -> None:
    """Its proof was recorded."""
    assert require_proof(TURN) == ()
    assert checks == []


def test_another_flow_is_checked_once_a_process(checks: list[str], tmp_path: Path) -> None:
    """Read from another place, it is the same flow; changed, it is another."""
    text = "flow: mine\nextends: turn\ntimers: {settle: 0.4}\n"
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.yaml").write_text(text)
        assert require_proof(load_flow(tmp_path / folder / "mine.yaml")) == ()
    assert checks == ["mine"]
    changed = parsed(text.replace("0.4", "0.3"))
    require_proof(changed)
    assert checks == ["mine", "mine"]


@pytest.mark.parametrize(
    "change",
    [
        "tools: {by_name: {transfer_money: hold}}",
        "states: {listening: {tuning: {mute: true}}}",
        "phrases: {acknowledged: {without: [okay]}}",
        "turn_detection: manual",
    ],
)
def test_what_no_proof_depends_on_can_change_without_a_check(
    change: str, checks: list[str]
) -> None:
    """Nor does the name."""
    mine = parsed(f"flow: mine\nextends: turn\n{change}\n")
    assert require_proof(mine) == ()
    assert checks == []


class _Watched(Flow):
    """A flow that cannot be asked for what its digest leaves out."""

    def __getattribute__(self, name: str) -> Any:
        assert name not in proof._NOT_PROVED - {"name", "extends", "source"}, name
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", ["turn", "speech_to_speech"])
def test_a_check_does_not_read_what_the_digest_leaves_out(name: str) -> None:
    """Name, base and place are only repeated in what it says."""
    flow = load_flow(name)
    values = {field.alias: getattr(flow, field.name) for field in attrs.fields(Flow)}
    unreadable: Any = None
    values["states"] = {
        name: attrs.evolve(state, tuning=unreadable) for name, state in flow.states.items()
    }
    assert check_flow(_Watched(**values)).ok


MINE = "flow: mine\nextends: turn\ntimers: {settle: 0.4}\n"


def another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "_proved", set())


def test_another_process_does_not_check_it_again(
    checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """LiveKit has one for each call."""
    mine = parsed(MINE)
    for _ in range(2):
        assert require_proof(mine) == ()
        another_process(monkeypatch)
    assert checks == ["mine"]


@pytest.mark.parametrize("table", ["turn_rules.yaml", "turn.toml"])
def test_a_checker_with_another_table_is_another_checker(
    table: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(turnfsm.fsm, "__file__", str(tmp_path / "__init__.py"))
    hashes = set()
    for text in ("one", "another"):
        (tmp_path / table).write_text(text)
        hashes.add(proof._checker.__wrapped__())
    assert len(hashes) == 2


def test_another_checker_checks_it_again(
    checks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may find what this one does not."""
    mine = parsed(MINE)
    require_proof(mine)
    another_process(monkeypatch)
    monkeypatch.setattr(proof, "_checker", lambda: "another")
    require_proof(mine)
    assert checks == ["mine", "mine"]


@pytest.mark.parametrize("folder", ["", "a file", "too long " * 100])
def test_a_folder_that_cannot_be_written_to_costs_only_the_check(
    folder: str, checks: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mine = parsed(MINE)
    (tmp_path / "a file").touch()
    monkeypatch.setenv("TURNFSM_PROOFS", str(tmp_path / folder) if folder else "")
    for _ in range(2):
        assert require_proof(mine) == ()
        another_process(monkeypatch)
    assert checks == ["mine", "mine"]


def test_turnfsm_check_spares_the_session_the_check(
    checks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    with pytest.raises(SystemExit):
        main(["check", str(file)])
    assert "mine.yaml: proved" in capsys.readouterr().out
    checks.clear()
    assert require_proof(load_flow(file)) == ()
    assert checks == []


def test_a_flow_that_is_not_proved_is_refused_with_its_findings(checks: list[str]) -> None:
    """Each time it is used; the message has places and remedies."""
    for _ in range(2):
        with pytest.raises(FlowError, match="flow 'turn' is not proved: ") as caught:
            require_proof(BROKEN)
        assert caught.value.findings
        assert "proof='warn'" in str(caught.value)
    assert checks == ["turn", "turn"]


def test_warn_logs_what_is_wrong(checks: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """The flow may govern; the reasons are returned for the journal."""
    with caplog.at_level(logging.WARNING, "turnfsm"):
        reasons = require_proof(BROKEN, "warn")
    assert any("an_interruption_settles" in reason for reason in reasons)
    assert "governs and is not proved" in caplog.text


def test_off_does_not_check(checks: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """It says so, unless the flow is known to be proved."""
    with caplog.at_level(logging.WARNING, "turnfsm"):
        assert require_proof(BROKEN, "off") == ("it was not checked: proof='off'",)
        assert "was not checked" in caplog.text
        caplog.clear()
        assert require_proof(TURN, "off") == ()
    assert (checks, caplog.text) == ([], "")


def test_a_misspelt_mode_is_refused() -> None:
    """With the one that was meant."""
    with pytest.raises(TurnfsmError, match="proof='of' is not known; did you mean 'off'"):
        require_proof(TURN, "of")  # type: ignore[arg-type]
