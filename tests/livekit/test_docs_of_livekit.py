"""The code of docs/livekit.md runs as it stands."""

from functools import partial
from pathlib import Path
from typing import Any

from turnfsm.runtime import JsonlSink
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

PAGE = Path(__file__).parents[2] / "docs" / "livekit.md"


def test_the_blocks_about_tools_run(tmp_path: Path) -> None:
    """The tools are called on a session, and the next session begins with its ledger."""
    text = PAGE.read_text(encoding="utf-8").partition("## What is new")[2]
    code = text.partition("```python\n")[2].partition("```")[0]
    page: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), page)
    model = ScriptedLLM({"table": Reply(calls=Call("book_table", {"time": "8"}))})
    session: Any = partial(TurnSession, sinks=[JsonlSink(tmp_path / "a", redact=None)])
    tools = [page["book_table"], page["transfer_money"]]
    user = ScriptedUser().says("a table please", at=1.0)
    stage: Any = Stage(session, user=user, llm=model, tools=tools)
    assert [call.message for call in stage.run(8.0).tools] == ["booked for 8"]
    assert stage.session.user_turns["replied"] == 1

    async def again() -> Any:
        session = page["session"](str(tmp_path / "b"), str(tmp_path / "a"))
        session.turn.close()
        return session.ledger

    calls = [(call.name, call.output) for call in run(again())]
    assert calls == [("book_table", "booked for 8")]
