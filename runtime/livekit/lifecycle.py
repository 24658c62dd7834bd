"""Runs the session's own flow, `specs/session.yaml`: when a run begins, and when it ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextvars import copy_context
from typing import Any

from livekit.agents.voice.run_result import RunResult

from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.pump import Event
from turnfsm.runtime.turn import TurnRuntime

from .overrides.run import GovernedRun
from .overrides.session import GovernedSession

__all__ = ["SessionLifecycle"]

logger = logging.getLogger("turnfsm")


class SessionLifecycle:
    """The host of the session's own flow. Its methods implement the actions and host facts of the
    same names.

    Attributes:
        waiting: The reply of the run that waits until the agents are settled.
    """

    def __init__(self, session: GovernedSession[Any], timers: Mapping[str, float]) -> None:
        self._session = session
        self._run: GovernedRun | None = None
        self.waiting: dict[str, Any] | None = None
        self._context = copy_context()  # when that run was requested
        self._reported: object = None  # agent_position when report_unsettled ended the wait
        self.runtime = TurnRuntime(load_shipped("session"), self, timers=timers)
        self.timers = {**self.runtime.flow.timers, **timers}

    # -- what happens

    def started(self) -> None:
        """`start` has returned."""
        self._post("session_started")
        self.agent_phase_changed()

    def agent_phase_changed(self) -> None:
        """An agent was entered, or a handoff has progressed. Post this again when `on_enter` of the
        active agent has returned."""
        self._post("agent_phase_changed")
        activity = self._session.activity
        if activity is not None and not self.settled():
            activity.when_entered(self._entered)

    def run_progressed(self) -> None:
        """The active run waits for less than before."""
        if self._run is not None:
            self._post("run_progressed")

    def speech_left_floor(self) -> None:
        """A speech has returned the floor. If it was a question to the user, a run may end."""
        if self._run is not None and self.user_asked():
            self._post("question_heard")

    def closing(self) -> None:
        """The session closes."""
        self._post("close_requested")

    async def aclose(self) -> None:
        """The session has closed."""
        self._post("session_closed")
        await self.runtime.aclose()

    def request(self, result: RunResult[Any], **reply: Any) -> RunResult[Any]:
        """Begin a run as soon as the agents are settled.

        Raises:
            RuntimeError: Another run is active or waits, or the session closes. The text is
                LiveKit's.
        """
        if self._session.closing:
            raise RuntimeError("AgentSession is closing, cannot use run()")
        if (
            self.run_waiting()
            or self._session.run_is_active
            or not self.runtime.ask("run_requested")
        ):
            raise RuntimeError("nested runs are not supported")
        self._run = GovernedRun.adopt(result, self.run_progressed)
        self._run.when_done(self._ended)
        self.waiting, self._context = reply, copy_context()
        self._post("run_requested")
        return result

    # -- host facts

    def settled(self) -> bool:
        """No handoff is in progress, and `on_enter` of the active agent has returned.

        Also true after `report_unsettled`, until the next handoff.
        """
        return self._session.agents_settled or self._reported == self._session.agent_position

    def run_idle(self) -> bool:
        """Everything that the active run waits for has ended."""
        return self._run is not None and self._run.waits_for_rest_only

    def run_complete(self) -> bool:
        """No speech of the active run was interrupted, and each of its calls has an output."""
        return self._run is not None and self._run.whole

    def run_waiting(self) -> bool:
        """A run waits until the agents are settled."""
        return self.waiting is not None

    def user_asked(self) -> bool:
        """A call waits for a yes of the user, who has heard the question."""
        return self._session._conductor.host.confirming.question_heard()

    # -- actions

    def begin_run(self, event: Event) -> None:
        """Generate the reply of the run."""
        run, waiting = self._run, self.waiting
        if run is None or waiting is None:
            return
        self.waiting = None
        try:
            self._context.run(self._session.begin_run, run, **waiting)
        except Exception as error:
            run.fail(error)

    def end_run(self, event: Event) -> None:
        """Give the run its result."""
        if self._run is not None:
            self._run.end()

    def end_asked_run(self, event: Event) -> None:
        """Give the run its result before its reply has ended."""
        if self._run is not None:
            self._run.end_now()

    def fail_run(self, event: Event) -> None:
        """End the waiting run with an error."""
        self.waiting = None
        if self._run is not None:
            self._run.fail(RuntimeError("session closed before the run could begin"))

    def cancel_tools(self, event: Event) -> None:
        """Cancel the calls that the close would wait for."""
        self._session._conductor.tools.cancel_released()

    def cancel_entering(self, event: Event) -> None:
        """Cancel an `on_enter` that the close would wait for."""
        self._cancel_hooks(entering=True)

    def cancel_hooks(self, event: Event) -> None:
        """Cancel the other hooks that the close would wait for."""
        self._cancel_hooks(entering=False)

    def report_unsettled(self, event: Event) -> None:
        """Stop waiting for the agents to settle. Log a warning, unless a handoff waits for
        speech."""
        self._reported = self._session.agent_position
        activity = self._session.activity
        if activity is not None and activity.entering:
            logger.warning(
                "on_enter of %s did not end in time; the session continues without waiting for it",
                activity.label,
            )

    # -- inside

    def _cancel_hooks(self, *, entering: bool) -> None:
        if (activity := self._session.activity) is not None:
            activity.cancel_hooks(entering=entering)

    def _post(self, trigger: str) -> None:
        if not self.runtime.closed:
            self.runtime.post(trigger)

    def _entered(self) -> None:
        # The task's last action, such as requesting a handoff, must take effect first.
        asyncio.get_running_loop().call_soon(self._session.agent_phase_changed)

    def _ended(self, run: GovernedRun) -> None:
        if run is self._run:
            self._run = self.waiting = None
            self._post("run_ended")
