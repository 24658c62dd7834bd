"""The room is told the state of the flow: seldom enough, and always the last."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from scripted_tool import tool

from turnfsm.livekit import TurnSession
from turnfsm.testing import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage


class Room:
    """What is used of LiveKit's room: a connection and the agent's participant."""

    def __init__(self, fails: bool = False) -> None:
        self.local_participant = self
        self.told: list[tuple[float, dict[str, str]]] = []
        self.fails = fails

    def isconnected(self) -> bool:
        return True

    async def set_attributes(self, attributes: dict[str, str]) -> None:
        self.told.append((asyncio.get_running_loop().time(), attributes))
        if self.fails:
            raise RuntimeError("the room has gone")


def played(room: Room, **setting: Any) -> tuple[Outcome, TurnSession[Any]]:
    class Session(TurnSession[Any]):
        def __init__(self, **options: Any) -> None:
            super().__init__(**setting, **options)
            self._room = room  # type: ignore[assignment]  # as `start(room=...)` does

    look_up = tool("look_up", "rain", seconds=2.0)
    model = ScriptedLLM({"weather": Reply(calls=Call("look_up"))}, {"look_up": "It rains."})
    user = ScriptedUser().says("what is the weather", at=1.0)
    stage = Stage(Session, user=user, llm=model, tools=[look_up])
    outcome = stage.run(12.0)
    session: Any = stage.session
    return outcome, session


def test_every_lasting_state_is_published_in_the_room() -> None:
    """At most every 0.2 s, in their order, the last one for certain."""
    room = Room()
    played(room, publish_state=True)
    times = [t for t, _ in room.told]
    states = [attributes["turnfsm.state"] for _, attributes in room.told]
    assert all(later - t >= 0.2 - 1e-6 for t, later in pairwise(times))
    assert [s for s in states if s in ("tool_running", "speaking")] == ["tool_running", "speaking"]
    assert states[-1] == "listening"
    assert all(set(attributes) == {"turnfsm.state"} for _, attributes in room.told)


def test_no_state_is_published_by_default() -> None:
    """The option is off by default."""
    room = Room()
    played(room)
    assert room.told == []


def test_a_room_that_has_gone_changes_nothing() -> None:
    """The conversation goes on."""
    room = Room(fails=True)
    outcome, _ = played(room, publish_state=True)
    assert outcome.heard_saying("It rains.")
    assert outcome.errors == []
    assert len(room.told) > 3
