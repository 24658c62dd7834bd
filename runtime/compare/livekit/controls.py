"""Conversations that go right on `AgentSession`, too: they show that the test kit is correct."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from livekit.agents import Agent, function_tool, llm

from turnfsm.runtime.compare.scenario import Conversations
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)

from .agent_state import wrong_agent_states
from .checks import late, wrong_contexts

__all__ = ["CONTROLS"]


FIRST, SECOND = "what is the weather", "and the traffic please"
MODEL = {"traffic": "The roads are free.", "weather": "It rains."}


def _in_history(outcome: Outcome, *words: str) -> list[str]:
    """Turns that the session's history does not hold."""
    lines = [
        item.text_content or ""
        for item in outcome.history.items
        if item.type == "message" and item.role == "user"
    ]
    return [
        f"what the user said ({said!r}) is in no history"
        for said in words
        if not any(said in line for line in lines)
    ]


class _Slow(Agent):
    """Looks something up before each reply."""

    def __init__(self, seconds: float) -> None:
        super().__init__(instructions="Help.")
        self._seconds = seconds

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        await asyncio.sleep(self._seconds)


def _slow_hook(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says(FIRST, at=1.0).says(SECOND, at=3.5)
    return Stage(session_class, user=user, llm=ScriptedLLM(MODEL), agent=lambda: _Slow(5.0))


def _verdict_slow_hook(outcome: Outcome) -> list[str]:
    problems = _in_history(outcome, FIRST, SECOND)
    answers = [h for h in outcome.heard if "roads" in h.text]
    if len(answers) != 1:
        problems.append(f"the second turn is answered {len(answers)} times")
    return problems + late(outcome, "The roads are free.", 13.5, 4.7, "the user's words end")


def _empty(session_class: type[AgentSession[Any]]) -> Stage:
    def commit(stage: Stage) -> None:
        stage.session.commit_user_turn()

    user = ScriptedUser().makes_noise(at=1.0, duration=0.8).says(FIRST, at=10.0)
    stage = Stage(
        session_class,
        user=user,
        llm=ScriptedLLM(MODEL),
        turn_handling={"turn_detection": "manual"},
    )
    return stage.at(2.0, commit).at(5.0, commit).at(11.5, commit)


def _verdict_empty(outcome: Outcome) -> list[str]:
    problems = late(outcome, "It rains.", 13.0, 11.5, "the turn is committed")
    asked = [f"{request.at:.2f} s" for request in outcome.requests if FIRST in request.prompt]
    if len(asked) != 1:
        problems.append(f"the model is asked about one turn at {', '.join(asked)}")
    return problems + _in_history(outcome, FIRST)


class _Greeter(Agent):
    """Takes its time to enter, then greets."""

    def __init__(self) -> None:
        super().__init__(instructions="Greet.")

    async def on_enter(self) -> None:
        await asyncio.sleep(3.0)
        await self.session.say("Good morning.")


def _at_start(session_class: type[AgentSession[Any]]) -> Stage:
    user = ScriptedUser().says(FIRST, at=0.0)
    return Stage(session_class, user=user, llm=ScriptedLLM(MODEL), agent=_Greeter)


def _verdict_at_start(outcome: Outcome) -> list[str]:
    return _in_history(outcome, FIRST) + late(
        outcome, "It rains.", 6.0, 1.2, "the user's words end"
    )


def _at_close(session_class: type[AgentSession[Any]]) -> Stage:
    async def close(stage: Stage) -> None:
        await stage.session.aclose()

    user = ScriptedUser().says(FIRST, at=1.0)
    return Stage(session_class, user=user, llm=ScriptedLLM(MODEL)).at(2.6, close)


def _verdict_at_close(outcome: Outcome) -> list[str]:
    return _in_history(outcome, FIRST) + [f"logged at {t:.2f} s: {e}" for t, e in outcome.errors]


STORY = "Once upon a time there was a king who had three daughters and no sons."


def _sound(outcome: Outcome) -> list[str]:
    """What no conversation may show: wrong agent states, logged errors, tasks left over."""
    problems = wrong_agent_states(outcome) + [
        f"logged at {t:.2f} s: {e}" for t, e in outcome.errors
    ]
    return problems + [f"the task {name} outlives the session" for name in outcome.orphans]


def _story(session_class: type[AgentSession[Any]], user: ScriptedUser, **options: Any) -> Stage:
    model = ScriptedLLM({"story": STORY, "stop": "All right."})
    tts = ScriptedTTS(durations={STORY: 6.0})
    return Stage(
        session_class, user=user.says("tell me a story", at=1.0), llm=model, tts=tts, **options
    )


def _plain(session_class: type[AgentSession[Any]]) -> Stage:
    return _story(session_class, ScriptedUser())


def _verdict_plain(outcome: Outcome) -> list[str]:
    return _sound(outcome) + late(outcome, STORY, 3.2, 2.2, "the user's words end")


def _barge_in(session_class: type[AgentSession[Any]], **options: Any) -> Stage:
    user = ScriptedUser().says("stop please", at=4.0, duration=1.0)
    return _story(session_class, user, **options)


def _verdict_barge_in(outcome: Outcome) -> list[str]:
    problems = _sound(outcome) + late(outcome, "All right.", 6.1, 5.0, "the barge-in ends")
    story = outcome.heard[0]
    if not 4.4 < story.end < 4.7:
        problems.append(f"the story is heard until {story.end:.2f} s, the user speaks at 4.00 s")
    if not any(story.text in line and "interrupted" in line for line in outcome.context):
        problems.append(f"the context does not hold what was heard, {story.text!r}")
    return problems


def _backchannel(session_class: type[AgentSession[Any]]) -> Stage:
    return _story(session_class, ScriptedUser().makes_noise(at=4.0, duration=0.7))


def _verdict_backchannel(outcome: Outcome) -> list[str]:
    problems = _sound(outcome)
    if [resumed for _, resumed in outcome.false_interruptions] != [True]:
        problems.append(f"false interruptions: {outcome.false_interruptions}")
    if len(outcome.heard) != 2 or " ".join(h.text for h in outcome.heard) != STORY:
        problems.append(f"the story is not heard whole, in two parts: {outcome.heard}")
    return problems


def _tool(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def look_up(city: str) -> str:
        """Look up the weather.

        Args:
            city: where
        """
        await asyncio.sleep(2.0)
        return f"rain in {city}"

    model = ScriptedLLM(
        {"weather": Reply("Let me see.", calls=Call("look_up", {"city": "Rome"}))},
        {"look_up": "It rains."},
    )
    user = ScriptedUser().says("what is the weather", at=1.0)
    return Stage(session_class, user=user, llm=model, tools=[look_up])


def _verdict_tool(outcome: Outcome) -> list[str]:
    problems = _sound(outcome) + wrong_contexts(outcome)
    if [(t.name, t.status, t.message) for t in outcome.tools] != [
        ("look_up", "done", "rain in Rome")
    ]:
        problems.append(f"the tool runs: {outcome.tools}")
    return problems + late(outcome, "It rains.", 6.0, 2.2, "the question ends")


def _announcement(session_class: type[AgentSession[Any]]) -> Stage:
    def announce(stage: Stage) -> None:
        stage.session.say(STORY, allow_interruptions=False)

    tts = ScriptedTTS(durations={STORY: 6.0})
    return Stage(session_class, tts=tts).at(1.0, announce)


def _verdict_announcement(outcome: Outcome) -> list[str]:
    return _sound(outcome) + late(outcome, STORY, 1.2, 1.0, "the announcement")


CONTROLS: Conversations = {
    "C1": (_plain, _verdict_plain),
    "C2": (_barge_in, _verdict_barge_in),
    "C2-hard": (partial(_barge_in, can_pause=False), _verdict_barge_in),
    "C3": (_backchannel, _verdict_backchannel),
    "C4": (_tool, _verdict_tool),
    "C5": (_announcement, _verdict_announcement),
    "T1": (_slow_hook, _verdict_slow_hook),
    "T2": (_empty, _verdict_empty),
    "T3": (_at_start, _verdict_at_start),
    "T4": (_at_close, _verdict_at_close),
}
