"""Posts from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from turnfsm.fsm import TurnfsmError, Verdict

__all__ = ["from_thread"]


def from_thread(
    loop: asyncio.AbstractEventLoop | None,
    post: Callable[[], Verdict],
    closed: Callable[[], Verdict],
) -> Future[Verdict]:
    """Post in the loop's thread. The future cannot be cancelled.

    Args:
        closed: The verdict if the loop is closed.

    Raises:
        TurnfsmError: There is no loop yet.
    """
    if loop is None:
        message = "the runtime has no loop yet; start() it before other threads post"
        raise TurnfsmError(message)
    answer: Future[Verdict] = Future()
    answer.set_running_or_notify_cancel()

    def deliver() -> None:
        try:
            answer.set_result(post())
        except Exception as exc:
            answer.set_exception(exc)

    try:
        loop.call_soon_threadsafe(deliver)
    except RuntimeError:  # the loop is closed, so nothing will run there any more
        answer.set_result(closed())
    return answer
