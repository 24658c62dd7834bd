"""An answer is explained that is later by what delays it, and by no more than that."""

from __future__ import annotations

from collections.abc import Mapping
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

SAID = (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6))
"""The second sentence ends at 3.6 s; on stock the model is asked at 4 s, and answers at 4.6 s."""

STOCK = {"asked": {2: 4.0}, "latency": {2: 1.0}}


def compared(
    ours: Mapping[str, Any],
    stock: Mapping[str, Any] | None = None,
    *,
    sounds: tuple[Sound, ...] = SAID,
    jobs: tuple[Job, ...] = (),
    moves: tuple[Move, ...] = (),
    hook: float = 0.0,
    ttft: float = 0.2,
    words: int = 4,
    calls: tuple[int, ...] = (),
    **how: Any,
) -> Pair:
    """The third answer has so many `words` and these `calls`, and takes the model `ttft`."""
    answers = {1: Answer(4), 2: Answer(4, (1,)), 3: Answer(words, calls, ttft)}
    all_jobs = {1: Job(1, 0.5), 2: Job(2, 0.5), **{job.number: job for job in jobs}}
    plan = Plan("an answer that is later", sounds, answers, all_jobs, moves, hook=hook, **how)
    measured = [
        Measures(**{"wanted": {1: 1, 2: 1}, **m}) for m in ({**STOCK, **(stock or {})}, ours)
    ]
    return Pair(plan, *measured)


def found(
    ours: Mapping[str, Any], stock: Mapping[str, Any] | None = None, **plan: Any
) -> list[str]:
    """What is worse."""
    return [w.kind for w in worse(compared(ours, stock, **plan))]


def ran(job: int, start: float, end: float, how: str = "result") -> JobRun:
    return JobRun(job, "do_it", start, end, None, end, how)


@pytest.mark.parametrize(
    ("at", "duration", "latency", "late"),
    [
        (4.5, 0.3, 3.5, False),
        (4.5, 0.3, 3.8, True),
        (4.5, 0.1, 3.5, True),
        (4.7, 0.3, 3.5, True),
    ],
    ids=["its words may come", "no longer", "a shorter one", "after the answer"],
)
def test_an_answer_that_is_due_behind_a_noise_waits_for_its_words(
    at: float, duration: float, latency: float, late: bool
) -> None:
    """They may come for 2 s after the VAD's end. Stock says something else before it answers."""
    stock = {"audio": (Heard(3.7, 4.5, "g9a g9b g9c."),)}
    ours = {"asked": {2: 4.0}, "latency": {2: latency}}
    sounds = (*SAID, Sound(at, 0, duration))
    assert found(ours, stock, sounds=sounds) == ["late"] * late


@pytest.mark.parametrize(
    ("policy", "end", "asked", "latency", "hook", "late"),
    [
        ("hold", 12.0, 12.0, 14.0, 0.0, False),
        ("finish", 12.0, 13.0, 15.0, 1.0, False),
        ("hold", 12.0, 12.0, 14.5, 0.0, True),
        ("hold", 12.0, 13.0, 15.0, 0.0, True),
        ("detach", 12.0, 12.0, 14.0, 0.0, True),
        ("hold", 5.0, 12.0, 14.0, 0.0, True),
    ],
    ids=["held", "and the hook", "slow answer", "asked late", "not held", "over before"],
)
def test_a_call_that_holds_its_turn_delays_the_question(
    policy: Any, end: float, asked: float, latency: float, hook: float, late: bool
) -> None:
    """The answer is the result of another call. It takes as long as on stock, 5.6 s."""
    ours = {"asked": {2: asked}, "latency": {2: latency}, "runs": (ran(2, 2.0, end),)}
    stock = {"latency": {2: 6.0}}
    assert found(ours, stock, jobs=(Job(2, 0.5, policy=policy),), hook=hook) == ["late"] * late


