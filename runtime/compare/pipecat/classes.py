"""The classes of failure that are reported for Pipecat, in a sentence each."""

from __future__ import annotations

from turnfsm.runtime.compare.host import FailureClass

__all__ = ["CLASSES"]

CLASSES: tuple[FailureClass, ...] = (
    FailureClass(
        "N",
        "Noise ends what the agent does",
        "A cough, a door, a voice in the room: the VAD hears it, the STT recognises nothing. The "
        "answer is gone, or the tool is cancelled.",
        "a voice pauses the answer or keeps it back; only words end it.",
    ),
    FailureClass(
        "T",
        "A tool is cancelled, or has its effect twice",
        "An interruption cancels the call, perhaps after its effect. The model makes it again.",
        "a call goes on, unless its policy says otherwise; each call ends exactly once.",
    ),
    FailureClass(
        "C",
        "Tool results lost, repeated or out of place",
        "A request to the model lacks the call, its result, or what was said before it; or the "
        "user is never told the result.",
        "no request is made while something that it must show is missing. A result that nobody "
        "has heard is open on the agenda.",
    ),
    FailureClass(
        "D",
        "Two answers, or an answer over the user",
        "Two replies are generated for one turn, or a reply begins while the user speaks.",
        "one reply at a time has the floor; its first audio waits while the user speaks.",
    ),
    FailureClass(
        "E",
        "Waiting for something that does not come",
        "The agent is silent for ever, because a tool, a model or an output does not go on.",
        "every state that waits has its own timer, and `turnfsm check` proves it.",
    ),
    FailureClass(
        "F",
        "A turn of the user is lost, or answered late",
        "What the user said is in no request, or it is answered much later.",
        "a committed turn is replied, deferred, superseded, or dropped with a reason.",
    ),
)
"""In the order of the page."""
