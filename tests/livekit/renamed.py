"""Plays a short conversation with a livekit-agents in which names have another name.

``python renamed.py NAME...`` prints what happened, as JSON.
"""

from __future__ import annotations

import json
import logging
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

FOUND = "I have found a great many of them."


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
    from functools import partial

    from livekit.agents import Agent, function_tool

    from turnfsm.fsm.journal import replay
    from turnfsm.runtime.livekit import TurnSession
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
    from functools import partial

    from turnfsm.fsm.errors import TurnfsmError
    from turnfsm.runtime.livekit import TurnSession
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


def main(names: list[str]) -> None:
    """Play it with strict=False, and say what strict=True says."""
    lines: list[str] = []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(record.getMessage())

    logging.getLogger("turnfsm").addHandler(Kept(logging.WARNING))
    sys.meta_path.insert(0, Renaming(names))
    from turnfsm.fsm.errors import TurnfsmError

    said = {"strict": "", "import": ""}
    played: dict[str, Any] = {}
    try:
        from turnfsm.livekit import TurnSession
    except TurnfsmError as error:
        said["import"] = str(error)
    else:
        try:
            TurnSession()
        except TurnfsmError as error:
            said["strict"] = str(error)
        played = play()
        said["realtime"] = start_with_realtime()
    print(json.dumps({**said, **played, "log": lines}))


if __name__ == "__main__":
    main(sys.argv[1:])
