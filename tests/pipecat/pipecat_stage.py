"""The kit's stage, with what these tests ask of a conversation."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from pipecat.frames.frames import Frame, LLMRunFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.turns.user_mute import BaseUserMuteStrategy

from turnfsm.runtime.compare.pipecat.models import MODELS
from turnfsm.runtime.pipecat.schemas import FunctionSchema, tool_options
from turnfsm.runtime.testing import pipecat as kit
from turnfsm.runtime.testing.pipecat import Messages, Model, Says, Script, Tool
from turnfsm.testing import PermutedLoop, VirtualLoop

__all__ = [
    "ANSWER",
    "COUGH",
    "COUNT",
    "LATE",
    "PRICE",
    "QUESTION",
    "RESULT",
    "Greeted",
    "Stage",
    "asks_again",
    "brief",
    "coughs_at",
    "counts",
    "look_up",
    "moments",
    "orders",
]

counts, orders = MODELS["counts"], MODELS["orders"]

COUNT = "One two three four five six seven eight nine ten."
QUESTION = "when does my order arrive"
RESULT = "it arrives on Friday"
ANSWER = "Your order is on its way and will arrive on Friday in the early afternoon."
PRICE = "It cost twenty euros."
LATE = "It arrives on Friday."


class Stage(kit.Stage):
    """A conversation that leaves no task behind.

    Args:
        mutes: The application's mute strategies.
        idle: Pipecat's `user_idle_timeout`.
        source: How the application gives Pipecat its tools: with `register_function`, in a
            `FunctionSchema` with a handler, or as direct functions.

    Attributes:
        schedule: The seed of the order in which tasks run that are ready at the same time; None for
            that of asyncio.
    """

    schedule: int | None = None

    def __init__(
        self,
        *args: Any,
        mutes: Sequence[BaseUserMuteStrategy] = (),
        idle: float = 0.0,
        source: Literal["registered", "schema", "direct"] = "registered",
        **options: Any,
    ) -> None:
        self._source = source
        user = {"user_mute_strategies": list(mutes), "user_idle_timeout": idle}
        super().__init__(*args, user=lambda: user, **options)

    def play(self, script: Script, *, seconds: float = 30.0) -> "Stage":
        """Play a conversation of so many seconds."""
        seed = self.schedule
        self.script = script
        self.run(
            seconds, make_loop=VirtualLoop if seed is None else partial(PermutedLoop, seed=seed)
        )
        assert self.orphans == ()
        return self

    def _pipeline(self) -> Pipeline:
        if self._source == "registered":
            return super()._pipeline()
        tools, self._tools = self._tools, {}
        pipeline = super()._pipeline()
        self.context.set_tools([self._advertised(name, tool) for name, tool in tools.items()])
        return pipeline

    def _advertised(self, name: str, tool: kit.Tool) -> Any:
        handler = self._handler(name, tool)

        async def schema(params: Any) -> None:
            await handler(params)

        async def direct(params: Any, amount: int = 0, **others: str) -> None:
            await handler(params)

        direct.__name__ = name
        own = tool.mark(schema if self._source == "schema" else direct)
        if tool.options:
            own = tool_options(**tool.options)(own)
        if self._source == "direct":
            return own
        amount = {"amount": {"type": "integer"}}
        return FunctionSchema(name, "A tool.", amount, [], handler=own)

    @property
    def heard(self) -> str:
        """All words that were heard."""
        return " ".join(word.text for word in self.speaker.played if word.text)

    @property
    def beside(self) -> list[tuple[float, str]]:
        """The agent's backchannels: when each was heard, and its words."""
        return [(round(one.start - self.began, 1), one.text) for one in self.speaker.beside]

    @property
    def effects(self) -> list[str]:
        """What tools have done."""
        return [call.name for call in self.tools if call.effect is not None]

    @property
    def cancelled(self) -> list[str]:
        """The tools that were cancelled."""
        return [call.name for call in self.tools if call.cancelled]

    @property
    def requests(self) -> list[Messages]:
        """The messages of each request."""
        return [request.messages for request in self.asked]

    @property
    def user_turns(self) -> dict[str, int]:
        """How many turns have ended, by how."""
        assert self.governor is not None
        return {how: count for how, count in self.governor.user_turns.items() if count}

    def when(self, word: str) -> float:
        """The second at which a word was first heard."""
        played = self.speaker.played
        return next(one.start for one in played if one.text.strip(".,?") == word) - self.began


def brief(messages: Messages) -> list[str]:
    """The messages, each in a few words."""
    return [_brief(message) for message in messages]


def _brief(message: dict[str, Any]) -> str:
    if calls := message.get("tool_calls"):
        return f"call {calls[0]['function']['name']}"
    content = str(message.get("content"))
    try:
        payload = json.loads(content)
    except ValueError:
        payload = content
    if isinstance(payload, dict) and payload.get("type") == "async_tool":
        content = f"<{payload['status']} {payload.get('result', '')}>"
    return f"{message['role']}: {content}"


def look_up(seconds: float, **options: object) -> dict[str, Tool]:
    """The tool that looks an order up.

    Args:
        options: Those of its registration.
    """
    return {"look_up": Tool(seconds, RESULT, options)}


COUGH = ""
"""In `moments`: a noise."""


def moments(*happens: tuple[float, str | Frame] | tuple[float, str, float]) -> Script:
    """At each second: the user says these words or makes a noise, perhaps for so many seconds; or
    the application queues a frame."""

    async def script(stage: kit.Stage) -> None:
        for second, what, *lasts in happens:
            if second > stage.now:
                await stage.until(second)
            if isinstance(what, Frame):
                await stage.pushes(what)
            else:
                await (stage.says(what, *lasts) if what else stage.coughs(*lasts))

    return script


def coughs_at(*seconds: float, first: str = "please count", lasts: float = 0.4) -> Script:
    """They say something, and make a noise at these seconds."""
    return moments((0.0, first), *((second, COUGH, lasts) for second in seconds))


def asks_again(second: float, words: str = "and what did it cost") -> Script:
    """They ask, and ask something else at this second."""
    return moments((0.0, QUESTION), (second, words))


class Greeted(Stage):
    """A conversation with a realtime service. It begins with a greeting."""

    hello = "Hello there."

    def __init__(self, model: Model, *args: Any, **options: Any) -> None:
        def greets(messages: Messages) -> Says:
            spoken = any(message["role"] == "user" for message in messages)
            return model(messages) if spoken else Says(self.hello)

        super().__init__(greets, *args, **{"realtime": True, "speaks": False, **options})

    def talks(self, *happens: Any, seconds: float = 20.0) -> "Greeted":
        """Play it, with what the user and the application do after the greeting."""
        self.play(moments((0.0, LLMRunFrame()), *happens), seconds=seconds)
        return self

    @property
    def said(self) -> str:
        """All words that were heard after the greeting."""
        return self.heard.removeprefix(self.hello).strip()

    @property
    def on_server(self) -> list[str]:
        """The conversation that the server keeps, after the greeting."""
        assert self.server is not None
        return brief(self.server.conversation)[1:]

    @property
    def in_context(self) -> list[str]:
        return brief([dict(message) for message in self.context.messages])[1:]
