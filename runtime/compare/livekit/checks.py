"""Checks of a LiveKit conversation. Each returns the problems, if there are any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnfsm.runtime.compare.scenario_file import Check
from turnfsm.runtime.testing.livekit import Outcome

from . import request_checks
from .agents import held

__all__ = ["CHECKS"]


# -- what the user hears


def hears(
    outcome: Outcome,
    text: str,
    by: float = float("inf"),
    since: float | str = 0.0,
    what: str = "",
    within: float | None = None,
) -> list[str]:
    """The text begins to be heard at this time at the latest, or `within` so many seconds; `since`
    is when `what` happened, or the note of that moment."""
    if isinstance(since, str):
        since = outcome.marks.get(since, 0.0)
    by = since + within if within is not None else by
    heard = outcome.heard_saying(text)
    if heard is None:
        return [f"{text!r} is never heard" + (f" after {what} at {since:.2f} s" if what else "")]
    if heard.start > by + 1e-6:
        return [
            f"{text!r} is heard at {heard.start:.2f} s, {heard.start - since:.1f} s after "
            f"{what} at {since:.2f} s"
        ]
    return []


def no_silence_before(outcome: Outcome, text: str, by: float, turn_ends: float) -> list[str]:
    """If the text is heard, it begins at this time at the latest."""
    heard = outcome.heard_saying(text)
    if heard is None or heard.start <= by:
        return []
    return [
        f"the user's turn ends at {turn_ends:.2f} s and is answered at {heard.start:.2f} s: "
        f"{heard.start - turn_ends:.1f} s of silence"
    ]


def hears_times(outcome: Outcome, text: str, times: int) -> list[str]:
    """So many spans of audio are this text."""
    heard = sum(heard.text == text for heard in outcome.heard)
    return [] if heard == times else [f"{text!r} was heard {heard} times, not {times}"]


def hears_only(outcome: Outcome, texts: Sequence[str], among: str) -> list[str]:
    """Of all spans of audio with the words `among`, the user hears just these."""
    heard = [heard.text for heard in outcome.heard if among in heard.text]
    if heard == list(texts):
        return []
    return [f"the caller hears {', '.join(map(repr, heard)) or 'no result'}"]


def hears_whole(outcome: Outcome, text: str, parts: int | None = None) -> list[str]:
    """All audio together is this text, in so many spans."""
    heard = [heard.text for heard in outcome.heard if heard.text]
    if " ".join(heard) == text and parts in (None, len(heard)):
        return []
    return [f"not all is heard: {outcome.heard_lines}"]


def first(outcome: Outcome, what: str, after: float, before: float) -> list[str]:
    """The `start` or the `end` of the first span of audio is between these times."""
    at = getattr(outcome.heard[0], what) if outcome.heard else float("inf")
    if after <= at <= before:
        return []
    return [f"the {what} of the first speech is at {at:.2f} s, not {after:.2f} to {before:.2f} s"]


def agent_states_as_heard(outcome: Outcome) -> list[str]:
    """The published state and the audio output agree."""
    return [
        f"{'audio is heard' if label != 'speaking' else 'nothing is heard'} from {start:.2f} "
        f"to {end:.2f} s while the agent's state is {label!r}"
        for start, end, label in outcome.wrong_agent_states()
    ]


def false_interruptions(outcome: Outcome, resumed: Sequence[bool]) -> list[str]:
    """These are reported, each with whether the speech was resumed."""
    found = [resumed for _, resumed in outcome.false_interruptions]
    return [] if found == list(resumed) else [f"false interruptions: {found}, not {resumed}"]


def no_resumption(outcome: Outcome) -> list[str]:
    """No false interruption was resumed."""
    return ["a resumption is reported"] * any(r for _, r in outcome.false_interruptions)


def ignores_noise(outcome: Outcome, at: float) -> list[str]:
    """Noise at this time changes nothing: no audio of the step was heard."""
    problems = [
        f"a false interruption is reported at {when:.2f} s (resumed={resumed}), though no audio "
        "of that step was ever heard"
        for when, resumed in outcome.false_interruptions
    ]
    return problems + [
        f"noise makes the agent's state {state!r} at {when:.2f} s while the step goes on"
        for when, state in outcome.agent_states
        if state == "listening" and at < when < at + 3.0
    ]


# -- tools


def runs(outcome: Outcome, tool: str, times: int) -> list[str]:
    """The tool runs so often, as it was asked for."""
    ran = sum(run.name == tool for run in outcome.tools)
    asked = "1 request" if times == 1 else f"{times} requests"
    return [] if ran == times else [f"`{tool}` ran {ran} times for {asked}"]


def returns(outcome: Outcome, tool: str, result: str) -> list[str]:
    """The tool runs once, and gives this result."""
    ran = [(run.name, run.status, run.message) for run in outcome.tools]
    return [] if ran == [(tool, "done", result)] else [f"the tool runs: {outcome.tools}"]


def ends_once(outcome: Outcome) -> list[str]:
    """No call has several ends."""
    ends = [
        event.what.split(" ")[0]
        for event in outcome.events
        if event.lane == "tool" and event.what.startswith("call_") and " update" not in event.what
    ]
    return [f"{id} ends {n} times" for id in dict.fromkeys(ends) if (n := ends.count(id)) > 1]


def one_output(outcome: Outcome) -> list[str]:
    """The conversation has one output."""
    outputs = [line for line in outcome.context if line.startswith("output")]
    return [] if len(outputs) == 1 else [f"the conversation holds {outputs} as the call's output"]


def effect_once(outcome: Outcome, note: str, says: str) -> list[str]:
    """The effect that notes with this beginning tell happens at most once. The problem `says` how
    often, with the `times`."""
    found = [(at, what.removeprefix(note)) for at, what in outcome.notes if what.startswith(note)]
    times = ", ".join(f"{what} at {at:.2f} s" if what else f"{at:.2f} s" for at, what in found)
    return [says.format(count=len(found), times=times)] if len(found) > 1 else []


def effect_never(outcome: Outcome, note: str, says: str) -> list[str]:
    """The effect does not happen; else the problem `says` what is wrong."""
    at = outcome.marks.get(note)
    return [] if at is None else [f"{says}: {note} at {at:.2f} s"]


def answered(
    outcome: Outcome, at: float, effect: str, known: Sequence[str], unknown: Sequence[str]
) -> list[str]:
    """A question at this time is answered within 1.5 s: with one of the `known` texts if the
    `effect` had been noted when the model was asked, else perhaps with one that is `unknown`."""
    texts = (*known, *unknown)
    heard = next((h for h in outcome.heard_after(at) if h.text.startswith(texts)), None)
    if heard is None:
        return [f"the question at {at:.2f} s is never answered"]
    problems = []
    if heard.start > at + 1.5:
        late = f"answered at {heard.start:.2f} s, {heard.start - at:.1f} s later"
        problems.append(f"the question at {at:.2f} s is {late}")
    noted = outcome.marks.get(effect, float("inf"))
    asked = max(request.at for request in outcome.requests if request.at <= heard.start)
    if heard.text in unknown and noted <= asked:
        when = f"heard at {heard.start:.2f} s, the table was booked at {noted:.2f} s"
        problems.append(f"{heard.text!r} is {when}")
    return problems


# -- the session


def interrupts_at_once(outcome: Outcome) -> list[str]:
    """The first `interrupt()` returns and ends its speech within 0.1 s."""
    asked = outcome.marks["interrupt"]
    returned = outcome.marks.get("interrupt returned")
    problems = []
    if returned is None or returned - asked > 0.1:
        took = "never returns" if returned is None else f"takes {returned - asked:.3f} s"
        problems.append(f"`await session.interrupt()` {took}")
    done = outcome.speeches[0].done
    if done is None or done - asked > 0.1:
        problems.append(f"the interrupted speech is done {(done or 999.0) - asked:.3f} s later")
    return problems


def no_handoff(outcome: Outcome, after: float, says: str) -> list[str]:
    """No handoff `after` this time; else the problem `says` what the user had wanted."""
    handoffs = [at for at, line in outcome.items if line == "agent_handoff" and at > after]
    return [f"{says} and is handed over at {at:.2f} s all the same" for at in handoffs]


def not_in_state(outcome: Outcome, state: str, at: float, says: str) -> list[str]:
    """The agent is in another state at this time; else the problem is what `says`."""
    return [says] if outcome.state_at(at) == state else []


def closes(outcome: Outcome, waits_for: str) -> list[str]:
    """The session can be closed."""
    stuck = outcome.closed_in > 30.0
    return [f"the session cannot be closed: it waits for {waits_for}"] if stuck else []


def run_holds(
    outcome: Outcome,
    words: str,
    lines: Sequence[str],
    only: bool = False,
    not_before: str = "",
    says: str = "holds {held}, not {missing}",
) -> list[str]:
    """The run with these words ends, and holds these lines.

    Args:
        only: No other events, and in this order.
        not_before: What was said before it began, so that it is not in it.
        says: The problem, with the `missing` lines and those that it has `held`.
    """
    inside = held(outcome, words)
    raised = [] if only else [line for line in inside if line.startswith("raises")]
    problems = [f"`run({words!r})` {line}" for line in raised]
    missing = [line for line in lines if line not in inside]
    events = [line for line in inside if not line.startswith(("ends", "user:"))]
    if not problems and (missing or (only and events != list(lines))):
        problems.append(f"`run({words!r})` {says.format(held=inside, missing=missing)}")
    if not_before and any(not_before in line for line in inside):
        problems.append("the first run holds what was said before it")
    return problems


def run_raises(outcome: Outcome, words: str, error: str, says: str) -> list[str]:
    """The run with these words fails; else the problem `says` what it has `held`."""
    inside = held(outcome, words)
    if not inside:
        return ["the run does not end when the session closes"]
    raised = inside[-1].startswith(f"raises {error}")
    return [] if raised else [says.format(held=inside)]


def warns(outcome: Outcome, text: str) -> list[str]:
    """If the text is heard, a warning has told that the output did not report an end before."""
    silent = outcome.heard_saying(text) is not None and not outcome.warnings
    return ["nobody is told that the output did not report its end"] * silent


def logs_no_error(outcome: Outcome) -> list[str]:
    """No error is logged."""
    return [f"at {at:.2f} s an error is logged: {text}" for at, text in outcome.errors]


CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        *(hears, no_silence_before, hears_times, hears_only, hears_whole, first),
        *(agent_states_as_heard, false_interruptions, no_resumption, ignores_noise),
        *(getattr(request_checks, name) for name in request_checks.__all__),
        *(runs, returns, ends_once, one_output),
        *(effect_once, effect_never, answered, interrupts_at_once, no_handoff, not_in_state),
        *(closes, run_holds, run_raises, warns, logs_no_error),
    )
}
