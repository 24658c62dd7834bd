"""What callers and models say in these conversations, and how a scenario is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from turnfsm.runtime.compare.scenario import Scenario
from turnfsm.runtime.pipecat.governor import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Model, Says, Script, Stage, Tool, said, shows

from .checks import Check, problems_of

__all__ = [
    "ANSWER",
    "BOOKED",
    "COUNT",
    "ISSUES",
    "LATE",
    "LOOK_UP",
    "PREAMBLE",
    "PRICE",
    "PULLS",
    "QUESTION",
    "REPEAT",
    "RESULT",
    "WORKS",
    "agent_said",
    "asks_again",
    "books",
    "coughs_at",
    "counts",
    "look_up",
    "orders",
    "says",
    "scenario",
    "slowly",
    "with_preamble",
]

ISSUES = "https://github.com/pipecat-ai/pipecat/issues/"
PULLS = "https://github.com/pipecat-ai/pipecat/pull/"

COUNT = "One two three four five six seven eight nine ten."
REPEAT = "Sorry could you repeat that."
QUESTION = "when does my order arrive"
ANSWER = "Your order is on its way and will arrive on Friday in the early afternoon."
PRICE = "It cost twenty euros."
LATE = "It arrives on Friday."
PREAMBLE = "Let me look that up for you right away."
BOOKED = "Your table is booked for tonight."
WORKS = "It is being booked right now."
RESULT = "it arrives on Friday"


def agent_said(messages: Messages) -> str:
    """All that the agent has said."""
    return " ".join(str(m.get("content")) for m in messages if m.get("role") == "assistant")


def scenario(
    id: str,
    title: str,
    model: Model,
    script: Script,
    checks: Iterable[Check],
    *,
    failure: str = "",
    links: Iterable[str] = (),
    wrong: str = "",
    seconds: float = 30.0,
    **stage: Any,
) -> Scenario:
    """A conversation that goes wrong on Pipecat alone; without a class of failure, one that goes
    right."""
    return Scenario(
        id,
        title,
        seconds,
        partial(_build, model, script, stage),
        partial(problems_of, checks=tuple(checks)),
        tuple(links),
        failure,
        control=not failure,
        wrong=wrong,
    )


def _build(
    model: Model, script: Script, stage: Mapping[str, Any], governor: type[TurnGovernor] | None
) -> Stage:
    return Stage(model, script=script, governor=governor, **stage)


# -- models


def counts(messages: Messages) -> Says:
    """Counts if it is asked to; asks the user to repeat what was not recognised, as Pipecat tells
    it to."""
    if messages[-1].get("role") == "developer":
        return Says(REPEAT)
    return Says(COUNT if "count" in said(messages) else f"You said {said(messages)}.")


def orders(messages: Messages) -> Says:
    """Looks an order up; tells a result that comes late in fewer words. It says nothing twice."""
    last = str(messages[-1].get("content"))
    already = LATE in agent_said(messages)
    if last.startswith("The result of"):
        return Says(LATE)
    if messages[-1].get("role") == "developer" and RESULT in last:
        return Says("" if already else LATE)
    if shows(messages, "mention it with your answer"):
        return Says(f"{PRICE} {LATE}")
    if "not recognized" in last:
        return Says(REPEAT)
    if "cost" in said(messages):
        return Says(PRICE)
    if shows(messages, RESULT):
        return Says(ANSWER)
    return Says(calls=(("look_up", {"order": 7}),))


def with_preamble(model: Model, preamble: str = PREAMBLE) -> Model:
    """The same model, and it says something before it calls a tool."""

    def speaks_first(messages: Messages) -> Says:
        says = model(messages)
        return Says(preamble, says.calls) if says.calls else says

    return speaks_first


def slowly(model: Model) -> Model:
    """The same model, after 1.5 s."""
    return lambda messages: attrs.evolve(model(messages), after=1.5)


def books(messages: Messages) -> Says:
    """Books a table, unless it sees that it is booked or that a booking runs."""
    if shows(messages, "nothing was done"):
        return Says("I have booked nothing.")
    if shows(messages, "is booked"):
        return Says(BOOKED)
    if "not recognized" in str(messages[-1].get("content")):
        return Says(REPEAT)
    if _runs(messages):
        return Says(WORKS)
    return Says(calls=(("book", {"people": 2}),))


def _runs(messages: Messages) -> bool:
    """The latest call is shown, and neither as cancelled nor with a result."""
    calls = [c["id"] for m in messages for c in m.get("tool_calls") or ()]
    gone = (str(m.get("content")) for m in messages if m.get("role") in ("tool", "developer"))
    return bool(calls) and not any("CANCELLED" in text for text in gone)


def look_up(seconds: float, **options: object) -> dict[str, Tool]:
    """The tool that looks an order up.

    Args:
        options: Those of its registration.
    """
    return {"look_up": Tool(seconds, RESULT, options)}


LOOK_UP = look_up(6.0)


# -- callers


def says(*turns: tuple[float, str] | tuple[float, str, float]) -> Script:
    """They say these words at these seconds, or make a noise if there are none.

    Args:
        turns: The second, the words, and perhaps how many seconds they take.
    """

    async def script(stage: Stage) -> None:
        for second, words, *lasts in turns:
            await stage.until(second)
            await (stage.says(words, *lasts) if words else stage.coughs(*lasts))

    return script


def coughs_at(*seconds: float, first: str = "please count", lasts: float = 0.4) -> Script:
    """They say something, and make a noise at these seconds."""

    async def script(stage: Stage) -> None:
        await stage.says(first)
        for second in seconds:
            await stage.until(second)
            await stage.coughs(lasts)

    return script


def asks_again(second: float, words: str = "and what did it cost") -> Script:
    """They ask, and ask something else at this second."""
    return says((0.0, QUESTION), (second, words))
