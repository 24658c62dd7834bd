"""Measures speech, overlaps and interruptions."""

from __future__ import annotations

from turnfsm.fsm.journal import Entry

from .values import Blip, InterruptedSpeech, Interruption, Overlap, Value

__all__ = ["BLIP", "HEARD", "YIELD", "FloorTimes"]

HEARD = "speaking"
"""The state in which the agent is audible."""

BLIP = 0.7
"""Seconds. Interrupted audio that is shorter means nothing to the user."""

YIELD = 2.0
"""Seconds after which an agent that still speaks has talked through an interruption."""

_BY_USER = ("turn_committed", "final_transcript", "barge_in")


class FloorTimes:
    """Measures overlaps and interruptions. Needs no notes."""

    def __init__(self) -> None:
        self._heard_since: float | None = None
        self._heard_before = 0.0  # of this segment, before the interruption
        self._user = False
        self._overlap: tuple[float, str] | None = None
        self._interrupting: float | None = None  # the user started here, over the agent
        self._stopped: float | None = None  # interrupted here, and not resumed so far
        self._transcribed = False

    def entry(self, now: float, entry: Entry, out: list[Value]) -> None:
        """One trigger."""
        verdict = entry.verdict
        heard = verdict.dest == HEARD
        if verdict:
            self._user_moves(now, entry.trigger, out)
        if heard and self._heard_since is None:
            self._begins(now, out)
        elif not heard and self._heard_since is not None:
            self._stops(now, entry, out)
        elif self._stopped is not None and verdict.dest not in (HEARD, "paused"):
            self._given_up(now, entry.trigger, out)

    def end(self, now: float, out: list[Value]) -> None:
        """The journal ends."""
        self._overlap_ends(now, out)
        if self._stopped is not None:
            self._given_up(now, "", out)
        elif self._interrupting is not None:
            out.append(Interruption(self._interrupting, "talked_through"))

    def _user_moves(self, now: float, trigger: str, out: list[Value]) -> None:
        if trigger == "user_started_speaking" and not self._user:
            self._user, self._transcribed = True, False
            if self._heard_since is not None:
                if self._interrupting is not None:
                    out.append(Interruption(self._interrupting, "talked_through"))
                self._interrupting = now
                self._overlap = (now, "user")
        elif trigger == "user_stopped_speaking" and self._user:
            self._user = False
            self._overlap_ends(now, out)
        elif trigger == "final_transcript":
            self._transcribed = True

    def _begins(self, now: float, out: list[Value]) -> None:
        self._heard_since = now
        if self._stopped is None:
            self._heard_before = 0.0
        else:
            out.append(InterruptedSpeech(self._stopped, "resumed"))
            if self._interrupting is not None:
                out.append(Interruption(self._interrupting, "resumed", self._stopped))
            self._stopped = self._interrupting = None
        if self._user:
            self._overlap = (now, "agent")

    def _stops(self, now: float, entry: Entry, out: list[Value]) -> None:
        assert self._heard_since is not None
        self._heard_before += now - self._heard_since
        self._heard_since = None
        self._overlap_ends(now, out)
        dest = entry.verdict.dest
        if dest in ("paused", "interrupted"):
            self._stopped = now
            if dest == "interrupted":
                self._given_up(now, entry.trigger, out, paused=False)
            return
        if self._interrupting is not None:
            at_once = self._user and now - self._interrupting < YIELD
            out.append(Interruption(self._interrupting, "ended" if at_once else "talked_through"))
            self._interrupting = None

    def _given_up(self, now: float, trigger: str, out: list[Value], paused: bool = True) -> None:
        """The interrupted speech does not resume; the application may have interrupted it."""
        assert self._stopped is not None
        if self._transcribed or trigger in _BY_USER:
            out.append(InterruptedSpeech(self._stopped, "interrupted"))
        elif paused:
            out.append(InterruptedSpeech(self._stopped, "given_up"))
        if self._interrupting is not None:
            out.append(Interruption(self._interrupting, "interrupted", self._stopped))
        if trigger and self._heard_before < BLIP:
            out.append(Blip(now, self._heard_before, trigger))
        self._stopped = self._interrupting = None

    def _overlap_ends(self, now: float, out: list[Value]) -> None:
        if self._overlap is not None:
            at, by = self._overlap
            self._overlap = None
            out.append(Overlap(at, now - at, "user" if by == "user" else "agent"))
