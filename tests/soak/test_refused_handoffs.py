"""What LiveKit refuses in a handoff is explained if the handoff has moved for a declared reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
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

TEXT = (
    "exception occurred while executing tool [RuntimeError('cannot schedule new speech, the ...')]"
)
SKIPPED = "skipping reply to user input, speech scheduling is paused"


def found(
    policy: Any = "hold",
    *,
    at: float = 4.5,
    took_over: float = 5.0,
    stock: float = 3.1,
    lost: frozenset[int] = frozenset(),
    twice: bool = False,
    beside: float | None = None,
    spoken: tuple[Sound, ...] = (),
    **ours: Any,
) -> list[str]:
    """What is worse: on stock the call hands over at 3 s, with TurnSession at 4 s.

    `beside`: until then another call holds its turn. `spoken`: what the user says then.
    """
    plan = Plan(
        "a handoff",
        (Sound(1.0, 2, 0.6), *spoken),
        {1: Answer(4, (1,)), 2: Answer(4)},
        {1: Job(1, 1.0, ends="hands_off", policy=policy), 2: Job(2, 1.0, policy="hold")},
        (Move(at, "ask"),),
    )
    before = Measures(
        words_lost=lost,
        waits={0: 0.0},
        handoffs=(stock,),
        runs=(JobRun(1, "do_it", 2.0, 3.0, None, stock - 0.1, "result"),) * (1 + twice),
        handed_over=True,
    )
    after = Measures(
        waits={0: 0.0},
        handoffs=(took_over,),
        runs=(
            JobRun(1, "do_it", 2.0, 4.0, None, 4.0, "result"),
            *([JobRun(2, "do_it", 3.5, None, None, beside, "result")] if beside else []),
        ),
        handed_over=True,
        **ours,
    )
    return [one.kind for one in worse(Pair(plan, before, after))]


@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_a_call_that_keeps_its_turn_moves_the_handoff(policy: Any) -> None:
    """The application asks for a reply at 4.5 s, and LiveKit raises."""
    assert found(policy, raised=frozenset({0})) == []


@pytest.mark.parametrize(("beside", "kinds"), [(6.0, []), (5.0, ["wait"])])
def test_a_handoff_takes_as_much_longer_as_a_call_holds_its_turn(
    beside: float, kinds: list[str]
) -> None:
    """Without it LiveKit hands over within 8.5 s; here the next agent takes over at 14 s."""
    assert found(at=13.0, took_over=14.0, beside=beside, raised=frozenset({0})) == kinds


@pytest.mark.parametrize(
    ("begins", "duration", "kinds"), [(8.0, 1.5, []), (8.0, 0.3, ["wait"]), (15.0, 1.5, ["wait"])]
)
def test_a_handoff_takes_as_much_longer_as_the_user_speaks(
    begins: float, duration: float, kinds: list[str]
) -> None:
    """What is said before it waits for them. The next agent takes over at 14 s."""
    spoken = (Sound(begins, 2, duration, 0.3),)
    assert found(at=13.0, took_over=14.0, spoken=spoken, raised=frozenset({0})) == kinds


def test_a_kept_turn_moves_the_handoff() -> None:
    """On stock its words are lost."""
    assert found("detach", lost=frozenset({1}), raised=frozenset({0})) == []


def test_a_call_that_stock_makes_twice_moves_the_handoff() -> None:
    """The second call interrupts the reply of the first, and stock hands over sooner."""
    assert found("detach", twice=True, raised=frozenset({0})) == []


@pytest.mark.parametrize(("refused", "kinds"), [({2}, []), ((), ["wait"]), ({1}, ["wait"])])
def test_a_call_whose_handoff_was_refused_has_begun_none(refused: Any, kinds: list[str]) -> None:
    """Two calls of a step return an agent: nobody takes over on stock. On ours the first one has
    interrupted, and hands over; the session waits for the second one, until 6 s. The application
    asks for a reply at 5 s."""
    jobs = {n: Job(n, n, ends="hands_off") for n in (1, 2)}
    plan = Plan("", (Sound(1.0, 2, 0.6),), {1: Answer(4, (1, 2))}, jobs, (Move(5.0, "chat"),))
    runs = tuple(JobRun(n, "do_it", 2.0, e, None, e, "result") for n, e in ((1, 4.0), (2, 6.0)))
    stock = Measures(waits={0: 0.0}, runs=runs)
    ours = Measures(raised=frozenset({0}), runs=runs, handoffs=(6.0,), refused=frozenset(refused))
    assert [one.kind for one in worse(Pair(plan, stock, ours)) if one.kind == "wait"] == kinds


@pytest.mark.parametrize(
    "other",
    [{"policy": "detach"}, {"at": 5.5}, {"at": 3.5}, {"took_over": 13.0}],
    ids=["no reason", "after the handoff", "before it", "it takes too long"],
)
def test_what_is_refused_for_another_reason_is_found(other: dict[str, Any]) -> None:
    """No handoff explains it."""
    assert found(**other, raised=frozenset({0})) == ["wait"]


@pytest.mark.parametrize(
    ("ours", "kinds"),
    [
        ({"errors": {TEXT: 1}}, []),
        ({"warnings": {SKIPPED: 1}}, []),
        ({"warnings": {SKIPPED.replace("reply to user input", "on_user_turn_completed"): 1}}, []),
        ({"errors": {"a bug": 1}}, ["log"]),
        ({"warnings": {"a bug": 1}}, ["warning"]),
        ({"errors": {TEXT: 1}, "policy": "detach"}, ["log"]),
    ],
)
def test_only_the_refusal_is_explained_of_what_is_logged(
    ours: dict[str, Any], kinds: list[str]
) -> None:
    """An error of another kind is found, and so is a refusal without a reason."""
    assert found(**ours) == kinds


@pytest.mark.parametrize(
    ("end", "stock", "found_"), [(4.5, None, []), (3.5, None, ["log"]), (4.5, 3.1, ["log"])]
)
def test_a_call_that_runs_beside_a_later_turn_may_speak_in_its_handoff(
    end: float, stock: float | None, found_: list[str]
) -> None:
    """On stock the later turn, whose call hands over, is not answered while the first call runs."""
    plan = Plan(
        "two calls",
        (Sound(1.0, 2, 0.6), Sound(2.5, 2, 0.6)),
        {1: Answer(4, (1,)), 2: Answer(4, (2,))},
        {1: Job(1, 1.0, "says"), 2: Job(2, 1.0, ends="hands_off")},
    )
    runs = JobRun(1, "do_it", 2.0, 3.0, None, end, "RuntimeError"), JobRun(2, "do_it", 3.5, 4.0)
    handed = (attrs.evolve(runs[1], end=4.0, how="result"),)
    before = Measures(handoffs=() if stock is None else (stock,), runs=runs[:1])
    if stock is not None:
        before = attrs.evolve(before, runs=(runs[0], attrs.evolve(handed[0], end=3.0)))
    after = Measures(handoffs=(4.6,), runs=(runs[0], *handed), errors={TEXT: 1})
    judged = worse(Pair(plan, before, after))
    assert [one.kind for one in judged if one.kind == "log"] == found_


@pytest.mark.parametrize(
    ("start", "until", "found_"),
    [(6.0, 6.0, []), (3.5, 6.0, ["log"]), (6.0, 3.4, ["log"])],
    ids=["after the call before", "at the same time", "not for that call"],
)
def test_a_turn_that_stock_answers_after_the_call_before_hands_over_later_there(
    start: float, until: float, found_: list[str]
) -> None:
    """Ours makes the call that hands over at 3.5 s, while the first one runs."""
    plan = Plan("two calls", (), {}, {1: Job(1, 1.0, "says"), 2: Job(2, 1.0, ends="hands_off")})
    first = JobRun(1, "do_it", 2.0, 3.0, None, 4.5, "RuntimeError")
    second = JobRun(2, "do_it", 3.5, 4.0, None, 4.0, "result")
    on_stock = attrs.evolve(first, end=until), attrs.evolve(second, start=start, end=start + 0.5)
    before = Measures(handoffs=(start + 1.0,), runs=on_stock, errors={})
    after = Measures(handoffs=(4.6,), runs=(first, second), errors={TEXT: 1})
    judged = worse(Pair(plan, before, after))
    assert [one.kind for one in judged if one.kind == "log"] == found_


@pytest.mark.parametrize(
    ("waits", "start", "how", "found_"),
    [
        ("interrupts", 2.0, "RuntimeError", []),
        ("", 2.0, "RuntimeError", ["log"]),
        ("interrupts", 2.5, "RuntimeError", ["log"]),
        ("interrupts", 2.0, "result", ["log"]),
    ],
    ids=["interrupted", "not interrupted", "another step", "it did not speak"],
)
def test_a_call_beside_one_that_interrupts_and_hands_over_may_speak_in_the_handoff(
    waits: Any, start: float, how: str, found_: list[str]
) -> None:
    """On stock the handoff waits for the call, too; it has not begun as the call speaks."""
    jobs = {1: Job(1, 1.0, waits, ends="hands_off"), 2: Job(2, 1.0, "says")}
    plan = Plan("two calls", (Sound(1.0, 2, 0.6),), {1: Answer(4, (1, 2))}, jobs)
    hands_over = JobRun(1, "do_it", 2.0, 3.0, None, 3.0, "result")
    runs = hands_over, JobRun(2, "do_it", start, 4.0, None, 4.5, how)
    before = Measures(handoffs=(4.5,), runs=(runs[0], attrs.evolve(runs[1], how="result")))
    after = Measures(handoffs=(4.5,), runs=runs, errors={TEXT: 1})
    judged = worse(Pair(plan, before, after))
    assert [one.kind for one in judged if one.kind == "log"] == found_


@pytest.mark.parametrize(("stock", "found_"), [(1, []), (0, ["warning"])])
def test_a_turn_that_is_skipped_on_stock_too_is_explained(stock: int, found_: list[str]) -> None:
    """LiveKit says it in other words if the handoff comes sooner."""
    plan = Plan("a handoff", (Sound(1.0, 2, 0.6),), {1: Answer(4)}, {})
    skipped = {"skipping user input, speech scheduling is paused": stock}
    pair = Pair(plan, Measures(warnings=skipped), Measures(warnings={SKIPPED: 1}))
    assert [one.kind for one in worse(pair)] == found_


@pytest.mark.parametrize(
    ("news", "began", "kinds"),
    [
        (((3.5, 5.0),), 3.0, []),
        ((), 3.0, ["wait"]),
        (((3.5, 4.2),), 3.0, ["wait"]),
        (((3.5, 5.0),), 6.0, ["wait"]),
    ],
    ids=["until the end", "nothing is told", "told before", "another handoff on stock"],
)
def test_results_that_are_told_first_make_a_handoff_longer(
    news: tuple[tuple[float, float], ...], began: float, kinds: list[str]
) -> None:
    """The application hands over at 3 s, and on stock the next agent begins at 3.5 s; with
    TurnSession at 5 s."""
    moves = (Move(3.0, "update_agent"), Move(4.5, "ask"))
    if began > 3.0:
        moves = (*moves, Move(began, "update_agent"))
    plan = Plan("a handoff", (Sound(1.0, 2, 0.6),), {1: Answer(4)}, {1: Job(1, 1.0)}, moves)
    stock = Measures(waits={0: 0.0, 1: 0.0}, handoffs=(began + 0.5,), wanted={1: 0})
    ours = Measures(
        waits={0: 0.0}, raised=frozenset({1}), handoffs=(5.0,), news=news, wanted={1: 0}
    )
    assert [one.kind for one in worse(Pair(plan, stock, ours))] == kinds


@pytest.mark.parametrize(
    ("policy", "at", "kinds"),
    [("hold", 4.5, []), ("detach", 4.5, ["wait"]), ("hold", 3.5, ["wait"])],
    ids=["in the handoff", "no reason", "before it"],
)
def test_a_handoff_that_the_close_has_ended_refuses_what_is_asked_for(
    policy: Any, at: float, kinds: list[str]
) -> None:
    """The call ends at 4 s, and the session closes at 5 s."""
    moves = (Move(at, "ask"), Move(5.0, "aclose"))
    job = Job(1, 1.0, ends="hands_off", policy=policy)
    plan = Plan("a handoff", (Sound(1.0, 2, 0.6),), {1: Answer(4, (1,))}, {1: job}, moves)
    run = JobRun(1, "do_it", 2.0, 4.0, None, 4.0, "result")
    stock = Measures(waits={0: 0.0}, handoffs=(3.1,), wanted={1: 1})
    ours = Measures(raised=frozenset({0}), runs=(run,), wanted={1: 1})
    assert [one.kind for one in worse(Pair(plan, stock, ours))] == kinds


@pytest.mark.parametrize(
    ("lost", "asked", "took_over", "warnings", "found_"),
    [
        ({1}, {1: 4.0}, 2.0, 1, []),
        ((), {1: 4.0}, 2.0, 1, ["warning"]),
        ({1}, {}, 2.0, 1, ["warning"]),
        ({1}, {1: 1.8}, 2.0, 1, ["warning"]),
        ({1}, {1: 4.0}, 1.2, 1, ["warning"]),
        ({1}, {1: 4.0}, 2.0, 2, ["warning"]),
    ],
    ids=["kept", "on stock too", "not answered", "answered before", "said after it", "twice"],
)
def test_a_turn_that_stock_lost_may_be_skipped_before_the_next_agent_answers_it(
    lost: Any, asked: dict[int, float], took_over: float, warnings: int, found_: list[str]
) -> None:
    """The sentence is over at 1.6 s. Stock hands over at the same time."""
    plan = Plan(
        "a handoff", (Sound(1.0, 2, 0.6),), {1: Answer(4)}, {}, (Move(1.1, "update_agent"),)
    )
    before = Measures(handoffs=(took_over,), words_lost=frozenset(lost))
    skipped = {SKIPPED: warnings}
    after = Measures(handoffs=(took_over,), asked=asked, warnings=skipped)
    judged = worse(Pair(plan, before, after))
    assert [one.kind for one in judged if one.kind == "warning"] == found_


@pytest.mark.parametrize(
    ("detection", "commits", "delay", "asked", "on_stock", "kinds"),
    [
        ("manual", (1.8, 4.5), 1.5, 3.15, 5.6, []),
        ("vad", (1.8, 4.5), 1.5, 3.15, 5.6, ["warning"]),
        ("manual", (2.2, 4.5), 1.5, 3.15, 5.6, ["warning"]),
        ("manual", (0.8, 4.5), 1.5, 3.15, 5.6, ["warning"]),
        ("manual", (1.8, 3.1), 1.5, 3.15, 5.6, ["warning"]),
        ("manual", (1.8, 4.5), 2.1, 3.75, 5.6, ["warning"]),
        ("manual", (1.8, 4.5), 1.5, 3.3, 5.6, ["warning"]),
        ("manual", (1.8, 4.5), 1.5, 3.15, 4.4, ["warning"]),
    ],
    ids=[
        "with it",
        "not manual",
        "in time on stock",
        "before the sentence",
        "no other commit",
        "too late",
        "asked later",
        "stock asks without it",
    ],
)
def test_a_commit_that_gets_its_words_hands_over_sooner(
    detection: str,
    commits: tuple[float, ...],
    delay: float,
    asked: float,
    on_stock: float,
    kinds: list[str],
) -> None:
    """The sentence is over at 1.6 s, and a commit waits 1 s for its words."""
    plan = Plan(
        "a handoff",
        (Sound(1.0, 2, 0.6, delay),),
        {1: Answer(4, (1,))},
        {1: Job(1, 1.0, ends="hands_off")},
        tuple(Move(at, "commit") for at in commits),
        settings={"turn_detection": detection},
    )
    run = JobRun(1, "do_it", 4.0, 5.0, None, 5.0, "result")
    both = {"handed_over": True, "wanted": {1: 1}, "effects": {1: 1}}
    later = attrs.evolve(run, start=6.0, end=7.0)
    before = Measures(**both, handoffs=(7.1,), runs=(later,), asked={1: on_stock})
    skipped = {SKIPPED: 1}
    after = Measures(**both, handoffs=(5.1,), runs=(run,), asked={1: asked}, warnings=skipped)
    assert [one.kind for one in worse(Pair(plan, before, after))] == kinds


def refused(
    policy: Any,
    *,
    spoken: float | None = 3.0,
    took: float = 2.0,
    says_so: bool = True,
    waits: str = "",
    beside: Job | None = None,
    beside_starts: float = 2.0,
    beside_ends: float = 3.5,
    beside_how: str = "result",
    moves: tuple[Move, ...] = (),
    how: str = "result",
    words: int = 2,
    asks: bool = False,
    by_livekit: bool = False,
    heard: tuple[Heard, ...] = (),
    asked: Mapping[int, float] | None = None,
    preamble: int = 4,
    on_stock: float | None = None,
) -> list[str]:
    """What is worse: a call returns an agent, and only stock hands over.

    `preamble`: so many words. `on_stock`: there the call beside it ends then.
    """
    jobs = {1: Job(1, took, waits=waits, ends="hands_off", policy=policy)}
    runs = [JobRun(1, "do_it", 2.0, 2.0, None, 2.0 + took, how)]
    if beside is not None:
        jobs[2] = beside
        runs.append(JobRun(2, "do_it", beside_starts, 2.0, None, beside_ends, beside_how))
    sounds = (Sound(0.5, 2, 0.6), *([] if spoken is None else [Sound(spoken, words, 0.6)]))
    answers = {1: Answer(preamble, tuple(jobs)), 2: Answer(4, (1,) if asks else ())}
    plan = Plan("a handoff", sounds, answers, jobs, moves)
    done: dict[str, Any] = {
        "runs": tuple(runs),
        "effects": dict.fromkeys(jobs, 1),
        "wanted": dict.fromkeys(jobs, 1),
    }
    stock = Measures(**done, handed_over=True, handoffs=(2.1 + took,))
    if on_stock is not None:
        stock = attrs.evolve(stock, runs=(runs[0], attrs.evolve(runs[1], end=on_stock)))
    said = frozenset({1} if says_so else ())
    livekit = frozenset({1} if by_livekit else ())
    ours = Measures(
        **done, refused=said, refused_by_livekit=livekit, audio=heard, asked=asked or {}
    )
    return [one.kind for one in worse(Pair(plan, stock, ours)) if one.kind == "agent"]


@pytest.mark.parametrize("policy", ["detach", "cancel"])
@pytest.mark.parametrize(
    ("spoken", "says_so", "agent"),
    [(3.0, True, []), (None, True, ["agent"]), (6.0, True, ["agent"]), (3.0, False, ["agent"])],
    ids=["during the call", "nobody spoke", "afterwards", "its output does not say so"],
)
def test_the_handoff_of_an_interrupted_turn_is_refused(
    policy: Any, spoken: float | None, says_so: bool, agent: list[str]
) -> None:
    """The call runs from 2 to 4 s."""
    assert refused(policy, spoken=spoken, says_so=says_so) == agent


@pytest.mark.parametrize(
    ("spoken", "words", "agent"),
    [(3.0, 2, []), (1.3, 0, []), (1.3, 2, ["agent"])],
    ids=["during the call", "a noise before it", "before it"],
)
def test_the_words_that_ask_for_a_call_do_not_interrupt_it(
    spoken: float, words: int, agent: list[str]
) -> None:
    """But they do if they ask for it again. A noise asks for nothing, whatever is planned."""
    assert refused("detach", spoken=spoken, words=words, asks=True) == agent


@pytest.mark.parametrize(("waits", "agent"), [("updates", []), ("", ["agent"])])
def test_a_call_that_has_reported_hands_over_on_no_session(waits: Any, agent: list[str]) -> None:
    """It is beside one whose turn was interrupted; itself it holds the turn."""
    other = Job(2, 1.0, waits=waits, ends="hands_off", policy="hold")
    assert refused("detach", beside=other, beside_starts=2.5) == agent


@pytest.mark.parametrize("policy", ["hold", "finish"])
@pytest.mark.parametrize(("waits", "agent"), [("updates", []), ("playout", ["agent"])])
def test_a_call_that_has_reported_holds_the_turn_no_more_for_the_one_beside_it(
    policy: Any, waits: Any, agent: list[str]
) -> None:
    """The user speaks at 3 s. Both calls end at 4 s."""
    other = Job(2, 2.0, waits=waits, policy=policy)
    assert refused("detach", beside=other, beside_ends=4.0) == agent
    if waits == "updates":  # nobody has spoken
        assert refused("detach", beside=other, beside_ends=4.0, spoken=None) == ["agent"]


@pytest.mark.parametrize(("close", "agent"), [(3.0, []), (6.0, ["agent"])])
def test_a_handoff_is_refused_if_the_session_closes_before_it(
    close: float, agent: list[str]
) -> None:
    """The call runs from 2 to 4 s."""
    assert refused("detach", spoken=None, moves=(Move(close, "aclose"),)) == agent


@pytest.mark.parametrize("policy", ["hold", "finish"])
def test_a_call_that_holds_its_turn_is_to_hand_over(policy: Any) -> None:
    """The user speaks while it runs."""
    assert refused(policy) == ["agent"]
    assert refused(policy, moves=(Move(3.0, "interrupt"),)) == ["agent"]
    assert refused(policy, moves=(Move(3.0, "force"),)) == []
    assert refused(policy, took=6.0) == ([] if policy == "finish" else ["agent"])


@pytest.mark.parametrize(
    ("beside", "ends", "agent"),
    [
        ("detach", 6.0, []),
        ("detach", 3.9, ["agent"]),
        ("hold", 8.0, ["agent"]),
        ("finish", 6.0, ["agent"]),
        ("finish", 8.0, []),
    ],
    ids=["runs on", "ended before", "holds the turn, too", "finishes in time", "takes too long"],
)
def test_a_turn_is_not_held_for_a_call_beside_the_one_that_has_ended(
    beside: Any, ends: float, agent: list[str]
) -> None:
    """The call ends at 4 s; the user speaks at 3 s."""
    other = Job(2, 1.5, policy=beside)
    assert refused("hold", beside=other, beside_ends=ends) == agent


@pytest.mark.parametrize(
    ("waits", "on_stock", "agent"),
    [("says", 5.5, []), ("says", 4.0, ["agent"]), ("", 5.5, ["agent"])],
    ids=["it would have spoken on", "it had spoken", "it does not speak"],
)
def test_what_the_call_beside_it_says_is_interrupted_as_the_turn_is_held_no_more(
    waits: Any, on_stock: float, agent: list[str]
) -> None:
    """Both calls end at 4 s; the user speaks at 3 s. On stock the call beside may end later."""
    other = Job(2, 1.0, waits)
    assert refused("finish", beside=other, beside_ends=4.0, on_stock=on_stock) == agent


@pytest.mark.parametrize(("spoken", "agent"), [(1.1, []), (0.8, ["agent"]), (1.4, ["agent"])])
def test_words_that_come_as_a_call_begins_interrupt_its_turn(
    spoken: float, agent: list[str]
) -> None:
    """It begins at 2 s; the words come 0.9 s after their begin."""
    assert refused("hold", spoken=spoken) == agent


@pytest.mark.parametrize(
    ("heard", "agent"),
    [((2.5, 5.0), []), ((4.2, 6.0), []), ((2.5, 3.5), ["agent"]), ((5.0, 6.0), ["agent"])],
    ids=["heard", "about to be heard", "over before", "something later"],
)
def test_a_turn_is_held_no_more_when_its_call_has_ended_before_its_preamble(
    heard: tuple[float, float], agent: list[str]
) -> None:
    """The call ends at 4 s; the user speaks at 3 s."""
    assert refused("hold", heard=(Heard(*heard, "r1a r1b"),)) == agent


@pytest.mark.parametrize(
    ("heard", "agent"),
    [((5.0, 7.0), []), ((5.0, 5.8), ["agent"])],
    ids=["heard", "over before"],
)
def test_a_turn_is_held_no_more_when_the_call_beside_has_ended_before_their_preamble(
    heard: tuple[float, float], agent: list[str]
) -> None:
    """The call ends at 4 s, the one that holds their turn at 6 s; the user speaks at 3 s."""
    other = Job(2, 4.0, policy="hold")
    preamble = (Heard(*heard, "r1a r1b"),)
    assert refused("detach", beside=other, beside_ends=6.0, heard=preamble) == agent


@pytest.mark.parametrize(
    ("spoken", "asked", "heard", "agent"),
    [
        (3.4, {1: 1.5}, (), []),
        (3.0, {1: 1.5}, (), ["agent"]),
        (3.4, {1: 1.5}, (Heard(2.5, 3.5, "r1a r1b"),), ["agent"]),
        (3.4, {}, (), ["agent"]),
    ],
    ids=["words", "they came before", "it was heard", "something else asks for the call"],
)
def test_words_may_cut_a_preamble_that_was_kept_back_for_them(
    spoken: float, asked: Mapping[int, float], heard: Any, agent: list[str]
) -> None:
    """The call ends at 4 s; the words come 0.3 s after their sound."""
    assert refused("hold", spoken=spoken, asked=asked, heard=heard) == agent


@pytest.mark.parametrize(
    ("ends", "agent"), [(1.0, []), (1.7, ["agent"])], ids=["is to be told", "asked before"]
)
def test_a_result_that_is_told_before_the_call_is_such_a_preamble(
    ends: float, agent: list[str]
) -> None:
    """Its call was made before; the answer that makes this one has no words of its own."""
    before: dict[str, Any] = {"beside": Job(2, 0.5), "beside_starts": 0.5, "beside_ends": ends}
    assert refused("hold", spoken=3.4, asked={1: 1.5}, preamble=0, **before) == agent


@pytest.mark.parametrize("policy", ["detach", "hold"])
def test_a_tool_beside_it_that_interrupts_takes_the_handoff_away(policy: Any) -> None:
    """It ends at 3.5 s, or once the call has ended, as LiveKit waits for both."""
    other = Job(2, 1.5, waits="interrupts")
    assert refused(policy, spoken=None, beside=other) == []
    assert refused(policy, spoken=None, beside=other, beside_ends=6.0) == []
    assert refused(policy, spoken=None, beside=Job(2, 1.5)) == ["agent"]
    assert refused(policy, spoken=None, waits="interrupts") == ["agent"]


@pytest.mark.parametrize(("ends", "agent"), [(7.0, []), (4.5, ["agent"])])
def test_who_interrupts_before_the_step_has_ended_takes_the_handoff_away(
    ends: float, agent: list[str]
) -> None:
    """The call has ended at 4 s, and the one beside it has not. The user speaks at 6 s."""
    assert refused("detach", spoken=6.0, beside=Job(2, 1.5), beside_ends=ends) == agent


@pytest.mark.parametrize(
    ("over", "ends", "agent"),
    [(5.0, 5.0, []), (5.0, 4.5, []), (5.0, 5.5, ["agent"]), (3.5, 5.0, ["agent"])],
    ids=["cuts the preamble", "while it is heard", "later", "the preamble was over"],
)
def test_a_tool_of_an_earlier_turn_may_interrupt_until_the_preamble_was_heard(
    over: float, ends: float, agent: list[str]
) -> None:
    """The call ends at 4 s; the other one is made before it, and interrupts as it ends."""
    other, heard = Job(2, 1.5, waits="interrupts"), (Heard(2.5, over, "r1a r1b"),)
    kinds = refused(
        "detach", spoken=None, beside=other, beside_starts=1.0, beside_ends=ends, heard=heard
    )
    assert kinds == agent


@pytest.mark.parametrize(
    ("seconds", "how", "agent"),
    [
        (6.0, "CancelledError", []),
        (2.0, "CancelledError", ["agent"]),
        (6.0, "result", ["agent"]),
    ],
    ids=["would run on", "would have ended", "has ended"],
)
def test_a_step_ends_with_a_call_that_is_cancelled_when_the_turn_is_held_no_more(
    seconds: float, how: str, agent: list[str]
) -> None:
    """The call ends at 4 s, and the other one then. The user has spoken at 3 s."""
    other = Job(2, seconds, policy="cancel")
    assert refused("hold", beside=other, beside_ends=4.0, beside_how=how) == agent


def test_two_calls_that_return_an_agent_at_once_hand_nobody_over() -> None:
    """LiveKit logs an error."""
    other = Job(2, 1.5, ends="hands_off")
    assert refused("detach", spoken=None, says_so=False, beside=other) == []


def test_a_call_that_has_failed_hands_nobody_over() -> None:
    """Something else tells of that."""
    assert refused("detach", spoken=None, how="SpeechInterrupted") == []


@pytest.mark.parametrize(
    ("waits", "by_livekit", "agent"),
    [("interrupts", True, []), ("interrupts", False, ["agent"]), ("", True, ["agent"])],
    ids=["cut", "the step was over", "does not interrupt"],
)
def test_a_tool_that_cuts_its_own_preamble_hands_nobody_over(
    waits: str, by_livekit: bool, agent: list[str]
) -> None:
    """LiveKit refuses a handoff in a step that was cut; if the step is over, it hands over."""
    assert refused("hold", spoken=None, waits=waits, by_livekit=by_livekit) == agent


@pytest.mark.parametrize(
    ("policy", "ends", "took_over", "logged"),
    [
        ("finish", "hands_off", 6.0, []),
        ("detach", "hands_off", 6.0, ["log"]),
        ("finish", "returns", 6.0, ["log"]),
        ("finish", "hands_off", 3.5, ["log"]),
    ],
    ids=["until the handoff", "not held", "no handoff", "handed over before"],
)
def test_a_turn_that_hands_over_is_held_until_the_next_agent(
    policy: Any, ends: Any, took_over: float, logged: list[str]
) -> None:
    """The call ends at 3 s, and LiveKit hands over when the preamble has been heard. The tool of an
    earlier turn interrupts at 5 s."""
    jobs = {1: Job(1, 3.0, "interrupts"), 2: Job(2, 1.0, ends=ends, policy=policy)}
    plan = Plan("a handoff", (Sound(0.5, 2, 0.6),), {1: Answer(4, (1, 2))}, jobs)
    held = JobRun(2, "do_it", 2.0, 2.5, None, 3.0, "result")
    refused_run = JobRun(1, "do_it", 1.5, 4.5, None, 5.0, "RuntimeError")
    error = "[RuntimeError('This generation handle does not allow interruptions')]"
    wanted: dict[str, Any] = {"wanted": {1: 1, 2: 1}, "handed_over": True}
    ours = Measures(runs=(refused_run, held), handoffs=(took_over,), errors={error: 1}, **wanted)
    stock = Measures(runs=(attrs.evolve(refused_run, how="result"), held), **wanted)
    judged = worse(Pair(plan, stock, ours))
    assert [one.kind for one in judged if one.kind == "log"] == logged


@pytest.mark.parametrize(
    ("at", "kinds"), [(3.5, ["wait"]), (5.0, []), (9.0, []), (9.7, ["wait"])], ids=str
)
def test_each_of_two_agents_takes_over_after_its_own_call(at: float, kinds: list[str]) -> None:
    """Both calls keep their turn. The first one has ended at 4 s, the second one at 8 s; the agents
    take over at 8.6 and at 9.5 s. On stock only the second one hands over."""
    jobs = {n: Job(n, n, ends="hands_off", policy="hold") for n in (1, 2)}
    plan = Plan("", (Sound(1.0, 2, 0.6),), {1: Answer(4, (1, 2))}, jobs, (Move(at, "ask"),))
    first = JobRun(1, "do_it", 2.0, 4.0, None, 4.0, "result")
    second = JobRun(2, "do_it", 3.0, 8.0, None, 8.0, "result")
    stock = Measures(waits={0: 0.0}, runs=(second,), handoffs=(8.5,))
    ours = Measures(raised=frozenset({0}), runs=(first, second), handoffs=(8.6, 9.5))
    assert [one.kind for one in worse(Pair(plan, stock, ours)) if one.kind == "wait"] == kinds
