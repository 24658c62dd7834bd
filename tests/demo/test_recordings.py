"""The recorded human speech, its notice and the script that uses it."""

import re
import wave
from importlib.resources import files
from pathlib import Path

from turnfsm.runtime.demo.script import CONVERSATION
from turnfsm.runtime.demo.speech import RATE, recording

RECORDINGS = Path(str(files("turnfsm.runtime.demo").joinpath("recordings")))
ROW = re.compile(r"^(\w+)\.wav\s+(test/data/\S+)\s+(\S.*)$", re.MULTILINE)


def noticed() -> dict[str, str]:
    """Name and transcript of each recording that the NOTICE lists."""
    return {row[1]: row[3] for row in ROW.finditer((RECORDINGS / "NOTICE").read_text())}


def test_notice_lists_every_recording_and_nothing_else() -> None:
    """A recording without its source and licence would be nobody's to ship."""
    assert set(noticed()) == {path.stem for path in RECORDINGS.glob("*.wav")}
    assert "Redistribution and use in source and binary forms" in (
        (RECORDINGS / "NOTICE").read_text()
    )


def test_script_says_what_the_notice_transcribes() -> None:
    """Each recording is spoken in the conversation, and its line is its transcript."""
    assert {line.recorded: line.text for line in CONVERSATION if line.recorded} == noticed()


def test_recordings_are_what_the_microphone_expects() -> None:
    """16 kHz, 16 bit, mono, and together at most 1 MB."""
    for path in RECORDINGS.glob("*.wav"):
        with wave.open(str(path)) as clip:
            assert (clip.getframerate(), clip.getsampwidth(), clip.getnchannels()) == (RATE, 2, 1)
        assert len(recording(path.stem)) > RATE
    assert sum(path.stat().st_size for path in RECORDINGS.glob("*.wav")) <= 1_000_000
