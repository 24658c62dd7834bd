"""The paths of the turn on a real session: what LiveKit's own parts do agrees with the model.

The model alone lets anything come at any moment. `LiveKitWorld` holds what real components can do;
through that world every path is walked on a `TurnSession` with a scripted user, model, voice and
audio output. Nothing but those is scripted: triggers are posted by LiveKit's activity, never here.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import attrs
import pytest
from sweeps import one_in

from turnfsm.fsm import Taken, load_flow
from turnfsm.fsm.cover import Cover
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import ScriptedLLM, ScriptedUser, Stage
from turnfsm.runtime.testing.livekit.walks import Walk, session_paths, walk_path

TURN = load_flow("turn")

ONE_STEP = "LiveKit gives the floor to one step after the other: the first has finished by then"
NO_SEGMENTS = "a step of the scripted model is one segment, which asks for its playout once"
GATED = "LiveKit does not ask where the speech forbids interruptions"
SILENT = "asked with every frame of the voice; an answer that changes nothing is not journalled"
WINDOW = "results are committed some turns of the loop later, before anything can ask"
CALLS = "a call begins in a step that holds the floor"
ENDS_ONCE = "the audio output reports the end of what it plays, once, while it is heard"
AT_HAND = "the output of a call is there as it ends, before anything can ask"
FLOOR = "a request lets calls end that are about to; by then its step has the floor"
ALREADY = "words that no turn holds yet hold the first frame; later ones end the pause themselves"
BESIDE = "a speech beside a call that holds its turn; tests/livekit/test_tool_results.py has it"
AT_ONCE = "asked with the transcript that interrupts; tests/livekit/test_turns.py has it"
WAITS = "no scripted tool waits for an objection; tests/livekit/test_objections.py has it"
OBJECTS = "no scripted tool can be objected to; tests/livekit/test_objections.py has it"
UNTIMED = "it only starts a timer again; the proof of turn and agenda has it"
NO_REPLY = "a result that the application interrupts gets no reply of its own"
SHORT = "no script asks for several words; tests/livekit/test_short_turns.py has it"
DEFERRED = "tests/livekit/test_deferred_turns.py has it"
QUIETLY = "asked quietly before, so that only a yes is journalled"
QUIET = ("listening", "thinking", "tool_running", "interrupted")
EVERYWHERE = (*QUIET, "speaking", "paused")
UNSCRIPTED = {
    "row listening.tool_started.0": CALLS,
    "row thinking.handover.0": CALLS,
    "row listening.speech_interrupted.0": "not sought: it follows where a turn frees a call",
    "facts only paused.endpointing_ended": "a decision is given up when voice is heard",
    "row thinking.barge_in.0": SILENT,
    "row paused.barge_in.0": SILENT,
    "row paused.playout_finished.0": ENDS_ONCE,
    "row thinking.start_playout.1": "a speech that begins over the user waits for silence first",
    "row speaking.report_after.0": "tests/livekit/test_long_waits.py has it",
    "row thinking.thinking_limit.1": CALLS,
    "row thinking.thinking_limit.2": "handover comes first, save for a realtime model",
    "row speaking.turn_replied.0": "it follows the first sound of the reply to a turn",
    "row speaking.playout_started.0": NO_SEGMENTS,
    "row speaking.start_playout.0": NO_SEGMENTS,
    "row speaking.step_started.0": ONE_STEP,
    "row paused.step_started.0": ONE_STEP,
    "row interrupted.step_started.0": ONE_STEP,
    "row paused.step_finished.0": "audio that is paused has not ended, so neither has its step",
    "row paused.step_finished.1": "audio that is paused has not ended, so neither has its step",
    "row paused.step_finished.2": "audio that is paused has not ended, so neither has its step",
    "row interrupted.step_finished.0": BESIDE,
    "row interrupted.settle.0": BESIDE,
    "row paused.turn_committed.0": ALREADY,
    "refused paused.turn_committed": BESIDE,
    "refused interrupted.turn_committed": BESIDE,
    "refused listening.turn_committed": "a turn without words is committed by the application",
    "row interrupted.speech_interrupted.0": "the interruption before it has let go of the calls",
    "refused listening.preemptive_generation": WINDOW,
    "row listening.reply.1": WINDOW,
    "refused listening.reply": WINDOW,
    "row tool_running.reply.0": FLOOR,
    "row tool_running.reply.1": FLOOR,
    "refused tool_running.reply": FLOOR,
    "refused thinking.reply": AT_HAND,
    "refused speaking.reply": AT_HAND,
    "refused paused.reply": AT_HAND,
    "row listening.next_reply.0": NO_REPLY,
    "row listening.noise_limit.0": DEFERRED,
    "row listening.noise_limit.1": NO_REPLY,
    "row listening.turn_deferred.0": UNTIMED,
    **{f"row {where}.deferred_turn.0": DEFERRED for where in EVERYWHERE},
    "row thinking.deferred_turn.1": DEFERRED,
    **{f"refused {where}.deferred_turn": QUIETLY for where in EVERYWHERE},
    **{f"row {where}.turn_too_short.0": SHORT for where in QUIET},
    **{f"refused {where}.turn_too_short": SHORT for where in QUIET},
    "row listening.reply_requested.0": UNTIMED,
    "row thinking.newer_result.0": "tests/livekit/test_still_checking.py has it",
    "refused thinking.newer_result": QUIETLY,
    "row listening.proceed.0": WAITS,
    "refused listening.proceed": WAITS,
    "row listening.message_answered.0": OBJECTS,
    "facts only listening.message_answered": OBJECTS,
    "row thinking.proceed.0": WAITS,
    "refused thinking.proceed": WAITS,
    "row thinking.message_answered.0": OBJECTS,
    "facts only thinking.message_answered": OBJECTS,
    "row speaking.proceed.0": WAITS,
    "refused speaking.proceed": WAITS,
    "row speaking.message_answered.0": OBJECTS,
    "facts only speaking.message_answered": OBJECTS,
    "row paused.proceed.0": WAITS,
    "refused paused.proceed": WAITS,
    "row paused.message_answered.0": OBJECTS,
    "facts only paused.message_answered": OBJECTS,
    "row tool_running.proceed.0": WAITS,
    "refused tool_running.proceed": WAITS,
    "row tool_running.message_answered.0": OBJECTS,
    "facts only tool_running.message_answered": OBJECTS,
    "row interrupted.proceed.0": WAITS,
    "refused interrupted.proceed": WAITS,
    "row interrupted.message_answered.0": OBJECTS,
    "facts only interrupted.message_answered": OBJECTS,
    "refused listening.next_reply": QUIETLY,
    "refused thinking.barge_in": GATED,
    "refused speaking.barge_in": GATED,
}
"""What no script of components brings about, and why."""

UNHEARD = {
    *("turn_replied", "next_reply", "newer_result", "proceed", "message_answered"),
    "turn_too_short",
}


@pytest.fixture(scope="module")
def found() -> Cover:
    """The paths."""
    return session_paths(TURN)


@pytest.fixture(scope="module")
def walks(found: Cover) -> list[Walk]:
    """A session that has walked each."""
    return [walk_path(path, TURN) for path in found.paths]


def _states(walk: Walk) -> list[str]:
    """The states that the session's journal shows until the path's end."""
    journal = walk.session.turn.journal  # type: ignore[attr-defined]
    done = [entry for entry in journal if entry.t <= walk.ended + 1e-9]
    held = [e.verdict.dest for e in done if isinstance(e.verdict, Taken)]
    return [state for state, _ in groupby([TURN.initial, *held])]


def test_the_session_walks_the_paths(walks: list[Walk]) -> None:
    """Each trigger comes from LiveKit, is decided as the path says, and leads where it says."""
    for walk in walks:
        assert walk.problems == [], (walk.path.name, walk.outcome.timeline())
        path = [TURN.initial, *(step.state for step in walk.path.steps)]
        foretold = [state for state, _ in groupby(path)]
        assert _states(walk)[: len(foretold)] == foretold, walk.path.name


def test_the_state_is_what_is_heard(walks: list[Walk]) -> None:
    """The audio output sounds while the state is speaking, and is still in every other."""
    for walk in walks:
        if walk.plan.text_only:
            assert not walk.outcome.heard
            continue
        unended = "speaking.speaking_limit.0" in {step.row for step in walk.path.steps}
        for span in walk.spans:
            sound = sum(
                max(0.0, min(span.end, heard.end) - max(span.start, heard.start))
                for heard in walk.outcome.heard
            )
            expected = span.end - span.start if span.state == "speaking" else 0.0
            within = 1e-3
            if unended and span.state == "speaking":  # silence without an end, until the limit
                limit = walk.plan.timers["speaking_limit"]
                expected, within = expected - limit, limit / 10  # it is looked ten times
            assert sound == pytest.approx(expected, abs=within), (span, walk.outcome.heard_lines)


def test_a_tool_runs_while_the_turn_waits_for_one(walks: list[Walk]) -> None:
    """In tool_running a call of LiveKit's is running from the first to the last moment."""
    spans = [(walk, s) for walk in walks for s in walk.spans if s.state == "tool_running"]
    assert len(spans) > 5
    for walk, span in spans:
        (call,) = walk.outcome.tools
        assert call.start <= span.start
        assert call.end is None or call.end >= span.end


