"""The verdicts on conversations of `scenarios.yaml` that need more than its checks."""

from __future__ import annotations

from collections.abc import Mapping

from turnfsm.runtime.compare.scenario import Verdict
from turnfsm.runtime.testing.livekit import Outcome

from .checks import agent_states_as_heard, contexts_complete, hears, keeps_in_history, logs_no_error

__all__ = ["VERDICTS"]

SECOND = "and what about Paris please"
COMMITTED = 7.0  # the second turn ends at 6.5 s, and an end of turn takes 0.5 s of silence
RESULT, ANSWER = "It rains in Rome.", "Paris is sunny."

NOTICE, NEXT = "Your call is important to us.", "What can I do for you?"
STORY = "Once upon a time there was a king who had three daughters and no sons."
LIMIT = 10.0


def _speculation(outcome: Outcome) -> list[str]:
    """Requests for the second turn made before it can have been committed, while a tool ran."""
    return [
        f"the model is asked about {SECOND!r} at {request.at:.2f} s, before that turn is "
        f"committed, while {tool.name} runs"
        for request in outcome.requests
        for tool in outcome.tools
        if SECOND in request.prompt
        and request.at < COMMITTED
        and tool.start < request.at < (tool.end or float("inf"))
    ]


def _s1(outcome: Outcome) -> list[str]:
    problems = _speculation(outcome)
    asked = sum(SECOND in request.prompt for request in outcome.requests)
    if asked > 1:
        problems.append(f"the model is asked {asked} times about {SECOND!r}")
    if outcome.heard_saying(ANSWER) is None:
        problems.append(f"{ANSWER!r} is never heard")
    return problems


def _s1b(outcome: Outcome) -> list[str]:
    problems = _s1(outcome) + contexts_complete(outcome)
    answer = outcome.heard_saying(ANSWER)
    if answer is not None and answer.start > COMMITTED + 1.0:
        problems.append(
            f"the user's turn ends at 6.50 s and is answered at {answer.start:.2f} s: "
            f"{answer.start - 6.5:.1f} s of silence"
        )
    if outcome.heard_saying(RESULT) is None:
        problems.append("the tool's result is never spoken")
    return problems + logs_no_error(outcome)


def _parallel(outcome: Outcome) -> list[str]:
    problems = contexts_complete(outcome)
    asked = [request for request in outcome.requests if "hurry" in request.prompt]
    for request in asked[-1:]:
        if not any("the menu is pasta" in line for line in request.context):
            problems.append(
                f"`quick` had ended at 3.5 s, and the request at {request.at:.2f} s does not show "
                "its result"
            )
    return problems + hears(outcome, "There is pasta.", 7.5, 5.9, "the user's words end")


def _no_end(outcome: Outcome) -> list[str]:
    problems = hears(outcome, NEXT, 4.1 + LIMIT + 1.0, 4.1, "the notice ends")
    if not problems and not outcome.warnings:
        problems.append("nobody is told that the output did not report its end")
    return problems


def _tts_breaks(outcome: Outcome) -> list[str]:
    problems = hears(outcome, "The eldest loved salt.", 12.5, 10.9, "the user's words end")
    said = [line for line in outcome.context if line.startswith("assistant: Once")]
    heard = outcome.heard[0].text if outcome.heard else ""
    if not said or not heard.startswith("Once"):
        problems.append(f"the user heard {heard!r} and the conversation does not hold it")
    elif "no sons" in said[0]:
        problems.append(f"the user heard {heard!r}, the conversation holds {said[0]!r}")
    return problems


def _held(outcome: Outcome) -> list[str]:
    problems = agent_states_as_heard(outcome)
    story = outcome.heard[0] if outcome.heard else None
    if story is None or not 3.2 <= story.start <= 3.9:
        when = "never" if story is None else f"at {story.start:.2f} s"
        problems.append(f"the user is loud from 2.60 to 3.20 s, the reply begins {when}")
    if outcome.false_interruptions:
        problems.append("a false interruption is reported, though nothing had been heard")
    if " ".join(h.text for h in outcome.heard) != STORY:
        problems.append(f"the story is not heard whole: {outcome.heard_lines}")
    return problems


def _segments(outcome: Outcome) -> list[str]:
    problems = agent_states_as_heard(outcome)
    if " ".join(h.text for h in outcome.heard if h.text) != f"{NOTICE} {STORY}":
        problems.append(f"not all is heard: {outcome.heard_lines}")
    if len(outcome.false_interruptions) > 1:
        problems.append(f"one noise, {len(outcome.false_interruptions)} false interruptions")
    return problems


def _cannot_pause(outcome: Outcome) -> list[str]:
    problems = agent_states_as_heard(outcome)
    problems += hears(outcome, "The eldest loved salt.", 11.2, 9.9, "the user's words end")
    heard = outcome.heard[0].text
    if not any(line == f"assistant: {heard} (interrupted)" for line in outcome.context):
        problems.append(f"the user heard {heard!r}, the conversation holds {outcome.context}")
    if any(resumed for _, resumed in outcome.false_interruptions):
        problems.append("a resumption is reported on an output that cannot pause")
    return problems


def _sound(outcome: Outcome) -> list[str]:
    """What no conversation may show."""
    return agent_states_as_heard(outcome) + logs_no_error(outcome)


def _barge_in(outcome: Outcome) -> list[str]:
    problems = _sound(outcome) + hears(outcome, "All right.", 6.1, 5.0, "the barge-in ends")
    story = outcome.heard[0]
    if not 4.4 < story.end < 4.7:
        problems.append(f"the story is heard until {story.end:.2f} s, the user speaks at 4.00 s")
    if not any(story.text in line and "interrupted" in line for line in outcome.context):
        problems.append(f"the context does not hold what was heard, {story.text!r}")
    return problems


def _backchannel(outcome: Outcome) -> list[str]:
    problems = _sound(outcome)
    if [resumed for _, resumed in outcome.false_interruptions] != [True]:
        problems.append(f"false interruptions: {outcome.false_interruptions}")
    if len(outcome.heard) != 2 or " ".join(h.text for h in outcome.heard) != STORY:
        problems.append(f"the story is not heard whole, in two parts: {outcome.heard}")
    return problems


def _tool(outcome: Outcome) -> list[str]:
    problems = _sound(outcome) + contexts_complete(outcome)
    if [(t.name, t.status, t.message) for t in outcome.tools] != [
        ("look_up", "done", "rain in Rome")
    ]:
        problems.append(f"the tool runs: {outcome.tools}")
    return problems + hears(outcome, "It rains.", 6.0, 2.2, "the question ends")


def _empty(outcome: Outcome) -> list[str]:
    problems = hears(outcome, "It rains.", 13.0, 11.5, "the turn is committed")
    asked = [f"{request.at:.2f} s" for request in outcome.requests if "weather" in request.prompt]
    if len(asked) != 1:
        problems.append(f"the model is asked about one turn at {', '.join(asked)}")
    return problems + keeps_in_history(outcome, "what is the weather")


VERDICTS: Mapping[str, Verdict] = {
    "S1": _s1,
    "S1b": _s1b,
    "D6": _parallel,
    "P1": _no_end,
    "P2": _tts_breaks,
    "P4": _held,
    "P5": _segments,
    "P6": _cannot_pause,
    "C2": _barge_in,
    "C2-hard": _barge_in,
    "C3": _backchannel,
    "C4": _tool,
    "T2": _empty,
}
"""By the ids of the scenarios."""
