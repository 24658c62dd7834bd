"""`python -m bench.dictation`: the end of a turn that answers a question, on both sessions.

    python -m bench.dictation                  200 answers from a new seed
    python -m bench.dictation --seed 7 --count 400
    python -m bench.dictation --docs           the same, into docs/dictation.md
    python -m bench.dictation --session "TurnSession, expect" --count 10000

Each answer is a conversation in virtual time. The STT gives interim transcripts, and revises some.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import attrs
from livekit.agents import AgentSession

from turnfsm.livekit import TurnSession
from turnfsm.testing import Outcome, ScriptedLLM, ScriptedUser, ScriptedVAD, Stage, Utterance

from .frame import Frame, in_processes, quantile
from .frame import table as markdown
from .heard import SILERO_MIN_SILENCE, interims, replay

__all__ = [
    "KINDS",
    "LENGTH",
    "SESSIONS",
    "WAIT",
    "Drawn",
    "Seen",
    "draw",
    "main",
    "play",
    "table",
]


Kind = Literal["number", "yes or no", "part of a number"]
KINDS: tuple[Kind, ...] = ("number", "yes or no", "part of a number")

WAIT = 4.0
LENGTH = 10
WORDS = ("oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
ANSWERS = ("yes", "no", "yes please", "no thank you", "yeah that's right", "nope", "correct")
FILLERS = ("um", "uh", "and then")
REPLY = "Thank you."

PATIENT: Any = {"endpointing": {"min_delay": 2.2, "max_delay": 3.0}}
SESSIONS: Mapping[str, Callable[..., AgentSession[Any]]] = {
    "AgentSession": AgentSession,
    "AgentSession, min_delay 2.2": partial(AgentSession, turn_handling=PATIENT),
    "TurnSession, expect": TurnSession,
}


@attrs.frozen
class Drawn:
    """One answer to a question.

    Attributes:
        kind: A number of ten digits, yes or no, or a number that the caller does not finish.
        groups: What they say, with pauses between.
    """

    kind: Kind
    groups: tuple[Utterance, ...]

    @property
    def end(self) -> float:
        """When the last word ends."""
        return self.groups[-1].end


@attrs.frozen
class Seen:
    """The outcome of an answer.

    Attributes:
        turns: The transcript of each turn that the agent got.
        answered_after: Seconds from the last word until the agent is heard; None: it is not.
    """

    drawn: Drawn
    turns: tuple[str, ...]
    answered_after: float | None

    @property
    def cut_off(self) -> bool:
        """A turn ended before the last word."""
        return len(self.turns) > 1


def draw(seed: int, count: int) -> list[Drawn]:
    """Draw so many answers. Half of them are numbers."""
    dice = random.Random(seed)
    return [
        _one(("number", "yes or no", "number", "part of a number")[n % 4], dice)
        for n in range(count)
    ]


def _one(kind: Any, dice: random.Random) -> Drawn:
    if kind == "yes or no":
        return Drawn(kind, _groups([dice.choice(ANSWERS)], dice))
    digits = [dice.choice(WORDS) for _ in range(LENGTH)]
    cuts = sorted(dice.sample(range(2, LENGTH - 1), dice.choice((1, 2, 2, 3))))
    parts = [digits[a:b] for a, b in zip([0, *cuts], [*cuts, LENGTH], strict=True)]
    if kind == "part of a number":
        parts = parts[:-1]
    return Drawn(kind, _groups([_said(part, dice) for part in parts], dice))


def _said(digits: list[str], dice: random.Random) -> str:
    filler = [dice.choice(FILLERS)] if dice.random() < 0.2 else []
    return " ".join([*filler, *digits])


def _groups(texts: list[str], dice: random.Random) -> tuple[Utterance, ...]:
    made, at = [], 1.0
    for text in texts:
        words = text.split()
        each = [dice.uniform(0.25, 0.4) for _ in words]
        lag = dice.uniform(0.1, 0.3)  # from the end of a word to its interim transcript
        shown = tuple((at, _revised(so_far, dice)) for at, so_far in interims(words, each, lag))
        made.append(Utterance(at, sum(each), text, dice.uniform(0.2, 0.5), shown))
        at += sum(each) + dice.uniform(0.7, 2.0)
    return tuple(made)


def _revised(so_far: str, dice: random.Random) -> str:
    """The transcript so far. Sometimes its last word is wrong, and the STT revises it later."""
    *first, last = so_far.split()
    return " ".join([*first, dice.choice(WORDS) if dice.random() < 0.1 else last])


def play(name: str, drawn: Drawn) -> Seen:
    """Play one answer in virtual time on a session of this name."""
    stage = Stage(
        SESSIONS[name],
        user=replay(drawn.groups, ScriptedUser(), 0.0),
        llm=ScriptedLLM({}, otherwise=REPLY),
        vad=ScriptedVAD(min_silence=SILERO_MIN_SILENCE),
    )
    if SESSIONS[name] is TurnSession:
        stage.at(0.5, partial(_ask, drawn.kind))
    return _seen(drawn, stage.run(drawn.end + WAIT + 8.0))


def _ask(kind: Kind, stage: Stage) -> None:
    session: Any = stage.session
    turn = session.turn
    if kind == "yes or no":
        turn.expect("yes_no", wait=WAIT)
    else:
        turn.expect("digits", length=LENGTH, wait=WAIT)


def _seen(drawn: Drawn, outcome: Outcome) -> Seen:
    said = [line for line in outcome.context if line.startswith("user: ")]
    after = [heard.start - drawn.end for heard in outcome.heard if heard.start > drawn.end]
    turns = tuple(line.removeprefix("user: ") for line in said)
    return Seen(drawn, turns, min(after) if after else None)


def measure(seed: int, count: int, sessions: Iterable[str] = SESSIONS) -> dict[str, list[Seen]]:
    """Play the same answers on each session, in as many processes as there are cores."""
    drawn = draw(seed, count)
    return {name: in_processes(partial(play, name), drawn) for name in sessions}


_ROWS: tuple[tuple[str, Kind, float | None], ...] = (
    ("numbers that are cut off", "number", None),
    ("number to answer, median", "number", 0.5),
    ("number to answer, p95", "number", 0.95),
    ("yes or no to answer, median", "yes or no", 0.5),
    ("yes or no to answer, p95", "yes or no", 0.95),
    ("numbers that are not finished, and are cut off", "part of a number", None),
    ("last digit to answer, if the number is not finished, median", "part of a number", 0.5),
)
"""A line of the table: its name, the kind of answer, and a quantile of the seconds; None: the share
that is cut off."""


def table(seen: Mapping[str, Sequence[Seen]]) -> str:
    """The figures as Markdown."""
    rows = []
    for name, kind, share in _ROWS:
        of_kind = [[one for one in of if one.drawn.kind == kind] for of in seen.values()]
        rows.append((name, *(_cell(of, share) for of in of_kind)))
    return markdown(("", *(f"`{name}`" for name in seen)), rows)


def _cell(seen: Sequence[Seen], share: float | None) -> str:
    if share is None:
        return f"{sum(one.cut_off for one in seen)} of {len(seen)}"
    seconds = quantile((one.answered_after for one in seen), share)
    return "none" if seconds is None else f"{seconds:.2f} s"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    one = {"choices": SESSIONS, "action": "append", "help": "only this one"}
    frame = Frame(str(__doc__), "dictation.md", arguments, count=200, session=one)
    options = frame.options
    if options.docs and options.session:
        frame.error("--docs writes all sessions; leave out --session")
    frame.show(table(measure(options.seed, options.count, options.session or SESSIONS)))


if __name__ == "__main__":
    main()
