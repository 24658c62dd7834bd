"""The frame of a benchmark: its arguments, and its tables, printed and in the docs."""

from __future__ import annotations

import argparse
import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["DOCS", "Frame", "in_processes", "quantile", "table", "write_table"]

Seen = TypeVar("Seen")
DOCS = Path(__file__).parents[1] / "docs"
_END = "<!-- to here -->"


class Frame:
    """The command of a benchmark. Its name is the first one in its help.

    Args:
        doc: The docstring of the module, which is the help.
        page: The page of the docs that has its tables.
        arguments: The arguments of the command; None: those of this process.
        count: How many are drawn by default; None: nothing is drawn, so there is no seed.
        more: More options, each with the arguments of `add_argument`.

    Attributes:
        options: The arguments.
        name: How the command is called.
    """

    def __init__(
        self,
        doc: str,
        page: str,
        arguments: Sequence[str] | None = None,
        count: int | None = None,
        **more: dict[str, Any],
    ) -> None:
        self._page = DOCS / page
        self.name = re.findall(r"python -m [\w.]+", doc)[0]
        how = argparse.RawDescriptionHelpFormatter
        parser = argparse.ArgumentParser(prog=self.name, description=doc, formatter_class=how)
        for name, settings in more.items():
            parser.add_argument(settings.pop("flag", f"--{name}"), **settings)
        if count is not None:
            parser.add_argument("--seed", type=int, help="draw the same again")
            parser.add_argument("--count", type=int, default=count)
        parser.add_argument("--docs", action="store_true", help=f"write into docs/{page}, too")
        self.error = parser.error
        self.options = parser.parse_args(arguments)
        self._command = f"{self.name} --docs"
        if count is not None:
            if self.options.seed is None:
                self.options.seed = random.SystemRandom().randrange(10**6)
            self._command += f" --seed {self.options.seed} --count {self.options.count}"
            print(f"seed {self.options.seed}, count {self.options.count}")

    def show(self, text: str) -> None:
        """Print the main table. With ``--docs``, write it into the page, and how it was made."""
        print(text)
        made = f"Written by `{self._command}`, with livekit-agents {version('livekit-agents')}."
        self.write(self.name, f"{text.strip()}\n\n{made}")

    def write(self, mark: str, text: str) -> None:
        """With ``--docs``, write a table into the page, after the comment with this mark."""
        if self.options.docs:
            write_table(self._page, mark, text)


def in_processes(play: Callable[..., Seen], *drawn: Iterable[Any]) -> list[Seen]:
    """Play everything that was drawn, in as many processes as there are cores.

    Args:
        play: A function of a module, or a `partial` of one.
        drawn: Its arguments, as for `map`.
    """
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(play, *drawn, chunksize=4))


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Markdown with aligned columns, so that a terminal can show it."""
    lines = [[str(cell) for cell in line] for line in (head, *rows)]
    widths = [max(3, *(len(line[i]) for line in lines)) for i in range(len(lines[0]))]
    texts = [
        " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    rule = " | ".join(
        "-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)
    )
    return "\n".join(f"| {text} |" for text in (texts[0], rule, *texts[1:])) + "\n"


def quantile(values: Iterable[float | None], share: float) -> float | None:
    """The value below which this share of the values is; None if there are no values."""
    known = sorted(value for value in values if value is not None)
    return known[min(len(known) - 1, int(share * len(known)))] if known else None


def write_table(page: Path, mark: str, text: str) -> None:
    """Replace the text after the comment with this mark, up to the next ``<!-- to here -->``.

    Args:
        mark: The content of the comment, such as ``python -m bench.overlap``.
    """
    whole, comment = page.read_text("utf-8"), f"<!-- {mark} -->\n"
    head, found, rest = whole.partition(comment)
    _, end, tail = rest.partition(_END)
    if not (found and end):
        raise ValueError(f"{page} has no {comment.strip()} with {_END} behind it")
    page.write_text(f"{head}{comment}\n{text.strip()}\n\n{_END}{tail}", encoding="utf-8")
