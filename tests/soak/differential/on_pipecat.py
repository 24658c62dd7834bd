"""Plays a script on a governed pipeline of Pipecat, and tells what came of it as of a session."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import attrs
from livekit.agents import llm
from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection

from turnfsm.fsm.flow import OUTAGE_TIMERS
from turnfsm.livekit import on_interruption
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing import pipecat as kit
from turnfsm.runtime.testing.clock import VirtualLoop, VirtualTimeError
from turnfsm.runtime.testing.heard import TimelineEntry
from turnfsm.runtime.testing.livekit import Outcome, Request
from turnfsm.runtime.testing.schedules import PermutedLoop

from .draw import draw_script
from .facts import Finding
from .hard import hard_findings
from .keys import POLICIES
from .model import Model
from .play import APPLICATION_MOVE, Played, hung_up, prolonged
from .script import SWITCHES, Script
from .silence import silent_findings
from .tools import Run

__all__ = ["draw_for_pipecat", "findings", "play"]

SILENCE = 0.2
"""Seconds after which the VAD reports the end of a sound."""

DRAWN = (
    "barge_in", "slow_words", "noise", "policies", "application", "failures", "hold", "confirm",
    "not_heard", "never_silent", "fillers", "silence", "monologue", "expect", "overlap", "pace",
    "limits",
)  # fmt: skip
"""The switches that Pipecat has, too."""

CAUSED = r"the provider is down|\bfailed\d"
"""Errors of the pipeline that the script causes."""

MOVES = ("interrupt", "say", "reply", "ask", "chat")
"""What an application does with frames."""


def draw_for_pipecat(seed: int, schedule: int = 0) -> Script:
    """The conversation of a seed, without what Pipecat does not have."""
    script = draw_script(seed, schedule, without=SWITCHES.keys() - {*DRAWN})
    timers = {name: s for name, s in script.keys.timers.items() if name in OUTAGE_TIMERS}
    return attrs.evolve(
        script,
        detection="vad",
        keys=attrs.evolve(script.keys, no_audio=False, audio=False, by="state", timers=timers),
        settings={},
        min_words=0,
        greets=False,
        hook=0.0,
        can_pause=True,
        tts_fails=frozenset(),
        moves=tuple(move for move in script.moves if move.what in MOVES),
    )


def findings(played: Played) -> tuple[Finding, ...]:
    """What is wrong, by the hard measures."""
    late = (finding for finding in silent_findings(played) if finding.kind == "unheard")
    return (*hard_findings(played), *late)


def play(script: Script, *, governed: bool = True) -> Played:
    """Play it, with a governor or on Pipecat alone, until the agent has said all that it has to
    say."""
    played = _play(script, governed)
    return played if (longer := prolonged(played)) is None else play(longer, governed=governed)


def _play(script: Script, governed: bool) -> Played:
    stage = _Stage(script, governed)
    loop = partial(PermutedLoop, seed=script.schedule) if script.schedule else VirtualLoop
    try:
        came = stage.run(script.seconds, make_loop=loop)
    except (VirtualTimeError, RuntimeError, AssertionError) as error:
        return Played(script, failed=f"{type(error).__name__}: {str(error)[:200]}")
    unexpected = [error for error in came.errors if not re.search(CAUSED, error)]
    closed = [event.at for event in stage.closed]
    said = [TimelineEntry(one.start, "agent", f"is heard: {one.text!r}") for one in came.heard]
    outcome = Outcome(
        events=[*came.notes, *said, *stage.closed],
        heard=list(came.heard),
        backchannels=list(came.backchannels),
        requests=stage.requests,
        notes=stage.stops,
        history=_context(came.context),
        closed_in=max([0.0, *(at - script.seconds for at in closed)]),
        orphans=came.orphans,
    )
    script = attrs.evolve(script, hung_up=hung_up(script, outcome))
    return Played(
        script,
        tuple(stage.runs),
        said=tuple(stage.answers.said),
        meaning=stage.answers.meaning,
        outcome=outcome,
        state=stage.state if script.closes_at is None else (),
        failed=unexpected[0] if unexpected else "",
    )


class _Model(kit.ScriptedModel):
    """Notes how each request has ended."""

    def __init__(self, stage: _Stage, answer: Callable[[kit.Messages], kit.Says]) -> None:
        super().__init__(answer)
        self._stage = stage

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        if not isinstance(frame, f.LLMContextFrame):
            await super().process_frame(frame, direction)
            return
        number, outcome = len(self._stage.requests), "cancelled"
        try:
            await super().process_frame(frame, direction)
            failed = number + 1 in self._stage.the_script.llm_fails
            outcome = "failed" if failed else "complete"
        finally:
            request = self._stage.requests[number]
            request.outcome, request.ended = outcome, self._stage.now


class _Stage(kit.Stage):
    """The script's parts around a governor."""

    def __init__(self, script: Script, governed: bool) -> None:
        self.the_script, self.answers = script, Model(script)
        self.runs: list[Run] = []
        self.requests: list[Request] = []
        self.stops: list[tuple[float, str]] = []
        self.closed: list[TimelineEntry] = []
        self.state: tuple[str, ...] = ()
        marks = {f"do_{policy}": on_interruption(policy) for policy in POLICIES}
        super().__init__(
            lambda messages: kit.Says(),
            {name: kit.Tool(0.0, mark=mark) for name, mark in marks.items()},
            script=lambda stage: self._follow(),
            times_words=True,
            governor=partial(TurnGovernor, flow=script.keys.flow(), proof="off")
            if governed
            else None,
        )
        self.model = _Model(self, self._answer)

    def _answer(self, messages: kit.Messages) -> kit.Says:
        request = Request(self.now, "", (), _context(messages))
        self.requests.append(request)
        reply = self.answers.answer(request)
        calls = tuple((call.name, dict(call.arguments)) for call in reply.calls)
        return kit.Says(reply.text, calls, after=reply.ttft, fails=reply.error is not None)

    def _handler(self, name: str, tool: kit.Tool) -> Callable[[Any], Any]:
        async def handler(params: Any) -> None:
            run = Run(params.arguments["number"], params.arguments["asked"], self.now)
            self.runs.append(run)
            try:
                result = await self._work(run)
            except BaseException as error:
                run.end, run.how = self.now, type(error).__name__
                raise
            run.end, run.how = self.now, "result"
            await params.result_callback(result)

        return handler

    async def _work(self, run: Run) -> str | None:
        job = self.the_script.jobs[run.job]
        await asyncio.sleep(job.seconds)
        run.effect = self.now
        if job.after is not None:
            await asyncio.sleep(job.after)
        run.second = self.now
        if job.ends == "raises":
            raise RuntimeError(f"failed{run.job}")
        return None if job.ends == "nothing" else f"done{run.job}"

    async def _follow(self) -> None:
        """What the user and the application do, each at its time."""

        async def note_end(*_: Any) -> None:
            self.closed.append(TimelineEntry(self.now, "session", "close: the pipeline has ended"))

        self.worker.add_event_handler("on_pipeline_finished", note_end)
        for at, act in sorted(self._acts(), key=lambda act: act[0]):
            await self.until(at)
            await act()

    def _acts(self) -> Iterator[tuple[float, Callable[[], Any]]]:
        script, push = self.the_script, self.microphone.push_frame
        for at, transcript in _transcripts(script):
            yield at, partial(push, transcript)
        sounds = [(sound.at, sound.over) for sound in script.sounds]
        for (start, over), (before, after) in zip(sounds, _neighbours(sounds), strict=True):
            if start > before + SILENCE:
                yield start, partial(push, f.VADUserStartedSpeakingFrame(start_secs=0.0))
            if after > over + SILENCE:
                stopped = f.VADUserStoppedSpeakingFrame(stop_secs=SILENCE)
                yield over + SILENCE, partial(push, stopped)
        for number, move in enumerate(script.moves, 1):
            yield move.at, partial(self._move, number, move.what)
        yield script.seconds - 0.1, self._look

    async def _look(self) -> None:
        if self.governor is not None:
            self.state = (self.governor.turn.state, *sorted(self.governor.turn.facts))

    async def _move(self, number: int, what: str) -> None:
        if what in ("interrupt", "chat"):
            self.stops.append((self.now, "stop"))
            await self.pushes(f.InterruptionWorkerFrame())
        if what == "say":
            await self.pushes(f.TTSSpeakFrame(f"y{number}a y{number}b y{number}c."))
        elif what == "reply":
            line = {"role": "developer", "content": f"app{APPLICATION_MOVE + number}"}
            await self.pushes(f.LLMMessagesAppendFrame([line], run_llm=True))
        elif what in ("ask", "chat"):
            line = {"role": "user", "content": f"typed{number}"}
            await self.pushes(f.LLMMessagesAppendFrame([line], run_llm=True))


