"""What a stock session says of itself names its failures; conversations that go right raise no
alarm."""

from __future__ import annotations

import io
import json
import re
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import jsonschema
import pytest
from command import run
from livekit.agents import AgentSession, telemetry
from opentelemetry import trace
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recordings import FAILING, audited, outages, recorded
from sarif import SARIF

from turnfsm import JournalError, load_flow, write_journal
from turnfsm.audit import audit_file, audit_recording, kinds_of, parse_recording
from turnfsm.livekit import EventRecorder, TurnSession
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.compare.livekit import HOST
from turnfsm.testing import ScriptedLLM, ScriptedSTT, ScriptedTTS, ScriptedUser, Stage


@pytest.mark.parametrize("page", ["README.md", "docs/observe.md"])
def test_the_pages_show_what_the_audit_prints(page: str) -> None:
    """With the lines of the flow as they are now."""
    first = audited(HOST.scenario("S5-turn")).findings[0]
    assert "\n".join(first.lines()) in Path(page).read_text(encoding="utf-8")


def test_a_flow_of_your_own_decides_with_its_own_lines(tmp_path: Path) -> None:
    """Also where it does what the stock session did: then the line says so."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "flow: mine\nextends: turn\n"
        "states:\n  tool_running:\n    on:\n"
        "      preemptive_generation: {actions: start_preemptive_generation}\n"
    )
    events = parse_recording(recorded(HOST.scenario("S1")).encode(), "events.jsonl")
    flow = load_flow(mine)
    [decision] = [
        finding.decision
        for finding in audit_recording(events, flow=flow).findings
        if finding.failure == "A"
    ]
    assert str(decision) == (
        f"{flow.source.page.file}:6:7: "  # type: ignore[union-attr]
        "preemptive_generation: stays tool_running / start_preemptive_generation"
    )


@pytest.mark.one_in(4)
@pytest.mark.parametrize("right", [*HOST.controls, *HOST.scenarios], ids=lambda s: s.id)
def test_what_goes_right_on_our_sessions_raises_no_alarm(right: Scenario) -> None:
    """Every conversation that `turnfsm compare` plays."""
    assert outages(audited(right, TurnSession)) == FAILING.get(right.id, [])


def event(t: float, name: str, /, **fields: object) -> str:
    return json.dumps({"t": t, "event": name, **fields})


def heard(start: float, end: float) -> list[str]:
    played = {"position": end - start, "interrupted": False}
    return [event(start, "playback_started"), event(end, "playback_finished", **played)]


def asked(t: float) -> str:
    message = {"type": "message", "id": str(t), "role": "user", "words": ["book", "a", "table"]}
    return event(t, "conversation_item_added", **message, interrupted=False)


def tool(t: float, update: str) -> str:
    return event(t, "tool_execution_updated", call="call_1", update=update, status="done")


def over(interruptible: bool) -> list[str]:
    say = event(0.9, "speech_created", speech="s", source="say", interruptible=interruptible)
    start = event(0.2, "user_state_changed", old="listening", new="speaking")
    end = event(4.0, "user_state_changed", old="speaking", new="listening")
    begun, ended = heard(1.5, 6.0)
    done = event(6.0, "speech_done", speech="s", interrupted=False)
    words = event(4.1, "user_input_transcribed", words=["a"])
    message = event(4.2, "conversation_item_added", role="user", words=["a"])
    return [start, say, begun, end, words, message, ended, done]


SAID = event(1.0, "user_input_transcribed", words=["book", "a", "table"])


@pytest.mark.parametrize(
    ("events", "broken"),
    [
        ([tool(1.0, "started"), event(9.0, "close")], ("every_call_ends_once",)),
        ([tool(1.0, "started"), event(9.0, "playback_started")], ()),  # the recording was cut
        ([tool(1.0, "started"), tool(2.0, "ended"), event(9.0, "close")], ()),
        (
            [tool(1.0, "started"), tool(2.0, "ended"), tool(3.0, "ended"), event(9.0, "close")],
            ("every_call_ends_once",),
        ),
        (
            [SAID, asked(1.1), *heard(2.0, 3.0), asked(3.5), *heard(4.0, 5.0)],
            ("one_reply_to_a_turn",),
        ),
        ([SAID, asked(1.1), asked(1.2), *heard(2.0, 3.0)], ()),  # one answer
        (over(True), ("no_playout_over_the_user",)),
        (over(False), ()),  # what may not be interrupted may begin at any moment
    ],
)
def test_what_no_scenario_shows_is_found_in_events(
    events: list[str], broken: tuple[str, ...]
) -> None:
    """Calls that do not end once, turns that are answered twice, and playout over the user."""
    text = "\n".join(['{"events": 1}', *events])
    assert audit_recording(parse_recording(text.encode(), "events.jsonl")).properties == broken


def booking(call: str, day: str, start: float, end: float, status: str = "done") -> list[str]:
    made = {"name": "book", "arguments": {"guest": "Kim", "day": day}}
    return [
        event(start, "tool_execution_updated", call=call, update="started", **made),
        event(end, "tool_execution_updated", call=call, update="ended", status=status),
    ]


def corrected(t: float, corrects: bool = True) -> str:
    return event(t, "user_input_transcribed", words=["no"], corrects=corrects)


TUESDAY = booking("call_1", "Tue", 1.0, 6.0)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ([*TUESDAY, corrected(3.0), *booking("call_2", "Thu", 4.0, 9.0)], True),
        ([*TUESDAY, corrected(3.0), *booking("call_2", "Thu", 7.0, 9.0)], True),  # one by one
        ([*TUESDAY, corrected(3.0, False), *booking("call_2", "Thu", 4.0, 9.0)], False),
        ([*TUESDAY, corrected(3.0), *booking("call_2", "Tue", 4.0, 9.0)], False),
        ([*TUESDAY, corrected(7.0), *booking("call_2", "Thu", 8.0, 9.0)], False),  # too late
        ([*TUESDAY, corrected(3.0), *booking("call_2", "Thu", 4.0, 9.0, "error")], False),
        (
            [
                *booking("call_1", "Tue", 1.0, 6.0, "error"),
                *(corrected(3.0), *booking("call_2", "Thu", 4.0, 9.0)),
            ],
            False,
        ),
        ([*TUESDAY, corrected(3.0)], False),
    ],
)
def test_a_call_that_the_user_has_corrected_and_that_is_carried_out_is_found(
    events: list[str], found: bool
) -> None:
    """If a newer call of the tool, with one argument changed, is carried out as well."""
    text = "\n".join(['{"events": 1}', *sorted(events, key=lambda e: json.loads(e)["t"])])
    said = [one.what for one in audit_recording(parse_recording(text.encode(), "e")).findings]
    assert any("the user corrects the call of book" in what for what in said) is found


def ended(t: float, **more: object) -> str:
    fields = {"call": "call_1", "update": "ended", "status": "done"}
    return event(t, "tool_execution_updated", **fields | more)


def executed(t: float, reply: bool) -> str:
    return event(t, "function_tools_executed", calls=["call_1"], reply=reply, handoff=False)


CALLED = [event(1.0, "speech_created", speech="s", source="generate_reply"), tool(2.0, "started")]
CUT = event(3.0, "speech_interrupted", speech="s")
NEXT = event(12.0, "speech_created", speech="t", source="generate_reply")


@pytest.mark.parametrize(
    ("events", "silent"),
    [
        ([CUT, ended(6.0, result=True), executed(6.0, False), NEXT], "6.0 s, until the next"),
        ([CUT, ended(6.0, result=True), executed(6.0, False)], "14.0 s, until the session closes"),
        ([CUT, ended(6.0, result=True), *heard(7.0, 9.0)], ""),  # the agent spoke in time
        ([CUT, ended(6.0, result=False), executed(6.0, False)], ""),  # nothing to say
        ([CUT, ended(6.0), executed(6.0, False)], ""),  # the file does not say it
        ([CUT, ended(6.0, result=True, status="error")], ""),
        ([ended(6.0, result=True), executed(6.0, False)], ""),  # the application wants no reply
        ([ended(6.0, result=True), executed(6.0, True), NEXT], "6.0 s, until the next"),
        (
            [  # the model is asked at once, and is slow
                *(ended(6.0, result=True), executed(6.0, True)),
                event(15.0, "metrics_collected", of="llm", speech="s", duration=9.0),
            ],
            "",
        ),
    ],
)
def test_a_result_waits_while_nobody_speaks_and_nothing_is_asked(
    events: list[str], silent: str
) -> None:
    """For more than 4 s."""
    text = "\n".join(['{"events": 1}', *CALLED, *events, event(20.0, "close")])
    found = audit_recording(parse_recording(text.encode(), "events.jsonl")).findings
    assert [silent in one.what for one in found] == [True] * bool(silent)


def test_the_first_divergence_and_the_properties_are_reported() -> None:
    """And the silence, with its cause, and the panel."""
    found = audited(HOST.scenario("S5-turn"))
    assert found.findings[0].at == pytest.approx(7.05)
    assert found.properties == ("an_interruption_settles",)
    assert [gap.cause for gap in found.silences][-1] == "tool_running"
    assert found.panel.response_latency == pytest.approx(5.4, abs=0.1)


def test_what_people_said_is_not_recorded() -> None:
    """Words are hashed, with a key that is not written."""
    text = recorded(HOST.scenario("S1"))
    assert "Paris" not in text
    assert not {"Kim", "Tuesday", "guest"} & set(re.findall(r"\w+", recorded(HOST.scenario("D7"))))
    assert "Rome" not in text


def test_spans_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait is seen in what livekit-agents exports."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(sdk, "time_ns", lambda: int(time.time() * 1e9))  # virtual, as the rest
    telemetry.set_tracer_provider(provider)
    try:
        HOST.scenario("S5-turn").play(AgentSession)
    finally:
        telemetry.set_tracer_provider(trace.get_tracer_provider())  # type: ignore[arg-type]
    file = tmp_path / "spans.jsonl"
    spans = exporter.get_finished_spans()
    file.write_text("".join(span.to_json(indent=None) + "\n" for span in spans))
    found = audit_file(file)
    assert found.of == "spans"
    assert {finding.failure for finding in found.findings} == {"D"}
    assert {str(finding.decision).split(": ")[1] for finding in found.findings} == {
        "turn_committed"
    }
    assert [gap.cause for gap in found.silences][-1] == "tool_running"


def test_otlp_is_read(tmp_path: Path) -> None:
    """One export, as the collector's file exporter writes it."""

    def span(name: str, start: float, end: float, **attributes: str) -> dict[str, Any]:
        told = [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()]
        times = {"startTimeUnixNano": str(int(start * 1e9)), "endTimeUnixNano": str(int(end * 1e9))}
        return {"name": name, "spanId": name, "attributes": told, "events": [], **times}

    spans = [span("agent_speaking", 10.0, 12.0), span("agent_turn", 9.0, 12.0)]
    export = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    file = tmp_path / "otlp.json"
    file.write_text(json.dumps(export, indent=1))
    assert audit_file(file).ok


