"""Publishes the agent state (listening, thinking, speaking) that belongs to the flow's state."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnfsm.fsm.machine import Taken

from .core import Core

__all__ = ["AgentState", "Publish"]

Publish = Callable[[str], None]
"""Publishes an agent state."""

GAP = 0.02
"""Seconds of silence inside a step, or after an interruption, before the agent state follows.

Playout ends shortly before the step returns the floor, and an interrupted step ends shortly before
the next one takes it. No framework signals whether another step follows. Without the gap the
agent state would flicker."""


class AgentState:
    """Publishes an agent state for each state of the flow."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._timer: asyncio.TimerHandle | None = None
        self._published = "initializing"
        self._settling = False  # interrupted, but the new state is not published yet
        self._busy = False  # a request to the model or a tool call is running
        self._busy_meanwhile = False  # one that has begun while other speech was playing
        self._ready = False  # `start` has published the end of initializing
        self.muted = False

    def wanted(self, published: str, publish: Publish, step: str | None) -> None:
        """The framework wants to publish an agent state. Only it knows whether a request is
        running.

        Args:
            published: The agent state.
            publish: Publishes an agent state.
            step: The step that has the floor.
        """
        self._ready = True
        reported = published == "listening" or (
            published == "thinking" and not self._waits_after(step)
        )
        if published in ("thinking", "listening"):
            self._busy = published == "thinking" or self._busy_meanwhile
            self._busy_meanwhile = published == "thinking" and self._declared() == "speaking"
        self.project(publish, reported=reported)

    def project(self, publish: Publish | None = None, *, reported: bool = False) -> None:
        """Publish the agent state for the flow's current state.

        Args:
            publish: Publishes it; the session by default.
            reported: The framework has reported the end of playout, so do not wait for the gap.
        """
        if self.muted:
            return
        state = self._core.turn.state
        self._busy = self._busy or (state != "thinking" and self._declared() == "thinking")
        self._settling = state == "interrupted" or (self._settling and state == "listening")
        silent = self._published == "speaking" and self._declared() == "thinking"
        between = state == "listening" and self._busy  # another step may begin
        if self._settling or between or (silent and not reported):
            if self._timer is None:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(GAP, self._gap_over)
            return
        self._publish(self._current(), publish or self._core.session.publish)

    def close(self) -> None:
        """Cancel a pending publication."""
        self._settling = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _waits_after(self, step: str | None) -> bool:
        """Whether the turn waits for the user when this step has returned the floor."""
        flow, after = (
            self._core.turn.flow,
            None if step is None else self._core.turn.ask("step_finished", step),
        )
        if not isinstance(after, Taken) or after.dest == flow.initial:
            return False
        return flow.states[after.dest].agent_state == "listening"

    def _gap_over(self) -> None:
        if self._core.turn.state in ("listening", "interrupted"):
            self._busy = False
        self._publish(self._current(), self._core.session.publish)

    def _current(self) -> str:
        state, before = self._core.turn.state, self._published
        if state == "thinking" and not self._busy:
            # Speech that no model generated is about to be played, or was played.
            return "listening" if self._ready else before
        return self._declared()

    def _declared(self) -> str:
        return self._core.turn.flow.states[self._core.turn.state].agent_state

    def _publish(self, published: str, publish: Publish) -> None:
        self.close()
        self._published = published
        publish(published)
