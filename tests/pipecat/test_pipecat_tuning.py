"""The tuning of a state, in a pipeline."""

import asyncio

import attrs
import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames.frames import TranscriptionFrame
from pipecat_stage import COUNT, Stage, counts

from turnfsm.fsm import parse_flow
from turnfsm.runtime.testing.pipecat import (
    Messages,
    Says,
    Script,
    ScriptedVAD,
    Tool,
    said,
    shows,
)

README = """
flow: mine
extends: overlap
fillers: {after: 1.5, say: "One moment, please."}
silence:
  - {after: 8, say: Are you still there?}
  - {after: 8, say: I will hang up now. Goodbye., hang_up: true}
tools:
  confirm: {transfer_money: {say: "Shall I transfer {amount} euros?"}}
"""


def tuned(tuning: str) -> str:
    return f"flow: tuned\nextends: turn\nstates: {{speaking: {{tuning: {tuning}}}}}"


def over(words: str, *, at: float = 3.5, seconds: float = 0.5) -> Script:
    """The user asks the agent to count, and says something over it; nothing is a cough."""

    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(at)
        await (stage.says(words, seconds) if words else stage.coughs(seconds))

    return script


def counting(words: str, flow: str, **how: float) -> Stage:
    return Stage(counts, flow=parse_flow(flow)[0], vad=ScriptedVAD()).play(over(words, **how))


@pytest.mark.parametrize("vad", [True, False], ids=["vad", "no vad"])
@pytest.mark.parametrize("words", ["mhm", "yeah okay"])
def test_overlap_talks_through_backchannels(words: str, vad: bool) -> None:
    """Without a VAD of the aggregator nothing measures pauses, and the words decide alone."""
    flow, _ = parse_flow(README)
    stage = Stage(counts, flow=flow, vad=ScriptedVAD() if vad else None).play(over(words))
    assert COUNT in stage.heard
    assert len(stage.asked) == 1


def test_overlap_stops_at_stop() -> None:
    stage = counting("stop please", README)
    assert COUNT not in stage.heard
    assert said(stage.asked[-1].messages) == "stop please"


LONG = " ".join(f"word{number}" for number in range(40))


def tells(messages: Messages) -> Says:
    """A story of twelve seconds."""
    return Says(LONG if "count" in said(messages) else f"You said {said(messages)}.")


def test_words_that_are_too_few_do_not_interrupt() -> None:
    """They become part of what the user says next; the agent's next step does not wait for them."""

    async def script(stage: Stage) -> None:
        await over("well")(stage)
        await stage.until(20.0)
        await stage.says("go on", 0.6)

    flow = tuned("{min_words: 2}")
    stage = Stage(tells, flow=parse_flow(flow)[0], vad=ScriptedVAD()).play(script)
    assert "paused" not in stage.states
    assert LONG in stage.heard
    assert [said(request.messages) for request in stage.asked] == ["please count", "well go on"]
    assert stage.user_turns == {"replied": 2}
    cut = Stage(tells, flow=parse_flow(flow)[0], vad=ScriptedVAD()).play(over("well stop please"))
    assert "paused" in cut.states
    assert LONG not in cut.heard


def test_words_are_counted_as_the_flow_counts_them() -> None:
    """Also in a script without spaces."""
    flow = parse_flow(tuned("{min_words: 2}"))[0]
    stage = Stage(tells, flow=flow, vad=ScriptedVAD()).play(over("等一下"))
    assert "paused" in stage.states
    assert LONG not in stage.heard


def test_words_that_are_too_few_for_a_reply_that_is_about_to_be_heard_are_answered_after_it() -> (
    None
):
    """If they come after the sound; during it they replace the reply (`held-output`)."""
    few = "{tuning: {min_words: 2}}"
    flow = f"flow: tuned\nextends: turn\nstates: {{thinking: {few}, speaking: {few}}}"

    def slow(messages: Messages) -> Says:
        return attrs.evolve(tells(messages), after=3.0 if "count" in said(messages) else 0.4)

    stage = Stage(slow, flow=parse_flow(flow)[0]).play(over("hurry", at=2.6))
    assert stage.heard.startswith(LONG)
    assert said(stage.asked[-1].messages) == "hurry"


