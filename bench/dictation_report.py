"""The figures of `python -m bench.dictation`, and the page that it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from livekit.agents import __version__ as LIVEKIT

from .dictation_calls import WAIT, Kind, Seen

__all__ = ["page", "table"]

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
    names = [f"`{name}`" for name in seen]
    lines = [f"| | {' | '.join(names)} |", "| --- |" + " ---: |" * len(names)]
    for name, kind, share in _ROWS:
        cells = [
            _cell([one for one in of if one.drawn.kind == kind], share) for of in seen.values()
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(seen: Sequence[Seen], share: float | None) -> str:
    if share is None:
        return f"{sum(one.cut_off for one in seen)} of {len(seen)}"
    seconds = sorted(one.answered_after for one in seen if one.answered_after is not None)
    return (
        f"{seconds[min(len(seconds) - 1, int(share * len(seconds)))]:.2f} s" if seconds else "none"
    )


def page(seed: int, count: int, seen: Mapping[str, Sequence[Seen]]) -> str:
    """docs/dictation.md.

    Args:
        seed: The seed of the answers.
        seen: The outcomes by session.
    """
    return PAGE.format(version=LIVEKIT, seed=seed, count=count, table=table(seen), wait=WAIT)


PAGE = """\
# Dictation

`python -m bench.dictation --docs --seed {seed} --count {count}` writes this page; do not edit it by
hand. Without `--seed` each run draws new answers, and prints the seed.

The agent has asked for a number of ten digits, or for yes or no, and the caller answers. {count}
answers are played on `AgentSession` (livekit-agents {version}) with its default options, on an
`AgentSession` with an endpointing delay of 2.2 s, and on `TurnSession`, where
`session.turn.expect(...)` gives the expected value
([how it decides](flows.md#wait-for-what-the-user-is-asked-for)). Half of the answers are numbers in
groups, with gaps of 0.7 to 2.0 s, and a filler now and then. Time is virtual; user, VAD, STT,
model, TTS and output are those of the [kit](testing.md). The VAD reports the end of speech after
0.55 s. The STT gives an interim transcript 0.1 to 0.3 s after each word, revises one in ten, and
gives the final one 0.2 to 0.5 s after the last word. The model needs 0.2 s, the TTS 0.1 s. There is
no turn detector.

{table}

*Cut off*: a turn ended before the last word. *To answer*: from the last word to the start of
playout, with preemptive generation. A number that the caller does not finish is answered after
`wait` ({wait:g} s) of silence.

With its default options `AgentSession` answers as fast as `TurnSession`: its delay of 0.5 s is over
when the VAD reports the end of speech. But it cuts numbers off. A delay that cuts none off makes
every answer slow.
"""
