"""The section `tools: confirm`: a tool runs only when the user has said yes."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from turnfsm.fsm.confirm import arguments_in
from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.flow import NEVER, Action, Transition, Trigger
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .names import wordless
from .parts import Parts
from .spoken import BUSY
from .written import FlowFile, WrittenState

__all__ = ["add_confirm", "check_confirm"]

CONFIRMING = "confirming"
_SECTION: Path = ("tools", "confirm")
_LIMIT, _AT_MOST = 15.0, 30.0
_YES = Transition(
    conditions=("agreed", "question_heard"), unless=("turn_deferred",), actions=("run_confirmed",)
)
_OTHER = "other_answer"
_OTHER_MEANS = "The user has said something that is not the yes that a call waits for."


def check_confirm(file: FlowFile, source: Source) -> Iterator[Finding]:
    """The problems of the questions, besides those of their expansions."""
    if file.tools.confirm and "agreed" in file.phrases:
        yield problem(source, ("phrases", "agreed"), "contradiction.agreed")
    for tool, question in file.tools.confirm.items():
        path: Path = (*_SECTION, tool)
        for index, text in enumerate(question.say):
            listed: Path = (*path, "say", index)
            where = listed if source.written(listed) else (*path, "say")
            try:
                arguments_in(text)
            except ValueError as exc:
                yield problem(source, where, "type.question", text=text, why=exc)
        yield from wordless(question.yes, (*path, "yes"), source)
        for name, condition in question.when.items():
            above, below = condition.above, condition.below
            if above is not None and below is not None and above >= below:
                numbers = {"above": above, "below": below}
                yield problem(source, (*path, "when", name), "contradiction.condition", **numbers)


def add_confirm(parts: Parts) -> None:
    """A call that needs a yes makes the agent ask. Only a yes that follows runs the tool."""
    others = {path[1] for path in parts.places if path[0] == "actions"} - {"say_quiet"}
    parts.declare("confirm")
    if _model_owns_turns(parts):
        parts.add("events", _OTHER, Trigger(is_=_OTHER_MEANS))
    if any(question.otherwise for question in parts.file.tools.confirm.values()):
        means = "Say what was declared for a call that got no answer in time."
        parts.action("say_unconfirmed", Action(is_=means))
    parts.guard("tool_running", "yes_awaited", others)  # the question comes first
    _waits_for_the_user(parts)
    ask = Transition(
        dest=CONFIRMING,
        conditions=("yes_awaited", "can_say"),
        unless=(*BUSY, "question_asked", "turn_open", "turn_deferred"),
        actions=("ask_for_yes",),
    )
    for state in ("tool_running", CONFIRMING):
        parts.trigger(state, "question_due", (ask,))
    for state in ("thinking", "interrupted"):  # a step of which nothing was heard
        parts.trigger(state, "yes_said", (_YES,))
    for state in parts.file.states:
        _other_transcripts(parts, state)


def _waits_for_the_user(parts: Parts) -> None:
    """The state in which the user has the floor and the turn waits for their yes.

    It does what `tool_running` does, except that limits of tools do not count: no tool runs.
    """
    waits = parts.file.states["tool_running"]
    after = {
        name: waits.after[name] for name in ("report_after", "finish_limit") if name in waits.after
    }

    def here(row: Transition) -> Transition:
        dest = CONFIRMING if row.dest == "tool_running" else row.dest
        restarts = tuple(timer for timer in row.restarts if timer in after)
        return attrs.evolve(row, dest=dest, restarts=restarts)

    on = {trigger: tuple(map(here, rows)) for trigger, rows in waits.on.items()}
    on["yes_said"] = (attrs.evolve(_YES, dest="tool_running"),)
    settled = Transition(dest="tool_running", unless=("question_asked", "turn_deferred"))
    on["question_over"] = (settled,)
    on["application_interrupts"] = (Transition(conditions=("question_heard",)),)
    says = ("say_unconfirmed",) if "say_unconfirmed" in parts.file.actions else ()
    over = Transition(
        dest="tool_running",
        conditions=("question_asked",),
        unless=(*BUSY, "turn_deferred"),
        actions=("refuse_unconfirmed", *says),
    )
    asked = WrittenState(
        is_="The user was asked whether a tool may run, and has the floor.",
        on=on,
        after=after,
        refuses=waits.refuses,
        ignores=waits.ignores,
        in_=waits.in_,
        tuning=waits.tuning,
    )
    parts.state(CONFIRMING, asked)
    parts.timer(CONFIRMING, "confirm_wait", _LIMIT, (over, settled))
    if limit := waits.after.get("tool_limit"):
        parts.timer(CONFIRMING, "confirm_limit", NEVER, limit)
        seconds = max(_AT_MOST, 2 * parts.file.timers["confirm_wait"])
        parts.limit("confirm_limit", seconds)
    parts.fork("tool_running", "question_asked", CONFIRMING)


def _other_transcripts(parts: Parts, state: str) -> None:
    """Text that was answered, or typed, is not a yes: no call waits for one any more."""
    on = parts.file.states[state].on
    for trigger, rows in on.items():
        if any(_takes_transcript(row) for row in rows):
            ended = tuple(_ending(row) if _takes_transcript(row) else row for row in rows)
            parts.trigger(state, trigger, ended)
    if parts.file.states[state].final:
        return
    typed = on.get("user_typed", ()) or (Transition(),)
    parts.trigger(state, "user_typed", tuple(map(_ending, typed)))
    if _model_owns_turns(parts):
        parts.trigger(state, _OTHER, (_ending(Transition()),))


def _model_owns_turns(parts: Parts) -> bool:
    """No turn is committed to the flow, so only the messages tell what the user has said."""
    return parts.file.turn_detection == "realtime_llm"


def _takes_transcript(row: Transition) -> bool:
    return not {"answer_turn", "leave_turn"}.isdisjoint(row.actions)


def _ending(row: Transition) -> Transition:
    return attrs.evolve(row, actions=("end_questions", *row.actions))
