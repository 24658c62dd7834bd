"""Waiting for a tool, a model or an output that does not go on."""

from __future__ import annotations

from typing import Any

from pipecat.turns.user_mute import FunctionCallUserMuteStrategy

from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, shows

from .checks import hears
from .talks import ANSWER, ISSUES, PULLS, QUESTION, RESULT, asks_again, coughs_at, orders, scenario

__all__ = ["WAITING"]

STILL = "I am still looking."


def _looks_for_ever(messages: Messages) -> Says:
    return Says(STILL) if shows(messages, "still running") else orders(messages)


def _mutes_while_a_tool_runs() -> dict[str, Any]:
    return {"user_mute_strategies": [FunctionCallUserMuteStrategy()]}


E1 = scenario(
    "E1",
    "a tool does not end, and the user waits",
    _looks_for_ever,
    asks_again(80.0),
    [hears(STILL, by=14.0)],
    failure="E",
    links=[PULLS + "3365"],
    wrong="The caller hears nothing for as long as they wait.",
    seconds=60.0,
    limits="brisk",
    tools={"look_up": Tool(900.0, RESULT)},
)
E2 = scenario(
    "E2",
    "the user is muted while they speak, and nobody reports that they have stopped",
    orders,
    coughs_at(2.0, first=QUESTION, lasts=6.0),  # the tool begins meanwhile, and mutes them
    [hears(ANSWER, by=8.0)],
    failure="E",
    links=[ISSUES + "5005", ISSUES + "5425"],
    wrong="The answer is thrown away, and the caller is asked to repeat what was understood.",
    user=_mutes_while_a_tool_runs,
    tools={"look_up": Tool(1.0, RESULT)},
)

WAITING = (E1, E2)
