"""The kits that play ordinary conversations: ours, and LiveKit's own fakes."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any

from conversations import Course, Listener, Talk, act, recording
from livekit.agents import llm
from livekit.agents.llm import FunctionToolCall

from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedTTS,
    ScriptedUser,
    Stage,
)
from turnfsm.runtime.testing.livekit.requests import formatted_request, realtime_request

__all__ = ["KITS", "examples_folder", "fakes_folder", "play_fakes", "play_ours"]


def play_ours(talk: Talk, session_class: Any) -> Course:
    """On the kit of turnfsm."""
    user, voice = ScriptedUser(), ScriptedTTS()
    for at, text in talk.says:
        user.says(text, at=at)
    shown = Counter[str]()
    scripted = ScriptedLLM(otherwise=lambda request: _reply(talk, request, shown))
    model: Any = scripted
    if talk.model != "pipeline":
        model = ScriptedRealtime(user, scripted, voice, turn_detection=talk.model == "server")
    listeners: list[Listener] = []

    def make(**options: Any) -> Any:
        session = session_class(**options)
        listeners.append(Listener())
        listeners[0].attach(session)
        return session

    async def played() -> Course:
        options = deepcopy(dict(talk.options))
        handling = {"turn_detection": "realtime_llm"} if talk.model == "server" else {}
        stage = Stage(
            make,  # type: ignore[arg-type]
            user=user,
            llm=model,
            tts=voice,
            agent=talk.agent,
            turn_handling=handling | options.pop("turn_handling", {}),
            **options,
        )
        for at, do in talk.does:
            stage.at(at, lambda stage, at=at, do=do: act(at, do, stage.session))
        playing = asyncio.create_task(stage.play(talk.seconds))
        await asyncio.sleep(0)
        with recording(listeners[0]) as listener:
            outcome = await playing
        course = listener.course
        for request in outcome.requests:
            _request(course, request.at, list(map(str, request.shown)))
        for heard in outcome.heard:
            course.add("heard", heard.start, heard.text)
            course.add("heard", heard.end, "-")
        _history(course, stage.session.history)
        _logged(course, outcome.errors, outcome.warnings)
        course.add("closed", outcome.closed_in, "")
        for name in outcome.orphans:
            course.add("orphans", 0.0, name)
        return course

    return run(played())


def _reply(talk: Talk, request: Request, shown: Counter[str]) -> Reply:
    _, _, text = request.prompt.partition(": ")
    found = talk.answer(text, shown[text])
    shown[text] += 1
    return Reply(found.text, calls=[Call(name, json.loads(of)) for name, of in found.calls])


def _request(course: Course, at: float, lines: list[str]) -> None:
    course.add("requests", at, " | ".join(lines))


def _history(course: Course, history: llm.ChatContext) -> None:
    for entry in realtime_request(history):
        course.add("history", 0.0, str(entry))


def _logged(course: Course, errors: list[Any], warnings: list[Any]) -> None:
    for lane, lines in (("logged errors", errors), ("logged warnings", warnings)):
        for at, text in lines:
            course.add(lane, at, text)


def fakes_folder() -> Path | None:
    """Where LiveKit's fakes are, if they are to be had."""
    folders = [folder for place in _places() for folder in (place / "tests", place)]
    return next((folder for folder in folders if (folder / "fake_session.py").is_file()), None)


def examples_folder() -> Path | None:
    """Where LiveKit's examples are, if they are to be had."""
    folders = [place / "examples" for place in _places()]
    return next((folder for folder in folders if (folder / "drive_thru").is_dir()), None)


def _places() -> list[Path]:
    """Checkouts of livekit/agents, or parts of one."""
    named = os.environ.get("TURNFSM_LIVEKIT_TESTS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnfsm"
    return [Path(named)] if named else sorted((cache / "livekit-tests").glob("*"))


def _fakes() -> ModuleType:
    name = "livekit_fakes"
    folder = fakes_folder()
    assert folder is not None
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"{name}.fake_session")


