"""Every point of the yardstick can fail: a good run, spoilt in one place at a time."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from livekit.agents import llm

from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import journal_of
from turnfsm.runtime.demo.checks import check
from turnfsm.runtime.demo.evidence import judge, talked_through
from turnfsm.runtime.demo.expected import EXPECTED, Expectation, Mark
from turnfsm.runtime.demo.llm import Request, RuleLLM
from turnfsm.runtime.demo.on_livekit import hold
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.recorder import Recorder
from turnfsm.runtime.demo.take import Take
from turnfsm.runtime.demo.text import TextStack
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.heard import Heard

Record = Mapping[str, Any]
GAP = "backchannel"


async def converse() -> Take:
    """The typed conversation."""
    pace = Pace()
    stack = await TextStack.load(pace)
    take = Take(Recorder(pace))
    await hold(stack, load_flow("overlap"), take)
    return take


@pytest.fixture(scope="module")
def good() -> Take:
    """One run that went as declared."""
    return run(converse())


def copy(take: Take, keep: Callable[[Record], bool] = lambda _: True, **changes: Any) -> Take:
    """The same run, some of its records left out."""
    recorder = Recorder(Pace())
    recorder.records = [record for record in take.records if keep(record)]
    return attrs.evolve(take, recorder=recorder, log=list(take.log), **changes)


def _begins(record: Record) -> float:
    return float(record["data"]["start"])


def failed(take: Take) -> set[str]:
    """The points that fail."""
    results = judge(take, load_flow("overlap"), journal_of(take.records))
    return {result.name for result in results if result.ok is False}


def without(kind: str, **data: Any) -> Callable[[Record], bool]:
    """All records but the notes of this kind with these data."""
    return lambda r: (
        not (r.get("note") == kind and all(r["data"].get(k) == v for k, v in data.items()))
    )


def test_good_run_passes(good: Take) -> None:
    """What is spoilt below was right before."""
    assert failed(good) == set()


def test_a_sound_is_sorted_after_its_trigger() -> None:
    """A journal's time is rounded up, the start of the sound that it let begin is rounded down."""
    resumed = Mark("agent_false_interruption")
    expectation = Expectation("x", order=(resumed, Mark("agent_audio")))
    records = [
        {"seq": 1, "t": 35.099501, "note": "agent_false_interruption", "data": {}},
        {"seq": 2, "t": 37.48, "note": "agent_audio", "data": {"start": 35.099, "text": "Yes."}},
    ]
    assert check(expectation, records).ok


@pytest.mark.parametrize("expectation", [e for e in EXPECTED if e.order], ids=lambda e: e.name)
def test_every_required_record_is_required(expectation: Expectation, good: Take) -> None:
    """Without the records that fit, each mark in turn is missed."""
    from turnfsm.runtime.demo.checks import _fits

    for mark in expectation.order:
        left = [record for record in good.records if not _fits(mark, record)]
        result = check(expectation, left)
        assert result.ok is False
        assert "missing" in result.evidence


def test_a_trigger_that_the_host_never_posts_is_not_expected(good: Take) -> None:
    """The rest of its part still is."""
    name = "preemptive_generation"
    expectation = next(e for e in EXPECTED if any(mark.what == name for mark in e.order))
    left = [record for record in good.records if record.get("trigger") != name]
    assert check(expectation, left).ok is False
    assert check(expectation, left, {name}).ok
    unheard = [record for record in left if record.get("note") != "agent_audio"]
    assert check(expectation, unheard, {name}).ok is False


@pytest.mark.parametrize("expectation", [e for e in EXPECTED if e.never], ids=lambda e: e.name)
def test_every_forbidden_record_is_found(expectation: Expectation, good: Take) -> None:
    """Each mark that must not be is found where it is put into the part."""
    starts = {r["data"]["name"]: r["t"] for r in good.notes("line")}
    at = starts[expectation.line] + 0.5 if expectation.line else 20.0
    for mark in expectation.never:
        forged = forge(mark, at)
        result = check(expectation, [*good.records, forged])
        assert result.ok is False
        assert "must not be" in result.evidence


def forge(mark: Mark, t: float) -> Record:
    """A record that fits the mark."""
    if mark.what in ("agent_state", "agent_audio", "agent_false_interruption"):
        data = {"text": mark.text, "new": mark.new, "start": t}
        return {"seq": 9999, "t": t, "note": mark.what, "data": data}
    record = {"seq": 9999, "t": t, "trigger": mark.what or "any", "state": mark.state or "speaking"}
    record |= {"verdict": mark.verdict or "taken", "dest": mark.dest or "speaking", "why": ""}
    return record | {"actions": [mark.action], "facts": [mark.fact], "entered": False, "data": {}}


