"""When the next line of the script is due."""

from __future__ import annotations

import attrs

from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.prompter import Prompter
from turnfsm.runtime.demo.script import CONVERSATION, When


@attrs.define
class Silent:
    """A session and an output of which nothing is heard."""

    agent_state: str = "thinking"
    user_state: str = "listening"
    sounding: bool = False


def test_an_answer_that_begins_before_the_recording_of_a_line_has_ended_is_one() -> None:
    """A recording ends in silence, in which the turn may be committed and answered."""
    silent = Silent()
    prompter = Prompter(silent, silent, Pace())  # type: ignore[arg-type]
    prompter.speaks(CONVERSATION[0])
    prompter.tool_started("call_1")
    assert not prompter.holds(When.SILENT_TOOL)
    prompter.answer_began()
    assert prompter.holds(When.SILENT_TOOL)
