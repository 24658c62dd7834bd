"""The failures of turn-taking on Pipecat: alone, and with a `TurnGovernor`.

`scenarios.yaml` has the conversations, and `models.py` what the models say in them.
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from turnfsm.runtime.compare.scenario import Contender
from turnfsm.runtime.compare.scenario_file import read_host
from turnfsm.runtime.pipecat.governor import TurnGovernor

from .conversation import conversation

__all__ = ["HOST"]

HOST = read_host(
    Path(__file__).with_name("scenarios.yaml"),
    version=version("pipecat-ai"),
    stock=Contender("Pipecat", None),
    ours=Contender("TurnGovernor", TurnGovernor),
    conversation=conversation,
)
