"""Plays a path of a flow on a real session: component scripts make each trigger happen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

import attrs

from turnfsm.fsm import Flow, Taken, Verdict, load_flow
from turnfsm.fsm.cover import Cover, CoveringPath, PathStep, cover
from turnfsm.runtime.livekit.session import TurnSession
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.livekit import Outcome, ScriptedVAD, Stage

from .cues import CUES, Actor, Model
from .plan import Plan
from .world import LiveKitWorld

__all__ = ["Span", "Walk", "session_paths", "walk_path"]

PATIENCE = 60.0
"""Virtual seconds within which a cue must cause its trigger."""

LONGEST = 10
"""The maximum number of steps of a path; longer ones cover nothing more."""


def session_paths(flow: Flow | str = "turn") -> Cover:
    """The shortest paths through a flow of kind ``turn`` that a session can take.

    Args:
        flow: The flow, or its name or path.

    Returns:
        The paths, and the goals that no path reaches.

    Example:
        >>> from turnfsm.testing import session_paths
        >>> len(session_paths("push_to_talk").paths) > 10
        True
    """
    loaded = load_flow(flow) if isinstance(flow, str) else flow
    return cover(loaded, LiveKitWorld(), LONGEST)


def walk_path(path: CoveringPath, flow: Flow | str = "turn") -> Walk:
    """Play a path on a `TurnSession` with scripted components, in virtual time.

    Args:
        path: A path of `session_paths`.
        flow: The flow, or its name or path.

    Returns:
        The walk, with differences from the path in `problems`.

    Example:
        >>> from turnfsm.testing import session_paths, walk_path
        >>> walk_path(session_paths("turn").paths[0], "turn").problems
        []
    """
    walk = Walk(load_flow(flow) if isinstance(flow, str) else flow, path)
    walk.play()
    return walk


@attrs.frozen
class Span:
    """A span of time in one state."""

    start: float
    end: float
    state: str


@attrs.define
class Seen:
    """One verdict of the session, and when."""

    at: float
    verdict: Verdict


class Walk(Stage):
    """One path on one session.

    Attributes:
        problems: The differences from the path; empty if there are none.
        rows: The rows of the flow that the session took.
    """

    def __init__(self, flow: Flow, path: CoveringPath) -> None:
        self.flow, self.path, self.plan = flow, path, Plan(flow, path)
        self.problems: list[str] = []
        self.seen: list[Seen] = []
        self.matched: list[str] = []
        self.actor = Actor(self.plan)
        self.ended, self.upto = 0.0, 0  # when the path ended, and the number of verdicts by then
        self._cursor = 0
        self._news = asyncio.Event()
        super().__init__(
            partial(TurnSession, flow=flow, timers=self.plan.timers),  # type: ignore[arg-type]
            llm=Model(self.actor),
            vad=ScriptedVAD(),
            agent=self.actor.agent,
            can_pause=self.plan.pausable,
            faults=["no_end"] if self.plan.lingers else [],
            turn_handling=self.plan.turn_handling,
        )

    def play(self) -> Outcome:  # type: ignore[override]
        """Play in virtual time, on its own loop."""
        self.outcome = run(super().play(PATIENCE), limit=10 * PATIENCE + 200_000.0)
        return self.outcome

    @property
    def rows(self) -> set[str]:
        return {v.row for s in self.seen if isinstance(v := s.verdict, Taken) and v.row}

    @property
    def spans(self) -> Iterator[Span]:
        """The states until the path's end, in order."""
        start, state = 0.0, self.flow.initial
        for seen in self.seen[: self.upto]:
            verdict = seen.verdict
            if isinstance(verdict, Taken) and verdict.dest != state:
                yield Span(start, seen.at, state)
                start, state = seen.at, verdict.dest
        yield Span(start, self.ended, state)

    async def _perform(self, seconds: float | asyncio.Event) -> None:
        self._build(asyncio.get_running_loop().time())
        turn = self.session.turn  # type: ignore[attr-defined]
        turn.observe(self._observe)
        try:
            await self.session.start(self.actor.agent())
            self.session.output.set_audio_enabled(not self.plan.text_only)
            await self._walk()
            self.ended, self.upto = self.now, len(self.seen)
        finally:
            self.actor.end()
            await self._close([])

    def _observe(self, seq: int, verdict: Verdict) -> None:
        self.seen.append(Seen(self.now, verdict))
        self._news.set()

    async def _walk(self) -> None:
        state = self.flow.initial
        for at, step in enumerate(self.path.steps):
            if not self._past(step, state):
                if cue := CUES.get(step.trigger):
                    await cue(self, step, at)
                await self._until(step, state)
            if self.problems:
                return
            state = step.state
            self.matched.append(state)

    async def _until(self, step: PathStep, state: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                while not self._past(step, state) and not self.problems:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            self.problems.append(f"{step.trigger} ({step.row or step.verdict}) does not come")

    def _past(self, step: PathStep, state: str) -> bool:
        """Continue reading the verdicts. True once the step is there; no other trigger may be
        taken."""
        while self._cursor < len(self.seen) and not self.problems:
            verdict = self.seen[self._cursor].verdict
            self._cursor += 1
            if _fits(verdict, step):
                return True
            if isinstance(verdict, Taken) and verdict.dest != state:
                went = f"{verdict.trigger} leads from {verdict.state} to {verdict.dest}"
                self.problems.append(f"before {step.trigger}: {went}")
        return False


def _fits(verdict: Verdict, step: PathStep) -> bool:
    if verdict.trigger != step.trigger:
        return False
    if isinstance(verdict, Taken):
        return step.verdict == "taken" and verdict.row == step.row and verdict.dest == step.state
    return verdict.reason == step.verdict
