"""A flow and its `transitions` machine, side by side; and machines that become flows."""

from __future__ import annotations

import enum
import functools
import json
import logging
from collections.abc import Callable, Iterator

import pytest
import transitions
from hypothesis import HealthCheck, given, settings
from strategies import flow_to_yaml, flows
from transitions.extensions import HierarchicalMachine
from transitions.extensions.states import Timeout, add_state_features
from walks import Numbers, Post, numbers, walk

from turnfsm.fsm import Flow, FlowError, Machine, load_flow, parse_flow, shipped_flows
from turnfsm.fsm.interop.machine_in import from_transitions
from turnfsm.fsm.interop.machine_out import FlowModel, to_transitions, transitions_config

MANY = settings(
    max_examples=15,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """`transitions` logs a warning for every trigger that a state does not know."""
    logger = logging.getLogger("transitions")
    level, logger.level = logger.level, logging.ERROR
    yield
    logger.setLevel(level)


def _answer(machine: Machine, model: FlowModel, post: Post) -> None:
    machine.set_host_facts(post.host_facts)
    host_facts = {fact for fact, holds in post.host_facts.items() if holds}
    model.facts = (model.facts - {*post.host_facts}) | host_facts


def _agree(flow: Flow, posts: list[Post]) -> None:
    """Both take and refuse the same, hold the same state and facts and choose the same actions."""
    ours, theirs = Machine(flow), to_transitions(flow)
    model: FlowModel = theirs.model
    for post in posts:
        if post.trigger in flow.timers and post.trigger not in ours.timers:
            continue  # a timer that is not armed does not fire
        _answer(ours, model, post)
        model.done.clear()
        verdict = ours.step(post.trigger, post.of)
        assert model.trigger(post.trigger, of=post.of) == bool(verdict), (post, verdict)
        assert model.state == ours.state
        assert model.facts == set(ours.program.names(ours.facts))
        assert model.done == list(verdict.actions if verdict else ())


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", sorted(shipped_flows()))
def test_shipped_flows_and_their_machines_agree(name: str) -> None:
    """On any walk through a shipped flow the machine of `transitions` does what ours does."""
    flow = load_flow(name)

    @MANY
    @given(numbers())
    def agree(chosen: Numbers) -> None:
        _agree(flow, walk(flow, chosen))

    agree()


@MANY
@given(flows(properties=False), numbers(30))
def test_random_flows_and_their_machines_agree(flow: Flow, chosen: Numbers) -> None:
    """On any walk through any flow the machine of `transitions` does what ours does."""
    _agree(flow, walk(flow, chosen))


@MANY
@given(flows(max_states=6, properties=False), numbers(30))
def test_a_flow_survives_the_way_to_transitions_and_back(flow: Flow, chosen: Numbers) -> None:
    """A flow made of a flow's machine moves as that one, with the facts as the host has them."""
    ours, back = Machine(flow), Machine(from_transitions(to_transitions(flow)))
    for post in walk(flow, chosen):
        if post.trigger in flow.timers and post.trigger not in ours.timers:
            continue
        ours.set_host_facts(post.host_facts)
        if post.trigger not in back.program.flow.triggers:
            assert not ours.ask(post.trigger)
            continue
        now = {fact: ours.holds(fact) for fact in flow.facts}
        now |= {f"current_{scope}": True for scope in flow.scopes}
        back.set_host_facts({fact: now[fact] for fact in back.program.flow.facts})
        assert bool(back.step(post.trigger)) == bool(ours.step(post.trigger))
        assert back.state == ours.state


def test_the_config_is_json() -> None:
    """The exported arguments survive JSON and build the machine with a model of the user's."""
    config = json.loads(json.dumps(transitions_config(load_flow("turn"))))

    class Model:
        def __init__(self) -> None:
            self.called: list[str] = []

        def __getattr__(self, name: str) -> Callable[[object], bool]:
            if not name.startswith(("fact_", "do_", "current_", "note")):
                raise AttributeError(name)
            return lambda _event: self.called.append(name) is None

    model = Model()
    transitions.Machine(model, **config)
    assert model.trigger("step_started")  # type: ignore[attr-defined]
    assert model.state == "thinking"  # type: ignore[attr-defined]
    assert "note" in model.called


def test_the_users_callables_are_called_as_actions() -> None:
    """A callable for an action is called with the event, after the state has changed."""
    flow = load_flow("turn")
    seen: list[str] = []
    model = FlowModel(flow, {"request_reply": lambda event: seen.append(event.model.state)})
    to_transitions(flow, model)
    assert model.trigger("reply")
    assert (seen, model.done) == (["listening"], ["request_reply"])


def _door() -> transitions.Machine:
    class Door:
        def has_key(self) -> bool:
            return True

        def creak(self) -> None: ...

    def lost() -> bool:
        return False

    machine = transitions.Machine(Door(), ["shut", "open"], initial="shut", name="door")
    machine.add_transition("pull", "shut", "open", "has_key", unless=lost, after="creak")
    machine.add_transition("pull", "shut", None)
    machine.add_transition("push", "*", "=")
    machine.get_state("open").on_enter.append("creak")
    return machine


def test_a_machine_becomes_a_flow() -> None:
    """Strings and functions become names, `=` a re-entry, None an internal transition."""
    flow = from_transitions(_door())
    assert (flow.name, flow.initial, list(flow.states)) == ("door", "shut", ["shut", "open"])
    assert list(flow.triggers) == ["pull", "push"]
    taken, stays = flow.states["shut"].on["pull"]
    assert (taken.dest, taken.conditions, taken.unless) == ("open", ("has_key",), ("lost",))
    assert taken.actions == ("creak",)
    assert stays.dest is None
    assert flow.states["open"].on["push"][0].dest == "open"
    assert flow.host_facts == ("has_key", "lost")


def test_the_flow_of_a_machine_is_valid() -> None:
    """What comes of a machine can be written as YAML and loads without a finding."""
    flow = from_transitions(_door())
    assert parse_flow(flow_to_yaml(flow)) == (flow, [])


def test_states_may_be_an_enum() -> None:
    """Members of an Enum are called by their names."""
    kind = enum.Enum("Light", "RED GREEN")
    rows = [{"trigger": "go", "source": kind.RED, "dest": kind.GREEN}]
    machine = transitions.Machine(states=kind, transitions=rows, initial=kind.RED)
    flow = from_transitions(machine)
    assert flow.initial == "RED"
    assert flow.states["RED"].on["go"][0].dest == "GREEN"


def _lambda(machine: transitions.Machine) -> None:
    machine.add_transition("go", "a", "b", conditions=[lambda: True])


def _partial(machine: transitions.Machine) -> None:
    machine.add_transition("go", "a", "b", after=[functools.partial(print, "x")])


def _two_of_one_name(machine: transitions.Machine) -> None:
    def guard() -> bool:
        return True

    first = guard

    def guard() -> bool:  # type: ignore[no-redef]
        return False

    machine.add_transition("go", "a", "b", conditions=[first, guard])


def _both(machine: transitions.Machine) -> None:
    machine.add_transition("go", "a", "b", conditions=["x"], unless=["x"])


def _prepare(machine: transitions.Machine) -> None:
    machine.add_transition("go", "a", "b", prepare=["x"])


def _finalize(machine: transitions.Machine) -> None:
    machine.finalize_event.append("x")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (_lambda, r"transition 'go' of state 'a' has a condition without a name .*define it with"),
        (_partial, r"has a callback without a name"),
        (_two_of_one_name, r"a condition 'guard', but another one has this name; rename"),
        (_both, r"can never be taken: 'x' is in conditions and in unless"),
        (_prepare, r"has a prepare callback; guards of a flow have no side effect"),
        (_finalize, r"a flow has no finalize_event; take it out of the machine"),
    ],
)
def test_callbacks_without_a_place_in_a_flow_are_named(
    spoil: Callable[[transitions.Machine], None], message: str
) -> None:
    """A callback without a place in a flow is named, with the remedy."""
    machine = transitions.Machine(states=["a", "b"], initial="a")
    spoil(machine)
    with pytest.raises(FlowError, match=message):
        from_transitions(machine)


def test_nested_states_are_refused() -> None:
    """A hierarchical machine with children, or with parallel ones, is no flow."""
    nested = {"name": "b", "children": ["x", "y"], "initial": "x"}
    with pytest.raises(FlowError, match="no nested or parallel states"):
        from_transitions(HierarchicalMachine(states=["a", nested], initial="a"))
    parallel = {"name": "b", "parallel": ["x", "y"]}
    with pytest.raises(FlowError, match="no nested or parallel states"):
        from_transitions(HierarchicalMachine(states=["a", parallel], initial="b"))


def test_timeouts_and_a_missing_start_are_refused() -> None:
    """A callback on a timeout is no timer, and a flow starts somewhere."""
    kind = add_state_features(Timeout)(type("Timed", (transitions.Machine,), {}))
    states = ["a", {"name": "b", "timeout": 3, "on_timeout": "x"}]
    with pytest.raises(FlowError, match="state 'b' has a timeout callback"):
        from_transitions(kind(states=states, initial="a"))
    with pytest.raises(FlowError, match="no initial state"):
        from_transitions(transitions.Machine(None, states=["a"], initial=None))
