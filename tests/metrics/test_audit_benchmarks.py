"""`turnfsm audit` reads records of EVA and simulations of tau-voice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from turnfsm import JournalError
from turnfsm.audit import audit_file
from turnfsm.runtime.cli import main

BEGAN = 1_700_000_000.0


def lines(objects: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(one) + "\n" for one in objects)


def audio(who: str, start: float, end: float) -> list[dict[str, Any]]:
    """What the user simulator of EVA logs."""
    return [
        {"event_type": f"audio_{what}", "user": who, "audio_timestamp": BEGAN + t}
        for what, t in (("start", start), ("end", end))
    ]


def state(t: float, name: str) -> dict[str, Any]:
    ms = int((BEGAN + t) * 1000)
    return {"timestamp": ms, "type": "connection_state", "data": {"state": name}}


def entry(t: float, kind: str, value: object) -> dict[str, Any]:
    ms = str(int((BEGAN + t) * 1000))
    return {"timestamp": ms, "message_type": kind, "value": value}


def transcript(t: float, text: str) -> dict[str, Any]:
    ms = int((BEGAN + t) * 1000)
    return {"timestamp": ms, "type": "transcript", "data": {"frame": f" {text}"}}


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """The user asks for a table, adds a wish while the tool runs, and hears of it 6 s later."""
    folder = tmp_path / "2.1"
    folder.mkdir()
    simulator = [
        state(0.0, "session_started"),
        *audio("simulated_user", 1.0, 2.5),
        *audio("simulated_user", 5.0, 6.0),
        *audio("assistant", 12.0, 14.0),
        state(20.0, "session_ended"),
    ]
    logged = [
        entry(3.0, "user", "Book a table."),
        entry(4.0, "tool_call", {"tool": "book", "parameters": {}}),
        entry(6.5, "user", "For four."),
        entry(11.0, "tool_response", {"tool": "book", "response": {}}),
        entry(11.5, "assistant", "It is booked."),
    ]
    said = [
        transcript(2.6, "Book a table."),
        transcript(6.1, "For four."),
        transcript(15.0, "And thank you."),
    ]
    result = {"record_id": "2.1", "completed": True, "error": None}
    result["conversation_ended_reason"] = "goodbye"
    metrics = {"turn_taking": {"name": "turn_taking", "score": 0.25}, "other": {"score": None}}
    (folder / "result.json").write_text(json.dumps(result, indent=2))
    (folder / "audit_log.json").write_text(json.dumps({"transcript": logged}))
    (folder / "user_simulator_events.jsonl").write_text(lines(simulator))
    (folder / "pipecat_logs.jsonl").write_text(lines(said))
    (folder / "response_latencies.json").write_text('{"latencies": [6.0], "mean": 6.0, "max": 6.0}')
    (folder / "metrics.json").write_text(json.dumps({"record_id": "2.1", "metrics": metrics}))
    return folder


def test_a_record_of_eva_is_judged_by_what_its_files_say(record: Path) -> None:
    """The wish waits for the tool, and the last words are in no message."""
    audit = audit_file(record)
    assert [(f.at, f.failure) for f in audit.findings] == [(6.0, "D"), (15.0, "F")]
    assert all(f.decision is not None for f in audit.findings)
    assert [(gap.start, gap.end, gap.cause) for gap in audit.silences] == [
        (2.5, 5.0, "unknown"),
        (6.0, 12.0, "tool_running"),
        (14.0, 20.0, "unknown"),  # nobody answers until the user hangs up
    ]
    assert not any("transcript" in missing for missing in audit.unjudged)
    assert "when a reply was interrupted (D)" in audit.unjudged


def test_a_turn_that_came_in_several_transcripts_is_lost_once(record: Path) -> None:
    """Another one is lost after the agent has spoken."""
    said = [transcript(t, text) for t, text in ((8.0, "Also"), (9.5, "a dog."), (15.0, "Bye."))]
    (record / "pipecat_logs.jsonl").write_text(lines(said))
    lost = [(f.at, f.failure) for f in audit_file(record).findings if f.failure == "F"]
    assert lost == [(8.0, "F"), (15.0, "F")]


def test_the_scores_of_eva_stand_beside_ours(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the metrics that were computed."""
    with pytest.raises(SystemExit):
        main(("audit", str(record)))
    panel, scores = capsys.readouterr().out.splitlines()[-2:]
    assert panel == (
        "panel: response latency L_R 6.00 s, response rate R_R 0.50, agent interrupts I_A 0.00"
    )
    assert scores == (
        "scores of EVA: response latency mean 6.00, response latency max 6.00, turn_taking 0.25"
    )


def test_what_a_record_of_eva_lacks_is_not_judged(record: Path) -> None:
    """Without the pipeline's log there are no transcripts, without the audit log no tools."""
    (record / "pipecat_logs.jsonl").unlink()
    (record / "audit_log.json").unlink()
    audit = audit_file(record)
    assert audit.ok
    assert "when each tool began and ended (C, D)" in audit.unjudged
    assert "when each transcript came (A, F, N)" in audit.unjudged