def test_what_has_no_script_is_listed(found: Cover) -> None:
    """The list of what cannot be walked is exact."""
    assert {*found.unreachable} == {*UNSCRIPTED}


def test_most_of_the_turn_is_walked(walks: list[Walk]) -> None:
    """The sessions take every transition that is not listed, hold every state and hear every
    trigger but six: no path goes on until the reply to a turn is heard, and no script brings
    about an objection or the next reply."""
    rows = {row for walk in walks for row in walk.rows}
    known = len([*TURN.rows()])
    assert rows | {what.removeprefix("row ") for what in UNSCRIPTED} >= {r.id for r in TURN.rows()}
    page = Path(__file__).parents[2] / "docs" / "commands.md"
    share = f"take {len(rows)} of {known} transitions ({len(rows) / known:.0%}), 0 problems"
    head = f"turn: {len(walks)} paths walked by a TurnSession"
    assert f"{head} {share}" in page.read_text(encoding="utf-8")
    assert {state for walk in walks for state in _states(walk)} == {*TURN.states}
    seen = {seen.verdict.trigger for walk in walks for seen in walk.seen}
    assert {*TURN.triggers} - UNHEARD <= seen


def test_a_turn_that_the_application_commits_interrupts_what_is_heard() -> None:
    """Nobody else ends a turn there, so its words do not hold the first frame."""
    user = ScriptedUser().says("a table", at=0.5)
    model = ScriptedLLM({"a table": "Booked."})
    manual = {"turn_detection": "manual"}
    stage = Stage(TurnSession, user=user, llm=model, turn_handling=manual)
    stage.at(3.0, lambda s: s.session.say("We are open from nine to five today.") and None)
    stage.at(3.5, lambda s: s.session.commit_user_turn(transcript_timeout=0.1) and None)
    outcome = stage.run(8.0)
    taken = [e.verdict for e in stage.session.turn.journal if isinstance(e.verdict, Taken)]
    assert ("speaking.turn_committed.0", "interrupted") in {(v.row, v.dest) for v in taken}
    assert outcome.heard_saying("Booked.") is not None, outcome.timeline()


