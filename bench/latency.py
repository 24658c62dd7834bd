"""`python -m bench.latency`: how long callers wait for answers, on AgentSession and on TurnSession.

    python -m bench.latency                       2,000 sentences of each profile, from a new seed
    python -m bench.latency --seed 7 --count 400 --profile noisy
    python -m bench.latency --docs                all of it, into docs/latency.md

Each conversation is played on both sessions in virtual time; they hear the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, cast

import attrs
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession

from .frame import Frame, in_processes, quantile
from .frame import table as markdown
from .latency_calls import PROFILES, Sound, draw, names_of, play

__all__ = ["LIMIT", "Answer", "compare", "later", "main", "table"]

LIMIT = 0.3
"""Seconds by which no answer of `TurnSession` should come later than that of `AgentSession`."""


@attrs.frozen
class Answer:
    """The answer to a sentence on both sessions, or the result that the sentence has asked for.

    Attributes:
        call: The number of the conversation.
        name: The sentence (``u3``) or the result (``r3``).
        stock, ours: Seconds from the end of the sentence, on `AgentSession` and on `TurnSession`;
            None: it was not heard.
    """

    call: int
    name: str
    stock: float | None
    ours: float | None

    @property
    def later(self) -> float | None:
        """By how many seconds `TurnSession` is later; None if the answer is not in both."""
        return None if self.stock is None or self.ours is None else self.ours - self.stock


def compare(
    profile: str,
    sounds: Sequence[Sound],
    call: int = 0,
    session: Callable[..., AgentSession[Any]] = TurnSession,
) -> list[Answer]:
    """Play a conversation on `AgentSession` and on another session."""
    stock, ours = (play(profile, sounds, one) for one in (AgentSession, session))
    return [Answer(call, name, stock.get(name), ours.get(name)) for name in names_of(sounds)]


def later(answers: Sequence[Answer]) -> list[Answer]:
    """The answers that come more than `LIMIT` later on `TurnSession`, the latest first."""
    found = [one for one in answers if one.later is not None and one.later > LIMIT]
    return sorted(found, key=lambda one: -cast(float, one.later))


def measure(profile: str, seed: int, count: int) -> list[Answer]:
    """Play so many sentences in a profile, in as many processes as there are cores."""
    drawn = draw(profile, seed, count)
    played = in_processes(partial(compare, profile), drawn, range(len(drawn)))
    return [answer for answers in played for answer in answers]


def table(answers: Mapping[str, Sequence[Answer]]) -> str:
    """The figures as Markdown. Cells with two have that of `AgentSession` first."""
    head = ("profile", "answers", "median", "p95", "p99", "never heard")
    rows = []
    for profile, of in answers.items():
        pairs = [one.later for one in of if one.later is not None]
        never = f"{sum(one.stock is None for one in of)}, {sum(one.ours is None for one in of)}"
        shares = (_seconds(of, share) for share in (0.5, 0.95, 0.99))
        earlier = sum(pair < -LIMIT for pair in pairs)
        latest = f"{max(pairs, default=0.0):.2f} s"
        rows.append((profile, len(pairs), *shares, never, earlier, len(later(of)), latest))
    return markdown((*head, "0.3 s earlier", "0.3 s later", "latest"), rows)


def _seconds(answers: Sequence[Answer], share: float) -> str:
    sides = ((one.stock for one in answers), (one.ours for one in answers))
    found = (quantile(side, share) for side in sides)
    return ", ".join("none" if seconds is None else f"{seconds:.2f} s" for seconds in found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    one = {"choices": PROFILES, "action": "append", "help": "only this one"}
    frame = Frame(str(__doc__), "latency.md", arguments, count=2000, profile=one)
    options = frame.options
    if options.docs and options.profile:
        frame.error("--docs writes all profiles; leave out --profile")
    answers: dict[str, list[Answer]] = {}
    for profile in options.profile or PROFILES:
        found = measure(profile, options.seed, options.count)
        answers[profile] = [one for one in found if one.name.startswith("u")]
        if results := [one for one in found if one.name.startswith("r")]:
            answers[f"{profile}: results"] = results
        for answer in later(found):
            what = f"{profile}, conversation {answer.call}: {answer.name}"
            print(f"{what} {answer.later:.2f} s later", flush=True)
    frame.show(table(answers))


if __name__ == "__main__":
    main()
