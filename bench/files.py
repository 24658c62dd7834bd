"""The files that a barge-in runs while a tool runs, until the next request.

    python -m bench.files

Counted are the files of runtime/conversation and runtime/livekit of which a function is called:
also one that only answers that it has nothing to do.
"""

from __future__ import annotations

import asyncio
import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from livekit.agents import function_tool

import turnfsm.runtime
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

RUNTIME = Path(turnfsm.runtime.__file__).resolve().parent
PARTS = ("conversation", "livekit")


def main() -> None:
    """Print the files of each part, and their number."""
    files = barge_in()
    for part in PARTS:
        own = [file.removeprefix(f"{part}/") for file in files if file.startswith(part)]
        print(f"{len(own):4}  runtime/{part}: {', '.join(own)}")
    print(f"{len(files):4}  in all")


def barge_in() -> list[str]:
    """The files by their paths in `runtime/`, sorted: from LiveKit's report that the user has
    spoken long enough to interrupt, to the call of the model."""
    files: set[str] = set()
    counts = False

    def called(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal counts
        name = frame.f_code.co_name
        counts = (counts or name == "_interrupt_by_audio_activity") and name != "chat"
        if counts and event == "call":
            files.update(_counted(frame.f_code.co_filename))

    @function_tool
    async def book_table() -> str:
        """Book a table."""
        await asyncio.sleep(6.0)
        return "booked"

    user = ScriptedUser().says("a table please", at=1.0).says("which day", at=4.0, duration=1.5)
    first = Reply("I am booking your table for you and your family.", calls=Call("book_table"))
    model = ScriptedLLM({"a table": first, "which day": "It is on Friday."})
    stage = Stage(TurnSession, user=user, llm=model, tools=[book_table])
    sys.setprofile(called)
    try:
        stage.run(8.0)
    finally:
        sys.setprofile(None)
    return sorted(files)


@cache
def _counted(name: str) -> tuple[str, ...]:
    """The file of a function by its path in `runtime/`, if it belongs to one of the parts."""
    path = Path(name)
    if not path.is_absolute() or not path.resolve().is_relative_to(RUNTIME):
        return ()
    file = path.resolve().relative_to(RUNTIME).as_posix()
    return (file,) if file.startswith(PARTS) else ()


if __name__ == "__main__":
    main()
