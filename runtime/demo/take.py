"""One run of the conversation, and its recordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field
from livekit.agents import llm

from turnfsm.fsm import Flow
from turnfsm.runtime.livekit.session import TurnSession

from .parts import Stack
from .prompter import Prompter
from .recorder import Recorder, Scribe
from .robot import Robot
from .script import CONVERSATION, Cue, Line, When
from .view import View

__all__ = ["Take", "hold"]

_MAX_WAIT = 30.0  # seconds of conversation within which the situation for a line occurs
_OCCASION = 12.0  # the same if it may never occur


@define
class Take:
    """The recordings of a conversation. They are filled while it runs, so that an interrupted run
    has them."""

    recorder: Recorder
    scripted: bool
    model: llm.LLM[Any] | None = None
    history: Sequence[Any] = ()
    position: int = 0
    stopped: str = ""  # why it did not finish
    transcribed: list[str] | None = None  # None: there was no audio
    log: list[str] = field(factory=list)

    @property
    def records(self) -> Sequence[Mapping[str, Any]]:
        """The journal, in conversation time."""
        return self.recorder.records

    @property
    def end(self) -> float:
        """The time of the last record."""
        return max((float(record.get("t", 0.0)) for record in self.records), default=0.0)

    @property
    def committed(self) -> list[Mapping[str, Any]]:
        """The records of the user's turns that were committed."""
        return [
            record
            for record in self.records
            if record.get("trigger") == "turn_committed" and record["verdict"] == "taken"
        ]

    def notes(self, kind: str) -> list[Mapping[str, Any]]:
        """The notes of one kind."""
        return [record for record in self.records if record.get("note") == kind]

    def messages(self, role: str) -> list[str]:
        """The messages of the user or the assistant in the history."""
        return [
            item.text_content or ""
            for item in self.history
            if isinstance(item, llm.ChatMessage) and item.role == role
        ]


async def hold(stack: Stack, flow: Flow, take: Take, view: View) -> None:
    """Play all lines of the user to a session that the flow governs."""
    take.model = stack.llm
    session: TurnSession[Any] = TurnSession(
        **stack.options(), flow=flow, sinks=[take.recorder], proof="warn"
    )
    stack.attach(session)
    take.recorder.align(session.turn)
    scribe = Scribe(session, session.turn, stack)
    robot = Robot(stack.pace)
    view.attach(session.turn, stack.pace)
    try:
        await session.start(robot)
        await _converse(take, stack, scribe, Prompter(session, stack.output, stack.pace))
    except TimeoutError as error:
        take.stopped = str(error)
    finally:
        scribe.finish()
        take.history = list(session.history.items)
        await session.aclose()
        take.position = robot.position


async def _converse(take: Take, stack: Stack, scribe: Scribe, prompter: Prompter) -> None:
    for line in CONVERSATION:
        if take.scripted:
            await prompter.wait_for(line.cue, max_wait=_MAX_WAIT)
        elif not await _occasion(line, prompter):
            continue
        scribe.line(line)
        start = stack.pace.now()
        end = await stack.say(line)
        prompter.spoken(line)
        scribe.spoken(line, start, end)
    await prompter.wait_for(Cue(When.QUIET, 1.0), max_wait=_MAX_WAIT)


async def _occasion(line: Line, prompter: Prompter) -> bool:
    """Whether the situation occurs. With a model that is not scripted it may not."""
    max_wait = _MAX_WAIT if line.cue.when is When.QUIET else _OCCASION
    try:
        await prompter.wait_for(line.cue, max_wait=max_wait)
    except TimeoutError:
        return line.cue.when is When.QUIET
    return True
