"""Plays LiveKit's own examples on both sessions, by voice and as text, and reports differences.

    make examples

Exit status 1: they differ. Where LiveKit's code is not to be had, it says so and exits with 0.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, get_args

import attrs
from kits import examples_folder
from livekit.agents import AgentSession
from livekit.agents.voice.events import EventTypes
from livekit_examples import EXAMPLES, Cast, Example, Model, loaded

from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedUser, Stage, run

__all__ = ["MISSING", "Mode", "Played", "differences", "main", "play"]

Mode = Literal["voice", "text"]
MISSING = "LiveKit's examples are not there: `python tests/ordinary/fetch.py` gets them"

QUIET = 2.0
"""Seconds without anything happening, after which the user says the next thing."""

PATIENCE = 60.0
"""Seconds after which the user speaks all the same."""


EVENTS: tuple[EventTypes, ...] = (
    "agent_state_changed",
    "conversation_item_added",
    "speech_created",
    "tool_execution_updated",
    "user_state_changed",
)


@attrs.frozen
class Played:
    """What came of an example.

    Attributes:
        effects: What its tools have done.
        history: What was said, called, returned and handed over, in order.
        run: What the runs have returned, in a text session.
    """

    effects: Any
    history: tuple[str, ...]
    run: tuple[str, ...] = ()


def play(example: Example, folder: Path, session_class: Any, mode: Mode) -> Played:
    """Play an example in virtual time.

    Args:
        example: The conversation.
        folder: Where the examples are.
        session_class: `AgentSession` or `TurnSession`.
        mode: By voice, or as text with `session.run`.
    """
    with loaded(folder / example.folder) as module:
        return run(_play(example, module, session_class, mode))


async def _play(example: Example, module: Any, session_class: Any, mode: Mode) -> Played:
    cast = await example.make(module)
    model = Model(example)
    by = _by_voice if mode == "voice" else _as_text
    session, returned = await by(example, cast, model, session_class)
    lines = tuple(_lines(session.history.items))
    return Played(cast.effects(), _numbered(lines), _numbered(returned))


async def _by_voice(
    example: Example, cast: Cast, model: Model, session_class: Any
) -> tuple[AgentSession[Any], list[str]]:
    user, over = ScriptedUser(), asyncio.Event()
    stage = Stage(
        session_class,
        user=user,
        llm=model,
        agent=cast.agent,
        userdata=cast.userdata,
        max_tool_steps=10,
    )

    async def talk(stage: Stage) -> None:
        quiet = _Quiet(stage)
        try:
            for text in example.says:
                await quiet.wait()
                user.says(text, at=stage.now + 0.1)
                await asyncio.sleep(user.utterances[-1].duration + 0.5)
            await quiet.wait()
        finally:
            over.set()

    await stage.at(0.1, talk).play(over)
    return stage.session, []


class _Quiet:
    """Waits until for some seconds nobody has spoken, and no tool has begun or ended."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._since = stage.now
        for name in EVENTS:
            stage.session.on(name, self._heard)

    def _heard(self, _: Any) -> None:
        self._since = self._stage.now

    async def wait(self) -> None:
        begun, stage = self._stage.now, self._stage
        while stage.now - self._since < QUIET or stage.session.agent_state != "listening":
            if stage.now - begun > PATIENCE:
                return
            await asyncio.sleep(0.1)


async def _as_text(
    example: Example, cast: Cast, model: Model, session_class: Any
) -> tuple[AgentSession[Any], list[str]]:
    session = session_class(llm=model, userdata=cast.userdata, max_tool_steps=10)
    await session.start(cast.agent)
    returned: list[str] = []
    for text in (text for text in example.says if not text.startswith("yes")):
        await asyncio.sleep(QUIET)  # a task takes over, as in LiveKit's own tests
        result = session.run(user_input=text)
        try:
            await asyncio.wait_for(result, PATIENCE)
        except Exception as error:
            returned.append(f"{type(error).__name__}: {error}")
        returned += [f"run {text!r}", *_lines(event.item for event in result.events)]
    await asyncio.sleep(QUIET)
    await session.aclose()
    return session, returned


def _lines(items: Any) -> Iterator[str]:
    for item in items:
        if item.type == "message" and item.role in ("user", "assistant"):
            yield f"{item.role}: {item.text_content}"
        elif item.type == "function_call":
            arguments = json.dumps(json.loads(item.arguments or "{}"), sort_keys=True)
            yield f"call {item.name} {arguments}"
        elif item.type == "function_call_output":
            yield f"{'error' if item.is_error else 'result'} {item.name}: {item.output}"
        elif item.type == "agent_handoff":
            yield f"handoff to {item.new_agent_id}"


def _numbered(lines: Any) -> tuple[str, ...]:
    """The ids that the drive-thru draws at random, by their order."""
    ids: dict[str, str] = {}
    name = lambda found: ids.setdefault(found[0], f"O_{len(ids) + 1}")  # noqa: E731
    return tuple(re.sub(r"O_[A-Z0-9]{6}", name, line) for line in lines)


def differences(stock: Played, ours: Played) -> list[str]:
    """What is not the same, as lines to read."""
    found = []
    if stock.effects != ours.effects:
        found += [f"effects on AgentSession: {stock.effects}", f"on TurnSession: {ours.effects}"]
    for number, (theirs, mine) in enumerate(zip_longest(stock.history, ours.history), 1):
        if theirs != mine:
            found.append(f"history {number}: {theirs!r} on AgentSession, {mine!r} on ours")
    later = iter(ours.run)
    missing = [line for line in stock.run if line not in later]
    return found + [f"in no run on TurnSession: {line}" for line in missing]


def main() -> int:
    """Play all of them."""
    folder = examples_folder()
    if folder is None:
        print(MISSING)
        return 0
    logging.disable(logging.ERROR)  # the tools' own errors, which the model reads
    worst = 0
    for example in EXAMPLES:
        for mode in get_args(Mode):
            stock, ours = (play(example, folder, cls, mode) for cls in (AgentSession, TurnSession))
            found = differences(stock, ours)
            calls = sum(line.startswith("call") for line in ours.history)
            moves = sum(line.startswith("handoff") for line in ours.history)
            what = f"{len(example.says)} turns, {calls} calls, {moves} handoffs"
            print(f"{example.name}, {mode}: {'they agree' if not found else 'DIFFER'}; {what}")
            print("".join(f"    {line}\n" for line in found), end="")
            worst |= bool(found)
    return worst


if __name__ == "__main__":
    sys.exit(main())
