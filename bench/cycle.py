"""One cycle of a turn, and the hand-written baseline that engines are compared with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from turnfsm.fsm import load_flow

__all__ = ["CYCLE", "FLOW", "REPLIES", "Engine", "Floor"]

CYCLE = (
    ("user_started", "listening"),
    ("turn_committed", "listening"),  # its guard fails
    ("user_stopped", "listening"),
    ("turn_committed", "thinking"),
    ("tool_started", "tool_running"),
    ("preemptive_generation", "tool_running"),  # its guard fails
    ("tools_drained", "thinking"),
    ("playout_started", "speaking"),
    ("user_paused_output", "paused"),
    ("output_resumed", "speaking"),
    ("user_paused_output", "paused"),
    ("barge_in", "interrupted"),
    ("settled", "listening"),
    ("playout_started", "listening"),  # late: not declared there
)
"""The triggers of a cycle, and the state after each."""

REPLIES = 2
"""How many replies a cycle requests."""

FLOW = load_flow(Path(__file__).with_name("cycle.yaml"))


class Engine(NamedTuple):
    """An engine that is ready to run. A refused trigger changes nothing, and raises nothing.

    Attributes:
        fire: Takes a trigger.
        replies: How many replies it has requested; None if it only names actions.
        close: Releases its resources.
    """

    fire: Callable[[str], object]
    state: Callable[[], str]
    replies: Callable[[], int] | None = None
    close: Callable[[], object] = lambda: None


class Floor:
    """The baseline: every branch written out, facts as attributes. No engine in Python can be
    faster."""

    __slots__ = ("replies", "state", "tools_running", "user_speaking")

    def __init__(self) -> None:
        self.state = "listening"
        self.tools_running = self.user_speaking = False
        self.replies = 0

    def fire(self, trigger: str) -> bool:
        state = self.state
        if state == "listening":
            if trigger == "turn_committed":
                if self.user_speaking:
                    return False
                self.replies += 1
                self.state = "thinking"
                return True
        elif state == "thinking":
            if trigger == "tool_started":
                self.tools_running = True
                self.state = "tool_running"
                return True
            if trigger == "playout_started":
                self.state = "speaking"
                return True
            if trigger == "preemptive_generation" and not self.tools_running:
                self.replies += 1
                return True
        elif state == "tool_running":
            if trigger == "tools_drained":
                self.tools_running = False
                self.replies += 1
                self.state = "thinking"
                return True
            if trigger == "preemptive_generation":
                if self.tools_running:
                    return False
                self.replies += 1
                self.state = "thinking"
                return True
        elif state == "speaking":
            if trigger == "user_paused_output":
                self.state = "paused"
                return True
            if trigger == "playout_finished":
                self.state = "listening"
                return True
        elif state == "paused":
            if trigger == "output_resumed":
                if self.user_speaking:
                    return False
                self.state = "speaking"
                return True
            if trigger == "barge_in":
                self.state = "interrupted"
                return True
        elif state == "interrupted" and trigger == "settled":
            self.state = "listening"
            return True
        if trigger == "user_started":
            self.user_speaking = True
            return True
        if trigger == "user_stopped":
            self.user_speaking = False
            return True
        return False
