"""Conversations that every host plays alike, to test a host of your own.

Write one function that plays a `Talk` on your host, and say what your host can do:

Example::

    import pytest
    from turnfsm.testing.conformance import TALKS, judge

    @pytest.mark.parametrize("name", TALKS)
    def test_my_host_conforms(name):
        judgement = judge(TALKS[name], play, can={"voice", "pause"})
        assert judgement, str(judgement)
"""

from turnfsm.runtime.testing.conformance import (
    Capability,
    Judgement,
    Play,
    Played,
    Talk,
    Tool,
    judge,
)
from turnfsm.runtime.testing.conformance_talks import TALKS
from turnfsm.runtime.testing.script import Answer, Call, Sound, Step

__all__ = [
    "TALKS",
    "Answer",
    "Call",
    "Capability",
    "Judgement",
    "Play",
    "Played",
    "Sound",
    "Step",
    "Talk",
    "Tool",
    "judge",
]


def __dir__() -> list[str]:
    return __all__
