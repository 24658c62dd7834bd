"""A flow and its `transitions` machine, side by side."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import pytest
import transitions
from hypothesis import HealthCheck, given, settings
from strategies import flows
from walks import Numbers, Post, numbers, walk

from turnfsm.fsm import Flow, Machine, load_flow, shipped_flows
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
