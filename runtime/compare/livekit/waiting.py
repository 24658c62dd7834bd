"""S5 and S5c: an interruption meets a tool that waits or is slow."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from livekit.agents import Agent, AgentTask, RunContext, function_tool

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
from turnfsm.runtime.testing.livekit.tasks import complete

from .checks import hears, logs_no_error

__all__ = ["WAITING"]

ASK, STOP = "cancel my contract", "no stop tell me a joke"
PREAMBLE = "I will cancel the contract for you right now, one moment please."
JOKE = "Here is a joke."
EFFECT = "side effect: the contract is cancelled"
SLOW = 30.0
REPLY = 0.45  # the scripted model and TTS take 0.4 s to the first audio


def _model(preamble: str = "") -> ScriptedLLM:
    return ScriptedLLM(
        {"contract": Reply(text=preamble, calls=Call("cancel_contract")), "joke": JOKE},
        {"cancel_contract": "It is cancelled."},
    )


@function_tool(name="cancel_contract")
async def _cancel_slowly() -> str:
    """Cancel the contract."""
    await asyncio.sleep(SLOW)
    return "cancelled"


async def _interrupt_and_ask(stage: Stage) -> None:
    stage.note("interrupt")
    await stage.session.interrupt()
    stage.note("interrupt returned")
    await stage.session.generate_reply(user_input=STOP)


def _stage(
    session_class: type[AgentSession[Any]],
    *,
    waits: bool = False,
    preamble: str = "",
    user_at: float = 0.0,
    interrupted_at: float = 0.0,
) -> Stage:
    """A call of a slow tool, or of one that waits for its preamble."""

    @function_tool(name="cancel_contract")
    async def cancel_when_heard(context: RunContext[Any]) -> str:
        """Cancel the contract."""
        await context.wait_for_playout()
        stage.note(EFFECT)
        return "cancelled"

    user = ScriptedUser().says(ASK, at=1.0)
    if user_at:
        user.says(STOP, at=user_at)
    tts = ScriptedTTS(durations={PREAMBLE: 4.0})
    tools = [cancel_when_heard if waits else _cancel_slowly]
    stage = Stage(session_class, user=user, llm=_model(preamble), tts=tts, tools=tools)
    return stage.at(interrupted_at, _interrupt_and_ask) if interrupted_at else stage


def _effect(outcome: Outcome) -> list[str]:
    at = outcome.marks.get(EFFECT)
    if at is None:
        return []
    return [f"the wait for the preamble returns as if it had been played: {EFFECT} at {at:.2f} s"]


def _waited(outcome: Outcome) -> list[str]:
    """How long the interruption and the interrupted speech took."""
    asked = outcome.marks["interrupt"]
    returned = outcome.marks.get("interrupt returned")
    problems = []
    if returned is None or returned - asked > 0.1:
        took = "never returns" if returned is None else f"takes {returned - asked:.3f} s"
        problems.append(f"`await session.interrupt()` {took}")
    done = next(s.done for s in outcome.speeches)
    if done is None or done - asked > 0.1:
        problems.append(f"the interrupted speech is done {(done or 999.0) - asked:.3f} s later")
    return problems


def _verdict_preamble(outcome: Outcome) -> list[str]:
    return _effect(outcome) + hears(outcome, JOKE, 5.8 + REPLY, 5.3, "the user's words end")


def _verdict_interrupt(outcome: Outcome) -> list[str]:
    asked = outcome.marks["interrupt"]
    return _waited(outcome) + hears(outcome, JOKE, asked + REPLY, asked, "the interruption")


def _verdict_both(outcome: Outcome) -> list[str]:
    return _effect(outcome) + _verdict_interrupt(outcome)


def _verdict_turn(outcome: Outcome) -> list[str]:
    problems = hears(outcome, JOKE, 7.3 + REPLY, 6.8, "the user's words end")
    return problems + logs_no_error(outcome)


class _Confirm(AgentTask[None]):
    def __init__(self) -> None:
        super().__init__(instructions="Confirm.")

    async def on_enter(self) -> Any:
        self.session.say("Are you sure?")
        await asyncio.sleep(2.0)
        return complete(self, None)


def _s5_task(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def confirm() -> str:
        """Ask the user to confirm."""
        stage.note("task opened")
        await _Confirm()
        return "confirmed"

    async def interrupt(stage: Stage) -> None:
        stage.session.interrupt()
        stage.session.generate_reply(user_input="confirm it first")

    model = _model()
    model.on_user["confirm"] = Reply(calls=Call("confirm"))
    model.on_tool["confirm"] = "Thank you."
    user = ScriptedUser().says(ASK, at=1.0)
    stage = Stage(session_class, user=user, llm=model, tools=[_cancel_slowly, confirm])
    return stage.at(4.0, interrupt)


def _verdict_task(outcome: Outcome) -> list[str]:
    opened = outcome.marks.get("task opened", 4.2)
    return hears(outcome, "Are you sure?", opened + 0.75, opened, "the task is opened")


def _s5c(session_class: type[AgentSession[Any]]) -> Stage:
    @function_tool
    async def transfer() -> Any:
        """Hand over to the billing department."""
        await asyncio.sleep(8.0)
        return Agent(instructions="Billing."), "handed over"

    async def interrupt(stage: Stage) -> None:
        stage.session.interrupt(force=True)
        await stage.session.generate_reply(user_input="no stay here and tell me a joke")

    model = ScriptedLLM(
        {"joke": JOKE, "billing": Reply(calls=Call("transfer"))}, {"transfer": "Ok."}
    )
    user = ScriptedUser().says("transfer me to billing", at=1.0)
    return Stage(session_class, user=user, llm=model, tools=[transfer]).at(5.0, interrupt)


def _verdict_s5c(outcome: Outcome) -> list[str]:
    handoffs = [t for t, line in outcome.items if line == "agent_handoff" and t > 1.0]
    return [
        f"the user stopped the transfer at 5.00 s and is handed over at {at:.2f} s all the same"
        for at in handoffs
    ]


WAITING: Conversations = {
    "S5": (partial(_stage, waits=True, preamble=PREAMBLE, user_at=3.5), _verdict_preamble),
    "S5-wait": (partial(_stage, waits=True, preamble=PREAMBLE, interrupted_at=3.5), _verdict_both),
    "S5-interrupt": (partial(_stage, interrupted_at=4.0), _verdict_interrupt),
    "S5-playing": (partial(_stage, preamble=PREAMBLE, interrupted_at=3.5), _verdict_interrupt),
    "S5-turn": (partial(_stage, user_at=5.0), _verdict_turn),
    "S5-task": (_s5_task, _verdict_task),
    "S5c": (_s5c, _verdict_s5c),
}
