"""The classes of failure that are reported for voice agents, in a sentence each."""

from __future__ import annotations

from turnfsm.runtime.compare.host import FailureClass

__all__ = ["CLASSES"]

CLASSES: tuple[FailureClass, ...] = (
    FailureClass(
        "A",
        "A preemptive reply while a tool runs",
        "A reply is generated before the turn is committed, although a tool call is still running. "
        "The request is wasted, or the user hears two replies.",
        "`preemptive_generation` is refused in every state but `listening`.",
    ),
    FailureClass(
        "B",
        "A pause where nothing was heard",
        "Noise pauses or resumes a step, although no audio of this step was heard.",
        "only `speaking` leads to `paused`; the facts of a step become false when it ends.",
    ),
    FailureClass(
        "C",
        "Tool results lost, repeated or out of place",
        "After an interruption a request to the model lacks the call or its result, or has "
        "something between them. So the model makes the call again.",
        "no request is made while a result is not committed, and each call ends exactly once.",
    ),
    FailureClass(
        "D",
        "An interruption while a tool runs",
        "The agent does not answer until the tool ends, or never says its result, or the tool has "
        "its side effect although the user has stopped it.",
        "when a turn is committed, the running calls are released at once. Their results are said "
        "later. If a tool waits for playout, an interruption ends this wait.",
    ),
    FailureClass(
        "E",
        "Waiting for something that does not come",
        "The agent is silent forever because it waits for something that never comes; or a run "
        "fails or ends early because it does not wait.",
        "every state that waits has its own timer, and `turnfsm check` proves it.",
    ),
    FailureClass(
        "F",
        "A turn of the user is lost",
        "What the user said gets no reply and is not in the history, or it is answered much later.",
        "a committed turn is replied, deferred, superseded, or dropped with a reason. No commit is "
        "cancelled.",
    ),
    FailureClass(
        "G",
        "The history is not what was heard",
        "The history has words that nobody heard, or lacks words that somebody heard.",
        "when a step ends, the words that were heard are added to the history.",
    ),
    FailureClass(
        "H",
        "The agent state is wrong",
        "The agent state does not agree with what the user hears.",
        "the agent state follows the state of the flow; only playout leads to `speaking`.",
    ),
)
"""In the order of their letters."""
