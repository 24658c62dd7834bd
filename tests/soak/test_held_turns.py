"""What a call explains that keeps its turn from being interrupted, and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    JobRun,
    Measures,
    Move,
    Pair,
    Plan,
    Sound,
    worse,
)
from turnfsm.runtime.testing.livekit.speaker import Heard


@pytest.mark.parametrize(
    ("policy", "end", "overlap", "found"),
    [
        ("hold", 6.0, 1.0, []),
        ("finish", 6.0, 1.0, []),
        ("detach", 6.0, 1.0, ["overlap"]),
        ("hold", 2.0, 1.0, ["overlap"]),
        ("hold", 6.0, 2.0, ["overlap"]),
    ],
    ids=["hold", "finish", "not held", "it was over", "longer than they both spoke"],
)
def test_a_reply_whose_turn_is_held_is_heard_over_the_user(
    policy: Any, end: float, overlap: float, found: list[str]
) -> None:
    """The second sentence is said from 4 to 5 s, the reply is heard from 3 to 7 s."""
    sounds = (Sound(1.0, 2, 0.6), Sound(4.0, 2, 1.0))
    plan = Plan("held", sounds, {1: Answer(4, (1,))}, {1: Job(1, 3.0, policy=policy)})
    done: dict[str, Any] = {
        "effects": {1: 1},
        "wanted": {1: 1},
        "runs": (JobRun(1, "do_it", 1.5, 1.5, None, end, "result"),),
    }
    ours = Measures(**done, overlap=overlap, audio=(Heard(3.0, 7.0, "r1a"),))
    judged = worse(Pair(plan, Measures(**done), ours))
    assert [one.kind for one in judged if one.kind == "overlap"] == found


@pytest.mark.parametrize(
    ("asked", "before", "what", "stock", "overlap", "found"),
    [
        (3.0, 3.9, "say_on", "y0a y0b y0c.", 0.9, []),
        (3.0, 3.7, "say_on", "y0a y0b y0c.", 0.9, ["overlap"]),
        (3.9, 3.7, "say_on", "y0a y0b y0c.", 0.9, []),
        (3.9, 3.7, "say", "y0a y0b y0c.", 0.9, ["overlap"]),
        (3.0, 3.9, "say", "y0a y0b y0c.", 0.9, ["overlap"]),
        (3.0, 3.9, "say_on", "r1a r1b.", 0.9, ["overlap"]),
        (3.0, 3.9, "say_on", "y0a y0b y0c.", 1.5, ["overlap"]),
    ],
    ids=[
        "behind it",
        "later",
        "at once",
        "at once, can be interrupted",
        "can be interrupted",
        "stock says it, too",
        "longer",
    ],
)
def test_an_announcement_at_once_or_behind_what_only_ours_says_is_heard_over_the_user(
    asked: float, before: float, what: Any, stock: str, overlap: float, found: list[str]
) -> None:
    """It is heard from 4 to 5 s, and so is the second sentence."""
    sounds = (Sound(1.0, 2, 0.6), Sound(4.0, 2, 1.0))
    plan = Plan("an announcement", sounds, {1: Answer(4)}, {}, (Move(asked, what),))
    heard = (Heard(3.0, before, "r1a r1b."), Heard(4.0, 4.9, "y0a y0b y0c."))
    on_stock = Measures(audio=(Heard(3.0, 3.9, stock),))
    judged = worse(Pair(plan, on_stock, Measures(overlap=overlap, audio=heard)))
    assert [one.kind for one in judged if one.kind == "overlap"] == found


@pytest.mark.parametrize(
    ("policy", "waits", "model", "ends", "times", "log"),
    [
        ("finish", "replies", "server", 7.0, 1, []),
        ("hold", "replies", "server", 7.0, 1, []),
        ("detach", "replies", "server", 7.0, 1, ["log"]),
        ("hold", "says", "server", 7.0, 1, ["log"]),
        ("hold", "replies", "realtime", 7.0, 1, ["log"]),
        ("hold", "replies", "server", 5.0, 1, ["log"]),
        ("hold", "replies", "server", 7.0, 2, ["log"]),
    ],
    ids=["finish", "hold", "not held", "no reply", "asked for", "over before", "twice"],
)
def test_a_reply_that_a_call_asks_for_while_the_user_speaks_is_ended_by_the_models_answer(
    policy: Any, waits: str, model: Any, ends: float, times: int, log: list[str]
) -> None:
    """The call runs from 2 s on, and the user speaks at 6 s."""
    jobs = {1: Job(1, 3.0, waits=waits, policy=policy)}
    sounds = (Sound(1.0, 2, 0.6), Sound(6.0, 2, 0.6))
    plan = Plan("asked over the user", sounds, {1: Answer(4, (1,))}, jobs, model=model)
    done: dict[str, Any] = {"effects": {1: 1}, "wanted": {1: 1}}
    done |= {"runs": (JobRun(1, "do_it", 2.0, 2.0, None, ends, "result"),)}
    text = "failed to generate a reply: the response was cancelled by the model"
    judged = worse(Pair(plan, Measures(**done), Measures(**done, errors={text: times})))
    assert [one.kind for one in judged if one.kind == "log"] == log


@pytest.mark.parametrize(
    ("job_ends", "spoken", "log"),
    [("hands_off", 6.0, []), ("returns", 6.0, ["log"]), ("hands_off", 8.0, ["log"])],
    ids=["hands over", "does not", "the user speaks later"],
)
def test_the_reply_before_a_handoff_is_ended_by_the_answer_to_who_spoke_into_the_call(
    job_ends: Any, spoken: float, log: list[str]
) -> None:
    """The call holds its turn from 2 to 7 s."""
    jobs = {1: Job(1, 3.0, ends=job_ends, policy="hold")}
    sounds = (Sound(1.0, 2, 0.6), Sound(spoken, 2, 0.6))
    plan = Plan("asked over the user", sounds, {1: Answer(4, (1,))}, jobs, model="server")
    done: dict[str, Any] = {"effects": {1: 1}, "wanted": {1: 1}}
    done |= {"runs": (JobRun(1, "do_it", 2.0, 2.0, None, 7.0, "result"),)}
    text = (
        "failed to generate a reply after tool execution: the response was cancelled by the model"
    )
    judged = worse(Pair(plan, Measures(**done), Measures(**done, errors={text: 1})))
    assert [one.kind for one in judged if one.kind == "log"] == log