@pytest.mark.parametrize(
    ("ends", "greets", "late"),
    [
        ("hands_off", Heard(5.0, 6.0, "hello2a hello2b."), False),
        ("hands_off", Heard(7.0, 8.0, "hello2a hello2b."), True),
        ("hands_off", Heard(5.0, 6.0, "r1a r1b."), True),
        ("returns", Heard(5.0, 6.0, "hello2a hello2b."), True),
    ],
    ids=["handoff", "silence", "no greeting", "no handoff"],
)
def test_the_next_agent_answers_after_it_has_greeted(ends: Any, greets: Heard, late: bool) -> None:
    """The tool hands over as the user speaks."""
    asked = greets.end
    ours = {"asked": {2: asked}, "latency": {2: 1.0 + asked - 4.0}, "audio": (greets,)}
    ours["runs"] = (ran(2, 2.0, 3.2),)
    assert found(ours, jobs=(Job(2, 0.5, ends=ends),)) == ["late"] * late


@pytest.mark.parametrize(
    ("lost", "asked", "late"),
    [({1}, 3.8, False), ((), 3.8, True), ({1}, 3.2, True)],
    ids=["words that stock lost", "on stock as well", "long before"],
)
def test_the_end_of_a_turn_that_stock_lost_begins_the_endpointing_anew(
    lost: Any, asked: float, late: bool
) -> None:
    """The model was asked about the first sentence shortly before that."""
    ours = {"asked": {1: asked, 2: 4.5}, "latency": {2: 1.5}}
    assert found(ours, {"words_lost": frozenset(lost)}) == ["late"] * late


@pytest.mark.parametrize(
    ("pending", "latency", "late"),
    [(((5.8, 6.4),), 2.9, False), (((5.8, 6.4),), 3.4, True), ((), 2.9, True)],
    ids=["both", "longer than both", "news only"],
)
def test_news_and_what_still_runs_are_said_first(pending: Any, latency: float, late: bool) -> None:
    """1.2 s of news, and 0.6 s in which the caller hears that a call still runs."""
    ours = {"asked": {2: 4.0}, "latency": {2: latency}, "news": ((4.6, 5.8),), "pending": pending}
    assert found(ours) == ["late"] * late


@pytest.mark.parametrize(
    ("waits", "end", "late"),
    [("playout", 6.0, False), ("", 6.0, True), ("playout", 7.0, True)],
    ids=["waits", "does not wait", "longer than the news"],
)
def test_a_tool_waits_until_the_news_in_its_reply_were_heard(
    waits: Any, end: float, late: bool
) -> None:
    """Stock says the same news beside the call."""
    stock = {"runs": (ran(1, 4.0, 4.5),), "answered_with": {2: "t1a t1b."}, "news": ((4.1, 5.6),)}
    stock["latency"] = {2: 2.5}
    ours = {"asked": {2: 4.0}, "runs": (ran(1, 4.0, end),), "news": ((4.1, 5.6),)}
    ours["latency"] = {2: 2.5 + end - 4.5}
    assert found(ours, stock, jobs=(Job(1, 0.5, waits),)) == ["late"] * late


@pytest.mark.parametrize(
    ("at", "latency", "late"), [(4.5, 3.7, False), (4.5, 4.5, True), (7.0, 3.7, True)]
)
def test_an_answer_that_comes_during_a_noise_waits_for_its_words(
    at: float, latency: float, late: bool
) -> None:
    """It would be heard at 5.8 s, behind news; the noise of 0.3 s is over at 4.8 s."""
    ours = {"asked": {2: 4.0}, "latency": {2: latency}, "news": ((4.6, 5.8),)}
    assert found(ours, sounds=(*SAID, Sound(at, 0, 0.3))) == ["late"] * late


@pytest.mark.parametrize(("second", "late"), [(7.3, False), (12.0, True)], ids=["next", "later"])
def test_two_handoffs_delay_the_answer_until_the_second_greeting(second: float, late: bool) -> None:
    """The application asks for both at 3.8 and 3.9 s. The model is asked after both greetings."""
    greets = [Heard(at, at + 0.7, "hello2a hello2b.") for at in (6.5, second)]
    calls = {"runs": (ran(2, 2.0, 6.4),)}
    asked = second + 0.7
    ours = {"asked": {2: asked}, "latency": {2: asked - 3.0}, "audio": tuple(greets), **calls}
    moves = Move(3.8, "update_agent"), Move(3.9, "update_agent")
    assert found(ours, moves=moves) == ["late"] * late


