"""Rules on the floor: the user gets it, and no step holds it too long."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from turnfsm.fsm.flow import Flow

from .maker import Maker, Where, on
from .parts import Move, Rule
from .turn import WAITS_FOR_TOOLS

__all__ = ["floor_is_alive", "over_the_user"]

_BY_USER = frozenset({"barge_in", "turn_committed", "user_started_speaking", "final_transcript"})
_TRANSCRIPTS = ("interim_transcript", "final_transcript")
# This step has no held audio left.
_MAY_LET_GO = frozenset({"step_started", "step_finished", "playout_started", "playout_finished"})
# The triggers that end the wait for endpointing, or for a transcript.
_MAY_DECIDE = frozenset({"endpointing_ended", "noise_limit"})
_LIMITS = frozenset({"thinking_limit", "speaking_limit", "pause_limit", "tool_limit"})
_REPORTED = _LIMITS | {"turn_overdue"}


def over_the_user(make: Maker) -> Iterator[Rule]:
    """Playout does not start over a speaking user unless it is uninterruptible."""
    yield from _first_frame(make)
    explained = make.host_facts("backchannel")  # by a text that needs no answer
    for action in ("release_output", "resume_output"):
        for pause in ((), make.host_facts("user_silent")) if explained else ((),):
            yield make.chosen(
                action,
                "while the user speaks",
                ["~user_speaking"],
                pause or explained,
                where=_lets_go,
            )
        for fact in make.host_facts("endpointing"):
            broken = "while the end of the user's turn is being decided"
            yield make.chosen(action, broken, [fact], explained, where=_lets_go_undecided)
    text = "while the floor is the user's"
    yield make.chosen("request_next_reply", text, ["~user_speaking"])
    for fact in make.host_facts("endpointing", "answer_pending"):
        yield make.chosen("request_next_reply", text, [fact], where=_is_undecided)
    yield from _barge_in(make)
    yield from _uninterruptible(make)


def _first_frame(make: Maker) -> Iterator[Rule]:
    facts = [*make.host_facts("interruptible"), *make.host_facts("holdable")]
    yield make.granted("start_playout", "start_output", "hold_output", unless=["~output_held"])
    yield make.chosen(
        "start_output",
        "for a step's first frame while the user speaks",
        ["~user_speaking", *facts],
        ["~playout_started", *make.host_facts("user_silent")],
    )
    for fact in make.host_facts("endpointing"):
        yield make.chosen(
            "start_output",
            "for a step's first frame while the end of the user's turn is being decided",
            [fact, *facts],
            ["~playout_started"],
        )
    yield make.chosen("start_output", "while it is held", ["~output_held"], ["~playout_started"])
    yield make.chosen(
        "start_output",
        "though no step may be heard",
        where=on(source={*make.flow.states} - {"thinking", "speaking"}),
    )
    yield make.move(
        "the user starts to speak and the step's first frame is not held",
        _stays("user_started_speaking", "thinking"),
        ["~step_running", *facts],
        ["~paused", "~output_held", "~playout_started"],
    )
    yield make.chosen(
        "hold_output",
        "though there is no first frame to hold",
        where=on(source={*make.flow.states} - {"thinking"}),
    )
    yield make.chosen("hold_output", "though it is held", ["~output_held"])
    yield make.chosen(
        "hold_output",
        "though the user is silent",
        unless=["~user_speaking", *make.host_facts("endpointing")],
        where=lambda m: m.trigger != "barge_in",
    )


def _lets_go(move: Move) -> bool:
    """The move resumes this step's audio, for another reason than that the speech became
    uninterruptible."""
    keeps = move.dest in ("thinking", "speaking") and move.source in ("thinking", "paused")
    heard = move.source == "paused" and move.trigger == "interruptions_disallowed"
    return keeps and not heard and move.trigger not in _MAY_LET_GO


def _lets_go_undecided(move: Move) -> bool:
    return _lets_go(move) and _is_undecided(move)


def _is_undecided(move: Move) -> bool:
    return move.trigger not in _MAY_DECIDE


def _barge_in(make: Maker) -> Iterator[Rule]:
    # A state that ignores the transcript declares that it is no interruption.
    deaf = {n for n, state in make.flow.states.items() if "final_transcript" in state.ignores}

    def held(state: str) -> Where:
        return on("final_transcript", source={state} - deaf, dest=state, fresh=True)

    yield from _transcripts_decide(make)
    for fact in make.host_facts("interruptible"):
        yield make.refused(
            "barge_in", "though the speech may be interrupted", ["~step_running", fact]
        )
        yield make.move(
            "final_transcript: the user has said words and the speech is held, not interrupted",
            held("thinking"),
            [fact],
            make.host_facts("manual_turns"),
            before=["~output_held"],
        )
    for fact in make.host_facts("pausable"):
        yield make.chosen(
            "interrupt_speech",
            "for a barge-in that may be none, though the output can pause",
            [fact],
            where=lambda m: m.trigger == "barge_in" and m.source != "thinking",
        )
    for fact in make.host_facts("holdable"):
        yield make.chosen(
            "interrupt_speech",
            "for a barge-in that may be none, though the first frame can be held",
            [fact],
            where=on("barge_in", source="thinking"),
        )
    yield make.move(
        "final_transcript: the user has said words and the speech is paused, not interrupted",
        held("paused"),
        unless=make.host_facts("backchannel"),
    )
    yield make.move(
        "final_transcript: late words of an answered turn interrupt its reply",
        on("final_transcript", source="thinking", does="interrupt_speech"),
        before_not=["~output_held"],
    )
    for state, kept in (("paused", ()), ("thinking", ("~output_held", "~paused"))):
        for timer in _lets_go_after(make.flow, state):
            yield make.move(
                f"user_stopped_speaking: {state} does not count {timer} from the first silence",
                partial(_runs_on, "user_stopped_speaking", state, timer),
                before=kept,
                before_not=["~first_sound_ended"],
            )
    yield make.move(
        "user_stopped_speaking: what is held is released before the words can have come",
        on("user_stopped_speaking", does="release_output"),
    )


def _transcripts_decide(make: Maker) -> Iterator[Rule]:
    """A barge-in stops or holds the audio, unless the state leaves that to the transcript. There a
    transcript that is not a backchannel stops it, and a stop word always does."""
    left_to_transcripts = _left_to_transcripts(make.flow)
    others = {*make.flow.states} - left_to_transcripts
    stops = ("pause_output", "hold_output", "interrupt_speech")
    yield make.move(
        "barge_in is granted without pause_output or hold_output or interrupt_speech",
        on("barge_in", source=others, taken=True, lacks=stops),
        unless=["~paused", "~output_held"],
    )
    allowed = make.host_facts("interruptible")
    before = [name for name in ("barged_in",) if name in make.flow.facts]
    for state in sorted(left_to_transcripts):
        yield make.move(
            f"final_transcript: words that are no backchannel, and the speech goes on in {state}",
            on("final_transcript", source=state, lacks="interrupt_speech"),
            allowed,
            make.host_facts("backchannel"),
            before,
        )
        for fact in make.host_facts("stop_word"):
            yield make.move(
                f"a stop word is talked through in {state}",
                on(_TRANSCRIPTS, source=state, lacks="interrupt_speech"),
                [*allowed, fact],
                before=before,
            )


def _left_to_transcripts(flow: Flow) -> frozenset[str]:
    """The states with playing or paused audio in which the transcript decides whether it stops."""
    if "backchannel" not in flow.host_facts:
        return frozenset()
    return frozenset(
        row.source
        for row in flow.rows()
        if row.source in ("speaking", "paused")
        and row.trigger == "final_transcript"
        and "interrupt_speech" in row.transition.actions
    )


def _lets_go_after(flow: Flow, state: str) -> Iterator[str]:
    """The timers after which a state releases the audio that it holds back."""
    rows = flow.rows(state) if state in flow.states else ()
    letting = {"release_output", "resume_output"}
    names = (row.trigger for row in rows if row.timer and letting & {*row.transition.actions})
    return iter(dict.fromkeys(names))


def _runs_on(trigger: str, state: str, timer: str, move: Move) -> bool:
    return _stays(trigger, state)(move) and not move.entered and timer not in move.restarts


def _uninterruptible(make: Maker) -> Iterator[Rule]:
    def stops_by(action: str) -> Where:
        return on({*_BY_USER, "start_playout"}, source=("thinking", "speaking"), does=action)

    for fact in make.host_facts("interruptible"):
        for action in ("interrupt_speech", "pause_output", "hold_output"):
            broken = f"{action} is chosen though the speech is uninterruptible"
            yield make.move(broken, stops_by(action), unless=[fact])
    for fact in make.host_facts("pausable"):
        broken = "pause_output is chosen though the output cannot pause"
        yield make.move(broken, stops_by("pause_output"), unless=[fact])
    for fact in make.host_facts("holdable"):
        broken = "hold_output is chosen though the first frame cannot be held"
        yield make.move(broken, stops_by("hold_output"), unless=[fact])


def floor_is_alive(make: Maker) -> Iterator[Rule]:
    """No step keeps the floor longer than its timers allow, or without a reason."""
    yield make.chosen(
        "interrupt_speech",
        "by a timer: a speech that may not be interrupted would go on, force_interrupt is missing",
        where=on(make.flow.timers),
    )
    for trigger, facts in (
        ("endpointing_ended", ("~user_speaking",)),
        ("interruptions_disallowed", ("~user_speaking", *make.host_facts("endpointing"))),
    ):
        yield make.move(
            f"{trigger}: nothing holds the first frame back any more and it is not released",
            _stays(trigger, "thinking"),
            ["~output_held", "~paused"],
            facts,
            before=["~output_held"],
        )
    for trigger, facts in (
        ("endpointing_ended", ("~user_speaking",)),
        ("interruptions_disallowed", ()),
    ):
        yield make.move(
            f"{trigger}: nothing holds the speech back any more and it stays paused",
            _stays(trigger, "paused"),
            unless=facts,
        )
    yield make.refused("start_playout", "though a step that holds the floor has audio")
    yield from _limits(make)
    yield from _reports(make)


def _limits(make: Maker) -> Iterator[Rule]:
    yield make.move(
        "the limit is reached and the state is held on",
        lambda m: m.trigger in _LIMITS and m.taken is not None and m.source == m.dest,
    )
    if "report_limit" in make.flow.actions:
        yield make.move(
            "a limit is reached and nobody is notified, report_limit is missing",
            on(_REPORTED, taken=True, lacks="report_limit"),
        )
    for state in ("thinking", "speaking"):
        body = make.flow.states.get(state)
        for timer in sorted({*_LIMITS, "report_after"} & {*body.after}) if body else ():
            yield make.move(
                f"step_progressed: {timer} runs on although the step makes progress",
                partial(_runs_on, "step_progressed", state, timer),
            )
    held = on("handover", source="thinking", dest="thinking")
    yield make.move(
        "handover: thinking is held on though a tool call runs and no step",
        held,
        ["~tools_running"],
        ["~step_running"],
    )
    yield make.move(
        "handover: thinking is held on though no step has come",
        held,
        unless=["~step_running", *make.host_facts("model_replies")],
    )


_WAITS = {
    "listening": ("~turn_open",),
    **dict.fromkeys(WAITS_FOR_TOOLS, ("~tools_running",)),
    "speaking": ("~step_running",),
    "paused": ("~step_running",),
}
"""What a state waits for. Thinking always waits for a step, which has the floor or will take it."""


def _reports(make: Maker) -> Iterator[Rule]:
    """A reported wait waits for something, and continues."""
    yield make.chosen("report_wait", "and the state is left", where=on(entered=True))
    for state, facts in _WAITS.items():
        broken = "though nothing is waited for"
        yield make.chosen("report_wait", broken, unless=facts, where=on(source=state))


def _stays(trigger: str, state: str) -> Where:
    return on(trigger, source=state, dest=state, fresh=True)
