"""Kinds of problems that random conversations have found and that are mended, a script for each."""

from __future__ import annotations

import attrs
import pytest
from differential.keys import Keys
from differential.many import judge
from differential.script import Job, Move, Script, Sound

ASKED = Sound(0.5, 0.6, 2, calls=(1,), answer=3)
BOTH = Sound(0.5, 0.6, 2, calls=(1, 2), answer=3)
WORKS = {1: Job(1.0), 2: Job(1.0)}
NOISES = (Sound(3.05, 0.8), *(Sound(at, 0.1) for at in (5.2, 6.6, 8.0)))

MENDED = {
    "too few words to interrupt are said before a reply that is ready": Script(
        "",
        (Sound(0.5, 0.3, 1, likely=False, answer=3),),
        moves=(Move(2.4, "ask"),),
        switches=frozenset({"application"}),
        detection="detector",
        detector_delay=0.2,
        min_words=2,
    ),
    "too few words to interrupt are said before a result that is ready": Script(
        "",
        (ASKED, Sound(3.0, 0.3, 1)),
        {1: Job(1.5)},
        switches=frozenset({"barge_in"}),
        min_words=2,
    ),
    "a noise comes between short words and the answer to those before them": Script(
        "",
        (
            Sound(8.7, 0.3, 1, stt_delay=1.0, answer=3, ttft=0.6),
            Sound(9.1, 0.3, 1, stt_delay=1.5, answer=6),
            Sound(10.9, 1.0),
        ),
        switches=frozenset({"noise", "slow_words"}),
        keys=Keys(pace="brisk"),
        min_words=2,
        hook=1.0,
    ),
    "a commit takes an interim transcript that was wrong": Script(
        "",
        (Sound(0.5, 0.6, 2, stt_delay=1.5, interims="revised"), Sound(8.0, 0.3, 1)),
        moves=(Move(1.5, "commit"), Move(9.0, "commit")),
        switches=frozenset({"manual"}),
        detection="manual",
    ),
    "the button is cancelled while the close commits the turn": Script(
        "",
        (Sound(0.5, 0.6, 2),),
        moves=(Move(2.9, "close"), Move(4.1, "cancel")),
        switches=frozenset({"manual", "close", "button"}),
        keys=Keys(button="push_to_talk"),
        detection="manual",
    ),
    "a noise cuts the reply to two results where the output cannot pause": Script(
        "", (BOTH, Sound(3.4, 0.6)), WORKS, switches=frozenset({"noise"}), can_pause=False
    ),
    "another noise before it is known that nobody has cut the reply to two results": Script(
        "",
        (attrs.evolve(BOTH, answer=0), Sound(3.4, 0.6), Sound(5.6, 1.0)),
        WORKS,
        switches=frozenset({"noise", "realtime"}),
        model="server",
        detection="realtime_llm",
        can_pause=False,
    ),
    "the user says mhm to a question before a tool runs": Script(
        "",
        (ASKED, Sound(6.0, 0.6, 1, answer=3, phrase="mhm")),
        WORKS,
        switches=frozenset({"confirm"}),
        keys=Keys(confirm=frozenset({1})),
    ),
    "a noise comes before the answer of a realtime model that detects turns": Script(
        "",
        (attrs.evolve(ASKED, calls=(), ttft=1.5), Sound(2.3, 0.3)),
        switches=frozenset({"noise", "realtime"}),
        model="server",
        detection="realtime_llm",
    ),
    "another noise before the wait for the words of a long one is over": Script(
        "",
        (attrs.evolve(ASKED, answer=10), Sound(6.4, 1.0), Sound(8.9, 0.3)),
        {1: Job(5.0)},
        switches=frozenset({"noise"}),
    ),
    "the application asks for a reply before a model makes several calls": Script(
        "",
        (Sound(0.5, 0.6, 2, calls=(1, 2, 3), answer=3, ttft=1.5),),
        {1: Job(0.5), 2: Job(0.5), 3: Job(0.5)},
        moves=(Move(1.6, "ask"),),
        switches=frozenset({"application"}),
    ),
    "the user speaks before a handoff that a tool has asked for": Script(
        "",
        (attrs.evolve(ASKED, answer=10), Sound(3.0, 0.6, 2)),
        {1: Job(0.5, ends="hands_off")},
        switches=frozenset({"barge_in", "handoff"}),
    ),
    "the model fails in the reply to a result": Script(
        "", (BOTH,), WORKS, switches=frozenset({"failures"}), llm_fails=frozenset({2})
    ),
    "the TTS fails in the reply to a result": Script(
        "", (BOTH,), WORKS, switches=frozenset({"failures"}), tts_fails=frozenset({2})
    ),
    "a noise ends the reply of a realtime model that detects turns": Script(
        "",
        (ASKED, Sound(2.3, 0.3)),
        {1: Job(0.05)},
        switches=frozenset({"noise", "realtime"}),
        model="server",
        detection="realtime_llm",
    ),
    "one noise after another while a reply is ready": Script(
        "", (ASKED, *NOISES), {1: Job(1.4)}, switches=frozenset({"noise"})
    ),
    "a noise cuts the reply to two results of a realtime model that detects turns": Script(
        "",
        (attrs.evolve(BOTH, answer=0), Sound(3.4, 0.6)),
        WORKS,
        switches=frozenset({"noise", "realtime"}),
        model="server",
        detection="realtime_llm",
    ),
    "a realtime model makes only calls, and their task starts late": Script(
        "",
        (attrs.evolve(ASKED, calls=(1, 2), answer=0),),
        {1: Job(0.5), 2: Job(0.5)},
        switches=frozenset({"realtime"}),
        model="server",
        detection="realtime_llm",
        hook=1.0,
        schedule=523,
    ),
    "a deferred turn is due as the user stops, and a realtime model hears no words": Script(
        "",
        (
            attrs.evolve(ASKED, answer=6, ttft=0.05),
            Sound(2.6, 0.6, 2),
            Sound(4.1, 0.9, 3),
            *(Sound(at, seconds, 1) for at, seconds in ((5.4, 0.3), (6.1, 0.6))),
            Sound(7.1, 1.2, 4, stt_delay=0.05),
        ),
        {1: Job(0.0, after=2.0, ends="nothing", policy="finish")},
        switches=frozenset({"barge_in", "policies", "realtime"}),
        model="realtime",
        hook=1.0,
        can_pause=False,
    ),
    "a speculative reply takes an earlier utterance along, and the user asks for a hold": Script(
        "",
        (
            Sound(0.5, 0.9, 3, stt_delay=1.5, interims="plain", answer=3, ttft=0.6),
            Sound(1.8, 0.6, 2, stt_delay=0.55, interims="plain", phrase="one moment"),
        ),
        switches=frozenset({"barge_in", "hold", "slow_words"}),
        settings={"preemptive_generation": {"enabled": True}},
        keys=Keys(hold=8.0),
        hook=0.05,
    ),
    "a reply tells of a call that has interrupted its own turn": Script(
        "",
        (
            Sound(3.0, 1.2, 4, likely=False, calls=(2,), answer=3, ttft=0.6),
            Sound(18.5, 0.9, 3, answer=6),
            Sound(20.3, 0.3),
            Sound(35.4, 0.9, 3, answer=6),
        ),
        {2: Job(0.5, does="interrupts")},
        switches=frozenset({"noise", "realtime", "speaking_tools"}),
        model="server",
        detection="realtime_llm",
    ),
    "the user speaks over a text that cannot be interrupted, and the STT gets silence": Script(
        "",
        (Sound(3.0, 0.9, 3, stt_delay=0.6, interims="plain", answer=3),),
        moves=(Move(3.05, "say_on"),),
        switches=frozenset({"application", "not_heard"}),
        keys=Keys(not_heard=True),
    ),
    "the agent says that it has no answer, and speculation had made a call": Script(
        "",
        (
            Sound(0.5, 0.6, 2, calls=(1,), answer=6),
            Sound(1.7, 0.3, 1, calls=(1,), answer=6, ttft=1.5),
        ),
        WORKS,
        switches=frozenset({"barge_in", "never_silent"}),
        settings={"preemptive_generation": {"enabled": True}},
        keys=Keys(never_silent=2.0),
        hook=1.0,
    ),
    "the session closes when the transcript of the last sound is due": Script(
        "",
        (Sound(0.5, 0.9, 3, interims="plain"),),
        moves=(Move(1.35, "close"),),
        switches=frozenset({"close"}),
        schedule=1,
    ),
    "a step hands over after the tool that does so has had its other result said": Script(
        "",
        (Sound(0.5, 0.9, 3, calls=(1, 2), answer=3), Sound(20.0, 0.6, 1)),
        {1: Job(0.5, does="replies", ends="hands_off"), 2: Job(0.5)},
        switches=frozenset({"handoff", "speaking_tools"}),
        schedule=1,
    ),
    "a result comes as a reply that lacks it makes a call, which returns nothing": Script(
        "",
        (ASKED, Sound(4.5, 0.6, 2, calls=(2,), answer=10)),
        {1: Job(4.0), 2: Job(0.5, ends="nothing")},
        switches=frozenset({"barge_in"}),
        settings={"preemptive_generation": {"enabled": False}},
    ),
    "the user says too few words to interrupt as the agent is about to ask for them": Script(
        "",
        (Sound(3.0, 0.3, 1),),
        switches=frozenset({"silence"}),
        keys=Keys(silence=(3.0,)),
        min_words=2,
    ),
    "the user speaks as the agent is about to ask for them, and commits the turn later": Script(
        "",
        (Sound(3.0, 0.9, 3),),
        moves=(Move(5.3, "commit"),),
        switches=frozenset({"silence", "manual"}),
        keys=Keys(silence=(3.0,)),
        detection="manual",
    ),
    "speech without a transcript and the silence after it are noticed at the same moment": Script(
        "",
        (Sound(2.0, 2.5),),
        switches=frozenset({"noise", "silence", "not_heard"}),
        keys=Keys(silence=(3.0,), not_heard=True),
    ),
    "a reply is requested while the one that delivers a result may answer what was stopped": Script(
        "",
        (ASKED, Sound(4.0, 0.6, 2, calls=(2,), answer=3, ttft=0.6)),
        {1: Job(3.9), 2: Job(2.0)},
        moves=(Move(5.35, "interrupt"), Move(5.8, "ask")),
        switches=frozenset({"barge_in", "application"}),
    ),
    "the user asks for a hold as a reply begins that delivers a result after another one": Script(
        "",
        (
            attrs.evolve(ASKED, answer=6),
            Sound(2.3, 0.6, 2, answer=3),
            Sound(8.0, 0.6, 2, calls=(2,)),
            Sound(11.0, 0.6, 2, phrase="hold on"),
        ),
        {1: Job(1.0), 2: Job(0.5)},
        obeys="never",
        switches=frozenset({"barge_in", "hold"}),
        keys=Keys(hold=8.0),
    ),
    "the user asks for a hold before they are asked whether a tool may run": Script(
        "",
        (attrs.evolve(ASKED, answer=10, ttft=1.5), Sound(2.4, 0.9, 3, phrase="bear with me")),
        WORKS,
        obeys="never",
        switches=frozenset({"barge_in", "hold", "confirm"}),
        keys=Keys(hold=8.0, confirm=frozenset({1})),
    ),
    "the user says yes as the agent is about to ask, and the turn ends after the question": Script(
        "",
        (
            Sound(0.5, 0.3, 1, calls=(1,), ttft=0.05, answer=0),
            Sound(1.85, 0.6, 2, phrase="go ahead"),
        ),
        WORKS,
        switches=frozenset({"barge_in", "confirm", "pace"}),
        keys=Keys(confirm=frozenset({1}), pace="calm"),
        detection="stt",
    ),
    "a result replaces a reply for which the user waits": Script(
        "",
        (
            Sound(3.0, 1.2, 4, calls=(1,), answer=3, ttft=0.6),
            Sound(4.3, 1.2, 4, answer=0),
            Sound(7.0, 0.6, 2, stt_delay=0.05, likely=False, answer=10, ttft=1.5),
        ),
        {1: Job(1.5, after=2.0)},
        switches=frozenset({"barge_in", "never_silent"}),
        keys=Keys(never_silent=2.0),
    ),
    "a line is typed after a turn that is committed late, and its reply fails": Script(
        "",
        (Sound(0.5, 1.2, 4, answer=6),),
        moves=(Move(2.1, "commit"), Move(3.15, "ask")),
        switches=frozenset({"application", "failures", "manual"}),
        detection="manual",
        hook=1.0,
        llm_fails=frozenset({1}),
    ),
    "a realtime model begins a reply to results as the user ends it": Script(
        "",
        (
            Sound(3.0, 1.2, 4, calls=(1,), answer=6, ttft=0.05),
            Sound(9.2, 1.2, 4, answer=3, ttft=1.5),
            Sound(11.3, 0.6, 2, answer=3),
        ),
        {1: Job(6.0)},
        switches=frozenset({"backchannels", "barge_in", "realtime"}),
        keys=Keys(backchannels=0.1),
        model="realtime",
        hook=0.05,
    ),
    "the user is back from a hold while a call holds the turn": Script(
        "",
        (
            Sound(3.0, 1.2, 2, likely=False, answer=3, ttft=1.5),
            Sound(7.2, 0.3, 1, calls=(1,), answer=0),
            Sound(10.5, 0.6, 2, answer=6, phrase="one moment"),
            Sound(12.6, 0.9, 3, answer=3, phrase="i have returned"),
            Sound(15.0, 0.9, 3, answer=10),
        ),
        {1: Job(6.0, policy="finish")},
        switches=frozenset({"barge_in", "hold", "policies"}),
        keys=Keys(hold=8.0, until=True),
        detection="detector",
        detector_delay=0.2,
        min_words=2,
    ),
    "the user says yes as a tool has a reply requested of which they hear nothing": Script(
        "",
        (
            Sound(3.0, 0.3, 1, calls=(2, 3), answer=3),
            Sound(6.7, 0.6, 2, answer=6, phrase="of course"),
        ),
        {2: Job(0.5), 3: Job(0.5, after=2.0, does="replies")},
        switches=frozenset({"confirm", "speaking_tools"}),
        keys=Keys(confirm=frozenset({2})),
    ),
    "the user speaks as one agent hands over to the next": Script(
        "",
        (
            attrs.evolve(ASKED, answer=0, ttft=0.6),
            Sound(5.9, 0.6, 2, answer=6),
            Sound(6.9, 1.2, 4, answer=3, ttft=0.05),
        ),
        {1: Job(1.5, ends="hands_off")},
        switches=frozenset({"barge_in", "handoff"}),
        detection="detector",
        detector_delay=0.4,
        settings={"preemptive_generation": {"enabled": False}},
        hook=1.0,
    ),
    "the user presses the button during the reply to two results, and says nothing": Script(
        "",
        (BOTH,),
        WORKS,
        moves=(Move(0.3, "press"), Move(1.5, "release"), Move(3.5, "press"), Move(3.8, "release")),
        switches=frozenset({"manual", "button"}),
        keys=Keys(button="turn"),
        detection="manual",
    ),
    "the application commits two sentences, and the words of the second come late": Script(
        "",
        (
            Sound(0.5, 0.3, 1, stt_delay=1.0, answer=0, ttft=1.5),
            Sound(0.9, 0.9, 3, stt_delay=1.0, answer=10),
        ),
        moves=(Move(2.2, "commit"),),
        switches=frozenset({"barge_in", "manual", "slow_words"}),
        detection="manual",
    ),
    "the user asks to wait just after a request, and the policy cancel ends its call": Script(
        "",
        (attrs.evolve(ASKED, ttft=1.5), Sound(2.7, 0.6, 2, phrase="hold on")),
        {1: Job(6.0, policy="cancel")},
        switches=frozenset({"barge_in", "hold", "policies"}),
        keys=Keys(hold=3.0),
    ),
    "a filler is due when the reply to a deferred turn gets the floor": Script(
        "",
        (
            Sound(2.3, 1.2, 4, calls=(1,), answer=3, ttft=1.5),
            Sound(8.5, 0.6, 2, calls=(2,), answer=0, ttft=1.5),
        ),
        {1: Job(6.0, policy="hold"), 2: Job(0.5)},
        obeys="never",
        switches=frozenset({"barge_in", "fillers", "policies"}),
        keys=Keys(fillers=("thinking", "tool_running")),
    ),
    "a reply to two sentences makes a call that gives nothing, and then comes a hold": Script(
        "",
        (
            Sound(0.5, 0.6, 2, answer=3),
            Sound(2.6, 0.9, 3, likely=False, calls=(1,), answer=3, ttft=0.05),
            Sound(5.0, 0.9, 3, phrase="bear with me"),
        ),
        {1: Job(0.5, ends="nothing")},
        switches=frozenset({"barge_in", "hold"}),
        keys=Keys(hold=3.0),
        hook=1.0,
    ),
    "a realtime model transcribes a turn while its hook runs, and a handoff is due": Script(
        "",
        (attrs.evolve(ASKED, answer=10), Sound(4.0, 0.9, 3, answer=3)),
        {1: Job(0.5, ends="hands_off")},
        switches=frozenset({"barge_in", "handoff", "realtime"}),
        model="realtime",
        hook=1.0,
    ),
    "a backchannel follows the question whether a tool may run": Script(
        "",
        (attrs.evolve(ASKED, answer=0), Sound(5.0, 0.6, 1, phrase="wow")),
        WORKS,
        switches=frozenset({"confirm", "overlap"}),
        keys=Keys(confirm=frozenset({1}), overlap=True),
    ),
    "the user takes back with the button what has no transcript yet": Script(
        "",
        (Sound(0.5, 0.9, 1, stt_delay=1.5),),
        moves=(Move(0.3, "press"), Move(1.8, "cancel")),
        switches=frozenset({"button", "manual", "not_heard", "slow_words"}),
        keys=Keys(button="push_to_talk", not_heard=True),
        detection="manual",
    ),
    "a backchannel while a reply with a call is ready": Script(
        "",
        (attrs.evolve(ASKED, ttft=0.6), Sound(1.7, 0.3, 2, phrase="uh huh")),
        {1: Job(0.5)},
        switches=frozenset({"barge_in", "overlap"}),
        keys=Keys(overlap=True),
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_nothing_is_found_any_more_if(name: str) -> None:
    """By any measure."""
    assert [str(finding) for finding in judge(MENDED[name]).found] == []
