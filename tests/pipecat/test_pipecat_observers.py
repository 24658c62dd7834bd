"""`TurnGovernor(audit=True, telemetry=True)`: a conversation tells what it breaks, and its
figures."""

import logging
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from flow_text import parsed
from pipecat_stage import COUGH, Stage, moments

from turnfsm import TurnfsmError
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Says

PLAYS_OVER_THE_USER = """
flow: mine
extends: turn
states:
  thinking:
    on:
      user_started_speaking: {}
      barge_in: {}
      start_playout:
        - {conditions: [interruptible, holdable], unless: user_silent, actions: start_output}
        - {actions: start_output}
"""


def _played(**options: Any) -> Stage:
    """The user makes a noise as the answer is about to be heard."""

    def model(messages: Any) -> Says:
        return Says("Hello, how are you today?", after=2.0)

    return Stage(model, **options).play(
        moments((0.0, "hello there"), (3.0, COUGH, 1.5)), seconds=12.0
    )


def test_a_broken_property_is_reported_and_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "turnfsm"):
        stage = _played(flow=parsed(PLAYS_OVER_THE_USER), proof="off", audit=True)
    broken = {getattr(report, "property", None) for report in stage.reports}
    assert "no_playout_over_the_user" in broken
    assert "property broken" in caplog.text


def test_a_conversation_that_keeps_its_properties_reports_none() -> None:
    stage = _played(audit=True)
    assert not [report for report in stage.reports if hasattr(report, "property")]


def test_the_figures_of_a_conversation_are_measured() -> None:
    metrics = pytest.importorskip("opentelemetry.sdk.metrics")
    reader = pytest.importorskip("opentelemetry.sdk.metrics.export").InMemoryMetricReader()
    from turnfsm.runtime.observe.telemetry import Telemetry

    _played(telemetry=Telemetry(metrics.MeterProvider([reader])))
    data = reader.get_metrics_data()
    names = {
        metric.name
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert any("response" in name for name in names), names


def test_telemetry_is_true_or_a_telemetry() -> None:
    with pytest.raises(TurnfsmError, match="telemetry is str"):
        TurnGovernor(telemetry="yes")  # type: ignore[arg-type]
