"""Writes a flow as a machine of XState 5.

The configuration is data. The functions that it names (``holds``, ``note``, ``again``) are short
and the same for every flow: `xstate_module` writes both, ready to import. An event is
``{type: TRIGGER, of: STEP}``; ``{type: 'turnfsm.set_host_facts', facts: {...}}`` sets host facts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from turnfsm.fsm.errors import FlowError
from turnfsm.fsm.flow import NEVER, Flow, Row, Transition
from turnfsm.fsm.program import compile_flow

from .updates import update_of

__all__ = ["to_xstate", "xstate_module"]

_LONGEST = 2**31 - 1
"""The longest delay of a JavaScript timer, in milliseconds: 24 days. For timers that never fire."""

_MODULE = """\
// The flow {name!r} for XState 5, written by turnfsm: createActor(machine).start()
import {{ assign, enqueueActions, setup }} from "xstate";

export const config = {config};

export const delays = {delays};

export const implementations = {{
  guards: {{
    holds: ({{ context, event }}, {{ all = [], none = [], of, due }}) =>
      (due === undefined || context.due.includes(due)) &&
      all.every((fact) => context.facts[fact]) &&
      !none.some((fact) => context.facts[fact]) &&
      (of === undefined || event.of == null || context.tokens[of] === event.of),
  }},
  actions: {{
    setHostFacts: assign({{
      facts: ({{ context, event }}) => ({{ ...context.facts, ...event.facts }}),
    }}),
    note: assign(({{ context, event }}, {{ clears, sets, begins, ends }}) => {{
      const facts = {{ ...context.facts }};
      for (const fact of clears) facts[fact] = false;
      for (const fact of sets) facts[fact] = true;
      const tokens = {{ ...context.tokens }};
      for (const scope of begins) tokens[scope] = event.of;
      for (const scope of ends) delete tokens[scope];
      return {{ facts, tokens }};
    }}),
    // Restarts a timer although its state is not entered; leaving the state cancels it by its id.
    // A timer that was refused by its guards is due: it is taken as soon as a guard holds.
    again: enqueueActions(({{ context, enqueue }}, {{ timer, id, due }}) => {{
      enqueue.cancel(id);
      enqueue.raise({{ type: id }}, {{ id, delay: delays[timer] }});
      const others = context.due.filter((other) => other !== timer);
      enqueue.assign({{ due: due ? [...others, timer] : others }});
    }}),
    nothingDue: assign({{ due: [] }}),
    // What the host carries out: machine.provide({{ actions: {{ NAME: ... }} }})
{actions}
  }},
  delays,
}};

export const machine = setup(implementations).createMachine(config);
"""


def to_xstate(flow: Flow) -> dict[str, Any]:
    """The machine's configuration for ``createMachine``, as JSON.

    Timers are named delays. As in the event pump, one that does not leave its state starts again.

    Raises:
        FlowError: A state has a name that XState would read as a path, or a timer is lasting.
    """
    if flow.lasting:
        remedy = "export a flow without 'lasting'"
        raise FlowError(
            f"XState stops a timer with its state, but {flow.lasting[0]!r} is lasting; {remedy}"
        )
    for state in flow.states:
        if "." in state or "#" in state:
            raise FlowError(f"state {state!r} is a path for XState; rename it")
    config: dict[str, Any] = {
        "id": flow.name,
        "initial": flow.initial,
        "context": {"facts": dict.fromkeys(flow.facts, False), "tokens": {}, "due": []},
        "on": {"turnfsm.set_host_facts": {"actions": "setHostFacts"}},
        "states": {name: _state(flow, name) for name in flow.states},
    }
    return config | ({"description": flow.is_} if flow.is_ else {})


def xstate_module(flow: Flow) -> str:
    """An ES module that exports ``machine``, ``config``, ``implementations`` and ``delays``."""
    names = (json.dumps(name) for name in flow.actions)
    return _MODULE.format(
        name=flow.name,
        config=json.dumps(to_xstate(flow), indent=2, ensure_ascii=False),
        delays=json.dumps({name: _delay(seconds) for name, seconds in flow.timers.items()}),
        actions="\n".join(f"    {name}: () => {{}}," for name in names),
    )


def _delay(seconds: float) -> float:
    """Milliseconds."""
    return _LONGEST if seconds == NEVER else round(seconds * 1000, 3)


def _state(flow: Flow, name: str) -> dict[str, Any]:
    body = flow.states[name]
    state: dict[str, Any] = {"description": body.is_} if body.is_ else {}
    if body.final:
        return state | {"type": "final"}
    on: dict[str, list[dict[str, Any]]] = {}
    after: dict[str, list[dict[str, Any]]] = {}
    for row in flow.rows(name):
        table = after if row.timer else on
        table.setdefault(row.trigger, []).append(_transition(flow, row))
    due = [_if_due(entry, timer) for timer, rows in after.items() for entry in rows]
    for timer, rows in after.items():
        rows.append({"actions": [_again(flow, name, timer, due=True)]})
    for trigger in compile_flow(flow).facts_only(name):
        on.setdefault(trigger, []).append(_entry(flow, trigger, Transition()))
    if due:
        state |= {"entry": "nothingDue", "always": due}
    return state | {key: table for key, table in (("on", on), ("after", after)) if table}


def _if_due(entry: dict[str, Any], timer: str) -> dict[str, Any]:
    """The transition of a timer that is due, taken as soon as its guard holds."""
    wanted = entry.get("guard", {}).get("params", {})
    return entry | {"guard": _call("holds", **wanted, due=timer)}


def _transition(flow: Flow, row: Row) -> dict[str, Any]:
    entry = _entry(flow, row.trigger, row.transition)
    if not row.internal:
        return entry | {"target": row.dest} | ({"reenter": True} if row.dest == row.source else {})
    timers = (row.trigger, *row.transition.restarts) if row.timer else row.transition.restarts
    again = [_again(flow, row.source, t) for t in timers if t in flow.states[row.source].after]
    return entry | ({"actions": [*entry.get("actions", ()), *again]} if again else {})


def _again(flow: Flow, state: str, timer: str, *, due: bool = False) -> dict[str, Any]:
    """Start a timer again, under the id that XState gives it."""
    return _call("again", timer=timer, id=f"xstate.after.{timer}.{flow.name}.{state}", due=due)


def _entry(flow: Flow, trigger: str, body: Transition) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    program = compile_flow(flow)
    fence = program.compared.get(trigger)
    wanted: dict[str, Sequence[str] | str | None]
    wanted = {"all": body.conditions, "none": body.unless, "of": fence}
    if params := {key: value for key, value in wanted.items() if value}:
        entry["guard"] = _call("holds", **params)
    update = update_of(program, trigger)
    actions: list[Any] = [*body.actions]
    if any(update):
        actions.insert(0, _call("note", **update._asdict()))
    return entry | ({"actions": actions} if actions else {})


def _call(kind: str, **params: Any) -> dict[str, Any]:
    return {"type": kind, "params": params}
