"""What the measures of conversations on both sessions take for right."""

from __future__ import annotations

import attrs
import pytest
from differential.keys import Keys
from differential.many import findings
from differential.play import play
from differential.script import Job, Move, Script, Sound

from turnfsm.livekit import TurnSession

SAYS = Script(
    "", (Sound(0.5, 0.9, 3),), moves=(Move(1.7, "say"),), switches=frozenset({"application"})
)
TWO_RESULTS = Sound(0.5, 0.6, 2, calls=(1, 2), answer=3)

RIGHT = {
    "a call that an earlier sentence has asked for is refused, as nobody has said yes": Script(
        "",
        (
            Sound(3.0, 1.2, 4, likely=False, calls=(2,), answer=0, ttft=0.6),
            Sound(8.45, 0.6, 2, answer=3),
            Sound(10.55, 0.6, 2, answer=3, phrase="hold on"),
        ),
        {2: Job(0.5)},
        switches=frozenset({"barge_in", "confirm", "failures", "hold"}),
        hook=1.0,
        llm_fails=frozenset({1}),
        keys=Keys(hold=3.0, confirm=frozenset({2})),
    ),
    "the user says yes, and shows that they listen": Script(
        "",
        (
            Sound(3.0, 0.3, 1, calls=(1,), answer=0),
            Sound(7.4, 0.3, 1, phrase="definitely"),
            Sound(7.8, 0.3, 1, stt_delay=0.35, phrase="mhm"),
        ),
        {1: Job(6.0)},
        switches=frozenset({"barge_in", "confirm", "overlap"}),
        keys=Keys(confirm=frozenset({1}), overlap=True),
    ),
    "the user shows that they listen while a tool runs": Script(
        "",
        (attrs.evolve(TWO_RESULTS, answer=0), Sound(4.0, 0.3, 1, phrase="mhm")),
        {1: Job(6.0), 2: Job(0.5)},
        switches=frozenset({"barge_in", "overlap"}),
        keys=Keys(overlap=True),
    ),
    "each noise ends the reply that a model which detects turns was asked for": Script(
        "",
        (
            Sound(0.5, 0.6, 2, answer=3, ttft=0.6),
            *(
                Sound(at, length)
                for at, length in ((2.0, 1.0), (4.5, 1.5), (9.0, 0.3), (12.3, 1.0))
            ),
        ),
        switches=frozenset({"noise", "realtime"}),
        model="server",
        detection="realtime_llm",
    ),
    "a detector ends the turn of the user while a text of the application waits": Script(
        "",
        (Sound(3.0, 0.3, 1, stt_delay=0.6, likely=False, answer=3, ttft=1.5),),
        moves=(Move(5.35, "say"),),
        switches=frozenset({"application"}),
        settings={"preemptive_generation": {"enabled": True}},
        detection="detector",
        detector_delay=0.05,
    ),
    "a detector ends a turn of too few words while the agent speaks": Script(
        "",
        (Sound(3.0, 0.3, 1, likely=False, answer=3, phrase="wow"),),
        moves=(Move(5.1, "run"),),
        switches=frozenset({"application", "overlap"}),
        detection="detector",
        detector_delay=0.4,
        keys=Keys(overlap=True),
        min_words=2,
    ),
    "a noise delays the end of a turn, and so its hook": Script(
        "",
        (
            Sound(0.5, 0.3, 1, calls=(4,), answer=6),
            Sound(1.7, 0.6, 2, calls=(3,), answer=10),
            Sound(2.4, 1.0),
            Sound(4.9, 0.3),
        ),
        {3: Job(1.5), 4: Job(3.0, after=0.5)},
        switches=frozenset({"barge_in", "noise"}),
        settings={"preemptive_generation": {"enabled": True}},
        detection="stt",
        hook=1.0,
        can_pause=False,
    ),
    "the transcript of the user comes just before the application speaks": attrs.evolve(
        SAYS, moves=(Move(1.75, "say"),)
    ),
    "the transcript of the user comes as the application speaks": SAYS,
    "the transcript of the user comes just after the application speaks": attrs.evolve(
        SAYS, moves=(Move(1.65, "say"),)
    ),
    "two sentences are one turn, and the result of its call is the answer to both": Script(
        "",
        (
            Sound(0.5, 0.6, 2),
            Sound(1.2, 0.6, 2, calls=(1,), answer=3, ttft=1.5),
            Sound(2.9, 0.6, 2, phrase="hold on"),
        ),
        {1: Job(1.0)},
        switches=frozenset({"barge_in", "hold"}),
        keys=Keys(hold=3.0),
    ),
    "two replies with the results fail, and the model has left them out of the first": Script(
        "",
        (TWO_RESULTS, Sound(3.1, 0.6, 2, answer=6)),
        {1: Job(2.0), 2: Job(2.0)},
        switches=frozenset({"barge_in", "failures"}),
        obeys="never",
        tts_fails=frozenset({3}),
        llm_fails=frozenset({4}),
    ),
    "a noise comes before each of two answers": Script(
        "",
        (
            Sound(0.5, 0.6, 2, answer=6, ttft=1.5),
            Sound(1.95, 1.0),
            Sound(4.3, 0.6, 2, answer=6, ttft=1.5),
            Sound(5.7, 1.0),
        ),
        switches=frozenset({"barge_in", "noise"}),
    ),
    "a handoff waits for a tool, and nobody may speak meanwhile": Script(
        "",
        (Sound(0.5, 0.6, 2, calls=(1,), answer=3), Sound(4.0, 0.6, 2)),
        {1: Job(8.0)},
        moves=(Move(3.0, "hand_over"),),
        switches=frozenset({"barge_in", "handoff", "never_silent"}),
        keys=Keys(never_silent=2.0),
    ),
    "noises come while a turn detector expects more": Script(
        "",
        (Sound(0.5, 0.6, 2, likely=False), Sound(2.0, 0.1), Sound(4.5, 1.0), Sound(7.5, 0.3)),
        switches=frozenset({"noise"}),
        detection="detector",
        detector_delay=0.2,
    ),
    "a realtime model answers by itself before it is known whether a handoff stands": Script(
        "",
        (Sound(0.5, 0.6, 2, calls=(1,), answer=6), Sound(2.6, 0.6, 2)),
        {1: Job(0.5, ends="hands_off")},
        switches=frozenset({"barge_in", "realtime", "handoff"}),
        model="server",
        detection="realtime_llm",
    ),
    "a reply goes on before the time for the words of a noise is over": Script(
        "",
        (
            Sound(0.5, 0.3, 1, calls=(1,), answer=0),
            Sound(2.3, 0.6, 2, answer=14),
            *(Sound(at, seconds) for at, seconds in ((6.9, 2.5), (10.9, 0.3), (11.6, 1.0))),
        ),
        {1: Job(6.0)},
        switches=frozenset({"barge_in", "noise"}),
    ),
    "nobody hears the reply to a call, because the user asks for a hold": Script(
        "",
        (
            Sound(0.5, 0.6, 2, calls=(1,), answer=6, ttft=1.5),
            Sound(2.9, 0.6, 2, phrase="one moment"),
        ),
        {1: Job(6.0)},
        switches=frozenset({"barge_in", "hold"}),
        keys=Keys(hold=3.0),
    ),
    "a realtime model hears the end of each of two noises later than a VAD": Script(
        "",
        (Sound(0.5, 0.6, 2, calls=(1,), answer=3), Sound(5.0, 1.5), Sound(6.9, 0.3)),
        {1: Job(3.0)},
        switches=frozenset({"noise", "realtime"}),
        model="server",
        detection="realtime_llm",
    ),
    "words that come too late for their commit are said with a yes": Script(
        "",
        (
            Sound(0.5, 1.2, 4, stt_delay=1.5, interims="revised", calls=(1,), answer=0),
            Sound(5.0, 0.6, 2, stt_delay=0.05, phrase="yes please"),
        ),
        {1: Job(0.5)},
        moves=(Move(2.1, "commit"), Move(6.0, "commit")),
        switches=frozenset({"manual", "confirm"}),
        keys=Keys(confirm=frozenset({1}), confirm_wait=6.0),
        detection="manual",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_nothing_is_found_if(name: str) -> None:
    """By any measure."""
    assert [str(finding) for finding in findings(play(RIGHT[name], TurnSession))] == []


def test_what_the_application_says_is_due_if_nobody_interrupts_it() -> None:
    """Its own moment counts as no interruption."""
    played = play(attrs.evolve(SAYS, moves=(Move(8.0, "say"),)), TurnSession)
    assert findings(played) == ()
    heard = [one for one in played.outcome.heard if not one.text.startswith("y1")]
    unsaid = attrs.evolve(played, outcome=attrs.evolve(played.outcome, heard=heard))
    assert "silence" in {finding.kind for finding in findings(unsaid)}
