"""Finds tool results that no request to the model contains, although a reply to them is due."""

from __future__ import annotations

import attrs

from turnfsm.fsm.audit.events import Recorded

from .rule import AT_ONCE, UNANSWERED

__all__ = ["Waited", "WaitingResults"]

_MOST = 64
"""The maximum number of calls, and of interrupted replies, that are remembered."""

_ANSWERS = ("speech_created", "playback_started", "metrics_collected", "error")
"""Events that end the wait of a result: a request, playout, or a failure."""


@attrs.frozen
class Waited:
    """Results that waited for a reply while nobody spoke.

    Attributes:
        since: When the first one came.
        silent: Seconds in which nobody spoke.
        until: What ended it, as a part of a sentence.
    """

    since: float
    silent: float
    until: str

    def __str__(self) -> str:
        return (
            f"the result that a tool gave at {self.since:.2f} s is in no request, and nothing is "
            f"heard for {self.silent:.1f} s, until {self.until}"
        )


class WaitingResults:
    """Reads the events of a session one by one.

    A result must be delivered if the tool returned a value, unless the application has cancelled
    the reply of an uninterrupted step. A recording that does not say whether a tool returned a
    value has no such results.
    """

    def __init__(self) -> None:
        self._speeches: list[str] = []  # those that are not done
        self._calls: dict[str, str] = {}  # the reply of each call
        self._interrupted: dict[str, str] = {}  # replies
        self._waiting: dict[str, float] = {}
        self._user = self._agent = False
        self._silences: list[tuple[float, float]] = []  # since the first one waits
        self._now = 0.0

    @property
    def open(self) -> bool:
        """A result waits."""
        return bool(self._waiting)

    @property
    def free(self) -> bool:
        """Nobody speaks."""
        return not (self._user or self._agent)

    @property
    def orphaned(self) -> bool:
        """A result waits whose reply was interrupted, so no reply to it comes by itself."""
        return any(map(self.interrupted, self._waiting))

    def interrupted(self, call: str) -> bool:
        """Whether the reply that made a call was interrupted, as far as is known."""
        return self._calls.get(call) in self._interrupted

    def process(self, event: Recorded) -> Waited | None:
        """Read the next event.

        Returns:
            How long results have waited, if this event ends their wait and it was too long.
        """
        self._go_to(event.t)
        waited = None
        if event.name == "close":
            waited = self._ended(event.t, "the session closes")
        elif event.name in _ANSWERS:
            took = event.fields.get("duration")
            requested = event.t - (took if isinstance(took, int | float) else 0.0)
            if any(requested >= since - AT_ONCE for since in self._waiting.values()):
                waited = self._ended(requested, "the next request")
        self._learn(event)
        return waited

    def end(self, t: float) -> Waited | None:
        """The recording ends without a close."""
        self._go_to(t)
        return self._ended(t, "the recording ends")

    def _go_to(self, t: float) -> None:
        if self.open and self.free:
            if self._silences and self._silences[-1][1] == self._now:
                self._silences[-1] = self._silences[-1][0], t
            else:
                self._silences.append((self._now, t))
        self._now = t

    def _ended(self, t: float, until: str) -> Waited | None:
        if not self._waiting:
            return None
        silent = sum(max(0.0, min(end, t) - start) for start, end in self._silences)
        waited = Waited(min(self._waiting.values()), silent, until)
        self._waiting.clear()
        self._silences.clear()
        return waited if silent > UNANSWERED else None

    def _learn(self, event: Recorded) -> None:
        speech, call = event.text("speech"), event.text("call")
        match event.name:
            case "user_state_changed":
                self._user = event.text("new") == "speaking"
            case "playback_started" | "playback_finished":
                self._agent = event.name == "playback_started"
            case "speech_created":
                self._speeches.append(speech)
            case "speech_interrupted":
                _remember(self._interrupted, speech)
            case "speech_done" if speech in self._speeches:
                self._speeches.remove(speech)
                if event.fields.get("interrupted"):
                    _remember(self._interrupted, speech)
            case "tool_execution_updated" if event.text("update") == "started":
                _remember(self._calls, call, (self._speeches or [""])[-1])
            case "tool_execution_updated" if event.text("update") == "ended":
                if event.fields.get("result") is True and event.text("status") == "done":
                    self._waiting[call] = event.t
            case "function_tools_executed" if not event.fields.get("reply"):
                for done in event.calls():
                    if not self.interrupted(done):
                        self._waiting.pop(done, None)


def _remember(entries: dict[str, str], key: str, value: str = "") -> None:
    if len(entries) >= _MOST:
        entries.pop(next(iter(entries)))
    entries[key] = value
