"""What the model is asked later is answered later, or somebody interrupts before that."""

from __future__ import annotations

from typing import Any

import pytest
from test_declared import kinds
from test_delays import SAID, compared, found, ran

from turnfsm.runtime.testing.livekit.differential import Job, Move, Sound
from turnfsm.runtime.testing.livekit.differential.reasons.delays import asked_later
from turnfsm.runtime.testing.livekit.differential.reasons.waits import (
    commit_waited_for_the_last_voice,
    held_to_the_end,
)
from turnfsm.runtime.testing.livekit.speaker import Heard

ANNOUNCED = (Move(3.7, "say_on"),)


@pytest.mark.parametrize(
    ("start", "end", "waits", "found"),
    [
        (2.0, 4.5, "interrupts", []),
        (2.0, 4.5, "", ["undone"]),
        (2.0, 6.5, "interrupts", ["undone"]),
        (4.2, 4.5, "interrupts", ["undone"]),
    ],
    ids=["as it thinks", "another tool", "later", "a tool of this turn"],
)
def test_a_tool_of_an_earlier_turn_that_interrupts_explains_a_call_that_is_not_made(
    start: float, end: float, waits: Any, found: list[str]
) -> None:
    """The model is asked about the second sentence at 4 s."""
    ours = {"effects": {1: 1, 2: 0}, "put": {2: ((4.0, True),)}, "runs": (ran(1, start, end),)}
    stock = {"effects": {1: 1, 2: 1}, "runs": (ran(2, 4.5, 5.0),)}
    assert kinds(stock, ours, jobs={1: Job(1, 0.5, waits=waits)}) == found


@pytest.mark.parametrize(
    ("start", "end", "waits", "late"),
    [
        (2.0, 4.5, "interrupts", False),
        (2.0, 4.5, "", True),
        (2.0, 6.5, "interrupts", True),
    ],
    ids=["as it thinks", "another tool", "later"],
)
def test_a_tool_of_an_earlier_turn_that_interrupts_explains_an_answer_that_is_not_heard(
    start: float, end: float, waits: Any, late: bool
) -> None:
    """The model is asked about the second sentence at 4 s."""
    put = {2: ((4.0, False),)}
    ours = {"asked": {2: 4.0}, "put": put, "latency": {}, "runs": (ran(1, start, end),)}
    assert found(ours, jobs=(Job(1, 0.5, waits=waits),)) == ["late"] * late


@pytest.mark.parametrize(
    ("end", "text", "asked", "latency", "hook", "late"),
    [
        (5.5, "y0a y0b y0c.", 5.5, 2.5, 0.0, False),
        (5.5, "y0a y0b y0c.", 6.5, 3.5, 1.0, False),
        (5.5, "r1a r1b r1c.", 6.5, 3.5, 1.0, True),
        (5.5, "y0a y0b y0c.", 5.5, 3.0, 0.0, True),
        (5.5, "y0a y0b y0c.", 6.5, 3.5, 0.0, True),
        (3.9, "y0a y0b y0c.", 5.5, 2.5, 0.0, True),
    ],
    ids=["kept", "and the hook", "another", "slow answer", "asked late", "over before"],
)
def test_what_cannot_be_interrupted_delays_the_question(
    end: float, text: str, asked: float, latency: float, hook: float, late: bool
) -> None:
    """It is heard from 3.7 s; stock says it later."""
    ours = {"asked": {2: asked}, "latency": {2: latency}, "audio": (Heard(3.7, end, text),)}
    assert found(ours, moves=ANNOUNCED, hook=hook) == ["late"] * late


@pytest.mark.parametrize(
    ("at", "held", "late"),
    [(4.5, 5.0, False), (5.4, 5.0, True), (4.5, 3.5, True)],
    ids=["asked for before", "asked for later", "not held"],
)
def test_what_waited_for_the_floor_behind_a_call_that_holds_its_turn_is_heard_first(
    at: float, held: float, late: bool
) -> None:
    """The reply is heard from 5.2 s to 6.5 s; then the model is asked about the sentence."""
    runs = (ran(1, 2.0, held),)
    ours = {"asked": {2: 6.5}, "latency": {2: 3.5}, "runs": runs, "replies": {0: (5.2, 6.5)}}
    jobs = (Job(1, 0.5, policy="hold"),)
    assert found(ours, moves=(Move(at, "ask"),), jobs=jobs) == ["late"] * late


