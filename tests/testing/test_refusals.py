"""The kit refuses what it cannot play, and says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, AgentSession

from turnfsm.fsm import TurnfsmError
from turnfsm.livekit import TurnSession
from turnfsm.testing import (
    Reply,
    ScriptedUser,
    ScriptError,
    Stage,
    load_script,
    play_script,
)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: Stage(TurnSession, faults=["no_ned"]),
            "no fault 'no_ned'; did you mean 'no_end'?",
        ),
        (lambda: Stage(TurnSession, faults="no_ned"), "no fault 'no_ned'; did you mean 'no_end'?"),
        (lambda: Reply(calls="book"), "'book' is not a call; write Call('book', {...})"),
        (lambda: Reply(calls=["book"]), "'book' is not a call; write Call('book', {...})"),
        (lambda: Reply(calls=5), "5 is not a call; give a Call"),
        (lambda: Reply("hello", ttft=-1), "ttft=-1; give seconds, 0 or more"),
        (lambda: ScriptedUser().says("hello", at=-1), "at is -1; give seconds, 0 or more"),
        (lambda: ScriptedUser().says("", at=1), "it takes 0 s; give words"),
        (lambda: ScriptedUser().says("hi", at=1, duration=-2), "it takes -2 s; give seconds above"),
        (lambda: ScriptedUser().says("hi", at=1, stt_delay=-2), "stt_delay is -2"),
        (lambda: Stage(TurnSession).at(-1, print), "-1 s is before the stage begins"),
        (lambda: Stage(TurnSession()), "give the class: Stage(TurnSession)"),
        (
            lambda: Stage(TurnSession, turn_handling={"interuption": {}}),
            "turn_handling has no 'interuption'; did you mean 'interruption'?",
        ),
    ],
)
async def test_wrong_arguments_are_refused(make: Callable[[], Any], said: str) -> None:
    """A name is compared with those that there are, a number with what is possible."""
    with pytest.raises(TurnfsmError, match=re.escape(said)):
        make()


@pytest.mark.parametrize("session", [AgentSession, TurnSession])
@pytest.mark.parametrize(
    "agent", [Agent(instructions="Help."), lambda: Agent(instructions="Help.")]
)
def test_an_agent_is_given_as_it_is_or_as_what_makes_it(session: Any, agent: Any) -> None:
    """Both answer."""
    user = ScriptedUser().says("hello there", at=0.5)
    outcome = Stage(session, user=user, agent=agent).run(8.0)
    assert outcome.heard_saying("I see.")
    assert outcome.errors == []


SCENARIO = """\
name: a guest
user:
  - {at: 1.0, says: hello there}
expect:
  - {speaking: I see., within: 2.0, after: hello}
