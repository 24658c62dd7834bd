"""The rows that most states share, which are drawn once, and settings as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from turnfsm.fsm.flow import Flow, Row, Tools, Transition, Tuning

__all__ = ["Shared", "headings", "scoped_settings", "settings", "shared_rows"]

_LEAST = 3  # rows that fewer states share are drawn in each of them


@attrs.frozen
class Shared:
    """One row of many states; without rows, one trigger that changes nothing in many states."""

    trigger: str
    states: tuple[str, ...]
    excepted: tuple[str, ...]
    rows: tuple[Row, ...] = ()


def headings(shared: Iterable[Shared]) -> Iterator[tuple[str, list[Shared]]]:
    """The entries, grouped by the states that they apply to; those without exceptions first."""
    by_states: dict[tuple[str, ...], list[Shared]] = {}
    for entry in sorted(shared, key=lambda e: len(e.excepted)):
        by_states.setdefault(entry.excepted, []).append(entry)
    for excepted, entries in by_states.items():
        but = f" but {' and '.join(excepted)}" if excepted else ""
        yield f"In every state{but}", entries


def settings(tuning: Tuning) -> dict[str, str]:
    """The settings of a tuning, by name, as YAML writes them."""
    values = attrs.asdict(tuning, recurse=False).items()
    return {name: _shown(value) for name, value in values if value is not None}


def scoped_settings(flow: Flow) -> Iterator[tuple[str, dict[str, str]]]:
    """The settings that do not belong to a state, each with the tools, agent or question."""
    policies = {"other tools": flow.tools.interrupted, **flow.tools.by_name}
    if flow.kind == "turn" and policies != {"other tools": Tools().interrupted}:
        yield "Policies of tools", {tool: str(policy) for tool, policy in policies.items()}
    for kind, name, tuning, _ in flow.tunings:
        values = settings(tuning)
        if kind == "question":
            question = flow.questions[name]
            asked = ", ".join(f'"{phrase}"' for phrase in question.asked)
            values = {"asked": asked, "expect": str(question), **values}
        if kind != "state":
            yield f"{kind.capitalize()} {name}", values


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {_shown(one)}" for name, one in value.items())
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def shared_rows(flow: Flow) -> tuple[Shared, ...]:
    """The rows that at least three states, and at least three quarters of all states, have in
    common.

    A trigger counts only with all of its alternatives, and only if it does not change the state: an
    edge is never left out.
    """
    live = tuple(name for name, state in flow.states.items() if not state.final)
    return (*_rows(flow, live), *_refusals(flow, live))


def _enough(states: list[str], live: tuple[str, ...]) -> bool:
    return len(states) >= _LEAST and 4 * len(states) >= 3 * len(live)


def _except(states: list[str], live: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in live if name not in states)


def _rows(flow: Flow, live: tuple[str, ...]) -> Iterator[Shared]:
    alike: dict[tuple[str, tuple[Transition, ...]], list[str]] = {}
    for name in live:
        for trigger, alternatives in flow.states[name].on.items():
            if all(body.dest is None for body in alternatives):
                alike.setdefault((trigger, alternatives), []).append(name)
    for (trigger, alternatives), states in alike.items():
        if not _enough(states, live):
            continue
        table = {row.id: row for name in states for row in flow.rows(name)}
        for index in range(len(alternatives)):
            rows = tuple(table[f"{name}.{trigger}.{index}"] for name in states)
            yield Shared(trigger, tuple(states), _except(states, live), rows)


def _refusals(flow: Flow, live: tuple[str, ...]) -> Iterator[Shared]:
    refused: dict[str, list[str]] = {}
    for name in live:
        for trigger in flow.without_effect(name):
            refused.setdefault(trigger, []).append(name)
    for trigger, states in refused.items():
        if _enough(states, live):
            yield Shared(trigger, tuple(states), _except(states, live))
