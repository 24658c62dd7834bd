"""A tool has returned an agent: hand over to it, or refuse in the output."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from livekit.agents import Agent, ToolError, llm
from livekit.agents.voice.events import RunContext
from livekit.agents.voice.generation import make_tool_output

from .speech import GovernedHandle

__all__ = ["REFUSED", "hand_over", "hands_over", "refuse_handoff", "refused", "without_agent"]

REFUSED = "the handoff did not happen: its turn was interrupted"


def refuse_handoff(output: llm.FunctionCallOutput) -> None:
    """Add to a call's output that its handoff did not happen."""
    output.is_error = not output.output
    output.output = f"{output.output}; {REFUSED}" if output.output else REFUSED


def refused(call: llm.FunctionCall, output: Any) -> Any:
    """The output of a tool whose handoff is refused.

    LiveKit would replace the other values that the tool has returned with its own text.
    """
    result = make_tool_output(fnc_call=call, output=output, exception=None)
    if result.agent_task is None:
        return output  # LiveKit refuses more than one agent
    refuse_handoff(result.fnc_call_out)
    if result.fnc_call_out.is_error:
        raise ToolError(result.fnc_call_out.output)
    return result.fnc_call_out.output


def hands_over(output: Any) -> bool:
    """Whether a tool has returned an agent."""
    return any(isinstance(item, Agent) for item in _items(output))


def without_agent(output: Any) -> Any:
    """The return value without the agent."""
    others = [item for item in _items(output) if not isinstance(item, Agent)]
    return others[0] if len(others) == 1 else others or None


def hand_over(context: RunContext[Any], output: Any) -> bool:
    """Hand over to the agent that the tool of an interrupted turn has returned, if the flow allows
    it.

    LiveKit makes no handoff if the turn was interrupted during its preamble.
    """
    speech, agents = context.speech_handle, [i for i in _items(output) if isinstance(i, Agent)]
    assert isinstance(speech, GovernedHandle)
    call = context.function_call.call_id
    if len(agents) != 1 or not speech._conductor.tools.may_hand_over(call, speech):
        return False
    context.session.update_agent(agents[0])
    return True


def _items(output: Any) -> Collection[Any]:
    return output if isinstance(output, list | tuple | set | frozenset) else (output,)
