"""What a scenario does and expects: each step has its effect, a check that fails says what happened
instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from turnfsm.testing import load_script, play_script

AGENT = """\
from livekit.agents import Agent, function_tool


class Clerk(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    @function_tool
    async def book(self) -> str:
        \"\"\"Book.\"\"\"
        return "booked"
"""

STORY = """\
name: a story
agent: clerk.py:Clerk
user:
  - {at: 1.0, says: tell me a story}
model:
  on_user:
    story: {text: Once upon a time there was a king., calls: {tool: book}}
    more: There is no more.
  on_tool: {book: It is booked.}
  otherwise: {text: Let me think., after: 2.0}
"""


def problems(folder: Path, more: str) -> tuple[str, ...]:
    """What is wrong when the story is played with this."""
    (folder / "clerk.py").write_text(AGENT)
    file = folder / "story.yaml"
    file.write_text(STORY + more)
    return play_script(load_script(file)).problems


@pytest.mark.parametrize(
    ("step", "check"),
    [
        ("{at: 3.0, interrupt: true}", "{taken: step_interrupted, while: speaking}"),
        ("{at: 9.0, say: The shop closes.}", "{speaking: The shop closes., after: 9}"),
        ("{at: 9.0, reply: more}", "{speaking: There is no more., within: 2, after: 9}"),
        ("{at: 0.5, close: true}", "{never: turn_committed}"),
    ],
)
def test_a_step_has_its_effect(step: str, check: str, tmp_path: Path) -> None:
    """What an application does at a moment."""
    assert problems(tmp_path, f"do: [{step}]\nexpect: [{check}]\n") == ()


def test_a_step_commits_the_turn_where_nothing_else_does(tmp_path: Path) -> None:
    """With manual turn detection."""
    more = "turn_detection: manual\ndo: [{at: 4.0, commit: true}]\n"
    more += "expect:\n- {taken: turn_committed}\n- {speaking: Once upon, after: 4.0}\n"
    assert problems(tmp_path, more) == ()


def test_a_timer_has_the_seconds_of_the_scenario(tmp_path: Path) -> None:
    """Those of the flow are replaced."""
    more = "do: [{at: 9.0, reply: what}]\nexpect: [{taken: thinking_limit}]\n"
    [found] = problems(tmp_path, more)
    assert "thinking_limit is not taken; it was never posted" in found
    assert problems(tmp_path, "timers: {thinking_limit: 0.5}\n" + more) == ()


@pytest.mark.parametrize(
    ("check", "said"),
    [
        ("{speaking: Nobody, after: 2}", "'Nobody' is not heard after 2.00 s"),
        ("{speaking: It is booked., within: 0.1, after: 2}", "s after 2.00 s, not within 0.1 s"),
        ("{refused: barge_in}", "barge_in is not refused; it was never posted"),
        (
            "{refused: turn_committed, while: listening}",
            "turn_committed is not refused while listening; it was taken in listening at ",
        ),
        ("{taken: turn_committed, while: speaking}", "is not taken while speaking; it was taken"),
        ("{never: speaking}", "speaking is entered at "),
        ("{never: turn_committed}", "turn_committed is taken at "),
        ("{tool: book, times: 2}", "the tool book runs 1 time(s): "),
        ("{tool: cancel}", "the tool cancel runs 0 time(s): never"),
        ("{state: paused, at: 3}", "at 3 s the turn is speaking, not paused"),
        ("{history: a queen}", "'a queen' is not in the conversation: "),
    ],
)
def test_a_check_that_fails_says_what_happened(check: str, said: str, tmp_path: Path) -> None:
    """In one line, which begins with its place."""
    [found] = problems(tmp_path, f"expect: [{check}]\n")
    place, _, text = found.partition(": ")
    assert place == f"{tmp_path}/story.yaml:11"
    assert said in text
