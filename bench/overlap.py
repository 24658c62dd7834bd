"""`python -m bench.overlap`: what the user says over the agent, on AgentSession and on TurnSession.

    python -m bench.overlap                    400 overlaps from a new seed
    python -m bench.overlap --seed 7 --count 800
    python -m bench.overlap --audio            in a synthetic voice, with a real VAD and STT
    python -m bench.overlap --docs             all of it, into docs/overlap.md

Each overlap is a conversation in virtual time: the agent speaks, and the caller says a phrase of
bench/overlap.yaml over it. The STT gives interim transcripts, with the delay of a streaming STT.
"""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Callable, Mapping, Sequence

import attrs

from turnfsm.runtime.demo.speech import UserVoice
from turnfsm.runtime.demo.tts import PiperVoice

from .frame import Frame, quantile
from .frame import table as markdown
from .heard import Heard
from .overlap_calls import Drawn, Seen, draw, measure, spoken

__all__ = ["FIGURES", "main", "missed", "table"]


Value = Callable[[Sequence[Seen]], float | None]


@attrs.frozen
class Figure:
    """One line of the table.

    Attributes:
        name: The name of the figure.
        value: Computes it; None if there is nothing to compute it from.
        goal: What a share must reach, or what seconds must not exceed; None: no goal.
        share: It is a share, else seconds.
    """

    name: str
    value: Value
    goal: float | None = None
    share: bool = False

    def text(self, value: float | None) -> str:
        """The value as text."""
        if value is None:
            return "none"
        return f"{100 * value:.1f} %" if self.share else f"{value:.2f} s"

    def judged(self, value: float | None) -> str:
        """The goal, and whether the value meets it."""
        if self.goal is None:
            return ""
        limit = f"{'>=' if self.share else '<='} {self.text(self.goal)}"
        met = value is not None and (value >= self.goal if self.share else value <= self.goal)
        return f"{limit}, {'met' if met else '**missed**'}"


def _share(*kinds: str, rare: bool | None = None) -> Value:
    """The share that is right."""

    def value(seen: Sequence[Seen]) -> float | None:
        of = [one for one in seen if one.drawn.kind in kinds and rare in (None, one.drawn.rare)]
        return statistics.fmean(one.right for one in of) if of else None

    return value


def _quantile(seconds: str, *kinds: str, share: float, right: bool = False) -> Value:
    """A quantile of an attribute, of those that are `right` or of all."""
    return lambda seen: quantile(
        (getattr(one, seconds) for one in seen if one.drawn.kind in kinds and one.right >= right),
        share,
    )


LEAVES = ("stop", "correction", "question", "request", "statement")
FIGURES = (
    Figure("continues through backchannels", _share("backchannel"), 0.95, share=True),
    Figure("... of these: usual phrases", _share("backchannel", rare=False), share=True),
    Figure("... of these: rare phrases", _share("backchannel", rare=True), share=True),
    Figure("continues through tics (um, er)", _share("tic"), share=True),
    Figure("continues through coughs", _share("cough"), share=True),
    Figure("continues through asides to somebody else", _share("aside"), share=True),
    Figure("yields to interruptions", _share(*LEAVES), 0.95, share=True),
    *(Figure(f"... of these: {kind}", _share(kind), share=True) for kind in LEAVES),
    *(
        Figure(f"{name}, {which}", _quantile(seconds, *kinds, share=share, right=right), goal)
        for name, seconds, kinds, right, goal in (
            ("yield latency", "stopped_after", LEAVES, True, 0.6),
            ("voice to silence", "silent_after", LEAVES, False, 0.25),
            ("silence after a backchannel", "goes_on_after", ("backchannel", "tic"), False, 0.3),
        )
        for which, share in (("median", 0.5), ("p95", 0.95))
    ),
    Figure("silence after a cough, median", _quantile("goes_on_after", "cough", share=0.5)),
)


def table(seen: Mapping[str, Sequence[Seen]]) -> str:
    """The figures as Markdown."""
    rows = []
    for figure in FIGURES:
        values = [figure.value(of) for of in seen.values()]
        rows.append((figure.name, *map(figure.text, values), figure.judged(values[-1])))
    return markdown(("", *(f"`{name}`" for name in seen), "goal"), rows)


def missed(seen: Sequence[Seen]) -> str:
    """The wrong outcomes, each phrase once."""
    wrong: dict[str, dict[str, None]] = {}
    for one in seen:
        if not one.right:
            what = one.drawn.words or f"{one.drawn.lasts:g} s"
            wrong.setdefault(one.drawn.kind, {})[f'"{what}"'] = None
    return (
        "\n".join(f"- {kind}: {', '.join(words)}" for kind, words in wrong.items()) or "- nothing"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print or write."""
    audio = {"action": "store_true", "help": "hear a synthetic voice"}
    frame = Frame(str(__doc__), "overlap.md", arguments, count=400, audio=audio)
    seed, count = frame.options.seed, frame.options.count
    drawn = draw(seed, count)
    seen = measure(asyncio.run(_spoken(seed, count)) if frame.options.audio else drawn)
    wrong = missed(seen['flow="overlap"'])
    frame.show(table(seen))
    print(wrong)
    if frame.options.docs:
        frame.write("wrong", wrong)
        on = measure(drawn[: count // 4], can_pause=False)
        frame.write("on an output that cannot pause", table(on))
        heard = measure(asyncio.run(_spoken(seed, count // 2)))
        frame.write("with real audio", table(heard))
        frame.write("wrong with real audio", missed(heard['flow="overlap"']))


async def _spoken(seed: int, count: int) -> list[Drawn]:
    heard, voice = Heard.load(), UserVoice(PiperVoice.load())
    try:
        return await spoken(draw(seed, count, english=True), voice, heard)
    finally:
        await heard.aclose()


if __name__ == "__main__":
    main()