@pytest.mark.parametrize(
    ("model", "latency", "late"),
    [("server", 3.3, False), ("pipeline", 3.3, True), ("server", 3.8, True)],
    ids=["it may answer", "too short for words", "later"],
)
def test_a_model_that_detects_turns_may_answer_any_sound(
    model: Any, latency: float, late: bool
) -> None:
    """For 2 s after it. The noise is over at 4.35 s; stock answers at 4.6 s."""
    sounds = (*SAID, Sound(4.2, 0, 0.15))
    kinds = found({"latency": {2: latency}}, {"latency": {2: 1.0}}, sounds=sounds, model=model)
    assert kinds == ["late"] * late


@pytest.mark.parametrize(
    ("model", "can_pause", "greets", "late"),
    [
        ("realtime", True, 6.6, False),
        ("realtime", False, 6.6, True),
        ("pipeline", True, 6.6, True),
        ("realtime", True, 8.6, True),
    ],
    ids=["paused", "cannot pause", "words end a pause", "later"],
)
def test_a_handoff_lasts_while_what_the_agent_says_is_paused(
    model: Any, can_pause: bool, greets: float, late: bool
) -> None:
    """The user speaks from 3 to 3.6 s, and again from 3.7 to 4 s. The application hands over at
    3.8 s; the agent is paused then, at most until 6.25 s. The next one answers."""
    sounds = (*SAID, Sound(3.7, 1, 0.3, 0.0))
    asked = greets + 0.6
    ours = {"asked": {2: asked}, "latency": {2: asked - 3.0, 3: asked - 3.4}}
    audio = (Heard(3.2, 3.9, "t0a"), Heard(greets, asked, "hello2a hello2b."))
    moves = (Move(3.8, "update_agent"),)
    plan = {"sounds": sounds, "moves": moves, "model": model, "can_pause": can_pause}
    kinds = found({**ours, "audio": audio}, {"latency": {2: 1.0, 3: 0.6}}, **plan)
    assert (kinds == []) is not late


@pytest.mark.parametrize(
    ("begun", "stops", "sound", "late"),
    [
        ((4.7, 5.0), (5.0,), 9.0, False),
        ((4.7, 5.0), (), 4.8, False),
        ((4.7, 5.0), (), 9.0, True),
        ((5.7, 6.0), (6.0,), 9.0, True),
        ((4.7, 5.9), (5.9,), 9.0, True),
        ((4.7, 5.0), 5.0, 9.0, False),
        ((4.7, 5.0), 8.0, 9.0, True),
    ],
    ids=["an interruption", "the user", "nobody", "begun late", "long enough", "a close", "later"],
)
def test_an_answer_that_somebody_cuts_as_it_begins_is_explained(
    begun: tuple[float, float], stops: tuple[float, ...] | float, sound: float, late: bool
) -> None:
    """It began in time, and half a second of it would count."""
    ours: dict[str, Any] = {"asked": {2: 4.0}, "latency": {2: None}, "begun": {2: begun}}
    moves = (Move(stops, "aclose"),) if isinstance(stops, float) else ()
    if not moves:
        ours["stops"] = stops
    sounds = (*SAID, Sound(sound, 0, 1.0))
    assert found(ours, sounds=sounds, moves=moves) == ["late"] * late


@pytest.mark.parametrize(
    ("waits", "end", "late"),
    [("interrupts", 6.5, False), ("", 6.5, True), ("interrupts", 8.5, True)],
    ids=["while it waits", "it does not interrupt", "later"],
)
def test_an_answer_that_waits_is_not_heard_if_a_call_of_its_own_interrupts(
    waits: Any, end: float, late: bool
) -> None:
    """A noise until 5.5 s may have been words until 7.75 s."""
    ours = {"asked": {2: 4.0}, "latency": {2: None}, "runs": (ran(1, 5.0, end),)}
    sounds, jobs = (*SAID, Sound(4.5, 0, 1.0)), (Job(1, 0.5, waits),)
    assert found(ours, sounds=sounds, jobs=jobs) == ["late"] * late


