"""`TurnSession`: an `AgentSession` whose turns are governed by a flow."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, cast, overload
from weakref import WeakKeyDictionary

from livekit import rtc
from livekit.agents import NOT_GIVEN, Agent
from livekit.agents.types import NotGivenOr
from livekit.agents.utils import is_given
from livekit.agents.voice.agent_session import Run_T
from livekit.agents.voice.events import EventTypes
from livekit.agents.voice.run_result import RunOutputOptions, RunResult
from typing_extensions import TypeVar

from turnfsm.fsm import Flow, TurnfsmError
from turnfsm.fsm.journal import Closed
from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.arguments import check_keywords
from turnfsm.runtime.conversation.conductor import Conductor
from turnfsm.runtime.conversation.custom import CustomHost
from turnfsm.runtime.conversation.orphaned_calls import read_calls
from turnfsm.runtime.conversation.session_turn import SessionTurn
from turnfsm.runtime.conversation.vocabulary import flow_for
from turnfsm.runtime.journal import Sink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.livekit_contract import UnsupportedLiveKit
from turnfsm.runtime.observe.observers import telemetry_of
from turnfsm.runtime.observe.telemetry import Telemetry
from turnfsm.runtime.proof import Proof, require_proof
from turnfsm.runtime.store.keeping import Keeping
from turnfsm.runtime.store.past import Past
from turnfsm.runtime.store.protocol import SessionTaken, Store
from turnfsm.runtime.view.live import LiveView, sinks_of

from .backchannels import Backchannels
from .button import Button
from .checks import (
    check_arguments_of,
    check_ids_of_agents,
    check_names_of_tools,
    parameters_of,
    require_livekit,
    require_turn_detection,
    warn_of_turn_detection,
)
from .lifecycle import SessionLifecycle
from .observers import Observers
from .options import (
    SessionOptions,
    StartOptions,
    let_flow_hear,
    shows_options_of,
    with_turn_detection,
)
from .overrides import LEFT_OUT
from .overrides.session import GovernedSession
from .remote import RemoteTriggers
from .reports import Reports
from .restoring import take_up
from .seconds import Seconds
from .tuning import Tuner, set_pace

__all__ = ["TurnSession"]

TurnEvents = (
    EventTypes
    | Literal["turn_verdict", "turn_limit_reached", "turn_waits_long", "turn_property_broken"]
)
Handler = Callable[..., Any]

Userdata_T = TypeVar("Userdata_T", default=Any)  # a session without userdata needs no annotation


class TurnSession(Button[Userdata_T], Backchannels[Userdata_T], GovernedSession[Userdata_T]):
    """Replaces `AgentSession`. It takes the same arguments, and the following.

    Args:
        flow: The flow that governs the turns: a `Flow`, the name of a shipped one, or a path.
        timers: Seconds that override those of the flow, or of the flow `session`. `math.inf`:
            never.
        limits: A set of limits: seconds for the timers that are ``never`` in the flow. ``"brisk"``
            ends waits that a caller would not accept. By default a session waits as long as LiveKit
            does, and reports a long wait (``turn_waits_long``).
        sinks: Each gets every record of the journal, such as a `JsonlSink`.
        store: Where the session is saved, so that another worker can continue it: the path of a
            SQLite file, ``postgresql://...``, or a `Store`. See docs/store.md.
        session_id: The name under which another worker finds the session, such as the room's name.
        actions: An object with a method for each action and host fact that a flow of your own
            declares. Methods marked with `turn_action` and `host_fact`, in a subclass of the
            session or in the current agent, do not need it.
        proof: What happens with a flow that is not proved: ``require`` raises, ``warn`` logs and
            records it, ``off`` does not check. A flow is checked once on a machine, in about
            a second. The flows that come with turnfsm are proved already, and with them those that
            change only tool policies, phrases or tuning.
        telemetry: Send metrics and span events to OpenTelemetry: True for the global provider, or a
            `Telemetry`.
        audit: Check the journal against the flow's properties while it is written. A broken
            property causes the event ``turn_property_broken``, a warning and a count; nothing else
            changes.
        publish_state: Publish the state of the flow in the room, as the attribute ``turnfsm.state``
            of the agent's participant, next to LiveKit's ``lk.agent.state``.
        view: Show the session on a page in the browser while it runs. True means
            http://127.0.0.1:8765, ``"host:port"`` another address, a `LiveView` your own page. By
            default the environment variable TURNFSM_VIEW decides.
        observe: Decide nothing: make an `AgentSession`, and follow it with the flow. The journal
            has the flow's decisions, and a note ``otherwise`` for each action of the session that
            the flow refused or decided differently. Only `flow`, `timers`, `limits`, `sinks` and
            `view` count then. A subclass cannot be observed.
        strict: Raise if this livekit-agents lacks anything that turnfsm needs, or is outside the
            supported range. False: run without the features that it lacks; see `missing_features`.
        options: The arguments of `AgentSession`.

    Raises:
        UnsupportedLiveKit: This livekit-agents is not supported. The message names what is missing.
        FlowError: The flow cannot be used, or is not proved.
        HostError: The flow lacks a state or trigger that a session needs, or has an action or a
            host fact without a method.
        TurnfsmError: An argument is of the wrong kind; the message says what to write.

    Example:
        >>> from turnfsm.livekit import TurnSession
        >>> session = TurnSession(timers={"thinking_limit": 60.0})  # and stt=..., llm=..., tts=...
        >>> session.turn.state, session.timers["thinking_limit"]
        ('listening', 60.0)
    """

    if not TYPE_CHECKING:  # for type checkers it is always this class

        def __new__(cls, *args: Any, observe: bool = False, **options: Any) -> Any:
            if not observe:
                return super().__new__(cls)
            if cls is not TurnSession:
                raise TurnfsmError(
                    f"an observed session has none of the methods of {cls.__name__}; write "
                    "TurnSession(observe=True, ...), and move what the application calls out of "
                    f"{cls.__name__}, for example to the agent"
                )
            from .observed import observed_session  # it imports the audit

            known = inspect.signature(TurnSession.__init__).parameters
            check_keywords("TurnSession", options, known)
            return observed_session(**options)

    @shows_options_of(AgentSession.__init__)
    def __init__(
        self,
        *,
        flow: Flow | str | Path = "turn",
        timers: Mapping[str, float] | None = None,
        limits: str | None = None,
        sinks: Iterable[Sink] = (),
        store: Store | str | Path | None = None,
        session_id: str | None = None,
        actions: object | None = None,
        proof: Proof = "require",
        telemetry: bool | Telemetry = False,
        audit: bool = False,
        publish_state: bool = False,
        view: LiveView | bool | str | None = None,
        observe: bool = False,
        strict: bool = True,
        **options: Unpack[SessionOptions[Userdata_T]],
    ) -> None:
        require_livekit(strict=strict)
        check_keywords("TurnSession", options, inspect.signature(TurnSession.__init__).parameters)
        self._conductor: Conductor
        self._turn: SessionTurn
        self._life: SessionLifecycle
        self._custom: CustomHost
        self._flow = flow_for(flow, "a TurnSession")
        self._unproved = require_proof(self._flow, proof)
        self.load_backchannels(self._flow)
        self._actions = actions
        self._observers = Observers(
            telemetry_of(telemetry), audit, publish_state, super(AgentSession, self).emit
        )
        self._room: rtc.Room | None = None
        self._remote: RemoteTriggers | None = None
        options = with_turn_detection(self._flow, options)
        super().__init__(**options)
        interruption = cast(MutableMapping[str, Any], self.options.interruption)
        let_flow_hear(self._flow, options, interruption)
        set_pace(self, self._flow.pace)
        self.follow_microphone()
        self.inline_tasks = WeakKeyDictionary()
        self.vad_given = is_given(options.get("vad", NOT_GIVEN))
        self._resumes_after = self.options.interruption["false_interruption_timeout"]
        self._seconds = Seconds.of(self._flow, limits, timers)
        self._timers = self._seconds.turn(options, self._resumes_after)
        self._sinks = sinks_of(self._flow, sinks, view)
        self.ledger = Ledger()
        self._keeping = Keeping(store, session_id, self.taken) if store is not None else None
        self._begin()

    @property
    def turn(self) -> SessionTurn:
        """The runtime: `state`, `facts`, `journal`, `ask`, `observe` and `expect`."""
        return self._turn

    @property
    def missing_features(self) -> Mapping[str, str]:
        """The features that this livekit-agents does not support, each with its guarantee.

        It is empty unless `strict=False`. `turnfsm livekit` lists the names.
        """
        return LEFT_OUT

    @property
    def timers(self) -> Mapping[str, float]:
        """The seconds of the timers in this session: of its flow, and of the flows `session` and
        `outages`."""
        outages = load_shipped("outages").timers
        return {**self._life.timers, **outages, **self._flow.timers, **self._timers}

    def follow_options(self) -> None:
        """Read the option ``false_interruption_timeout`` again, as LiveKit does at each use."""
        seconds = self.options.interruption["false_interruption_timeout"]
        if seconds != self._resumes_after:
            self._resumes_after = seconds
            self._timers = {**self._timers, **self._seconds.of_resumption(seconds)}
            self._turn.retime(self._timers)

    @property
    def user_turns(self) -> Mapping[str, int]:
        """The number of committed user turns by outcome.

        `replied`: audio of the reply was heard, or text where there is no audio. `silent`: the
        reply ended by itself without audio. `superseded`: a newer turn came before anything was
        heard. `dropped`: there was no reply, or it failed or was interrupted before anything was
        heard. Two are for turns that have not ended: `asked`, a reply was requested but not heard
        yet; `queued`, the turn waits for the floor.
        """
        turns, deferred = self._conductor.log.turns, self._conductor.turns.deferred
        asked = sum(bool(turn.speech) for turn in turns.open)
        return {**turns.outcomes, "asked": asked, "queued": int(deferred is not None)}

    @overload
    async def start(
        self, agent: Agent, *, capture_run: Literal[True], **options: Unpack[StartOptions]
    ) -> RunResult[Any]: ...

    @overload
    async def start(
        self, agent: Agent, *, capture_run: Literal[False] = False, **options: Unpack[StartOptions]
    ) -> None: ...

    @shows_options_of(AgentSession.start)
    async def start(
        self, agent: Agent, *, capture_run: bool = False, **options: Unpack[StartOptions]
    ) -> RunResult[Any] | None:
        """As `AgentSession.start`.

        Raises:
            FlowError: The flow asks about a parameter that a tool does not have.
            TurnfsmError: The flow needs a different turn detection.
            UnsupportedLiveKit: With this version of LiveKit the flow cannot govern the agent.
        """
        tools = [*self.tools, *agent.tools]
        check_names_of_tools(self._turn.flow, tools)
        check_arguments_of(self._turn.flow, tools)
        check_ids_of_agents(self._turn.flow, agent)
        require_turn_detection(self._flow, self, agent)
        self._custom.check_agent(agent)
        if self._turn.closed:
            self._begin()
        start: Callable[..., Awaitable[RunResult[Any] | None]] = super().start
        try:
            if self._keeping is not None:
                past = await self.restore()
                options = cast(Any, await take_up(past, self, agent, self._keeping, options))
            self._room = options.get("room") or self._room
            self._observers.watch_session(
                self._turn, self.timers, self._conductor.floor, self._room
            )
            self._conductor.start()
            self.close_until_pressed(self._flow)
            self._observers.report_verdicts(self._turn)
            self._life.runtime.start()
            result = await start(agent, capture_run=capture_run, **options)
        except BaseException:
            self._observers.end()
            if self._keeping is not None:
                await self._keeping.aclose()
            raise
        if self.activity is None and not self.closing:
            await self.aclose()
            raise UnsupportedLiveKit(
                "this livekit-agents does not let turnfsm govern its turns; "
                "pip install 'turnfsm[livekit]' gives one that does"
            )
        if self._room is not None:
            self._remote = RemoteTriggers(self._turn, self._room)
        self._life.started()
        self._conductor.started()
        return result

    async def restore(self) -> Past | None:
        """Take over the session from the previous worker.

        `start` does this by itself. Call it before `start` if the application has several agents,
        to find out which one was active: pass that one to `start`.

        Returns:
            The restored conversation: `agent` is the id of the active agent, `items` are the chat
            items. None if the session is new, or there is no store.

        Raises:
            StoreError: The store cannot be used, or the session cannot be continued.
        """
        if self._keeping is None:
            return None
        return await self._keeping.acquire(self._flow, read_calls)

    @property
    def epoch(self) -> int:
        """How many workers have run the session, including this one; 0 without a store."""
        return self._keeping.epoch if self._keeping is not None else 0

    def agent_comes(self, agent: Agent) -> None:
        """The session hands over to this agent, which may have its own turn detection."""
        warn_of_turn_detection(self._flow, self, agent)

    async def session_closed(self) -> None:
        """LiveKit has closed the session: flush the store and the journal."""
        await super().session_closed()
        if self._remote is not None:
            self._remote.close()
        await self.close_backchannels()
        self._observers.end()
        if self._keeping is not None:
            await self._keeping.aclose()

    def taken(self, error: SessionTaken) -> None:
        """Another worker has taken over the session: go silent, and close."""
        self._conductor.record(Closed("taken_over"))
        self._turn.close()
        self._taken = asyncio.ensure_future(self.aclose())

    def run(
        self,
        *,
        user_input: str,
        input_modality: Literal["text", "audio"] = "text",
        output_type: type[Run_T] | None = None,
        output_options: NotGivenOr[RunOutputOptions | None] = NOT_GIVEN,
    ) -> RunResult[Run_T]:
        """As `AgentSession.run`.

        It begins and ends when no handoff is running and every agent has entered.
        """
        if self.activity is None:
            raise RuntimeError("AgentSession isn't running")
        result: RunResult[Run_T] = RunResult(
            user_input=user_input,
            output_type=output_type,
            output_options=output_options,
            session=self,
        )
        self._life.request(result, user_input=user_input, input_modality=input_modality)
        if self._keeping is not None:
            self._keeping.transcript_received()
        return result

    def on(self, event: TurnEvents, callback: Handler | None = None) -> Handler:
        """As `AgentSession.on`.

        There are four more events: ``turn_verdict``, ``turn_waits_long``, ``turn_limit_reached``
        and ``turn_property_broken``.
        """
        if event == "turn_verdict":
            self._observers.want_verdicts()
        handler: Handler = super().on(event, callback)  # type: ignore[arg-type]
        return handler

    if TYPE_CHECKING:  # the same events

        def once(self, event: TurnEvents, callback: Handler | None = None) -> Handler: ...
        def off(self, event: TurnEvents, callback: Handler) -> None: ...

    def emit(self, event: Any, arg: Any) -> None:
        """As `AgentSession.emit`; the flow gets the event first."""
        if not self._turn.closed:
            self._reports.hear(event, arg)
        super().emit(event, arg)

    def _agent_now(self) -> Agent | None:
        return None if self.activity is None else self.current_agent

    def _parameters_of(self, tool: str) -> Mapping[str, Any] | None:
        return None if self.activity is None else parameters_of(self.activity.tool(tool))

    def _begin(self) -> None:
        self.tuner = Tuner(self)
        self._life = SessionLifecycle(self, self._seconds.session)
        self._conductor = Conductor(self, self.ledger, self._keeping)
        self._custom = CustomHost(
            self._flow, self._conductor.host, self, self._actions, self._agent_now
        )
        self._turn = SessionTurn(
            self._flow,
            self._custom,
            self._conductor.expecting,
            self._parameters_of,
            timers=self._timers,
            sinks=self._sinks,
        )
        self._conductor.govern(self._turn, self._unproved)
        self._reports = Reports(self)


TurnSession.__new__.__signature__ = inspect.signature(TurnSession.__init__)  # type: ignore[attr-defined]
