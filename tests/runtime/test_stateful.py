"""The pump against a machine that is stepped by hand, and both against the replay."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from calls import Host, flow_of
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from strategies import flows

from turnfsm import Event, TurnRuntime
from turnfsm.fsm import Flow, Machine, program
from turnfsm.fsm.journal import replay
from turnfsm.runtime.effects import CURRENT


class AnyHost:
    """Has every action and every host fact of a flow; some actions post."""

    def __init__(self, flow: Flow) -> None:
        self.done: list[str] = []
        self.host_facts: dict[str, bool] = dict.fromkeys(flow.host_facts, False)
        for action in flow.actions:
            setattr(self, action, lambda event, action=action: self._act(action, event))
        for fact in flow.host_facts:
            setattr(self, fact, lambda fact=fact: self.host_facts[fact])
        self.posts: dict[str, tuple[str, Any]] = {}
        self.turn: TurnRuntime | None = None

    def _act(self, action: str, event: Event) -> None:
        self.done.append(action)
        if action in self.posts and self.turn is not None:
            trigger, of = self.posts.pop(action)
            self.turn.post(trigger, CURRENT if of is None else of)


class PumpAgainstMachine(RuleBasedStateMachine):
    """Every verdict, state, fact and token of the pump is the machine's."""

    @initialize(flow=flows(max_states=5, max_transitions=25), maxlen=st.integers(1, 60))
    def begin(self, flow: Flow, maxlen: int) -> None:
        self.flow = flow
        self.host = AnyHost(flow)
        self.turn = self.host.turn = TurnRuntime(flow, self.host, maxlen=maxlen)
        self.machine = Machine(flow)
        self.chosen: list[str] = []
        self.observed: list[int] = []
        self.turn.observe(lambda seq, verdict: self.observed.append(seq))
        self.posted = 0

    def _expect(self, trigger: str, of: Any) -> tuple[str, ...]:
        """Step the machine by hand; the actions that follow from it."""
        self.machine.set_host_facts(
            {n: self.host.host_facts[n] for n in self.machine.asks(trigger)}
        )
        verdict = self.machine.step(trigger, of)
        self.posted += 1
        return verdict.actions

    @rule(data=st.data())
    def post(self, data: st.DataObject) -> None:
        """A post; perhaps one of its effects posts, too, and one of that one's."""
        names = st.sampled_from([*self.flow.triggers, *self.flow.timers])
        tokens = st.sampled_from([None, "x", "y"])
        self.host.host_facts = {n: data.draw(st.booleans()) for n in self.host.host_facts}
        for action in data.draw(st.sets(st.sampled_from([*self.flow.actions, ""]), max_size=2)):
            self.host.posts[action] = (data.draw(names), data.draw(tokens))
        trigger, of = data.draw(names), data.draw(tokens)
        pending = dict(self.host.posts)
        queue = list(self._expect(trigger, of))
        while queue:
            action = queue.pop(0)
            self.chosen.append(action)
            if action in pending:
                queue += self._expect(*pending.pop(action))
        self.turn.post(trigger, CURRENT if of is None else of)
        self._agree()

    @rule()
    def forget(self) -> None:
        """Programs forget what they remembered; nobody notices."""
        self.turn.machine.program._forget()
        self._agree()

    def _agree(self) -> None:
        ours = self.turn.machine
        assert (ours.state, ours.facts, ours.tokens) == (
            self.machine.state,
            self.machine.facts,
            self.machine.tokens,
        )
        assert self.host.done == self.chosen
        assert self.observed == list(range(1, self.posted + 1))
        assert replay(self.turn.journal.read(), self.flow) is None


TestPumpAgainstMachine = PumpAgainstMachine.TestCase
TestPumpAgainstMachine.settings = settings(max_examples=40, stateful_step_count=20)


def test_a_program_remembers_only_so_much(monkeypatch: Any) -> None:
    """The table of configurations is bounded; machines that hold a forgotten one go on."""
    monkeypatch.setattr(program, "MOST_CONFIGURATIONS", 3)
    flow = flow_of()
    turn, other = TurnRuntime(flow, Host()), TurnRuntime(flow, Host())
    other.post("user_started")
    for _ in range(20):
        turn.post("user_started")
        turn.post("step_started", "s1")
        turn.post("playout_started", "s1")
        turn.post("user_stopped")
        turn.post("step_finished", "s1")
        rows = turn.machine.program.rows.values()
        assert sum(len(own.configurations) for own in rows) <= 3
    assert other.facts == ("user_speaking",)
    assert other.post("user_stopped")
    for one in (turn, other):
        assert replay(one.journal.read(), one.flow) is None
