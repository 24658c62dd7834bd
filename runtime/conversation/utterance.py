"""The user's last utterance, with its own machine of `specs/utterance.yaml`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal, Protocol

from turnfsm.fsm import Taken, Verdict
from turnfsm.fsm.load import load_shipped
from turnfsm.runtime.turn import TurnRuntime

__all__ = ["Hearing", "Question", "Utterance"]

Question = Literal[
    "end_open",
    "end_near",
    "commit_waits",
    "transcript_pending",
    "answer_open",
    "turn_transcribed",
    "late_final",
    "value_due",
    "ends_now",
]
"""A request of `specs/utterance.yaml`. Asking one changes nothing."""

AT_ONCE = 0.01
"""Seconds for a timer that the turn's flow lacks: do not wait."""

_TIMERS = ("transcript_wait", "false_interruption")
_OWN = "value_wait"
_AT_REST = ("settled", "ending", "dictating")


class Hearing(Protocol):
    """The conversation as the utterance sees it: also the host of `specs/utterance.yaml`, with a
    method for each of its actions and host facts."""

    def may_interrupt(self) -> bool:
        """The transcript has enough words to interrupt."""

    @property
    def min_duration(self) -> float:
        """How long speech must last to interrupt, in seconds."""

    @property
    def timers(self) -> Mapping[str, float]:
        """The timers of the turn's flow in seconds, and `value_wait` if a part of an expected value
        was said. They may change during a session."""

    def utterance_ended(self) -> None:
        """The user is silent, and no transcript is expected any more."""

    def utterance_moved(self, *, settled: bool) -> None:
        """The machine has taken a trigger. `settled`: the answer to an earlier `ask` has changed
        from yes to no, and the user is silent."""

    def utterance_over(self) -> None:
        """No transcript can end the turn any more, and `ask` was not called."""


class Utterance:
    """Runs `specs/utterance.yaml`.

    Args:
        hearing: The rest of the conversation.
    """

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._timers: dict[str, float] = {}
        self._runtime = TurnRuntime(load_shipped("utterance"), hearing, maxlen=1)
        self._runtime.observe(self._observed)
        self._yes: set[Question] = set()
        self._open = False
        self._heard = self._before = 0.0

    # -- reports

    def voice_started(self) -> None:
        """Speech has begun."""
        self._before = self._heard if self._runtime.holds("passed_on") else 0.0
        self._heard = self._before
        self.post("voice_started")

    def voice_heard(self, seconds: float) -> None:
        """The current speech has lasted for this long."""
        if (heard := self._before + seconds) > self._heard:
            self._heard = heard

    def voice_ended(self, *, unheard: bool = False) -> None:
        """Speech has ended.

        Args:
            unheard: The STT has received none of its audio.
        """
        if unheard:
            self.post("unheard_ended")
            return
        long = self._heard >= self._hearing.min_duration
        self.post("voice_ended" if long and self._hearing.may_interrupt() else "sound_ended")

    def post(self, event: str) -> None:
        """Report any other event of the flow."""
        if not self._runtime.closed:
            self._follow_timers()
            self._runtime.post(event)

    async def aclose(self) -> None:
        """The session has closed."""
        await self._runtime.aclose()

    # -- questions

    def ask(self, question: Question) -> bool:
        """The flow's answer now. `Hearing.utterance_moved` reports when a yes becomes a no."""
        yes = bool(self._runtime.ask(question))
        if yes:
            self._yes.add(question)
        return yes

    @property
    def due(self) -> bool:
        """The user speaks, or has spoken and the transcript may still arrive."""
        return self._runtime.state in ("speaking", "speaking_on", "awaiting", "expecting")

    @property
    def transcribed(self) -> bool:
        """The user is silent, and the transcript of all that was heard of them has come."""
        silent = self._runtime.state in ("settled", "ending")
        return silent and bool(self._runtime.ask("turn_transcribed"))

    # -- inside

    def _follow_timers(self) -> None:
        if (seconds := _of(self._hearing.timers)) != self._timers:
            self._timers = seconds
            self._runtime.retime(seconds)

    def _observed(self, seq: int, verdict: Verdict) -> None:
        if not isinstance(verdict, Taken):
            return
        if verdict.entered and verdict.dest in _AT_REST:
            self._hearing.utterance_ended()
        if not (verdict.entered or verdict.restarts or self._yes or self._open):
            return
        if self._runtime.holds("voiced"):
            self._yes.clear()  # from now on the end of speech is awaited
            self._open = False
        else:
            if self._yes or self._open:  # after the framework's next step
                asyncio.get_running_loop().call_soon(self._review)
            # an end without a turn is always reported
            decided = verdict.trigger == "turn_decided"
            self._open = not decided and (self._open or bool(self._runtime.ask("end_open")))
        self._hearing.utterance_moved(settled=False)

    def _review(self) -> None:
        answers = {question: bool(self._runtime.ask(question)) for question in self._yes}
        self._yes = {question for question, yes in answers.items() if yes}
        over = self._open and not self._runtime.ask("end_open")
        self._open = self._open and not over
        if not all(answers.values()):
            self._hearing.utterance_moved(settled=True)
        elif over:
            self._hearing.utterance_over()


def _of(timers: Mapping[str, float]) -> dict[str, float]:
    own = {_OWN: max(timers[_OWN], AT_ONCE)} if _OWN in timers else {}
    return {name: timers.get(name, AT_ONCE) for name in _TIMERS} | own
