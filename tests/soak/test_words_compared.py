"""What words that come late explain, and what they do not."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from livekit.agents import llm
from test_declared import ANSWERS, JOBS, SOUNDS, kinds, ran

from turnfsm.runtime.testing.livekit import Heard, Outcome
from turnfsm.runtime.testing.livekit.differential import (
    Answer,
    Job,
    Measures,
    Move,
    Pair,
    Plan,
    Sound,
    worse,
)
from turnfsm.runtime.testing.livekit.differential.measured_sound import overlap
from turnfsm.runtime.testing.livekit.scripted_llm import Request

AHEAD = {"preemptive_generation": {"enabled": True}}
LATE_WORDS = Plan("late words", (SOUNDS[0], attrs.evolve(SOUNDS[1], stt_delay=1.5)), ANSWERS, JOBS)
"""The second sound is over at 3.6 s, and its words come at 5.1 s."""


def _found(plan: Plan, stock: Measures, ours: Measures) -> list[str]:
    return [one.kind for one in worse(Pair(plan, stock, ours))]


@pytest.mark.parametrize(
    ("asked", "stock", "cut", "settings", "found"),
    [
        (4.0, 4.1, 5.1, {}, []),
        (4.0, 4.1, 4.6, {}, ["blip"]),
        (3.0, 4.1, 5.1, {}, ["blip"]),
        (3.0, 4.1, 5.1, AHEAD, []),
        (4.0, 6.0, 5.1, AHEAD, ["blip"]),
    ],
    ids=["before", "at another moment", "asked before it", "asked ahead", "stock waits"],
)
def test_words_that_come_after_the_next_turn_explain_a_cut(
    asked: float, stock: float, cut: float, settings: dict[str, Any], found: list[str]
) -> None:
    """The first sentence's turn was committed between the second sound and its words."""
    ours = Measures(asked={1: asked}, blips=("'r1a' from 4.80 s",), cuts=(cut,))
    plan = attrs.evolve(LATE_WORDS, settings=settings)
    assert _found(plan, Measures(asked={1: stock}), ours) == found


@pytest.mark.parametrize(
    ("end", "stock", "found"),
    [
        (6.0, (6.0,), []),
        (6.0, (), []),
        (6.0, (3.0, 6.0), []),
        (4.9, (6.0,), ["blip"]),
        (6.0, (3.0,), ["blip"]),
        (6.0, (3.0, 5.0), ["blip"]),
    ],
    ids=[
        "waits",
        "waits for ever",
        "asks ahead, and again",
        "over before the words",
        "asks before the sound",
        "asks again before the words",
    ],
)
def test_words_that_come_while_stock_waits_for_a_call_explain_a_cut(
    end: float, stock: tuple[float, ...], found: list[str]
) -> None:
    """Ours answers the first sentence beside the call, at 4 s."""
    runs = (ran(2, 2.0, end),)
    ours = Measures(asked={1: 4.0}, blips=("'r1a' from 4.80 s",), cuts=(5.1,), runs=runs)
    put = {1: tuple((at, at == stock[-1]) for at in stock)}
    on_stock = Measures(asked={1: stock[0]} if stock else {}, put=put, runs=runs)
    assert _found(LATE_WORDS, on_stock, ours) == found


@pytest.mark.parametrize(
    ("policy", "start", "found"),
    [("hold", 3.0, []), ("finish", 3.0, []), ("detach", 3.0, ["blip"]), ("hold", 4.5, ["blip"])],
    ids=["hold", "finish", "not kept", "committed before the call"],
)
def test_words_that_come_after_a_kept_turn_explain_a_cut(
    policy: Any, start: float, found: list[str]
) -> None:
    """Stock asks the model at 4 s, ours when the call has ended."""
    plan = attrs.evolve(LATE_WORDS, jobs={2: Job(2, 3.0, policy=policy)})
    run = ran(2, start, 6.0)
    ours = Measures(asked={1: 6.0}, blips=("'r1a' from 4.80 s",), cuts=(5.1,), runs=(run,))
    assert _found(plan, Measures(asked={1: 4.0}), ours) == found


@pytest.mark.parametrize(
    ("stock", "begun", "settings", "found"),
    [
        (2.4, 4.2, AHEAD, []),
        (2.4, 4.2, {}, ["blip"]),
        (2.6, 4.2, AHEAD, ["blip"]),
        (2.4, 3.5, AHEAD, ["blip"]),
    ],
    ids=["ahead", "not ahead", "at another moment", "begun before its end"],
)
def test_words_that_come_after_a_turn_that_was_answered_ahead_explain_a_cut(
    stock: float, begun: float, settings: dict[str, Any], found: list[str]
) -> None:
    """The model was asked at 2.4 s, before the second sound. The turn was committed after it."""
    blip = Heard(begun, 5.1, "t1a")
    ours = Measures(asked={1: 2.4}, blips=("'t1a'",), cuts=(5.1,), audio=(blip,))
    plan = attrs.evolve(LATE_WORDS, settings=settings)
    assert _found(plan, Measures(asked={1: stock}), ours) == found


