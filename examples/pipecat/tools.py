"""The tool of the clerk, for the scenarios in this folder."""

import asyncio
from collections.abc import Awaitable, Callable

from pipecat.services.llm_service import FunctionCallParams

from turnfsm.pipecat import TurnGovernor


def tools(governor: TurnGovernor) -> dict[str, Callable[[FunctionCallParams], Awaitable[None]]]:
    """The handlers by name, as for `governor.register_function`."""

    async def transfer(call: FunctionCallParams) -> None:
        await asyncio.sleep(3.0)
        await governor.commit_point(call)
        await call.result_callback(f"{call.arguments['amount']} euros were transferred")

    return {"transfer": transfer}
