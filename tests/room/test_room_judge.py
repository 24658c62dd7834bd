"""The judge of the conversation in a room: which words belong to which sound, and when they came.

A busy machine delays sound more than words; the figures are those of a run on one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from room.hold import Held, caller_records, words_ahead
from room.judge import overlaps
from room.person import Text
from room.worker import Worker
from turnfsm.runtime.testing.heard import Heard


class Ear:
    """Has heard these sounds."""

    def __init__(self, sounds: Sequence[Heard]) -> None:
        self._sounds = list(sounds)

    def sounds(self) -> list[Heard]:
        return self._sounds


class Caller:
    """Has heard these sounds and read these texts."""

    def __init__(self, sounds: Sequence[Heard], texts: Sequence[Text]) -> None:
        self.ear, self.agent_texts, self.texts = Ear(sounds), list(texts), list(texts)
        self.changes: list[Any] = []


def text(*pieces: tuple[float, str]) -> Text:
    return Text("agent", "SG", True, list(pieces))


LATE = Caller(
    [Heard(18.05, 19.29), Heard(23.33, 24.57), Heard(26.07, 28.85)],
    [
        text((17.78, "Let"), (18.1, " me look for it.")),
        text((22.93, "I"), (23.1, " will know when I have found it.")),
        text((25.74, "There"), (26.0, " it is.")),
    ],
)
PAUSED = Caller(
    [Heard(10.0, 12.0), Heard(15.0, 17.0)],
    [
        text(
            (9.98, "I can drive"), (11.5, " forward,"), (15.05, " and I can"), (16.0, " come back.")
        )
    ],
)


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (
            LATE,
            ["Let me look for it.", "I will know when I have found it.", "There it is."],
        ),
        (PAUSED, ["I can drive forward,", " and I can come back."]),
    ],
    ids=["sound that comes late", "sound that was paused"],
)
def test_words_belong_to_the_sound_that_they_were_said_with(caller: Any, said: list[str]) -> None:
    """Also where they came 0.4 s before it."""
    notes = [r["data"] for r in caller_records(caller, Held()) if r["note"] == "agent_audio"]
    assert [data["text"] for data in notes] == said


def test_the_delay_of_sound_is_measured_for_each() -> None:
    assert words_ahead(LATE) == pytest.approx([0.27, 0.4, 0.33])  # type: ignore[arg-type]
    assert words_ahead(PAUSED) == pytest.approx([0.02, 0.0])  # type: ignore[arg-type]


def test_the_judge_finds_where_state_and_sound_differ() -> None:
    """Within the slack both ways; what is longer is named with its time."""
    heard = [Heard(1.2, 3.0), Heard(6.0, 7.0)]
    assert overlaps([Heard(1.0, 2.9), Heard(5.8, 7.1)], heard, 0.3) == []
    assert overlaps([Heard(1.0, 3.5)], heard, 0.3) == [
        "speaking, not heard at 3.30 s",
        "heard, not speaking at 6.00 s",
    ]


def test_what_livekit_logs_when_a_caller_has_gone_is_no_error_of_the_worker() -> None:
    """With its traceback, which may stand in the message; any other error counts."""
    worker = Worker(process=None, port=0)  # type: ignore[arg-type]
    why = "failed to send session event\nTraceback ...\nStreamError: unable to send packet"
    worker.add(json.dumps({"level": "ERROR", "message": why, "job_id": "one"}))
    worker.add(json.dumps({"level": "ERROR", "message": "it fails", "job_id": "two"}))
    assert [error.count("it fails") for error in worker.errors] == [1]
    assert worker.errors_of("one") == []
