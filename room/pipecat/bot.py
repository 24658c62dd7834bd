"""The agent of the demo behind SmallWebRTC: a governed pipeline for each caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from attrs import define, field
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.llm_service import FunctionCallParams
from pipecat.transports.base_transport import TransportParams
from pipecat.transports.smallwebrtc.connection import SmallWebRTCConnection
from pipecat.transports.smallwebrtc.transport import SmallWebRTCTransport
from pipecat.workers.runner import WorkerRunner

from turnfsm.runtime.demo.pipecat.hold import PipelineStack, pipeline
from turnfsm.runtime.demo.robot import Robot
from turnfsm.runtime.demo.speech import RATE
from turnfsm.runtime.journal import JsonlSink
from turnfsm.runtime.pipecat.agent import AgentStateChanged
from turnfsm.runtime.pipecat.governor import TurnGovernor

__all__ = ["Site", "serving"]

_PAGE = Path(__file__).with_name("page.html")


@define
class Site:
    """The page, and the pipelines behind it. The n-th call writes the journal `call-n.jsonl`."""

    stack: PipelineStack
    journals: Path | None
    url: str = ""
    _calls: list[asyncio.Task[None]] = field(factory=list)
    _workers: list[PipelineWorker] = field(factory=list)

    async def page(self, request: web.Request) -> web.FileResponse:
        """The page."""
        return web.FileResponse(_PAGE)

    async def offer(self, request: web.Request) -> web.Response:
        """A browser calls."""
        connection = SmallWebRTCConnection()
        given = await request.json()
        await connection.initialize(sdp=given["sdp"], type=given["type"])
        self._calls.append(asyncio.create_task(self._answer(connection)))
        return web.json_response(connection.get_answer())

    async def calls_over(self) -> None:
        """Wait until every call has ended."""
        await asyncio.gather(*self._calls)

    async def aclose(self) -> None:
        """End the calls."""
        for worker in self._workers:
            await worker.cancel()
        await self.calls_over()

    async def _answer(self, connection: SmallWebRTCConnection) -> None:
        states: asyncio.Queue[str] = asyncio.Queue()

        def reported(report: object) -> None:
            if isinstance(report, AgentStateChanged):
                states.put_nowait(report.new)

        number, folder = len(self._calls), self.journals
        sinks = [JsonlSink(folder / f"call-{number}.jsonl", redact=None)] if folder else []
        governor = TurnGovernor("overlap", sinks=sinks, on_report=reported)
        params = TransportParams(
            audio_in_enabled=True,
            audio_in_sample_rate=RATE,
            audio_out_enabled=True,
            audio_out_sample_rate=self.stack.tts.sample_rate,
        )
        transport = SmallWebRTCTransport(connection, governor.transport(params))
        robot = Robot(self.stack.pace)
        tools = {"drive": _handler(robot.drive), "find_parcel": _handler(robot.find_parcel)}
        heard, spoken = [transport.input(), *self.stack.ears()], transport.output()
        worker = PipelineWorker(
            pipeline(governor, self.stack, LLMContext(), tools, heard, spoken),
            cancel_on_idle_timeout=False,
        )

        async def hung_up(*_: object) -> None:
            await worker.cancel()

        async def ready(*_: object) -> None:
            states.put_nowait(governor.agent_state)

        self._workers.append(worker)
        transport.add_event_handler("on_client_disconnected", hung_up)
        worker.rtvi.add_event_handler("on_client_ready", ready)
        publishing = asyncio.create_task(_publish(states, worker))
        runner = WorkerRunner(handle_sigint=False)
        try:
            await runner.add_workers(worker)
            await runner.run()
        finally:
            publishing.cancel()


async def _publish(states: asyncio.Queue[str], worker: PipelineWorker) -> None:
    while True:
        await worker.rtvi.send_server_message({"agent_state": await states.get()})


def _handler(
    tool: Callable[..., Awaitable[str]],
) -> Callable[[FunctionCallParams], Awaitable[None]]:
    async def handler(call: FunctionCallParams) -> None:
        await call.result_callback(await tool(**call.arguments))

    return handler


@asynccontextmanager
async def serving(
    stack: PipelineStack, journals: Path | None = None, port: int = 0
) -> AsyncIterator[Site]:
    """Serve the page at a port of this machine."""
    site = Site(stack, journals)
    app = web.Application()
    app.add_routes([web.get("/", site.page), web.post("/offer", site.offer)])
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        site.url = f"http://localhost:{runner.addresses[0][1]}/"
        yield site
    finally:
        await site.aclose()
        await runner.cleanup()
