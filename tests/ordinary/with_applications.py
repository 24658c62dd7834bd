"""Conversations in which the application acts, as a new user writes them."""

from __future__ import annotations

import asyncio
from typing import Any

from conversations import Answer, note, ordinary
from livekit.agents import Agent
from with_agents import SAYS, TALK, Says, plain
from with_tools import ASKS, WEATHER, agent_with, weather


def say(session: Any) -> None:
    """A sentence."""
    session.say("This is an announcement.")


async def say_and_wait(session: Any) -> None:
    """A sentence that is waited for."""
    handle = await session.say("This is an announcement.")
    note(f"said, interrupted={handle.interrupted}")


def say_twice(session: Any) -> None:
    """Two sentences."""
    session.say("This is the first.")
    session.say("This is the second.")


def say_firmly(session: Any) -> None:
    """A sentence that nobody can interrupt."""
    session.say("This is the law.", allow_interruptions=False)


def say_aside(session: Any) -> None:
    """A sentence that is not in the conversation."""
    session.say("This is an aside.", add_to_chat_ctx=False)


async def stream() -> Any:
    """Words one by one."""
    for word in ("This ", "comes ", "in parts."):
        yield word
        await asyncio.sleep(0.05)


for name, do in (
    ("say", say),
    ("say, awaited", say_and_wait),
    ("say twice", say_twice),
    ("say without interruptions", say_firmly),
    ("say beside the conversation", say_aside),
    ("say a stream", lambda session: session.say(stream()) and None),
):
    ordinary(name, plain, does={1.0: do}, says={6.0: "hello"}, answers=TALK, seconds=11.0)


def reply(session: Any) -> None:
    """A reply by instructions."""
    session.generate_reply(instructions="tell a joke")


def typed(session: Any) -> None:
    """A reply to typed text."""
    session.generate_reply(user_input="hello")


async def typed_and_awaited(session: Any) -> None:
    """The same, waited for."""
    handle = session.generate_reply(user_input="hello")
    await handle
    note([item.type for item in handle.chat_items])


async def chat(session: Any) -> None:
    """As RoomIO takes typed text."""
    await session.interrupt()
    session.generate_reply(user_input="hello")


ANSWERS = TALK | {"tell a joke": "Ha ha."}
for name, do in (
    ("generate_reply with instructions", reply),
    ("generate_reply with user_input", typed),
    ("generate_reply, awaited", typed_and_awaited),
    ("typed text", chat),
):
    ordinary(name, plain, does={1.0: do}, says={5.0: "good bye"}, answers=ANSWERS)


async def run(session: Any) -> None:
    """An eval without tools."""
    result = await session.run(user_input="hello")
    result.expect.next_event().is_message(role="assistant")
    result.expect.no_more_events()
    note("as expected")


async def run_with_tool(session: Any) -> None:
    """An eval with a tool."""
    result = await session.run(user_input="how is the weather")
    note([type(event).__name__ for event in result.events])


ordinary("an eval", plain, does={1.0: run}, answers=TALK, seconds=6.0)
ordinary("an eval with a tool", agent_with(weather), does={1.0: run_with_tool}, answers=WEATHER)


async def runs(session: Any) -> None:
    """Two evals."""
    for text in ("hello", "good bye"):
        result = await session.run(user_input=text)
        note([event.item.text_content for event in result.events])


ordinary("two evals", plain, does={1.0: runs}, answers=TALK)
MANUAL = {"turn_handling": {"turn_detection": "manual"}}
ordinary(
    "manual turns",
    plain,
    says={1.0: "hello"},
    does={2.0: lambda session: session.commit_user_turn() and None},
    options=MANUAL,
    answers=TALK,
)
ordinary(
    "manual turns that are cleared",
    plain,
    says={1.0: "hello", 4.0: "good bye"},
    does={
        2.5: lambda session: session.clear_user_turn(),
        6.0: lambda session: session.commit_user_turn() and None,
    },
    options=MANUAL,
    answers=TALK,
    seconds=11.0,
)
ordinary(
    "without preemptive generation",
    plain,
    says=SAYS,
    options={"turn_handling": {"preemptive_generation": {"enabled": False}}},
    answers=TALK,
)
ordinary(
    "a tool without preemptive generation",
    agent_with(weather),
    says=ASKS,
    options={"turn_handling": {"preemptive_generation": {"enabled": False}}},
    answers=WEATHER,
)


