"""The conversation of the demo: the user's lines, when each is due, and the model's replies."""

from collections.abc import Mapping
from enum import StrEnum
from importlib.resources import files
from typing import Any

import yaml
from attrs import frozen

from .llm import Rule

__all__ = [
    "CALLS",
    "CONTENT",
    "CONVERSATION",
    "FALLBACK",
    "IGNORED",
    "RULES",
    "SOUNDS",
    "Cue",
    "Line",
    "When",
]


class When(StrEnum):
    """The situation that a line waits for. It must last for the seconds of the cue."""

    QUIET = "quiet"  # the agent has answered and listens, no tool runs, no audio plays
    SPEAKING = "speaking"  # the agent is heard; a pause restarts the count
    SILENT_STEP = "silent_step"  # the model is generating, no tool runs, no audio plays
    SILENT_TOOL = "silent_tool"  # the preamble was heard, its tool runs, no audio plays


@frozen
class Cue:
    """When a line is spoken."""

    when: When
    seconds: float  # of conversation


@frozen
class Line:
    """Something that the user says, or a noise."""

    name: str
    text: str
    cue: Cue
    recorded: str = ""  # the recording; without one the line is synthesised
    ignored: bool = False  # there is no turn


SOUNDS = ("um", "uh", "hm", "hmm", "mm", "mmm", "ah", "ha", "ha ha", "haha")
"""What an STT makes of a laugh."""

IGNORED = (
    *("oh i see", "i see", "right", "yeah", "uh huh", "mm hmm", "mmhmm"),
    *SOUNDS,
)
"""Backchannels, and what an STT makes of a laugh."""

CONTENT: Mapping[str, Any] = yaml.safe_load(
    files(__package__).joinpath("conversation.yaml").read_text("utf-8")
)
"""The file `conversation.yaml`."""


def _line(name: str, when: str, seconds: float, **more: Any) -> Line:
    return Line(name, cue=Cue(When(when), seconds), **more)


CONVERSATION = tuple(_line(name, **given) for name, given in CONTENT["lines"].items())

RULES = tuple(Rule(**rule) for rule in CONTENT["rules"])

CALLS = tuple((rule.tool, rule.arguments) for rule in RULES if rule.tool)
"""The tool calls of the whole conversation, in their order."""

FALLBACK = "Sorry, I did not understand that."
