"""Finds the cause of the agent's silence at each moment."""

from __future__ import annotations

import attrs

from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    ComponentFailed,
    Entry,
    Note,
    ReplyAudio,
    ReplyText,
    SessionEvent,
    VoiceUnrecognised,
)
from turnfsm.fsm.verdicts import Refused

from .floor import HEARD
from .trouble import Trouble
from .values import AgentSilence, Cause, Part, Value

__all__ = ["QuietTimes"]

_MOST_PARTS = 512
"""The maximum number of parts of one silence; later ones are merged into the last part."""

_MOST_CALLS = 64

_KNOWN = ("listening", "thinking", "tool_running", "paused", "interrupted", HEARD)


@attrs.define
class _Open:
    """A part that has not ended.

    Attributes:
        voice: The utterance that it falls into; 0 if the user is silent.
        after: The utterance whose transcript, or end of turn, is not known yet; 0 if there is none.
        of: The component whose failures are mentioned; None if there is none.
    """

    start: float
    cause: Cause
    why: str
    voice: int = 0
    after: int = 0
    refused: tuple[tuple[str, str], ...] = ()
    of: Cause | None = None


class QuietTimes:
    """Divides the agent's silences into parts, each with its cause.

    Whether the user said something is known only later, with the transcript. So a silence is
    reported as a whole, when the agent is heard again.
    """

    def __init__(self) -> None:
        self._parts: list[tuple[_Open, float]] = []
        self._open: _Open | None = _Open(0.0, "nothing_asked", "no reply was requested")
        self._state = "listening"
        self._facts: tuple[str, ...] = ()
        self._heard = False
        self._user = False
        self._utterance = 0
        self._voices: dict[int, tuple[float, float]] = {}  # when each began and ended
        self._worded: dict[int, float] = {}  # when its first transcript arrived
        self._unrecognised: set[int] = set()
        self._in_a_row: list[set[int]] = []  # those without a transcript so far; one may be a noise
        self._any_words = False
        self._voice_at = 0.0
        self._undecided = 0  # the utterance after which no turn has been committed yet
        self._committed: set[int] = set()
        self._scheduled: float | None = None
        self._asked: float | None = None
        self._step: float | None = None
        self._to_say: float | None = None  # since when a reply is due
        self._speech = ""
        self._replies: dict[str, tuple[str, float]] = {}  # the output of each step, and its time
        self._held: str = ""
        self._refused: dict[str, tuple[str, str]] = {}  # the state, the sentence
        self._calls: dict[str, str] = {}
        self._released: dict[str, str] = {}
        self._trouble = Trouble()
        self._no_audio: float | None = None

    def entry(self, now: float, entry: Entry, out: list[Value]) -> None:
        """One trigger."""
        self._learn(now, entry)
        self._state, self._facts = entry.verdict.dest, entry.facts
        heard = self._state == HEARD
        if heard and not self._heard:
            self._heard = True
            self._trouble.works("llm", "tts")
            self._emit(now, out)
        elif not heard:
            self._heard = False
            self._turn_to(now, *self._cause())

    def note(self, now: float, note: Note, event: SessionEvent | None) -> None:
        """A note: running tools, and session events."""
        if event is not None:
            self._reported(now, event)
            if not self._heard:
                self._turn_to(now, *self._cause())
            return
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
            if not self._heard:
                self._turn_to(now, *self._cause())
        if note.kind == "tool_correction" and call in self._released:
            self._released[call] += f", which {note.data.get('by')} has replaced"

    def end(self, now: float, out: list[Value]) -> None:
        """The journal ends."""
        self._emit(now, out)

    # -- finding the cause

    def _reported(self, now: float, event: SessionEvent) -> None:
        match event:
            case ComponentFailed():
                self._trouble.failed(now, event)
            case ReplyText():
                self._trouble.works("llm")
                self._began(event.speech, "text", now)
            case ReplyAudio():
                self._trouble.works("llm", "tts")
                self._began(event.speech, "audio", now)
            case VoiceUnrecognised() if event.long:
                voices = self._voices.items()
                since = event.since - _ROUNDED
                self._in_a_row.append({n for n, (begun, _) in voices if begun >= since})
            case AudioStopped():
                self._no_audio = event.since
            case AudioResumed():
                self._no_audio = None

    def _began(self, speech: str, output: str, now: float) -> None:
        if len(self._replies) >= _MOST_CALLS:
            self._replies.pop(next(iter(self._replies)))
        self._replies[speech] = output, now

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
                self._voices[self._utterance] = now, now
                self._trouble.works("vad")
            case "user_stopped_speaking":
                self._user = False
                self._voices[self._utterance] = self._voice_at, now
            case "final_transcript":
                self._worded.setdefault(self._utterance, now)
                self._unrecognised = self._unrecognised_speech()
                self._in_a_row, self._any_words = [], True
                self._trouble.works("stt")
            case "turn_committed":
                self._committed.add(self._undecided)
                self._undecided, self._to_say = 0, None
                self._asked = now
                self._trouble.asked_again()
            case "turn_deferred" | "yes_said" | "hold_turn" | "ignore_turn":
                self._committed.add(self._undecided)
                self._undecided = 0
            case "endpointing_ended" | "turn_dropped":
                self._asked = None
                self._refused.pop("turn_committed", None)
            case "reply_requested":
                self._asked, self._scheduled = None, now
            case "next_reply":
                self._to_say = now
            case "step_started":
                self._scheduled, self._to_say, self._step = None, None, now
                self._speech = str(entry.of or "").rpartition("#")[0]
                self._trouble.works("llm", "tts")
                self._trouble.asked_again()
            case "playout_started":
                self._scheduled = None
            case "playout_finished":
                self._step = now
                self._replies.pop(self._speech, None)
            case "step_finished":
                self._step = None
                self._replies.pop(self._speech, None)
            case "tools_drained":
                self._scheduled = now

    def _cause(self) -> tuple[Cause, str]:
        state = self._state
        if state == "paused" or "output_held" in self._facts:
            held = "paused" if state == "paused" else "held before its first frame"
            by = f" by {self._held}" if self._held else ""
            voice = ", the user keeps speaking" if self._user else ""
            return "output_held", f"the output is {held}{by}{voice}"
        if self._user:
            return "user_has_the_floor", f"the user has been speaking since {self._voice_at:.2f} s"
        if state == "interrupted":
            return "winding_down", "the interrupted reply is ending"
        if self._refused:
            return "refused", "; ".join(why for _, why in self._refused.values())
        # an observed session may wait for the tools of the reply that it has interrupted
        if state == "tool_running" or (self._asked is not None and self._calls):
            calls = ", ".join(self._calls.values())
            return "tool_running", f"the turn waits for a tool: {calls or 'its name is unknown'}"
        if state == "confirming":
            return "user_has_the_floor", "the user was asked whether a tool may run"
        if state not in _KNOWN:
            return "own_state", f"the flow is in the state {state}"
        return self._of_reply(state)

    def _of_reply(self, state: str) -> tuple[Cause, str]:
        if self._step is not None and state == "thinking":
            output, at = self._replies.get(self._speech, ("", self._step))
            if output == "audio":
                return "output", f"the first audio came at {at:.2f} s, the output has not begun"
            if output == "text":
                return "tts", f"the first text came at {at:.2f} s, no audio has come"
            return "llm", f"the model was asked at {self._step:.2f} s, nothing has come"
        if self._asked is not None:
            why = f"the turn committed at {self._asked:.2f} s is in on_user_turn_completed"
            return "application", why
        if self._scheduled is not None or state == "thinking":
            since = "" if self._scheduled is None else f" since {self._scheduled:.2f} s"
            return "llm", f"a reply is due{since} and has not begun"
        if self._undecided and self._undecided in self._worded:
            return "endpointing", _UNDECIDED
        if self._undecided:
            return "stt", "the speech before it has no transcript"
        return self._of_nothing()

    def _of_nothing(self) -> tuple[Cause, str]:
        if self._trouble.lost is not None:
            return self._trouble.lost
        if self._no_audio is not None:
            return "no_audio", f"no audio of the user has come since {self._no_audio:.2f} s"
        if self._to_say is not None:
            why = (
                f"a pending answer or result of {self._to_say:.2f} s is in no request to the model"
            )
            return "nothing_asked", why
        background = ", ".join(self._released.values())
        aside = f"; in the background: {background}" if background else ""
        return "nothing_asked", f"no reply was requested{aside}"

    # -- the parts

    def _turn_to(self, now: float, cause: Cause, why: str) -> None:
        voice = self._utterance if self._user else 0
        after = self._undecided if cause in ("stt", "endpointing") else 0
        last = self._open
        if last is not None:
            if (last.why, last.cause, last.voice, last.after) == (why, cause, voice, after):
                return
            self._close(last, now)
        refused: tuple[tuple[str, str], ...] = ()
        if cause == "refused":
            refused = tuple((trigger, state) for trigger, (state, _) in self._refused.items())
        waits = cause in ("llm", "tts") and (cause, why) != self._trouble.lost
        of = cause if waits or after or voice else None
        self._open = _Open(now, cause, why, voice, after, refused, of)

    def _close(self, part: _Open, now: float) -> None:
        if now <= part.start:
            return
        if part.of is not None:
            part.why += self._trouble.of("stt" if part.voice or part.after else part.of)
        if len(self._parts) >= _MOST_PARTS:
            self._parts[-1] = (self._parts[-1][0], now)
        else:
            self._parts.append((part, now))

    def _emit(self, now: float, out: list[Value]) -> None:
        if self._open is not None:
            self._close(self._open, now)
        parts, self._parts, self._open = self._parts, [], None
        if parts:
            out.append(AgentSilence(tuple(self._part(part, end) for part, end in parts)))
        for times in (self._worded, self._voices):
            for utterance in [n for n in times if n != self._utterance]:
                del times[utterance]
        self._unrecognised &= {self._utterance}
        self._in_a_row = [voices & {self._utterance} for voices in self._in_a_row]
        self._committed.clear()

    def _unrecognised_speech(self) -> set[int]:
        """Utterances without a transcript that were probably not noise."""
        several = len(self._in_a_row) > 1 or not self._any_words
        return self._unrecognised.union(*self._in_a_row if several else ())

    def _part(self, part: _Open, end: float) -> Part:
        cause, why = part.cause, part.why
        worded, unheard = self._worded, self._unrecognised_speech()
        if part.voice:
            spoken = part.voice in worded or not (self._any_words or part.voice in unheard)
            if part.voice in unheard and not spoken:
                cause, why = "stt", f"{why}, and no transcript comes"
            return Part(part.start, end, cause, why, spoken, part.refused)
        if part.after in worded and cause == "stt":
            ended, came = self._voices[part.after][1], worded[part.after]
            why = f"the transcript of the speech that ended at {ended:.2f} s came at {came:.2f} s"
        elif part.after and part.after not in worded:
            if part.after in self._committed:
                cause, why = "endpointing", _UNDECIDED
            elif part.after not in unheard and _FAILED not in why:
                cause = "nothing_asked"
                why = "no reply was requested: the speech before it got no transcript"
        return Part(part.start, end, cause, why, False, part.refused)


_UNDECIDED = "it is not decided whether the user's turn has ended"

_FAILED = "the STT failed"

_ROUNDED = 0.002
"""Seconds; the times of a note are rounded."""

_LET_GO = ("tool_unblocked", "tool_turn_over", "tool_reported", "tool_correction")
"""The notes that say that a call continues without its turn."""

_MAY_WAIT = ("turn_committed", "reply", "start_playout")
"""Requests whose refusal keeps the agent silent."""