@pytest.mark.parametrize(
    ("first", "on_stock", "late"), [(5.6, 2.0, False), (5.6, 4.5, True), (3.9, 2.0, True)]
)
def test_the_hook_of_a_turn_that_stock_has_answered_before_runs_first(
    first: float, on_stock: float, late: bool
) -> None:
    """Both turns were kept until 5.5 s, and the hook takes a second."""
    audio = (Heard(3.8, 5.5, "y0a y0b y0c."),)
    ours = {"asked": {1: first, 2: 7.5}, "latency": {2: 4.5}, "audio": audio}
    stock = {"asked": {1: on_stock, 2: 4.0}}
    assert found(ours, stock, moves=ANNOUNCED, hook=1.0) == ["late"] * late


@pytest.mark.parametrize(("asked", "late"), [(6.6, False), (7.4, True)])
def test_the_hook_of_the_next_agent_runs_again_for_a_kept_turn(asked: float, late: bool) -> None:
    """The turn is kept until 4 s. Another agent takes over at 4.5 s, while the hook runs, and
    greets until 5.6 s."""
    audio = (Heard(3.7, 4.0, "y0a y0b y0c."), Heard(5.0, 5.6, "hello2a hello2b."))
    ours = {"asked": {2: asked}, "latency": {2: asked - 3.0}, "audio": audio, "handoffs": (4.9,)}
    moves = (*ANNOUNCED, Move(4.5, "update_agent"))
    assert found(ours, {"asked": {2: 3.9}}, moves=moves, hook=1.0) == ["late"] * late


@pytest.mark.parametrize(
    ("put", "lost", "late"),
    [
        (((4.0, False), (4.5, True)), {1}, False),
        (((4.0, False), (4.5, True)), (), True),
        (((4.0, True), (4.5, True)), {1}, True),
        (((4.0, False), (4.8, True)), {1}, True),
        (((3.9, True), (4.0, False)), {1}, True),
    ],
    ids=["given up", "on stock as well", "not given up", "long after", "asked before"],
)
def test_words_that_stock_has_lost_end_the_request_that_they_come_into(
    put: Any, lost: Any, late: bool
) -> None:
    """They were said before, and come at 4 s: LiveKit waits anew."""
    sounds = (Sound(1.9, 2, 0.6, 1.5), SAID[1])
    ours = {"asked": {2: 4.0}, "put": {2: put}, "latency": {2: 1.5}}
    stock = {"words_lost": frozenset(lost), "put": {2: ((4.0, True),)}}
    assert found(ours, stock, sounds=sounds) == ["late"] * late


@pytest.mark.parametrize(
    ("put", "at", "on_stock", "later"),
    [
        (((4.0, False), (5.6, True)), 3.8, (), 1.6),
        (((4.0, True), (5.6, True)), 3.8, (), 0.0),
        (((4.0, False), (5.6, True)), 4.1, (), 0.0),
        (((4.0, False), (6.0, True)), 3.8, (), 0.0),
        (((4.0, False), (5.6, True)), 3.8, (4.9,), 0.0),
    ],
    ids=["given up", "answered", "before the handoff", "after it", "on stock, too"],
)
def test_a_handoff_ends_the_request_that_is_made_in_it(
    put: Any, at: float, on_stock: tuple[float, ...], later: float
) -> None:
    """The next agent greets from 5 to 5.6 s, and asks again."""
    ours = {"asked": {2: 4.0}, "put": {2: put}, "handoffs": (4.9,)}
    ours |= {"audio": (Heard(4.0, 4.9, "s1a s1b."), Heard(5.0, 5.6, "hello2a hello2b."))}
    stock = {"put": {2: ((4.0, True),)}, "handoffs": on_stock}
    pair = compared(ours, stock, moves=(Move(at, "update_agent"),))
    assert asked_later(2, pair) == pytest.approx(later)


@pytest.mark.parametrize(
    ("policy", "put", "later"),
    [
        ("finish", ((4.0, False), (6.5, True)), 2.5),
        ("detach", ((4.0, False), (6.5, True)), 0.0),
        ("finish", ((4.0, True), (6.5, True)), 0.0),
        ("finish", ((4.0, False), (7.0, True)), 0.0),
    ],
    ids=["given up", "not held", "answered", "long after"],
)
def test_what_a_call_that_holds_its_turn_asks_for_ends_the_request_that_is_made_meanwhile(
    policy: Any, put: Any, later: float
) -> None:
    """The call ends at 6.5 s. A realtime model answers one thing at a time."""
    ours = {"asked": {2: 4.0}, "put": {2: put}, "runs": (ran(2, 2.0, 6.5),)}
    stock = {"put": {2: ((4.0, True),)}}
    pair = compared(ours, stock, jobs=(Job(2, 0.5, "replies", policy=policy),), model="server")
    assert asked_later(2, pair) == pytest.approx(later)


