"""`TurnGovernor(observe=True)` leaves a pipeline as it is, and says what the flow decides."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import QUESTION, Stage, look_up, moments, orders

from turnfsm import JsonlSink, TurnfsmError, load_flow, read_journal
from turnfsm.audit import audit_file
from turnfsm.fsm.journal import replay
from turnfsm.pipecat import TurnGovernor, rollout
from turnfsm.runtime.cli import main
from turnfsm.runtime.compare import Scenario
from turnfsm.runtime.compare.pipecat import HOST
from turnfsm.runtime.testing.pipecat import Says, Tool
from turnfsm.runtime.testing.pipecat.outcome import Outcome

SCENARIOS = {scene.id: scene for scene in HOST.all}


def _played(scene: Scenario, make: Callable[..., Any] | None) -> tuple[Outcome, Any]:
    made: list[Any] = []

    def governor(**options: Any) -> Any:
        made.append(make(**options))  # type: ignore[misc]
        return made[-1]

    outcome = scene.build(None if make is None else governor).run(scene.seconds)
    return outcome, made[-1] if made else None


def _observed(**options: Any) -> Any:
    return TurnGovernor(**options, observe=True)


def _otherwise(id: str) -> list[tuple[str, str]]:
    """What the pipeline did, and the decision of the flow."""
    _, governor = _played(SCENARIOS[id], _observed)
    notes = governor.turn.journal.notes("otherwise")
    return [(note.data["did"], note.data["decided"]) for note in notes]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("id", SCENARIOS)
def test_an_observed_pipeline_does_what_it_does_alone(id: str) -> None:
    """Each word, call and request, at its moment."""

    def told(outcome: Outcome) -> object:
        lines = [(round(n.at, 3), n.lane, n.what) for n in outcome.notes if n.lane != "flow"]
        heard = [(round(word.start, 3), word.text) for word in outcome.words]
        return lines, heard, outcome.context, outcome.errors

    ours, governor = _played(SCENARIOS[id], _observed)
    theirs, _ = _played(SCENARIOS[id], None)
    assert told(ours) == told(theirs)
    assert not isinstance(governor, TurnGovernor)


@pytest.mark.parametrize(
    ("id", "did", "decided"),
    [
        ("N1", "interrupted at 4.5 s by a noise", "speaking -> paused / pause_output"),
        ("N3", "interrupted at 2.2 s by a noise", "stays thinking / hold_output"),
        ("N4", "the call of look_up was cancelled", "barge_in refused in tool_running"),
        ("T1", "the call of look_up was cancelled", "barge_in refused in tool_running"),
        ("C1", "the model was asked without the results", "request_with_results"),
        ("D4", "the model was asked before the turn", "preemptive_generation refused"),
    ],
)
def test_the_journal_says_what_the_flow_decides_otherwise(id: str, did: str, decided: str) -> None:
    assert any(did in ours and decided in theirs for ours, theirs in _otherwise(id))


@pytest.mark.parametrize("cancels", [True, None])
def test_a_call_that_the_code_cancels_is_cancelled_by_the_flow_too(cancels: bool | None) -> None:
    stage = Stage(orders, look_up(4.0, cancel_on_interruption=cancels), governor=_observed)
    stage.play(moments((0.0, QUESTION), (3.0, "hello there")), seconds=12.0)
    notes = list(stage.governor.turn.journal.notes("otherwise"))  # type: ignore[union-attr]
    said = any("was cancelled" in note.data["did"] for note in notes)
    assert said == (cancels is None), stage.effects


def test_the_page_shows_a_note() -> None:
    """As the loop on docs/pipecat.md prints it; its time counts from when the governor was made."""
    _, governor = _played(SCENARIOS["N1"], _observed)
    (note,) = governor.turn.journal.notes("otherwise")
    told = f" s  {note.data['did']}; {note.data['at']}: {note.data['decided']}"
    assert told in Path("docs/pipecat.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("right", HOST.controls, ids=lambda scene: scene.id)
def test_what_goes_right_is_decided_in_the_same_way(right: Scenario) -> None:
    assert _otherwise(right.id) == []


def test_words_that_interrupt_are_decided_in_the_same_way() -> None:
    def model(messages: Any) -> Says:
        return Says("One two three four five six seven eight nine ten.")

    stage = Stage(model, governor=_observed).play(
        moments((0.0, "count please"), (4.0, "stop it now")), seconds=12.0
    )
    assert list(stage.governor.turn.journal.notes("otherwise")) == []  # type: ignore[union-attr]
    assert "paused" in stage.states


def test_the_journal_of_an_observed_pipeline_is_one_of_its_flow(tmp_path: Path) -> None:
    """It is decided again in the same way, ends with the close, and the audit lists the notes."""
    file = tmp_path / "a.jsonl"
    _played(SCENARIOS["N1"], lambda **options: _observed(**options, sinks=[JsonlSink(file)]))
    journal = read_journal(file)
    assert replay(journal, load_flow("turn")) is None
    assert journal.notes[0].kind == "rollout"
    assert journal.notes[-1].kind == "closed"
    (found,) = audit_file(file).findings
    assert "barge_in: speaking -> paused" in found.lines()[1]
    assert re.search(r"turn\.yaml:\d+:\d+", found.lines()[1])


def test_the_application_needs_no_other_code() -> None:
    """What a tool asks of the governor does nothing."""

    def model(messages: Any) -> Says:
        done = any("done" in str(message.get("content")) for message in messages)
        return Says("It is done.") if done else Says(calls=(("book", {}),))

    async def script(stage: Stage) -> None:
        assert stage.governor is not None
        assert await stage.governor.restore() is None
        stage.governor.turn.expect("digits", length=4)
        await stage.says("please book")

    tools = {"book": Tool(1.0, "done", {"cancel_on_interruption": False}, commits=True)}
    stage = Stage(model, tools, governor=_observed, store="no.db", session_id="room")
    assert stage.play(script, seconds=15.0).heard == "It is done."
    governor: Any = stage.governor
    assert [(call.name, call.gave) for call in governor.ledger] == [("book", "result")]
    assert governor.user_turns["replied"] == 1
    assert governor.agent_state == "listening"
    own = {name for name in vars(TurnGovernor) if not name.startswith("_")}
    assert own - set(dir(governor)) == set()
    assert not Path("no.db").exists()


@pytest.mark.parametrize("observe", [True, False])
def test_a_misspelt_argument_is_named_with_the_one_that_was_meant(observe: bool) -> None:
    said = re.escape("got an unexpected keyword argument 'tmers'; did you mean 'timers'?")
    with pytest.raises(TypeError, match=rf"TurnGovernor\(\) {said}"):
        TurnGovernor(observe=observe, tmers={})


def test_a_governor_of_your_own_may_take_arguments_of_its_own() -> None:
    class Governor(TurnGovernor):
        def __init__(self, tenant: str, **options: Any) -> None:
            super().__init__(**options)
            self.tenant = tenant

    assert Governor(tenant="a", flow="turn").tenant == "a"
    with pytest.raises(TypeError, match=r"Governor\(\) got .* 'tennant'; did you mean 'tenant'"):
        Governor(tennant="a")  # type: ignore[call-arg]
    with pytest.raises(TurnfsmError, match="none of the methods of Governor"):
        Governor(tenant="a", observe=True)


def test_a_rollout_governs_its_share_and_keeps_a_conversation_in_its_group() -> None:
    ids = [f"room-{n}" for n in range(100)]

    def governed(share: float) -> set[str]:
        new = rollout(share)
        return {id for id in ids if isinstance(new(session_id=id), TurnGovernor)}

    tenth, half = governed(0.1), governed(0.5)
    assert 3 <= len(tenth) <= 20
    assert 35 <= len(half) <= 65
    assert tenth < half
    with pytest.raises(TurnfsmError, match="a share cannot be 2"):
        rollout(2)


def test_report_has_both_groups_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / f"{n}.jsonl") for n in range(2)]
    for file, share in zip(files, (1.0, 0.0), strict=True):
        new = rollout(share)
        _played(SCENARIOS["K1"], lambda f=file, n=new, **o: n(**o, sinks=[JsonlSink(f)]))
    with pytest.raises(SystemExit):
        main(("report", *files))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    at = lines.index(["Groups"])
    assert lines[at + 1] == ["governed", "observed"]
    assert lines[at + 2] == ["conversations", "1", "1"]
