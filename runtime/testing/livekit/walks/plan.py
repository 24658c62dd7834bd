"""Plans the stage of a path, as its components cannot be changed later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import attrs

from turnfsm.fsm import Flow
from turnfsm.fsm.cover import CoveringPath, PathStep
from turnfsm.fsm.flow import Policy

__all__ = ["Kind", "Plan"]

Kind = Literal["say", "brief", "think", "silent", "work", "work aloud"]
"""The kinds of steps: speak long, briefly or after a while, say nothing, call the tool, or speak
and call it."""

MODEL = {"start_playout", "playout_started", "tool_started", "step_finished", "step_progressed"}
FAR = 80_000.0
LIMIT = 10.0
"""The limit for a step that makes progress, which is checked every tenth of it."""
DECISION = 4.0
SETTLED = 4
"""Words that count as an interruption where the end of the user's turn is decided."""


@attrs.frozen
class Plan:
    """The stage for one path."""

    flow: Flow
    path: CoveringPath

    def happens(self, *triggers: str) -> bool:
        """Whether one of these triggers is in the path."""
        return any(step.trigger in triggers for step in self.path.steps)

    def answers(self, fact: str) -> set[bool]:
        """The host's answers about a fact on the path."""
        return {step.host_facts[fact] for step in self.path.steps if fact in step.host_facts}

    @property
    def pausable(self) -> bool:
        return False not in self.answers("pausable")

    @property
    def text_only(self) -> bool:
        """Whether a step is heard that never asked for playout, or has no first frame."""
        unasked = self.happens("playout_started") and not self.happens("start_playout")
        return unasked or False in self.answers("holdable")

    @property
    def lingers(self) -> bool:
        """The output does not report its end.

        Then an interrupted step does not end by itself, and counts as playing until the limit.
        """
        if self.happens("speaking_limit"):
            return True
        late = {"settle", "turn_committed", "speech_interrupted", "final_transcript"}
        return any(s == "interrupted" and step.trigger in late for s, step in self._sources())

    @property
    def policy(self) -> Policy:
        """What an interruption does to the tool call."""
        rows = {step.row for step in self.path.steps}
        if "tool_running.finish_limit.0" in rows:
            return "finish"
        return "hold" if True in self.answers("tools_held") else "detach"

    @property
    def stays_open(self) -> bool:
        """The agent's hook hangs, so that a turn has no reply when its time is up, or when another
        turn is committed."""
        rows = {step.row for step in self.path.steps}
        open_ = {"listening.turn_committed.1", "listening.report_after.0"} & rows
        return self.happens("turn_overdue") or bool(open_)

    @property
    def replies_to_tool(self) -> bool:
        """Another step answers the tool's result."""
        taken = {step.row for step in self.path.steps}
        return "thinking.step_started.0" in taken

    @property
    def timers(self) -> dict[str, float]:
        """The timers that fire have the order of the path; the others are out of reach."""
        timers = dict.fromkeys(self.flow.timers, FAR)
        if self.happens("step_progressed"):
            timers |= {"thinking_limit": LIMIT, "speaking_limit": LIMIT}
        return timers | dict(self.path.timers or {})

    def none_due(self, at: int) -> bool:
        """No transcript is awaited for the speech that ends here."""
        for step in self.path.steps[at + 1 :]:
            if step.trigger in ("user_started_speaking", "final_transcript", "endpointing_ended"):
                return False
            if "endpointing" in step.host_facts:
                return not step.host_facts["endpointing"]
        return False

    @property
    def _settles(self) -> bool:
        """Endpointing ends without a turn."""
        return self.happens("endpointing_ended") and self.happens("final_transcript")

    @property
    def turn_handling(self) -> dict[str, Any]:
        """LiveKit's options for interruptions and endpointing."""
        delay = DECISION if self._settles else FAR
        words = SETTLED if self._settles else 0
        return {
            "endpointing": {"min_delay": delay, "max_delay": delay},
            "interruption": {"discard_audio_if_uninterruptible": False, "min_words": words},
            "preemptive_generation": {"enabled": self.happens("preemptive_generation")},
        }

    @property
    def words(self) -> int:
        """The largest number of words that a state requires."""
        return max(state.tuning.min_words or 0 for state in self.flow.states.values())

    @property
    def words_that_interrupt(self) -> int:
        """How many words make a sound an interruption; 0: words are not counted."""
        return max(self.words, SETTLED if self._settles else 0)

    def kind(self, at: int) -> Kind:
        """The kind of the step that starts here, as required by the path up to the next one."""
        triggers = [step.trigger for step in self._until_next(at)]
        aloud = "start_playout" in triggers or "playout_started" in triggers
        if "tool_started" in triggers:
            return "work aloud" if aloud else "work"
        if "start_playout" in triggers[1:] or triggers[:1] == ["step_progressed"]:
            return "think"
        if {"playout_finished", "speaking_limit"} & {*triggers} or (self.text_only and aloud):
            return "brief"
        ends = "step_finished" in triggers and "step_interrupted" not in triggers
        return "silent" if ends else "say"

    def waits(self, at: int) -> bool:
        """Something comes before the model's answer to the step that starts here."""
        triggers = [step.trigger for step in self._until_next(at)]
        return bool(triggers) and triggers[0] not in MODEL

    def interruptible(self, at: int) -> bool:
        """Whether the step that starts here may be interrupted."""
        return not any(s.host_facts.get("interruptible") is False for s in self._until_next(at))

    def _until_next(self, at: int) -> Iterator[PathStep]:
        for step in self.path.steps[at + 1 :]:
            if step.trigger == "step_started":
                return
            yield step

    def _sources(self) -> Iterator[tuple[str, PathStep]]:
        state = self.flow.initial
        for step in self.path.steps:
            yield state, step
            state = step.state
