"""The alerts and the dashboard of `examples/grafana`, in Prometheus itself if it is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from turnfsm.metrics import INSTRUMENTS

GRAFANA = Path(__file__).parents[2] / "examples" / "grafana"
ALERTS = GRAFANA / "alerts.yaml"
RULES = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"][0]["rules"]
PANELS = json.loads((GRAFANA / "turnfsm.json").read_text(encoding="utf-8"))["panels"]

promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool of Prometheus is not installed"
)

WELL = {
    'turnfsm_turn_response_latency_seconds_bucket{le="1"}': "0+10x60",
    'turnfsm_turn_response_latency_seconds_bucket{le="5"}': "0+10x60",
    'turnfsm_turn_response_latency_seconds_bucket{le="10"}': "0+10x60",
    'turnfsm_turn_response_latency_seconds_bucket{le="+Inf"}': "0+10x60",
    'turnfsm_interruption_stop_latency_seconds_bucket{le="1"}': "0+10x60",
    'turnfsm_interruption_stop_latency_seconds_bucket{le="5"}': "0+10x60",
    'turnfsm_interruption_stop_latency_seconds_bucket{le="+Inf"}': "0+10x60",
    'turnfsm_silence_duration_seconds_sum{cause="llm"}': "0+1x60",
    'turnfsm_silence_duration_seconds_sum{cause="nothing_asked"}': "0+30x60",
    'turnfsm_state_duration_seconds_sum{state="listening"}': "0+60x60",
    'turnfsm_turns_total{outcome="replied"}': "0+10x60",
    'turnfsm_turns_total{outcome="superseded"}': "0+1x60",
    'turnfsm_component_failures_total{part="stt",recoverable="true"}': "0+1x60",
    "turnfsm_voices_unrecognised_total{}": "0+0.1x60",
    'turnfsm_sessions_closed_total{reason="participant_disconnected"}': "0+1x60",
}
"""Series of an hour in which nothing is wrong: a value a minute."""

WRONG: dict[str, dict[str, str]] = {
    "ResponsesAreSlow": {'turnfsm_turn_response_latency_seconds_bucket{le="5"}': "0+2x60"}
    | {'turnfsm_turn_response_latency_seconds_bucket{le="1"}': "0+1x60"},
    "AgentDoesNotStop": {'turnfsm_interruption_stop_latency_seconds_bucket{le="1"}': "0+1x60"},
    "CallersWaitInSilence": {'turnfsm_silence_duration_seconds_sum{cause="llm"}': "0+10x60"},
    "TurnsAreNotAnswered": {'turnfsm_turns_total{outcome="dropped"}': "0+1x60"},
    "ComponentGivenUp": {
        'turnfsm_component_failures_total{part="tts",recoverable="false"}': "_x27 1x33"
    },
    "UsersAreNotHeard": {"turnfsm_audio_stopped_total{}": "0+2x60"},
    "SessionsCloseWithErrors": {'turnfsm_sessions_closed_total{reason="error"}': "0+1x60"},
    "PropertyBroken": {'turnfsm_audit_broken_total{property="no_dead_floor"}': "1x27 2x33"},
}
"""For each alert the series that differ when it must fire."""


def checked(tmp_path: Path, what: str, rules: dict[str, Any]) -> None:
    """Let promtool judge a file."""
    file = tmp_path / f"{what}.yaml"
    file.write_text(json.dumps(rules), encoding="utf-8")
    given = [*what.split("-"), str(file)]
    done = subprocess.run(["promtool", *given], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_ask_for_series_that_a_session_exports() -> None:
    """With the names that Prometheus gives them."""
    exported = {
        one.name.replace(".", "_") + ("_total" if one.kind == "counter" else "_seconds")
        for one in INSTRUMENTS
    }
    asked = {n for rule in RULES for n in re.findall(r"turnfsm_\w+", rule["expr"])}
    assert {re.sub(r"_(bucket|sum)$", "", name) for name in asked} <= exported
    assert {rule["alert"] for rule in RULES} == set(WRONG)


@promtool
@pytest.mark.parametrize("wrong", [None, *WRONG])
def test_an_alert_fires_when_something_is_wrong(wrong: str | None, tmp_path: Path) -> None:
    """Only the one that is meant; none if nothing is wrong."""
    series = WELL | (WRONG[wrong] if wrong else {})
    names = [rule["alert"] for rule in RULES]
    # promtool compares whole alerts; as a series, an alert has its name and its labels
    firing = f'count by (alertname) (ALERTS{{alertstate="firing",alertname=~"{"|".join(names)}"}})'
    alerts = [{"labels": f'{{alertname="{wrong}"}}', "value": 1}] if wrong else []
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": firing, "eval_time": "30m", "exp_samples": alerts}],
    }
    checked(tmp_path, "test-rules", {"rule_files": [str(ALERTS)], "tests": [test]})


@promtool
def test_prometheus_reads_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    """Grafana replaces the interval before it asks."""
    asked = [t["expr"].replace("$__rate_interval", "1m") for p in PANELS for t in p["targets"]]
    assert asked
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(asked)]
    groups = {"groups": [{"name": "dashboard", "rules": rules}]}
    checked(tmp_path, "check-rules", groups)