def test_the_silence_in_which_a_user_hangs_up_is_what_a_finding_costs(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of a single session; a silence after the agent's last speech costs nobody anything."""
    with pytest.raises(SystemExit):
        main(("audit", str(record)))
    printed = capsys.readouterr().out
    assert "  F  1 finding, 6.0 s of silence (every_turn_is_accounted_for)" in printed
    said = [transcript(2.6, "Book a table."), transcript(6.1, "For four.")]
    (record / "pipecat_logs.jsonl").write_text(lines(said))
    assert [gap.end for gap in audit_file(record).silences] == [5.0, 12.0]


def test_a_folder_of_recordings_is_audited_file_by_file(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A record of EVA is one session; a folder with nothing to audit says what to name."""
    calls = tmp_path / "calls"
    calls.mkdir()
    for name in ("a", "b"):
        (calls / f"{name}.jsonl").write_text('{"events": 1}\n')
    with pytest.raises(SystemExit) as ended:
        main(("audit", str(calls), str(record)))
    assert ended.value.code == 1
    assert "3 sessions, 1 with findings" in capsys.readouterr().out
    (calls / "a.jsonl").unlink()
    (calls / "b.jsonl").unlink()
    with pytest.raises(SystemExit):
        main(("audit", str(calls)))
    assert "neither a record of EVA nor a folder of *.jsonl files" in capsys.readouterr().err


def test_a_record_that_failed_is_an_outage(record: Path) -> None:
    result = {"record_id": "2.1", "completed": False, "error": "the STT cannot be reached"}
    (record / "result.json").write_text(json.dumps(result))
    found = audit_file(record).findings
    assert "the session closed: error, the STT cannot be reached" in [f.what for f in found]


@pytest.mark.parametrize("broken", ["", '{"a": 1}', "{", '{"record_id": 1}'])
def test_another_folder_is_refused_with_the_remedy(broken: str, tmp_path: Path) -> None:
    if broken:
        (tmp_path / "result.json").write_text(broken)
        (tmp_path / "audit_log.json").write_text("[1]")
    with pytest.raises(JournalError, match="neither a record of EVA nor a folder of"):
        audit_file(tmp_path)


def tick(speech: str, **others: Any) -> dict[str, Any]:
    """A tick of tau2-bench: ``u`` the user speaks, ``a`` the agent, ``b`` both."""
    user = {"role": "user", "contains_speech": speech in "ub", "turn_taking_action": None}
    agent = {"role": "assistant", "contains_speech": speech in "ab"}
    return {"user_chunk": user, "agent_chunk": agent, **others}


def simulation(speech: str, at: dict[int, dict[str, Any]], **others: Any) -> str:
    ticks = [tick(one, **at.get(n, {})) for n, one in enumerate(speech)]
    return json.dumps({"id": "1", "task_id": "7", "mode": "full_duplex", "ticks": ticks, **others})


def test_a_simulation_of_tau_voice_has_its_panel_and_silences(tmp_path: Path) -> None:
    """A user turn is answered after 3 s, and a cough does not stop the agent."""
    cough = {"speech_insert": {"type": "vocal_tic", "text": "[cough]"}}
    user = {"role": "user", "contains_speech": True, "speech_effects": cough}
    file = tmp_path / "1.json"
    speech = "uuuuu" + "." * 15 + "a" * 10 + "bb" + "a" * 10 + "."
    sounds = {n: {"user_chunk": user} for n in (30, 31)}
    file.write_text(simulation(speech, sounds, reward_info={"reward": 1.0}))
    audit = audit_file(file)
    assert (audit.of, audit.ok, audit.scores) == ("tau-voice", True, {"reward": 1.0})
    assert audit.panel.response_latency == pytest.approx(3.0)
    assert audit.panel.vocal_tics_ignored == 1.0
    assert audit.panel.yield_rate is None
    [gap] = audit.silences
    assert (gap.start, gap.end) == pytest.approx((1.0, 4.0))
    assert gap.cause == "unknown"
    assert "when each tool began and ended (C, D)" in audit.unjudged


def test_a_simulation_with_tool_calls_and_another_tick_is_judged_in_seconds(tmp_path: Path) -> None:
    """The user speaks while a tool runs, and is answered 5 s later."""
    calls = {n: {"agent_tool_calls": []} for n in range(20)}
    calls[4] = {"agent_tool_calls": [{"id": "c", "name": "book"}], "agent_tool_results": []}
    calls[17] = {"agent_tool_calls": [], "agent_tool_results": [{"id": "c", "error": False}]}
    ticks = {n: {"tick_duration_seconds": 0.5, **told} for n, told in calls.items()}
    file = tmp_path / "1.json"
    file.write_text(simulation("uu...." + "uu" + "." * 10 + "aa", ticks))
    audit = audit_file(file)
    assert [(f.at, f.failure) for f in audit.findings] == [(4.0, "D")]
    assert audit.panel.response_latency == pytest.approx(5.0)
    assert not any("tool began" in missing for missing in audit.unjudged)


def test_several_simulations_end_with_the_panel_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, wait in (("1.json", 5), ("2.json", 15)):
        (tmp_path / name).write_text(simulation("u" + "." * wait + "aa.", {}))
    with pytest.raises(SystemExit):
        main(("audit", str(tmp_path / "1.json"), str(tmp_path / "2.json")))
    assert (
        capsys.readouterr().out.splitlines()[-2]
        == "panel of all: response latency L_R 2.00 s, response rate R_R 1.00, "
        "agent interrupts I_A 0.00"
    )
