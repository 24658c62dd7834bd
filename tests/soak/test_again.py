"""How often a sentence of the agent may begin."""

from __future__ import annotations

import attrs
import pytest
from test_declared import kinds, ran

from turnfsm.runtime.testing.livekit import Heard
from turnfsm.runtime.testing.livekit.differential import Job, Measures, Pair, Plan, worse


@pytest.mark.parametrize(("end", "found"), [(10.0, []), (4.0, ["again"])])
def test_a_filler_is_said_as_often_as_its_call_runs(end: float, found: list[str]) -> None:
    """It is said every two seconds."""
    ours = {"repeats": {"f1a f1b.": 4}, "runs": (ran(1, 2.0, end),)}
    assert kinds({"runs": (ran(1, 2.0, 3.0),)}, ours) == found


@pytest.mark.parametrize(
    ("text", "handoffs", "found"),
    [
        ("t1a t1b.", (3.0, 5.0), []),
        ("t1a t1b.", (3.0,), ["again"]),
        ("hello2a hello2b.", (2.0, 3.0, 5.0), []),
        ("hello2a hello2b.", (3.0, 5.0), ["again"]),
    ],
)
def test_each_agent_may_tell_a_result_and_greets(
    text: str, handoffs: tuple[float, ...], found: list[str]
) -> None:
    """It is heard three times. An agent's conversation may be a copy that was made before the
    agent before it told the result."""
    ours = {"repeats": {text: 3}, "heard": (text,) * 3, "handoffs": handoffs}
    ours |= {"runs": (ran(1, 2.0, 2.5),)}
    assert kinds({"repeats": {text: 1}}, ours) == found


@pytest.mark.parametrize(("on_stock", "found"), [("t1a t1b. t2a", []), ("r1a r1b", ["again"])])
def test_a_sentence_that_stock_begins_as_often_is_not_again(
    on_stock: str, found: list[str]
) -> None:
    """Other words may follow it there."""
    assert kinds({"repeats": {on_stock: 2}}, {"repeats": {"t1a t1b.": 3}}) == found


@pytest.mark.parametrize(
    ("waits", "text", "runs", "found"),
    [
        ("says", "s1a s1b.", 3, []),
        ("says", "s1a s1b.", 2, ["again"]),
        ("replies", "g1a g1b.", 3, []),
        ("", "s1a s1b.", 3, ["again"]),
        ("updates", "t1a t1b.", 2, []),
        ("updates", "t1a t1b.", 1, []),
        ("updates", "t0a t0b.", 2, []),
        ("updates", "t0a t0b.", 1, ["again"]),
        ("", "t0a t0b.", 4, []),
        ("", "t0a t0b.", 3, ["again"]),
    ],
)
def test_what_a_call_says_is_said_each_time_it_runs(
    waits: str, text: str, runs: int, found: list[str]
) -> None:
    """It is heard three times, and never on stock, which did not run the call. LiveKit asks for a
    reply to what a tool reports with `ctx.update()`, and to what it returns then. A later run of a
    job gives what was told before: nothing is new."""
    plan = Plan("again", (), {}, {1: Job(1, 0.5, waits=waits)})
    ours = Measures(
        repeats={text: 3}, runs=tuple(ran(1, float(n), n + 0.5) for n in range(1, runs + 1))
    )
    judged = worse(Pair(plan, Measures(), ours))
    assert [one.kind for one in judged if one.kind == "again"] == found


@pytest.mark.parametrize(
    ("waits", "reply", "effect", "found"),
    [
        ("replies", "t1a t1b.", 3.0, []),
        ("replies", "r3a r3b. t1a t1b.", 3.0, []),
        ("replies", "r3a r3b t1a t1b.", 3.0, ["again"]),
        ("replies", "t1a t1b.", 5.5, ["again"]),
        ("", "t1a t1b.", 3.0, ["again"]),
        ("", "r3a r3b. t1a t1b.", 3.0, ["again"]),
    ],
    ids=["alone", "with an answer", "in a sentence", "after it", "no reply", "neither with one"],
)
def test_a_reply_that_a_call_asks_for_may_tell_what_is_heard_meanwhile(
    waits: str, reply: str, effect: float, found: list[str]
) -> None:
    """LiveKit asks for it at once: the model does not see what the caller is about to hear."""
    jobs = {1: Job(1, 0.5), 2: Job(2, 0.5, waits=waits)}
    ours = Measures(
        repeats={"t1a t1b.": 3},
        heard=("t1a t1b.",) * 3,
        audio=(Heard(1.0, 1.5, "t1a"), Heard(3.5, 5.0, reply), Heard(5.0, 6.5, "s9a")),
        handoffs=(2.0,),
        runs=(ran(1, 0.2, 0.5), attrs.evolve(ran(2, 2.5, 7.0), effect=effect)),
    )
    judged = worse(Pair(Plan("again", (), {}, jobs), Measures(), ours))
    assert [one.kind for one in judged if one.kind == "again"] == found
