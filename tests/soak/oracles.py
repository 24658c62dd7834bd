"""What must hold of every conversation, whatever happened in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import inf

from talk import Played

from turnfsm.fsm.audit.properties import broken_properties
from turnfsm.fsm.journal import journal_of, replay
from turnfsm.runtime.testing.livekit import Request, Utterance, request_problems

CLOSE_LIMIT = 12.0
"""Seconds that closing may take: tools that nobody waits for have five, a speech may end. A tool
that must not be interrupted has its limit before that."""

LIMITS = 10.5
"""Seconds after which every timer has fired that gives the floor back."""

GAP = 0.021
"""Seconds in which the agent state may follow what is heard."""

EXPECTED = {
    "llm_fails": r"the model fails",
    "tts_fails": r"the scripted TTS breaks off|TTS failed after partial audio",
    "stt_fails": r"the scripted STT breaks off",
    "vad_fails": r"the scripted VAD fails",
    "hooks": r"on_(enter|exit|user_turn_completed) fails|finished before Errand was completed",
}
"""The errors that a fault may log, and those that random tools may always."""

ALWAYS = (
    r"LookupError\('d\d+'\)",
    r"SpeechInterrupted",
    r"returned an invalid output",
    r"tool_choice set to 'none'",  # the model calls on when LiveKit has forbidden it
    r"executing tool \[RuntimeError\('cannot schedule new speech",  # it speaks during a handoff
    r"executing tool \[RuntimeError\('AgentSession is closing",  # it speaks during a close
    r"no activity context found",  # a reply is generated while its agent is handed over
    r"the speech that awaited the inline task is interrupted",
    r"expected to receive only one Agent",  # the model asks for several handoffs in one step
    r"finished before Errand was completed",  # the session closes before it
    r"failed to generate a reply.*: the response was cancelled",  # the user speaks as it begins
)
UNSURE_OF_WORDS = {"hooks", "vad_fails", "stt_fails"}
"""Faults under which LiveKit may lose words."""


def judge(played: Played) -> list[str]:
    """Everything that is wrong, one sentence each."""
    return [f"{oracle.__name__}: {line}" for oracle in ORACLES for line in oracle(played)]


def properties(played: Played) -> Iterator[str]:
    """The properties of the flow hold in what happened."""
    yield from broken_properties(journal_of(played.records), played.flow, played.talk.timers)


def journal(played: Played) -> Iterator[str]:
    """The journal reproduces every state and fact."""
    if divergence := replay(journal_of(played.records), played.flow):
        yield str(divergence)


def errors(played: Played) -> Iterator[str]:
    """Nothing is logged as an error but what the script caused."""
    expected = [*ALWAYS, *(EXPECTED[f] for f in played.talk.faults if f in EXPECTED)]
    for at, text in played.outcome.errors:
        if not re.search("|".join(expected), text):
            yield f"at {at:.2f} s: {text}"


def leftovers(played: Played) -> Iterator[str]:
    """No task and no timer outlives the session, and it closes in time."""
    outcome = played.outcome
    yield from (f"the task {name} is left" for name in outcome.orphans)
    yield from (f"a timer is left: {name}" for name in outcome.timers)
    timers = played.talk.timers
    limit = CLOSE_LIMIT + (timers["tool_limit"] if _held(played) else 0.0)
    limit += _unended(played) * (timers.get("speaking_limit", 0.0) + timers.get("settle", 0.5))
    if outcome.closed_in > limit:
        yield f"closing takes {outcome.closed_in:g} s"


def rest(played: Played) -> Iterator[str]:
    """When nothing more happens, the turn is listening and owes nothing."""
    if played.talk.closes_at is not None:
        return
    last = _last_record(played)
    if (
        last
        and _timers_started(played) < _end(played) - LIMITS
        and (last["dest"] != "listening" or "turn_open" in last["facts"])
    ):
        facts = ", ".join(last["facts"])
        yield f"at the end the turn is {last['dest']} with {{{facts}}}, since {last['t']:.2f} s"


def turns(played: Played) -> Iterator[str]:
    """Every committed turn has one outcome; a limit takes back that it was replied, once."""
    committed = sum("answer_turn" in r.get("actions", ()) for r in played.records)
    withdrawn = sum("withdraw_reply" in r.get("actions", ()) for r in played.records)
    notes = [r["data"] for r in played.records if r.get("note") == "turn"]
    for number in range(1, committed + 1):
        ends = [note["outcome"] for note in notes if note["number"] == number]
        if ends == ["replied", "dropped"] and withdrawn:
            withdrawn -= 1
        elif len(ends) != 1:
            yield f"turn {number} has {len(ends)} outcomes"


def words(played: Played) -> Iterator[str]:
    """What was recognised is in the conversation once."""
    users = [
        item.text_content or ""
        for item in played.outcome.history.items
        if item.type == "message" and item.role == "user"
    ]
    sure = not UNSURE_OF_WORDS & played.talk.faults and _nothing_cleared(played)
    disordered = {*_interims_of_disordered(played.talk.user.utterances)}
    for at, text in _finals(played):
        count = sum(len(re.findall(rf"\b{text}\b", line)) for line in users)
        if count > 1 and text not in disordered:
            yield f"{text!r} is {count} times in the conversation"
        if not count and sure and at < _end(played) - 15.0:
            yield f"{text!r}, heard at {at:.2f} s, is not in the conversation"


def _interims_of_disordered(sounds: Sequence[Utterance]) -> Iterator[str]:
    """Those of sounds whose final transcript comes after that of a later one. No STT stream does
    that; a commit may take the interim transcript, and the final one is new to it."""
    for n, sound in enumerate(sounds):
        final = inf if sound.stt_delay is None else sound.end + sound.stt_delay
        if any(u.text and u.end + (u.stt_delay or 0.0) <= final for u in sounds[n + 1 :]):
            yield from (text for _, text in sound.interims)


def calls(played: Played) -> Iterator[str]:
    """Every tool call is executed once and ends once, and its result is in the conversation."""
    for call in played.session.ledger:
        if call.end is None:
            yield f"{call.id} ({call.name}) has no end in the ledger"
    yield from _ends(played)
    yield from _executions(played)
    yield from _results(played)


def contexts(played: Played) -> Iterator[str]:
    """A call stands with its output wherever the model sees it."""
    for request in played.outcome.requests:
        # while a call of its turn still runs, LiveKit shows the model where each stands
        if not _running(played, request.at) and not _waiting(played, request):
            for problem in request_problems(request.chat_ctx, realtime=request.realtime):
                yield f"in the request at {request.at:.2f} s {problem}"
    yield from request_problems(played.outcome.history)
    if played.talk.closes_at is None and not _running(played, _end(played)):
        for conversation in played.conversations[-1:]:
            held = request_problems(conversation, realtime=True)
            yield from (f"at the end, for the model, {problem}" for problem in held)


def agent_states(played: Played) -> Iterator[str]:
    """The published state is speaking if and only if audio is heard."""
    if {"no_start", "no_end"} & played.talk.faults:
        return
    for start, end, state in played.outcome.wrong_agent_states(GAP):
        if start < _end(played):
            yield f"from {start:.2f} s to {end:.2f} s the agent state is {state}"


def floor(played: Played) -> Iterator[str]:
    """Nothing that can be interrupted begins to be heard over the user."""
    if not played.talk.settings["can_pause"] or "vad_fails" in played.talk.faults:
        return
    if {"say_on", "disallow"} & {move.what for move in played.talk.moves} or _held(played):
        return
    for heard in played.outcome.heard:
        for said in played.talk.user.utterances:
            over = said.at + 0.1 < heard.start < said.end - 1e-6
            if over and not _disallowed(played, heard.start):
                yield f"{heard.text!r} begins at {heard.start:.2f} s over {said.text!r}"


ORACLES: tuple[Callable[[Played], Iterator[str]], ...] = (
    properties, journal, errors, leftovers, rest, turns, words, calls, contexts, agent_states,
    floor,
)  # fmt: skip


def _end(played: Played) -> float:
    """When the session was closed."""
    closes_at = played.talk.closes_at
    return played.talk.seconds if closes_at is None else closes_at


def _last_record(played: Played) -> dict | None:
    entries = [r for r in played.records if "trigger" in r and r["t"] < _end(played) - 0.1]
    return entries[-1] if entries else None


def _timers_started(played: Played) -> float:
    """When a timer last started: with its state, or again while it was held."""
    return max(
        (
            r["t"]
            for r in played.records
            if (r.get("entered") or r.get("restarts")) and r["t"] < _end(played)
        ),
        default=0.0,
    )


def _nothing_cleared(played: Played) -> bool:
    cleared = any(move.what == "clear" for move in played.talk.moves)
    return not cleared and not played.talk.settings["min_words"]


def _finals(played: Played) -> Iterator[tuple[float, str]]:
    for event in played.outcome.events:
        if event.lane == "stt" and event.what.startswith("final: "):
            yield event.at, event.what.removeprefix("final: ")


def _running(played: Played, at: float) -> bool:
    """A tool runs, or has returned an agent while it is open whether the user objects."""
    if any(
        tool.start <= at and (tool.end is None or tool.end >= at) for tool in played.outcome.tools
    ):
        return True
    made = {r["data"]["call"]: r["t"] for r in played.records if r.get("note") == "tool_started"}
    ready = {r["data"]["call"]: r["t"] for r in played.records if r.get("note") == "result_ready"}
    return any(t <= at and ready.get(call, -1.0) >= at for call, t in made.items())


def _waiting(played: Played, request: Request) -> bool:
    """A realtime model has made a call in a response that waits for the floor."""
    begun = {tool.call_id for tool in played.outcome.tools if tool.start < request.at}
    made = {item.call_id for item in request.chat_ctx.items if item.type == "function_call"}
    ours = {call.removesuffix("_final").partition("_update")[0] for call in made}
    return bool(played.conversations and ours - begun)


def _held(played: Played) -> bool:
    started = [r["data"] for r in played.records if r.get("note") == "tool_started"]
    return any(data["policy"] in ("hold", "finish") for data in started)


def _disallowed(played: Played, start: float) -> bool:
    """What begins to be heard then could not be interrupted any more: its tool awaits a task."""
    steps = [r["of"] for r in played.records if _is(r, "playout_started") and r["t"] == start]
    return any(
        _is(r, "interruptions_disallowed") and r["of"] in steps and r["t"] <= start
        for r in played.records
    )


def _is(record: dict, trigger: str) -> bool:
    return record.get("trigger") == trigger and record["verdict"] == "taken"


def _unended(played: Played) -> int:
    """The speeches of the close whose end the output did not report; a limit has ended them."""
    taken = [r for r in played.records if r.get("trigger") == "speaking_limit" and r.get("actions")]
    late = [record for record in taken if record["t"] > _end(played)]
    return len(late) if "no_end" in played.talk.faults else 0


def _ends(played: Played) -> Iterator[str]:
    ends: dict[str, list[str]] = {}
    for record in played.records:
        if record.get("note") == "tool_ended":
            ends.setdefault(record["data"]["call"], []).append(record["data"]["how"])
    for call, hows in ends.items():
        if len(hows) > 1:
            yield f"{call} ends as {', '.join(hows)}"


def _executions(played: Played) -> Iterator[str]:
    books = {call.id: call for call in played.session.ledger}
    assert len(books) < played.session.ledger.maxlen, "the ledger has forgotten calls"
    done: dict[tuple[str, str, str], float] = {}
    seen = Counter(run.call_id for run in played.cast.runs)
    yield from (f"{call} is executed {n} times" for call, n in seen.items() if n > 1)
    for run in played.cast.runs:
        call = books.get(run.call_id)
        if call is None:
            yield f"{run.call_id} ({run.name}) is executed and not in the ledger"
            continue
        key = (call.turn, call.name, call.arguments)
        if run.name != "again" and done.get(key, float("inf")) < run.start:
            yield f"{run.call_id} ({run.name}) is executed although its turn has the result"
        if run.how == "result" and call.end == "result":
            done[key] = min(run.end, done.get(key, float("inf")))


def _results(played: Played) -> Iterator[str]:
    outputs = Counter(
        item.call_id for item in played.outcome.history.items if item.type == "function_call_output"
    )
    for run in played.cast.runs:
        ended = run.how and run.end < _end(played) - 1.0
        if ended and outputs[run.call_id] != 1:
            what = f"{run.call_id} ({run.name}), ended at {run.end:.2f} s as {run.how},"
            yield f"{what} has {outputs[run.call_id]} outputs in the conversation"
