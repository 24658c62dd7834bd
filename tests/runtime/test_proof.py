"""Flows are proved before they govern: when, how often, and what is said of one that is not."""

import logging
from pathlib import Path

import attrs
import pytest

import turnfsm.fsm.check
from turnfsm import FlowError, TurnfsmError, load_flow, parse_flow, shipped_flows
from turnfsm.runtime import proof
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


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the flows that are checked from now on; nothing is remembered."""
    checked: list[str] = []
    real = turnfsm.fsm.check.check_flow

    def check(flow: turnfsm.Flow) -> turnfsm.check.Report:
        checked.append(flow.name)
        return real(flow)

    monkeypatch.setattr(turnfsm.fsm.check, "check_flow", check)
    monkeypatch.setattr(proof, "_proved", set())
    return checked


def test_the_recorded_proofs_are_those_of_the_shipped_flows() -> None:
    """`make diagrams` has recorded each flow as it is now, and what its check came to."""
    fresh = {}
    for name in shipped_flows():
        flow = load_flow(name)
        report = turnfsm.check.check_flow(flow)
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
    changed, _ = parse_flow(text.replace("0.4", "0.3"))
    assert changed is not None
    require_proof(changed)
    assert checks == ["mine", "mine"]


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
