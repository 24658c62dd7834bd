"""A stage that is played step by step, for tests that decide while it runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Generic

from turnfsm.runtime.testing.clock import VirtualClock, VirtualLoop

from .outcome import Outcome
from .stage import Action, SessionT, Stage

__all__ = ["LiveStage"]


class LiveStage(Generic[SessionT]):
    """Plays a `Stage` step by step, in virtual time.

    Between two steps a test may look at the session, let the user speak
    (``stage.user.says(..., at=stage.now)``) or do anything else. With hypothesis it is the system
    under a `RuleBasedStateMachine`.

    Args:
        stage: The stage. It is played once.
        make_loop: `VirtualLoop`, or a `PermutedLoop` of a seed.

    Example:
        >>> from turnfsm.livekit import TurnSession
        >>> from turnfsm.testing import LiveStage, ScriptedUser, Stage
        >>> user = ScriptedUser().says("hello there my friend", at=1.0)
        >>> with LiveStage(Stage(TurnSession, user=user)) as play:
        ...     play.advance(1.5)
        ...     print(play.stage.session.user_state)
        ...     outcome = play.finish()
        speaking
    """

    def __init__(
        self, stage: Stage[SessionT], make_loop: Callable[..., VirtualLoop] = VirtualLoop
    ) -> None:
        self.stage = stage
        self._make_loop = make_loop
        self._enough = asyncio.Event()
        self._open = ExitStack()

    def __enter__(self) -> LiveStage[SessionT]:
        clock = VirtualClock()
        self._open.enter_context(clock.patched())
        runner = asyncio.Runner(loop_factory=lambda: self._make_loop(clock, limit=3600.0))
        self._loop = self._open.enter_context(runner).get_loop()
        self._playing = self._loop.create_task(self.stage.play(self._enough))
        self.advance(0.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def advance(self, seconds: float) -> None:
        """Let time pass.

        Args:
            seconds: How much.

        Raises:
            AssertionError: The stage has ended by itself.
        """
        self._loop.run_until_complete(asyncio.sleep(seconds))
        assert not self._playing.done(), self._playing.exception()

    def act(self, action: Action[SessionT]) -> None:
        """Do something now, as `Stage.at` does."""
        self.stage.at(self.stage.now, action)
        self.advance(0.0)

    def finish(self) -> Outcome:
        """Close the session, and return what was observed."""
        self._enough.set()
        return self._loop.run_until_complete(self._playing)
