"""What the next worker begins with, for each state of the flow in which its predecessor died.

The table is in docs/store.md.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import attrs
import pytest
from livekit.agents import Agent

from turnfsm.livekit import on_interruption
from turnfsm.runtime.testing.livekit import ScriptedUser

from .play import SORRY, Guest, Record, Waiter, silent, talk
from .test_going_on import posted


def entered(state: str, nth: int = 1) -> Any:
    """Right after a state was entered for the n-th time."""
    times = iter(range(1, nth + 1))

    def deadly(record: Record) -> bool:
        now = bool(record.get("entered")) and record.get("dest") == state
        return now and next(times) == nth

    return deadly


def kept(record: Record) -> bool:
    """Right after a turn was kept."""
    return record.get("trigger") == "turn_deferred"


def over_greeting() -> ScriptedUser:
    """Talks over the greeting, for a long time."""
    return ScriptedUser().says("please book a table for this evening", at=0.3)


Place = tuple[Any, ScriptedUser, list[str]]

STATES: dict[str, Place] = {
    "listening": (entered("listening"), silent(), []),
    "listening, the user speaks": (
        posted("user_started_speaking"),
        talk(),
        [f"{SORRY} How can I help?"],
    ),
    "thinking": (
        posted("step_started", 2),
        talk(),
        [f"{SORRY} One moment.", "The book is arranged."],
    ),
    "speaking": (entered("speaking"), silent(), [f"{SORRY} How can I help?"]),
    "paused": (entered("paused"), over_greeting(), [f"{SORRY} How can I help?"]),
    "interrupted": (
        entered("interrupted"),
        over_greeting(),
        ["One moment.", "The book is arranged."],
    ),
    "tool_running": (
        entered("tool_running"),
        talk(),
        [f"{SORRY} The book is perhaps arranged."],
    ),
    "tool_running, a turn waits": (
        kept,
        talk().says("and thank you", at=4.5),
        ["The book is perhaps arranged. With pleasure."],
    ),
}
"""When the worker dies, what the user does before, and what they hear of the next worker."""


@attrs.frozen
class Records:
    """What a session journals."""

    all: list[Record] = attrs.field(factory=list)

    def write(self, record: Record) -> None:
        """Keep it."""
        self.all.append(record)

    def close(self) -> None:
        """Nothing to close."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("place", STATES)
def test_the_flow_begins_in_its_initial_state_and_what_is_pending_is_said(
    place: str, tmp_path: Path
) -> None:
    """No step, no call and no sound of the last worker goes on; what the user waits for does."""
    deadly, user, says = STATES[place]
    guest = Guest(tmp_path, works=4.0, mark=on_interruption("hold"))
    faults = {"faults": ["no_end"]} if place == "interrupted" else {}  # else it is for a moment
    assert guest.killed(user, deadly, **faults)
    records = Records()
    outcome = guest.stage(silent(), sinks=[records]).run(12.0)
    assert [heard.text for heard in outcome.heard] == says, outcome.timeline()
    resumed = [r["data"]["state"] for r in records.all if r.get("note") == "resumed"]
    assert resumed == [place.partition(",")[0]]
    entries = [r for r in records.all if "trigger" in r]
    assert not entries or entries[0]["state"] == "listening"
    assert outcome.orphans == ()


def test_what_the_user_said_over_the_agent_is_asked_for_again(tmp_path: Path) -> None:
    """They were interrupting it: it does not say the same once more."""
    guest = Guest(tmp_path)
    assert guest.killed(over_greeting(), entered("paused"))
    outcome = guest.gone_on(silent(), 6.0)
    shown = [e.text for e in outcome.requests[0].shown if e.kind == "system"]
    assert any("ask them to say it again" in text for text in shown), shown


def test_the_time_of_an_open_turn_starts_again(tmp_path: Path) -> None:
    """`turn_overdue` gives up a turn to which no reply comes: the next worker has all of it."""

    class Slow(Guest):
        def agent(self) -> Agent:
            class Thinker(Waiter):
                async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
                    await asyncio.sleep(60.0)

            return Thinker(self)

    guest = Slow(tmp_path)
    user = ScriptedUser().says("please book a table", at=2.0)
    late = {"turn_overdue": 5.0}

    def at_six(record: Record) -> bool:
        return record.get("trigger") == "user_started_speaking" and record["t"] > 6.0

    assert guest.killed(user.makes_noise(at=6.0, duration=0.2), at_six, timers=late)
    records = Records()
    guest.stage(silent(), sinks=[records], timers=late).run(12.0)
    overdue = [r for r in records.all if r.get("trigger") == "turn_overdue"]
    dropped = [r["t"] for r in overdue if r["verdict"] == "taken"]
    assert dropped == [pytest.approx(5.0, abs=0.1)]


def test_seconds_that_an_application_changed_are_not_restored(tmp_path: Path) -> None:
    """The next worker has those that it was made with: it may be a newer program."""
    guest = Guest(tmp_path)
    guest.stage(silent(), timers={"tool_limit": 7.0}).run(2.0)
    stage = guest.stage(silent(), timers={"thinking_limit": 9.0})
    stage.run(2.0)
    session: Any = stage.session
    flow = session.turn.flow.timers
    assert session.timers["tool_limit"] == flow["tool_limit"]
    assert session.timers["thinking_limit"] == 9.0
