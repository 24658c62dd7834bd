"""Interim transcripts: which words of an utterance are reported while it grows."""

import numpy as np
import pytest
from attrs import define, field

from turnfsm.runtime.demo.script import IGNORED, SOUNDS
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.stt import Interims, MoonshineSTT
from turnfsm.runtime.testing.clock import run


@define
class Recogniser:
    """Gives these transcripts, one after the other."""

    texts: list[str]
    lengths: list[int] = field(factory=list)

    async def transcribe(self, pcm: PCM, rate: int) -> str:
        self.lengths.append(len(pcm))
        return self.texts[min(len(self.lengths), len(self.texts)) - 1]


def reported(*texts: str, ignore: tuple[str, ...] = ()) -> list[str]:
    """The interim transcripts of an utterance that is transcribed like this while it grows."""

    async def main() -> list[str]:
        model = MoonshineSTT(Recogniser([*texts]), ignore=ignore)  # type: ignore[arg-type]
        interims = Interims(model)
        return [await interims.heard(np.zeros(n, np.int16), RATE) for n in range(len(texts))]

    return [text for text in run(main()) if text]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Uh,", "Ah,", "Oh,", "Oh,", "Oh, I, I,", "Oh, I say,", "Oh, I see."], ["Oh,", "Oh, I"]),
        (["Stop.", "Stop! Please.", "Stop, please."], ["Stop!", "Stop, please."]),
        (["Stop", "Stop", "Stop"], ["Stop"]),
        (["It is", ""], []),
    ],
)
def test_words_count_once_two_transcripts_agree_on_them(
    texts: list[str], expected: list[str]
) -> None:
    assert reported(*texts) == expected


def test_what_may_be_an_ignored_phrase_is_not_reported() -> None:
    assert reported("Oh,", "Oh, I", "Oh, I see.", "Oh, I see.", ignore=IGNORED) == []
    assert reported("Oh,", "Oh, I", "Oh, I am", "Oh, I am", ignore=IGNORED) == ["Oh, I am"]
    assert reported("Oh,", "Oh,", ignore=SOUNDS) == ["Oh,"]


def test_a_long_utterance_is_transcribed_less_often() -> None:
    async def main() -> list[int]:
        model = Recogniser(["Well"])
        interims = Interims(MoonshineSTT(model))  # type: ignore[arg-type]
        for samples in range(0, 6 * RATE, RATE // 100):
            if interims.due(samples):
                await interims.heard(np.zeros(samples, np.int16), RATE)
        return model.lengths

    lengths = run(main())
    assert len(lengths) < 16
    assert lengths[1] - lengths[0] == pytest.approx(0.2 * RATE)
    assert lengths[-1] - lengths[-2] > 0.6 * RATE
