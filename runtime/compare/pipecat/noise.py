"""Noise: the VAD hears something, and the STT recognises nothing."""

from __future__ import annotations

from pipecat.frames import frames as f

from turnfsm.runtime.testing.pipecat import Stage, Tool

from .checks import asked_at_most, hears, hears_never, quiet_at_most, results_shown, runs_once
from .talks import (
    ANSWER,
    BOOKED,
    COUNT,
    ISSUES,
    LOOK_UP,
    PREAMBLE,
    QUESTION,
    REPEAT,
    RESULT,
    books,
    coughs_at,
    counts,
    orders,
    scenario,
    slowly,
    with_preamble,
)

__all__ = ["NOISE"]

WELCOME = "Welcome to the shop dear customer."


async def _is_greeted(stage: Stage) -> None:
    await stage.pushes(f.TTSSpeakFrame(WELCOME))
    await stage.until(1.0)
    await stage.coughs()


N1 = scenario(
    "N1",
    "a cough of 0.4 s over the answer",
    counts,
    coughs_at(4.5),
    [hears(COUNT, by=3.5), hears_never(REPEAT), asked_at_most(1)],
    failure="N",
    links=[ISSUES + "5240", ISSUES + "5819"],
    wrong="The caller hears half of the answer, and then they are asked to repeat what they never "
    "said.",
)
N2 = scenario(
    "N2",
    "two coughs over one answer",
    counts,
    coughs_at(3.5, 7.5),
    [hears(COUNT, by=3.5), hears_never(REPEAT), asked_at_most(1)],
    failure="N",
    links=[ISSUES + "5240"],
    wrong="The caller hears half of the answer, and is asked to repeat what they never said.",
)
N3 = scenario(
    "N3",
    "a cough while the model thinks",
    slowly(counts),
    coughs_at(2.2),
    [hears(COUNT, by=5.5), hears_never(REPEAT), asked_at_most(1)],
    failure="N",
    links=[ISSUES + "4308"],
    wrong="The answer is thrown away, and the caller is asked to repeat what was understood.",
)
N4 = scenario(
    "N4",
    "a cough while a tool runs",
    orders,
    coughs_at(4.0, first=QUESTION),
    [hears(ANSWER, by=9.0), runs_once("look_up"), results_shown],
    failure="N",
    links=["https://github.com/jferreiros/vortex/pull/224", ISSUES + "5240"],
    wrong="The caller never hears the result, and is asked to repeat what was understood.",
    tools=LOOK_UP,
)
N5 = scenario(
    "N5",
    "a cough while a tool runs whose effect has happened",
    books,
    coughs_at(4.5, first="book a table"),
    [hears(BOOKED, by=9.0), runs_once("book"), hears_never(REPEAT)],
    failure="N",
    links=["https://github.com/jferreiros/vortex/pull/224"],
    wrong="The table is booked, and the caller does not hear it.",
    tools={"book": Tool(5.0, "the table is booked", effect_at=1.0)},
)
N6 = scenario(
    "N6",
    "a cough over the preamble of a tool",
    with_preamble(orders),
    coughs_at(3.0, first=QUESTION),
    [hears(PREAMBLE), hears(ANSWER), runs_once("look_up"), results_shown],
    failure="N",
    links=[ISSUES + "5779", ISSUES + "3661"],
    wrong="The tool is cancelled with the preamble, and the caller never hears its result.",
    tools=LOOK_UP,
)
N7 = scenario(
    "N7",
    "a cough over a greeting that the application has queued",
    counts,
    _is_greeted,
    [hears(WELCOME, by=1.0), hears_never(REPEAT), quiet_at_most(4.0)],
    failure="N",
    links=[ISSUES + "5240", ISSUES + "4343"],
    wrong="The caller does not hear who has called.",
)

N8 = scenario(
    "N8",
    "a cough while the model thinks about the result of a tool",
    slowly(orders),
    coughs_at(4.5, first=QUESTION),
    [hears(ANSWER, by=8.0), hears_never(REPEAT), runs_once("look_up")],
    failure="N",
    links=[ISSUES + "4308"],
    wrong="The caller is asked to repeat what was understood.",
    tools={"look_up": Tool(0.5, RESULT)},
)
N9 = scenario(
    "N9",
    "four seconds of noise over the answer",
    counts,
    coughs_at(4.0, lasts=4.0),
    [hears(COUNT, by=3.5), hears_never(REPEAT), quiet_at_most(6.5)],
    failure="N",
    links=[ISSUES + "5240", ISSUES + "5819"],
    wrong="The caller hears half of the answer.",
)
N10 = scenario(
    "N10",
    "a noise every three seconds while a tool runs and after it",
    orders,
    coughs_at(3.0, 6.0, 9.0, 12.0, 15.0, 18.0, first=QUESTION),
    [hears(ANSWER, by=12.0), runs_once("look_up"), hears_never(REPEAT)],
    failure="N",
    links=[ISSUES + "5240"],
    wrong="The caller never hears the answer.",
    seconds=45.0,
    tools=LOOK_UP,
)

N11 = scenario(
    "N11",
    "a cough over the answer that has the result of a tool",
    orders,
    coughs_at(6.0, first=QUESTION),
    [hears(ANSWER, by=5.0), hears_never(REPEAT)],
    failure="N",
    links=[ISSUES + "5240"],
    wrong="The caller does not hear the result.",
    tools={"look_up": Tool(1.0, RESULT)},
)

NOISE = (N1, N2, N3, N4, N5, N6, N7, N8, N9, N10, N11)
