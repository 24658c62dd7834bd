"""What an ordinary conversation is: an agent as a new user writes it, and what is said to it."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import attrs
from livekit.agents import Agent, AgentSession

__all__ = ["TALKS", "Answer", "Course", "Listener", "Talk", "note", "ordinary", "recording"]

Do = Callable[[AgentSession[Any]], Any]


@attrs.frozen
class Answer:
    """What the model says to a text: words, then calls of tools with their arguments as JSON."""

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()


@attrs.frozen(eq=False)
class Talk:
    """One conversation.

    Attributes:
        name: What it is.
        agent: Makes the agent that begins.
        says: When the user says what.
        answers: What the model answers to the last text that it is shown: words of the user, the
            output of a tool, or instructions. If there are several, each is given once, in order;
            then the last one.
        does: What the application does, and when.
        options: Of the session; `turn_handling` is merged over VAD.
        seconds: How long it takes.
        model: A pipeline, a realtime model, or one that detects turns by itself.
        kits: `fakes` is left out where LiveKit's fakes cannot play it.
    """

    name: str
    agent: Callable[[], Agent]
    says: tuple[tuple[float, str], ...] = ()
    answers: Mapping[str, Answer | str | tuple[Answer | str, ...]] = attrs.field(factory=dict)
    does: tuple[tuple[float, Do], ...] = ()
    options: Mapping[str, Any] = attrs.field(factory=dict)
    seconds: float = 9.0
    model: Literal["pipeline", "realtime", "server"] = "pipeline"
    kits: tuple[str, ...] = ("ours", "fakes")

    def answer(self, text: str, before: int = 0) -> Answer:
        """The answer to a text; nothing where there is none.

        `before`: how often the model was shown the text before.
        """
        found = self.answers.get(text, Answer())
        if isinstance(found, tuple):
            found = found[min(before, len(found) - 1)]
        return Answer(found) if isinstance(found, str) else found


TALKS: list[Talk] = []
"""Every ordinary conversation."""


def ordinary(name: str, agent: Callable[[], Agent], **fields: Any) -> None:
    """Write one down; `says` and `does` may be dicts."""
    for key in ("says", "does"):
        fields[key] = tuple(dict(fields.get(key, ())).items())
    TALKS.append(Talk(name, agent, **fields))


@attrs.define
class Course:
    """What came of it, by lane; each line with its time."""

    lanes: dict[str, list[tuple[float, str]]] = attrs.field(factory=dict)

    def add(self, lane: str, at: float, what: str) -> None:
        """One line; without what differs from run to run."""
        self.lanes.setdefault(lane, []).append((at, re.sub(r" at 0x[0-9a-f]+", "", what)))


class Listener:
    """Writes down what a session publishes and what the conversation's own code notes."""

    def __init__(self) -> None:
        self.course = Course()
        self._origin = asyncio.get_running_loop().time()

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time() - self._origin

    def add(self, lane: str, what: str) -> None:
        self.course.add(lane, self.now, what)

    def attach(self, session: AgentSession[Any]) -> None:
        """Listen to every event."""
        on: Any = session.on
        on("agent_state_changed", lambda e: self.add("states", f"{e.old_state} -> {e.new_state}"))
        on("user_state_changed", lambda e: self.add("user", f"{e.old_state} -> {e.new_state}"))
        on("user_input_transcribed", lambda e: self.add("stt", f"{e.transcript} {e.is_final}"))
        on("conversation_item_added", lambda e: self.add("items", _item(e.item)))
        on("function_tools_executed", lambda e: self.add("executed", _executed(e)))
        on("tool_execution_updated", lambda e: self.add("tools", _tool(e.update)))
        on("speech_created", lambda e: self.add("speeches", f"{e.source} {e.user_initiated}"))
        on("agent_false_interruption", lambda e: self.add("false", str(e.resumed)))
        on("error", lambda e: self.add("errors", type(e.error).__name__))
        on("close", lambda e: self.add("close", e.reason.value))
        on("metrics_collected", lambda e: self.add("metrics", type(e.metrics).__name__))


_listeners: list[Listener] = []


@contextmanager
def recording(listener: Listener) -> Iterator[Listener]:
    """Notes go to this listener."""
    _listeners.append(listener)
    try:
        yield listener
    finally:
        _listeners.pop()


def note(what: object) -> None:
    """Something that the conversation's own code saw."""
    if _listeners:
        _listeners[-1].add("notes", str(what))


async def act(at: float, do: Do, session: AgentSession[Any]) -> None:
    """Do something at a moment; what it raises is noted."""
    if _listeners:
        await asyncio.sleep(max(0.0, at - _listeners[-1].now))
    try:
        result = do(session)
        if inspect.isawaitable(result):
            await result
    except Exception as error:
        note(f"raised {type(error).__name__}: {error}")


def _item(item: Any) -> str:
    if item.type == "message":
        return f"{item.role}: {item.text_content}" + " (interrupted)" * item.interrupted
    return str(item.type)


def _executed(event: Any) -> str:
    pairs = [(call.name, out.output if out else None) for call, out in event.zipped()]
    return f"{pairs} reply={event.has_tool_reply} handoff={event.has_agent_handoff}"


def _tool(update: Any) -> str:
    message = getattr(update, "message", "")
    return f"{type(update).__name__} {getattr(update, 'status', '')} {message}"
