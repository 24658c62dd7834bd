"""A clerk on Pipecat. It needs no keys: caller, model, voice and loudspeaker are scripts.

python examples/pipecat/clerk.py            governed
python examples/pipecat/clerk.py stock      Pipecat alone
"""

import asyncio
import sys
from dataclasses import dataclass, field

from loguru import logger
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import (
    LLMContextAggregatorPair,
    LLMUserAggregatorParams,
)
from pipecat.services.llm_service import FunctionCallParams
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_start import VADUserTurnStartStrategy
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from turnfsm import Taken
from turnfsm.pipecat import TurnGovernor
from turnfsm.testing.pipecat import Loudspeaker, Messages, Microphone, Says, ScriptedModel, Voice

TOOLS = ToolsSchema([FunctionSchema("transfer", "Transfer money.", {}, [])])


def answer(messages: Messages) -> Says:
    """Make a transfer when asked to, and say what the tool has given."""
    last = messages[-1]
    if last["role"] != "user":
        return Says("Your fifty euros are on their way to Anna.")
    if "transfer" in last["content"]:
        return Says("One moment please.", (("transfer", {"amount": 50}),))
    return Says("You are welcome.")


@dataclass
class Clerk:
    """One call: the parts of a pipeline, and what has come of it."""

    governed: bool = True
    transfers: list[int] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)

    async def transfer(self, call: FunctionCallParams) -> None:
        """The tool."""
        await asyncio.sleep(3.0)
        self.transfers.append(call.arguments["amount"])
        await call.result_callback("50 euros were transferred")

    def make_pipeline(self) -> Pipeline:
        """As any pipeline of Pipecat; five lines are about the governor."""
        self.caller, self.context = Microphone(), LLMContext(tools=TOOLS)
        model, words = ScriptedModel(answer), list[str]()
        output = TransportParams(audio_out_enabled=True, audio_out_sample_rate=16_000)
        strategies = UserTurnStrategies(
            start=[VADUserTurnStartStrategy()], stop=[SpeechTimeoutUserTurnStopStrategy()]
        )
        user = LLMUserAggregatorParams(user_turn_strategies=strategies)
        governor = TurnGovernor() if self.governed else None
        if governor is not None:
            governor.turn.observe(lambda seq, verdict: self._note(verdict))
            output, user = governor.transport(output), governor.user(user)
            governor.register_function(model, "transfer", self.transfer)
        else:
            model.register_function("transfer", self.transfer)
        pair = LLMContextAggregatorPair(self.context, user_params=user)
        self.loudspeaker = Loudspeaker(words, output)
        spoken = [Voice(words), self.loudspeaker]
        parts = [self.caller, pair.user(), model, *spoken, pair.assistant()]
        return Pipeline(parts if governor is None else governor.processors(parts))

    async def take_call(self) -> None:
        """The caller coughs while the tool runs, and while the answer is spoken."""
        worker = PipelineWorker(
            self.make_pipeline(), cancel_on_idle_timeout=False, enable_rtvi=False
        )
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(worker)
        running = asyncio.ensure_future(runner.run())
        await asyncio.sleep(1.0)
        await self._hears("please transfer fifty euros to Anna")
        await asyncio.sleep(3.0)
        await self._hears()
        await asyncio.sleep(3.0)
        await self._hears()
        await asyncio.sleep(5.0)
        await self._hears("thank you")
        await asyncio.sleep(4.0)
        await worker.cancel()
        await running

    async def _hears(self, words: str = "") -> None:
        print(f"caller: {words or '(coughs)'}")
        if words:
            await self.caller.says(words, 0.3 * len(words.split()))
        else:
            await self.caller.makes_noise(0.4)

    def _note(self, verdict: object) -> None:
        if isinstance(verdict, Taken) and verdict.entered:
            self.moves.append(f"{verdict.trigger} -> {verdict.dest}")
            print(f"        {self.moves[-1]}")


if __name__ == "__main__":
    logger.remove()
    clerk = Clerk(governed="stock" not in sys.argv)
    asyncio.run(clerk.take_call())
    for message in clerk.context.messages:
        if isinstance(message, dict):
            print(message["role"], message.get("content"))
    print("transfers:", clerk.transfers)