@pytest.mark.parametrize(("heard", "late"), [(5.2, False), (9.0, True)], ids=["soon", "long after"])
def test_a_sentence_is_answered_with_later_ones_that_stock_lost(heard: float, late: bool) -> None:
    """The third one ends at 4.4 s, and its words may come until 4.8 s. There is no answer to it on
    stock."""
    sounds = (*SAID, Sound(4.1, 1, 0.3, 0.3))
    ours = {"latency": {2: heard - sounds[1].over, 3: heard - sounds[2].over}}
    assert found(ours, {"words_lost": frozenset({3})}, sounds=sounds) == ["late"] * late


@pytest.mark.parametrize(
    ("latency", "answered", "stops", "late"),
    [
        (3.4, 0.9, (), False),
        (3.8, 0.9, (), True),
        (9.0, None, (3.9,), True),
        (9.0, None, (), True),
    ],
    ids=["with it", "after it", "interrupted", "never"],
)
def test_the_user_goes_on_in_the_moment_after_a_short_noise(
    latency: float, answered: float | None, stops: tuple[float, ...], late: bool
) -> None:
    """Stock answers the first sentence at 3.35 s, as the noise ends; ours waits until 3.65 s. The
    user speaks from 3.5 to 4.1 s, and is answered at 5 s. To interrupt is no reason to be late."""
    sounds = (SAID[0], Sound(3.0, 0, 0.1), Sound(3.5, 2, 0.6))
    stock = {"latency": {1: 1.75, 3: answered}}
    ours = {"latency": {1: latency, 3: answered}, "stops": stops}
    assert found(ours, stock, sounds=sounds) == ["late"] * late


@pytest.mark.parametrize(
    ("news", "on_stock", "late"),
    [(0.4, (9.0, 10.0), False), (0.0, (9.0, 10.0), True), (0.4, (3.6, 4.6), True)],
    ids=["news and the reply", "the reply alone", "stock says it first, too"],
)
def test_what_the_application_asks_for_meanwhile_is_said_first(
    news: float, on_stock: tuple[float, float], late: bool
) -> None:
    """On stock it is said after the answer, which comes at 4.6 s; on ours it comes at 6 s."""
    ours = {"asked": {2: 4.0}, "latency": {2: 2.4}, "news": ((4.6, 4.6 + news),)}
    ours["replies"] = {0: (5.0, 6.0)}
    stock = {"replies": {0: on_stock}}
    assert found(ours, stock, moves=(Move(3.7, "ask"),)) == ["late"] * late


@pytest.mark.parametrize(
    ("at", "latency", "late"), [(5.5, 6.4, False), (5.5, 7.0, True), (7.0, 6.4, True)]
)
def test_an_answer_that_would_come_as_the_user_speaks_is_given_with_the_next(
    at: float, latency: float, late: bool
) -> None:
    """It would be heard at 5.8 s, behind news; the third sentence is answered at 10 s on both."""
    sounds = (*SAID, Sound(at, 2, 0.6))
    third = {3: 10.0 - sounds[2].over}
    ours = {"asked": {2: 4.0}, "latency": {2: latency, **third}, "news": ((4.6, 5.8),)}
    assert found(ours, {"latency": {2: 1.0, **third}}, sounds=sounds) == ["late"] * late


@pytest.mark.parametrize(
    ("put", "latency", "late"),
    [
        (7.0, 4.3, False),
        (7.0, 4.5, True),
        (7.2, 4.3, True),
    ],
    ids=["as soon as it has thought", "later", "stock asks later"],
)
def test_an_answer_that_is_due_as_the_user_speaks_is_given_with_words_that_only_ours_answers(
    put: float, latency: float, late: bool
) -> None:
    """A call holds its turn until 6 s, and the third sentence lasts from 5.9 to 6.5 s. At 7 s the
    model is asked about both, and thinks for half a second."""
    sounds = (*SAID, Sound(5.9, 2, 0.6))
    ours: dict[str, Any] = {"asked": {2: 6.0, 3: 7.0}, "put": {3: ((7.0, True),)}}
    ours |= {"latency": {2: latency, 3: latency - 2.9}, "runs": (ran(2, 2.0, 6.0),)}
    stock = {"latency": {2: 1.0, 3: None}, "asked": {2: 4.0, 3: put}, "put": {3: ((put, True),)}}
    jobs = (Job(2, 0.5, policy="hold"),)
    assert found(ours, stock, sounds=sounds, jobs=jobs, ttft=0.5) == ["late"] * late


