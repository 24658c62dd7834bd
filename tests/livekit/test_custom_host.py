"""Actions and host facts of an application's own: where they come from, and what is missing."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent

from turnfsm import Event, FlowError, HostError
from turnfsm.livekit import TurnSession, host_fact, turn_action
from turnfsm.testing import LiveStage, ScriptedLLM, ScriptedUser, Stage

FLOW = """
flow: doorbell
extends: turn
facts:
  host:
    awake: The door is near.
requests:
  ring: May the bell be rung?
events:
  rung: The bell was heard.
  broken: The bell does not ring.
actions:
  ring_bell: {owner: session, done: rung, failed: broken}
  thank: {}
  mend: {}
states:
  listening:
    on:
      ring: {conditions: [awake], actions: [ring_bell]}
      rung: {actions: [thank]}
      broken: {actions: [mend]}
"""


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    path = tmp_path / "doorbell.yaml"
    path.write_text(FLOW, encoding="utf-8")
    return path


@pytest.fixture
def endless(flow: Path) -> Path:
    """The same, with a tool call that is waited for without a limit."""
    text = FLOW + "  tool_running: {after: {tool_limit: null}}\n"
    flow.write_text(text, encoding="utf-8")
    return flow


class Bell:
    """Implements the flow's own actions and its host fact."""

    def __init__(self, works: bool = True) -> None:
        self.works = works
        self.log: list[str] = []

    @host_fact
    def awake(self) -> bool:
        return True

    @turn_action
    async def ring_bell(self, event: Event) -> None:
        self.log.append("ring")
        await asyncio.sleep(1.0)
        if not self.works:
            raise OSError("the wire is cut")

    @turn_action
    def thank(self, event: Event) -> None:
        self.log.append("thank")

    @turn_action
    def mend(self, event: Event) -> None:
        self.log.append(f"mend: {event.data['error']}")


class BellAgent(Bell, Agent):
    """The same on an agent."""

    def __init__(self) -> None:
        Agent.__init__(self, instructions="")
        Bell.__init__(self)


class BellSession(Bell, TurnSession[Any]):
    """The same on a session."""

    def __init__(self, **options: Any) -> None:
        Bell.__init__(self)
        TurnSession.__init__(self, **options)


class Silent(Agent):
    """An agent with nothing of its own."""

    def __init__(self) -> None:
        super().__init__(instructions="")


def ring(session: Any, agent: Any = Silent) -> Stage:
    """Post `ring` after a second, and play two more."""
    stage = Stage(session, user=ScriptedUser(), llm=ScriptedLLM(), agent=agent)
    with LiveStage(stage) as live:
        live.advance(1.0)
        live.act(lambda stage: stage.session.turn.post("ring"))
        live.advance(2.0)
    return stage


def test_actions_of_an_object(flow: Path) -> None:
    """Asynchronous ones are tasks whose end is a trigger."""
    bell = Bell()
    ring(lambda **options: TurnSession(flow=flow, proof="off", actions=bell, **options))
    assert bell.log == ["ring", "thank"]


def test_an_action_that_fails_is_the_trigger_that_the_flow_names(flow: Path) -> None:
    """With the error in the event's data."""
    bell = Bell(works=False)
    ring(lambda **options: TurnSession(flow=flow, proof="off", actions=bell, **options))
    assert bell.log == ["ring", "mend: OSError: the wire is cut"]


def test_marked_methods_of_the_agent_in_charge(flow: Path) -> None:
    """They need no `actions`."""
    agent = BellAgent()
    ring(lambda **options: TurnSession(flow=flow, proof="off", **options), lambda: agent)
    assert agent.log == ["ring", "thank"]


def test_marked_methods_of_the_session(flow: Path) -> None:
    """Nor do those of a subclass of the session."""
    stage = ring(lambda **options: BellSession(flow=flow, proof="off", **options))
    assert stage.session.log == ["ring", "thank"]


async def test_what_an_object_lacks_is_an_error_when_the_session_is_made(flow: Path) -> None:
    """With its class and what it is."""
    lacking = "the action 'thank', the action 'mend', the host fact 'awake', which Silent does not"
    with pytest.raises(HostError, match=lacking):
        TurnSession(flow=flow, proof="off", actions=Silent())


async def test_what_an_agent_lacks_is_an_error_when_the_session_starts(flow: Path) -> None:
    """Nothing has begun then."""
    with pytest.raises(HostError, match="which Silent does not implement; mark a method with"):
        await TurnSession(flow=flow, proof="off").start(Silent())


def test_an_agent_that_takes_over_and_lacks_an_action_fails_that_action(flow: Path) -> None:
    """The journal says so, and the turn goes on."""
    stage = Stage(
        lambda **options: TurnSession(flow=flow, proof="off", **options),
        user=ScriptedUser(),
        llm=ScriptedLLM(),
        agent=BellAgent,
    )
    with LiveStage(stage) as live:
        live.act(lambda stage: stage.session.update_agent(Silent()))
        live.advance(1.0)
        live.act(lambda stage: stage.session.turn.post("rung"))
        live.advance(0.5)
        [note] = stage.session.turn.journal.notes("effect_failed")
    assert "Silent does not implement" in note.data["error"]


async def test_a_method_that_the_turn_has_itself_is_refused(flow: Path) -> None:
    """It would never be called."""

    class Loud(BellAgent):
        @turn_action
        def pause_output(self, event: Event) -> None:
            """Not ours."""

    with pytest.raises(
        HostError, match=r"Loud\.pause_output is marked as action, and the turn has"
    ):
        await TurnSession(flow=flow, proof="off").start(Loud())


async def test_a_flow_that_is_not_proved_does_not_govern(endless: Path) -> None:
    """Unless `proof` allows it; then the journal says so."""
    with pytest.raises(FlowError, match="is not proved"):
        TurnSession(flow=endless, actions=Bell())
    session: Any = TurnSession(flow=endless, actions=Bell(), proof="warn")
    [note] = session.turn.journal.notes("unproved")
    assert any("doorbell.yaml:" in reason for reason in note.data["reasons"])
