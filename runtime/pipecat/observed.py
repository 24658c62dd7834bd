"""A pipeline that a flow follows, and does not govern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor, FrameProcessorSetup
from pipecat.services.llm_service import FunctionCallParams
from pipecat.transports.base_transport import TransportParams

from turnfsm.fsm import Flow
from turnfsm.fsm.agenda.turns import OUTCOMES
from turnfsm.runtime.arguments import check_limits, check_timers
from turnfsm.runtime.conversation.vocabulary import flow_for
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.observe.following import Followed, Following
from turnfsm.runtime.view.live import LiveView, sinks_of

from .frame_recorder import FrameEvents
from .functions import marks_of
from .gates import Gate

__all__ = ["ObservingGovernor"]

Params = TypeVar("Params", bound=TransportParams)


class ObservingGovernor(Followed):
    """The result of `TurnGovernor(observe=True)`: a governor that changes nothing.

    Args:
        flow, timers, limits, sinks, view: As for `TurnGovernor`.
        others: Its other arguments, which have no effect here.
    """

    def __init__(
        self,
        flow: Flow | str | Path = "turn",
        *,
        timers: Mapping[str, float] | None = None,
        limits: str | None = None,
        sinks: Iterable[Sink] = (),
        view: LiveView | bool | str | None = None,
        **others: object,
    ) -> None:
        flow = flow_for(flow, "a Pipecat pipeline")
        limited = check_limits(flow, limits if limits is not None else flow.limits)
        seconds = {**limited, **check_timers(flow, timers)}
        self._following = Following(flow, seconds, sinks_of(flow, sinks, view))

    @property
    def user_turns(self) -> Mapping[str, int]:
        """As `TurnGovernor.user_turns`."""
        return {name: self._following.user_turns[name] for name in OUTCOMES}

    @property
    def agent_state(self) -> str:
        """The agent state of the flow that follows: ``listening``, ``thinking`` or ``speaking``."""
        return self.turn.flow.states[self.turn.state].agent_state or "listening"

    def transport(self, params: Params) -> Params:
        """The same parameters."""
        return params

    def user(self, params: LLMUserAggregatorParams | None = None) -> LLMUserAggregatorParams:
        """The same parameters."""
        return params or LLMUserAggregatorParams()

    def processors(self, processors: Sequence[FrameProcessor]) -> list[FrameProcessor]:
        """The same processors, and one that passes everything on."""
        return [*processors, _Observed(self._following)]

    def register_function(self, llm: Any, name: str | None, handler: Any, **options: Any) -> None:
        """As `llm.register_function`."""
        if name is not None:
            marks = marks_of(handler, options.get("cancel_on_interruption"))
            self._following.marked[name] = marks
        llm.register_function(name, handler, **options)

    async def commit_point(self, call: FunctionCallParams | None = None) -> None:
        """Do nothing."""

    def call_key(self, call: FunctionCallParams | None = None) -> str:
        """The id of the call; a new key if the call is not given."""
        return uuid4().hex if call is None else call.tool_call_id


class _Observed(Gate):
    """Adds the observer to the pipeline that it is in."""

    def __init__(self, following: Following) -> None:
        super().__init__(name="turnfsm.observed")
        self._following = following

    async def setup(self, setup: FrameProcessorSetup) -> None:
        await super().setup(setup)
        self._following.turn.start()
        setup.pipeline_worker.add_observer(FrameEvents(self._following.take))
