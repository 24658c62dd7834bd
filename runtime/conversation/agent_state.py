"""The agent state that LiveKit publishes, as a projection of the machine's state."""

from __future__ import annotations

import asyncio
from typing import Any

from turnfsm.runtime.turn import TurnRuntime

from .ports import Session

__all__ = ["LABELS", "AgentState"]

LABELS = {
    "listening": "listening",
    "thinking": "thinking",
    "tool_running": "thinking",
    "speaking": "speaking",
    "paused": "listening",
    "interrupted": "listening",
}
"""State to label; states of a user's own are published as ``thinking``."""

GAP = 0.02
"""Seconds of silence inside a step, or after an interruption, before the label says so. Playout
ends some loop turns before LiveKit gives the floor back, and an interrupted step some loop turns
before the next one takes it; without the gap the label would flicker each time."""


class AgentState:
    """Keeps LiveKit's agent state what the machine says."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.turn: TurnRuntime
        self._timer: asyncio.TimerHandle | None = None
        self._settling = False  # an interruption that has not been shown yet
        self.muted = False

    def project(self, otel_context: Any = None, start_time: float | None = None) -> None:
        """Publish the label of the state that is held."""
        if self.muted:
            return
        state = self.turn.state
        self._settling = state == "interrupted" or (self._settling and state == "listening")
        if self._settling or (self._in_gap and self._session.agent_state == "speaking"):
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(GAP, self._gap_over)
            return
        self._publish(LABELS.get(state, "thinking"), otel_context, start_time)

    def close(self) -> None:
        """Publish nothing that has waited."""
        self._settling = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def _in_gap(self) -> bool:
        turn = self.turn
        busy = turn.holds("tools_running") or turn.holds("reply_due")
        return turn.state == "thinking" and turn.holds("playout_started") and not busy

    def _gap_over(self) -> None:
        self._publish(LABELS.get(self.turn.state, "thinking"), None, None)

    def _publish(self, label: str, otel_context: Any, start_time: float | None) -> None:
        self.close()
        self._session.publish(label, otel_context, start_time)