@pytest.mark.parametrize(
    ("policy", "stop", "begun", "undone"),
    [
        ("hold", 6.1, 4.2, False),
        ("detach", 6.1, 4.2, True),
        ("hold", 6.3, 4.2, True),
        ("hold", 5.9, 4.2, True),
        ("hold", 6.1, 6.15, True),
        ("hold", 6.1, 3.9, True),
    ],
    ids=["stopped", "not held", "due", "not asked yet", "not due on stock", "asked by another"],
)
def test_a_call_that_is_delayed_may_be_stopped_before_it_is_due(
    policy: Any, stop: float, begun: float, undone: bool
) -> None:
    """Another call ends at 6 s, so this one is due at 6.2 s; on stock at 4.2 s."""
    stock = {"effects": {1: 1}, "runs": (ran(1, begun, begun + 0.5),)}
    ours = {"effects": {1: 0}, "asked": {2: 6.0}, "latency": {2: 1.0}, "stops": (stop,)}
    ours |= {"runs": (ran(2, 2.0, 6.0),)}
    assert found(ours, stock, jobs=(Job(2, 0.5, policy=policy),)) == ["undone"] * undone


@pytest.mark.parametrize(
    ("delay", "whole", "undone"),
    [(0.5, False, False), (0.5, True, True), (0.9, False, True), (0.2, False, True)],
    ids=["given up", "answered", "due", "not asked yet"],
)
def test_the_users_next_words_may_stop_a_call_that_is_delayed(
    delay: float, whole: bool, undone: bool
) -> None:
    """It is due at 6.2 s, because another call ends at 6 s; on stock at 4.2 s. The words end at
    5.6 s."""
    stock = {"effects": {1: 1}, "runs": (ran(1, 4.2, 4.7),)}
    ours = {"effects": {1: 0}, "asked": {2: 6.0}, "latency": {2: 1.0}, "runs": (ran(2, 2.0, 6.0),)}
    ours |= {"put": {2: ((6.0, whole),)}}
    sounds = (*SAID, Sound(5.0, 2, 0.6, delay))
    assert found(ours, stock, sounds=sounds, jobs=(Job(2, 0.5, policy="hold"),)) == (
        ["undone"] * undone
    )


@pytest.mark.parametrize(("close", "undone"), [(5.6, False), (5.8, True)])
def test_a_session_may_be_closed_before_a_call_that_is_delayed(close: float, undone: bool) -> None:
    """What is said until 5.5 s cannot be interrupted."""
    stock = {"effects": {1: 1}, "runs": (ran(1, 4.2, 4.7),)}
    ours = {"effects": {1: 0}, "asked": {2: 5.5}, "latency": {2: 1.0}}
    ours |= {"audio": (Heard(3.7, 5.5, "y0a y0b y0c."),)}
    moves = (*ANNOUNCED, Move(close, "aclose"))
    assert found(ours, stock, moves=moves) == ["undone"] * undone


@pytest.mark.parametrize(
    ("model", "latency", "late"),
    [("server", 2.15, False), ("realtime", 2.15, True), ("server", 2.5, True)],
)
def test_a_model_that_detects_turns_hears_the_end_of_a_sentence_later(
    model: Any, latency: float, late: bool
) -> None:
    """Half a second after it. What the application asks for is held until then, and heard from 4.2
    to 5.2 s; stock says it into the sentence."""
    sounds = (SAID[0], Sound(3.0, 2, 0.6, 0.05))
    said = {"g70a g70b.": (3.2, 4.2)}
    stock = {"latency": {2: 1.0}, "audio": tuple(Heard(*at, text) for text, at in said.items())}
    ours = {"latency": {2: latency}, "audio": (Heard(4.2, 5.2, "g70a g70b."),)}
    moves = (Move(3.1, "reply"),)
    assert found(ours, stock, sounds=sounds, moves=moves, model=model) == ["late"] * late


