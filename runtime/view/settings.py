"""The settings that are in force at each moment of a journal, and what each belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from turnfsm.fsm.diagram.common import settings
from turnfsm.fsm.flow import Flow, Owners
from turnfsm.fsm.journal import Entry, Record

__all__ = ["InForce", "Setting"]

Setting: TypeAlias = list[str]
"""Its name, its value, what it belongs to, and the key of its line in `Places`."""


class InForce:
    """Tracks the settings that a flow, its states, agents, tools and questions make.

    Example:
        >>> from turnfsm import load_flow
        >>> InForce(load_flow("half_duplex"), "speaking").all()[-1]
        ['mute', 'true', 'state speaking', 'state speaking.mute']
    """

    def __init__(self, flow: Flow, state: str) -> None:
        self._flow, self._state = flow, state
        self._owners = Owners()
        self._expected: str | None = None
        self._running: dict[str, Setting] = {}

    def feed(self, record: Record) -> bool:
        """Take the next record. Returns whether the settings may have changed."""
        if isinstance(record, Entry):
            before, self._state = self._state, record.verdict.dest
            return before != self._state
        data = record.data
        match record.kind:
            case "settings":
                tools = tuple(data.get("tools") or ())
                self._owners = Owners(data.get("agent"), tools, data.get("question"))
            case "expected":
                self._expected = data.get("what")
            case "tool_started":
                name, policy = str(data.get("name")), str(data.get("policy"))
                self._running[str(data.get("call"))] = self._of_call(name, policy)
            case "tool_ended":
                self._running.pop(str(data.get("call")), None)
            case _:
                return False
        return True

    def all(self) -> list[Setting]:
        """The settings that are in force, each once."""
        found = {setting[0]: setting for setting in self._declared()}
        if self._expected is not None:
            found["expect"] = ["expect", self._expected, "what was asked", ""]
        for name, policy, *place in self._running.values():
            found[name] = [name, f"{policy}, runs", *place]
        return list(found.values())

    def _declared(self) -> Iterator[Setting]:
        """Those of the flow; a later one overrides one of the same name."""
        flow = self._flow
        if flow.kind != "turn":
            return
        yield ["policy of a tool", flow.tools.interrupted, "flow", "tools.interrupted"]
        for tool, policy in flow.tools.by_name.items():
            yield [_policy(tool), policy, "flow", f"tools.by_name.{tool}"]
        for kind, name, tuning, _ in flow.tunings_in(self._state, self._owners):
            owner = f"{kind} {name}"
            if kind == "question":
                yield ["expect", str(flow.questions[name]), owner, f"={owner}"]
            for field, value in settings(tuning).items():
                if field != "policies":
                    yield [field, value, owner, f"{owner}.{field}"]
            for tool, policy in (tuning.policies or {}).items():
                yield [_policy(tool), policy, owner, f"{owner}.policies"]

    def _of_call(self, tool: str, policy: str) -> Setting:
        """The policy of a call that begins now: the one that the flow declares last, or one of the
        application."""
        declared = {name: rest for name, *rest in self._declared()}
        for name in (_policy(tool), "policy of a tool"):
            if name in declared and declared[name][0] == policy:
                return [_policy(tool), *declared[name]]
        return [_policy(tool), policy, "the application", ""]


def _policy(tool: str) -> str:
    return f"policy of {tool}"
