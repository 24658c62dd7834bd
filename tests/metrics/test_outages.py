"""An outage is named by every command that reads the journal, and by the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import tts
from scripted_tool import tool

from turnfsm import write_journal
from turnfsm.livekit import TurnSession
from turnfsm.metrics import measure
from turnfsm.runtime.cli import main
from turnfsm.testing import (
    Reply,
    ScriptedLLM,
    ScriptedRealtime,
    ScriptedSTT,
    ScriptedTTS,
    ScriptedUser,
    ScriptedVAD,
    Stage,
)

SECONDS = 20.0
DOWN = "failed (APIConnectionError)"


def caller(stt_delay: float | None = 0.3) -> ScriptedUser:
    """Somebody who asks three times."""
    user = ScriptedUser()
    user.says("what is the weather", at=1.0, duration=1.5, stt_delay=stt_delay)
    user.says("is anybody there", at=6.0, duration=1.5, stt_delay=stt_delay)
    return user.says("good bye then", at=12.0, duration=1.2, stt_delay=stt_delay)


def stage(user: ScriptedUser, **parts: Any) -> Stage:
    """A session with that caller."""
    parts = {"llm": ScriptedLLM({"weather": "It rains."})} | parts
    return Stage(TurnSession, user=user, **parts)


class Told:
    """What the commands print of a conversation, and what was logged."""

    def __init__(self, played: Stage, path: Path, capsys: Any, caplog: Any) -> None:
        with caplog.at_level(logging.INFO, "turnfsm.turn"):
            played.run(SECONDS)
        self.log = [r.getMessage() for r in caplog.records if r.name == "turnfsm.turn"]
        self.journal = played.session.turn.journal.read()  # type: ignore[attr-defined]
        write_journal(path, self.journal)
        capsys.readouterr()
        self._path, self._capsys = path, capsys

    def by(self, command: str) -> str:
        """What the command prints."""
        with pytest.raises(SystemExit):
            main([command, str(self._path)])
        printed: str = self._capsys.readouterr().out
        return printed

    @property
    def why(self) -> str:
        return self.by("why")


@pytest.fixture
def told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> Callable[[Stage], Told]:
    """Play a stage, and read what is told of it."""
    return lambda played: Told(played, tmp_path / "journal.jsonl", capsys, caplog)


Play = Callable[[Stage], Told]


def test_an_stt_that_cannot_be_reached(told: Play) -> None:
    """Nobody is answered for 20 s. LiveKit gives the session up in the end."""
    user = caller()
    call = told(stage(user, stt=ScriptedSTT(user, down=True)))
    assert "0.00 s  19.70 s of silence: stt\n" in call.why
    said = f"the speech before it has no transcript; the STT {DOWN}, 6 times, last at 6.00 s"
    assert f"2.75 to 6.05 s  stt: {said}\n" in call.why
    assert call.why.endswith(f"19.70 s  the session closed: error, the STT {DOWN}\n")
    report = call.by("report")
    assert f"the STT {DOWN}, given up" in report
    assert "speech of at least 1 s has no transcript" in report
    audit = call.by("audit")
    assert f"the STT {DOWN} and was given up, 4 times until 19.70 s\n" in audit
    assert "3 utterances from 1.05 to 13.45 s have no transcript\n" in audit
    assert f"the session closed: error, the STT {DOWN}\n" in audit
    assert call.log[0] == f"the STT {DOWN} and was given up"
    assert "no transcript of the speech from 1.05 to 2.75 s" in call.log
    assert call.log[-1] == f"the session closed: error, the STT {DOWN}; turns: none"


def test_an_stt_that_gives_nothing(told: Play) -> None:
    """It reports no error: the voices without a transcript are all that is known."""
    call = told(stage(caller(stt_delay=None)))
    assert "0.00 s  22.00 s of silence: stt\n" in call.why
    said = "the user has been speaking since 1.05 s, and no transcript comes\n"
    assert f"1.05 to 2.75 s  stt: {said}" in call.why
    assert "stt        1  22.00" in call.by("report")
    assert "3 utterances from 1.05 to 13.45 s have no transcript\n" in call.by("audit")
    assert call.log[0] == "no transcript of the speech from 1.05 to 2.75 s"
    assert call.log[-1] == "the session closed: user_initiated; turns: none"


def test_a_tts_that_cannot_be_reached(told: Play) -> None:
    """Each reply is given up after four attempts, and its turn is dropped."""
    call = told(stage(caller(), tts=ScriptedTTS(down=True)))
    assert "2.75 s  3.30 s of silence: tts\n" in call.why
    said = f"the first text came at 3.00 s, no audio has come; the TTS {DOWN}, 3 times"
    assert f"tts: {said}, last at 5.50 s\n" in call.why
    lost = f"tts: the TTS {DOWN} at 18.30 s and was given up: the reply was lost\n"
    assert f"18.30 to 22.00 s  {lost}" in call.why
    assert "no reply was requested" not in call.why
    report = call.by("report")
    assert "dropped      3" in report
    assert f"1     dropped         -  the TTS {DOWN}" in report
    audit = call.by("audit")
    assert f"the TTS {DOWN} and was given up, 3 times until 18.30 s\n" in audit
    assert f"7.60 s  -  turn 1 was dropped: the TTS {DOWN}\n" in audit
    assert f"turn 1 dropped: the TTS {DOWN}" in call.log
    assert call.log[-1] == "the session closed: user_initiated; turns: 3 dropped"


def test_an_llm_that_cannot_be_reached(told: Play) -> None:
    """No turn was replied to."""
    call = told(stage(caller(), llm=ScriptedLLM(down=True)))
    assert "2.75 s  3.30 s of silence: llm\n" in call.why
    assert f"llm: the LLM {DOWN} at 17.60 s and was given up: the reply was lost\n" in call.why
    assert "dropped      3" in call.by("report")
    assert f"turn 1 was dropped: the LLM {DOWN}\n" in call.by("audit")
    assert [line for line in call.log if "replied" in line] == []
    assert f"turn 1 dropped: the LLM {DOWN}" in call.log


def test_an_stt_that_is_slow(told: Play) -> None:
    """It takes 6 s. Endpointing is not to blame."""
    user = ScriptedUser().says("what is the weather", at=1.0, duration=1.5, stt_delay=6.0)
    call = told(stage(user))
    assert "2.75 s  6.15 s of silence: stt\n" in call.why
    said = "the transcript of the speech that ended at 2.75 s came at 8.50 s\n"
    assert f"2.75 to 8.50 s  stt: {said}" in call.why
    assert "endpointing" not in call.why
    report = call.by("report")
    assert "turn  outcome  response   stt   llm   tts\n" in report
    assert "1     replied      6.15  5.75  0.20  0.20\n" in report
    assert "0 findings" in call.by("audit")


def test_a_realtime_model_that_loses_its_connection(told: Play) -> None:
    """LiveKit closes the session; an error from which it recovers does not."""
    user = ScriptedUser()
    model = ScriptedRealtime(user, ScriptedLLM(), ScriptedTTS())
    played = stage(user, llm=model)
    played.at(3.0, lambda s: model.fail(recoverable=True))
    played.at(6.0, lambda s: model.fail())
    call = told(played)
    failed = "the realtime model failed (APIConnectionError)"
    assert f"{failed}, tried again" in call.by("report")
    assert f"{failed} and was given up\n" in call.by("audit")
    assert call.why.endswith(f"6.00 s  the session closed: error, {failed}\n")
    assert call.log == [
        f"{failed} and was given up",
        f"the session closed: error, {failed}; turns: none",
    ]


def test_a_vad_that_fails(told: Play) -> None:
    """LiveKit logs it, and hears no more voice."""
    call = told(stage(caller(), vad=ScriptedVAD(fails_at=5.0)))
    assert "vad: the VAD failed (RuntimeError) at 5." in call.why
    assert "the VAD failed (RuntimeError) and was given up\n" in call.by("audit")


def test_a_line_that_carries_no_audio(told: Play) -> None:
    """Not even silence comes, although the microphone is on."""
    user = ScriptedUser().drops_out(at=3.0, duration=9.0).says("are you there", at=13.0)
    call = told(stage(user))
    assert "no_audio: no audio of the user has come since 3.0" in call.why
    assert "the user's audio stopped" in call.by("report")
    assert call.log[:2] == ["no audio of the user since 3.00 s", "audio of the user arrives again"]
    assert "0 findings" in call.by("audit")  # somebody may have muted themselves


def test_a_muted_microphone_is_no_outage(told: Play) -> None:
    """The application has turned it off."""
    played = stage(ScriptedUser())
    played.at(2.0, lambda s: s.session.input.set_audio_enabled(False))
    played.at(15.0, lambda s: s.session.input.set_audio_enabled(True))
    assert told(played).log == ["the session closed: user_initiated; turns: none"]


def test_a_component_that_takes_over(told: Play) -> None:
    """LiveKit's fallback adapter gives a TTS up; the caller hears the other one."""
    first, second = ScriptedTTS(down=True), ScriptedTTS()
    both: Any = tts.FallbackAdapter([first, second], max_retry_per_tts=0)
    both.pcm, both.text = second.pcm, second.text
    user = ScriptedUser().says("what is the weather", at=1.0)
    call = told(stage(user, tts=both))
    assert "replied      1" in call.by("report")
    assert f"{first.label} was replaced by another one" in call.by("report")
    assert f"{first.label} is replaced by another one" in call.log


