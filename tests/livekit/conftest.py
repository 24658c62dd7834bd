"""Fixtures of the tests of the binding."""

from __future__ import annotations

from typing import Any

import pytest
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession


@pytest.fixture(params=[AgentSession, TurnSession], ids=["stock", "turn"])
def session_class(request: pytest.FixtureRequest) -> type[AgentSession[Any]]:
    """Each test is played on both."""
    cls: type[AgentSession[Any]] = request.param
    return cls
