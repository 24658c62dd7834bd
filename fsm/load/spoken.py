"""The agent's own speech: `fillers`, `silence`, `not_heard`, `never_silent`, `monologue`."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from turnfsm.fsm.flow import Action, Fact, Names, Scope, Transition, Trigger

from .parts import Parts, Rows
from .written import HOST, Filler

__all__ = [
    "BUSY",
    "FILLED",
    "add_fillers",
    "add_monologue",
    "add_never_silent",
    "add_not_heard",
    "add_silence",
    "also_restarting",
]


_AFTER = 20.0
_LOOK = 0.1
_NO_LATER = 5.0


def add_monologue(parts: Parts) -> None:
    """After the limit in `speaking`, wait some seconds for the end of a sentence."""
    if (monologue := parts.file.monologue) is None:
        return
    parts.declare("monologue")
    actions: Names = ("force_interrupt",)
    if monologue.say:
        parts.action("say_monologue", Action(say=monologue.say))
        actions = (*actions, "say_monologue")
    begins = Transition(unless=("talked_long",))
    ends = Transition(
        dest="interrupted",
        conditions=("talked_long", "between_sentences", "interruptible"),
        actions=actions,
    )
    at_last = Transition(dest="interrupted", conditions=("interruptible",), actions=actions)
    parts.paced_timer("speaking", "monologue", monologue.after, _AFTER, begins)
    limit = parts.file.timers["monologue"] + _NO_LATER
    parts.timer("speaking", "monologue_look", _LOOK, ends)
    parts.timer("speaking", "monologue_limit", limit, at_last)


_TIMER = "quiet"
_BETWEEN = ("listening", "interrupted")
"""States in which the user waits only for the reply to their turn."""


def add_never_silent(parts: Parts) -> None:
    """One timer counts through all states in which the user waits."""
    if (section := parts.file.never_silent) is None:
        return
    parts.action("say_quiet", Action(say=section.say))
    parts.action("say_give_up", Action(say=section.give_up))
    parts.declare("never_silent", {_TIMER: section.after})
    parts.lasting(_TIMER)
    for state in _BETWEEN:
        count_turn(parts, state, _TIMER, AT_WORK)
    parts.declare("end_of_filler")
    if parts.file.properties.no_silence_longer_than is None:
        parts.no_silence_longer_than(section.after)


def add_not_heard(parts: Parts) -> None:
    """What the agent says to a user whom it cannot understand or hear."""
    if (not_heard := parts.file.not_heard) is None:
        return
    parts.declare("not_heard")
    parts.action("say_voice_unrecognised", Action(say=not_heard.say))
    if not_heard.no_audio:
        parts.declare("no_audio")
        parts.action("say_audio_stopped", Action(say=not_heard.no_audio))


BUSY = ("user_speaking", "endpointing", "answer_pending")
"""While one of these facts is true, the user has the floor."""
AT_WORK = ("tool_running", "thinking")
"""The states in which the user waits for the agent."""
FILLED = (*AT_WORK, "listening")
"""The states in which the user may wait for what a filler bridges."""
BY_WORDS = ("final_transcript", "turn_committed", "message_answered", "user_typed")
_COUNTED_FROM = ("user_stopped_speaking", "reply_requested", "turn_dropped", "user_typed")
_QUIET = "user_silence"
"""The scope of a text to a user who says nothing."""
_WAITS = {"turn_open", "reply_awaited"}
_FILLER, _NEXT_FILLER, _SILENCE = 1.5, 5.0, 8.0
_HANG_UP_AFTER = 1.0


def add_fillers(parts: Parts) -> None:
    """What the agent says to a user who waits for a tool or for the model."""
    parts.declare("fillers")
    fillers = parts.file.fillers
    names = tuple(f"filler_{n}" for n, _ in enumerate(fillers, 1))
    for index, (name, filler) in enumerate(zip(names, fillers, strict=True)):
        parts.at = parts.place("fillers", index)
        action = Action(say=filler.say, audio=filler.audio, interruptible=filler.interruptible)
        parts.action(f"say_{name}", action)
        parts.fact("turn", f"{name}_said", Fact(set_by=(name,)))
        before = [n for n, f in zip(names[:index], fillers, strict=False) if _alike(f, filler)]
        conditions = ("can_say", *_said(before))
        if filler.tools:
            parts.fact(HOST, f"{name}_waits", Fact(tools=filler.tools))
            conditions = (f"{name}_waits", *conditions)
        later = zip(names[index + 1 :], fillers[index + 1 :], strict=True)
        row = Transition(
            conditions=conditions,
            unless=(f"{name}_said", *BUSY, "turn_deferred"),
            actions=(f"say_{name}",),
            restarts=tuple(other for other, f in later if _alike(f, filler)),
        )
        normal = _NEXT_FILLER if before else _FILLER
        states = filler.in_ if {*filler.in_} <= {*FILLED} else FILLED  # a wrong one is reported
        for state in states:
            timed = _before_reply(row) if state == "thinking" else row
            if state == "listening":
                timed = attrs.evolve(row, conditions=("turn_open", *row.conditions))
                if len(states) > 1:  # otherwise it starts with the state, as each turn does
                    count_turn(parts, state, name, states)
            parts.paced_timer(state, name, filler.after, normal, timed)
        if len(states) > 1:
            parts.lasting(name)
        if "thinking" in states:
            parts.declare("filler_before_the_reply")
    parts.at = ("fillers",)
    parts.declare("end_of_filler")


def count_turn(parts: Parts, state: str, timer: str, states: Names) -> None:
    """Let a timer of these states count from the commit of a turn.

    A step or a tool call restarts the timer only if the user waited neither for the turn nor for
    the reply to it: otherwise their wait has begun before.
    """
    parts.declare("counted_turn")
    for trigger, rows in parts.rows(state).items():
        counted: list[Transition] = []
        for row in rows:
            anew = attrs.evolve(row, restarts=(*row.restarts, timer))
            if trigger == "turn_committed":
                counted.append(anew if row.actions else row)
            elif row.dest in {*states} & {*AT_WORK} and not _WAITS & {*row.conditions, *row.unless}:
                known = {earlier.conditions for earlier in counted}  # by another timer
                waited = [(*row.conditions, fact) for fact in sorted(_WAITS, reverse=True)]
                counted += [attrs.evolve(row, conditions=c) for c in waited if c not in known]
                counted.append(anew)
            else:
                counted.append(row)
        if tuple(counted) != rows:
            parts.trigger(state, trigger, tuple(counted))


def _before_reply(row: Transition) -> Transition:
    """The filler comes before the reply that has the floor."""
    return attrs.evolve(
        row,
        conditions=("model_silent", *row.conditions),
        unless=(*row.unless, "output_held", "playout_started"),
        actions=(*row.actions, "yield_floor"),
    )


def add_silence(parts: Parts) -> None:
    """What the agent says to a user who says nothing."""
    parts.declare("silence")
    others = parts.rows("listening").items()
    texts = {t: rows for t, rows in others if t not in _COUNTED_FROM and _say(parts, rows)}
    over = ("user_started_speaking", *BY_WORDS, *texts)
    parts.add("scopes", _QUIET, Scope(begins=("user_stopped_speaking",), ends=over))
    prompts = parts.file.silence
    names = tuple(f"silence_{n}" for n, _ in enumerate(prompts, 1))
    timers: Names = tuple(timer for name in names for timer in (name, f"{name}_again"))
    timers = (*timers, "hang_up_after") if prompts[-1].hang_up else timers
    for index, (name, prompt) in enumerate(zip(names, prompts, strict=True)):
        parts.at = parts.place("silence", index)
        heard, ended, again, begun, said = (
            f"{name}_{what}" for what in ("heard", "ended", "again", "begun", "said")
        )
        parts.add("events", heard, Trigger(is_="The user has heard this text."))
        ended_early = "The user has heard only a part of this text, or it has failed."
        parts.add("events", ended, Trigger(is_=ended_early))
        action = Action(
            say=prompt.say,
            owner=_QUIET,
            done=heard,
            failed=ended,
            interruptible=prompt.interruptible,
        )
        parts.action(f"say_{name}", action)
        parts.fact("session", begun, Fact(set_by=(ended,), cleared_by=BY_WORDS))
        parts.fact("session", said, Fact(set_by=(heard, again), cleared_by=BY_WORDS))
        row = Transition(
            conditions=("can_say", *_said(names[:index])),
            unless=(begun, said, *BUSY, "turn_open", "turn_deferred"),
            actions=(f"say_{name}",),
            restarts=timers[2 * index + 1 :],
        )
        parts.paced_timer("listening", name, prompt.after, _SILENCE, row)
        last = attrs.evolve(
            row,
            conditions=(*row.conditions, begun),
            unless=row.unless[1:],
            restarts=timers[2 * index + 2 :],
        )
        seconds = None if name in parts.paced else parts.file.timers[name]
        parts.paced_timer("listening", again, seconds, _SILENCE, last)
    if prompts[-1].hang_up:
        parts.action("hang_up", Action(is_="Close the session."))
        row = Transition(
            conditions=("can_say", *_said(names)),
            unless=(*BUSY, "turn_open", "turn_deferred"),
            actions=("hang_up",),
        )
        parts.paced_timer("listening", "hang_up_after", None, _HANG_UP_AFTER, row)
    parts.at = ("silence",)
    for trigger, rows in texts.items():
        counted = tuple(
            row
            if row.dest or not _say(parts, (row,))
            else attrs.evolve(row, restarts=(*row.restarts, *timers))
            for row in rows
        )
        parts.trigger("listening", trigger, counted)
    for trigger in _COUNTED_FROM:
        rows = parts.file.states["listening"].on.get(trigger, ())
        parts.trigger("listening", trigger, also_restarting(rows, timers))


def _say(parts: Parts, rows: Rows) -> bool:
    actions = (parts.file.actions.get(name) for row in rows for name in row.actions)
    return any(action is not None and action.audible for action in actions)


def _said(names: Sequence[str]) -> Names:
    """The fact that the last of these was said."""
    return tuple(f"{name}_said" for name in names[-1:])


def _alike(filler: Filler, other: Filler) -> bool:
    """They are for the same tools and states, so one follows the other."""
    return (filler.tools, {*filler.in_}) == (other.tools, {*other.in_})


def also_restarting(rows: Rows, timers: Names, actions: Names = ()) -> Rows:
    """The same transitions, of which those within the state also restart these timers, with these
    actions."""
    counted = tuple(
        row
        if row.dest
        else attrs.evolve(row, restarts=(*row.restarts, *timers), actions=(*row.actions, *actions))
        for row in rows
    )
    if any(not (row.conditions or row.unless) for row in rows):
        return counted
    return (*counted, Transition(restarts=timers, actions=actions))