def test_a_line_that_was_not_said_is_found(good: Take) -> None:
    """A part of the conversation that never began cannot have gone well."""
    spoilt = copy(good, lambda r: without("line", name="noise")(r))
    assert failed(spoilt) == {"noise_ignored"}


def test_a_conversation_that_stops_is_found(good: Take) -> None:
    """A cue that never came is named."""
    assert failed(copy(good, stopped="no speaking of 1.5 s came in 30 s")) == {"to_the_end"}
    assert "to_the_end" in failed(copy(good, without("user_audio", line="noise")))


def test_a_gap_after_the_backchannel_is_found(good: Take) -> None:
    """The agent continues too late, or not at all; one that did not pause talks through it, too."""
    said = Heard(10.0, 11.0, "")
    for later, ok in ((11.2, True), (11.5, False), (None, False)):
        heard = [Heard(5.0, 10.3, ""), *([Heard(later, 15.0, "")] if later else [])]
        assert talked_through(said, heard).ok is ok
    assert talked_through(said, [Heard(5.0, 15.0, "")]).ok
    assert talked_through(None, [Heard(5.0, 15.0, "")]).ok is False
    assert talked_through(said, []).ok is False
    told = next(n["data"]["end"] for n in good.notes("user_audio") if n["data"]["line"] == GAP)
    late = copy(good, lambda r: not (r.get("note") == "agent_audio" and _begins(r) > told))
    assert "talked_through" in failed(late)


def test_misrecognised_words_are_found(good: Take) -> None:
    """A turn too few, or too many wrong words."""
    fewer = [item for item in good.history if getattr(item, "text_content", "") != "Is it heavy?"]
    assert failed(copy(good, history=fewer)) == {"user_understood"}


def test_a_request_during_the_tool_is_found(good: Take) -> None:
    """The interjection reaches the model while the tool runs."""
    model = RuleLLM([], fallback="", pace=Pace())
    model.asked = [Request(13.65, "Is it heavy?", "")]
    assert failed(copy(good, model=model)) == {"model_asked_once"}


def test_a_turn_without_an_outcome_is_found(good: Take) -> None:
    """A committed turn without an outcome."""
    assert failed(copy(good, without("turn", number=3))) == {"turns_accounted"}


def test_a_call_without_its_output_is_found(good: Take) -> None:
    """No provider is given a call without a result; a message between the two is moved away."""
    items = list(good.history)
    index = next(i for i, item in enumerate(items) if isinstance(item, llm.FunctionCallOutput))
    between = llm.ChatMessage(role="assistant", content=["Wait."])
    torn = [*items[:index], between, *items[index:]]
    assert failed(copy(good, history=torn)) == set()
    assert failed(copy(good, history=items[:index] + items[index + 1 :])) == {"calls_once"}


def test_a_call_that_ran_twice_is_found(good: Take) -> None:
    """A second run of the same call."""
    spoilt = copy(good)
    spoilt.recorder.records = [*good.records, good.notes("tool")[0]]
    assert "calls_once" in failed(spoilt)


def test_audio_that_was_not_understood_is_found(good: Take) -> None:
    """What the listener understood is not what was said."""
    said = [record["data"]["text"] for record in good.notes("agent_audio")]
    assert failed(copy(good, transcribed=said)) == set()
    assert failed(copy(good, transcribed=said[:-3])) == {"agent_audible"}


def test_an_error_in_the_log_is_found(good: Take) -> None:
    """A warning is no error."""
    assert failed(attrs.evolve(copy(good), log=["WARNING livekit: slow"])) == set()
    assert failed(attrs.evolve(copy(good), log=["ERROR livekit: no"])) == {"no_errors"}


def test_a_journal_that_differs_from_what_happened_is_found(good: Take) -> None:
    """A file that lost a record, and one that tells of another state."""
    flow = load_flow("overlap")
    short = judge(good, flow, journal_of(good.records[:-1]))
    changed = [dict(record) for record in good.records]
    next(r for r in changed if r.get("entered"))["dest"] = "paused"
    for results in (short, judge(good, flow, journal_of(changed))):
        assert {r.name for r in results if r.ok is False} == {"journal_replays"}