def test_a_path_that_the_session_does_not_take_is_reported(found: Cover) -> None:
    """A path that the session does not take is said, with what came instead."""
    path = next(p for p in found.paths if "row thinking.step_finished.2" in p.covers)
    other = attrs.evolve(path.steps[-1], row="thinking.step_finished.1", state="thinking")
    wrong = attrs.evolve(path, steps=(*path.steps[:-1], other))
    assert walk_path(wrong, TURN).problems == [
        "before step_finished: step_finished leads from thinking to listening"
    ]


@pytest.mark.parametrize("words", one_in(2, [2, 5]))
def test_a_variant_that_counts_words_is_walked_without_problems(
    words: int, found: Cover, tmp_path: Path
) -> None:
    """An interruption needs words while the agent speaks. The paths are those of the turn, whose
    states and rows the variant has."""
    file = tmp_path / "mine.yaml"
    file.write_text(
        "flow: mine\nextends: turn\ntimers: {false_interruption: 1.2}\nstates:\n"
        f"  speaking:\n    tuning: {{min_words: {words}}}\n"
        "tools:\n  by_name: {transfer_money: hold}\n",
        encoding="utf-8",
    )
    through = {"barge_in", "false_interruption"}
    paths = [path for path in found.paths if through & {step.trigger for step in path.steps}]
    walks = [walk_path(path, str(file)) for path in paths]
    assert [problem for walk in walks for problem in walk.problems] == []
    rows = {row for walk in walks for row in walk.rows}
    assert {"speaking.barge_in.0", "speaking.barge_in.1"} <= rows
    assert {"paused.false_interruption.0", "paused.endpointing_ended.0"} <= rows
