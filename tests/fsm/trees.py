"""Random trees near a flow, for the loader and the schema."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from turnfsm.fsm import shipped_flows
from turnfsm.fsm.load.yaml12 import read_nodes, unfold
from turnfsm.fsm.source import Page, Source

__all__ = ["EVERY_KEY", "TURN", "TURN_TREE", "as_yaml", "mutated_trees", "near_flows", "tree_of"]

TURN = shipped_flows()["turn"].read_text(encoding="utf-8")
_KEYS = """flow kind is initial scopes begins ends requests events of facts session set_by
    cleared_by host timers actions owner done failed groups in ignores states on after
    refuses final dest conditions unless properties never always leads_to waived name action
    state when because from to within
    extends turn listening barge_in go""".split()  # noqa: SIM905 (lines instead of words)


def tree_of(text: str) -> Any:
    """The plain data of a text."""
    page = Page("turn.yaml", text)
    root, _ = read_nodes(page)
    assert root is not None
    return unfold(root, Source(page))


TURN_TREE: dict[str, Any] = tree_of(TURN)
EVERY_KEY: dict[str, Any] = tree_of(Path(__file__).with_name("every_key.yaml").read_text("utf-8"))
"""A flow with each section and nearly each key."""

# Without control characters and surrogates: what JSON then writes is YAML, too.
_TEXTS = st.text(st.characters(exclude_categories=["C"]), max_size=8)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 100_000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([*_KEYS, "", "a b", "host", "request", "\u97f3\u58f0", "true", "1e999"]),
    _TEXTS,
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_KEYS) | _TEXTS, inner, max_size=3)
    ),
    max_leaves=8,
)

_names = st.sampled_from(["a", "b", "go"])
_transition = st.fixed_dictionaries(
    {}, optional={"dest": _names, "conditions": _VALUES, "unless": _names, "actions": _VALUES}
)
_state = st.fixed_dictionaries(
    {},
    optional={
        "is": _SCALARS,
        "on": st.dictionaries(_names, _transition | st.lists(_transition, max_size=2) | _VALUES),
        "after": st.dictionaries(_names, _transition | _VALUES, max_size=2),
        "refuses": st.lists(_names, max_size=2) | _VALUES,
        "ignores": _names | _VALUES,
        "in": _names | _VALUES,
        "final": st.booleans() | _VALUES,
    },
)


def as_yaml(tree: Any) -> str:
    """The tree as JSON, which is YAML."""
    return json.dumps(tree, ensure_ascii=False)


@st.composite
def near_flows(draw: st.DrawFn) -> Any:
    """Trees with a flow's keys and, mostly, values that fit them."""
    sections = st.dictionaries(_names, _VALUES, max_size=2) | _VALUES
    optional = dict.fromkeys(
        ("scopes", "requests", "events", "facts", "timers", "actions", "groups"), sections
    )
    optional |= {"kind": _SCALARS, "is": _SCALARS, "properties": _VALUES, draw(_names): _VALUES}
    required = {
        "flow": _names | _SCALARS,
        "initial": _names | _SCALARS,
        "states": st.dictionaries(_names, _state | _VALUES, min_size=1, max_size=2) | _VALUES,
    }
    return draw(st.fixed_dictionaries(required, optional=optional))


@st.composite
def mutated_trees(draw: st.DrawFn, tree: Any) -> Any:
    """The tree with one value replaced, removed or put under another key."""
    changed = copy.deepcopy(tree)
    place, key = draw(st.sampled_from(list(_places(changed))))
    value = place.pop(key)
    kind = draw(st.sampled_from(["replace", "remove", "rename"]))
    if kind == "replace":
        place.insert(key, draw(_VALUES)) if isinstance(place, list) else None
        if isinstance(place, dict):
            place[key] = draw(_VALUES)
    elif kind == "rename" and isinstance(place, dict):
        place[draw(st.sampled_from(_KEYS) | _TEXTS)] = value
    return changed


def _places(tree: Any) -> Any:
    children = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, child in list(children):
        yield tree, key
        if isinstance(child, (dict, list)):
            yield from _places(child)