def test_a_noise_is_no_outage(told: Play) -> None:
    """A cough has no transcript, and needs none."""
    user = ScriptedUser().makes_noise(at=3.0, duration=0.4)
    call = told(stage(user))
    assert (
        "nothing_asked: no reply was requested: the speech before it got no transcript" in call.why
    )
    assert call.log == ["the session closed: user_initiated; turns: none"]
    assert "0 findings" in call.by("audit")


def test_a_component_that_recovers_is_not_blamed_any_more(told: Play) -> None:
    """Later silences have other causes."""
    user, voice = caller(), ScriptedTTS(down=True)
    played = stage(user, tts=voice)
    played.at(8.1, lambda s: setattr(voice, "down", False))
    call = told(played)
    assert call.log[-1] == "the session closed: user_initiated; turns: 1 dropped, 2 replied"
    last = [line for line in call.why.splitlines() if "of silence" in line][-1]
    assert last.endswith("nothing_asked")


def test_a_journal_that_was_cut_off_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session that closes says so last; without that its worker has died, or it still runs."""
    import attrs

    played = stage(caller())
    played.run(SECONDS)
    journal = played.session.turn.journal.read()  # type: ignore[attr-defined]
    assert journal.notes[-1].kind == "closed"
    assert journal.records[-1] is journal.notes[-1]
    write_journal(tmp_path / "cut.jsonl", attrs.evolve(journal, records=journal.records[:-1]))
    with pytest.raises(SystemExit):
        main(["why", str(tmp_path / "cut.jsonl")])
    assert "the journal ends here, and the session has not closed" in capsys.readouterr().out


def test_the_parts_of_a_response_are_all_of_it() -> None:
    """With a tool that is waited for, and a hook."""
    import asyncio

    from livekit.agents import Agent

    from turnfsm.testing import Call

    look_up = tool("look_up", "rain", seconds=2.0)

    class Thinks(Agent):
        async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
            await asyncio.sleep(0.5)

    model = ScriptedLLM(
        {"weather": Reply(calls=Call("look_up"), ttft=0.4)}, {"look_up": Reply("Rain.", ttft=0.7)}
    )
    user = ScriptedUser().says("what is the weather", at=1.0, stt_delay=0.4)
    played = Stage(
        TurnSession,
        user=user,
        llm=model,
        agent=lambda: Thinks(instructions="Think.", tools=[look_up]),
        tts=ScriptedTTS(latency=0.3),
        turn_handling={"preemptive_generation": {"enabled": False}},
    )
    played.run(12.0)
    figures = measure(played.session.turn.journal.read())  # type: ignore[attr-defined]
    [(turn, response)] = figures.turn_ends
    assert (turn.outcome, turn.number) == ("replied", 1)
    assert response is not None
    parts = dict(response.parts)
    assert sum(parts.values()) == pytest.approx(response.seconds)
    wanted = {"application": 0.5, "llm": 1.1, "tool_running": 2.0, "tts": 0.3}
    assert {part: parts[part] for part in wanted} == pytest.approx(wanted, abs=0.06)
    assert parts["stt"] + parts["endpointing"] == pytest.approx(0.25, abs=0.06)
