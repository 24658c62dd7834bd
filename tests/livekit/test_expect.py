"""The end of a turn where the flow knows what the user is asked for."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
from livekit.agents import Agent, AgentSession, function_tool, stt
from livekit.agents.voice.audio_recognition import _STTPipeline
from pydantic import Field

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import replay
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    ScriptedLLM,
    ScriptedSTT,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

TEN = "{kind: digits, length: 10}"
GROUPS = ("five five five", "one two three", "four five six seven")
GAP = 1.5


def expecting(expect: str, folder: Path) -> Any:
    """A session that expects this in the state `listening`."""
    file = folder / "asks.yaml"
    file.write_text(
        f"flow: asks\nextends: turn\nstates:\n  listening:\n    tuning: {{expect: {expect}}}\n"
    )
    return partial(TurnSession, flow=file, proof="off")


def dictation(*groups: str, gap: float = GAP) -> ScriptedUser:
    """A user who says these groups with gaps between them, from 1.0 s on."""
    user, at = ScriptedUser(), 1.0
    for group in groups:
        user.says(group, at=at)
        at = user.utterances[-1].end + gap
    return user


def play(session: Any, user: ScriptedUser, seconds: float = 30.0, **options: Any) -> Outcome:
    options.setdefault("vad", ScriptedVAD(min_silence=0.3))
    stage = Stage(session, user=user, llm=ScriptedLLM({}, otherwise="Thank you."), **options)
    outcome = stage.run(seconds)
    assert outcome.errors == [], outcome.timeline()
    if isinstance(stage.session, TurnSession):
        assert replay(stage.session.turn.journal.read(), stage.session.turn.flow) is None
    return outcome


def turns(outcome: Outcome) -> list[str]:
    """What the user has said, turn by turn."""
    said = [line for line in outcome.context if line.startswith("user: ")]
    return [line.removeprefix("user: ") for line in said]


def answered_after(outcome: Outcome, user: ScriptedUser) -> float:
    """Seconds from the end of the user's words until the agent is heard."""
    end = user.utterances[-1].end
    return next(one.start for one in outcome.heard if one.start > end) - end


def test_ten_digits_in_groups_are_one_turn(tmp_path: Path) -> None:
    user = dictation(*GROUPS)
    outcome = play(expecting(TEN, tmp_path), user)
    assert turns(outcome) == [" ".join(GROUPS)], outcome.timeline()
    assert len(outcome.heard) == 1


@pytest.mark.parametrize("session", [AgentSession, TurnSession], ids=["AgentSession", "turn"])
def test_they_are_several_turns_where_nothing_is_expected(session: Any) -> None:
    assert len(turns(play(session, dictation(*GROUPS)))) > 1


PATIENT: Any = {"endpointing": {"min_delay": 1.0, "max_delay": 3.0}}


def test_a_whole_value_is_answered_without_a_delay(tmp_path: Path) -> None:
    user = dictation(*GROUPS, gap=0.2)
    expected = play(expecting(TEN, tmp_path), user, turn_handling=PATIENT)
    stock = play(AgentSession, user, turn_handling=PATIENT)
    assert turns(expected) == turns(stock) == [" ".join(GROUPS)]
    assert answered_after(expected, user) < 0.7
    assert answered_after(stock, user) > 1.0


@pytest.mark.parametrize("words", ["yes", "No, thank you.", "ja genau", "sí, claro"])
def test_yes_and_no_are_answered_sooner(words: str, tmp_path: Path) -> None:
    user = ScriptedUser().says(words, at=1.0)
    handling: Any = {"preemptive_generation": {"enabled": False}}
    expected = play(expecting("{kind: yes_no}", tmp_path), user, turn_handling=handling)
    unknown = play(TurnSession, user, turn_handling=handling)
    assert turns(expected) == turns(unknown) == [words]
    assert answered_after(expected, user) <= answered_after(unknown, user) - 0.1


class Doubting:
    """A turn detector that never believes that a turn is over."""

    model = provider = "doubting"
    asked = 0

    def __deepcopy__(self, memo: object) -> Doubting:
        return self  # a stage copies the options

    async def supports_language(self, language: object) -> bool:
        return True

    async def unlikely_threshold(self, language: object) -> float:
        return 0.5

    async def predict_end_of_turn(self, chat_ctx: object, **options: object) -> float:
        self.asked += 1
        return 0.0