def play_fakes(talk: Talk, session_class: Any) -> Course:
    """On the fakes of LiveKit's repository: other VAD, STT, LLM, TTS, microphone, output."""
    home = _fakes()

    async def played() -> Course:
        listener = Listener()
        session, model = _fake_session(home, talk, session_class, listener)
        listener.attach(session)
        log = _Log(listener)
        logging.getLogger().addHandler(log)
        before = asyncio.all_tasks()
        with recording(listener):
            await session.start(talk.agent())
            session.input.audio.push(0.1)
            acting = [asyncio.create_task(act(at, do, session)) for at, do in talk.does]
            await asyncio.sleep(talk.seconds)
            begun = listener.now
            await session.aclose()
            listener.course.add("closed", listener.now - begun, "")
            for task in acting:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*acting)
            await asyncio.sleep(1.0)
        logging.getLogger().removeHandler(log)
        for at, shown in model.asked:
            _request(listener.course, at, shown)
        _history(listener.course, session.history)
        for task in asyncio.all_tasks() - before - {asyncio.current_task()}:
            listener.course.add("orphans", 0.0, getattr(task.get_coro(), "__qualname__", ""))
        return listener.course

    return run(played())


def _fake_session(home: Any, talk: Talk, session_class: Any, listener: Listener) -> Any:
    speeches = [
        home.FakeUserSpeech(
            start_time=at, end_time=at + 0.3 * len(text.split()), transcript=text, stt_delay=0.2
        )
        for at, text in talk.says
    ]
    calls = iter(range(1, 1000))

    def respond(text: str, before: int = 0) -> Any:
        answer = talk.answer(text, before)
        return home.FakeLLMResponse(
            input=text,
            content=answer.text,
            ttft=0.1,
            duration=0.3,
            tool_calls=[
                FunctionToolCall(name=name, arguments=of, call_id=f"call_{next(calls)}")
                for name, of in answer.calls
            ],
        )

    responses = list(map(respond, talk.answers))
    options = deepcopy(dict(talk.options))
    handling = {"turn_detection": None} | dict(options.pop("turn_handling", {}))
    handling = {"endpointing": {"min_delay": 0.5, "max_delay": 3.0}} | handling
    model = _asked(home.FakeLLM, listener, respond)(fake_responses=responses)
    session = session_class(
        vad=home.FakeVAD(fake_user_speeches=speeches, min_silence_duration=0.5),
        stt=home.FakeSTT(fake_user_speeches=speeches),
        llm=model,
        tts=home.FakeTTS(fake_audio_duration=1.2),
        turn_handling=handling,
        aec_warmup_duration=None,
        user_away_timeout=None,
        **options,
    )
    session.input.audio = home.FakeAudioInput()
    output = home.FakeAudioOutput(can_pause=True)
    output.on("playback_started", lambda _: listener.add("heard", "starts"))
    output.on("playback_finished", lambda e: listener.add("heard", f"ends {e.interrupted}"))
    session.output.audio = output
    return session, model


def _asked(base: Any, listener: Listener, respond: Callable[[str, int], Any]) -> Any:
    class Asked(base):  # type: ignore[misc]
        """LiveKit's fake, that remembers what it was asked."""

        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.asked: list[tuple[float, list[str]]] = []
            self._shown = Counter[str]()

        def chat(self, **options: Any) -> Any:
            shown = list(map(str, formatted_request(options["chat_ctx"])))
            self.asked.append((listener.now, shown))
            # The fake looks at the last item. No model is shown what an agent was configured with.
            shows = options["chat_ctx"].copy(exclude_config_update=True)
            options["chat_ctx"], last = shows, shows.items[-1]
            text = last.output if last.type == "function_call_output" else last.text_content
            if text in self.fake_response_map and self._shown[text]:
                self.fake_response_map[text] = respond(text, self._shown[text])
            self._shown[text] += 1
            return super().chat(**options)

    return Asked


class _Log(logging.Handler):
    def __init__(self, listener: Listener) -> None:
        super().__init__(logging.WARNING)
        self._listener = listener

    def emit(self, record: logging.LogRecord) -> None:
        lane = "logged errors" if record.levelno >= logging.ERROR else "logged warnings"
        text = record.getMessage().splitlines()[0]
        if "never retrieved" not in text and "but it is pending" not in text:
            self._listener.add(lane, text)


KITS: dict[str, Callable[[Talk, Any], Course]] = {"ours": play_ours, "fakes": play_fakes}
