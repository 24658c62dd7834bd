"""Conversations with tools, as a new user writes them."""

from __future__ import annotations

import asyncio
from typing import Any

from conversations import Answer, note, ordinary
from livekit.agents import (
    Agent,
    RunContext,
    StopResponse,
    ToolError,
    function_tool,
    mock_tools,
)
from livekit.agents.llm import Toolset

WEATHER = {
    "how is the weather": Answer("Let me see.", (("weather", '{"city": "Rome"}'),)),
    "rain in Rome": "It rains in Rome.",
}
ASKS = {1.0: "how is the weather"}


@function_tool
async def weather(city: str) -> str:
    """Say how the weather is."""
    await asyncio.sleep(0.5)
    return f"rain in {city}"


def agent_with(*tools: Any) -> Any:
    """An agent with these tools."""
    return lambda: Agent(instructions="Help.", tools=list(tools))


ordinary("a tool", agent_with(weather), says=ASKS, answers=WEATHER)
ordinary(
    "a tool without a preamble",
    agent_with(weather),
    says=ASKS,
    answers=WEATHER | {"how is the weather": Answer("", (("weather", '{"city": "Rome"}'),))},
)


class Methods(Agent):
    """Its tools are methods."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")
        self.asked = 0

    @function_tool
    async def weather(self, city: str) -> str:
        """Say how the weather is."""
        self.asked += 1
        note(f"asked {self.asked}")
        return f"rain in {city}"


ordinary("a tool that is a method", Methods, says=ASKS, answers=WEATHER)


@function_tool
async def fails(city: str) -> str:
    """Fail."""
    raise ToolError("there is no such city")


@function_tool
async def breaks(city: str) -> str:
    """Break."""
    raise LookupError(city)


@function_tool
async def silent() -> None:
    """Return nothing."""
    note("silent ran")


@function_tool
async def stops() -> str:
    """Return something and want no reply."""
    raise StopResponse


for name, tool, output, says in (
    ("fails with a ToolError", fails, "there is no such city", "I do not know it."),
    ("breaks", breaks, "An internal error occurred", "That did not work."),
):
    ordinary(
        f"a tool that {name}",
        agent_with(tool),
        says={1.0: "how is Atlantis"},
        answers={
            "how is Atlantis": Answer("", ((tool.info.name, '{"city": "Atlantis"}'),)),
            output: says,
        },
    )
ordinary(
    "a tool that returns nothing",
    agent_with(silent),
    says={1.0: "go", 4.0: "and now"},
    answers={"go": Answer("Going.", (("silent", "{}"),)), "and now": "All done."},
)
ordinary(
    "a tool that wants no reply",
    agent_with(stops),
    says={1.0: "go"},
    answers={"go": Answer("Going.", (("stops", "{}"),))},
)
ordinary(
    "a tool that nobody has",
    agent_with(weather),
    says={1.0: "go"},
    answers={"go": Answer("", (("fly", "{}"),))},
)
ordinary(
    "arguments that are wrong",
    agent_with(weather),
    says={1.0: "go"},
    answers={"go": Answer("", (("weather", '{"town": 1}'),))},
)


@function_tool
async def first() -> str:
    """Be quick."""
    await asyncio.sleep(0.2)
    return "one"


@function_tool
async def second() -> str:
    """Be slow."""
    await asyncio.sleep(0.6)
    return "two"


ordinary(
    "two tools at once",
    agent_with(first, second),
    says={1.0: "both"},
    answers={
        "both": Answer("Both.", (("first", "{}"), ("second", "{}"))),
        "two": "There you are.",
        "one": "There you are.",
    },
)
ordinary(
    "tool after tool",
    agent_with(first, second),
    says={1.0: "go"},
    answers={
        "go": Answer("First.", (("first", "{}"),)),
        "one": Answer("Second.", (("second", "{}"),)),
        "two": "Both are done.",
    },
    seconds=12.0,
)
ordinary(
    "the same tool in two turns",
    agent_with(weather),
    says={1.0: "how is the weather", 8.0: "and now"},
    answers=WEATHER | {"and now": Answer("", (("weather", '{"city": "Oslo"}'),)),
                       "rain in Oslo": "It rains there too."},
    seconds=14.0,
)  # fmt: skip


@function_tool
async def waits(context: RunContext[Any]) -> str:
    """Wait for what is being said."""
    await context.wait_for_playout()
    note("the preamble has been heard")
    return "waited"


@function_tool
async def announces(context: RunContext[Any]) -> str:
    """Say something and wait."""
    await context.session.say("Please hold the line.")
    note("said")
    return "announced"


@function_tool
async def mentions(context: RunContext[Any]) -> str:
    """Say something and do not wait."""
    context.session.say("One moment please.")
    await asyncio.sleep(0.5)
    return "mentioned"


@function_tool
async def asks_the_model(context: RunContext[Any]) -> str:
    """Have the model say something."""
    await context.session.generate_reply(instructions="be patient")
    return "asked"


for name, tool, output in (
    ("waits for its preamble", waits, "waited"),
    ("says something and waits for it", announces, "announced"),
    ("says something meanwhile", mentions, "mentioned"),
    ("has the model say something", asks_the_model, "asked"),
):
    ordinary(
        f"a tool that {name}",
        agent_with(tool),
        says={1.0: "go"},
        answers={
            "go": Answer("I am going.", ((tool.info.name, "{}"),)),
            output: "There we are.",
            "be patient": "Please be patient.",
        },
        seconds=12.0,
    )


@function_tool
async def fills(context: RunContext[Any]) -> str:
    """Say a filler while it works."""
    async with context.with_filler("Still looking.", delay=0.5, interval=3.0):
        await asyncio.sleep(5.0)
    return "filled"


@function_tool
async def quick_filler(context: RunContext[Any]) -> str:
    """End before its filler is due."""
    async with context.with_filler("Still looking.", delay=5.0):
        await asyncio.sleep(0.5)
    return "filled"


@function_tool
async def reports(context: RunContext[Any]) -> str:
    """Work in the background."""
    await context.update("it takes a while")
    await asyncio.sleep(4.0)
    return "at last"


@function_tool
async def reports_twice(context: RunContext[Any]) -> str:
    """Report progress."""
    await context.update("begun")
    await asyncio.sleep(4.0)
    await context.update("half")
    await asyncio.sleep(4.0)
    return "at last"


@function_tool
async def in_front(context: RunContext[Any]) -> str:
    """Come back to the foreground."""
    await context.update("begun")
    await asyncio.sleep(4.0)
    async with context.foreground():
        await context.session.say("First this.")
        await context.session.say("Then that.")
        note("in the foreground")
    return "at last"


for name, tool in (
    ("says fillers", fills),
    ("needs no filler", quick_filler),
    ("goes on in the background", reports),
    ("reports twice", reports_twice),
    ("comes to the foreground", in_front),
):
    ordinary(
        f"a tool that {name}",
        agent_with(tool),
        says={1.0: "go"},
        answers={
            "go": Answer("I am going.", ((tool.info.name, "{}"),)),
            "filled": "Found it.",
            "at last": "It is done.",
            "it takes a while": "It takes a while.",
            "begun": "It has begun.",
            "half": "Half of it.",
        },
        seconds=18.0,
    )
ordinary(
    "a talk beside a tool in the background",
    agent_with(reports),
    says={1.0: "go", 4.0: "what else"},
    answers={
        "go": Answer("I am going.", (("reports", "{}"),)),
        "it takes a while": "It takes a while.",
        "what else": "Nothing else.",
        "at last": "It is done.",
    },
    seconds=16.0,
)


@function_tool
async def protects(context: RunContext[Any]) -> str:
    """Must not be interrupted."""
    context.disallow_interruptions()
    await asyncio.sleep(1.0)
    return "protected"


ordinary(
    "a tool that must not be interrupted",
    agent_with(protects),
    says={1.0: "go"},
    answers={"go": Answer("I am going.", (("protects", "{}"),)), "protected": "It is safe."},
)


class Box(Toolset):
    """A box of tools."""

    def __init__(self) -> None:
        super().__init__(id="box", tools=[weather])


ordinary(
    "a toolset",
    lambda: Agent(instructions="Help.", tools=[Box()]),
    says=ASKS,
    answers=WEATHER,
)


async def mocked(session: Any) -> None:
    """An eval: the tool is replaced."""
    with mock_tools(Methods, {"weather": lambda: "rain in a test"}):
        result = await session.run(user_input="how is the weather")
    note([type(event).__name__ for event in result.events])


ordinary(
    "an eval with a mocked tool",
    Methods,
    does={1.0: mocked},
    answers=WEATHER | {"rain in a test": "It rains in a test."},
)


class Greeter(Methods):
    """Greets when it enters."""

    async def on_enter(self) -> None:
        self.session.say("Hello there.")


ordinary(
    "an eval while the agent greets",
    Greeter,
    does={2.5: mocked},
    answers=WEATHER | {"rain in a test": "It rains in a test."},
    seconds=12.0,
)
