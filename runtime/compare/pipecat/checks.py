"""Checks of a Pipecat conversation. Each returns the problems, if there are any."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from pipecat.processors.aggregators import async_tool_messages

from turnfsm.runtime.compare.scenario_file import Check
from turnfsm.runtime.testing.pipecat import Outcome, Request, ToolRun

__all__ = ["CHECKS"]

BEGUN = 0.35
"""Seconds for which audio may continue over a user who has just started to speak."""


def hears(outcome: Outcome, text: str, by: float | None = None) -> list[str]:
    """The user hears these words completely, once; they begin at this time at the latest."""
    heard = outcome.saying(text)
    if not heard:
        begun = _beginning(outcome, text)
        if begun:
            return [f"{text!r} is cut off for good after {begun!r}"]
        return [f"{text!r} is never heard"]
    times = ", ".join(f"{h.start:.2f}" for h in heard)
    if len(heard) > 1:
        return [f"{text!r} is heard {len(heard)} times, at {times} s"]
    if by is not None and heard[0].start > by:
        return [f"{text!r} is heard at {times} s, {heard[0].start - by:.1f} s too late"]
    return []


def hears_never(outcome: Outcome, text: str) -> list[str]:
    """The user does not hear these words."""
    return [f"{text!r} is heard at {h.start:.2f} s" for h in outcome.saying(text)]


def runs_once(outcome: Outcome, name: str, effects: int = 1) -> list[str]:
    """The side effect of the tool happens this number of times, and no call of it is cancelled."""
    calls = [call for call in outcome.tools if call.name == name]
    done = [f"{call.effect:.2f}" for call in calls if call.effect is not None]
    problems = [
        f"{name} is cancelled at {call.end:.2f} s"
        + (f", after its effect at {call.effect:.2f} s" if call.effect is not None else "")
        for call in calls
        if call.cancelled and not _at_the_end(call, outcome)
    ]
    if len(done) != effects:
        when = f", at {', '.join(done)} s" if done else ""
        problems.append(f"{name} has its effect {len(done)} times{when}")
    return problems


def asked_at_most(outcome: Outcome, times: int) -> list[str]:
    """The model is asked at most this number of times."""
    if len(outcome.requests) <= times:
        return []
    at = ", ".join(f"{request.at:.2f}" for request in outcome.requests)
    return [f"the model is asked {len(outcome.requests)} times, at {at} s"]


def quiet_at_most(outcome: Outcome, seconds: float) -> list[str]:
    """No silence between two spans of audio is longer than this."""
    gaps = [(one.end, two.start - one.end) for one, two in pairwise(outcome.heard)]
    return [f"from {at:.2f} s on, {gap:.1f} s are silent" for at, gap in gaps if gap > seconds]


def silent_over_the_user(outcome: Outcome) -> list[str]:
    """No playout starts while the user speaks."""
    return [
        f"{heard.text!r} begins at {heard.start:.2f} s, while the user speaks "
        f"({voice.start:.2f}-{voice.end:.2f})"
        for heard in outcome.heard
        for voice in outcome.voice
        if voice.text and voice.start < heard.start < voice.end - BEGUN
    ]


def results_shown(outcome: Outcome) -> list[str]:
    """A request shows the results of all ended calls, and only running calls as running."""
    return [
        f"the model is asked at {request.at:.2f} s, and its messages show {call.name}, which "
        f"{'was cancelled' if call.cancelled else 'had ended'} at {call.end:.2f} s, as "
        f"{'running' if shown else 'never called'}"
        for request in outcome.requests
        for call in outcome.tools
        if call.end is not None and call.end < request.at - 1e-6
        for shown in [_called(request, call)]
        if not (shown and _result(request, call))
    ]


def asked_between_answers(outcome: Outcome) -> list[str]:
    """The model is not asked during playout that its messages cannot show yet."""
    return [
        f"the model is asked at {request.at:.2f} s, in the middle of what is heard from "
        f"{heard.start:.2f} to {heard.end:.2f} s, and its messages lack it"
        for request in outcome.requests
        for heard in outcome.heard
        if heard.start < request.at < heard.end - BEGUN
    ]


def keeps_what_was_heard(outcome: Outcome) -> list[str]:
    """A request shows everything that was heard before it."""
    return [
        f"the model is asked at {request.at:.2f} s, and its messages lack {missing!r}, which was "
        f"heard by then"
        for request in outcome.requests
        if (missing := _unshown(outcome, request))
    ]


def _unshown(outcome: Outcome, request: Request) -> str:
    shown = " ".join(
        str(message.get("content")) for message in request.messages if _by_agent(message)
    )
    heard = [h for h in outcome.heard if h.end <= request.at and h.text not in shown]
    return heard[0].text if heard else ""


def _by_agent(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "assistant"


def _beginning(outcome: Outcome, text: str) -> str:
    words = text.split()
    for count in range(len(words) - 1, 1, -1):  # one word alone may be of another sentence
        if outcome.saying(begun := " ".join(words[:count])):
            return begun
    return ""


def _at_the_end(call: ToolRun, outcome: Outcome) -> bool:
    """The stage was over."""
    return call.end is not None and call.end >= outcome.notes[-1].at and not call.effect


def _called(request: Request, call: ToolRun) -> bool:
    made = (c["id"] for m in request.messages for c in m.get("tool_calls") or ())
    return call.id in made


def _result(request: Request, call: ToolRun) -> bool:
    """A message has what became of the call."""
    for message in request.messages:
        parsed = async_tool_messages.parse_message(message)
        if parsed is not None:
            if parsed.tool_call_id == call.id and parsed.kind == "final":
                return True
        elif message.get("tool_call_id") == call.id and message.get("content") != "IN_PROGRESS":
            return True
    return False


def requests_accepted(outcome: Outcome) -> list[str]:
    """No provider would refuse a request: a call is followed by its result."""
    return [problem for request in outcome.requests for problem in _refused(request)]


def _refused(request: Request) -> list[str]:
    open_: dict[str, str] = {}
    for message in request.messages:
        if message.get("role") == "tool":
            open_.pop(str(message.get("tool_call_id")), None)
        elif open_:
            break
        open_ |= {c["id"]: c["function"]["name"] for c in message.get("tool_calls") or ()}
    return [
        f"the request at {request.at:.2f} s has the call of {name} without a result behind it"
        for name in open_.values()
    ]


CHECKS: Mapping[str, Check] = {
    check.__name__: check
    for check in (
        *(hears, hears_never, runs_once, asked_at_most, quiet_at_most, silent_over_the_user),
        *(results_shown, asked_between_answers, keeps_what_was_heard, requests_accepted),
    )
}