def slower(session: Any) -> None:
    """Longer endpointing from now on."""
    session.update_options(endpointing_opts={"min_delay": 1.0})


ordinary("update_options", plain, says=SAYS, does={3.5: slower}, answers=TALK, seconds=10.0)


async def new_instructions(session: Any) -> None:
    """Other instructions from now on."""
    await session.current_agent.update_instructions("Be brief.")


async def new_tools(session: Any) -> None:
    """Other tools from now on."""
    await session.current_agent.update_tools([weather])


async def new_context(session: Any) -> None:
    """Another context from now on."""
    ctx = session.current_agent.chat_ctx.copy()
    ctx.add_message(role="assistant", content="(remember this)")
    await session.current_agent.update_chat_ctx(ctx)


ordinary("update_instructions", plain, says=SAYS, does={3.5: new_instructions}, answers=TALK)
ordinary("update_chat_ctx", plain, says=SAYS, does={3.5: new_context}, answers=TALK)
ordinary("update_tools", plain, says={2.0: "how is the weather"}, does={1.0: new_tools},
         answers=WEATHER)  # fmt: skip


async def drain(session: Any) -> None:
    """Wait until all has been said."""
    session.say("This is the last thing that I say.")
    await session.drain()
    note("drained")


def shut_down(session: Any) -> None:
    """Close when all has been said."""
    session.say("This is the last thing that I say.")
    session.shutdown()


async def close(session: Any) -> None:
    """Close now."""
    await session.aclose()
    note("closed")


ordinary("drain", plain, says={1.0: "hello"}, does={4.0: drain}, answers=TALK, seconds=10.0)
ordinary("shutdown", plain, says={1.0: "hello"}, does={4.0: shut_down}, answers=TALK, seconds=10.0)
ordinary(
    "shutdown at once",
    plain,
    does={2.0: lambda session: session.shutdown(drain=False)},
    seconds=5.0,
)
ordinary("aclose", Says, says={5.0: "hello"}, does={8.0: close}, answers=TALK, seconds=11.0)


def data(session: Any) -> None:
    """What is with the session."""
    note(session.userdata)
    session.userdata["seen"] = True
    note((session.agent_state, session.user_state, session.current_agent.instructions))


ordinary("userdata", plain, says={2.0: "hello"}, does={1.0: data, 6.0: data},
         options={"userdata": {"seen": False}}, answers=TALK)  # fmt: skip
ordinary(
    "away",
    plain,
    says={12.0: "hello"},
    options={"user_away_timeout": 3.0},
    answers=TALK,
    seconds=17.0,
    kits=("ours",),
)
ordinary(
    "a limit of steps",
    agent_with(weather),
    says=ASKS,
    options={"max_tool_steps": 1},
    answers=WEATHER | {"rain in Rome": Answer("More.", (("weather", '{"city": "Oslo"}'),))},
)
ordinary(
    "a greeting and an announcement",
    Says,
    does={0.5: say},
    says={8.0: "hello"},
    answers=TALK,
    seconds=12.0,
)
ordinary(
    "an agent with a context",
    lambda: Agent(instructions="Help.", chat_ctx=_before()),
    says={1.0: "hello"},
    answers=TALK,
)


def _before() -> Any:
    from livekit.agents import llm

    ctx = llm.ChatContext.empty()
    ctx.add_message(role="user", content="we spoke yesterday")
    ctx.add_message(role="assistant", content="so we did")
    return ctx