def _transcripts(script: Script) -> Iterator[tuple[float, f.Frame]]:
    for utterance in script.user().utterances:
        for after, text in utterance.interims:
            yield utterance.at + after, f.InterimTranscriptionFrame(text, "user", "now")
        if utterance.text and utterance.stt_delay is not None:
            final = f.TranscriptionFrame(utterance.text, "user", "now", finalized=True)
            yield utterance.end + utterance.stt_delay, final


def _neighbours(sounds: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """For each sound the end of the one before it, and the beginning of the one behind it."""
    ends = [-10.0, *(over for _, over in sounds[:-1])]
    return zip(ends, [*(start for start, _ in sounds[1:]), float("inf")], strict=True)


def _context(messages: kit.Messages) -> llm.ChatContext:
    """The messages; each call has the output that was known last."""
    context, outputs = llm.ChatContext.empty(), dict[str, llm.FunctionCallOutput]()
    for message in messages:
        content = str(message.get("content"))
        for call in message.get("tool_calls") or ():
            made, id = call["function"], call["id"]
            context.items.append(
                llm.FunctionCall(call_id=id, name=made["name"], arguments=made["arguments"])
            )
        late = _async_result(content)
        id = message.get("tool_call_id") or late.get("tool_call_id", "")
        if id:
            output = str(late.get("result") or late.get("status") or content)
            if id in outputs:
                outputs[id].output = output
            else:
                outputs[id] = llm.FunctionCallOutput(call_id=id, output=output, is_error=False)
                context.items.append(outputs[id])
        elif not message.get("tool_calls"):
            role = "system" if message["role"] == "developer" else message["role"]
            context.add_message(role=role, content=content)
    return context


def _async_result(content: str) -> dict[str, Any]:
    try:
        payload = json.loads(content)
    except ValueError:
        return {}
    known = isinstance(payload, dict) and payload.get("type") == "async_tool"
    return payload if known else {}
