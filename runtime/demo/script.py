"""The conversation of the demo, as data: the user's lines, when each is due, and the model's
replies."""

from enum import StrEnum

from attrs import frozen

from .llm import Rule

__all__ = ["CALLS", "CONVERSATION", "FALLBACK", "IGNORED", "RULES", "SOUNDS", "Cue", "Line", "When"]


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
    shows: str
    recorded: str = ""  # the recording; without one the line is synthesised
    ignored: bool = False  # the STT reports no transcript, so there is no turn


SOUNDS = ("um", "uh", "hm", "hmm", "mm", "mmm", "ah", "ha", "ha ha", "haha")
"""What an STT makes of a laugh."""

IGNORED = (
    *("oh i see", "i see", "right", "yeah", "uh huh", "mm hmm", "mmhmm"),
    *SOUNDS,
)
"""Backchannels, and what an STT makes of a laugh."""

CONVERSATION = (
    Line(
        name="command",
        text="Go forward ten meters.",
        recorded="go_forward",
        cue=Cue(When.QUIET, 0.5),
        shows="A command is carried out by a tool, with a spoken preamble.",
    ),
    Line(
        name="errand",
        text="Two nine three four zero.",
        recorded="parcel_number",
        cue=Cue(When.QUIET, 0.8),
        shows="A longer tool call, so that the next line comes while it runs.",
    ),
    Line(
        name="interjection",
        text="Is it heavy?",
        cue=Cue(When.SILENT_TOOL, 0.5),
        shows="The user speaks while a tool runs: no speculative reply before the turn ends.",
    ),
    Line(
        name="question",
        text="Go somewhere and do something.",
        recorded="go_somewhere",
        cue=Cue(When.QUIET, 0.8),
        shows="A long answer, so that the next two lines come during its playout.",
    ),
    Line(
        name="backchannel",
        text="Oh, I see.",
        cue=Cue(When.SPEAKING, 1.5),
        ignored=True,
        shows="A backchannel: the agent pauses, then resumes.",
    ),
    Line(
        name="barge_in",
        text="Stop, please stop now.",
        cue=Cue(When.SPEAKING, 2.0),
        shows="A barge-in: the rest of the answer is not played.",
    ),
    Line(
        name="silent_command",
        text="Please come back now.",
        cue=Cue(When.QUIET, 0.8),
        shows="The model thinks, then calls a tool without a preamble: a silent step.",
    ),
    Line(
        name="noise",
        text="Haha.",
        cue=Cue(When.SILENT_STEP, 0.3),
        ignored=True,
        shows="A laugh, which the VAD takes for speech, during a silent step: nothing happens.",
    ),
)

RULES = (
    Rule(
        heard=r"\bforward ten meters\b",
        say="Going forward ten meters.",
        tool="drive",
        arguments={"meters": 10},
    ),
    Rule(
        heard=r"\btwo nine three four zero\b",
        say="Let me look for that parcel.",
        tool="find_parcel",
        arguments={"number": "two nine three four zero"},
    ),
    Rule(heard=r"\bheavy\b", say="I will know when I have found it."),
    Rule(
        heard=r"\bdo something\b",
        say="I need a clearer order than that. I can drive forward, and I can come back. "
        "I can also look for a parcel, if you tell me the number. "
        "And when there is nothing to do, I wait at the dock and charge my battery.",
    ),
    Rule(heard=r"\bstop\b", say="Okay, I will stop talking."),
    Rule(heard=r"\bcome back\b", thinks=2.5, tool="drive", arguments={"meters": -10}),
)

CALLS = tuple((rule.tool, rule.arguments) for rule in RULES if rule.tool)
"""The tool calls of the whole conversation, in their order."""

FALLBACK = "Sorry, I did not understand that."
