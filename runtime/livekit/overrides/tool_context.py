"""The context of a running tool, and whether it hands over to the agent that it returns."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any, cast

from livekit.agents import Agent, ToolError, llm
from livekit.agents.voice.agent_session import Userdata_T
from livekit.agents.voice.events import RunContext
from livekit.agents.voice.generation import make_tool_output
from livekit.agents.voice.speech_handle import SpeechHandle

from turnfsm.runtime.conversation.tool_call import UNKNOWN, ToolCall
from turnfsm.runtime.livekit.errors import SpeechInterrupted

from .speech import GovernedHandle

__all__ = [
    "REFUSED",
    "GovernedContext",
    "TurnContext",
    "hand_over",
    "hands_over",
    "refuse_handoff",
    "refused",
    "without_agent",
]


REFUSED = "the handoff did not happen: its turn was interrupted"


class TurnContext(RunContext[Userdata_T]):
    """The `RunContext` of a tool in a `TurnSession`. Annotate the parameter with either class.

    In an observed session (``observe=True``) `commit_point` does nothing, and the rest does what it
    does in a `RunContext`.

    Example:
        >>> from livekit.agents import function_tool
        >>> from turnfsm.livekit import TurnContext
        >>> @function_tool
        ... async def book_table(ctx: TurnContext, time: str) -> str:
        ...     '''Book a table.'''
        ...     await ctx.commit_point()  # raises if the user has objected
        ...     return f"booked for {time}"
    """

    async def wait_for_playout(self) -> None:
        """As `RunContext.wait_for_playout`.

        Raises:
            SpeechInterrupted: The user has objected before the tool took effect.
        """
        await super().wait_for_playout()

    async def commit_point(self) -> None:
        """Call this right before a side effect. It raises if the user has objected.

        If the user is speaking, it waits until it is known whether they object.

        Raises:
            SpeechInterrupted: The user has objected, or the application has interrupted the turn.
                If the tool does not catch it, the call ends with this error.
        """

    @property
    def call_key(self) -> str:
        """The key of this call, unique over all sessions of a store.

        Pass it to a service as its idempotency key. After a crash `recover_with` gets the same key.
        """
        return f"{self.speech_handle.id}/{self.function_call.call_id}"


class GovernedContext(TurnContext[Userdata_T]):
    """The context in a governed session."""

    async def wait_for_playout(self) -> None:
        speech, call = self.speech_handle, self._call
        if isinstance(speech, GovernedHandle) and call is not None and call.state != "reported":
            await speech.unless_interrupted(super().wait_for_playout())
            await speech._conductor.objections.known(call, "await_transcript")
            if (output := speech._conductor.tools.cut_wait(call.id)) is not None:
                raise SpeechInterrupted(speech.id, output)
        await super().wait_for_playout()

    @property
    def _call(self) -> ToolCall | None:
        speech = self.speech_handle
        if not isinstance(speech, GovernedHandle):
            return None
        return speech._conductor.tools.get(self.function_call.call_id)

    async def commit_point(self) -> None:
        speech = self.speech_handle
        keeping = speech._conductor.keeping if isinstance(speech, GovernedHandle) else None
        if keeping is not None and (why := await keeping.before_effect()) is not None:
            raise SpeechInterrupted(speech.id, why)
        # A pending interruption must come before the side effect, but cannot be detected. So every
        # ready callback runs first.
        await asyncio.sleep(0)
        if (call := self._call) is not None and isinstance(speech, GovernedHandle):
            await speech._conductor.objections.known(call, "await_transcript")
            refusal = call.refusal_of_effect()
        else:
            refusal = UNKNOWN if speech.interrupted else None
        if refusal is not None:
            raise SpeechInterrupted(speech.id, refusal)

    @property
    def call_key(self) -> str:
        speech = self.speech_handle
        keeping = speech._conductor.keeping if isinstance(speech, GovernedHandle) else None
        if keeping is None:
            return super().call_key
        return keeping.key_of(self.function_call.call_id, speech.id)

    @asynccontextmanager
    async def with_filler(
        self,
        source: Any,
        *,
        delay: float = 0,
        interval: float | None = None,
        max_steps: int | None = None,
    ) -> AsyncIterator[None]:
        """As `RunContext.with_filler`, but silent during a handoff.

        LiveKit refuses speech during a handoff, so the filler would end with an error. A filler
        that still waits for the user to be quiet when the work is done is dropped, as it would
        delay the result.
        """
        fillers: list[SpeechHandle] = []

        def say(step: int) -> Any:
            agent: Any = cast(Any, self.session).activity
            if agent is None or not agent.accepts_turns:
                return None
            filler = source(step) if callable(source) else source
            if isinstance(filler, str):
                fillers.append(filler := self.session.say(filler))
            return filler

        filling = super().with_filler(say, delay=delay, interval=interval, max_steps=max_steps)
        try:
            async with filling:
                yield
        finally:
            for handle in fillers:
                if isinstance(handle, GovernedHandle) and handle.held:
                    handle.stop("programmatic")

    def _make_update_output(self, message: Any, **how: Any) -> Any:
        message, refused = self._without_handoff(message)
        output = super()._make_update_output(message, **how)
        if refused and output.fnc_call_out is not None:
            refuse_handoff(output.fnc_call_out)
        return output

    def _make_update_pair(self, message: Any, **how: Any) -> Any:
        # its name in 2.0
        message, refused = self._without_handoff(message)
        pair = super()._make_update_pair(message, **how)  # type: ignore[misc]
        if refused:
            refuse_handoff(pair[1])
        return pair

    def _without_handoff(self, message: Any) -> tuple[Any, bool]:
        """LiveKit treats a handoff after an update of the call as an error. A handoff of an
        interrupted turn whose calls were answered is made or refused here."""
        speech = self.speech_handle
        if not (speech.interrupted and isinstance(speech, GovernedHandle) and hands_over(message)):
            return message, False
        rest = without_agent(message)
        if hand_over(self, message):
            return rest, False
        return (ToolError(REFUSED), False) if rest is None else (rest, True)


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