@pytest.mark.parametrize(
    ("policy", "words", "latency", "late"),
    [
        ("hold", 4, 5.3, False),
        ("hold", 4, 6.0, True),
        ("hold", 0, 7.7, False),
        ("hold", 0, 7.9, True),
        ("detach", 4, 5.3, True),
    ],
    ids=["kept", "later than it takes", "a call first", "later than that", "not kept"],
)
def test_an_answer_is_given_with_words_whose_turn_was_kept_and_whose_answer_stock_gave_up(
    policy: Any, words: int, latency: float, late: bool
) -> None:
    """A call holds its turn until 8 s, and the third sentence lasts from 5 to 5.6 s. Then the model
    is asked about both, and thinks for half a second. It may call a tool first, for 2 s."""
    sounds = (*SAID, Sound(5.0, 2, 0.6))
    ours: dict[str, Any] = {"asked": {2: 8.0, 3: 8.0}, "put": {3: ((8.0, True),)}}
    ours |= {"latency": {2: latency, 3: latency - 2.0}, "runs": (ran(2, 2.0, 8.0),)}
    stock = {"latency": {2: 1.0, 3: None}, "asked": {2: 4.0, 3: 6.0}, "put": {3: ((6.0, False),)}}
    jobs = (Job(2, 0.5, policy=policy), Job(3, 2.0))
    how: dict[str, Any] = {"ttft": 0.5, "words": words, "calls": (3,)}
    assert found(ours, stock, sounds=sounds, jobs=jobs, **how) == ["late"] * late


@pytest.mark.parametrize(
    ("at", "cut", "on_stock", "latency", "late"),
    [
        (4.4, 7.2, 7.2, 4.0, False),
        (4.4, 7.2, 7.2, 4.2, True),
        (4.4, 7.2, 7.4, 4.0, True),
        (4.8, 7.2, 7.2, 4.0, True),
    ],
    ids=["behind it", "later", "longer on stock", "spoken later"],
)
def test_an_answer_that_would_come_as_the_user_speaks_comes_behind_the_next_if_that_is_cut(
    at: float, cut: float, on_stock: float, latency: float, late: bool
) -> None:
    """On stock it begins at 4.6 s, over the user. The answer to the third sentence begins at 7 s; a
    call of its own interrupts it on both."""
    ours = {"asked": {2: 4.0}, "latency": {2: latency, 3: None}, "own_answers": {3: (7.0, cut)}}
    stock = {"latency": {2: 1.0, 3: None}, "own_answers": {3: (7.0, on_stock)}}
    assert found(ours, stock, sounds=(*SAID, Sound(at, 2, 0.6))) == ["late"] * late


@pytest.mark.parametrize(
    ("at", "words", "more", "heard", "late"),
    [
        (5.5, 0, False, 7.6, False),
        (5.5, 0, False, 8.1, True),
        (6.4, 0, False, 7.6, True),
        (5.5, 4, False, 7.6, True),
        (5.5, 4, True, 7.6, False),
        (5.5, 4, True, 8.1, True),
    ],
    ids=[
        *("in time", "later", "the user speaks later", "the model answers"),
        *("only ours has it answered", "later"),
    ],
)
def test_an_answer_that_would_come_as_the_user_speaks_is_asked_for_after_words_without_an_answer(
    at: float, words: int, more: bool, heard: float, late: bool
) -> None:
    """It would be heard at 5.8 s, behind news. What the user says then ends 0.6 s later; its words
    come 0.9 s after that. The model has nothing to say about them; or stock never answers them."""
    sounds = (*SAID, Sound(at, 2, 0.6, stt_delay=0.9))
    latency = {2: heard - SAID[1].over}
    put = {3: ((7.1, True),)} if more else {}
    ours = {"asked": {2: 4.0}, "latency": latency, "news": ((4.6, 5.8),), "put": put}
    assert found(ours, sounds=sounds, words=words) == ["late"] * late