@pytest.mark.parametrize(("expect", "asked"), [("{kind: yes_no}", 0), ("{kind: open}", 1)])
def test_a_turn_detector_decides_where_the_words_do_not(
    expect: str, asked: int, tmp_path: Path
) -> None:
    user, detector = ScriptedUser().says("yes", at=1.0), Doubting()
    handling: Any = {"turn_detection": detector}
    outcome = play(expecting(expect, tmp_path), user, turn_handling=handling)
    assert (detector.asked > 0) == asked
    assert (answered_after(outcome, user) > 3.0) == asked


ACCOUNT = "{account: {asked: account number, kind: digits, length: 10}}"


def asking(sentence: str, folder: Path, user: ScriptedUser, *more: str) -> Outcome:
    """The user says hello, the agent this sentence, and the user a number, from 6 s on."""
    file = folder / "asks.yaml"
    lines = ("flow: asks", "extends: turn", f"questions: {ACCOUNT}", *more)
    file.write_text("\n".join(lines))
    user.says("hello", at=0.5)
    for number, group in enumerate(GROUPS):
        user.says(group, at=6.0 + number * 3.0)
    model = ScriptedLLM({"hello": sentence}, otherwise="Thank you.")
    session = partial(TurnSession, flow=file, proof="off")
    outcome = Stage(session, user=user, llm=model, vad=ScriptedVAD(min_silence=0.3)).run(30.0)
    assert outcome.errors == [], outcome.timeline()
    return outcome


@pytest.mark.parametrize(
    ("sentence", "waits"),
    [
        ("Welcome. What is your account number?", True),
        ("Your ACCOUNT-NUMBER, please.", True),
        ("I have your account number. What is your name?", False),
        ("How can I help?", False),
    ],
)
def test_the_last_sentence_of_the_agent_says_what_is_expected(
    sentence: str, waits: bool, tmp_path: Path
) -> None:
    outcome = asking(sentence, tmp_path, ScriptedUser())
    assert (turns(outcome) == ["hello", " ".join(GROUPS)]) is waits, outcome.timeline()


def test_a_question_goes_before_the_state_and_a_text_of_the_flow_is_none(tmp_path: Path) -> None:
    """The agent asks whether the user is still there, and their number is still one turn."""
    outcome = asking(
        "What is your account number?",
        tmp_path,
        ScriptedUser(),
        "silence: {after: 1.5, say: Are you still there?}",
        "states: {listening: {tuning: {expect: {kind: yes_no}}}}",
    )
    assert outcome.heard_saying("Are you still there?") is not None
    assert turns(outcome) == ["hello", " ".join(GROUPS)], outcome.timeline()


def test_a_question_that_was_not_heard_asks_nothing(tmp_path: Path) -> None:
    """The user interrupts the agent before it has come to the question."""
    user = ScriptedUser().says("stop it please", at=2.8)
    outcome = asking(f"{'Well, this is long. ' * 8}What is your account number?", tmp_path, user)
    assert " ".join(GROUPS) not in turns(outcome), outcome.timeline()


def test_who_gives_up_is_answered_after_the_wait(tmp_path: Path) -> None:
    user = dictation(*GROUPS[:2])
    wait = "{kind: digits, length: 10, wait: 6.0}"
    outcome = play(expecting(wait, tmp_path), user)
    assert turns(outcome) == [" ".join(GROUPS[:2])]
    assert answered_after(outcome, user) == pytest.approx(6.5, abs=0.3)


def test_other_words_are_answered_as_ever(tmp_path: Path) -> None:
    user = ScriptedUser().says("what do you need it for", at=1.0)
    expected = play(expecting(TEN, tmp_path), user)
    assert answered_after(expected, user) == answered_after(play(TurnSession, user), user)


def test_a_noise_between_two_groups_is_no_end(tmp_path: Path) -> None:
    for lasts in (0.2, 0.8):
        user = ScriptedUser()
        for n, group in enumerate(GROUPS):
            user.says(group, at=1.0 + 3.5 * n)
            if n < 2:
                user.makes_noise(at=1.0 + 3.5 * n + 2.0, duration=lasts)
        outcome = play(expecting(TEN, tmp_path), user)
        assert turns(outcome) == [" ".join(GROUPS)], outcome.timeline()


