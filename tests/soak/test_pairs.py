"""The differential oracle: it finds what is planted, sees nothing in equals, and reads the list."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from livekit.agents import AgentSession, llm

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing import PermutedLoop, VirtualLoop
from turnfsm.runtime.testing.livekit.differential import (
    DECLARED,
    Answer,
    Job,
    JobRun,
    Measures,
    Pair,
    Plan,
    Sound,
    draw_plan,
    judge_plan,
    objects_per_turn,
    play_pair,
    shrink,
    sweep_plans,
    worse,
)
from turnfsm.runtime.testing.livekit.differential.agents import answer
from turnfsm.runtime.testing.livekit.scripted_llm import Request
from turnfsm.runtime.testing.livekit.stage import Stage

PAGE = Path(__file__).parents[2] / "docs" / "livekit.md"

PLAN = Plan("one job", (Sound(0.5, 2, 0.6),), {1: Answer(4, (1,))}, {1: Job(1, 0.5, after=0.5)})


@pytest.fixture(scope="module")
def equal() -> Pair:
    """An ordinary conversation, the same on both sides."""
    stock = play_pair(PLAN, AgentSession).stock
    return Pair(PLAN, stock, stock)


def test_a_conversation_without_interruptions_is_no_worse() -> None:
    """A tool works in two steps, and the answer is heard."""
    pair = play_pair(PLAN, TurnSession)
    assert worse(pair) == []
    assert pair.ours.effects == {1: 1}
    assert set(pair.ours.told) == {1}


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_session_is_not_worse_than_itself(seed: int) -> None:
    """Stock compared with stock: the oracle finds nothing."""
    assert judge_plan(draw_plan(seed), AgentSession).worse == ()


WRONG: dict[str, Mapping[str, Any]] = {
    "failed": {"failed": "VirtualTimeLimit"},
    "twice": {"effects": {1: 2}},
    "undone": {"effects": {1: 0}},
    "half": {"halves": frozenset({1})},
    "lost": {"lost": frozenset({1})},
    "unseen": {"unseen": {1: 5.0}},
    "lie": {"lies": ("'nothing was done' of job 1, which took effect",)},
    "late": {"latency": {1: 9.0}},
    "untold": {"told": {}, "mentioned": frozenset()},
    "blip": {"blips": ("'r1a' from 1.00 to 1.30 s",)},
    "overlap": {"overlap": 2.0},
    "again": {"repeats": {"r1a r1b r1c r1d.": 9}},
    "chopped": {"stretches": 30},
    "agent_state": {"wrong_state": 1.0},
    "log": {"errors": {"it fails": 1}},
    "warning": {"warnings": {"it may fail": 1}},
    "words": {"words_lost": frozenset({1})},
    "close": {"closed_in": 60.0},
    "leftover": {"orphans": ("a task",)},
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_worse_is_found(equal: Pair, kind: str) -> None:
    """One measure is made worse; that one is told, and no other."""
    assert worse(equal) == []
    pair = attrs.evolve(equal, ours=attrs.evolve(equal.ours, **WRONG[kind]))
    assert {w.kind for w in worse(pair)} == {kind}


def test_more_answers_may_change_the_state_more_often(equal: Pair) -> None:
    """Not what is asked once and answered in pieces."""
    asked = equal.stock.requests
    ours = attrs.evolve(equal.ours, states=2 * equal.stock.states + 9, requests=asked + 1)
    assert worse(attrs.evolve(equal, ours=ours)) == []
    ours = attrs.evolve(ours, requests=asked)
    assert {w.kind for w in worse(attrs.evolve(equal, ours=ours))} == {"agent_state"}


ASKED = (
    llm.ChatMessage(role="system", content=["Help. "]),
    llm.ChatMessage(role="user", content=["u1a u1b"]),
    llm.FunctionCall(call_id="one", name="do_detach", arguments='{"number": 1}'),
)
GIVEN = llm.FunctionCallOutput(call_id="one", name="do_detach", output="done1", is_error=False)
TOLD = llm.ChatMessage(role="assistant", content=["t1a t1b t1c t1d."])
SAID = llm.ChatMessage(role="assistant", content=["r2a r2b r2c r2d."])
MORE = llm.ChatMessage(role="user", content=["u2a"])


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ((*ASKED, GIVEN), "t1a t1b t1c t1d."),
        ((*ASKED, GIVEN, TOLD), "t0a t0b."),
        ((*ASKED, MORE, GIVEN), "r2a r2b r2c r2d."),
        ((*ASKED, GIVEN, MORE, SAID, ("New results arrived.",)), "t1a t1b t1c t1d."),
        ((*ASKED, GIVEN, MORE, ("Tell the result, too.",)), "r2a r2b r2c r2d. t1a t1b t1c t1d."),
        ((*ASKED, GIVEN, MORE, ("go on 71",)), "g71a g71b g71c g71d g71e."),
        ((*ASKED, GIVEN.model_copy(update={"output": "n1"})), "n1a n1b n1c n1d."),
        ((*ASKED, GIVEN.model_copy(update={"output": "cancelled"})), "t1a t1b t1c t1d."),
    ],
    ids=[
        "result",
        "told before",
        "words last",
        "about results",
        "words and results",
        "asked",
        "update",
        "no result",
    ],
)
def test_the_model_answers_what_it_is_shown_last(items: tuple[Any, ...], text: str) -> None:
    """As a provider gets it: a result stands next to its call, also where it came later."""
    context = llm.ChatContext.empty()
    for item in items:
        if isinstance(item, tuple):
            context.add_message(role="system", content=item[0])
        else:
            context.items.append(item)
    assert answer(PLAN, Request(0.0, "", (), context)).text == text


class ShortJournal(TurnSession):
    """Its journal in memory is full after a turn."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.turn.journal.maxlen = 16


