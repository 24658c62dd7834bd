"""TurnGovernor: puts a flow in charge of the turns of a Pipecat pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pipecat.pipeline.llm_switcher import LLMSwitcher
from pipecat.processors.aggregators.llm_response_universal import LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallParams, LLMService
from pipecat.transports.base_transport import TransportParams
from pipecat.turns.user_turn_strategies import UserTurnStrategies

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.runtime.arguments import check_keywords, check_limits, check_timers
from turnfsm.runtime.conversation.session_turn import SessionTurn
from turnfsm.runtime.conversation.vocabulary import flow_for
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.proof import Proof, require_proof
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.store.protocol import Store
from turnfsm.runtime.view.live import LiveView, sinks_of

from .agent import Reports
from .calls import Handler
from .pauses import pauses_of
from .pipeline import gated
from .refusals import (
    refuse_idle_timeout,
    refuse_own_strategies,
    refuse_verdicts_of_the_model,
)
from .session import PipecatSession
from .sources import check_flow
from .strategies import FlowMutes, governed, service_strategies

if TYPE_CHECKING:
    from turnfsm.runtime.observe.telemetry import Telemetry

__all__ = ["TurnGovernor"]

Params = TypeVar("Params", bound=TransportParams)

NEVER_ASKS = 86_400.0
"""Pipecat's own time limit of a user turn does not ask the flow, so it is set to a day; `Ends`
replaces it."""


class TurnGovernor:
    """Governs the turns of one pipeline. Make a new one for each conversation.

    Args:
        flow: The flow that governs the turns: a `Flow`, the name of a shipped one, or a path.
        timers: Seconds that override those of the flow. `math.inf`: never.
        limits: A set of limits, such as ``"brisk"``: seconds for the timers that are ``never`` in
            the flow.
        sinks: Each gets every record of the journal, such as a `JsonlSink`.
        actions: An object with a method for each action and host fact that a flow of your own
            declares.
        posts: The triggers of a flow of your own that you post yourself, with ``turn.post(...)``.
        proof: For a flow that is not proved: ``require`` raises, ``warn`` logs and records it,
            ``off`` does not check.
        on_report: Called with an `AgentStateChanged`, a `FalseInterruption`, a `TurnLimitReached`
            or a `TurnWaitsLong`.
        store: Where the conversation is saved, so that another worker can continue it: a path, the
            address of a database, or a store.
        session_id: The name under which the other worker finds it.
        telemetry: Send metrics to OpenTelemetry: True for the global provider, or a
            `Telemetry`.
        audit: Check the journal against the flow's properties while it is written. `on_report` gets
            a `Broken`; there is also a warning and a count.
        view: Show the conversation on a page in the browser while it runs. True means
            http://127.0.0.1:8765, ``"host:port"`` another address, a `LiveView` your own page. By
            default the environment variable TURNFSM_VIEW decides.
        observe: Decide nothing: the pipeline stays as it is, and the flow follows its frames. The
            journal has the flow's decisions, and a note ``otherwise`` for what the flow has refused
            or decided differently. Only `flow`, `timers`, `limits`, `sinks` and `view` count then.

    Raises:
        FlowError: The flow cannot be used, or is not proved.
        HostError: The flow cannot run on Pipecat; the message says why, and what to do.
        TurnfsmError: An argument is of the wrong kind; the message says what to write.

    Example::

        governor = TurnGovernor()
        transport = LocalAudioTransport(governor.transport(LocalAudioTransportParams(...)))
        pair = LLMContextAggregatorPair(
            LLMContext(tools=[book_table]),
            user_params=governor.user(LLMUserAggregatorParams(vad_analyzer=...)),
        )
        before = [transport.input(), stt, pair.user()]
        behind = [llm, tts, transport.output(), pair.assistant()]
        pipeline = Pipeline(governor.processors([*before, *behind]))
    """

    if not TYPE_CHECKING:  # type checkers see this class in either case

        def __new__(cls, *args: Any, observe: bool = False, **options: Any) -> Any:
            known = signature(cls.__init__).parameters | signature(TurnGovernor.__init__).parameters
            check_keywords(cls.__name__, options, known)
            if not observe:
                return super().__new__(cls)
            if cls is not TurnGovernor:
                raise TurnfsmError(
                    f"an observing governor has none of the methods of {cls.__name__}; write "
                    "TurnGovernor(observe=True, ...), and move what the application calls out of "
                    f"{cls.__name__}"
                )
            from .observed import ObservingGovernor  # imports the audit

            return ObservingGovernor(*args, **options)

    def __init__(
        self,
        flow: Flow | str | Path = "turn",
        *,
        timers: Mapping[str, float] | None = None,
        limits: str | None = None,
        sinks: Iterable[Sink] = (),
        actions: object | None = None,
        posts: Iterable[str] = (),
        proof: Proof = "require",
        on_report: Reports | None = None,
        store: Store | str | Path | None = None,
        session_id: str | None = None,
        telemetry: bool | Telemetry = False,
        audit: bool = False,
        view: LiveView | bool | str | None = None,
        observe: bool = False,
    ) -> None:
        self._flow = flow_for(flow, "a Pipecat pipeline")
        unproved = require_proof(self._flow, proof)
        seconds = check_limits(self._flow, limits if limits is not None else self._flow.limits)
        self._recommends = False  # Pipecat would use the strategies that a service recommends
        self._session = PipecatSession(
            self._flow,
            {**seconds, **check_timers(self._flow, timers)},
            unproved,
            actions=actions,
            sinks=sinks_of(self._flow, sinks, view),
            on_report=on_report,
            telemetry=telemetry,
            audit=audit,
            store=store,
            session_id=session_id,
        )
        self._parts = self._session.parts
        check_flow(self._flow, posts, self._session.left_over)

    # -- putting it into a pipeline

    def transport(self, params: Params) -> Params:
        """The transport's parameters, with a filter of the audio output that can pause it, and with
        a mixer for `backchannels` if the flow has them.

        Your own filter and mixer stay, and run first.
        """
        self._parts.add("transport")
        session = self._session
        session.tap.wrap(params.audio_out_filter)
        update: dict[str, Any] = {"audio_out_filter": session.tap}
        if session.has_backchannels:
            mixer = session.backchannel_mixer
            update["audio_out_mixer"] = mixer.around(params.audio_out_mixer)
        governed: Params = params.model_copy(update=update)
        return governed

    def user(self, params: LLMUserAggregatorParams | None = None) -> LLMUserAggregatorParams:
        """The user aggregator's parameters, with strategies that ask the flow."""
        self._parts.add("user")
        params = params or LLMUserAggregatorParams()
        refuse_verdicts_of_the_model(params)
        refuse_idle_timeout(self._flow, params)
        self._recommends = params.user_turn_strategies is None
        hearing = self._session.hearing
        hearing.pauses = pauses_of(self._flow, params.vad_analyzer)
        params = replace(
            params,
            vad_analyzer=hearing.pauses or params.vad_analyzer,
            user_mute_strategies=[*params.user_mute_strategies, FlowMutes(hearing)],
        )
        agent, check = self._session.agent, self._parts.check
        if agent.own_turns is not None:
            refuse_own_strategies(params)
            return replace(
                params, user_turn_strategies=service_strategies(agent, agent.own_turns, check)
            )
        own = params.user_turn_strategies or UserTurnStrategies()
        patience = params.user_turn_stop_timeout
        return replace(
            params,
            user_turn_strategies=governed(own, agent, patience, check),
            user_turn_stop_timeout=NEVER_ASKS,
        )

    def processors(self, processors: Sequence[FrameProcessor]) -> list[FrameProcessor]:
        """The pipeline's processors, with gates between them.

        Raises:
            HostError: This pipeline cannot post a trigger of the flow, or carry out an action. The
                message names them, and says what to do.
            TurnfsmError: The argument is no list of processors.
        """
        return gated(self._session, processors, adopts=self._recommends)

    def register_function(
        self,
        llm: LLMService[Any] | LLMSwitcher[Any],
        name: str | None,
        handler: Handler,
        *,
        cancel_on_interruption: bool | None = None,
        timeout_secs: float | None = None,
    ) -> None:
        """Register a function whose calls the flow governs. Replaces `llm.register_function`.

        Args:
            llm: The LLM service of the pipeline, or its `LLMSwitcher`.
            name: The function's name; None for all functions without their own handler.
            handler: Takes `FunctionCallParams`, and calls their `result_callback`.
            cancel_on_interruption: True: the policy ``cancel``. False: ``detach``. By default the
                flow or the decorator `on_interruption` decides.
            timeout_secs: Seconds after which a call is cancelled, and the model is told.
        """
        wrapped = self._session.agent.functions.governed(
            name,
            handler,
            handler,
            cancel_on_interruption=cancel_on_interruption,
            timeout_secs=timeout_secs,
        )
        llm.register_function(name, wrapped)

    async def commit_point(self, call: FunctionCallParams | None = None) -> None:
        """Call this in a tool right before a side effect. It raises if the user has objected.

        If the user is speaking, it waits until it is known whether they object.

        Args:
            call: The tool's parameter. By default the call that runs here: a function of Pipecat
                Flows does not get it.

        Raises:
            SpeechInterrupted: The user has objected, or the application has interrupted the turn.
                If the tool does not catch it, its message becomes the result.
            TurnfsmError: No governed call runs here.

        Example::

            async def book_table(call: FunctionCallParams) -> None:
                await governor.commit_point(call)
                await call.result_callback(await book(**call.arguments))
        """
        calls = self._session.agent.calls
        await calls.commit_point(calls.running(call))

    def call_key(self, call: FunctionCallParams | None = None) -> str:
        """The key of a call, unique over all conversations of a store.

        Pass it to a service as its idempotency key. After a crash `recover_with` gets the same key.

        Args:
            call: As in `commit_point`.
        """
        calls = self._session.agent.calls
        return calls.key(calls.running(call))

    # -- the conversation

    async def restore(self) -> Past | None:
        """Take over the conversation from the previous worker.

        The start of the pipeline does this by itself. Call it before to learn whether there is a
        conversation to continue, for example whether the user was greeted.

        Returns:
            The restored conversation; None if no worker had it before, or if there is no store.

        Raises:
            StoreError: The store cannot be used, or the conversation cannot be continued.

        Example::

            governor = TurnGovernor(store="calls.db", session_id=room)
            greets = await governor.restore() is None
        """
        return await self._session.restore()

    @property
    def epoch(self) -> int:
        """How many workers have had the conversation, including this one; 0 without a store."""
        return self._session.keeping.epoch if self._session.keeping is not None else 0

    @property
    def turn(self) -> SessionTurn:
        """The runtime: `state`, `facts`, `journal`, `ask`, `post`, `observe` and `expect`."""
        return self._session.turn

    @property
    def ledger(self) -> Ledger:
        """Every tool call."""
        return self._session.ledger

    @property
    def agent_state(self) -> str:
        """``listening``, ``thinking`` or ``speaking``."""
        return self._session.agent.agent_state

    @property
    def user_turns(self) -> Mapping[str, int]:
        """How many turns of the user have ended, by outcome: `replied`, `silent`, `superseded`,
        `dropped`."""
        return {**self._session.conductor.log.turns.outcomes}
