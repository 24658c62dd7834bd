"""Journals of conversations, as a flow has decided them."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from turnfsm.fsm import Machine, Taken, load_flow

CALL = Path(__file__).parent / "call.yaml"


class Conversation:
    """A machine that is told what happens, and the records of what it decided."""

    def __init__(self) -> None:
        self.machine = Machine(load_flow(CALL))
        self.machine.set_host_facts({"interruptible": True, "pausable": True})
        header = {"journal": 1, "flow": "call", "initial": "listening", "started_at": 0}
        self.records: list[dict[str, Any]] = [header]
        self.t = 0.0

    def post(self, t: float, *triggers: str) -> None:
        """Let triggers arrive, 1 ms apart."""
        for index, trigger in enumerate(triggers):
            self._decide(self.t + t + index / 1000, trigger)

    def _decide(self, t: float, trigger: str) -> None:
        verdict = self.machine.step(trigger)
        facts = self.machine.program.names(self.machine.facts)
        record: dict[str, Any] = {"seq": len(self.records), "t": round(t, 3), "trigger": trigger}
        record |= {"state": verdict.state, "facts": facts, "reason": None, "why": ""}
        if isinstance(verdict, Taken):
            record |= {"verdict": "taken", "dest": verdict.dest, "row": verdict.row}
            record |= {"actions": verdict.actions, "entered": verdict.entered}
        else:
            record |= {"verdict": "refused", "dest": verdict.state, "row": None, "actions": []}
            record |= {"reason": verdict.reason, "why": verdict.why, "entered": False}
        self.records.append(record)

    def note(self, kind: str, start: float, end: float, **data: Any) -> None:
        """Write a span down, when it has ended."""
        span = {"start": round(self.t + start, 3), "end": round(self.t + end, 3)}
        record = {"seq": len(self.records), "t": span["end"], "note": kind, "data": span | data}
        self.records.append(record)

    def user(self, start: float, end: float, text: str) -> None:
        """Let the user speak."""
        self.post(start, "user_started_speaking")
        self.note("user_audio", start, end, text=text)
        self.post(end, "user_stopped_speaking")

    @property
    def jsonl(self) -> str:
        """The journal as a file has it."""
        return "".join(json.dumps(record) + "\n" for record in self.records)


def question(talk: Conversation) -> float:
    """A question that a tool answers; the user speaks while it runs. Seconds that it takes."""
    talk.user(0.6, 2.9, "Where is my parcel, the number is four two seven?")
    talk.post(3.1, "preemptive_generation", "final_transcript")
    talk.post(3.3, "turn_committed", "step_started")
    talk.post(4.0, "start_playout", "playout_started")
    talk.note("agent_audio", 4.0, 5.4, text="One moment, let me look.", interrupted=False)
    talk.post(4.9, "tool_started")
    talk.post(5.4, "playout_finished", "step_finished")
    talk.user(6.6, 7.5, "Hello?")
    talk.post(7.2, "preemptive_generation", "barge_in")
    talk.note("tool", 4.9, 9.2, name="track_parcel", call_id="c1", outcome="result")
    talk.post(9.2, "tool_ended", "reply", "results_committed", "tools_drained", "reply")
    talk.post(9.25, "step_started")
    return 9.9


def answer(talk: Conversation) -> float:
    """The answer, a backchannel in it, then a real interruption. Seconds that it takes."""
    talk.post(0.0, "start_playout", "playout_started")
    talk.user(2.1, 2.6, "mm-hm")
    talk.post(2.4, "barge_in")
    talk.note("agent_audio", 0.0, 2.4, text="Your parcel is on its way,", interrupted=False)
    talk.post(4.6, "false_interruption")
    talk.note(
        "agent_audio", 4.6, 7.2, text="and it arrives tomorrow before noon,", interrupted=True
    )
    talk.user(6.7, 8.9, "Can you leave it with my neighbour?")
    talk.post(7.2, "barge_in")
    talk.post(8.2, "final_transcript", "step_interrupted")
    talk.post(8.4, "step_finished")
    talk.post(9.2, "turn_committed", "step_started")
    talk.post(10.1, "start_playout", "playout_started")
    talk.note(
        "agent_audio", 10.1, 12.6, text="Of course, the neighbour gets it.", interrupted=False
    )
    talk.post(12.6, "playout_finished", "step_finished", "reply")
    return 14.0


def half_a_minute() -> Conversation:
    """One question, one answer."""
    talk = Conversation()
    for part in (question, answer):
        talk.t += part(talk)
    return talk


def half_an_hour() -> Conversation:
    """The same, again and again, with pauses of different lengths."""
    talk, dice = Conversation(), random.Random(7)
    while talk.t < 1770:
        for part in (question, answer):
            talk.t += part(talk)
        talk.t += dice.choice((0.5, 3.0, 9.0, 20.0))
    return talk
