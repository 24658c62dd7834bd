"""All checks of a run, including those that need more than one record."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

from livekit.agents import llm

from turnfsm.fsm import Flow
from turnfsm.fsm.journal import Journal, replay
from turnfsm.runtime.testing.heard import Heard
from turnfsm.runtime.testing.livekit.requests import request_problems

from .checks import Result, check
from .expected import EXPECTED, SILENCE, WORD_ERRORS
from .script import CALLS, CONVERSATION
from .take import Take
from .transcript import arguments
from .words import WordErrors, word_errors, words

__all__ = [
    "audible",
    "judge",
    "no_errors",
    "replays",
    "talked_through",
    "to_the_end",
    "turns_accounted",
    "understood",
]

Record = Mapping[str, Any]

_LINES = {line.name: line for line in CONVERSATION}


def judge(take: Take, flow: Flow, written: Journal) -> list[Result]:
    """Run all checks.

    Args:
        written: The journal, read from its file.
    """
    names = [record["data"]["line"] for record in take.notes("user_audio")]
    results = [to_the_end(names, take.stopped, f" in {take.end:.1f} s")]
    results += [check(expected, take.records, take.never_posted) for expected in EXPECTED]
    said = [record["data"] for record in take.notes("user_audio")]
    wanted = [data["text"] for data in said if not _LINES[data["line"]].ignored]
    results += [_talked_through(take, flow)]
    results += [understood(wanted, take.messages("user")), _asked_once(take)]
    results += [turns_accounted(take.records), _calls(take), _audible(take)]
    errors = [entry for entry in take.log if entry.startswith(("ERROR", "CRITICAL"))]
    return [*results, _replays(take, flow, written), no_errors(errors)]


def to_the_end(said: Sequence[str], stopped: str, took: str = "") -> Result:
    """All lines were said; `stopped`: why not."""
    left = [name for name in _LINES if name not in said]
    details = stopped or (f"not said: {', '.join(left)}" if left else f"{len(said)} lines{took}")
    return Result("to_the_end", not (stopped or left), details)


def talked_through(said: Heard | None, heard: Sequence[Heard], limit: float = SILENCE) -> Result:
    """Once the backchannel has ended, the agent is silent for at most `limit` seconds."""
    before = [sound for sound in heard if said is not None and sound.start < said.end]
    if said is None or not before:
        return Result("talked_through", False, "there was no backchannel over the agent")
    paused = max(sound.end for sound in before)
    after = min((sound.start for sound in heard if sound.start >= said.end), default=inf)
    if paused >= said.end:
        return Result("talked_through", True, "the agent did not pause")
    details = (
        f"paused for {after - paused:.2f} s, and silent for {after - said.end:.2f} s "
        f"once the backchannel had ended (at most {limit:g} s)"
    )
    return Result("talked_through", after - said.end <= limit, details)


def understood(wanted: Sequence[str], turns: Sequence[str]) -> Result:
    """The user's lines with words are turns, with few wrong words."""
    errors = word_errors(" ".join(wanted), " ".join(turns))
    ok = 0 < len(turns) == len(wanted) and errors.rate <= WORD_ERRORS
    details = f"{len(turns)} turns of {len(wanted)} lines with words; {_wrong(errors)}"
    return Result("user_understood", ok, details)


def turns_accounted(records: Iterable[Record]) -> Result:
    """Every committed turn has one outcome, and none was dropped."""
    committed, outcomes = 0, Counter[str]()
    for record in records:
        committed += record.get("trigger") == "turn_committed" and record["verdict"] == "taken"
        if record.get("note") == "turn":
            outcomes[str(record["data"]["outcome"])] += 1
    details = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    ok = 0 < committed == outcomes.total() and not outcomes["dropped"]
    return Result("turns_accounted", ok, f"{committed} committed: {details or 'no outcome'}")


def audible(said: str, heard: Sequence[str]) -> Result:
    """What was heard of the agent, transcribed, is what it said."""
    errors = word_errors(said, " ".join(heard))
    ok = errors.said > 0 and errors.rate <= WORD_ERRORS
    return Result("agent_audible", ok, f"transcribed back: {_wrong(errors)}")


def replays(journal: Journal, flow: Flow) -> Result:
    """A replay gives the same verdicts."""
    divergence, decided = replay(journal, flow), len(journal.entries)
    details = str(divergence or f"the flow decides all {decided} entries again in the same way")
    return Result("journal_replays", decided > 0 and divergence is None, details)


def no_errors(errors: Sequence[str]) -> Result:
    """Nothing was logged as an error."""
    details = errors[0].splitlines()[0] if errors else "nothing was logged as an error"
    return Result("no_errors", not errors, details)


def _talked_through(take: Take, flow: Flow) -> Result:
    user, heard = _spans(take, "user_audio", line="backchannel"), _spans(take, "agent_audio")
    result = talked_through(user[0] if user else None, heard)
    if "backchannel" in flow.host_facts:
        return result
    return Result(result.name, None, f"{result.evidence}; {flow.name} does not aim at it")


def _spans(take: Take, kind: str, **data: str) -> list[Heard]:
    notes = [note["data"] for note in take.notes(kind)]
    return [Heard(n["start"], n["end"], n["text"]) for n in notes if data.items() <= n.items()]


def _asked_once(take: Take) -> Result:
    """What the user says while a tool runs is sent to the model when the turn is committed, not
    before."""
    said = words(_LINES["interjection"].text)
    requests = take.model.asked if take.model else []
    asked = [request.at for request in requests if words(request.about) == said]
    commits = [r["t"] for r in take.committed if words(r["data"].get("text", "")) == said]
    when = ", ".join(f"{at:.2f} s" for at in asked) or "never"
    details = f"{_LINES['interjection'].text!r} reached the model: {when}"
    committed = f"; committed: {', '.join(f'{at:.2f} s' for at in commits) or 'never'}"
    ok = len(asked) == len(commits) == 1 and asked[0] > commits[0] - 0.01
    return Result("model_asked_once", ok, details + committed)


def _calls(take: Take) -> Result:
    """Each call ran once, and requests contain it with its result, in every provider's format."""
    made = [item for item in take.history if isinstance(item, llm.FunctionCall)]
    details = ", ".join(f"{call.name}({arguments(call.arguments)})" for call in made) or "no call"
    if wrong := request_problems(llm.ChatContext(list(take.history))):
        return Result("calls_once", False, f"{wrong[0]}: {details}")
    runs = Counter(record["data"]["call_id"] for record in take.notes("tool"))
    ok = runs == Counter(call.call_id for call in made)
    ok = ok and [(call.name, json.loads(call.arguments)) for call in made] == list(CALLS)
    details = f"{details}: {runs.total()} runs for {len(made)} calls"
    return Result("calls_once", ok, f"{details}; the robot stands at {take.position} m")


def _audible(take: Take) -> Result:
    if take.transcribed is None:
        return Result("agent_audible", None, "not looked at: a typed conversation has no sound")
    said = " ".join(record["data"]["text"] for record in take.notes("agent_audio"))
    return audible(said, take.transcribed)


def _replays(take: Take, flow: Flow, written: Journal) -> Result:
    """The file is complete, and a replay gives the same verdicts."""
    count = 1 + len(written.records)
    if count != len(take.records):
        details = f"the file has {count} of {len(take.records)} records"
        return Result("journal_replays", False, details)
    return replays(written, flow)


def _wrong(errors: WordErrors) -> str:
    share = f"{errors.rate:.1%} (at most {WORD_ERRORS:.0%})"
    return f"{errors.edits} of {errors.said} words wrong, {share}"
