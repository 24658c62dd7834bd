"""The same cycle on other projects' engines, each set up as its documentation does.

Where a choice changes the speed, the faster one is taken.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from .cycle import CYCLE, FLOW, REPLIES, ROWS, STATES, Engine, Model
from .engines import new_loop

__all__ = ["PEERS", "xstate"]


HOME = Path(__file__).with_name("node")


def xstate(rounds: int) -> tuple[float, str] | str:
    """Nanoseconds of CPU time for a trigger and the versions, or why it was not measured."""
    node, package = shutil.which("node"), HOME / "node_modules/xstate/package.json"
    if node is None:
        return "XState was not measured: there is no node"
    if not package.exists():
        return "XState was not measured: npm install --prefix bench/node"
    told = {"cycle": CYCLE, "states": STATES, "initial": FLOW.initial, "replies": REPLIES}
    text = json.dumps(told | {"rows": [row._asdict() for row in ROWS], "rounds": rounds})
    ran = subprocess.run(
        [node, HOME / "cycle.mjs"], input=text, capture_output=True, text=True, timeout=300
    )
    if ran.returncode:
        return f"XState was not measured: {ran.stderr.strip().splitlines()[-1]}"
    got = json.loads(ran.stdout)
    version = json.loads(package.read_text(encoding="utf-8"))["version"]
    return got["ns"], f"xstate {version} on Node {got['node']}"


class AsyncModel(Model):
    """The same with a coroutine as its action. Guards and facts are synchronous."""

    async def reply(self) -> None:  # type: ignore[override]
        self.replies += 1


def _transitions(machine: Callable[..., Any], model: Model, **options: Any) -> Engine:
    rows = [
        {
            "trigger": row.trigger,
            "source": row.source,
            "dest": row.dest,
            "conditions": row.conditions,
            "unless": row.unless,
            "after": row.actions,
        }
        for row in ROWS
    ]
    machine(
        model,
        states=list(STATES),
        transitions=rows,
        initial=FLOW.initial,
        auto_transitions=False,
        ignore_invalid_triggers=True,
        **options,
    )
    driven: Any = model
    return Engine(driven.trigger, lambda: driven.state, lambda: model.replies)


def _transitions_sync(**options: Any) -> Engine:
    from transitions import Machine

    return _transitions(Machine, Model(), **options)


def _transitions_async(kind: str = "asyncio") -> Engine:
    from transitions.extensions.asyncio import AsyncMachine

    engine = _transitions(AsyncMachine, AsyncModel())
    loop = new_loop(kind)
    return engine._replace(loop=loop, close=loop.close)


def _statechart() -> Any:
    """A StateChart of python-statemachine."""
    from statemachine import State, StateChart
    from statemachine.states import States

    states = {name: State(name, initial=name == FLOW.initial) for name in STATES}
    body: dict[str, Any] = {"_states": States(states), "__module__": __name__}
    for row in ROWS:
        more = {"cond": row.conditions, "unless": row.unless, "on": row.actions}
        more = {key: value for key, value in more.items() if value}
        made = (
            states[row.source].to.itself(internal=True, **more)
            if row.dest is None
            else states[row.source].to(states[row.dest], **more)
        )
        body[row.trigger] = body[row.trigger] | made if row.trigger in body else made
    return type(StateChart)("Turn", (StateChart,), body)


def _psm() -> Engine:
    model = Model()
    machine = _statechart()(model)
    return Engine(machine.send, lambda: next(iter(machine.configuration)).id, lambda: model.replies)


def _psm_async(kind: str = "asyncio") -> Engine:
    model, loop = AsyncModel(), new_loop(kind)

    async def make() -> Any:
        machine = _statechart()(model)
        await machine.activate_initial_state()
        return machine

    machine = loop.run_until_complete(make())
    state = lambda: next(iter(machine.configuration)).id  # noqa: E731
    return Engine(machine.send, state, lambda: model.replies, loop, loop.close)


_CODE = {
    "hear": "user_speaking = True",
    "hush": "user_speaking = False",
    "begin_tools": "tools_running = True",
    "end_tools": "tools_running = False",
    "reply": "replies = replies + 1",
}


def _sismic() -> Engine:
    from sismic.interpreter import Interpreter
    from sismic.io import import_from_yaml

    per_state: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in ROWS:
        body = {"event": row.trigger, "action": "; ".join(_CODE[name] for name in row.actions)}
        if row.dest:
            body["target"] = row.dest
        if guard := " and ".join([*row.conditions, *(f"not {name}" for name in row.unless)]):
            body["guard"] = guard
        per_state[row.source].append({key: value for key, value in body.items() if value})
    states = [{"name": name, "transitions": per_state[name]} for name in STATES]
    root = {"name": "root", "initial": FLOW.initial, "states": states}
    preamble = "user_speaking = False\ntools_running = False\nreplies = 0"
    chart = {"statechart": {"name": "turn", "preamble": preamble, "root state": root}}
    interpreter = Interpreter(import_from_yaml(yaml.safe_dump(chart)), ignore_contract=True)
    interpreter.execute_once()

    def fire(trigger: str) -> None:
        interpreter.queue(trigger)
        interpreter.execute_once()

    context = interpreter.context
    return Engine(fire, lambda: interpreter.configuration[-1], lambda: context["replies"])


def _automat() -> Engine:
    """Automat has no guards: the driver checks the facts before it calls the input."""
    from automat import NoTransition, TypeMachineBuilder

    inputs = type("Inputs", (), {name: _input(name) for name in FLOW.triggers})
    builder: Any = TypeMachineBuilder(inputs, Model)
    states: dict[str, Any] = {name: builder.state(name) for name in STATES}
    guards: dict[tuple[str, str], list[str]] = {}
    for row in ROWS:
        upon = states[row.source].upon(getattr(inputs, row.trigger))
        (upon.loop() if row.dest is None else upon.to(states[row.dest]))(_output(row.actions))
        if row.unless:
            guards[row.source, row.trigger] = row.unless
    model = Model()
    machine: Any = builder.build()(model)

    def state() -> str:
        name: str = machine.__automat_transitioner__._state.name
        return name

    def fire(trigger: str) -> None:
        unless = guards.get((state(), trigger))
        if unless and any(getattr(model, fact) for fact in unless):
            return
        with suppress(NoTransition):
            getattr(machine, trigger)()

    return Engine(fire, state, lambda: model.replies)


def _input(name: str) -> Any:
    def method(self: Any) -> None: ...

    method.__name__ = name
    return method


def _output(actions: list[str]) -> Any:
    def output(inputs: Any, model: Model) -> None:
        for action in actions:
            getattr(model, action)()

    return output


def _xsm_machine() -> Any:
    from xstate_statemachine import MachineLogic, create_machine

    states: dict[str, Any] = {name: {"on": defaultdict(list)} for name in STATES}
    guards: dict[str, Any] = {}
    for row in ROWS:
        body: dict[str, Any] = {"actions": row.actions}
        if row.dest:
            body["target"] = row.dest
        for fact in row.unless:
            body["guard"] = f"not_{fact}"
            guards[f"not_{fact}"] = lambda context, event, fact=fact: not context[fact]
        states[row.source]["on"][row.trigger].append(body)
    for body in states.values():
        body["on"] = dict(body["on"])
    facts = {"user_speaking": False, "tools_running": False, "replies": 0}
    config = {"id": "turn", "initial": FLOW.initial, "context": facts, "states": states}
    return create_machine(config, logic=MachineLogic(actions=_XSM_ACTIONS, guards=guards))


def _sets(fact: str, value: bool) -> Any:
    def action(interpreter: Any, context: Any, event: Any, definition: Any) -> None:
        context[fact] = value

    return action


def _xsm_reply(interpreter: Any, context: Any, event: Any, definition: Any) -> None:
    context["replies"] += 1


_XSM_ACTIONS = {
    "hear": _sets("user_speaking", True),
    "hush": _sets("user_speaking", False),
    "begin_tools": _sets("tools_running", True),
    "end_tools": _sets("tools_running", False),
    "reply": _xsm_reply,
}


def _xsm() -> Engine:
    from xstate_statemachine import SyncInterpreter

    actor: Any = SyncInterpreter(_xsm_machine()).start()
    state = lambda: next(iter(actor.current_state_ids)).split(".")[-1]  # noqa: E731
    return Engine(actor.send, state, lambda: actor.context["replies"])


PEERS: dict[str, Callable[[], Engine]] = {
    "automat": _automat,
    "transitions": _transitions_sync,
    "transitions, queued": lambda: _transitions_sync(queued=True),
    "transitions, AsyncMachine": _transitions_async,
    "transitions, AsyncMachine, uvloop": lambda: _transitions_async("uvloop"),
    "xstate-statemachine": _xsm,
    "sismic": _sismic,
    "python-statemachine": _psm,
    "python-statemachine, async": _psm_async,
    "python-statemachine, async, uvloop": lambda: _psm_async("uvloop"),
}
