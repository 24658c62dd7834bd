"""Plays short conversations with a livekit-agents in which names have another name.

``python renamed.py`` reads a line of names for each, and prints what happened as a line of JSON.
livekit-agents and what imports it is imported anew for each, in a process of its own. Everything
else is imported once.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from traceback import format_exc
from types import CodeType
from typing import Any

FOUND = "I have found a great many of them."
ANEW = ("livekit.agents", "turnfsm.livekit", "turnfsm.runtime", "prometheus_client")
"""Prometheus would refuse the metrics of LiveKit a second time."""


class Renaming:
    """A finder that gives the modules of livekit-agents in which names end with ``_renamed``."""

    def __init__(self, names: list[str]) -> None:
        self._pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, names))})\b")

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder`."""
        if not name.startswith("livekit.agents"):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            file = spec.loader.path
            with open(file, encoding="utf-8") as source:
                text = source.read()
            if (renamed := self._pattern.sub(r"\1_renamed", text)) != text:
                spec.loader = Renamed(name, file, renamed)
        return spec


class Renamed(SourceFileLoader):
    """Loads another text than that of the file."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> CodeType:
        """As `SourceFileLoader`, without its cache."""
        return compile(self._text, self.path, "exec", dont_inherit=True)


def play() -> dict[str, Any]:
    """A question, a tool call whose reply is interrupted by a question, and that one's answer."""
    from livekit.agents import Agent, function_tool

    from turnfsm.fsm.journal import replay
    from turnfsm.livekit import TurnSession
    from turnfsm.runtime.testing.livekit import (
        Call,
        Reply,
        ScriptedLLM,
        ScriptedTTS,
        ScriptedUser,
        Stage,
    )

    @function_tool
    async def look_up() -> str:
        """Look it up."""
        return "found"

    user = ScriptedUser().says("hello there", at=1.0).says("look it up", at=6.0)
    stage = Stage(
        partial(TurnSession, strict=False),
        user=user.says("how are you", at=12.0),
        agent=Agent(instructions="", tools=[look_up]),
        llm=ScriptedLLM(
            {
                "hello there": "Good morning.",
                "look it up": Reply("One moment.", Call("look_up")),
                "how are you": "Fine.",
            },
            {"look_up": FOUND},
        ),
        tts=ScriptedTTS(durations={FOUND: 8.0}),
    )
    outcome = stage.run(20.0)
    session: Any = stage.session
    return {
        "heard": [one.text for one in outcome.heard],
        "strays": replay(session.turn.journal.read(), session.turn.flow),
        "errors": [str(error) for error in outcome.errors],
        "missing": dict(session.missing_features),
    }


def start_with_realtime() -> str:
    """What a session says that is started with a realtime model."""
    from turnfsm.fsm.errors import TurnfsmError
    from turnfsm.livekit import TurnSession
    from turnfsm.runtime.testing.livekit import (
        ScriptedLLM,
        ScriptedRealtime,
        ScriptedTTS,
        ScriptedUser,
        Stage,
    )

    user = ScriptedUser()
    model = ScriptedRealtime(user, ScriptedLLM(), ScriptedTTS())
    try:
        Stage(partial(TurnSession, strict=False), user=user, llm=model).run(1.0)
    except TurnfsmError as error:
        return str(error)
    return ""


def played(names: list[str]) -> dict[str, Any]:
    """Play it with strict=False, and say what strict=True says."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logging.getLogger("turnfsm").addHandler(Kept(logging.WARNING))
    sys.meta_path.insert(0, Renaming(names))
    from turnfsm.fsm.errors import TurnfsmError

    said: dict[str, Any] = {"strict": "", "import": "", "log": lines}
    try:
        from turnfsm.livekit import TurnSession
    except TurnfsmError as error:
        return said | {"import": str(error)}
    try:
        TurnSession()
    except TurnfsmError as error:
        said["strict"] = str(error)
    return said | play() | {"realtime": start_with_realtime()}


def import_once() -> None:
    """Import what `turnfsm.livekit` needs, and forget what is imported anew."""
    import turnfsm.livekit  # noqa: F401

    for name in [*sys.modules]:
        if f"{name}.".startswith(tuple(f"{anew}." for anew in ANEW)):
            del sys.modules[name]


def in_a_process(task: Callable[[], Any]) -> Any:
    """The result of a task in a copy of this process; what goes wrong is the result, too."""
    reads, writes = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reads)
        try:
            result = task()
        except BaseException:
            result = {"failed": format_exc()}
        with open(writes, "w", encoding="utf-8") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writes)
    with open(reads, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


def main() -> None:
    """Answer line by line."""
    import_once()
    for line in sys.stdin:
        print(json.dumps(in_a_process(partial(played, line.split()))), flush=True)


if __name__ == "__main__":
    main()