def test_a_reply_does_not_begin_in_a_pause_after_words_of_the_user() -> None:
    """They are too few to interrupt, and the user goes on at 5.9 s."""

    async def script(stage: Stage) -> None:
        await stage.says("please look")
        await stage.until(4.2)
        speech = asyncio.ensure_future(stage.microphone.makes_noise(2.2, pauses=[(0.4, 1.7)]))
        await stage.until(4.7)
        await stage.pushes(TranscriptionFrame("hurry", "user", "now", finalized=True))
        await speech

    def model(messages: Messages) -> Says:
        if said(messages) == "hurry":
            return Says("I am sorry.")
        return Says("It is found.") if shows(messages, "found") else Says(calls=(("look", {}),))

    few = "{tuning: {min_words: 2, min_silence: 0.2}}"
    flow = f"flow: tuned\nextends: turn\nstates: {{thinking: {few}, speaking: {few}}}"
    vad = ScriptedVAD(stop_secs=1.5)
    stage = Stage(model, {"look": Tool(1.6, "found")}, flow=parse_flow(flow)[0], vad=vad)
    assert stage.play(script).heard == "It is found. I am sorry."
    assert stage.when("It") > 6.4


def test_a_step_is_not_held_back_for_words_that_are_too_few() -> None:
    """The result of a tool is said at once when it comes."""
    flow = "flow: tuned\nextends: turn\ntools: {tuning: {look: {min_words: 9}}}"
    flow += "\nstates: {speaking: {tuning: {min_words: 9}}}"

    def model(messages: Messages) -> Says:
        if shows(messages, "found"):
            return Says("It is found.")
        return Says("Let me look for that, it takes a moment.", calls=(("look", {}),))

    def begins(words: str) -> float:
        stage = Stage(model, {"look": Tool(1.5, "found")}, flow=parse_flow(flow)[0])
        script = over(words, at=3.0) if words else over("", at=3.0)
        stage.play(script)
        return stage.when("It")

    assert begins("well") == pytest.approx(begins(""), abs=0.6)


def test_a_sound_that_is_too_short_does_not_pause() -> None:
    flow = tuned("{min_duration: 0.6}")
    assert "paused" not in counting("", flow, seconds=0.4).states
    long = counting("", flow, seconds=1.2)
    assert "paused" in long.states
    paused = next(note.at for note in long.notes if note.what == "paused")
    assert 4.0 < paused < 4.2  # 0.6 s after its begin at 3.5 s


def test_a_muted_user_is_not_heard() -> None:
    def model(messages: Messages) -> Says:
        return counts(messages)

    stage = Stage(model, flow="half_duplex", vad=ScriptedVAD()).play(over("stop please"))
    assert COUNT in stage.heard
    assert len(stage.asked) == 1


UNINTERRUPTIBLE = "tuning: {interruptible: false}"


@pytest.mark.parametrize(
    ("section", "whole"),
    [
        ("states: {}", False),
        (f"states: {{speaking: {{{UNINTERRUPTIBLE}}}}}", True),
        (f"questions: {{q: {{asked: word3, kind: open, {UNINTERRUPTIBLE}}}}}", True),
        (f"questions: {{q: {{asked: wordless, kind: open, {UNINTERRUPTIBLE}}}}}", False),
    ],
)
def test_an_uninterruptible_agent_is_heard_to_the_end_and_then_answers(
    section: str, whole: bool
) -> None:
    flow = f"flow: tuned\nextends: turn\n{section}"
    stage = Stage(tells, flow=parse_flow(flow)[0], vad=ScriptedVAD()).play(over("stop please"))
    assert (LONG in stage.heard) is whole
    assert stage.heard.endswith("You said stop please.")


@pytest.mark.parametrize(("asked", "ended"), [("your name", True), ("your age", False)])
def test_a_question_brings_the_policy_of_the_tool_that_its_answer_calls(
    asked: str, ended: bool
) -> None:
    tuning = "tuning: {policies: {look: cancel}}"

    async def script(stage: Stage) -> None:
        await stage.says("hello", 0.5)
        await stage.until(6.0)
        await stage.says("Ada", 0.5)
        await stage.until(9.5)
        await stage.says("never mind", 0.6)

    def model(messages: Messages) -> Says:
        if said(messages) == "Ada" and not shows(messages, "found"):
            return Says("One moment.", calls=(("look", {}),))
        return Says("What is your name?" if said(messages) == "hello" else "All right.")

    flow = f"flow: asks\nextends: turn\nquestions: {{q: {{asked: {asked}, kind: open, {tuning}}}}}"
    look = {"look": Tool(8.0, "found")}
    stage = Stage(model, look, flow=parse_flow(flow)[0], vad=ScriptedVAD()).play(script, seconds=25)
    assert stage.governor is not None
    [call] = stage.governor.ledger
    assert (call.policy == "cancel") is ended
