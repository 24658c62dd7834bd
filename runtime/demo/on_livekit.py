"""The conversation on a TurnSession."""

from collections.abc import Callable
from typing import Any

from livekit.agents import ToolExecutionUpdatedEvent

from turnfsm.fsm import Flow
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .pace import Pace
from .parts import SessionStack
from .prompter import Prompter
from .recorder import Scribe
from .robot import Robot
from .script import CONVERSATION
from .take import Take, converse

__all__ = ["hold", "prompter_of", "scribe_of"]


async def hold(stack: SessionStack, flow: Flow, take: Take) -> None:
    """Play all lines of the user to a session that the flow governs."""
    take.model = stack.llm
    session: TurnSession[Any] = TurnSession(
        **stack.options(),
        flow=flow,
        timers=stack.pace.timers(flow),
        sinks=[take.recorder],
        proof="warn",
    )
    stack.attach(session)
    take.recorder.align(session.turn)
    scribe = scribe_of(session, stack)
    robot = Robot(stack.pace)
    try:
        await session.start(robot)
        await converse(CONVERSATION, stack, scribe, prompter_of(session, stack.output, stack.pace))
    except TimeoutError as error:
        take.stopped = str(error)
    finally:
        scribe.finish()
        take.history = list(session.history.items)
        await session.aclose()
        take.position = robot.position


def prompter_of(session: AgentSession[Any], output: Any, pace: Pace) -> Prompter:
    """A prompter that the session and its output report to."""
    prompter = Prompter(session, output, pace)
    _tools_of(
        session,
        lambda call: prompter.tool_started(call.call_id),
        lambda end: prompter.tool_ended(end.call_id),
    )
    output.on("playback_started", lambda _: prompter.answer_began())
    return prompter


def scribe_of(session: TurnSession[Any], stack: SessionStack) -> Scribe:
    """A scribe that the session and its output report to."""
    scribe = Scribe(session.turn, stack)
    note = scribe.note

    def transcribed(event: Any) -> None:
        if event.is_final:
            note("transcript", text=event.transcript)

    _tools_of(
        session,
        lambda call: scribe.tool_started(call.call_id, call.name, call.arguments),
        lambda end: scribe.tool_ended(end.call_id, end.status),
    )
    session.on("user_input_transcribed", transcribed)
    session.on(
        "agent_state_changed", lambda e: note("agent_state", old=e.old_state, new=e.new_state)
    )
    session.on(
        "agent_false_interruption", lambda e: note("agent_false_interruption", resumed=e.resumed)
    )
    stack.output.on("playback_finished", lambda e: scribe.played(interrupted=e.interrupted))
    return scribe


def _tools_of(
    session: AgentSession[Any], started: Callable[[Any], None], ended: Callable[[Any], None]
) -> None:
    def updated(event: ToolExecutionUpdatedEvent) -> None:
        if event.update.type == "tool_call_started":
            started(event.update.function_call)
        elif event.update.type == "tool_call_ended":
            ended(event.update)

    session.on("tool_execution_updated", updated)