class Keeps(ShortJournal):
    """It keeps something for each turn."""

    kept: list[Any]

    def emit(self, event: Any, arg: Any) -> None:
        self.kept = getattr(self, "kept", [])
        if event == "user_input_transcribed":
            self.kept.append([[] for _ in range(20)])
        super().emit(event, arg)


def test_a_turn_leaves_no_more_behind() -> None:
    """Objects that are kept for each turn; a speech has one more (`SPEECH` in pairs.py)."""
    sessions = AgentSession, ShortJournal, Keeps
    stock, ours, keeps = (objects_per_turn(session, 24, 12) for session in sessions)
    assert ours <= stock + 3, f"{ours:.1f} objects a turn, on stock {stock:.1f}"
    assert keeps > stock + 10


def test_a_stage_plays_as_long_as_it_is_told_to() -> None:
    """Two thousand turns take more than an hour."""
    outcome = Stage(AgentSession, user=None).run(3700.0)
    assert outcome.events[-1].at >= 3700.0


TWO = Plan(
    "two sentences",
    (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6)),
    {1: Answer(4, (1,)), 2: Answer(4)},
    {1: Job(1, 0.5, policy="cancel")},
)


@pytest.mark.parametrize(
    ("stock", "ours"),
    [
        ({}, {"runs": (JobRun(1, "do_cancel", 2.0, None, None, 3.1, "CancelledError"),)}),
        ({"asked": {1: 5.0}}, {"asked": {1: 2.0}, "stops": (2.5,)}),
        ({"latency": {1: 1.5}}, {}),
    ],
    ids=["cancelled", "interrupted", "words on their way"],
)
def test_an_answer_that_is_missing_is_explained_by_its_cause(
    stock: Mapping[str, Any], ours: Mapping[str, Any]
) -> None:
    """And is worse without it."""
    without = Pair(TWO, Measures(latency={1: 0.5}), Measures(latency={1: None}))
    assert [w.kind for w in worse(without)] == ["late"]
    with_cause = Pair(
        TWO,
        attrs.evolve(without.stock, **stock),
        attrs.evolve(without.ours, **ours),
    )
    assert worse(with_cause) == []


def test_what_an_application_waits_for_is_compared() -> None:
    """A call that returns late, never, or raises."""
    plan = next(p for p in sweep_plans(every=1.0) if p.moves)
    stock = Measures(waits={0: 0.1})
    for ours in ({"waits": {0: 5.0}}, {"waits": {0: None}}, {"raised": frozenset({0})}):
        pair = Pair(plan, stock, Measures(**ours))
        assert [w.kind for w in worse(pair)] == ["wait"]