@pytest.mark.parametrize(
    ("sounds", "policy", "heard", "late"),
    [
        ((*SAID, Sound(6.1, 0, 1.0)), "detach", Heard(9.4, 10.0, "y0a."), False),
        (SAID, "detach", Heard(9.4, 10.0, "y0a."), True),
        (SAID, "hold", Heard(9.4, 10.0, "y0a."), False),
        (SAID, "detach", Heard(6.0, 10.0, "t1a t1b t1c t1d."), False),
    ],
    ids=["a noise", "silence", "a call that keeps its turn", "another speech"],
)
def test_what_the_application_waits_for_may_be_delayed_by_what_delays_an_answer(
    sounds: tuple[Sound, ...], policy: Any, heard: Heard, late: bool
) -> None:
    """It asks at 6 s, and has it at 10 s; on stock within a second."""
    ours = {"waits": {0: 4.0}, "silent": {0: 3.4}, "audio": (heard,), "runs": (ran(2, 5.0, 9.4),)}
    ours["latency"] = STOCK["latency"]
    stock = {"waits": {0: 1.0}, "silent": {0: 0.4}, "audio": (Heard(6.4, 7.0, "y0a."),)}
    jobs = (Job(2, 0.5, policy=policy),)
    moves = (Move(6.0, "wait"),)
    assert found(ours, stock, sounds=sounds, jobs=jobs, moves=moves) == ["wait"] * late


@pytest.mark.parametrize(
    ("lost", "asked", "late"), [({1}, 6.0, False), ((), 6.0, True), ({1}, 6.5, True)]
)
def test_the_hook_runs_for_each_turn(lost: Any, asked: float, late: bool) -> None:
    """Also for one that stock has lost: two of a second each, before the model is asked."""
    ours = {"asked": {2: asked}, "latency": {2: asked - 3.0}}
    assert found(ours, {"words_lost": frozenset(lost)}, hook=1.0) == ["late"] * late


@pytest.mark.parametrize(("first", "number"), [(5.0, 1), (3.2, 2)])
def test_sentences_with_one_answer_are_late_once(first: float, number: int) -> None:
    """Both are answered at 6.6 s; on stock at 4.6 s, or the first one before the second is said."""
    stock = {"latency": {1: first - 2.0, 2: 1.0}}
    kinds = found({"latency": {1: 5.0, 2: 3.0}}, stock)
    assert kinds == ["late"] * number


@pytest.mark.parametrize(
    ("more", "policy", "asked", "late"),
    [
        (Sound(4.8, 0, 2.0), "hold", 9.1, False),
        (Sound(4.8, 0, 2.0), "detach", 9.1, True),
        (Sound(4.8, 2, 2.4, 1.5), "hold", 8.8, False),
        (Sound(4.8, 2, 2.4, 1.5), "detach", 8.8, True),
        (Sound(4.8, 2, 2.4, 0.3), "hold", 8.8, True),
        (Sound(6.0, 2, 1.2, 1.5), "hold", 8.8, True),
    ],
    ids=["noise", "noise, not kept", "words", "words, not kept", "recognised", "after it"],
)
def test_a_turn_that_was_kept_is_not_committed_while_the_user_goes_on(
    more: Sound, policy: Any, asked: float, late: bool
) -> None:
    """The call ends at 5 s. The words of the noise may come until 9.05 s, those of the slow STT
    come at 8.7 s."""
    ours = {"asked": {2: asked}, "latency": {2: asked - 3.0}, "runs": (ran(2, 2.0, 5.0),)}
    jobs = (Job(2, 0.5, policy=policy),)
    assert found(ours, {"latency": {2: 1.0}}, sounds=(*SAID, more), jobs=jobs) == ["late"] * late


