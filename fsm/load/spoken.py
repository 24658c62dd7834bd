"""What the sections `fillers` and `silence` are short for: timers, facts, actions, transitions.

They are added when a flow is loaded. So the proof, the diagram and the runtime know only these.
What the file itself declares comes first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import quoted
from turnfsm.fsm.flow import Action, Fact, Names, Seconds, Transition, Trigger
from turnfsm.fsm.source import Path, Source

from .written import HOST, Filler, FlowFile, WrittenState

__all__ = ["check_spoken", "with_spoken"]

_BUSY = ("user_speaking", "endpointing", "answer_coming")
_BY_WORDS = ("final_transcript", "turn_committed", "words_answered", "words_typed")
_COUNTED_FROM = ("user_stopped_speaking", "turn_asked", "turn_dropped", "words_typed")
_FILLER_END = Seconds(0.3)
_HANG_UP_AFTER = Seconds(1.0)

Rows = tuple[Transition, ...]


def check_spoken(file: FlowFile, source: Source) -> Iterator[Finding]:
    """What is wrong with the two sections, beside what is wrong with what they are short for."""
    for section, state in (("fillers", "tool_running"), ("silence", "listening")):
        if getattr(file, section) and state not in file.states:
            message = f"{section!r} needs the state {quoted(state)}"
            yield source.at_key((section,), message, "write 'extends: turn'", code="unknown-state")
    for index, one in enumerate(file.silence[:-1]):
        if one.hang_up:
            message = "nothing is said after the session was closed"
            where = (*_place("silence", index, source), "hang_up")
            remedy = "give 'hang_up' to the last one only"
            yield source.at_key(where, message, remedy, code="contradiction")


def with_spoken(file: FlowFile, source: Source) -> tuple[FlowFile, Mapping[Path, Path]]:
    """The file with what the two sections are short for, and where each part of that is written."""
    added = _Added(file, source)
    if file.fillers and "tool_running" in file.states:
        added.fillers()
    if file.silence and "listening" in file.states:
        added.silence()
    return added.file, added.places


@attrs.define
class _Added:
    """A file, and what is added to it."""

    file: FlowFile
    source: Source
    places: dict[Path, Path] = attrs.field(factory=dict)

    def fillers(self) -> None:
        section: Path = ("fillers",)
        self.fact(HOST, "can_say", Fact(is_="The agent can say something now."), section)
        fillers = self.file.fillers
        names = tuple(f"filler_{n}" for n, _ in enumerate(fillers, 1))
        for index, (name, filler) in enumerate(zip(names, fillers, strict=True)):
            here = _place("fillers", index, self.source)
            self.action(f"say_{name}", Action(say=filler.say), here)
            self.fact("turn", f"{name}_said", Fact(set_by=(name,)), here)
            conditions = ("can_say", *_said(_of_same_tools(names[:index], fillers, filler)))
            if filler.tools:
                self.fact(HOST, f"{name}_waits", Fact(tools=filler.tools), here)
                conditions = (f"{name}_waits", *conditions)
            later = zip(names[index + 1 :], fillers[index + 1 :], strict=True)
            row = Transition(
                conditions=conditions,
                unless=(f"{name}_said", *_BUSY, "turn_deferred"),
                actions=(f"say_{name}",),
                restarts=tuple(other for other, its in later if its.tools == filler.tools),
            )
            self.timer("tool_running", name, Seconds(filler.after), row, here)
        self.end_of_filler(section)

    def end_of_filler(self, section: Path) -> None:
        """A reply that has begun waits for a filler, at most for the timer `filler_end`."""
        ready = "A reply has begun, and waits for the end of what a section lets the agent say."
        self.event("reply_ready", Trigger(is_=ready, of="step"), section)
        self.fact("step", "reply_waits", Fact(set_by=("reply_ready",)), section)
        cut = Transition(dest="interrupted", actions=("force_interrupt",))
        unheard = attrs.evolve(cut, conditions=("step_running",), unless=("playout_started",))
        self.trigger("thinking", "reply_ready", (unheard,), section)
        self.trigger("speaking", "reply_ready", (Transition(restarts=("filler_end",)),), section)
        late = attrs.evolve(cut, conditions=("reply_waits",))
        self.timer("speaking", "filler_end", _FILLER_END, late, section)
        self.trigger("paused", "reply_ready", (cut,), section)

    def silence(self) -> None:
        section: Path = ("silence",)
        self.fact(HOST, "can_say", Fact(is_="The agent can say something now."), section)
        self.event("words_typed", Trigger(is_="The user has typed something."), section)
        prompts = self.file.silence
        names = tuple(f"silence_{n}" for n, _ in enumerate(prompts, 1))
        timers = (*names, "hang_up_after") if prompts[-1].hang_up else names
        for index, (name, prompt) in enumerate(zip(names, prompts, strict=True)):
            here = _place("silence", index, self.source)
            self.action(f"say_{name}", Action(say=prompt.say), here)
            said = Fact(set_by=(name,), cleared_by=_BY_WORDS)
            self.fact("session", f"{name}_said", said, here)
            row = Transition(
                conditions=("can_say", *_said(names[:index])),
                unless=(f"{name}_said", *_BUSY, "turn_open", "turn_deferred"),
                actions=(f"say_{name}",),
                restarts=timers[index + 1 :],
            )
            self.timer("listening", name, Seconds(prompt.after), row, here)
        if prompts[-1].hang_up:
            here = _place("silence", len(names) - 1, self.source)
            self.action("hang_up", Action(is_="Close the session."), here)
            row = Transition(
                conditions=("can_say", *_said(names)),
                unless=(*_BUSY, "turn_open", "turn_deferred"),
                actions=("hang_up",),
            )
            self.timer("listening", "hang_up_after", _HANG_UP_AFTER, row, here)
        for trigger in _COUNTED_FROM:
            rows = self.file.states["listening"].on.get(trigger, ())
            self.trigger("listening", trigger, _also_restarting(rows, timers), section)

    # -- one part each; what the file has itself stays

    def fact(self, scope: str, name: str, fact: Fact, place: Path) -> None:
        facts = self.file.facts
        if not any(name in known for known in facts.values()):
            facts = {**facts, scope: {**facts.get(scope, {}), name: fact}}
            self.file = attrs.evolve(self.file, facts=facts)
            self.places["facts", name] = place

    def action(self, name: str, action: Action, place: Path) -> None:
        if name not in self.file.actions:
            self.file = attrs.evolve(self.file, actions={**self.file.actions, name: action})
            self.places["actions", name] = place

    def event(self, name: str, event: Trigger, place: Path) -> None:
        if name not in self.file.events:
            self.file = attrs.evolve(self.file, events={**self.file.events, name: event})
            self.places["triggers", name] = place

    def timer(self, state: str, name: str, seconds: Seconds, row: Transition, place: Path) -> None:
        if name not in self.file.timers:
            self.file = attrs.evolve(self.file, timers={**self.file.timers, name: seconds})
            self.places["timers", name] = (*place, "after")
        body = self.file.states[state]
        if name not in body.after:
            self.places["states", state, "after", name] = place
            self._replace(state, attrs.evolve(body, after={**body.after, name: (row,)}))

    def trigger(self, state: str, name: str, rows: Rows, place: Path) -> None:
        """What a trigger does in a state from now on, if no variant has removed the state."""
        if (body := self.file.states.get(state)) is not None:
            if name not in body.on:
                self.places["states", state, "on", name] = place
            self._replace(state, attrs.evolve(body, on={**body.on, name: rows}))

    def _replace(self, state: str, body: WrittenState) -> None:
        self.file = attrs.evolve(self.file, states={**self.file.states, state: body})


def _said(names: Names) -> Names:
    """The last one of these was said."""
    return tuple(f"{name}_said" for name in names[-1:])


def _of_same_tools(names: Names, fillers: tuple[Filler, ...], filler: Filler) -> Names:
    """Those of the first fillers that are for the same tools."""
    pairs = zip(names, fillers, strict=False)
    return tuple(name for name, other in pairs if other.tools == filler.tools)


def _also_restarting(rows: Rows, timers: Names) -> Rows:
    """The same transitions; the silence is counted from this trigger on."""
    counted = tuple(
        row if row.dest else attrs.evolve(row, restarts=(*row.restarts, *timers)) for row in rows
    )
    if any(not (row.conditions or row.unless) for row in rows):
        return counted
    return (*counted, Transition(restarts=timers))


def _place(section: str, index: int, source: Source) -> Path:
    """Where a part of a section stands. A single one needs no list."""
    place: Path = (section, index)
    return place if source.written(place) else (section,)