def test_noises_do_not_prolong_the_wait_forever(tmp_path: Path) -> None:
    user = dictation(GROUPS[0])
    for n in range(40):
        user.makes_noise(at=3.0 + n, duration=0.2)
    outcome = play(expecting(TEN, tmp_path), user, 45.0)
    assert turns(outcome) == [GROUPS[0]]
    assert outcome.heard[0].start < 12.0, outcome.timeline()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("delay", [0.1, 0.9, 1.4])
@pytest.mark.parametrize(("detection", "hears"), [("vad", True), ("stt", True), ("stt", False)])
def test_no_group_is_cut_off_however_the_session_hears(
    delay: float, detection: Any, hears: bool, tmp_path: Path
) -> None:
    user, at = ScriptedUser(), 1.0
    for group in GROUPS:
        lasts = 0.4 * len(group.split())
        shown = tuple(
            (0.4 * n + 0.5, " ".join(group.split()[: n + 1])) for n in range(len(group.split()))
        )
        user.says(group, at=at, duration=lasts, stt_delay=delay, interims=shown)
        at += lasts + GAP
    outcome = play(
        expecting(TEN, tmp_path),
        user,
        stt=ScriptedSTT(user, ends_turns=detection == "stt"),
        vad=ScriptedVAD(min_silence=0.3) if hears else None,
        turn_handling={"turn_detection": detection},
    )
    assert turns(outcome) == [" ".join(GROUPS)], outcome.timeline()


def test_the_application_may_commit_before_the_value_is_whole(tmp_path: Path) -> None:
    user = dictation(*GROUPS[:2])
    stage = Stage(expecting(TEN, tmp_path), user=user, llm=ScriptedLLM({}, otherwise="Thank you."))
    at = user.utterances[-1].end + 1.0
    stage.at(at, lambda stage: stage.session.commit_user_turn(transcript_timeout=0.1))
    outcome = stage.run(20.0)
    assert turns(outcome) == [" ".join(GROUPS[:2])]
    assert outcome.heard[0].start < at + 1.0


def test_a_session_that_closes_keeps_a_part_of_a_value(tmp_path: Path) -> None:
    outcome = play(expecting(TEN, tmp_path), dictation(GROUPS[0]), 4.0)
    assert [item.text_content for item in outcome.history.messages()] == [GROUPS[0]]
    assert outcome.orphans == ()


