"""Why the agent is not heard, at each moment."""

from __future__ import annotations

import attrs

from turnfsm.fsm.journal import Entry, Note
from turnfsm.fsm.verdicts import Refused

from .floor import HEARD
from .values import Cause, Part, Quiet, Value

__all__ = ["QuietTimes"]

_MOST_PARTS = 512
"""The most parts of one silence that are kept; later ones are merged into the part before."""

_MOST_CALLS = 64

_KNOWN = ("listening", "thinking", "tool_running", "paused", "interrupted", HEARD)


@attrs.define
class _Open:
    """A part that has not ended.

    Attributes:
        voice: The utterance that it falls into; 0 if the user is silent.
        after: The utterance whose words or end are still being decided; 0 if none is.
    """

    start: float
    cause: Cause
    why: str
    voice: int = 0
    after: int = 0
    refused: tuple[tuple[str, str], ...] = ()


class QuietTimes:
    """Divides the time in which the agent is not heard into parts, each with its cause.

    Whether a voice had words is known only later. So a silence is reported as a whole, when the
    agent is heard again.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[_Open, float]] = []
        self._open: _Open | None = _Open(0.0, "nothing_asked", "no reply was asked for")
        self._heard = False
        self._user = False
        self._utterance = 0
        self._worded: set[int] = set()
        self._any_words = False
        self._voice_at = 0.0
        self._undecided = 0  # the utterance after whose end no turn has been committed
        self._committed: set[int] = set()
        self._scheduled: float | None = None
        self._asked: float | None = None
        self._step: float | None = None
        self._playing: float | None = None
        self._held: str = ""
        self._refused: dict[str, tuple[str, str]] = {}  # the state, the sentence
        self._calls: dict[str, str] = {}
        self._released: dict[str, str] = {}

    def entry(self, now: float, entry: Entry, out: list[Value]) -> None:
        """One trigger."""
        self._learn(now, entry)
        heard = entry.verdict.dest == HEARD
        if heard and not self._heard:
            self._heard = True
            self._tell(now, out)
        elif not heard:
            self._heard = False
            self._turn_to(now, *self._cause(entry))

    def note(self, now: float, note: Note, out: list[Value]) -> None:
        """The names of the tools that run."""
        call, name = str(note.data.get("call")), str(note.data.get("name", "a tool"))
        if note.kind == "tool_started":
            self._calls[call] = f"{name} since {now:.2f} s"
            if len(self._calls) > _MOST_CALLS:
                self._calls.pop(next(iter(self._calls)))
        elif note.kind == "tool_ended":
            self._calls.pop(call, None)
            self._released.pop(call, None)
        elif note.kind in _LET_GO and call in self._calls:
            self._released[call] = self._calls.pop(call).partition(" since ")[0]
            if len(self._released) > _MOST_CALLS:
                self._released.pop(next(iter(self._released)))

    def end(self, now: float, out: list[Value]) -> None:
        """The journal ends."""
        self._tell(now, out)

    # -- what the causes are made of

    def _learn(self, now: float, entry: Entry) -> None:
        verdict, trigger = entry.verdict, entry.trigger
        if isinstance(verdict, Refused):
            if verdict.reason in ("guard", "refuses") and trigger in _MAY_WAIT:
                where = f"{trigger} was refused in {verdict.state} at {now:.2f} s"
                self._refused.setdefault(trigger, (verdict.state, f"{where}: {verdict.why}"))
            return
        self._refused.pop(trigger, None)
        if "hold_output" in verdict.actions or "pause_output" in verdict.actions:
            self._held = f"{trigger} at {now:.2f} s"
        match trigger:
            case "user_started_speaking":
                self._user, self._voice_at = True, now
                self._utterance += 1
                self._undecided = self._utterance
            case "user_stopped_speaking":
                self._user = False
            case "final_transcript":
                self._worded.add(self._utterance)
                self._any_words = True
            case "turn_committed":
                self._committed.add(self._undecided)
                self._undecided = 0
                self._asked = now
            case "turn_kept":
                self._committed.add(self._undecided)
                self._undecided = 0
            case "endpointing_ended" | "turn_dropped":
                self._asked = None
                self._refused.pop("turn_committed", None)
            case "turn_asked":
                self._asked, self._scheduled = None, now
            case "step_started":
                self._scheduled, self._step, self._playing = None, now, None
            case "start_playout" if "start_output" in verdict.actions:
                self._playing = now
            case "playout_finished":
                self._playing, self._step = None, now
            case "step_finished":
                self._step = self._playing = None
            case "tools_drained":
                self._scheduled = now

    def _cause(self, entry: Entry) -> tuple[Cause, str]:
        state, facts = entry.verdict.dest, entry.facts
        if state == "paused" or "output_held" in facts:
            what = "cut off" if state == "paused" else "held before its first frame"
            by = f" by {self._held}" if self._held else ""
            voice = ", the user's voice goes on" if self._user else ""
            return "output_held", f"the output is {what}{by}{voice}"
        if self._user:
            return "user_has_the_floor", f"the user speaks since {self._voice_at:.2f} s"
        if state == "interrupted":
            return "winding_down", "the interrupted reply is ending"
        if self._refused:
            return "refused", "; ".join(why for _, why in self._refused.values())
        if state == "tool_running":
            calls = ", ".join(self._calls.values())
            return "tool_running", f"the turn waits for a tool: {calls or 'its name is not kept'}"
        if state not in _KNOWN:
            return "own_state", f"the flow holds {state}"
        return self._of_reply(state)

    def _of_reply(self, state: str) -> tuple[Cause, str]:
        if self._playing is not None and state == "thinking":
            since = f"the reply may be heard since {self._playing:.2f} s"
            return "voice", f"{since}; voice or output has not begun"
        if self._step is not None and state == "thinking":
            return "model", f"model and voice were asked at {self._step:.2f} s, no audio has come"
        if self._asked is not None:
            why = f"the turn of {self._asked:.2f} s is in on_user_turn_completed"
            return "application", why
        if self._scheduled is not None or state == "thinking":
            since = "" if self._scheduled is None else f" since {self._scheduled:.2f} s"
            return "model", f"a reply is due{since} and has not begun"
        goes_on = ", ".join(self._released.values())
        aside = f"; in the background runs {goes_on}" if goes_on else ""
        return "nothing_asked", f"no reply was asked for{aside}"

    # -- the parts

    def _turn_to(self, now: float, cause: Cause, why: str) -> None:
        voice = self._utterance if self._user else 0
        after = self._undecided if cause == "nothing_asked" else 0
        last = self._open
        if last is not None:
            if (last.why, last.cause, last.voice, last.after) == (why, cause, voice, after):
                return
            self._close(last, now)
        refused: tuple[tuple[str, str], ...] = ()
        if cause == "refused":
            refused = tuple((trigger, state) for trigger, (state, _) in self._refused.items())
        self._open = _Open(now, cause, why, voice, after, refused)

    def _close(self, part: _Open, now: float) -> None:
        if now <= part.start:
            return
        if len(self._parts) >= _MOST_PARTS:
            self._parts[-1] = (self._parts[-1][0], now)
        else:
            self._parts.append((part, now))

    def _tell(self, now: float, out: list[Value]) -> None:
        if self._open is not None:
            self._close(self._open, now)
        parts, self._parts, self._open = self._parts, [], None
        if parts:
            out.append(Quiet(tuple(self._told(part, end) for part, end in parts)))
        self._worded &= {self._utterance}
        self._committed.clear()

    def _told(self, part: _Open, end: float) -> Part:
        spoken = bool(part.voice) and (not self._any_words or part.voice in self._worded)
        cause, why = part.cause, part.why
        if part.after:
            if part.after in self._worded or part.after in self._committed:
                cause, why = "endpointing", "it is not decided whether the user's turn has ended"
            else:
                why = "no reply was asked for: the voice before it gave no words"
        return Part(part.start, end, cause, why, spoken, part.refused)


_LET_GO = ("tool_unblocked", "tool_turn_over", "tool_reported")
"""The notes of a call that goes on and that no turn waits for."""

_MAY_WAIT = ("turn_committed", "reply", "start_playout")
"""The requests whose refusal keeps the agent silent until they are taken."""