@pytest.mark.parametrize("ends", ["raises", "invalid"])
def test_what_a_tool_is_to_give_is_no_finding(ends: Any) -> None:
    """LiveKit logs it on both; one that runs on ours alone is no worse for that."""
    job = attrs.evolve(PLAN.jobs[1], ends=ends)
    pair = play_pair(attrs.evolve(PLAN, jobs={1: job}), TurnSession)
    assert not pair.ours.errors
    assert not any("ToolError" in text for text in pair.ours.warnings)


@pytest.mark.parametrize(("stock_ran", "found"), [(False, []), (True, ["log"])])
def test_a_call_that_stock_did_not_make_may_fail(stock_ran: bool, found: list[str]) -> None:
    """Stock had dropped the sentence that asked for it; LiveKit refuses its wish on both."""
    run = JobRun(1, "do_detach", 1.0, end=2.0, how="RuntimeError")
    before = (JobRun(1, "do_detach", 1.0, end=2.0, how="result"),) if stock_ran else ()
    failed = {"exception occurred while executing tool [RuntimeError('draining')]": 1}
    pair = Pair(PLAN, Measures(runs=before), Measures(runs=(run,), errors=failed))
    assert [w.kind for w in worse(pair)] == found


def test_a_call_takes_its_turn_behind_what_is_being_said() -> None:
    """It is compared how long it waits in silence."""
    plan = next(p for p in sweep_plans(every=1.0) if p.moves)
    stock = Measures(waits={0: 0.1}, silent={0: 0.1})
    for silent, worse_by in ((0.2, []), (4.0, ["wait"])):
        pair = Pair(plan, stock, Measures(waits={0: 5.0}, silent={0: silent}))
        assert [w.kind for w in worse(pair)] == worse_by


def test_a_seed_is_a_conversation() -> None:
    """It is drawn and played the same again."""
    first, again = (play_pair(draw_plan(3), TurnSession).ours for _ in range(2))
    assert first == again


def test_what_is_found_is_shrunk() -> None:
    """As long as it is wrong, what does not matter goes."""
    plan = draw_plan(5)
    simple = shrink(plan, lambda p: bool(p.sounds))
    assert simple.moves == ()
    assert len(simple.sounds) == 1


def test_a_plan_that_is_shrunk_answers_only_what_is_said() -> None:
    """The answer goes with its sentence."""
    simple = shrink(draw_plan(5), lambda p: bool(p.sounds))
    assert [*simple.answers] == [1]


def test_the_oracle_reads_the_list_of_differences() -> None:
    """Whatever it excuses stands in the table of docs/livekit.md."""
    text = PAGE.read_text(encoding="utf-8").partition("## What differs")[2].partition("\n## ")[0]
    ids = re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE)
    assert len(ids) == len(set(ids)) > 10
    assert {declared.id for declared in DECLARED} <= set(ids)


def test_what_the_user_has_asked_for_again_is_not_twice(equal: Pair) -> None:
    """A sentence that stock dropped, and that ours answers."""
    assert equal.ours.wanted == {1: 1}
    ours = attrs.evolve(equal.ours, effects={1: 2}, wanted={1: 2})
    assert worse(attrs.evolve(equal, ours=ours)) == []


def test_a_call_that_was_cancelled_before_it_began_is_explained(equal: Pair) -> None:
    """By its policy, and by no other; and if somebody interrupted as it was made."""
    ours = attrs.evolve(equal.ours, effects={1: 0}, told={1: 5.0}, cut=frozenset({1}), runs=())
    asked = min(equal.ours.asked.values())
    put = {1: ((asked, True),)}
    stopped, later = (attrs.evolve(ours, put=put, stops=(asked + s,)) for s in (0.2, 3.0))
    cancels = attrs.evolve(PLAN, jobs={1: Job(1, 0.5, policy="cancel")})
    assert [w.kind for w in worse(attrs.evolve(equal, ours=stopped))] == ["undone"]
    assert worse(attrs.evolve(equal, plan=cancels, ours=stopped)) == []
    assert [w.kind for w in worse(attrs.evolve(equal, plan=cancels, ours=later))] == ["undone"]


