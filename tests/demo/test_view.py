"""The panel on a terminal."""

import io
import re

from rich.console import Console

from turnfsm.fsm import load_flow
from turnfsm.runtime.demo.on_livekit import hold
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.recorder import Recorder
from turnfsm.runtime.demo.take import Take
from turnfsm.runtime.demo.text import TextStack
from turnfsm.runtime.demo.view import Screen
from turnfsm.runtime.testing.clock import run


async def watch(console: Console) -> None:
    """The typed conversation, seen on a terminal."""
    pace = Pace()
    stack = await TextStack.load(pace)
    screen = Screen(console)
    recorder = Recorder(pace)
    recorder.listeners.append(screen.show)
    try:
        await hold(stack, load_flow("turn"), Take(recorder, scripted=True), screen)
    finally:
        await screen.close()


def test_panel_shows_the_turn_as_it_goes() -> None:
    """State and its time, facts, timers with what is left, refusals and their reasons, words."""
    printed = io.StringIO()
    run(watch(Console(file=printed, force_terminal=True, width=100, height=40)))
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed.getvalue())
    for state in ("listening", "thinking", "tool_running", "speaking", "paused"):
        assert re.search(rf"state +{state} for \d+\.\d s", shown), state
    assert re.search(r"facts +.*tools_running", shown)
    assert re.search(r"timers +false_interruption 1\.\d s", shown)
    assert "refused preemptive_generation in tool_running: tool_running refuses it" in shown
    assert "agent  I am back at the dock." in shown
    widths = {len(line.rstrip("\r")) for line in shown.splitlines()}
    assert max(widths) <= 100


async def test_screen_that_never_began_closes_in_silence() -> None:
    """An error before the session starts leaves no half panel."""
    printed = io.StringIO()
    await Screen(Console(file=printed, force_terminal=True)).close()
    assert printed.getvalue() == ""
