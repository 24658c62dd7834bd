"""The classes of failure that voice agents are reported for, in a sentence each."""

from __future__ import annotations

import attrs

__all__ = ["CLASSES", "FailureClass"]


@attrs.frozen
class FailureClass:
    """What a group of failures has in common, and what makes it impossible here."""

    letter: str
    title: str
    is_: str
    cure: str


CLASSES: tuple[FailureClass, ...] = (
    FailureClass(
        "A",
        "A speculation meets a tool",
        "A reply is prepared before the turn is committed although a tool call is still running: "
        "the request is wasted, or the user hears two replies.",
        "`preemptive_generation` is refused in every state but `listening`.",
    ),
    FailureClass(
        "B",
        "A pause outlives its step",
        "Noise pauses or resumes a step of which nothing was ever heard.",
        "`paused` is entered from `speaking` only; a step's facts are forgotten when it ends.",
    ),
    FailureClass(
        "C",
        "Tool results lost, repeated or out of place",
        "After an interruption the model is asked without the call, without its result, or with "
        "something in between, and makes the call again.",
        "No request is made while a result is uncommitted, and each call ends exactly once.",
    ),
    FailureClass(
        "D",
        "An interruption meets a tool",
        "The agent is deaf until the tool ends, the result is never spoken, or the side effect "
        "that the user stopped happens all the same.",
        "A committed turn releases the calls at once, their results are owed, and a wait inside "
        "a tool ends with the interruption.",
    ),
    FailureClass(
        "E",
        "Waiting for what cannot come",
        "The agent stays mute, or a run fails or ends early, because somebody waits for a report "
        "that never comes or does not wait for one that does.",
        "Every state that waits has a timer of its own, and `turnfsm check` proves it.",
    ),
    FailureClass(
        "F",
        "A turn of the user is lost",
        "What the user said gets no reply and is in no history, or is answered much later.",
        "A committed turn is replied, kept, superseded or dropped with a reason; no commit is "
        "cancelled.",
    ),
    FailureClass(
        "G",
        "The record is not what was heard",
        "The conversation holds words that nobody heard, or lacks words that somebody did.",
        "What a step said is committed when it ends, as far as it was heard.",
    ),
    FailureClass(
        "H",
        "The agent state lies",
        "The agent's published state is not what the user hears.",
        "The agent state follows the state of the flow; `speaking` is entered by playout only.",
    ),
)
"""In the order of their letters."""
