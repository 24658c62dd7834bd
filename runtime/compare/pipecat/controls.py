"""Conversations that go right on Pipecat alone, too: they show that the scripted parts work."""

from __future__ import annotations

from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows

from .checks import asked_at_most, hears, keeps_what_was_heard, results_shown, runs_once
from .talks import (
    ANSWER,
    COUNT,
    LATE,
    PREAMBLE,
    PRICE,
    QUESTION,
    RESULT,
    asks_again,
    counts,
    orders,
    says,
    scenario,
    slowly,
    with_preamble,
)

__all__ = ["CONTROLS"]

BOTH = "Sunny, and the train is late."


def _two(messages: Messages) -> Says:
    if shows(messages, "it is sunny") and shows(messages, "train is late"):
        return Says(BOTH)
    return Says(calls=(("weather", {}), ("train", {})))


def _fails_once(messages: Messages) -> Says:
    return Says("Here I am.", fails="hello" in said(messages))


CONTROLS = (
    scenario(
        "K1", "a question and an answer", counts, says((0.0, "please count")), [hears(COUNT, by=3)]
    ),
    scenario(
        "K2",
        "a barge-in on an answer whose words the voice has timed",
        counts,
        says((0.0, "please count"), (4.0, "hello there")),
        [hears("You said hello there."), keeps_what_was_heard],
        times_words=True,
    ),
    scenario(
        "K3",
        "a tool, and the answer that has its result",
        orders,
        says((0.0, QUESTION)),
        [hears(ANSWER, by=5.0), runs_once("look_up"), results_shown, asked_at_most(2)],
        tools={"look_up": Tool(2.0, RESULT)},
    ),
    scenario(
        "K4",
        "two tools, and one answer",
        _two,
        says((0.0, "when should I leave")),
        [hears(BOTH), runs_once("weather"), runs_once("train"), asked_at_most(2)],
        tools={"weather": Tool(1.0, "it is sunny"), "train": Tool(3.0, "the train is late")},
    ),
    scenario(
        "K5",
        "a tool that ends before its preamble does",
        with_preamble(orders),
        says((0.0, QUESTION)),
        [hears(PREAMBLE), hears(ANSWER), keeps_what_was_heard, asked_at_most(2)],
        tools={"look_up": Tool(0.1, RESULT)},
    ),
    scenario(
        "K6",
        "the user goes on after a pause, while the model thinks",
        slowly(counts),
        says((0.0, "please"), (2.15, "count")),
        [hears(COUNT)],
    ),
    scenario(
        "K7",
        "a tool with cancel_on_interruption=False ends while the agent answers something else",
        orders,
        asks_again(4.0),
        [hears(PRICE), hears(LATE), runs_once("look_up"), results_shown],
        tools={"look_up": Tool(4.8, RESULT, {"cancel_on_interruption": False})},
    ),
    scenario(
        "K8",
        "a request fails, and the user speaks again",
        _fails_once,
        says((0.0, "hello there"), (6.0, "are you there")),
        [hears("Here I am.")],
    ),
)