def test_a_journal_of_ours_is_judged_by_its_properties(tmp_path: Path) -> None:
    """A right one has none broken; one that was changed has."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": "Hello."}))
    stage.run(8.0)
    journal = stage.session.turn.journal.read()
    file = tmp_path / "a.jsonl"
    write_journal(file, journal)
    assert run("audit", str(file)) == 0
    lines = file.read_text().splitlines()
    started = next(n for n, line in enumerate(lines) if '"playout_started", "of"' in line)
    file.write_text("\n".join(lines[:started] + lines[started + 1 :]) + "\n")
    assert run("audit", str(file)) == 1


def test_a_broken_property_has_the_line_that_broke_it(tmp_path: Path) -> None:
    """The decision, or the timer that should have left the state."""
    user = ScriptedUser().says("hello", at=1.0)
    stage = Stage(
        TurnSession,
        user=user,
        llm=ScriptedLLM({"hello": "Hello."}),
        timers={"thinking_limit": 10.0},
    )
    stage.run(8.0)
    file = tmp_path / "a.jsonl"
    write_journal(file, stage.session.turn.journal.read())
    lines = file.read_text().splitlines()
    assert audit_file(file).ok
    begun = next(n for n, line in enumerate(lines) if '"step_started"' in line)
    file.write_text("\n".join(lines[:begun] + lines[begun + 1 :]) + "\n")
    first = audit_file(file).findings[0]
    assert first.property == "the_agent_state_is_true"
    assert first.what.startswith("start_playout in thinking: an event of a step that is over")
    assert "start_playout: stays thinking / start_output" in str(first.decision)
    later = [json.loads(line) for line in lines[begun + 1 :]]
    shifted = [json.dumps({**fields, "t": fields["t"] + 100.0}) for fields in later]
    file.write_text("\n".join(lines[: begun + 1] + shifted) + "\n")
    held = audit_file(file).findings[0]
    assert held.property == "no_dead_floor"
    assert str(held.decision).endswith(": thinking_limit: thinking -> listening")


def test_an_outage_says_that_no_line_decides_it() -> None:
    found = audited(HOST.scenario("P2")).findings
    assert [one.lines()[1].strip() for one in found] == ["an outage, which no flow decides"]


def test_the_command_prints_and_gives_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1: something was found."""
    file = tmp_path / "events.jsonl"
    file.write_text(recorded(HOST.scenario("S6")))
    assert run("audit", str(file)) == 1
    printed = capsys.readouterr().out
    assert "F  a transcript of the user is not in the history, and is not answered" in printed
    assert "broken: every_turn_is_accounted_for" in printed
    assert run("audit", str(file), "--format", "json") == 1
    [judged] = json.loads(capsys.readouterr().out)
    assert judged["findings"][0]["failure"] == "F"