@pytest.mark.parametrize(
    ("asked", "hook", "times", "warned"),
    [(6.5, 1.0, 1, False), (6.5, 0.0, 1, True), (9.0, 1.0, 1, True), (6.5, 1.0, 2, True)],
    ids=["kept", "the hook is over", "not asked then", "more often"],
)
def test_a_turn_that_livekit_says_it_skips_is_kept(
    asked: float, hook: float, times: int, warned: bool
) -> None:
    """What cannot be interrupted is heard from 4.6 to 5.5 s."""
    text = "skipping reply to user input, current speech generation cannot be interrupted"
    audio = (Heard(4.6, 5.5, "y0a y0b y0c."),)
    ours = {"asked": {2: asked}, "latency": {2: 1.0}, "audio": audio, "warnings": {text: times}}
    assert found(ours, moves=ANNOUNCED, hook=hook) == ["warning"] * warned


@pytest.mark.parametrize(
    ("commit", "stt_delay", "noise", "latency", "waits"),
    [
        (4.0, 0.1, 2.2, 1.9, True),
        (4.0, 0.1, 2.2, 2.2, False),
        (4.0, 0.1, None, 1.9, False),
        (4.0, 0.35, 2.2, 1.9, False),
        (4.4, 0.1, 2.2, 1.9, False),
    ],
    ids=["waits", "later", "no sound before", "words after the voice", "words long before"],
)
def test_a_commit_waits_for_words_if_those_that_came_might_be_of_an_earlier_sound(
    commit: float, stt_delay: float, noise: float | None, latency: float, waits: bool
) -> None:
    """Ours asks 0.9 s later."""
    noises = () if noise is None else (Sound(noise, 0, 0.4),)
    sounds = (SAID[0], *noises, Sound(3.0, 2, 0.6, stt_delay=stt_delay))
    number = len(sounds)
    ours = {"asked": {number: 5.0}, "latency": {number: latency}}
    stock = {"asked": {number: 4.1}, "latency": {number: 1.0}}
    pair = compared(ours, stock, sounds=sounds, moves=(Move(commit, "commit"),))
    assert commit_waited_for_the_last_voice(number, pair) is waits


@pytest.mark.parametrize(
    ("said", "stt_delay", "asked", "latency", "waits"),
    [
        (3.9, 0.6, 5.0, 1.9, True),
        (3.9, 0.6, 4.2, 2.0, True),
        (3.9, 0.6, 4.2, 2.2, False),
        (3.9, 0.6, 5.0, 2.2, False),
        (4.3, 0.6, 5.0, 1.9, False),
        (3.9, 0.2, 5.0, 1.9, False),
    ],
    ids=["waits", "asked ahead", "ahead, and later", "later", "after them", "before the voice"],
)
def test_a_commit_waits_for_the_words_of_a_voice_into_which_earlier_ones_come(
    said: float, stt_delay: float, asked: float, latency: float, waits: bool
) -> None:
    """The second sentence is over at 3.6 s, and committed at 4.3 s, after a later one has begun."""
    sounds = (SAID[0], Sound(3.0, 2, 0.6, stt_delay), Sound(said, 1, 0.3, 1.5))
    ours = {"asked": {2: asked}, "latency": {2: latency}}
    stock = {"asked": {2: 4.2 if asked == 4.2 else 4.1}, "latency": {2: 1.0}}
    pair = compared(ours, stock, sounds=sounds, moves=(Move(4.3, "commit"),))
    assert commit_waited_for_the_last_voice(2, pair) is waits


@pytest.mark.parametrize(
    ("ends", "end", "told", "close", "held"),
    [
        ("returns", 7.0, None, 7.0, True),
        ("returns", 6.0, (6.4, 7.4), 7.0, False),
        ("hands_off", 6.0, (6.4, 7.4), 7.0, True),
        ("hands_off", 6.0, (6.4, 6.95), 7.0, True),
        ("hands_off", 6.0, (6.4, 6.8), 7.0, False),
        ("hands_off", 6.0, (6.7, 7.4), 7.0, False),
    ],
    ids=["to the end", "it was over", "told", "just told", "told before", "told later"],
)
def test_a_call_that_hands_over_holds_its_turn_until_it_is_told(
    ends: Any, end: float, told: tuple[float, float] | None, close: float, held: bool
) -> None:
    """The next agent would answer then; the session closes."""
    audio = () if told is None else (Heard(*told, "t2a t2b t2c"),)
    ours = {"latency": {2: None}, "runs": (ran(2, 2.0, end),), "audio": audio}
    job = Job(2, 0.5, policy="hold", ends=ends)
    pair = compared(ours, jobs=(job,), moves=(Move(close, "aclose"),))
    assert held_to_the_end(2, pair) is held
