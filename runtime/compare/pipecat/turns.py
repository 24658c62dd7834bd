"""Turns of the user: lost, late, answered twice, talked over, or waited for in vain."""

from __future__ import annotations

from typing import Any

from pipecat.frames import frames as f
from pipecat.turns.user_mute import FunctionCallUserMuteStrategy
from pipecat.turns.user_start import (
    MinWordsUserTurnStartStrategy,
    TranscriptionUserTurnStartStrategy,
    VADUserTurnStartStrategy,
)
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import EagerUserTurnStrategies, UserTurnStrategies

from turnfsm.runtime.testing.pipecat import Messages, Says, Stage, Tool, own_strategies, said, shows

from .checks import (
    asked_at_most,
    asked_between_answers,
    hears,
    hears_never,
    results_shown,
    runs_once,
    silent_over_the_user,
)
from .talks import (
    ANSWER,
    COUNT,
    ISSUES,
    PULLS,
    QUESTION,
    RESULT,
    agent_said,
    asks_again,
    coughs_at,
    counts,
    orders,
    says,
    scenario,
)

__all__ = ["TURNS", "WAITING"]


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


WELCOME = "Welcome to the bank how may I help you today."
SEVEN = "Your number is seven."
MORE = "Shall I go on?"
LOOK = (("look_up", {"order": 7}),)
RAINS = "It rains in Rome."


def _number(messages: Messages) -> Says:
    return Says(SEVEN) if "number" in said(messages) else counts(messages)


def _goes_on(messages: Messages) -> Says:
    return Says(MORE) if COUNT in agent_said(messages) else counts(messages)


def _looks_up(messages: Messages) -> Says:
    """Tells a result once."""
    if ANSWER in agent_said(messages):
        return Says("I am as quick as I can.")
    if shows(messages, RESULT):
        return Says(ANSWER)
    return Says("Let me look that up for you and I will be back in a second.", LOOK)


def _weather(messages: Messages) -> Says:
    """Needs the weather; says that it looks for it while it is not there."""
    if shows(messages, "it rains in Rome"):
        return Says(RAINS)
    if any(m.get("tool_calls") for m in messages):
        return Says("I am still looking.")
    return Says(calls=(("weather", {}),))


def _without_interruptions() -> UserTurnStrategies:
    return UserTurnStrategies(
        start=[
            VADUserTurnStartStrategy(enable_interruptions=False),
            TranscriptionUserTurnStartStrategy(enable_interruptions=False),
        ],
        stop=[SpeechTimeoutUserTurnStopStrategy()],
    )


def _three_words() -> UserTurnStrategies:
    own = own_strategies()
    own.start = [MinWordsUserTurnStartStrategy(min_words=3)]
    return own


async def _app_asks(stage: Stage) -> None:
    await stage.says("please count")
    await stage.until(4.0)
    await stage.pushes(f.LLMRunFrame())


async def _eager(stage: Stage) -> None:
    user = stage.microphone
    await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
    await stage.until(1.0)
    await user.push_frame(f.TranscriptionFrame("weather in rome", "user", "now", finalized=True))
    await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)
    await stage.until(3.5)  # the tool runs from 1.4 to 5.4
    await user.broadcast_frame(f.ProposedUserStartedSpeakingFrame)
    await stage.until(4.8)
    await user.push_frame(f.EagerTranscriptionFrame("how is it then", "user", "now"))
    await stage.until(6.1)
    await user.push_frame(f.TranscriptionFrame("how is it then", "user", "now", finalized=True))
    await user.broadcast_frame(f.ProposedUserStoppedSpeakingFrame)


D1 = scenario(
    "D1",
    "interruptions are off, and the user speaks over the answer",
    _number,
    says((0.0, "please count", 1.0), (3.0, "what is my number", 1.0)),
    [hears(f"{COUNT} {SEVEN}"), asked_at_most(2), asked_between_answers],
    failure="D",
    links=[ISSUES + "2922"],
    wrong="The model is asked about the second turn before it is shown what it is saying.",
    strategies=_without_interruptions,
)
D2 = scenario(
    "D2",
    "the user goes on after a pause; three words are needed to interrupt",
    _number,
    says((0.0, "I would like to know", 1.0), (2.05, "what my number is", 3.0)),
    [silent_over_the_user, hears(SEVEN)],
    failure="D",
    links=[ISSUES + "2703"],
    wrong="The caller is talked over.",
    strategies=_three_words,
)
D3 = scenario(
    "D3",
    "the application asks for a reply while the agent speaks",
    _goes_on,
    _app_asks,
    [hears(f"{COUNT} {MORE}"), asked_between_answers],
    failure="D",
    links=[ISSUES + "4055"],
    wrong="The caller hears the same answer twice: the model was asked without it.",
)

D4 = scenario(
    "D4",
    "the end of a turn is predicted while a tool runs, and the result comes before the turn ends",
    _weather,
    _eager,
    [hears(RAINS), hears_never("I am still looking.")],
    failure="D",
    links=[],
    wrong="The caller hears two answers to one turn, the first of which is out of date.",
    strategies=EagerUserTurnStrategies,
    tools={"weather": Tool(4.0, "it rains in Rome", {"cancel_on_interruption": False})},
)

C4 = scenario(
    "C4",
    "interruptions are off, and the user speaks over the preamble of a tool that has ended",
    _looks_up,
    asks_again(3.0, "please hurry"),
    [hears(ANSWER), runs_once("look_up"), results_shown],
    failure="C",
    links=[ISSUES + "2787", ISSUES + "3023"],
    wrong="The model does not see its own call, and makes it again.",
    strategies=_without_interruptions,
    tools={"look_up": Tool(0.5, RESULT)},
)

TURNS = (D1, C4, D2, D3, D4)
