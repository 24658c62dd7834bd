"""The moves of the joint world of turn and agenda; the rows of the flow decide their effect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from turnfsm.fsm.flow import Flow

from .agenda_parts import Bounds
from .joint_host import JointHost
from .joint_parts import Here, Op, Sound, Step, View

__all__ = ["TurnSide"]


class TurnSide:
    """The possible next moves."""

    def __init__(self, flow: Flow, bounds: Bounds, *, timed: bool = False) -> None:
        self.flow, self.bounds = flow, bounds
        self.host = JointHost(flow, timed=timed)

    def first(self) -> Here:
        return Here(self.host.space.initial)

    def at_once(self, here: Here, view: View) -> tuple[Step, ...]:
        """What the host and its framework do immediately."""
        for steps in (self._counted, self._takes_floor, self._asked_at_once, self._goes_on):
            if ready := tuple(steps(here, view)):
                return ready
        return ()

    def goes_on(self, here: Here, view: View) -> tuple[Step, ...]:
        """The user speaks, and replies and calls continue."""
        steps = (self._asks, self._transcripts, self._floor, self._models, self._calls)
        return tuple(chain.from_iterable(steps_of(here, view) for steps_of in steps))

    def sounds(self, here: Here, view: View) -> Iterator[Step]:
        """Sounds of the user, and the timers of the current state."""
        for sound in self.heard(here):
            there = sound.here
            ops: tuple[Op, ...] = ()
            if not (there.voice or there.deciding or there.transcript):
                ops = (("noise",),)
            yield from self.host.happens(sound.text, there, view, sound.trigger, ops)
        if here.voice:
            text = "the voice is long enough to interrupt"
            yield from self.host.asked(text, here, view, "barge_in")
        yield from self._timers(here, view)

    def heard(self, here: Here) -> Iterator[Sound]:
        """The sounds of the user, which may keep coming."""
        if here.voice:
            for deciding in (True,) if here.transcript else (False, True):
                text = "the voice ends" + (
                    ", and its transcript may still come" if deciding else ""
                )
                ended = here._replace(voice=False, deciding=deciding)
                yield Sound(text, "user_stopped_speaking", ended)
        else:
            yield Sound("a voice is heard", "user_started_speaking", here._replace(voice=True))
        if here.deciding and not here.transcript:
            text, settled = "no transcript has come", here._replace(deciding=False)
            yield Sound(text, "endpointing_ended", settled)

    def disturbances(self, here: Here, view: View) -> Iterator[Step]:
        for r in view.live:
            yield from self._disturbed(here, view, r)
        for n, maker in view.runs:
            if maker >= 0 and maker != here.floor:
                text = f"call {n} interrupts reply {maker}"
                ops: tuple[Op, ...] = (("end", maker, "tool", f"c{n}"),)
                yield from self.host.happens(text, here, view, "speech_interrupted", ops)
        if view.free >= 0:
            text = f"the application asks for reply {view.free}"
            yield Step(text, here, (("ask", view.free),))
        if view.live:
            yield from self._leaves(here, view)
        if view.live or here.committed or here.deferred:
            died: list[Op] = [("end", r, "crash") for r in view.live]
            died += [("said", here.committed + here.deferred)]
            yield Step("the worker dies, and another goes on", self.first(), tuple(died))

    # -- at once

    def _counted(self, here: Here, view: View) -> Iterator[Step]:
        """The events that the host derives from counts."""
        blocked = self.host.blocked(here, view)
        trigger = ""
        if blocked != self.host.holds(here, "tools_running"):
            trigger = "tool_started" if blocked else "tools_drained"
        elif self.host.holds(here, "result_uncommitted") and not view.partial:
            trigger = "results_committed"
        for step in self.host.happens("", here, view, trigger) if trigger else ():
            if step.here != here or step.ops:
                yield step

    def _takes_floor(self, here: Here, view: View) -> Iterator[Step]:
        queue = [r for r in view.live if view.phases[r] != "waits"]
        for r in queue[:1] if here.floor < 0 else ():
            took = here._replace(floor=r, audio="none")
            yield from self.host.happens(f"reply {r} has the floor", took, view, "step_started")
        held = self.host.holds(here, "output_held")
        if here.audio == "there" and here.ended_by is None and not held:
            heard, text = here._replace(audio="heard"), f"reply {here.floor} begins to be heard"
            yield from self.host.happens(text, heard, view, "playout_started")

    def _asked_at_once(self, here: Here, view: View) -> Iterator[Step]:
        for request, steps in self._requests(here, view):
            if all(answer is not None for _, answer in self.host.post(here, view, request)):
                yield from steps

    def _goes_on(self, here: Here, view: View) -> Iterator[Step]:
        for r in view.going_on:
            yield Step(f"the calls of reply {r} have ended", here, (("go_on", r),))
        for r in view.live:
            if view.phases[r] == "asked" and not (r == here.floor and here.ended_by is not None):
                text, sent = f"reply {r} asks the model", (("send", r),)
                yield from self.host.asked(text, here, view, "reply", ops=sent)

    # -- what goes on

    def _requests(self, here: Here, view: View) -> Iterator[tuple[str, Iterator[Step]]]:
        """The host's pending requests to the flow."""
        asked = self.host.asked
        if here.floor in view.outdated and here.ended_by is None:
            text = f"a result has come that reply {here.floor} does not have"
            yield "newer_result", asked(text, here, view, "newer_result")
        if here.deferred:
            text = "the deferred turn is taken"
            yield "deferred_turn", asked(text, here, view, "deferred_turn")
        if view.open and view.free >= 0:
            text = f"reply {view.free} delivers what is due"
            yield "next_reply", asked(text, here, view, "next_reply")

    def _asks(self, here: Here, view: View) -> Iterator[Step]:
        for _, steps in self._requests(here, view):
            yield from steps

    def _timers(self, here: Here, view: View) -> Iterator[Step]:
        for timer in self.flow.states[self.host.state(here)].after:
            for node, taken in self.host.post(here, view, timer):
                if taken is not None and (node != here.node or taken.actions):
                    moved = here._replace(node=node)
                    for there, ops in self.host.carried(moved, view, taken):
                        if there != here or ops:
                            yield Step(f"{timer} fires", there, ops)

    def _transcripts(self, here: Here, view: View) -> Iterator[Step]:
        n, host = view.utterances + here.committed + here.deferred, self.host
        if here.transcript:
            ended = here._replace(transcript=False, deciding=False)
            text, all_ = f"utterance {n} is committed", ended._replace(deferred=0)
            yield from host.asked(text, all_, view, "turn_committed", 1 + here.deferred)
            if any(answer is None for _, answer in host.post(ended, view, "turn_committed")):
                deferred = ended._replace(deferred=here.deferred + 1)
                yield from host.happens(
                    f"utterance {n} is deferred", deferred, view, "turn_deferred"
                )
        elif n < self.bounds.utterances:
            text, heard = (
                f"the user says utterance {n}",
                here._replace(transcript=True, deciding=True),
            )
            yield from host.happens(text, heard, view, "final_transcript")
        if here.committed and (r := view.free) >= 0:
            names = [f"u{n}" for n in range(view.utterances, view.utterances + here.committed)]
            ops: tuple[Op, ...] = (("said", here.committed), ("ask", r, *names))
            text, asked = f"reply {r} is requested", here._replace(committed=0)
            yield from host.happens(text, asked, view, "reply_requested", ops)

    def _floor(self, here: Here, view: View) -> Iterator[Step]:
        r, host = here.floor, self.host
        if r < 0:
            return
        if here.ended_by is not None:
            over: tuple[Op, ...] = (("end", r, here.ended_by),)
            text = f"reply {r} winds down"
            yield from host.happens(text, here.without_reply(), view, "step_finished", over)
        elif view.phases[r] == "plays" and here.audio == "none":
            ready = here._replace(audio="there")
            yield from host.asked(f"reply {r} has audio", ready, view, "start_playout")
        elif here.audio == "heard" and host.state(here) != "paused":
            heard: tuple[Op, ...] = (("hear", r),)
            text = f"reply {r} is heard to its end"
            for played in host.happens(text, here, view, "playout_finished"):
                ended = played.here.without_reply()
                yield from host.happens(text, ended, view, "step_finished", heard)

    def _models(self, here: Here, view: View) -> Iterator[Step]:
        for r in view.live:
            if view.phases[r] != "sent" or (r == here.floor and here.ended_by is not None):
                continue
            yield Step(f"the model answers reply {r}", here, (("stream", r),))
            for most in range(1, self.bounds.calls + 1) if r in view.calling else ():
                text = "a call" if most == 1 else f"{most} calls"
                yield Step(f"the model makes {text} in reply {r}", here, (("make", r, most),))

    def _calls(self, here: Here, view: View) -> Iterator[Step]:
        for n, _ in view.runs:
            ended: tuple[Op, ...] = (("end_call", n),)
            yield from self.host.happens(f"call {n} ends", here, view, "tool_ended", ended)

    # -- what disturbs

    def _disturbed(self, here: Here, view: View, r: int) -> Iterator[Step]:
        stopped, failed = f"the application interrupts reply {r}", f"reply {r} fails"
        fails = view.phases[r] in ("sent", "plays")
        ops: tuple[Op, ...]
        if r != here.floor:
            ops = (("end", r, "application"),)
            if any(maker == r for _, maker in view.runs):
                yield from self.host.happens(stopped, here, view, "speech_interrupted", ops)
            else:
                yield Step(stopped, here, ops)
            if fails:
                yield Step(failed, here, (("end", r, "failure"),))
        elif here.ended_by is None:
            for there, done in self.host.interrupt(here, view, "application"):
                yield Step(stopped, there, done)
            if fails:
                begun: tuple[Op, ...] = (("begin", r),) if here.audio == "heard" else ()
                ops, over = (*begun, ("end", r, "failure")), here.without_reply()
                yield from self.host.happens(failed, over, view, "step_finished", ops)

    def _leaves(self, here: Here, view: View) -> Iterator[Step]:
        """A handoff: the next agent says what this one has not said."""
        gone = tuple(("end", r, "agent_left") for r in view.live if r != here.floor)
        for there, ops in self.host.interrupt(here, view, "agent_left"):
            yield Step("another agent takes over", there, (*gone, *ops))