def test_the_command_fails_a_build_by_what_it_is_told_and_gives_junit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(recorded(HOST.scenario("S6")))
    assert run("audit", str(file), "--fail-on", "D") == 0
    assert run("audit", str(file), "--fail-on", "D", "--fail-on", "F") == 1
    assert run("audit", str(file), "--fail-on", "G2") == 2
    assert "error: no finding is named 'G2'" in capsys.readouterr().err
    assert run("audit", str(file), "--format", "junit") == 1
    failed = Xml.fromstring(capsys.readouterr().out).find(".//testcase/failure")
    assert failed is not None
    assert "F  a transcript of the user is not in the history" in failed.get("message", "")
    assert "turn_committed refused in speaking: not interruptible" in (failed.text or "")


def test_sarif_has_the_line_of_the_recording_and_that_of_the_flow(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(recorded(HOST.scenario("S1")))
    assert run("audit", str(file), "--format", "sarif", "--fail-on", "A") == 1
    log = json.loads(capsys.readouterr().out)
    jsonschema.Draft7Validator(SARIF).validate(log)
    results = log["runs"][0]["results"]
    assert [result["level"] for result in results] == ["note", "error", "note"]
    speculation = results[1]
    assert speculation["ruleId"] == "no_speculation_while_a_tool_runs"
    place = speculation["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == file.as_uri()
    at = json.loads(file.read_text().splitlines()[place["region"]["startLine"] - 1])
    assert (at["event"], at["t"]) == ("speech_created", pytest.approx(6.8))
    [line] = speculation["relatedLocations"]
    assert line["physicalLocation"]["artifactLocation"]["uri"] == "turn.yaml"
    assert "preemptive_generation refused in tool_running" in line["message"]["text"]
    silent = ("--format", "sarif", "--fail-on", "silence:4")
    assert run("audit", str(file), *silent) == 1
    log = json.loads(capsys.readouterr().out)
    jsonschema.Draft7Validator(SARIF).validate(log)
    failed = [r["ruleId"] for r in log["runs"][0]["results"] if r["level"] == "error"]
    assert set(failed) == {"silence"}


def test_several_recordings_end_with_a_summary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How often each kind was found, in how many sessions, and the silence that it cost."""
    slow, lost = tmp_path / "slow.jsonl", tmp_path / "lost.jsonl"
    slow.write_text(recorded(HOST.scenario("S5-turn")))
    lost.write_text(recorded(HOST.scenario("S6")))
    assert run("audit", str(slow), str(lost)) == 1
    [*_, head, _, worst, _, panel] = capsys.readouterr().out.splitlines()
    assert head == "2 sessions, 2 with findings"
    assert panel.startswith("panel of all: response latency L_R ")
    unsaid, kind = kinds_of([audited(HOST.scenario("S5-turn"))])
    assert unsaid.property == ""
    assert unsaid.silence > 25.0  # until the user hangs up
    assert kind.silence == pytest.approx(5.35, abs=0.05)
    cost = f"{kind.silence:.1f} s of silence"
    assert worst == f"  D  {kind.findings} findings in 1, {cost} (an_interruption_settles)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither a recording"),
        ("hello\n", "neither a recording"),
        ("[1, 2]\n", "neither a recording"),
        ('{"a": 1}\n', "neither a recording"),
        ('{"resourceSpans": 3}\n', "neither a recording"),
        ('{"events": 7}\n', "recording version 7, this turnfsm reads version 1"),
        ('{"events": 1}\nx\n{"t": 1, "event": "close"}\n', ":2: not JSON"),
        ('{"events": 1}\n{"t": "a", "event": "close"}\n', "'t' cannot be 'a'"),
        ('{"events": 1}\n{"t": 1}\n', "an event without a name"),
        ('{"journal": 9, "flow": "turn", "initial": "a"}\n', "journal version 9"),
    ],
)
def test_an_unknown_file_is_reported_in_one_line(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to name instead."""
    file = tmp_path / "a"
    file.write_text(text)
    assert run("audit", str(file)) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_a_recording_that_was_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """The last line may be half."""
    file = tmp_path / "a"
    file.write_text(recorded(HOST.scenario("S6"))[:-20])
    assert audit_file(file).findings


def test_a_full_disk_ends_the_recording_not_the_conversation() -> None:
    """What is said afterwards is heard."""
    stage_user = ScriptedUser().says("hello", at=1.0)

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    class Recorded(AgentSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            EventRecorder(self, Full())

    outcome = Stage(Recorded, user=stage_user, llm=ScriptedLLM({"hello": "Hello."})).run(8.0)
    assert outcome.heard_saying("Hello.")


def test_a_file_that_cannot_be_judged_is_named(tmp_path: Path) -> None:
    """With the line, if it is one."""
    with pytest.raises(JournalError, match="no such file or directory; name a file"):
        audit_file(tmp_path / "none.jsonl")
    file = tmp_path / "events.jsonl"
    file.write_text('{"events": 1}\n[1, 2]\n{}\n')
    with pytest.raises(JournalError, match=r"jsonl:2: not an event; a recording has one"):
        audit_file(file)


def test_an_outage_of_a_stock_session_is_named() -> None:
    """What LiveKit has given up, and that it has closed the session. The message is not kept."""
    events = io.StringIO()

    class Recorded(AgentSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            EventRecorder(self, events)

    user = ScriptedUser().says("hello there", at=1.0)
    stt, voice = ScriptedSTT(user, down=True), ScriptedTTS(down=True)
    stage = Stage(Recorded, user=user, stt=stt, tts=voice)
    stage.at(2.0, lambda s: s.session.say("Hello.") and None)
    stage.run(30.0)
    assert "is down" not in events.getvalue()
    audit = audit_recording(parse_recording(events.getvalue().encode(), "events.jsonl"))
    assert [finding.what for finding in audit.findings] == [
        "the STT failed (APIConnectionError) and was given up, 4 times until 19.60 s",
        "the TTS failed (APIConnectionError) and was given up",
        "the session closed: error, the STT failed (APIConnectionError)",
    ]
