"""The conversation on a TurnSession."""

from typing import Any, Protocol

from livekit.agents import ToolExecutionUpdatedEvent

from turnfsm.fsm import Flow
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.livekit.stock import AgentSession

from .pace import Pace
from .parts import Stack
from .prompter import Prompter
from .recorder import Scribe
from .robot import Robot
from .script import CONVERSATION
from .take import Take, converse

__all__ = ["SessionStack", "hold", "prompter_of", "scribe_of"]


class SessionStack(Stack, Protocol):
    """The components of a session."""

    @property
    def output(self) -> Any:
        """LiveKit's audio output."""

    def options(self) -> dict[str, Any]:
        """The keyword arguments of the session."""

    def attach(self, session: AgentSession[Any]) -> None:
        """Attach the microphone and the audio output to the session, before it starts."""


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

    def tool(event: ToolExecutionUpdatedEvent) -> None:
        if event.update.type == "tool_call_started":
            prompter.tool_started(event.update.function_call.call_id)
        elif event.update.type == "tool_call_ended":
            prompter.tool_ended(event.update.call_id)

    session.on("tool_execution_updated", tool)
    output.on("playback_started", lambda _: prompter.answer_began())
    return prompter


def scribe_of(session: TurnSession[Any], stack: SessionStack) -> Scribe:
    """A scribe that the session and its output report to."""
    scribe = Scribe(session.turn, stack)

    def tool(event: ToolExecutionUpdatedEvent) -> None:
        if event.update.type == "tool_call_started":
            call = event.update.function_call
            scribe.tool_started(call.call_id, call.name, call.arguments)
        elif event.update.type == "tool_call_ended":
            scribe.tool_ended(event.update.call_id, event.update.status)

    def transcribed(event: Any) -> None:
        if event.is_final:
            scribe.transcribed(event.transcript)

    session.on("tool_execution_updated", tool)
    session.on("user_input_transcribed", transcribed)
    session.on("agent_state_changed", lambda e: scribe.agent_state(e.old_state, e.new_state))
    session.on("agent_false_interruption", lambda e: scribe.false_interruption(resumed=e.resumed))
    stack.output.on("playback_finished", lambda e: scribe.played(cut=e.interrupted))
    return scribe
