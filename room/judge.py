"""Checks the conversation in the room against the expectations of the demo."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import Journal
from turnfsm.runtime.demo.checks import Result, check
from turnfsm.runtime.demo.evidence import (
    audible,
    no_errors,
    replays,
    talked_through,
    to_the_end,
    turns_accounted,
    understood,
)
from turnfsm.runtime.demo.expected import EXPECTED, SILENCE, WORD_ERRORS, Expectation
from turnfsm.runtime.demo.script import CALLS
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.transcribe import Transcriber
from turnfsm.runtime.demo.words import word_errors
from turnfsm.runtime.testing.heard import Heard

from .hold import Held, caller_records, words_ahead
from .person import AGENT_STATE, Person

__all__ = ["judge", "overlaps", "transcribed"]

Record = Mapping[str, Any]

_NETWORK = 0.6
"""Seconds by which the audio that the caller hears may differ from the published agent state. 0.2 s
are queued before the network; the rest is the jitter buffer and the threshold. On a busy machine
the delay of audio after its transcript is added."""


async def judge(
    caller: Person,
    held: Held,
    journal: Journal,
    records: Sequence[Record],
    errors: Sequence[str],
    never_posted: Collection[str] = (),
) -> list[Result]:
    """Run the demo's checks that need only what can be seen from outside, and those of the network.

    Args:
        caller: The caller, who has left.
        held: The conversation as the caller recorded it.
        journal: The worker's journal.
        records: The lines of its file.
        errors: The errors that the worker has logged.
        never_posted: Triggers that the host has no occasion for.
    """
    merged = _merged(caller, held, records)
    results = [to_the_end([said.line.name for said in held.said], held.stopped)]
    results += [check(_visible(expectation), merged, never_posted) for expectation in EXPECTED]
    results += [_talked_through(caller, held)]
    wanted = [said.line.text for said in held.said if not said.line.ignored]
    results += [understood(wanted, _messages(records, "user")), turns_accounted(records)]
    shown = " ".join(text.text for text in caller.agent_texts)
    heard = await transcribed(caller.ear.track(), caller.ear.sounds())
    results += [_calls(records), audible(shown, heard), _shown(caller, wanted), _state(caller)]
    return [*results, replays(journal, load_flow("overlap")), no_errors(errors)]


def _merged(caller: Person, held: Held, records: Sequence[Record]) -> list[Record]:
    """The journal in the caller's time, with the caller's notes."""
    shift = records[0]["started_at"] - held.wall
    merged: list[Record] = []
    for record in records[1:]:
        merged.append({**record, "t": record["t"] + shift})
        if record.get("note") == "tool_ended" and record["data"]["how"] != "released":
            outcome = "done" if record["data"]["how"] == "result" else record["data"]["how"]
            data = {"name": record["data"]["name"], "outcome": outcome}
            merged.append({**merged[-1], "note": "tool", "data": data})
    notes = enumerate(caller_records(caller, held), len(merged) + 1)
    return [*merged, *({**note, "seq": seq} for seq, note in notes)]


def _visible(expectation: Expectation) -> Expectation:
    """Without events of the session, which cannot be seen from outside."""
    seen = tuple(mark for mark in expectation.order if mark.what != "agent_false_interruption")
    return attrs.evolve(expectation, order=seen)


def _talked_through(caller: Person, held: Held) -> Result:
    """The network delays both voices."""
    said = (Heard(s.start, s.end) for s in held.said if s.line.name == "backchannel")
    return talked_through(next(said, None), caller.ear.sounds(), SILENCE + _NETWORK)


def _calls(records: Sequence[Record]) -> Result:
    made = [
        (data["name"], json.loads(data["arguments"])) for data in _notes(records, "tool_started")
    ]
    ends = [data for data in _notes(records, "tool_ended") if data["how"] != "released"]
    ended = Counter(data["call"] for data in ends)  # a released call continues
    ok = made == list(CALLS) and ended.total() == len(ended) == len(made)
    details = ", ".join(f"{name}({json.dumps(dict(given))})" for name, given in made) or "no call"
    return Result("calls_once", ok, f"{details}: {ended.total()} ends")


def _shown(caller: Person, wanted: Sequence[str]) -> Result:
    """The caller's transcript that the room publishes."""
    errors = word_errors(" ".join(wanted), " ".join(caller.heard_of(caller.identity)))
    details = f"the caller's transcript in the room: {errors.edits} of {errors.said} words wrong"
    return Result("caller_transcribed", errors.said > 0 and errors.rate <= WORD_ERRORS, details)


def _state(caller: Person) -> Result:
    """The published state is ``speaking`` if and only if the caller hears the agent."""
    spoken = [s for s in _speaking(caller) if s.end - s.start > 0.3]
    slack = max([_NETWORK, *(ahead + _NETWORK / 2 for ahead in words_ahead(caller))])
    wrong = overlaps(spoken, caller.ear.sounds(), slack)
    details = f"{len(spoken)} times speaking; " + (
        wrong[0] if wrong else f"heard within {slack:.1f} s"
    )
    return Result("state_as_heard", bool(spoken) and not wrong, details)


def _speaking(caller: Person) -> Iterator[Heard]:
    began: float | None = None
    for change in caller.changes:
        if change.name != AGENT_STATE:
            continue
        if change.value == "speaking" and began is None:
            began = change.at
        elif change.value != "speaking" and began is not None:
            yield Heard(began, change.at)
            began = None


def overlaps(published: Sequence[Heard], heard: Sequence[Heard], slack: float) -> list[str]:
    """Where state and audio differ by more than the tolerance, as sentences."""
    wrong = []
    for name, these, those in (
        ("speaking, not heard", published, heard),
        ("heard, not speaking", heard, published),
    ):
        for span in these:
            at = span.start
            for other in sorted(those, key=lambda other: other.start):
                if other.start - slack <= at < other.end + slack:
                    at = other.end + slack
            if at < span.end - 1e-6:
                wrong.append(f"{name} at {at:.2f} s")
    return wrong


async def transcribed(track: PCM, sounds: Sequence[Heard]) -> list[str]:
    """The transcript of each piece of audio."""
    transcriber = Transcriber.load()
    try:
        cut = [track[round((s.start - 0.1) * RATE) : round((s.end + 0.2) * RATE)] for s in sounds]
        return [await transcriber.transcribe(pcm, RATE) for pcm in cut if len(pcm)]
    finally:
        await transcriber.aclose()


def _notes(records: Sequence[Record], kind: str) -> list[Mapping[str, Any]]:
    return [record["data"] for record in records if record.get("note") == kind]


def _messages(records: Sequence[Record], role: str) -> list[str]:
    return [data["text"] for data in _notes(records, "message") if data["role"] == role]