@pytest.mark.parametrize(
    ("what", "at", "ours", "found"),
    [
        ("say_on", 1.2, 1.4, []),
        ("say_on", 1.2, 1.7, ["late"]),
        ("say_on", 1.8, 1.4, ["late"]),
        ("say", 1.2, 1.4, ["late"]),
    ],
    ids=["the rest", "later than that", "after the sentence", "can be interrupted"],
)
def test_an_announcement_into_a_sentence_explains_that_stock_is_sooner(
    what: str, at: float, ours: float, found: list[str]
) -> None:
    """The sentence is over at 1.6 s. Stock answers 0.9 s after it."""
    audio = (Heard(at + 0.1, at + 1.0, "y0a y0b y0c."),)
    stock = {"latency": {1: 0.9}, "audio": audio}
    assert kinds(stock, {"latency": {1: ours}}, moves=(Move(at, what),)) == found


@pytest.mark.parametrize(
    ("latency", "first", "found"),
    [(1.8, 4.0, []), (2.1, 4.0, ["late"]), (1.8, 2.0, ["late"])],
    ids=["waits anew", "later than that", "stock answers the one before by itself"],
)
def test_a_sentence_is_a_turn_of_its_own_if_stock_takes_its_end_for_the_end_of_both(
    latency: float, first: float, found: list[str]
) -> None:
    """The second sentence lasts from 3 to 3.6 s. Stock does not hear what comes after 3.2 s."""
    audio = (Heard(3.2, 4.1, "y0a y0b y0c."),)
    stock = {"latency": {2: 0.9}, "audio": audio, "asked": {1: first, 2: 4.0}}
    assert kinds(stock, {"latency": {2: latency}}, moves=(Move(3.1, "say_on"),)) == found


@pytest.mark.parametrize(("start", "seconds"), [(3.05, 0.0), (3.2, 0.8)])
def test_audio_that_begins_before_a_voice_is_noticed_was_there_before(
    start: float, seconds: float
) -> None:
    """Turns are manual. The user speaks from 3 to 4 s."""
    plan = Plan("manual", (Sound(3.0, 2, 1.0),), {}, {}, settings={"turn_detection": "manual"})
    outcome = Outcome(heard=[Heard(start, 5.0, "r1a r1b")])
    assert overlap(plan, outcome) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("detection", "can_pause", "asked", "start", "seconds"),
    [
        ("manual", False, 2.8, 3.3, 0.0),
        ("manual", False, 2.8, 3.6, 0.4),
        ("manual", False, 3.1, 3.6, 0.4),
        ("manual", True, 2.8, 3.3, 0.7),
        ("vad", False, 2.8, 3.3, 0.7),
    ],
    ids=["asked before", "later than it could", "asked after", "can be held", "not manual"],
)
def test_a_reply_that_cannot_be_held_begins_when_it_is_there(
    detection: str, can_pause: bool, asked: float, start: float, seconds: float
) -> None:
    """The user speaks from 3 to 4 s. The model takes 0.4 s."""
    handling = {"turn_detection": detection}
    sounds = (Sound(3.0, 2, 1.0),)
    plan = Plan("manual", sounds, {}, {}, settings=handling, can_pause=can_pause)
    request = Request(asked, "", (), llm.ChatContext.empty(), ended=asked + 0.4)
    outcome = Outcome(heard=[Heard(start, 5.0, "r1a r1b")], requests=[request])
    assert overlap(plan, outcome) == pytest.approx(seconds)


@pytest.mark.parametrize(("end", "found"), [(4.6, []), (4.8, ["blip"])])
def test_a_cut_that_is_heard_on_both_sides_is_not_worse(end: float, found: list[str]) -> None:
    """On stock it does not count, because the sentence is said again later, to its end."""
    heard = Heard(4.2, 4.6, "hello2a")
    ours = Measures(blips=(f"'hello2a' from 4.20 to {end:.2f} s",), cuts=(end,))
    assert _found(LATE_WORDS, Measures(audio=(heard,)), ours) == found


@pytest.mark.parametrize(
    ("text", "end", "found"),
    [("hello2a hello2b.", 4.8, []), ("hello2a hello2b.", 5.0, ["blip"]), ("r1a", 4.8, ["blip"])],
    ids=["in the same moment", "later", "something else"],
)
def test_a_cut_in_the_same_moment_is_not_worse_if_stock_has_begun_sooner(
    text: str, end: float, found: list[str]
) -> None:
    """On stock the last word was heard."""
    stock = Measures(audio=(Heard(4.3, end, text),))
    audio = (Heard(4.5, 4.8, "hello2a"),)
    ours = Measures(blips=("'hello2a' from 4.50 to 4.80 s",), cuts=(4.8,), audio=audio)
    assert _found(LATE_WORDS, stock, ours) == found


