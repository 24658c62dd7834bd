"""Defines which trigger can follow which in LiveKit.

The proof of a flow allows any trigger at any moment. Real components are more restricted: a tool
call begins in a step that holds the floor, pushed audio plays at once, and an interruption is
reported before anything else happens. Paths that follow these rules can be played on a real
session.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import attrs

from turnfsm.fsm.cover import PathMove

__all__ = ["LiveKitWorld", "Memory"]


@attrs.frozen
class Memory:
    """The memory besides the flow's facts that decides which moves can come next.

    Attributes:
        must: Triggers that come before any other, in this order.
        words: There is a transcript that is in no turn yet.
        due: Speech has ended, and its transcript may still arrive. The host waits for it, unless
            only the application commits turns.
        watched: The flow has asked whether endpointing is running, and it was.
        output: ``audio`` or ``text``, once it matters.
        asked: The step has asked whether its audio may be played.
        silent: The step only calls a tool.
        tool: Whose call is running: ``own`` of the step that holds the floor, ``other`` of a speech
            that returned the floor, ``freed`` if its turn no longer waits, ``let go`` once
            interrupted.
        drained: A call has ended in this step.
        pausable, holdable, interruptible: The host's answers about the session and about this step.
    """

    must: tuple[str, ...] = ()
    words: bool = False
    due: bool = False
    watched: bool = False
    output: str = ""
    asked: bool = False
    silent: bool = False
    tool: str = ""
    drained: bool = False
    pausable: bool | None = None
    holdable: bool | None = None
    interruptible: bool | None = None


class LiveKitWorld:
    """An `Environment` for `cover`. tests/paths lists what it excludes, and why."""

    start = Memory()

    def after(self, memory: Hashable, move: PathMove) -> Memory | None:
        """The memory after a move; None if LiveKit cannot make it."""
        assert isinstance(memory, Memory)
        if memory.must:
            can = move.trigger == memory.must[0]
        else:
            can = _CAN.get(move.trigger, _never)(memory, move)
        if not can or not _truthful(memory, move) or _too_late(memory, move):
            return None
        return _follow(_changed(_answered(memory, move), move), move)


def _truthful(m: Memory, move: PathMove) -> bool:
    """Whether the host would give these answers."""
    host_facts = move.host_facts
    deciding = (m.words or (m.due and m.watched)) and "user_speaking" not in move.before
    expected = {
        "pausable": False if m.output == "text" else m.pausable,
        "holdable": _holdable(m, move) if "step_running" in move.before else False,
        "interruptible": m.interruptible if "step_running" in move.before else False,
        "endpointing": None if m.due and not m.watched and not m.words else deciding,
        "results_available": True,  # an output arrives before a request is possible
        "manual_turns": False,
        "empty_transcript": False,
        "model_replies": False,
        "answer_pending": False,
        "message_pending": False,
        "effect_pending": False,
        "agenda_open": False,  # no script leaves a result or an answer pending
        "tools_held": None if m.tool == "other" and "tools_running" in move.before else False,
    }
    return all(expected.get(fact) in (None, value) for fact, value in host_facts.items())


_QUICK = {"step_finished", "tool_started", "tool_ended", "reply", "interruptions_disallowed"}


def _too_late(m: Memory, move: PathMove) -> bool:
    """A text-only step, or one that only calls a tool, is over immediately."""
    text = m.output == "text" and move.source == "speaking"
    brief = text or (m.silent and move.source == "thinking")
    return brief and not (m.must or move.trigger in _QUICK)


def _with(m: Memory, **changes: Any) -> Memory:
    """The memory with these changes; usually the same object, as it has them already."""
    news = {name: value for name, value in changes.items() if getattr(m, name) != value}
    return attrs.evolve(m, **news) if news else m


def _answered(m: Memory, move: PathMove) -> Memory:
    deciding = move.host_facts.get("endpointing")
    due, watched = m.due and deciding is not False, m.watched or bool(deciding)
    m = _with(m, due=due, watched=watched, pausable=move.host_facts.get("pausable", m.pausable))
    if "step_running" not in move.before:
        return m
    said = {f: move.host_facts.get(f, getattr(m, f)) for f in ("holdable", "interruptible")}
    return _with(m, **said)


def _holdable(m: Memory, move: PathMove) -> bool | None:
    """The output plays audio at once. Text is delivered at once."""
    if move.trigger in ("start_playout", "user_started_speaking"):
        return True
    return m.output == "audio" if m.output else m.holdable


def _changed(m: Memory, move: PathMove) -> Memory:
    change = {"must": (), **(_CHANGE[move.trigger](m, move) if move.trigger in _CHANGE else {})}
    return _with(m, **(change | {"must": (*m.must[1:], *change["must"])}))


def _follow(m: Memory, move: PathMove) -> Memory:
    """The consequences of the host's actions before anything else can happen."""
    follows = [f for action in move.actions for f in _FOLLOWS.get(action, _nothing)(m, move)]
    m = _with(m, must=(*m.must, *follows))
    if move.state != "listening" or m.must:
        return m
    # No step any more.
    return _with(m, asked=False, silent=False, drained=False, interruptible=None)


