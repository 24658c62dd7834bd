"""The same turn cycle on each engine: `fire(trigger)` moves it, `state()` tells where it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from transitions import Machine as TransitionsMachine

from fsm import Machine, load_flow

__all__ = ["ENGINES", "Engine"]


class Engine(NamedTuple):
    """An engine that is ready to run; refused triggers change nothing and raise nothing."""

    fire: Callable[[str], Any]
    state: Callable[[], str]


class Floor:
    """What no engine can beat in Python: every branch written out, facts as attributes."""

    __slots__ = ("state", "tools_running", "user_speaking")

    def __init__(self) -> None:
        self.state = "listening"
        self.tools_running = self.user_speaking = False

    def fire(self, trigger: str) -> bool:
        if trigger == "user_started":
            self.user_speaking = True
            return True
        if trigger == "user_stopped":
            self.user_speaking = False
            return True
        state = self.state
        if state == "listening":
            if trigger == "turn_committed" and not self.user_speaking:
                self.state = "thinking"
                return True
        elif state == "thinking":
            if trigger == "tool_started":
                self.tools_running = True
                self.state = "tool_running"
                return True
            if trigger == "playout_started":
                self.state = "speaking"
                return True
            if trigger == "preemptive_generation" and not self.tools_running:
                return True
        elif state == "tool_running":
            if trigger == "tools_drained":
                self.tools_running = False
                self.state = "thinking"
                return True
            if trigger == "preemptive_generation" and not self.tools_running:
                self.state = "thinking"
                return True
        elif state == "speaking":
            if trigger == "user_paused_output":
                self.state = "paused"
                return True
            if trigger == "playout_finished":
                self.state = "listening"
                return True
        elif state == "paused":
            if trigger == "output_resumed" and not self.user_speaking:
                self.state = "speaking"
                return True
            if trigger == "barge_in":
                self.state = "interrupted"
                return True
        elif state == "interrupted" and trigger == "settled":
            self.state = "listening"
            return True
        return False


class Model:
    """What `transitions` drives: facts as attributes, guards by name, facts kept by callbacks."""

    state: str
    trigger: Callable[[str], bool]

    def __init__(self) -> None:
        self.user_speaking = self.tools_running = False

    def hear(self) -> None:
        self.user_speaking = True

    def hush(self) -> None:
        self.user_speaking = False

    def begin_tools(self) -> None:
        self.tools_running = True

    def end_tools(self) -> None:
        self.tools_running = False


def _floor() -> Engine:
    floor = Floor()
    return Engine(floor.fire, lambda: floor.state)


def _machine() -> Engine:
    machine = Machine(load_flow(Path(__file__).with_name("cycle.yaml")))
    return Engine(machine.step, lambda: machine.state)


def _transitions(queued: bool = False) -> Engine:
    flow, model = load_flow(Path(__file__).with_name("cycle.yaml")), Model()
    rows: list[dict[str, Any]] = [
        {
            "trigger": row.trigger,
            "source": row.source,
            "dest": row.dest,
            "conditions": list(row.transition.conditions),
            "unless": list(row.transition.unless),
        }
        for name in flow.states
        for row in flow.rows(name)
    ]
    facts = {"user_started": "hear", "user_stopped": "hush"}
    rows += [{"trigger": t, "source": "*", "dest": None, "after": a} for t, a in facts.items()]
    after = {"tool_started": "begin_tools", "tools_drained": "end_tools"}
    rows = [
        {**row, "after": after[row["trigger"]]} if row["trigger"] in after else row for row in rows
    ]
    TransitionsMachine(
        model,
        states=list(flow.states),
        transitions=rows,
        initial=flow.initial,
        auto_transitions=False,
        ignore_invalid_triggers=True,
        queued=queued,
    )
    return Engine(model.trigger, lambda: model.state)


ENGINES: dict[str, Callable[[], Engine]] = {
    "if/elif (the floor)": _floor,
    "fsm.Machine.step": _machine,
    "transitions.Machine": _transitions,
    "transitions.Machine queued": lambda: _transitions(queued=True),
}