@pytest.mark.parametrize(("close", "late"), [(8.5, False), (12.0, True)])
def test_a_run_that_is_delayed_until_the_session_closes_raises(close: float, late: bool) -> None:
    """It is asked for at 6 s; a call keeps its turn until 8 s. On stock it returns before."""
    ours = {"waits": {0: None}, "raised": frozenset({0}), "runs": (ran(2, 5.0, 8.0),)}
    ours["latency"] = STOCK["latency"]
    stock = {"waits": {0: 1.0}, "silent": {0: 0.4}, "audio": (Heard(6.4, 7.0, "g0a."),)}
    moves = (Move(6.0, "run"), Move(close, "aclose"))
    jobs = (Job(2, 0.5, policy="hold"),)
    assert found(ours, stock, jobs=jobs, moves=moves) == ["wait"] * late


@pytest.mark.parametrize(
    ("joins", "updates", "what", "kinds"),
    [
        (7.5, None, "run", []),
        (None, 7.5, "run", []),
        (6.5, None, "run", ["wait"]),
        (10.5, None, "run", ["wait"]),
        (None, 6.5, "run", ["wait"]),
        (7.5, None, "ask", ["wait"]),
    ],
    ids=["asked for", "a result", "on stock too", "long after", "ended on stock too", "no run"],
)
def test_a_run_that_is_delayed_waits_for_what_begins_meanwhile(
    joins: float | None, updates: float | None, what: str, kinds: list[str]
) -> None:
    """It begins at 6 s, and a call keeps its turn until 8 s. It returns after 6 s; on stock after
    1 s. The application says something, or a call that had called `ctx.update()` ends."""
    moves = (Move(6.0, what), *([] if joins is None else [Move(joins, "say")]))
    jobs = (Job(2, 0.5, policy="hold"), Job(3, 0.5, "updates"))
    late = [] if updates is None else [ran(3, 4.0, updates)]
    waits = {0: 6.0} if joins is None else {0: 6.0, 1: 1.0}
    ours = {"waits": waits, "silent": waits, "runs": (ran(2, 5.0, 8.0), *late)}
    done: dict[str, Any] = {"effects": {2: 1, 3: 1}, "wanted": {2: 1, 3: 1}}
    ours |= {**done, "latency": STOCK["latency"]}
    stock = {**done, "waits": {**waits, 0: 1.0}, "silent": {**waits, 0: 0.4}}
    judged = found(ours, stock, jobs=jobs, moves=moves)
    assert [kind for kind in judged if kind == "wait"] == kinds


@pytest.mark.parametrize(
    ("waits", "ends", "told", "returns", "what", "kinds"),
    [
        ("updates", 6.5, 8.8, 9.8, "run", []),
        ("", 6.5, 8.8, 9.8, "run", ["wait"]),
        ("updates", 5.5, 8.8, 9.8, "run", ["wait"]),
        ("updates", 6.5, 9.2, 10.2, "run", ["wait"]),
        ("updates", 6.5, 8.8, 12.0, "run", ["wait"]),
        ("updates", 6.5, 8.8, 9.8, "wait", ["wait"]),
    ],
    ids=["told", "no update", "before the run", "late", "not its end", "no run"],
)
def test_a_run_waits_for_a_result_that_is_told_when_the_user_has_spoken(
    waits: Any, ends: float, told: float, returns: float, what: str, kinds: list[str]
) -> None:
    """It begins at 6 s, and the user speaks from 6.6 to 7.2 s; their words may come until 7.6 s. On
    stock it returns after 1 s."""
    sounds, jobs = (*SAID, Sound(6.6, 2, 0.6)), (Job(1, 0.5, waits),)
    done: dict[str, Any] = {"effects": {1: 1}, "runs": (ran(1, 4.0, ends),)}
    latency = {"latency": {2: 1.0, 3: 2.0}}
    audio = (Heard(told, told + 1.0, "t1a t1b t1c t1d."),)
    ours = {**done, **latency, "waits": {0: returns - 6.0}, "silent": {0: returns - 6.0}}
    ours |= {"audio": audio, "told": {1: told}}
    stock = {**done, **latency, "waits": {0: 1.0}, "silent": {0: 0.4}}
    judged = found(ours, stock, sounds=sounds, jobs=jobs, moves=(Move(6.0, what),))
    assert [kind for kind in judged if kind == "wait"] == kinds


