"""`TurnSession(strict=False)` runs with what a release of livekit-agents still has."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from turnfsm.livekit import TurnSession
from turnfsm.runtime.livekit_contract import FEATURES, PRIVATE_NAMES

RENAMED = Path(__file__).with_name("renamed.py")
ESSENTIAL = [name for name, feature in FEATURES.items() if feature.essential]
OTHER = [name for name in FEATURES if name not in ESSENTIAL]


PlayWithout = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def play_without() -> Iterator[PlayWithout]:
    """Plays with a livekit-agents in which the private names of features have other names."""
    command, pipe = [sys.executable, str(RENAMED)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        to, answers = process.stdin, process.stdout

        def play(*features: str) -> dict[str, Any]:
            names = {name for feature in features for name in _names(feature, features)}
            print(*sorted(names), file=to, flush=True)
            played: dict[str, Any] = json.loads(answers.readline())
            assert "failed" not in played, played["failed"]
            return played

        yield play


def _names(feature: str, missing: Collection[str]) -> list[str]:
    """Names that only this feature needs, or others that are missing, too; private ones if any."""
    others = {row.name for row in PRIVATE_NAMES if row.feature not in missing}
    own = {row.name for row in PRIVATE_NAMES if row.feature == feature} - others
    assert own
    return [name for name in own if name.startswith("_")] or [*own]


@pytest.mark.one_in(len(OTHER) + 1)
@pytest.mark.parametrize("features", [OTHER, *([one] for one in OTHER)], ids=["all", *OTHER])
def test_a_session_answers_without_features(features: list[str], play_without: PlayWithout) -> None:
    """It answers, runs tools and lets itself be interrupted; the flow stays in step. What is left
    out is logged and listed, and the default refuses it and names the remedy."""
    played = play_without(*features)
    assert played["heard"] == ["Good morning.", "One moment.", "I have found a", "Fine."]
    assert (played["errors"], played["strays"]) == ([], None)
    assert set(features) <= set(played["missing"])
    assert not set(played["missing"]) & set(ESSENTIAL)
    for missing, what in played["missing"].items():
        assert any(missing in line and what in line for line in played["log"])
    assert "TurnSession(strict=False) runs without the features that it lacks" in played["strict"]
    assert ("realtime model" in played["realtime"]) == ("realtime" in features)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("feature", ESSENTIAL)
def test_what_no_session_runs_without_is_said_at_import(
    feature: str, play_without: PlayWithout
) -> None:
    """The error is ours. It names the feature, and the missing names."""
    said = play_without(feature)["import"]
    note = said.partition("= note: no session runs without ")[2]
    assert feature in note.removesuffix(", even if strict=False").split(", ")
    assert " is missing" in said
    assert "pip install 'turnfsm[livekit]'" in said


async def test_nothing_is_missing_from_the_installed_livekit(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """So `strict=False` changes nothing, and says nothing."""
    assert TurnSession(strict=False).missing_features == {}
    assert caplog.messages == []
