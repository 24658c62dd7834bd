"""The observations of a stage, with times in seconds from its start."""

from __future__ import annotations

import attrs

from turnfsm.runtime.testing.heard import Heard, TimelineEntry

from .parts import BREAK, Messages

__all__ = ["Outcome", "Request", "ToolRun"]


@attrs.frozen
class Request:
    """A request to the model: its time and messages."""

    at: float
    messages: Messages


@attrs.define
class ToolRun:
    """A call of a tool.

    Attributes:
        id: The id of the call.
        name: The tool.
        start: When its handler began.
        effect: When its side effect happened; None if it did not.
        end: When it ended; None if it had not ended with the stage.
        cancelled: It was cancelled.
    """

    id: str
    name: str
    start: float
    effect: float | None = None
    end: float | None = None
    cancelled: bool = False


@attrs.frozen
class Outcome:
    """The observations of a conversation.

    Attributes:
        words: Each word that the user heard. The rest of a paused word has no text.
        voice: When the user spoke or made a noise; `text` is the transcript.
        requests: The requests that the model got.
        tools: The calls whose handlers began.
        context: The conversation at the end.
        errors: The errors of the pipeline.
        notes: The timeline.
        orphans: The names of tasks that outlived the pipeline.
        backchannels: The words of the agent's backchannels that the user heard.
    """

    words: tuple[Heard, ...]
    voice: tuple[Heard, ...]
    requests: tuple[Request, ...]
    tools: tuple[ToolRun, ...]
    context: Messages
    errors: tuple[str, ...]
    notes: tuple[TimelineEntry, ...]
    orphans: tuple[str, ...]
    backchannels: tuple[Heard, ...] = ()

    @property
    def heard(self) -> tuple[Heard, ...]:
        """What the user heard, in spans without a break."""
        joined: list[Heard] = []
        for word in self.words:
            if joined and word.start - joined[-1].end < BREAK:
                before = joined.pop()
                word = Heard(before.start, word.end, f"{before.text} {word.text}".strip())
            joined.append(word)
        return tuple(joined)

    @property
    def text(self) -> str:
        """All text that was heard."""
        return " ".join(word.text for word in self.words if word.text)

    def saying(self, text: str) -> tuple[Heard, ...]:
        """Each time that the user heard these words in sequence, perhaps with a pause."""
        sought = text.split()
        words = [word for word in self.words if word.text]
        found = []
        for place in range(len(words) - len(sought) + 1):
            part = words[place : place + len(sought)]
            if [word.text for word in part] == sought:
                found.append(Heard(part[0].start, part[-1].end, text))
        return tuple(found)

    def timeline(self) -> str:
        """The timeline as text, for a failing test."""
        spoken = [TimelineEntry(h.start, "agent", f"is heard: {h.text!r}") for h in self.heard]
        spoken += [TimelineEntry(h.start, "beside", f"{h.text!r}") for h in self.backchannels]
        return "\n".join(map(str, sorted([*self.notes, *spoken], key=lambda note: note.at)))