"""


def scenario(folder: Path, old: str = "", new: str = "", more: str = "") -> Path:
    """The scenario, changed."""
    assert old in SCENARIO
    file = folder / "guest.yaml"
    file.write_text(SCENARIO.replace(old, new) + more, encoding="utf-8")
    return file


EXPECT = "expect:\n  - {speaking: I see., within: 2.0, after: hello}\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (EXPECT, "expect: []\n", "4:9: error: the scenario expects nothing"),
        ("at: 1.0", "at: -1", "3:10: error: 'at' is -1"),
        ("at: 1.0", "at: .nan", "3:10: error: expected a finite number"),
        ("within: 2.0", "within: 0", "error: 'within' is 0"),
        ("says: hello there", "noise: -2", "error: 'noise' is -2"),
        ("says: hello there", "says: ''", "3:21: error: expected text, got text ''"),
        ("says: hello there", "says: ' '", "3:21: error: expected text, got text ' '"),
        ("hello there}", "hello there, stt_delay: -1}", "error: 'stt_delay' is -1"),
        ("hello there}", "hello there}\n  - {at: 1.2, noise: 1}", "4:5: error: two sounds"),
        ("name: a guest", "name: a guest\nseconds: 0.5", "after the end of the scenario, 0.5 s"),
        ("name: a guest", "name: a guest\nmodel: {otherwise: {after: -1}}", "error: 'after' is -1"),
        ("name: a guest", "name: a guest\ndurations: {I see.: -1}", "error: 'I see.' is -1"),
        ("name: a guest", "name: a guest\nflow: trun", "no flow 'trun'; did you mean 'turn'"),
        ("name: a guest", "name: a guest\ntimers: {setle: 1}", "the flow has no timer 'setle'"),
        ("says: hello there", "says: hello, noise: 1", "a sound is either 'says' or 'noise'"),
        ("says: hello there", "noise: 1, lasts: 1", "3:25: error: 'lasts' belongs to 'says'"),
        ("expect:", "do: [{at: 1}]\nexpect:", "a step does one thing"),
        ("speaking: I see.", "speaking: I see., never: paused", "a check expects one thing"),
        ("speaking: I see.", "never: paused", "'within' does not narrow 'never' down"),
        (EXPECT, "expect: [{state: speaking}]", "'state' needs a moment"),
        ("after: hello", "after: helo", "the user says nothing with 'helo'"),
        ("after: hello", "after: true", "expected seconds, or words of the user"),
        (EXPECT, "expect: [{taken: barge_im}]", "no trigger 'barge_im'"),
        (EXPECT, "expect: [{never: pausd}]", "no state or trigger 'pausd'"),
        (EXPECT, "expect: [{state: pausd, at: 1}]", "no state 'pausd'"),
    ],
)
def test_errors_in_a_scenario_are_refused_with_their_place(
    old: str, new: str, said: str, tmp_path: Path
) -> None:
    """Place, caret and remedy, as in a flow."""
    with pytest.raises(ScriptError, match=re.escape(said)):
        load_script(scenario(tmp_path, old, new))


AGENT = """\
from livekit.agents import Agent, function_tool, RunContext


class Guest:
    name = "Ann"


class Host(Agent):
    def __init__(self) -> None:
        super().__init__(instructions="Help.")

    async def on_enter(self) -> None:
        data = self.session.userdata
        name = data["name"] if isinstance(data, dict) else data.name
        await self.session.say(f"Good evening {name}")


ready = Host()
"""


@pytest.mark.parametrize("userdata", ["{name: Ann}", "host.py:Guest"])
@pytest.mark.parametrize("agent", ["Host", "ready"])
def test_a_scenario_gives_user_data_and_options(userdata: str, agent: str, tmp_path: Path) -> None:
    """The agent finds both in its session."""
    (tmp_path / "host.py").write_text(AGENT)
    more = f"""\
  - {{speaking: Good evening Ann}}
agent: host.py:{agent}
userdata: {userdata}
session:
  max_tool_steps: 7
  turn_handling: {{interruption: {{min_words: 2}}}}
"""
    played = play_script(load_script(scenario(tmp_path, more=more)))
    assert played.problems == ()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (
            "session: {max_tool_step: 7}\n",
            "has no option 'max_tool_step'; did you mean 'max_tool_steps'?",
        ),
        ("session: {llm: 7}\n", "has no option 'llm'; it is scripted"),
        ("session: {flow: 7}\n", "has no option 'flow'; it is a key of the scenario itself"),
        ("userdata: nobody.py:Guest\n", "userdata 'nobody.py:Guest': there is no file"),
        ("agent: Guest\n", "write 'module:Name' or 'file.py:Name'"),
        ("agent: nobody:Guest\n", "such as '../nobody.py:Guest'"),
    ],
)
def test_what_a_session_does_not_take_is_refused(more: str, said: str, tmp_path: Path) -> None:
    """With the place in the file."""
    with pytest.raises(TurnfsmError, match=re.escape(said)) as refused:
        play_script(load_script(scenario(tmp_path, more=more)))
    assert "guest.yaml:6:" in str(refused.value)