def _never(m: Memory, move: PathMove) -> bool:
    return False


def _nothing(m: Memory, move: PathMove) -> tuple[str, ...]:
    return ()


def _has(move: PathMove, *facts: str) -> bool:
    return move.before.issuperset(facts)


def _heard_before_asked(m: Memory, move: PathMove) -> bool:
    """A transcript over a speech that may be interrupted is a barge-in first."""
    over = move.source in ("thinking", "speaking") and _has(move, "step_running")
    return _has(move, "user_speaking") or (
        over and move.host_facts.get("interruptible", True) and not _has(move, "output_held")
    )


def _may_barge_in(m: Memory, move: PathMove) -> bool:
    """LiveKit does not ask if a barge-in is forbidden; a verdict without effect is not
    journaled."""
    allowed = m.interruptible is not False and move.host_facts.get("interruptible", True)
    effect = move.state != move.source or bool(move.actions)
    return _has(move, "user_speaking", "step_running") and allowed and effect


def _may_finish(m: Memory, move: PathMove) -> bool:
    """An audible step ends with its playout, one without audio at once; text has no playout."""
    if move.source == "thinking":
        silent = not m.asked and not m.output and not _has(move, "user_speaking")
        return silent or _has(move, "playout_started")
    return move.source == "interrupted" or (move.source == "speaking" and m.output == "text")


def _may_hear_words(m: Memory, move: PathMove) -> bool:
    """A transcript takes a while, and by then a step that winds down in silence is over."""
    brief = move.source == "interrupted" and not _has(move, "playout_started")
    return not _heard_before_asked(m, move) and not brief


def _may_start_playout(m: Memory, move: PathMove) -> bool:
    """A speech waits for the user to be quiet. If the user speaks later, the output is held by
    then."""
    quiet = not _has(move, "user_speaking") or _has(move, "output_held")
    first = move.source == "thinking" and not m.asked and not m.silent
    return first and quiet and m.output != "text" and m.holdable is not False


def _may_be_heard(m: Memory, move: PathMove) -> bool:
    audio = m.asked and not _has(move, "output_held")
    silent = not m.output and m.holdable is not True
    text = silent and not m.tool and not _has(move, "playout_started")
    return move.source == "thinking" and (audio or text) and not m.silent


def _may_interrupt_other(m: Memory, move: PathMove) -> bool:
    if move.source == "interrupted" and not _has(move, "playout_started"):
        return False  # it is over before anything else can happen
    return m.tool == "freed" or (m.tool == "other" and _has(move, "tools_running"))


def _may_commit(m: Memory, move: PathMove) -> bool:
    return m.words and (move.source != "interrupted" or _has(move, "playout_started"))


def _may_ask(m: Memory, move: PathMove) -> bool:
    """Before a request, calls that are about to end do so. If no step holds the floor, the
    request's own step has it by then. Results of a background call are committed before a request
    is possible."""
    if move.source == "tool_running":
        return False
    return "result_uncommitted" not in move.before or (m.tool == "own" and m.drained)


def _may_progress(m: Memory, move: PathMove) -> bool:
    """Progress is tokens until playout starts, then audio until it was played."""
    if move.source == "speaking":
        return m.output == "audio"
    began = _has(move, "user_speaking") or _has(move, "playout_started") or m.asked
    return move.source == "thinking" and _has(move, "step_running") and not (began or m.silent)


def _tool_may_start(m: Memory, move: PathMove) -> bool:
    """A model gives its text before its calls: without audio it is delivered at once, as audio it
    comes later."""
    early = "speaking" if m.output == "text" else "thinking"
    quiet = move.source == early and not m.tool and not _has(move, "user_speaking")
    return quiet and _has(move, "step_running")


