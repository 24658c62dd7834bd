"""`TurnSession(strict=False)` runs with what a release of livekit-agents still has."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.livekit_contract import FEATURES, PRIVATE_NAMES

RENAMED = Path(__file__).with_name("renamed.py")
ESSENTIAL = [name for name, feature in FEATURES.items() if feature.essential]
OTHER = [name for name in FEATURES if name not in ESSENTIAL]


def play_without(feature: str) -> dict[str, Any]:
    """With a livekit-agents in which the private names of this feature have another name."""
    others = {row.name for row in PRIVATE_NAMES if row.feature != feature}
    own = {row.name for row in PRIVATE_NAMES if row.feature == feature} - others
    names = sorted(name for name in own if name.startswith("_"))
    assert names
    done = subprocess.run(
        [sys.executable, str(RENAMED), *names], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    played: dict[str, Any] = json.loads(done.stdout)
    return played


@pytest.mark.parametrize("feature", OTHER)
def test_a_session_answers_without_a_feature(feature: str) -> None:
    """It answers, runs tools and lets itself be interrupted; the flow stays in step. What is left
    out is logged and listed, and the default refuses it and names the remedy."""
    played = play_without(feature)
    assert played["heard"] == ["Good morning.", "One moment.", "I have found a", "Fine."]
    assert (played["errors"], played["strays"]) == ([], None)
    assert feature in played["missing"]
    assert not set(played["missing"]) & set(ESSENTIAL)
    for missing, what in played["missing"].items():
        assert any(missing in line and what in line for line in played["log"])
    assert "TurnSession(strict=False) runs without the features that it lacks" in played["strict"]
    assert ("realtime model" in played["realtime"]) == (feature == "realtime")


@pytest.mark.parametrize("feature", ESSENTIAL)
def test_what_no_session_runs_without_is_said_at_import(feature: str) -> None:
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