@pytest.mark.parametrize(
    ("duration", "begun", "text", "found"),
    [
        (0.3, 4.65, "hello2a hello2b.", []),
        (0.6, 4.95, "hello2a hello2b.", ["blip"]),
        (0.3, 4.5, "hello2a hello2b.", ["blip"]),
        (0.3, 4.65, "r1a", ["blip"]),
    ],
    ids=["short", "long", "too soon", "not on stock"],
)
def test_a_reply_waits_for_the_words_of_a_short_sound_for_a_moment_only(
    duration: float, begun: float, text: str, found: list[str]
) -> None:
    """The words come 0.8 s after the sound, which begins at 4 s."""
    cut = 4.8 + duration
    plan = attrs.evolve(LATE_WORDS, sounds=(SOUNDS[0], Sound(4.0, 1, duration, 0.8)))
    stock = Measures(audio=(Heard(2.0, 2.6, text),))
    audio = (Heard(begun, cut, "hello2a"),)
    assert _found(plan, stock, Measures(blips=("'hello2a'",), cuts=(cut,), audio=audio)) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [({1: 6.0}, []), ({1: 4.5}, ["blip"]), ({}, ["blip"])],
    ids=["later", "before", "not asked"],
)
def test_a_reply_that_stock_asks_for_later_is_cut_by_the_words_of_a_short_sound(
    asked: dict[int, float], found: list[str]
) -> None:
    """The words come at 5.1 s."""
    plan = attrs.evolve(LATE_WORDS, sounds=(SOUNDS[0], Sound(4.0, 1, 0.3, 0.8)))
    ours = Measures(blips=("'r1a'",), cuts=(5.1,), audio=(Heard(4.65, 5.1, "r1a"),))
    assert _found(plan, Measures(asked=asked), ours) == found


@pytest.mark.parametrize(
    ("commit", "stock", "ours", "found"),
    [
        (3.9, (3.7,), {"handoffs": (8.0,)}, []),
        (3.9, (3.7,), {"refused": frozenset({1})}, []),
        (4.2, (3.7,), {"handoffs": (8.0,)}, ["late"]),
        (3.9, (4.5,), {"handoffs": (8.0,)}, ["late"]),
        (3.9, (3.7,), {"handoffs": (4.0,)}, ["late"]),
        (3.9, (3.7,), {}, ["late"]),
    ],
    ids=["later", "refused", "it waits for them", "after it", "here, too", "no handoff"],
)
def test_words_behind_a_commit_are_committed_by_the_next_agent(
    commit: float, stock: tuple[float, ...], ours: dict[str, Any], found: list[str]
) -> None:
    """It does so by itself. Without it, nobody does."""
    plan = attrs.evolve(LATE_WORDS, moves=(Move(commit, "commit"),))
    on_stock = Measures(latency={2: 2.0}, handoffs=stock)
    kinds = _found(plan, on_stock, Measures(latency={2: None}, **ours))
    assert [kind for kind in kinds if kind == "late"] == found


@pytest.mark.parametrize(("at", "found"), [(14.0, []), (9.0, ["wait"])])
def test_a_call_that_is_made_after_the_end_is_not_compared(at: float, found: list[str]) -> None:
    """The application closes at 5 s, which is played until 13 s; stock takes longer."""
    moves = (Move(5.0, "aclose"), Move(at, "commit"))
    plan = attrs.evolve(LATE_WORDS, moves=moves)
    assert _found(plan, Measures(waits={1: 0.0}), Measures(waits={1: None})) == found


@pytest.mark.parametrize(
    ("ours", "found"), [(1.8, []), (3.4, ["late"])], ids=["for as long as it takes", "for longer"]
)
def test_what_the_application_wants_said_is_heard_before_the_answer(
    ours: float, found: list[str]
) -> None:
    """Stock had begun it while the user spoke, and it was cut. Ours had waited for a quiet user."""
    stock = {"latency": {1: 0.9}, "audio": (Heard(1.5, 1.7, "y0a"),)}
    audio = (Heard(1.8, 2.7, "y0a y0b y0c."),)
    mine = {"latency": {1: ours}, "audio": audio}
    assert kinds(stock, mine, moves=(Move(1.4, "say"),)) == found


