"""`TurnSession(observe=True)` does what `AgentSession` does, and says what the flow decides."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession, AgentTask, RunContext, function_tool

from turnfsm import JsonlSink, TurnfsmError, load_flow, read_journal, write_journal
from turnfsm.audit import audit_file, audit_journal
from turnfsm.fsm.journal import Journal, replay
from turnfsm.livekit import EventRecorder, TurnSession, rollout
from turnfsm.metrics import explain
from turnfsm.runtime.cli import main
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.compare.livekit import HOST
from turnfsm.runtime.testing.livekit.tasks import complete
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedUser, Stage

Make = Callable[..., AgentSession[Any]]


def played(scene: Scenario, make: Make) -> tuple[list[dict[str, Any]], AgentSession[Any]]:
    """The public events of a scenario, without what is new each time, and its session."""
    sessions: list[AgentSession[Any]] = []
    events = io.StringIO()

    def made(**options: Any) -> AgentSession[Any]:
        sessions.append(make(**options))
        EventRecorder(sessions[-1], events)
        return sessions[-1]

    made.__signature__ = inspect.signature(AgentSession)  # type: ignore[attr-defined]
    scene.play(made)  # type: ignore[arg-type]
    new = ("id", "speech", "words", "arguments", "started_at")
    told = [json.loads(line) for line in events.getvalue().splitlines()]
    return [{k: v for k, v in event.items() if k not in new} for event in told], sessions[0]


def observed(**options: Any) -> AgentSession[Any]:
    return TurnSession(observe=True, **options)


def otherwise(scene: Scenario) -> list[tuple[float, str, str]]:
    """What the flow would have decided otherwise: when, what the session did, the decision."""
    _, session = played(scene, observed)
    notes = session.turn.journal.notes("otherwise")  # type: ignore[attr-defined]
    return [(round(note.t, 2), note.data["did"], note.data["decided"]) for note in notes]


@pytest.mark.parametrize("id", ["C2", "C3", "C6", "S1", "S2.3", "S3", "S5", "S6", "S2s.5", "P2"])
def test_an_observed_session_does_what_an_agent_session_does(id: str) -> None:
    """Each event, at its moment."""
    theirs, _ = played(HOST.scenario(id), AgentSession)
    ours, session = played(HOST.scenario(id), observed)
    assert ours == theirs
    assert len(theirs) > 5
    assert not isinstance(session, TurnSession)


def test_the_journal_says_what_the_flow_decides_otherwise_and_where() -> None:
    """A speculative reply is refused, and a turn that waits for a tool is answered at once."""
    assert otherwise(HOST.scenario("S1")) == [
        (
            6.8,
            "the model was asked before the turn was committed",
            "preemptive_generation refused in tool_running: tool_running refuses it",
        ),
        (
            11.3,
            "the turn waited for 4.2 s",
            "turn_committed: tool_running -> listening / unblock_tools, release_tools, answer_turn",
        ),
    ]
    _, session = played(HOST.scenario("S1"), observed)
    notes = session.turn.journal.notes("otherwise")  # type: ignore[attr-defined]
    line, column = map(int, next(notes).data["at"].removeprefix("turn.yaml:").split(":"))
    page = load_flow("turn").source.page  # type: ignore[union-attr]
    assert page.line(line)[column - 1 :].startswith("tool_running:")


def test_the_page_shows_these_notes() -> None:
    """As the loop on docs/adopt.md prints them."""
    _, session = played(HOST.scenario("S1"), observed)
    page = Path("docs/adopt.md").read_text(encoding="utf-8")
    for note in session.turn.journal.notes("otherwise"):  # type: ignore[attr-defined]
        told = f"{note.t:.2f} s  {note.data['did']}; {note.data['at']}: {note.data['decided']}"
        assert told in page


@pytest.mark.one_in(4)
@pytest.mark.parametrize("scene", HOST.scenarios, ids=lambda s: s.id)
def test_a_note_has_the_letter_that_the_audit_of_a_recording_gives(
    scene: Scenario, tmp_path: Path
) -> None:
    """And the property, but for a speculation that was not wasted. A failure of which public events
    show nothing before it is over has no note."""
    events = io.StringIO()

    def recorded(**options: Any) -> Any:
        session = observed(**options)
        EventRecorder(session, events)
        return session

    recorded.__signature__ = inspect.signature(AgentSession)  # type: ignore[attr-defined]
    _, session = played(scene, recorded)
    journal, recording = tmp_path / "journal.jsonl", tmp_path / "recording.jsonl"
    write_journal(journal, session.turn.journal.read())  # type: ignore[attr-defined]
    recording.write_text(events.getvalue(), encoding="utf-8")
    kinds = [
        {(f.failure, f.property) for f in audit_file(file).findings if f.failure}
        for file in (journal, recording)
    ]
    assert kinds[0] - {("A", "no_speculation_while_a_tool_runs")} <= kinds[1]


@pytest.mark.exhaustive
def test_the_page_says_how_many_failures_the_notes_show(tmp_path: Path) -> None:
    """The audit finds more, of a recording of the same session."""
    noted = [scene.id for scene in HOST.scenarios if otherwise(scene)]
    page = (Path(__file__).parents[2] / "docs" / "adopt.md").read_text(encoding="utf-8")
    assert f"The notes show {len(noted)} of the {len(HOST.scenarios)} [known failures]" in page
    objected = HOST.scenario("S5-task")
    assert objected.id not in noted

    def recorded(**options: Any) -> Any:
        session = TurnSession(observe=True, **options)
        EventRecorder(session, tmp_path)
        return session

    recorded.__signature__ = inspect.signature(AgentSession)  # type: ignore[attr-defined]
    played(objected, recorded)
    [file] = tmp_path.glob("*.jsonl")
    assert [finding.failure for finding in audit_file(file).findings]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("right", HOST.controls, ids=lambda s: s.id)
def test_what_goes_right_is_decided_in_the_same_way(right: Scenario) -> None:
    """But for a turn that waits for a tool, which a stock session answers late, and for the result
    of a tool that it does not say after an interruption."""
    late = ["the model was asked before the turn was committed", "the turn waited for 2.6 s"]
    told = [(did, decided) for _, did, decided in otherwise(right)]
    if right.id in ("S2.1", "S2.6", "S2s.1", "D4"):
        [(did, decided)] = told
        assert did.startswith("the result that a tool gave at ")
        assert decided == "next_reply: stays listening / request_next_reply"
    else:
        assert [did for did, _ in told] == (late if right.id == "D5" else [])


def test_an_observed_silence_with_a_result_that_waits_says_so() -> None:
    """The model was not asked: it is not slow."""
    _, session = played(HOST.scenario("S2.1"), observed)
    last = explain(session.turn.journal.read())[-1]  # type: ignore[attr-defined]
    assert last.cause == "nothing_asked"
    assert last.lines[-1].endswith(
        "a pending answer or result of 8.50 s is in no request to the model"
    )


def test_a_silence_in_which_the_session_waits_for_a_tool_names_the_tool() -> None:
    """The hook of the application is not blamed for it."""
    _, session = played(HOST.scenario("S1"), observed)
    silence = explain(session.turn.journal.read())[0]  # type: ignore[attr-defined]
    assert silence.cause == "tool_running"
    waits = "tool_running: the turn waits for a tool: look_up since 3.30 s"
    assert silence.lines[:-1] == (f"6.75 to 11.30 s  {waits}",)


def test_a_hook_is_named_once_livekit_does_not_wait_for_the_tool_any_more() -> None:
    """LiveKit waits for 5 s; then the hook runs."""

    class Slow(Clerk):
        async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
            await asyncio.sleep(2.0)

    model = ScriptedLLM({"look": Reply("I look.", calls=Call("long")), "time": "It is noon."})
    user = ScriptedUser().says("look", at=1.0).says("the time please", at=7.0)
    stage = Stage(observed, user=user, llm=model, agent=Slow)
    stage.run(25.0)
    lines = [line for wait in explain(stage.session.turn.journal.read()) for line in wait.lines]  # type: ignore[attr-defined]
    assert any("tool_running: the turn waits for a tool: long since" in line for line in lines)
    assert [line for line in lines if "is in on_user_turn_completed" in line] == [
        "13.40 to 15.40 s  application: the turn committed at 8.50 s is in on_user_turn_completed"
    ]


class AskName(AgentTask[str]):
    """A task that ends when the user has said a name."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.")

    async def on_enter(self) -> None:
        await self.session.say("What is your name?")

    @function_tool
    async def record(self, name: str) -> Any:
        """Record the name."""
        return complete(self, name)


