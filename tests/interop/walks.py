"""Random walks: what is posted, of which step, and what the host answers meanwhile."""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from hypothesis import strategies as st

from turnfsm.fsm import Flow

__all__ = ["Post", "numbers", "walk"]

Numbers = list[tuple[int, int, int]]


@attrs.frozen
class Post:
    """One trigger or timer, after the host's answers have changed to `host_facts`."""

    trigger: str
    of: int | None
    host_facts: Mapping[str, bool]


def numbers(most: int = 60) -> st.SearchStrategy[Numbers]:
    """Numbers that `walk` reads as posts, whatever the flow."""
    post = st.tuples(st.integers(0, 999), st.integers(0, 3), st.integers(0, 255))
    return st.integers(0, most).flatmap(lambda n: st.lists(post, min_size=n, max_size=n))


def walk(flow: Flow, chosen: Numbers) -> list[Post]:
    """A walk through a flow: any trigger or timer, of no step or of any."""
    known = [*flow.triggers, *flow.timers]
    posts = []
    for which, of, bits in chosen:
        trigger = known[which % len(known)]
        host_facts = {name: bool(bits >> i & 1) for i, name in enumerate(flow.host_facts)}
        posts.append(Post(trigger, None if trigger in flow.timers else of or None, host_facts))
    return posts
