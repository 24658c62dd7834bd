"""Combines a recording's events: who spoke when, and which speeches and calls there were."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from .events import Recorded, Recording

__all__ = ["Call", "Facts", "Span", "Speech", "facts_of"]


@attrs.frozen
class Span:
    """A span of time. If it is open, `end` is the end of the recording.

    Attributes:
        interrupted: Playout was interrupted.
        open: It has no end in the recording.
    """

    start: float
    end: float
    interrupted: bool = False
    open: bool = False

    def holds(self, t: float) -> bool:
        """Whether a moment is inside the span."""
        return self.start <= t <= self.end


@attrs.define
class Speech:
    """A reply, or a text of the application.

    Attributes:
        interruptible: It may be interrupted; False if the recording does not say so.
        requests: When its requests to the model began; empty if none is reported.
    """

    id: str
    created: float
    interruptible: bool = False
    interrupted_at: float | None = None
    done: float | None = None
    interrupted: bool = False
    requests: list[float] = attrs.field(factory=list)


@attrs.define
class Call:
    """A tool call.

    Attributes:
        arguments: A hash of each argument, by its name; empty if the recording does not say it.
        committed: When its result was added to the conversation.
    """

    id: str
    started: float
    name: str = ""
    arguments: Mapping[str, str] = attrs.field(factory=dict)
    ended: float | None = None
    status: str = ""
    committed: float | None = None

    def differs_from(self, other: Call) -> bool:
        """Both are calls of one tool, with at least one equal argument and one different one."""
        own, others = self.arguments.items(), other.arguments.items()
        return self.name == other.name != "" and bool(own & others) and own != others

    def runs_at(self, t: float) -> bool:
        """Whether its tool is running at this time."""
        return self.started <= t and (self.ended is None or t < self.ended)


@attrs.frozen
class Facts:
    """Everything in a recording, in chronological order. `transcripts` has the times of those of
    the user."""

    user: tuple[Span, ...]
    heard: tuple[Span, ...]
    agent_states: tuple[tuple[float, str], ...]
    speeches: tuple[Speech, ...]
    calls: tuple[Call, ...]
    transcripts: tuple[float, ...]
    recording: Recording

    def transcribed(self, user: Span, late: float) -> bool:
        """Whether a transcript came during this speech, or so many seconds after it."""
        return any(user.start <= t <= user.end + late for t in self.transcripts)

    def state_at(self, t: float) -> str:
        """The agent state that was published."""
        states = [state for at, state in self.agent_states if at <= t]
        return states[-1] if states else "initializing"

    def heard_at(self, t: float) -> Span | None:
        """The span of the agent's audio that contains a moment."""
        return next((span for span in self.heard if span.holds(t)), None)


def facts_of(recording: Recording) -> Facts:
    """Combine the events of a recording."""
    states = tuple((e.t, e.text("new")) for e in recording.named("agent_state_changed"))
    spoken = recording.named("user_state_changed")
    played = recording.named("playback_started", "playback_finished")
    return Facts(
        user=tuple(_spans(spoken, lambda event: event.text("new") == "speaking", recording.end)),
        heard=tuple(_spans(played, lambda event: event.name == "playback_started", recording.end)),
        agent_states=states,
        speeches=tuple(_speeches(recording)),
        calls=tuple(_calls(recording)),
        transcripts=tuple(event.t for event in recording.named("user_input_transcribed")),
        recording=recording,
    )


def _spans(
    events: Iterable[Recorded],
    begins: Callable[[Recorded], bool],
    end: float,
) -> Iterator[Span]:
    since: float | None = None
    for event in events:
        if begins(event):
            since = event.t if since is None else since
        elif since is not None:
            yield Span(since, event.t, bool(event.fields.get("interrupted")))
            since = None
    if since is not None:
        yield Span(since, end, open=True)


def _speeches(recording: Recording) -> Iterable[Speech]:
    speeches: dict[str, Speech] = {}
    for event in recording.events:
        id = event.text("speech")
        if event.name == "speech_created":
            speeches[id] = Speech(id, event.t, event.fields.get("interruptible") is True)
        elif id not in speeches:
            continue
        elif event.name == "interruptions_disallowed":
            speeches[id].interruptible = False
        elif event.name == "speech_interrupted":
            speeches[id].interrupted_at = event.t
        elif event.name == "speech_done":
            speeches[id].done = event.t
            speeches[id].interrupted = bool(event.fields.get("interrupted"))
        elif event.name == "metrics_collected":
            took = event.fields.get("duration")
            if isinstance(took, int | float):
                speeches[id].requests.append(event.t - took)
    return speeches.values()


def _calls(recording: Recording) -> Iterable[Call]:
    calls: dict[str, Call] = {}
    done: list[Call] = []
    for event in recording.events:
        id = event.text("call")
        if event.name == "tool_execution_updated" and event.text("update") == "started":
            if id in calls:
                done.append(calls.pop(id))
            given = event.fields.get("arguments")
            arguments = given if isinstance(given, Mapping) else {}
            calls[id] = Call(id, event.t, event.text("name"), arguments)
        elif event.name == "tool_execution_updated" and event.text("update") == "ended":
            if id in calls and calls[id].ended is None:
                calls[id].ended, calls[id].status = event.t, event.text("status")
        elif event.name == "function_tools_executed":
            for call in event.calls():
                if call in calls:
                    calls[call].committed = event.t
    return [*done, *calls.values()]
