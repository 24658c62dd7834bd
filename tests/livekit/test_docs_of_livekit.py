"""The code of docs/livekit.md runs as it stands."""

from pathlib import Path
from typing import Any

from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Reply, ScriptedLLM, ScriptedUser, Stage

PAGE = Path(__file__).parents[2] / "docs" / "livekit.md"


def test_the_block_about_tools_runs() -> None:
    """The tools are called on a session."""
    text = PAGE.read_text(encoding="utf-8").partition("## What is new")[2]
    code = text.partition("```python\n")[2].partition("```")[0]
    page: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), page)
    model = ScriptedLLM({"table": Reply(calls=Call("book_table", {"time": "8"}))})
    tools = [page["book_table"], page["transfer_money"]]
    user = ScriptedUser().says("a table please", at=1.0)
    stage: Any = Stage(TurnSession, user=user, llm=model, tools=tools)
    assert [call.message for call in stage.run(8.0).tools] == ["booked for 8"]
    assert stage.session.user_turns["replied"] == 1
