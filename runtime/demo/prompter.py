"""Waits until a line of the script is due."""

from collections.abc import Callable
from typing import Any

from .pace import Pace
from .parts import Speakers
from .script import Cue, Line, When

__all__ = ["Prompter", "wait_for"]

_LOOK = 0.05  # seconds of conversation between two checks


class Prompter:
    """Finds the situations that the cues of a script name.

    Whoever runs the session reports tools and utterances to it.
    """

    def __init__(self, session: Speakers, output: Any, pace: Pace) -> None:
        self._session = session
        self._output = output
        self._pace = pace
        self._tools: set[str] = set()
        self._answered = True  # an utterance of the agent has begun since the user's last line did

    def speaks(self, line: Line) -> None:
        """The user begins a line. A line with words needs an answer, which may begin before the
        recording of the line has ended in silence."""
        self._answered = self._answered and line.ignored

    def holds(self, when: When) -> bool:
        """Whether the situation holds now."""
        sounding: bool = self._output.sounding
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
        await wait_for(cue, self.holds, self._pace, max_wait)

    def tool_started(self, call_id: str) -> None:
        """A tool runs."""
        self._tools.add(call_id)

    def tool_ended(self, call_id: str) -> None:
        """It has ended."""
        self._tools.discard(call_id)

    def answer_began(self) -> None:
        """An utterance of the agent has begun."""
        self._answered = True


async def wait_for(cue: Cue, holds: Callable[[When], bool], pace: Pace, max_wait: float) -> None:
    """Wait until a situation has lasted long enough. Raises TimeoutError after this conversation
    time."""
    began = since = pace.now()
    while (now := pace.now()) - since < cue.seconds:
        if not holds(cue.when):
            since = now
        if now - began > max_wait:
            raise TimeoutError(f"no {cue.when} of {cue.seconds:g} s came in {max_wait:g} s")
        await pace.sleep(_LOOK)
