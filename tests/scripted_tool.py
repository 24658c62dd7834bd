"""Tools that take some time and give a result, for agents in tests."""

from __future__ import annotations

import asyncio
from typing import Any

from livekit.agents import function_tool

from turnfsm.fsm.tuning import Policy
from turnfsm.livekit import on_interruption

__all__ = ["tool"]


def tool(
    name: str,
    result: object = None,
    *,
    seconds: float = 0.0,
    policy: Policy | None = None,
    ran: list[str] | None = None,
) -> Any:
    """A tool that gives this result after so many seconds. `ran` gets its name when it begins."""

    async def work() -> object:
        if ran is not None:
            ran.append(name)
        if seconds:
            await asyncio.sleep(seconds)
        return result

    made = function_tool(work, name=name, description=f"The tool {name}.")
    return made if policy is None else on_interruption(policy)(made)
