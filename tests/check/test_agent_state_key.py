"""`agent_state`: what a state publishes is written in the flow, and true."""

from flow_text import parsed
from proved import codes, turn_with

from turnfsm.fsm import load_flow

DICTATING = """\
flow: mine
extends: turn
states:
  dictating: {is: The user dictates., agent_state: %s}
"""


def test_the_states_of_the_turn_say_what_they_publish() -> None:
    """Waiting for a model or a tool is thinking; the floor that is free is listening."""
    published = {name: state.agent_state for name, state in load_flow("turn").states.items()}
    assert published == {
        "listening": "listening",
        "thinking": "thinking",
        "tool_running": "thinking",
        "speaking": "speaking",
        "paused": "listening",
        "interrupted": "listening",
    }


def test_an_added_state_publishes_listening_unless_it_says_otherwise() -> None:
    """A user who dictates hears no sound of thinking."""
    flow = parsed(DICTATING.replace(", agent_state: %s", ""), "mine.yaml")
    assert flow.states["dictating"].agent_state == "listening"
    flow = parsed(DICTATING % "thinking", "mine.yaml")
    assert flow.states["dictating"].agent_state == "thinking"


def test_a_state_in_which_audio_is_heard_publishes_speaking() -> None:
    """The remedy is the line."""
    report = turn_with("agent_state: speaking", "agent_state: thinking")
    remedies = {f.remedy for f in report.findings if f.code == "the_agent_state_is_true"}
    assert remedies == {"write 'agent_state: speaking' in 'speaking'"}


def test_no_other_state_publishes_speaking() -> None:
    """It is not heard there."""
    report = turn_with(
        "    is: No step holds the floor; the turn waits for at least one tool call.\n"
        "    agent_state: thinking",
        "    agent_state: speaking",
    )
    assert codes(report) == {"the_agent_state_is_true"}
    (finding,) = report.findings
    assert "tool_running is held though no audio is heard" in finding.message
    assert finding.remedy == "write 'agent_state: listening' in 'tool_running'"
