"""A call is under way when the user goes on, or coughs: how late its result is heard."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from livekit.agents import AgentSession
from scripted_tool import tool
from sweeps import swept

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

SOON = 0.1
"""Seconds that a result may be heard later than on `AgentSession`."""


def _as_shown(request: Request) -> Reply:
    """What a model knows of the call; without one it makes it."""
    if any("twelve degrees" in entry.text for entry in request.shown):
        return Reply("It is twelve degrees.")
    if any(entry.kind == "call" for entry in request.shown):
        return Reply("I am still checking.")
    return Reply(calls=Call("look_up"))


@attrs.frozen
class Played:
    """When the result was there, when it was heard, and when a reply that lacks it was."""

    ended: float
    heard: float
    checking: float | None


def _played(
    session: Any,
    takes: float,
    *,
    goes_on: float = 0.0,
    coughs: float = 0.0,
    lasts: float = 0.4,
    interims: tuple[tuple[float, str], ...] = (),
) -> Played:
    look_up = tool("look_up", "twelve degrees", seconds=takes)
    user = ScriptedUser().says("how is the weather", at=0.5, interims=interims)
    if goes_on:
        user.says("in Oslo please", at=goes_on)
    if coughs:
        user.makes_noise(at=coughs, duration=lasts)
    model = ScriptedLLM({"Oslo": _as_shown, "weather": _as_shown}, {"look_up": _as_shown})
    outcome = Stage(session, user=user, llm=model, tools=[look_up]).run(11.0)
    heard, checking = map(outcome.heard_saying, ("twelve degrees", "still checking"))
    (ended,) = (event.at for event in outcome.events if "done: twelve degrees" in event.what)
    assert heard is not None, outcome.timeline()
    return Played(ended, heard.start, checking and checking.start)


@pytest.mark.parametrize("goes_on", [2.45, 2.7, 3.0])
@swept("moments", [0.4 + 0.25 * n for n in range(12)], every=5)
def test_a_reply_that_nobody_has_heard_is_asked_for_anew_with_a_result(
    goes_on: float, moments: list[float]
) -> None:
    """The user has made a pause in their sentence, in which the call was made. The model is asked
    about the whole sentence at once, and is told that the call still runs."""
    late = {}
    for takes in moments:
        ours, theirs = (
            _played(kind, takes, goes_on=goes_on) for kind in (TurnSession, AgentSession)
        )
        heard_before = ours.checking is not None and ours.checking <= ours.ended
        if not heard_before and (ours.checking is not None or ours.heard > theirs.heard + SOON):
            late[takes] = ours, theirs
    assert late == {}


@pytest.mark.parametrize("lasts", [0.4, 0.6])
@swept("moments", [2.3 + 0.2 * n for n in range(9)], every=4)
def test_a_cough_while_a_tool_runs_does_not_delay_its_answer(
    lasts: float, moments: list[float]
) -> None:
    """The tool takes two seconds; the cough comes at any moment of it. The STT gives interim
    transcripts: it would have shown words by then."""
    late = {}
    for at in moments:
        ours, theirs = (
            _played(kind, 2.0, coughs=at, lasts=lasts, interims=((0.4, "how"),))
            for kind in (TurnSession, AgentSession)
        )
        if ours.heard > theirs.heard + SOON:
            late[at] = ours.heard - theirs.heard
    assert late == {}


def test_without_interim_transcripts_the_answer_waits_for_words_of_a_cough() -> None:
    """They could come for as long as `false_interruption`; a short word would be answered late."""
    late = []
    for at in (2.3 + 0.2 * n for n in range(9)):
        ours, theirs = (_played(kind, 2.0, coughs=at) for kind in (TurnSession, AgentSession))
        late.append(ours.heard - theirs.heard)
    assert 1.0 < max(late) < 2.0
