from functools import partial
from pathlib import Path

import pytest
from teller import Teller

from turnfsm.livekit import TurnSession
from turnfsm.testing import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

BANK = Path(__file__).with_name("bank.yaml")
RECORDED = "This call is recorded."
TERMS = "Savings pay two percent. You may withdraw at any time. Fees are waived for a year."
HISTORY = " ".join(f"In year {n} we opened another branch in a town." for n in range(1, 13))
TRANSFER = Reply(calls=Call("transfer", {"amount": 50, "account": "12345678"}))


def play(caller: ScriptedUser, until: float, teller: Teller | None = None) -> Outcome:
    """The disclaimer is heard from 0.2 to 1.5 s."""
    model = ScriptedLLM(
        {
            "terms": TERMS,
            "everything": HISTORY,
            "my balance": Reply(calls=Call("ask_for_the_account")),
            "five six": Reply(calls=Call("read_balance", {"account": "12345678"})),
            "send fifty": TRANSFER,
        },
        on_tool={
            "ask_for_the_account": "What is your account number?",
            "read_balance": "You have 1200 euros.",
            "transfer": "The money is on its way.",
        },
        otherwise="As you like.",
    )
    stage = Stage(
        partial(TurnSession, flow=BANK, proof="off"),  # `turnfsm check bank.yaml` proves it
        user=caller,
        llm=model,
        tts=ScriptedTTS(durations={TERMS: 9.0}),
        vad=ScriptedVAD(min_silence=0.55),
        agent=lambda: teller or Teller(),
    )
    outcome = stage.run(until)
    assert outcome.errors == [], outcome.timeline()
    return outcome


def said(outcome: Outcome) -> list[str]:
    return [one.text for one in outcome.heard]


def test_the_disclaimer_is_heard_to_its_end():
    outcome = play(ScriptedUser().says("stop that please", at=0.5), 10.0)
    assert said(outcome)[0] == RECORDED, outcome.timeline()


@pytest.mark.parametrize(("words", "whole"), [("mhm", True), ("stop", False)])
def test_mhm_does_not_stop_the_teller_and_stop_does(words: str, whole: bool):
    caller = ScriptedUser().says("which terms", at=3.0)
    caller.says(words, at=8.0, duration=0.4, interims=((0.25, words),))
    outcome = play(caller, 20.0)
    assert (" ".join(said(outcome)) == f"{RECORDED} {TERMS}") is whole, outcome.timeline()


def test_a_number_that_is_dictated_in_groups_is_one_turn():
    caller = ScriptedUser().says("what is my balance", at=3.0)
    caller.says("one two three four", at=9.0).says("five six seven eight", at=12.0)
    outcome = play(caller, 26.0)
    assert "user: one two three four five six seven eight" in outcome.context
    assert said(outcome)[1:] == [
        "What is your account number?",
        "One moment, please.",
        "You have 1200 euros.",
    ], outcome.timeline()


@pytest.mark.parametrize(("answer", "sent"), [("yes please", [(50, "12345678")]), ("no", [])])
def test_money_is_sent_only_after_a_yes(answer: str, sent: list[tuple[int, str]]):
    teller = Teller()
    caller = ScriptedUser().says("send fifty", at=3.0).says(answer, at=9.0)
    outcome = play(caller, 20.0, teller)
    assert "Shall I transfer 50 euros to 12345678?" in said(outcome), outcome.timeline()
    assert teller.transfers == sent


def test_the_teller_listens_while_the_caller_talks_on():
    caller = ScriptedUser().says("I was at the station", at=3.0, duration=7.0)
    outcome = play(caller.says("and lost my card", at=10.4), 20.0)
    assert [one.text for one in outcome.backchannels] == ["Mhm."], outcome.timeline()
    assert said(outcome) == [RECORDED, "As you like."]


def test_a_caller_who_asks_to_wait_is_waited_for():
    caller = ScriptedUser().says("hold on please", at=3.0).says("where is my card", at=9.0)
    outcome = play(caller.says("I am back", at=30.0), 40.0)
    assert said(outcome) == [RECORDED, "Take your time.", "As you like."], outcome.timeline()


def test_a_caller_who_says_nothing_is_asked_and_let_go():
    outcome = play(ScriptedUser(), 60.0)
    assert said(outcome)[1:] == ["Are you still there?", "I will hang up now. Goodbye."]
    assert outcome.heard[1].start == pytest.approx(1.5 + 12.0, abs=0.3), outcome.timeline()
    assert " session  close" in outcome.timeline()


def test_a_long_story_ends_at_a_sentence():
    outcome = play(ScriptedUser().says("tell me everything", at=3.0), 40.0)
    _, story, asked, *_ = outcome.heard
    assert asked.text == "Shall I go on?", outcome.timeline()
    assert story.text.endswith("town.")
    assert 20.0 <= story.end - story.start <= 25.0