_CAN: dict[str, Callable[[Memory, PathMove], bool]] = {
    "user_started_speaking": lambda m, v: not _has(v, "user_speaking"),
    "user_stopped_speaking": lambda m, v: _has(v, "user_speaking"),
    "barge_in": _may_barge_in,
    "final_transcript": _may_hear_words,
    "turn_committed": _may_commit,
    "endpointing_ended": lambda m, v: (
        m.watched and (m.words or m.due) and not _has(v, "user_speaking")
    ),
    "preemptive_generation": lambda m, v: v.state == "listening" and m.words and not m.tool,
    "reply": _may_ask,
    "step_started": lambda m, v: not _has(v, "step_running"),
    "start_playout": _may_start_playout,
    "playout_started": _may_be_heard,
    "playout_finished": lambda m, v: v.source == "speaking" and m.output == "audio",
    "step_interrupted": lambda m, v: v.source != "interrupted" and m.interruptible is not False,
    "step_finished": _may_finish,
    "speech_interrupted": _may_interrupt_other,
    "interruptions_disallowed": lambda m, v: (
        m.tool == "own" and _has(v, "tools_running") and m.interruptible is not False
    ),
    "step_progressed": _may_progress,
    "tool_started": _tool_may_start,
    "tool_ended": lambda m, v: m.tool in ("own", "other", "let go") and not m.drained,
    "false_interruption": lambda m, v: True,
    "transcript_wait": lambda m, v: True,
    "noise_limit": lambda m, v: "take_deferred_turn" not in v.actions,
    "pause_limit": lambda m, v: True,
    "settle": lambda m, v: _has(v, "playout_started"),
    "handover": lambda m, v: v.verdict != "taken" or m.tool == "other",
    "thinking_limit": lambda m, v: _has(v, "step_running") and not _has(v, "playout_started"),
    "speaking_limit": lambda m, v: True,
    "tool_limit": lambda m, v: True,
    "finish_limit": lambda m, v: True,
    "turn_overdue": lambda m, v: True,
    "report_after": lambda m, v: (
        v.source == "listening" or (v.verdict == "taken" and v.source != "speaking")
    ),
}
"""For each trigger whether it can come now. A trigger that is not listed only follows from another
one."""


def _step_begins(m: Memory, move: PathMove) -> dict[str, Any]:
    tool = "other" if m.tool == "own" else m.tool
    return {"asked": False, "silent": False, "tool": tool, "drained": False, "interruptible": None}


def _call_ends(m: Memory, move: PathMove) -> dict[str, Any]:
    if m.tool == "let go":
        return {"tool": "", "must": ("results_committed",)}
    return {"drained": True, "must": ("tools_drained",)}


def _turn_asked(m: Memory, move: PathMove) -> dict[str, Any]:
    kept = () if move.verdict == "taken" else ("turn_deferred",)
    return {"words": False, "must": kept}


def _step_ends(m: Memory, move: PathMove) -> dict[str, Any]:
    return {"tool": "other" if m.tool == "own" else m.tool, "asked": False, "silent": False}


_CHANGE: dict[str, Callable[[Memory, PathMove], dict[str, Any]]] = {
    "user_started_speaking": lambda m, v: {"due": False},
    "user_stopped_speaking": lambda m, v: {"due": True, "watched": False},
    "final_transcript": lambda m, v: {"words": True, "due": False},
    "turn_committed": _turn_asked,
    "endpointing_ended": lambda m, v: {"words": False, "due": False, "watched": False},
    "step_started": _step_begins,
    "step_finished": _step_ends,
    "start_playout": lambda m, v: {"output": "audio", "asked": True},
    "playout_started": lambda m, v: {} if m.output else {"output": "text"},
    "step_interrupted": lambda m, v: {"interruptible": True},
    "interruptions_disallowed": lambda m, v: {"interruptible": False},
    "tool_started": lambda m, v: {"tool": "own", "silent": not (m.asked or m.output)},
    "tool_ended": _call_ends,
    "speech_interrupted": lambda m, v: {"tool": "let go"},
}


def _released(m: Memory, move: PathMove) -> tuple[str, ...]:
    return ("output_released",) if "output_held" in move.before else ()


def _tools_go(m: Memory, move: PathMove) -> tuple[str, ...]:
    return ("tools_released",) if "tools_running" in move.before else ()


_FOLLOWS: dict[str, Callable[[Memory, PathMove], tuple[str, ...]]] = {
    "hold_output": lambda m, v: ("output_held",),
    "pause_output": lambda m, v: ("output_paused",),
    "release_output": _released,
    "interrupt_speech": lambda m, v: ("step_interrupted",),
    "force_interrupt": lambda m, v: ("step_interrupted",),
    "release_tools": _tools_go,
}
"""The immediate consequences of the host's actions."""
