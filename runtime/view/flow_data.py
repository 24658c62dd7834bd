"""A flow as data for the page: its picture, names, and positions in the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from turnfsm.fsm.diagram import Theme, render
from turnfsm.fsm.diagram.svg import chart_style
from turnfsm.fsm.diagram.theme import DARK, LIGHT, state_color
from turnfsm.fsm.errors import quoted
from turnfsm.fsm.flow import NEVER, Action, Flow
from turnfsm.fsm.places import Places

from .settings import InForce

__all__ = ["flow_data"]

_THEMES: tuple[Theme, ...] = ("light", "dark")

_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def flow_data(flow: Flow, timers: Mapping[str, float] | None = None) -> dict[str, Any]:
    """What the page shows of a flow. `timers` are seconds that override those of the flow."""
    seconds = {**flow.timers, **(timers or {})}
    drawn = render(flow, overview=True, theme="light").decode()
    return {
        "name": flow.name,
        "is": flow.is_,
        "initial": flow.initial,
        "svg": _STYLE.sub("", drawn),
        "themes": {theme: _theme(theme, len(flow.states)) for theme in _THEMES},
        "states": {
            name: {"is": body.is_, "timers": list(body.after), "final": body.final}
            for name, body in flow.states.items()
        },
        "facts": {
            name: {
                "is": " ".join(filter(None, (fact.is_, _phrases(flow, name)))),
                "scope": "host" if fact.host else (fact.scope or "session"),
                "judged": name in flow.phrases,
            }
            for name, fact in flow.facts.items()
        },
        "triggers": {
            name: {"is": t.is_ + (f" RPC {t.rpc}." if t.rpc else ""), "kind": t.kind}
            for name, t in flow.triggers.items()
        },
        "timers": {name: None if s == NEVER else s for name, s in seconds.items()},
        "actions": {name: action.is_ or _says(action) for name, action in flow.actions.items()},
        "settings": InForce(flow, flow.initial).all(),
        "source": Places(flow).to_json(),
    }


def _says(action: Action) -> str:
    if not (action.say or action.audio):
        return ""
    fixed = "" if action.interruptible else ", which cannot be interrupted"
    if action.audio:
        return f"Play {quoted(action.audio)}{fixed}."
    return f"Say {' or '.join(map(quoted, action.say))}{fixed}"


def _phrases(flow: Flow, fact: str) -> str:
    if (phrases := flow.phrases.get(fact)) is None:
        return ""
    given = {"Lists": phrases.lists, "also": phrases.also, "without": phrases.without}
    parts = [f"{name} {', '.join(words)}" for name, words in given.items() if words]
    return f"{'; '.join(parts)}{'; anywhere' if phrases.anywhere else ''}."


def _theme(theme: Theme, states: int) -> dict[str, Any]:
    """The rules of the picture, the colours of its parts and those of the states."""
    return {
        "css": chart_style(theme, states),
        "palette": DARK if theme == "dark" else LIGHT,
        "states": [state_color(index, theme) for index in range(states)],
    }