@pytest.mark.parametrize(("delay", "found"), [(0.9, []), (2.5, ["undone"])])
def test_words_that_come_as_a_call_is_made_cancel_it(
    equal: Pair, delay: float, found: list[str]
) -> None:
    """The model is asked at the end of the first sentence; the words are those of a second one."""
    over = PLAN.sounds[0].over
    cancels = attrs.evolve(
        PLAN,
        jobs={1: Job(1, 0.5, policy="cancel")},
        sounds=(PLAN.sounds[0], Sound(over - 0.3, 2, 0.2, stt_delay=delay)),
        answers={**PLAN.answers, 2: Answer(4)},
    )
    put = {1: ((over + 0.5, True),)}
    ours = attrs.evolve(
        equal.ours, effects={1: 0}, told={1: 5.0}, cut=frozenset({1}), runs=(), put=put
    )
    pair = attrs.evolve(equal, plan=cancels, ours=ours)
    assert [w.kind for w in worse(pair) if w.kind == "undone"] == found


@pytest.mark.parametrize(("later", "found"), [(1.2, []), (1.6, ["late"])])
def test_an_answer_behind_what_waited_for_the_vad_is_explained(
    equal: Pair, later: float, found: list[str]
) -> None:
    """It is later by as much as stock began before the user was quiet, and the wait for words."""
    pair = attrs.evolve(
        equal,
        stock=attrs.evolve(equal.stock, latency={1: 1.0}, begun_over=0.8, audio=()),
        ours=attrs.evolve(equal.ours, latency={1: 1.0 + later}, audio=()),
    )
    assert [w.kind for w in worse(pair)] == found


@pytest.mark.parametrize(("later", "found"), [(1.2, []), (1.6, ["late"])])
def test_an_answer_behind_news_that_nobody_had_heard_is_explained(
    equal: Pair, later: float, found: list[str]
) -> None:
    """The model was asked to tell it besides; the answer is later by as long as that takes."""
    over = PLAN.sounds[0].at + PLAN.sounds[0].duration
    told = ((over + 0.5, over + 1.7),)
    pair = attrs.evolve(
        equal,
        stock=attrs.evolve(equal.stock, latency={1: 0.9}, audio=()),
        ours=attrs.evolve(equal.ours, latency={1: 0.9 + later}, news=told, audio=()),
    )
    assert [w.kind for w in worse(pair)] == found


def test_what_came_of_an_earlier_call_answers_no_later_sentence() -> None:
    """Two sentences ask for one job; what is told of the first call answers the first."""
    plan = Plan(
        "twice",
        (Sound(0.5, 2, 0.6), Sound(4.0, 1, 0.3)),
        {1: Answer(0, (1,)), 2: Answer(0, (1,), ttft=1.5)},
        {1: Job(1, 3.0)},
    )
    stock = play_pair(plan, AgentSession).stock
    second = [run.end for run in stock.runs][-1]
    assert second is not None
    assert stock.latency[2] is not None
    assert 4.3 + stock.latency[2] > second


def test_what_the_table_explains_and_what_stock_does_worse_are_counted_apart() -> None:
    """Seed 5: a call that is cancelled with its turn, and an answer that stock gives late."""
    judged = judge_plan(draw_plan(5), TurnSession)
    assert judged.worse == ()
    assert {w.kind for w in judged.explained} == {"half"}
    assert {w.kind for w in judged.on_stock} == {"undone", "late"}


@pytest.mark.parametrize(("schedule", "order"), [(0, VirtualLoop), (5, PermutedLoop)])
def test_a_conversation_is_played_in_the_order_of_its_schedule(schedule: int, order: type) -> None:
    """On both sessions; nothing is worse in another order."""
    loops: list[type] = []

    class Session(TurnSession[Any]):
        async def start(self, *args: Any, **options: Any) -> Any:
            loops.append(type(asyncio.get_running_loop()))
            return await super().start(*args, **options)

    plan = draw_plan(3, schedule)
    assert judge_plan(plan, Session).worse == ()
    assert loops == [order]
    assert ("--schedule 5" in plan.text()) is bool(schedule)