@pytest.mark.parametrize(
    ("waits", "on_stock", "kinds", "what"),
    [
        ({0: 2.5}, {0: 1.9, 1: 1.0}, [], "run"),
        ({0: 1.9}, {0: 1.9, 1: 1.0}, ["wait"], "run"),
        ({0: 3.0}, {0: 3.0, 1: 1.0}, ["wait"], "run"),
        ({0: 2.5}, {0: 1.9, 1: 1.0}, ["wait"], "say"),
        ({0: 9.0}, {0: 1.9, 1: 1.0}, ["wait"], "run"),
    ],
    ids=["open", "over", "open on stock", "no run", "open for too long"],
)
def test_a_run_that_raises_is_explained_if_the_run_before_it_is_still_open(
    waits: Mapping[int, float], on_stock: Mapping[int, float], kinds: list[str], what: Any
) -> None:
    """They begin at 5 and at 7 s."""
    ours = {"waits": waits, "raised": frozenset({1}), "latency": {2: 1.0}}
    moves = (Move(5.0, "run"), Move(7.0, what))
    silent = {"silent": dict(waits)}
    stock = {"waits": on_stock, "silent": dict(on_stock)}
    assert found({**ours, **silent}, stock, moves=moves) == kinds


@pytest.mark.parametrize(
    ("clear", "duration", "returns", "kinds"),
    [
        (5.2, 0.6, 8.4, []),
        (5.2, 0.6, 10.0, ["wait"]),
        (4.4, 0.6, 8.4, ["wait"]),
        (4.9, 0.6, 8.4, ["wait"]),
        (5.35, 0.6, 8.4, ["wait"]),
        (4.6, 0.2, 8.4, ["wait"]),
        (None, 0.6, 8.4, ["wait"]),
    ],
    ids=["voice", "longer than words may take", "before", "some words", "after", "short", "never"],
)
def test_a_reply_waits_for_words_after_a_voice_whose_turn_the_application_has_cleared(
    clear: float | None, duration: float, returns: float, kinds: list[str]
) -> None:
    """They ask for a run at 4 s, and the user speaks from 4.5 to 5.1 s. On stock the reply is cut
    by the voice. Ours is heard for a second."""
    moves = (Move(4.0, "run"), *([] if clear is None else [Move(clear, "clear")]))
    stock = {"waits": {0: 1.1}, "silent": {0: 0.6}}
    heard = (Heard(returns - 1.0, returns, "g0a."),)
    ours = {"waits": {0: returns - 4.0}, "silent": {0: 2.8}, "audio": heard}
    sounds = (*SAID, Sound(4.5, 2, duration, 0.3))
    ours["latency"] = {2: 1.0}
    assert [
        kind for kind in found(ours, stock, sounds=sounds, moves=moves) if kind == "wait"
    ] == kinds


@pytest.mark.parametrize(
    ("at", "on_stock", "end", "late"),
    [(8.0, None, 12.0, False), (14.0, None, 12.0, True), (8.0, 1.0, 12.0, True)],
    ids=["meanwhile", "later", "answered on stock"],
)
def test_an_answer_that_is_delayed_may_be_given_up_for_words_that_nobody_answers(
    at: float, on_stock: float | None, end: float, late: bool
) -> None:
    """A call holds its turn until 12 s."""
    ours = {"asked": {2: end}, "latency": {2: None, 3: None}, "runs": (ran(2, 2.0, end),)}
    stock = {"latency": {2: 1.0, 3: on_stock}}
    sounds = (*SAID, Sound(at, 2, 0.6))
    worse_kinds = found(ours, stock, sounds=sounds, jobs=(Job(2, 0.5, policy="hold"),))
    assert ("late" in worse_kinds) is late


@pytest.mark.parametrize(("stretches", "kinds"), [(6, []), (1, ["agent_state"])])
def test_the_state_may_change_more_often_if_more_is_heard(stretches: int, kinds: list[str]) -> None:
    """A filler, for example, while a call runs that only ours makes."""
    ours = {"states": 21, "stretches": stretches, "latency": {2: 1.0}}
    assert found(ours, {"states": 5, "stretches": 1}) == kinds