class Clerk(Agent):
    """An agent with a tool that awaits a task, and one that nobody may interrupt."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def book(self, context: RunContext) -> str:
        """Book a table."""
        return f"booked for {await AskName()}"

    @function_tool
    async def search(self, context: RunContext) -> str:
        """Search."""
        await asyncio.sleep(3.0)
        return "found"

    @function_tool
    async def long(self, context: RunContext) -> str:
        """Look it up."""
        await asyncio.sleep(12.0)
        return "found"

    @function_tool
    async def pay(self, context: RunContext) -> str:
        """Pay."""
        context.disallow_interruptions()
        await asyncio.sleep(1.0)
        return "paid"


def test_a_turn_in_a_task_that_a_tool_awaits_is_decided_in_the_same_way() -> None:
    """The task has the floor: its turns do not wait for the tool that awaits it."""
    model = ScriptedLLM(
        {"a table": Reply(calls=Call("book")), "Ann": Reply(calls=Call("record", {"name": "Ann"}))},
        {"book": "Your table is booked."},
    )
    user = ScriptedUser().says("a table", at=1.0).says("Ann", at=5.0)
    assert otherwise_on_stage(user, model) == []


def test_a_reply_that_nobody_may_interrupt_any_more_is_decided_in_the_same_way() -> None:
    """LiveKit has no event for `RunContext.disallow_interruptions`. Over the user it begins."""
    model = ScriptedLLM({"pay": Reply("I pay now.", calls=Call("pay"))}, {"pay": "It is paid."})
    user = ScriptedUser().says("pay", at=1.0).says("stop that", at=3.05, duration=1.0)
    assert otherwise_on_stage(user, model) == []


@pytest.mark.parametrize("tool", ["pay", "search"])
def test_a_reply_that_was_heard_is_not_due_any_more(tool: str) -> None:
    """A turn that waited for a tool is answered; the silence after that has no other cause."""
    model = ScriptedLLM({tool: Reply("I do it now.", calls=Call(tool)), "time": "It is noon."})
    user = ScriptedUser().says(tool, at=1.0).says("the time", at=2.0)
    stage = on_stage(user, model)
    last = explain(stage.session.turn.journal.read())[-1]  # type: ignore[attr-defined]
    assert last.cause == "nothing_asked", last.lines


def on_stage(user: ScriptedUser, model: ScriptedLLM) -> Stage:
    """A conversation with the clerk, observed."""
    stage = Stage(observed, user=user, llm=model, agent=Clerk)
    assert stage.run(15.0).errors == []
    return stage


def otherwise_on_stage(user: ScriptedUser, model: ScriptedLLM) -> list[str]:
    """What the flow would have decided otherwise in it."""
    notes = on_stage(user, model).session.turn.journal.notes("otherwise")  # type: ignore[attr-defined]
    return [f"{note.t:.2f} {note.data['did']}: {note.data['decided']}" for note in notes]


@pytest.mark.parametrize(
    "failing", [s for s in HOST.scenarios if s.failure == "A"], ids=lambda s: s.id
)
def test_a_speculation_while_a_tool_runs_is_refused(failing: Scenario) -> None:
    """The class A of docs/failures.md."""
    assert any("preemptive_generation refused" in decided for _, _, decided in otherwise(failing))


def told(file: Path, make: Make, **options: Any) -> Journal:
    """The journal of a short conversation."""

    def made(**theirs: Any) -> AgentSession[Any]:
        return make(**theirs, sinks=[JsonlSink(file)], **options)

    made.__signature__ = inspect.signature(AgentSession)  # type: ignore[attr-defined]
    user = ScriptedUser().says("hello", at=1.0).says("goodbye", at=5.0)
    Stage(made, user=user, llm=ScriptedLLM({"hello": "Hello.", "goodbye": "Bye."})).run(10.0)  # type: ignore[arg-type]
    return read_journal(file)


def test_the_journal_of_an_observed_session_is_one_of_its_flow(tmp_path: Path) -> None:
    """It is decided again in the same way, and ends with the close."""
    journal = told(tmp_path / "a.jsonl", observed)
    assert replay(journal, load_flow("turn")) is None
    states = [entry.verdict.dest for entry in journal.entries if entry.verdict.entered]
    assert states.count("speaking") == 2
    assert [note.kind for note in journal.notes] == ["rollout", "turn", "turn", "closed"]
    assert audit_journal(journal, load_flow("turn")).ok
    waits = explain(journal, load_flow("turn"))
    assert [wait.cause for wait in waits if wait.start > 6.0] == ["nothing_asked"]


def test_the_audit_of_the_journal_names_what_is_decided_otherwise(tmp_path: Path) -> None:
    """As it does for a recording, with the line of the flow."""
    file = tmp_path / "a.jsonl"
    played(HOST.scenario("S1"), lambda **options: observed(**options, sinks=[JsonlSink(file)]))
    first, second = audit_file(file).findings
    early = "the model was asked before the turn was committed"
    assert first.lines()[0] == f"    6.80 s  A  {early} (no_speculation_while_a_tool_runs)"
    assert "preemptive_generation refused in tool_running" in first.lines()[1]
    assert (second.failure, second.what) == ("D", "the turn waited for 4.2 s")
    lines = [line for line in file.read_text().splitlines() if '"otherwise"' in line]
    file.write_text(file.read_text().replace(lines[0], lines[0].replace("turn.yaml:", "turn.")))
    assert audit_file(file).findings == (second,)  # a note of somebody else is no finding


async def test_an_observed_session_takes_the_arguments_of_a_governed_one() -> None:
    """Those that only govern are left out; one that is misspelt is an error as always."""
    session = observed(session_id="room", audit=True, timers={"settle": 1.0})
    assert session.turn.state == "listening"  # type: ignore[attr-defined]
    assert session.timers["settle"] == 1.0  # type: ignore[attr-defined]
    session.turn.expect("digits", length=4)  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="tmers"):
        observed(tmers={})


async def test_a_rollout_governs_its_share_and_keeps_a_session_in_its_group() -> None:
    """The same id is always in the same group, and stays governed when the share grows."""
    ids = [f"room-{n}" for n in range(400)]

    def governed(share: float) -> set[str]:
        new = rollout(share)
        return {id for id in ids if isinstance(new(session_id=id), TurnSession)}

    tenth, half = governed(0.1), governed(0.5)
    assert 20 <= len(tenth) <= 60
    assert 160 <= len(half) <= 240
    assert tenth < half
    assert governed(0.1) == tenth
    assert isinstance(rollout(1.0)(), TurnSession)
    assert not isinstance(rollout(0.0)(), TurnSession)


@pytest.mark.parametrize("share", [-0.1, 1.1, "0.1", None, True, float("nan")])
def test_a_share_is_a_number_from_0_to_1(share: Any) -> None:
    with pytest.raises(TurnfsmError, match=r"a share cannot be .*; give a number from 0 to 1"):
        rollout(share)


def test_report_has_both_groups_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what callers notice."""
    files = [str(tmp_path / f"{n}.jsonl") for n in range(3)]
    for file, share in zip(files, (1.0, 0.0, 0.0), strict=True):
        told(Path(file), rollout(share))
    with pytest.raises(SystemExit):
        main(("report", *files))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = lines.index(["Groups"])
    assert lines[at + 1] == ["governed", "observed"]
    assert lines[at + 2] == ["conversations", "1", "2"]
    response, *medians = lines[at + 3][0], lines[at + 3][2], lines[at + 3][4]
    assert response == "response,"
    assert all(0.2 < float(seconds) < 2.0 for seconds in medians)
    with pytest.raises(SystemExit):
        main(("report", *files, "--format", "json"))
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert {name: group["journals"] for name, group in groups.items()} == {
        "governed": 1,
        "observed": 2,
    }
    assert groups["observed"]["response_latency"]["count"] == 4


def test_a_recorder_that_comes_too_late_says_so() -> None:
    """What happened before is lost: the first speech, and whether it is played."""
    stage = Stage(AgentSession, user=ScriptedUser(), agent=Clerk)
    stage.at(1.0, lambda stage: EventRecorder(stage.session, io.StringIO()))
    warnings = [text for _, text in stage.run(3.0).warnings]
    assert any("make the EventRecorder before session.start" in text for text in warnings)
