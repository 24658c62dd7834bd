"""A stage: one session, one scripted user and one scripted model, played in virtual time."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeAlias, cast

from livekit.agents import Agent, llm
from typing_extensions import TypeVar

from turnfsm.fsm import Flow
from turnfsm.runtime.livekit.overrides.history import current_conversation
from turnfsm.runtime.livekit.stock import AgentSession
from turnfsm.runtime.testing.clock import VirtualLoop, run
from turnfsm.runtime.testing.errors import KitError

from .duplex import ScriptedDuplex
from .ears import ScriptedSTT, ScriptedVAD
from .outcome import Outcome
from .realtime import ScriptedRealtime
from .recorder import Recorder, found_by_collector
from .scripted_llm import ScriptedLLM
from .settings import own_settings, session_settings, turn_detection_of
from .speaker import Echo, Fault, ScriptedAudioOutput, check_faults
from .user import FRAME, SETTLED, ScriptedAudioInput, ScriptedUser
from .voice import ScriptedTTS

__all__ = ["Stage"]

SessionT = TypeVar("SessionT", bound=AgentSession[Any], default=AgentSession[Any], covariant=True)

Action: TypeAlias = Callable[["Stage[SessionT]"], object]

HANGS = 3600.0
"""Virtual seconds after the end of the script at which a hanging conversation is aborted."""

CLOSE_LIMIT = 120.0

SPEAKS = (ScriptedRealtime, ScriptedDuplex)
"""Models that hear the user and speak themselves."""


class Stage(Generic[SessionT]):
    """Plays a conversation on a session of `session_class`, and reports the observations.

    Args:
        session_class: `TurnSession`, `AgentSession`, or a subclass or `partial` of one. Arguments
            of a `partial` are kept. It is an error to give the stage a different value for one of
            them.
        user: The user's sounds; silent by default.
        llm: The model. A `ScriptedRealtime` needs no STT, and no VAD if it detects turns itself; it
            hears ``user``, and it and `say()` speak with ``tts``.
        tts: The voice: durations of sentences, and failures.
        stt: The STT; by default with the delays of ``user``.
        vad: The VAD.
        tools: The tools of the agent, if ``agent`` is not given.
        agent: An agent, its class, or a function that makes it inside the loop.
        can_pause: Whether the audio output can pause.
        faults: Faults of the audio output: ``no_start``, ``no_end``.
        echo: The microphone picks up the agent's speech while the user is silent.
        turn_handling: LiveKit's options, merged over: turns end by VAD, or as the flow needs it.
        timers: Seconds for timers of the flow.
        flow: The flow. A session class without a flow gets neither it nor the timers.
        options: Further arguments of the session. Its defaults apply, except that echo warm-up and
            the away timer are off.

    Raises:
        KitError: An argument is of the wrong kind, or differs from that of a `partial`.

    Example:
        >>> from turnfsm.livekit import TurnSession
        >>> from turnfsm.testing import ScriptedLLM, ScriptedUser
        >>> user = ScriptedUser().says("hello", at=1.0)
        >>> stage = Stage(TurnSession, user=user, llm=ScriptedLLM({"hello": "Hi there."}))
        >>> [heard.text for heard in stage.run(10.0).heard]
        ['Hi there.']
    """

    def __init__(
        self,
        session_class: Callable[..., SessionT],
        *,
        user: ScriptedUser | None = None,
        llm: ScriptedLLM | ScriptedRealtime | ScriptedDuplex | None = None,
        tts: ScriptedTTS | None = None,
        stt: ScriptedSTT | None = None,
        vad: ScriptedVAD | None = None,
        tools: Sequence[llm.Tool | llm.Toolset] = (),
        agent: Agent | Callable[[], Agent] | None = None,
        can_pause: bool = True,
        faults: Iterable[Fault] = (),
        echo: bool = False,
        turn_handling: dict[str, Any] | None = None,
        timers: dict[str, float] | None = None,
        flow: Flow | str | Path | None = None,
        **options: Any,
    ) -> None:
        if isinstance(session_class, AgentSession):
            name = type(session_class).__name__
            raise KitError(f"the stage makes its session itself; give the class: Stage({name})")
        self.session_class = session_class
        self.user = user or ScriptedUser()
        own = own_settings(session_class)
        models = _models_of(own, {"llm": llm, "tts": tts, "stt": stt, "vad": vad})
        given = options | ({} if turn_handling is None else {"turn_handling": turn_handling})
        parameters = inspect.signature(session_class).parameters
        governed = {"timers": timers, "flow": flow}
        given |= {name: value for name, value in governed.items() if value and name in parameters}
        self._options = session_settings(own, given, turn_detection_of(session_class, given))
        self.llm = models.get("llm") or ScriptedLLM()
        self.tts = models.get("tts") or ScriptedTTS()
        by_stt = self._options["turn_handling"]["turn_detection"] == "stt"
        self.stt = models["stt"] if "stt" in models else ScriptedSTT(self.user, ends_turns=by_stt)
        self.vad = models["vad"] if "vad" in models else ScriptedVAD()
        self.tools = list(tools)
        self._agent = agent
        self._can_pause, self._faults, self._echo = can_pause, check_faults(faults), echo
        self._actions: list[tuple[float, Action[SessionT]]] = []
        self._acting: list[asyncio.Task[None]] | None = None  # once the session has started
        self.session: SessionT
        self.output: ScriptedAudioOutput
        self._recorder: Recorder
        self._loop: asyncio.AbstractEventLoop

    def at(self, seconds: float, action: Action[SessionT]) -> Stage[SessionT]:
        """Call a function at this time of the started session. A coroutine runs as a task.

        Example:
            >>> from turnfsm import parse_flow
            >>> from turnfsm.livekit import TurnSession
            >>> from turnfsm.testing import ScriptedLLM, ScriptedUser
            >>> flow, _ = parse_flow("{flow: radio, extends: push_to_talk, button: {}}")
            >>> user = ScriptedUser().says("hello", at=1.3)
            >>> stage = Stage(TurnSession, flow=flow, user=user, llm=ScriptedLLM(otherwise="Hi."))
            >>> stage = stage.at(1.0, lambda stage: stage.session.turn.post("button_pressed"))
            >>> stage = stage.at(2.0, lambda stage: stage.session.turn.post("button_released"))
            >>> [heard.text for heard in stage.run(10.0).heard]
            ['Hi.']
        """
        if seconds < 0:
            raise KitError(f"{seconds:g} s is before the stage begins; give 0 or more")
        if self._acting is None:
            self._actions.append((seconds, action))
        else:
            self._acting.append(self._loop.create_task(self._act(seconds, action)))
        return self

    def note(self, what: str) -> None:
        """Add a note with its time to the outcome, for the tools of a scenario."""
        self._recorder.note(what)

    def forget(self) -> None:
        """Drop the observations so far, to measure memory."""
        outcome, model = self._recorder.outcome, self.llm
        answers = model.answers if isinstance(model, SPEAKS) else model
        for records in (outcome.events, outcome.requests, outcome.speeches, outcome.items,
                     outcome.agent_states, outcome.user_states, answers.requests):  # fmt: skip
            records.clear()

    @property
    def now(self) -> float:
        """Seconds since the stage began."""
        return self._recorder.now

    def run(
        self, seconds: float, *, make_loop: Callable[..., VirtualLoop] = VirtualLoop
    ) -> Outcome:
        """Play for a number of virtual seconds, on its own loop."""
        return run(self.play(seconds), limit=seconds + HANGS, make_loop=make_loop)

    async def play(self, seconds: float | asyncio.Event) -> Outcome:
        """Play on the running loop, then close the session.

        On a loop that is not virtual this takes real time.

        Args:
            seconds: The length, or an event that ends it.
        """
        self._loop = asyncio.get_running_loop()
        if isinstance(self._loop, VirtualLoop):
            self._loop.set_exception_handler(self._unhandled)
        self._recorder = recorder = Recorder()
        before = asyncio.all_tasks() | _timers()
        logger = logging.getLogger()
        logger.addHandler(recorder)
        try:
            await self._perform(seconds)
        finally:
            logger.removeHandler(recorder)
        return self._collect(recorder.outcome, before)

    async def _perform(self, seconds: float | asyncio.Event) -> None:
        origin = self._loop.time()
        self._build(origin)
        try:
            await self.session.start(self._make_agent())
            self._acting = [self._loop.create_task(self._act(at, act)) for at, act in self._actions]
            if isinstance(seconds, asyncio.Event):
                await seconds.wait()
            else:
                await asyncio.sleep(origin + seconds - self._loop.time())
            self._recorder.outcome.chat_ctx = current_conversation(self.session)
            if isinstance(self.llm, SPEAKS) and self.llm.sessions:
                self._recorder.outcome.realtime_ctx = self.llm.sessions[-1].chat_ctx
        finally:
            await self._close(self._acting or [])

    def _make_agent(self) -> Agent:
        if isinstance(self._agent, Agent):
            return self._agent
        if self._agent is None:
            return Agent(instructions="Help.", tools=self.tools)
        agent: object = self._agent() if _takes_nothing(self._agent) else None
        if not isinstance(agent, Agent):
            raise KitError(
                f"agent={self._agent!r} makes no agent; give an Agent, its class, or a function "
                "without arguments that makes one: agent=lambda: Waiter(...)"
            )
        return agent

    def _build(self, origin: float) -> None:
        self.session = self.session_class(**self._models(), **self._options)
        self._recorder.attach(self.session)
        answers = self.llm.answers if isinstance(self.llm, SPEAKS) else self.llm
        answers.on_request = self._recorder.on_request
        self._recorder.on_update = answers.updates.add
        microphone = ScriptedAudioInput(self.user, settled=self._settled())
        microphone.start(origin)
        self.session.input.audio = microphone
        self.output = ScriptedAudioOutput(self.tts, can_pause=self._can_pause, faults=self._faults)
        self.session.output.audio = self.output
        self._beside = ScriptedAudioOutput(self.tts, can_pause=False)
        cast(Any, self.session).backchannel_output = self._beside
        if self._echo:
            microphone.echo = Echo(self.user, self.output).code_at

    def _settled(self) -> float:
        """Seconds of silence after which VAD and STT have reported the end of a sound."""
        waits = [self.vad.min_silence] if self.vad else []
        if isinstance(self.llm, SPEAKS):
            waits.append(self.llm.silence)
        return max(SETTLED, max(waits, default=0.0) + FRAME)

    def _models(self) -> dict[str, Any]:
        if not isinstance(self.llm, SPEAKS):
            return {"stt": self.stt, "vad": self.vad, "llm": self.llm, "tts": self.tts}
        ends_turns = isinstance(self.llm, ScriptedDuplex) or self.llm.capabilities.turn_detection
        return {"vad": None if ends_turns else self.vad, "llm": self.llm, "tts": self.tts}

    async def _act(self, at: float, action: Action[SessionT]) -> None:
        await asyncio.sleep(at - self.now)
        result = action(self)
        if inspect.isawaitable(result):
            await result

    async def _close(self, actions: list[asyncio.Task[None]]) -> None:
        outcome = self._recorder.outcome
        outcome.closed_in = await self._close_session()
        outcome.history = self.session.history.copy()
        for task in actions:
            if not task.done():
                self._recorder.note("an action did not end")
                task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*actions)
        await asyncio.sleep(1.0)  # for what ends by itself

    async def _close_session(self) -> float:
        """Close the session. Returns the seconds that it took; infinite if it does not end."""
        begun = self.now
        closing = asyncio.ensure_future(self.session.aclose())
        await asyncio.wait({closing}, timeout=CLOSE_LIMIT)
        if closing.done():
            closing.result()
            return self.now - begun
        self._recorder.note(f"the session does not close within {CLOSE_LIMIT:g} s")
        closing.cancel()
        await asyncio.wait({closing})
        return float("inf")

    def _unhandled(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not found_by_collector(context["message"]) and not loop.is_closed():
            self._recorder.unhandled(f"{context['message']} {context.get('exception') or ''}")

    def _collect(self, outcome: Outcome, before: set[Any]) -> Outcome:
        orphans = asyncio.all_tasks() - before - {asyncio.current_task()}
        outcome.orphans = tuple(sorted(_name(task) for task in orphans))
        outcome.timers = tuple(sorted(str(timer) for timer in _timers() - before))
        origin = self._recorder._origin
        outcome.heard = [heard.since(origin) for heard in self.output.heard]
        outcome.backchannels = [heard.since(origin) for heard in self._beside.heard]
        for heard in outcome.heard:
            self._recorder.add("heard", f"{heard.text!r} until {heard.end:.3f}", heard.start)
        for heard in outcome.backchannels:
            self._recorder.add("beside", f"{heard.text!r} until {heard.end:.3f}", heard.start)
        return outcome


def _takes_nothing(maker: Callable[[], Agent]) -> bool:
    try:
        inspect.signature(maker).bind()
    except (TypeError, ValueError):
        return False
    return True


_MODELS = {
    "llm": (ScriptedLLM, *SPEAKS),
    "tts": (ScriptedTTS,),
    "stt": (ScriptedSTT, type(None)),
    "vad": (ScriptedVAD, type(None)),
}


def _models_of(own: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """The models of the stage or of the factory; the latter are removed from its arguments."""
    models = {name: model for name, model in given.items() if model is not None}
    for name, scripted in _MODELS.items():
        if name not in own:
            continue
        model, kind = own.pop(name), scripted[0].__name__
        if name in models:
            raise KitError(
                f"{name} is given by the session factory and to Stage(...); give it in one of them"
            )
        if not isinstance(model, scripted):
            raise KitError(
                f"the session factory gives {name}={model!r}, and a stage can play only a {kind}; "
                f"leave {name} out of the factory"
            )
        models[name] = model
    return models


def _timers() -> set[Any]:
    """The pending timers, if the loop knows them."""
    loop = asyncio.get_running_loop()
    return set(loop.timers) if isinstance(loop, VirtualLoop) else set()


def _name(task: asyncio.Task[Any]) -> str:
    coroutine = task.get_coro()
    return getattr(coroutine, "__qualname__", task.get_name())
