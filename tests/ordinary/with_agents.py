"""Conversations with hooks, nodes, handoffs and tasks, as a new user writes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import Any

from conversations import Answer, note, ordinary
from livekit.agents import Agent, AgentTask, RunContext, StopResponse, function_tool, llm
from livekit.agents.beta.workflows import TaskGroup

TALK = {"hello": "Hello to you.", "good bye": "Good bye."}
SAYS = {1.0: "hello", 5.0: "good bye"}


def plain() -> Agent:
    """An agent without anything."""
    return Agent(instructions="Help.")


ordinary("one turn", plain, says={1.0: "hello"}, answers=TALK)
ordinary("two turns", plain, says=SAYS, answers=TALK)
ordinary("nothing is said", plain, seconds=4.0)
ordinary("the model has no answer", plain, says={1.0: "well"}, seconds=5.0)


class Says(Agent):
    """Greets with a sentence."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_enter(self) -> None:
        note("enters")
        await self.session.say("Welcome to the shop.")
        note("has greeted")

    async def on_exit(self) -> None:
        note("exits")


class Replies(Agent):
    """Has the model greet."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_enter(self) -> None:
        self.session.generate_reply(instructions="greet the user")


ordinary("on_enter says", Says, says={5.0: "hello"}, answers=TALK)
ordinary(
    "on_enter has the model greet",
    Replies,
    says={5.0: "hello"},
    answers=TALK | {"greet the user": "Welcome."},
)


class Slow(Agent):
    """Takes its time to enter."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_enter(self) -> None:
        await asyncio.sleep(2.0)
        note("has entered")


ordinary("on_enter takes two seconds", Slow, says={3.0: "hello"}, answers=TALK)


class Completes(Agent):
    """Adds to what the model is shown."""

    def __init__(self, how: str = "adds") -> None:
        super().__init__(instructions="Help.")
        self.how = how

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        note(f"the user said {new_message.text_content}")
        if self.how == "adds":
            turn_ctx.items.insert(-1, llm.ChatMessage(role="assistant", content=["(a note)"]))
        elif self.how == "changes":
            new_message.content = ["good bye"]
        elif self.how == "stops":
            raise StopResponse
        elif self.how == "fails":
            raise LookupError("no luck")
        elif self.how == "waits":
            await asyncio.sleep(0.8)


for how in ("adds", "changes", "stops", "fails", "waits"):
    ordinary(
        f"on_user_turn_completed {how}",
        lambda how=how: Completes(how),  # type: ignore[misc]
        says={1.0: "hello"},
        answers=TALK,
    )


class Nodes(Agent):
    """Overrides every node."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def stt_node(self, audio: Any, model_settings: Any) -> Any:
        async for event in Agent.default.stt_node(self, audio, model_settings):
            yield event

    async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
        note("the model is asked")
        async for chunk in Agent.default.llm_node(self, chat_ctx, tools, model_settings):
            yield chunk

    async def tts_node(self, text: AsyncIterable[str], model_settings: Any) -> Any:
        async for frame in Agent.default.tts_node(self, text, model_settings):
            yield frame

    async def transcription_node(self, text: Any, model_settings: Any) -> Any:
        async for part in Agent.default.transcription_node(self, text, model_settings):
            yield part


class Fixed(Agent):
    """Needs no model."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
        yield "I always "
        yield "say this."


class Text(Agent):
    """A node that returns text at once."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def llm_node(self, chat_ctx: Any, tools: Any, model_settings: Any) -> Any:
        await asyncio.sleep(0.3)
        return "I say this."


ordinary("all nodes", Nodes, says=SAYS, answers=TALK)
ordinary("an llm_node of its own", Fixed, says={1.0: "hello"})
ordinary("an llm_node that returns text", Text, says={1.0: "hello"})


class Waiter(Agent):
    """Takes over."""

    def __init__(self, how: str = "says", **options: Any) -> None:
        super().__init__(instructions="Wait.", **options)
        self.how = how

    async def on_enter(self) -> None:
        note(f"the waiter enters, {self.how}")
        if self.how == "says":
            self.session.say("I am your waiter.")
        elif self.how == "replies":
            self.session.generate_reply(instructions="introduce yourself")


class Host(Agent):
    """Hands over to a waiter."""

    def __init__(self, how: str = "says") -> None:
        super().__init__(instructions="Host.")
        self.how = how

    async def on_exit(self) -> None:
        note("the host exits")

    @function_tool
    async def seat(self, context: RunContext[Any]) -> Any:
        """Seat the guest."""
        if self.how == "alone":
            return Waiter("says")
        if self.how == "keeps":
            return Waiter("says", chat_ctx=self.chat_ctx), "seated"
        if self.how == "updates":
            context.session.update_agent(Waiter("says"))
            return "seated"
        return Waiter(self.how), "seated"


for how in ("says", "replies", "quiet", "alone", "keeps", "updates"):
    ordinary(
        f"a handoff by a tool, {how}",
        lambda how=how: Host(how),  # type: ignore[misc]
        says={1.0: "a table please", 8.0: "hello"},
        answers=TALK
        | {
            "a table please": Answer("This way.", (("seat", "{}"),)),
            "introduce yourself": "I am your waiter.",
            "seated": "You are seated.",
        },
        seconds=13.0,
    )
ordinary(
    "update_agent from outside",
    Host,
    says={1.0: "hello", 6.0: "good bye"},
    does={3.5: lambda session: session.update_agent(Waiter())},
    answers=TALK,
    seconds=11.0,
)


class AskName(AgentTask[str]):
    """Asks for the name."""

    def __init__(self) -> None:
        super().__init__(instructions="Ask for the name.")

    async def on_enter(self) -> None:
        self.session.say("What is your name?")

    @function_tool
    async def take(self, name: str) -> None:
        """Take the name."""
        self.complete(name)


class Clinic(Agent):
    """Has tasks done."""

    def __init__(self, how: str) -> None:
        super().__init__(instructions="Help.")
        self.how = how

    async def on_enter(self) -> None:
        if self.how == "enter":
            note(f"the name is {await AskName()}")
            self.session.say("Thank you.")
        elif self.how == "group":
            group = TaskGroup(summarize_chat_ctx=False)
            group.add(AskName, id="name", description="the name")
            note((await group).task_results)
            self.session.say("Thank you.")

    @function_tool
    async def register(self) -> str:
        """Register the patient."""
        return f"registered {await AskName()}"


NAME = {"Ada": Answer("", (("take", '{"name": "Ada"}'),)), "registered Ada": "Welcome Ada."}
ordinary("a task in on_enter", lambda: Clinic("enter"), says={4.0: "Ada"}, answers=NAME)
ordinary(
    "a group of tasks in on_enter",
    lambda: Clinic("group"),
    says={4.0: "Ada"},
    answers=NAME,
    kits=("ours",),
)
ordinary(
    "a task in a tool",
    lambda: Clinic("tool"),
    says={1.0: "register me", 6.0: "Ada"},
    answers=NAME | {"register me": Answer("At once.", (("register", "{}"),))},
    seconds=12.0,
)
