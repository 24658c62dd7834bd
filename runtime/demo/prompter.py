"""Waits until a line of the script is due."""

from typing import Any

from livekit.agents import AgentSession, ToolExecutionUpdatedEvent

from .pace import Pace
from .parts import AudioOutput
from .script import Cue, Line, When

__all__ = ["Prompter"]

_LOOK = 0.05  # seconds of conversation between two checks


class Prompter:
    """Watches a session for the situations that the cues of a script name."""

    def __init__(self, session: AgentSession[Any], output: AudioOutput, pace: Pace) -> None:
        self._session = session
        self._output = output
        self._pace = pace
        self._tools: set[str] = set()
        self._answered = True  # an utterance of the agent has begun since the user last spoke
        session.on("tool_execution_updated", self._note_tool)
        output.on("playback_started", self._note_answer)

    def spoken(self, line: Line) -> None:
        """The user has finished a line. A line with words needs an answer."""
        self._answered = self._answered and line.ignored

    def holds(self, when: When) -> bool:
        """Whether the situation holds now."""
        sounding = self._output.sounding
        match when:
            case When.SPEAKING:
                return sounding
            case When.SILENT_TOOL:
                return bool(self._tools) and self._answered and not sounding
            case When.SILENT_STEP:
                return self._session.agent_state == "thinking" and not (self._tools or sounding)
        listening = self._session.agent_state == self._session.user_state == "listening"
        return listening and self._answered and not (self._tools or sounding)

    async def wait_for(self, cue: Cue, *, max_wait: float = 30.0) -> None:
        """Wait until the situation has lasted long enough. Raises TimeoutError after this
        conversation time."""
        began = since = self._pace.now()
        while (now := self._pace.now()) - since < cue.seconds:
            if not self.holds(cue.when):
                since = now
            if now - began > max_wait:
                raise TimeoutError(f"no {cue.when} of {cue.seconds:g} s came in {max_wait:g} s")
            await self._pace.sleep(_LOOK)

    def _note_tool(self, event: ToolExecutionUpdatedEvent) -> None:
        update = event.update
        if update.type == "tool_call_started":
            self._tools.add(update.function_call.call_id)
        elif update.type == "tool_call_ended":
            self._tools.discard(update.call_id)

    def _note_answer(self, _event: object) -> None:
        self._answered = True
