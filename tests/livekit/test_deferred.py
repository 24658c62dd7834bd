"""What begins later than it was asked for keeps the context variables of who asked."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest
from livekit.agents import Agent, AgentTask, function_tool, mock_tools
from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage
from turnfsm.runtime.testing.livekit.tasks import complete

NOTICE = "This call is recorded for quality and for training purposes."
WHO: ContextVar[str] = ContextVar("who", default="nobody")


class _Bank(Agent):
    """Greets, and pays."""

    def __init__(self, paid: list[str]) -> None:
        super().__init__(instructions="Pay.")
        self.paid = paid

    async def on_enter(self) -> None:
        await self.session.say("Welcome to the bank. What can I do for you?")

    @function_tool
    async def pay(self) -> str:
        """Pay."""
        self.paid.append("for real")
        return "paid"


@pytest.mark.parametrize("moment", ["start", "handoff"])
def test_a_run_beside_an_on_enter_uses_the_mocks_of_its_caller(
    session_class: Any, moment: str
) -> None:
    """The run begins when the agent has greeted; the `with` block has ended by then."""
    paid: list[str] = []

    async def evaluate(stage: Stage) -> None:
        if moment == "handoff":
            await asyncio.sleep(5.0)
            stage.session.update_agent(_Bank(paid))
            await asyncio.sleep(0.05)
        with mock_tools(_Bank, {"pay": lambda: paid.append("mocked")}):
            run = stage.session.run(user_input="please pay")
        await run

    model = ScriptedLLM({"pay": Reply(calls=Call("pay"))}, {"pay": "It is paid."})
    Stage(session_class, llm=model, agent=lambda: _Bank(paid)).at(0.0, evaluate).run(20.0)
    assert paid == ["mocked"]


def test_a_run_that_waits_is_dropped_by_the_close() -> None:
    """Its caller gets an error."""
    errors: list[str] = []

    async def evaluate(stage: Stage) -> None:
        run = stage.session.run(user_input="please pay")
        stage.session.shutdown()
        with pytest.raises(RuntimeError, match="session closed") as raised:
            await run
        errors.append(str(raised.value))

    Stage(TurnSession, agent=lambda: _Bank([])).at(0.0, evaluate).run(20.0)
    assert len(errors) == 1


class _Attentive(Agent):
    """Notes in whose context its hook runs."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__(instructions="Listen.")
        self.heard = heard

    async def on_user_turn_completed(self, turn_ctx: Any, new_message: Any) -> None:
        self.heard.append(f"{new_message.text_content} by {WHO.get()}")


def test_a_kept_turn_is_answered_in_the_context_in_which_it_was_committed() -> None:
    """Committed by the application during a speech that cannot be interrupted, answered after."""
    heard: list[str] = []

    async def commit(stage: Stage) -> None:
        stage.session.say(NOTICE, allow_interruptions=False)
        await asyncio.sleep(2.0)
        WHO.set("the application")
        await stage.session.commit_user_turn()

    stage = Stage(
        TurnSession,
        user=ScriptedUser().says("what about tomorrow", at=1.0),
        agent=lambda: _Attentive(heard),
        turn_handling={
            "turn_detection": "manual",
            "interruption": {"discard_audio_if_uninterruptible": False},
        },
    )
    stage.at(0.5, commit).run(15.0)
    assert heard == ["what about tomorrow by the application"]


def test_the_next_reply_is_asked_for_in_the_context_of_its_call() -> None:
    """The user interrupts the call; the reply about its result may call tools, with the mocks that
    held when the call was made."""
    asked: list[str] = []
    pay = tool("pay", "paid", seconds=5.0)

    def tell(request: Any) -> Reply:
        asked.append(WHO.get())
        return Reply("It is paid.")

    async def ask(stage: Stage) -> None:
        WHO.set("the caller")
        stage.session.generate_reply(user_input="please pay")

    answers = {"pay": Reply(calls=Call("pay")), "joke": "Here is a long joke."}
    user = ScriptedUser().says("no stop tell me a joke", at=3.0)
    stage = Stage(TurnSession, user=user, llm=ScriptedLLM(answers, {"pay": tell}), tools=[pay])
    outcome = stage.at(1.0, ask).run(15.0)
    assert asked == ["the caller"], outcome.timeline()


class _Name(AgentTask[str]):
    """A task that nobody awaits: the session begins with it, as in an eval of the task."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.")

    @function_tool
    async def record(self) -> Any:
        """Record the name."""
        return complete(self, "Ann")


def test_a_run_that_completes_the_first_task_ends_at_once(session_class: Any) -> None:
    """The task hands back to nobody, so nothing follows."""
    found: list[Any] = []

    async def evaluate(stage: Stage) -> None:
        begun = asyncio.get_running_loop().time()
        result = await stage.session.run(user_input="I am Ann", output_type=str)
        found.extend([result.final_output, asyncio.get_running_loop().time() - begun < 5.0])

    model = ScriptedLLM({"I am Ann": Reply(calls=Call("record"))})
    Stage(session_class, llm=model, agent=_Name).at(1.0, evaluate).run(25.0)
    assert found == ["Ann", True]