@pytest.mark.parametrize(
    ("latency", "with_it", "found"),
    [(2.7, None, []), (3.0, None, ["late"]), (5.0, 3.0, []), (5.0, 2.0, ["late"])],
    ids=["when they have come", "later", "together", "after their answer"],
)
def test_an_answer_waits_for_words_that_are_on_their_way_and_no_longer(
    latency: float, with_it: float | None, found: list[str]
) -> None:
    """The first sentence is over at 1.6 s. Stock answers at 3.1 s, while the user says the second
    one, until 3.6 s. Its words have come by 4 s, and `with_it` is how long its answer takes."""
    plan = Plan("two", (Sound(1.0, 2, 0.6), Sound(3.0, 2, 0.6)), {1: Answer(4), 2: Answer(4)}, {})
    stock = Measures(latency={1: 1.5, 2: with_it})
    ours = Measures(latency={1: latency, 2: with_it})
    assert [w.kind for w in worse(Pair(plan, stock, ours)) if w.about == 1] == found


@pytest.mark.parametrize(
    ("commit", "delay", "what", "again", "found"),
    [
        (1.9, 1.5, "say_on", None, []),
        (1.9, 1.5, "say", None, ["late"]),
        (1.9, 0.9, "say_on", None, ["late"]),
        (1.5, 1.5, "say_on", None, ["late"]),
        (1.9, 1.5, "say_on", 3.5, ["late"]),
    ],
    ids=["late", "can be interrupted", "in time", "late on stock too", "committed again"],
)
def test_a_commit_that_does_not_wait_for_the_rest_of_a_sentence_leaves_it_unanswered(
    commit: float, delay: float, what: str, again: float | None, found: list[str]
) -> None:
    """The user speaks from 1 to 1.6 s, and an announcement begins at 1.3 s: stock's STT hears what
    came before. The call that the sentence asks for is not made either."""
    moves = (Move(1.2, what), *(Move(at, "commit") for at in (commit, again) if at is not None))
    sounds = (Sound(1.0, 2, 0.6, delay),)
    plan = _manual(sounds, moves)
    stock = Measures(
        latency={1: 2.0}, audio=(Heard(1.3, 2.2, "y0a y0b y0c."),), effects={1: 1}, wanted={1: 1}
    )
    both = ["undone", *found] if found else []
    assert _found(plan, stock, Measures(latency={1: None}, effects={1: 0}, wanted={1: 1})) == both


def _manual(sounds: tuple[Sound, ...], moves: tuple[Move, ...]) -> Plan:
    answers = {1: Answer(4, (1,)), 2: Answer(4)}
    settings = {"turn_detection": "manual"}
    return Plan("manual", sounds, answers, {1: Job(1, 0.5)}, moves, settings=settings)


@pytest.mark.parametrize(
    ("commit", "delay", "lost", "asked", "found"),
    [
        (3.0, 0.3, {2}, {}, []),
        (3.2, 0.3, {2}, {}, ["undone", "late"]),
        (3.0, 0.6, {2}, {}, ["undone", "late"]),
        (3.0, 0.3, set(), {}, ["undone", "late"]),
        (3.0, 0.3, {2}, {1: 3.2}, ["undone", "late"]),
    ],
    ids=["between", "its words were there", "both came later", "not lost", "it was asked"],
)
def test_a_commit_of_later_words_that_stock_has_lost_leaves_a_slow_sentence_unanswered(
    commit: float, delay: float, lost: set[int], asked: dict[int, float], found: list[str]
) -> None:
    """The first sentence is over at 1.6 s, and its words come at 3.1 s. The second one is over at
    2.6 s."""
    sounds = Sound(1.0, 2, 0.6, 1.5), Sound(2.0, 2, 0.6, delay)
    plan = _manual(sounds, (Move(commit, "commit"),))
    stock = Measures(latency={1: 2.0}, words_lost=frozenset(lost), effects={1: 1}, wanted={1: 1})
    assert (
        _found(plan, stock, Measures(latency={1: None}, asked=asked, effects={1: 0}, wanted={1: 1}))
        == found
    )


@pytest.mark.parametrize(
    ("text", "interims", "commit", "times", "found"),
    [
        ("final transcript not received after timeout", True, 4.0, 1, []),
        ("final transcript not received after timeout", True, 4.0, 2, ["warning"]),
        ("final transcript not received after timeout", False, 4.0, 1, ["warning"]),
        ("final transcript not received after timeout", True, 4.2, 1, ["warning"]),
        ("final transcript not received after timeout", True, 2.9, 1, ["warning"]),
        ("something else", True, 4.0, 1, ["warning"]),
    ],
    ids=["late", "twice", "no interims", "in time", "before the voice", "another warning"],
)
def test_a_commit_may_take_an_interim_transcript(
    text: str, interims: bool, commit: float, times: int, found: list[str]
) -> None:
    """The user speaks from 3 to 3.6 s, the words come at 5.1 s. A commit waits for a second."""
    plan = attrs.evolve(LATE_WORDS, moves=(Move(commit, "commit"),), interims=interims)
    assert _found(plan, Measures(), Measures(warnings={text: times})) == found