class Clerk(Agent):
    """Asks for a number of ten digits when the caller wants a transfer."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def ask_for_the_number(self) -> str:
        """Ask for the number of the account."""
        self.session.turn.expect("digits", length=10)  # type: ignore[attr-defined]
        return "Ask for the number."


def test_one_question_expects_a_number() -> None:
    """The number is one turn; what follows is heard as ever."""
    user = ScriptedUser().says("a transfer please", at=1.0)
    for n, group in enumerate(GROUPS):
        user.says(group, at=6.0 + 3.0 * n)
    for n, group in enumerate(GROUPS[:2]):
        user.says(group, at=20.0 + 4.0 * n)
    model = ScriptedLLM(
        {"a transfer": Reply(calls=Call("ask_for_the_number"))},
        on_tool={"ask_for_the_number": "Which number?"},
        otherwise="Thank you.",
    )
    stage = Stage(TurnSession, user=user, llm=model, agent=Clerk, vad=ScriptedVAD(min_silence=0.3))
    outcome = stage.run(35.0)
    assert outcome.errors == [], outcome.timeline()
    assert turns(outcome) == ["a transfer please", " ".join(GROUPS), *GROUPS[:2]]
    noted = stage.session.turn.journal.notes("expected")
    whole = "digits (length 10, wait 4.0)"
    assert [note.data["what"] for note in noted] == [whole, None]


def ask(kind: Any, at: float = 0.5, **options: Any) -> Any:
    """An action of a stage: a question that asks for this."""
    return at, lambda stage: stage.session.turn.expect(kind, **options)


def test_a_question_comes_before_what_the_state_expects(tmp_path: Path) -> None:
    user = dictation(*GROUPS[:2])
    model = ScriptedLLM({}, otherwise="Thank you.")
    stage = Stage(expecting("{kind: digits, length: 20}", tmp_path), user=user, llm=model)
    stage.at(*ask("digits", length=6))
    assert turns(stage.run(6.0)) == [" ".join(GROUPS[:2])]


def test_a_question_counts_until_somebody_is_answered() -> None:
    """The user gives up, and goes on before the agent is heard: it is still the same answer."""
    user = ScriptedUser().says(GROUPS[0], at=1.0).says(GROUPS[1], at=4.6).says(GROUPS[2], at=7.4)
    model = ScriptedLLM({}, otherwise=Reply("Thank you.", ttft=1.0))
    stage = Stage(TurnSession, user=user, llm=model)
    stage.at(*ask("digits", length=10, wait=1.5))
    outcome = stage.run(20.0)
    assert " ".join(turns(outcome)) == " ".join(GROUPS), outcome.timeline()
    assert len(turns(outcome)) > 1
    assert answered_after(outcome, user) < 2.0


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("digts", {}, "did you mean 'digits'"),
        ("digits", {}, "needs a length; add 'length: 10'"),
        ("yes_no", {"wait": -1.0}, "wait is -1 s; write seconds above 0"),
    ],
)
@pytest.mark.usefixtures("virtual_time")
async def test_a_question_that_makes_no_sense_is_refused(
    kind: Any, options: Any, said: str
) -> None:
    with pytest.raises(TurnfsmError, match=said):
        TurnSession().turn.expect(kind, **options)


class AskedSTT(ScriptedSTT):
    """It gives its final transcript only when it is asked for it."""

    def __init__(self, user: ScriptedUser) -> None:
        super().__init__(user)
        self._capabilities = stt.STTCapabilities(
            streaming=True, interim_results=True, manual_flush=True
        )

    def stream(self, **options: Any) -> stt.RecognizeStream:
        stream: Any = super().stream(**options)
        ready: list[stt.SpeechEvent] = []
        stream._send = ready.append

        def flush() -> None:
            for event in ready:
                stream._event_ch.send_nowait(event)
            ready.clear()

        stream.flush = flush
        return stream  # type: ignore[no-any-return]


@pytest.mark.skipif(not hasattr(_STTPipeline, "flush"), reason="this LiveKit asks no STT")
def test_an_stt_that_must_be_asked_for_words_is_asked_in_each_pause(tmp_path: Path) -> None:
    user, at = ScriptedUser(), 1.0
    for group in GROUPS:
        user.says(group, at=at, stt_delay=0.1)
        at = user.utterances[-1].end + GAP
    outcome = play(expecting(TEN, tmp_path), user, stt=AskedSTT(user))
    assert turns(outcome) == [" ".join(GROUPS)], outcome.timeline()
    assert answered_after(outcome, user) < 1.5


class Bank(Agent):
    """Has a tool with parameters, and one whose schema is given as it is."""

    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def transfer(
        self, account: Annotated[str, Field(pattern=r"^\d{10}$")], purpose: str
    ) -> str:
        """Transfer money."""
        return f"{account} {purpose}"

    @function_tool(
        raw_schema={
            "name": "confirm",
            "parameters": {"type": "object", "properties": {"sure": {"type": "boolean"}}},
        }
    )
    async def confirm(self, raw_arguments: dict[str, object]) -> str:
        """Confirm."""
        return str(raw_arguments)


def ask_for(tool: str, parameter: str, user: ScriptedUser) -> Outcome:
    model = ScriptedLLM({}, otherwise="Thank you.")
    stage = Stage(TurnSession, user=user, llm=model, agent=Bank, turn_handling=PATIENT)
    stage.at(0.5, lambda stage: stage.session.turn.expect_parameter(tool, parameter))
    return stage.run(20.0)


def test_a_parameter_of_a_tool_says_what_is_asked_for() -> None:
    user = dictation(*GROUPS)
    assert turns(ask_for("transfer", "account", user)) == [" ".join(GROUPS)]
    user = ScriptedUser().says("yes", at=1.0)
    assert answered_after(ask_for("confirm", "sure", user), user) < 0.8


@pytest.mark.parametrize(
    ("tool", "parameter", "said"),
    [
        ("trnsfer", "account", "the active agent has no tool 'trnsfer'"),
        ("transfer", "acount", "no parameter 'acount'; did you mean 'account'"),
        ("transfer", "purpose", "the schema of 'purpose' does not say how long"),
    ],
)
def test_a_parameter_that_says_nothing_is_refused(tool: str, parameter: str, said: str) -> None:
    with pytest.raises(TurnfsmError, match=said):
        ask_for(tool, parameter, ScriptedUser())
