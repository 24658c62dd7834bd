"""One run of the conversation, and its recordings."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from attrs import define, field
from livekit.agents import llm

from .llm import RuleLLM
from .parts import Stack
from .prompter import Prompter
from .recorder import Recorder, Scribe
from .script import Cue, Line, When

__all__ = ["QUIET", "Take", "converse"]

QUIET = Cue(When.QUIET, 1.0)
"""The end of a conversation."""

_MAX_WAIT = 30.0  # seconds of conversation within which the situation for a line occurs


@define
class Take:
    """The recordings of a conversation. They are filled while it runs, so that an interrupted run
    has them."""

    recorder: Recorder
    model: RuleLLM | None = None
    never_posted: Collection[str] = ()  # triggers that this host has no occasion for
    history: Sequence[Any] = ()
    position: int = 0
    stopped: str = ""  # why it did not finish
    transcribed: list[str] | None = None  # None: there was no audio
    log: list[str] = field(factory=list)

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """The journal, in conversation time."""
        return self.recorder.records

    @property
    def end(self) -> float:
        """The time of the last record."""
        return max((float(record.get("t", 0.0)) for record in self.records), default=0.0)

    @property
    def committed(self) -> list[Mapping[str, Any]]:
        """The records of the user's turns that were committed."""
        return [
            record
            for record in self.records
            if record.get("trigger") == "turn_committed" and record["verdict"] == "taken"
        ]

    def notes(self, kind: str) -> list[Mapping[str, Any]]:
        """The notes of one kind."""
        return [record for record in self.records if record.get("note") == kind]

    def messages(self, role: str) -> list[str]:
        """The messages of the user or the assistant in the history."""
        return [
            item.text_content or ""
            for item in self.history
            if isinstance(item, llm.ChatMessage) and item.role == role
        ]


async def converse(
    lines: Iterable[Line],
    stack: Stack,
    scribe: Scribe,
    prompter: Prompter,
    *,
    max_wait: float = _MAX_WAIT,
) -> None:
    """Play the lines of the user, each when it is due, and wait until the agent is quiet.

    Raises:
        TimeoutError: The situation for a line does not come within `max_wait` seconds.
    """
    for line in lines:
        await prompter.wait_for(line.cue, max_wait=max_wait)
        scribe.line(line)
        start = stack.pace.now()
        prompter.speaks(line)
        end = await stack.say(line)
        scribe.spoken(line, start, end)
    await prompter.wait_for(QUIET, max_wait=max_wait)
