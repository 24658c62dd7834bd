"""A worker is killed with SIGKILL, and the next one goes on with the conversation.

Each conversation runs in a process of its own; the next worker has nothing but the store. Here the
worker dies right after a certain record was written; `make crash` kills it at every record.
"""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from flow_text import parsed
from livekit.agents import Agent, llm

from turnfsm import TurnfsmError
from turnfsm.livekit import NotMade, OrphanedCall, recover_with
from turnfsm.runtime.testing.livekit import ScriptedUser, Stage

from .play import GREETING, SORRY, Guest, Record, Waiter, silent, talk


def noted(kind: str, **data: Any) -> Any:
    """Right after a note of this kind."""

    def deadly(record: Record) -> bool:
        fields = record.get("data") or {}
        return record.get("note") == kind and all(fields.get(k) == v for k, v in data.items())

    return deadly


def posted(trigger: str, nth: int = 1) -> Any:
    """Right after a trigger was taken for the n-th time."""
    taken = iter(range(1, nth + 1))

    def deadly(record: Record) -> bool:
        now = record.get("trigger") == trigger and record["verdict"] == "taken"
        return now and next(taken) == nth

    return deadly


DONE = f"{SORRY} The book is arranged."
ANSWERED = ["One moment.", "The book is arranged."]
PERHAPS = f"{SORRY} The book is perhaps arranged."

PLACES: dict[str, tuple[Any, list[str], int]] = {
    "nothing was heard": (posted("step_started"), [GREETING], 0),
    "the agent greets": (posted("playout_started"), [f"{SORRY} How can I help?"], 0),
    "the user speaks": (posted("user_started_speaking"), [f"{SORRY} How can I help?"], 0),
    "the user has spoken": (posted("user_stopped_speaking"), [f"{SORRY} How can I help?"], 0),
    "the words are there": (
        posted("final_transcript"),
        ["One moment.", "The book is arranged."],
        1,
    ),
    "the turn is committed": (posted("turn_committed"), [f"{SORRY} One moment.", ANSWERED[1]], 1),
    "the call is to begin": (noted("call_intended"), [PERHAPS], 0),
    "the call runs": (posted("tool_started"), [PERHAPS], 0),
    "the call has ended": (noted("tool_ended"), [DONE], 1),
    "the result is committed": (noted("tool_committed"), [DONE], 1),
    "the result is said": (noted("reply_heard"), [], 1),
}
"""Where the worker dies, what the next one says, and how often the table was booked."""


@pytest.mark.one_in(2)
@pytest.mark.parametrize("place", PLACES)
def test_the_next_worker_goes_on(place: str, tmp_path: Path) -> None:
    """It says what is pending, apologises at most once, and makes no call a second time."""
    deadly, says, tables = PLACES[place]
    guest = Guest(tmp_path)
    assert guest.killed(talk(), deadly)
    outcome = guest.gone_on(silent(), 12.0)
    assert [heard.text for heard in outcome.heard] == says, outcome.timeline()
    assert guest.effects("book") == tables
    assert outcome.orphans == ()


@pytest.mark.parametrize("gives", [None, "", {"table": 4}, "done"], ids=repr)
def test_a_call_that_had_ended_is_never_made_again(gives: Any, tmp_path: Path) -> None:
    """Whatever it gave; a model that makes it again all the same is answered with the result."""
    guest = Guest(tmp_path, gives=gives)
    assert guest.killed(talk(), noted("tool_ended"))
    guest.gone_on(silent(), 8.0)
    assert guest.effects("book") == 1


def test_the_conversation_is_restored(tmp_path: Path) -> None:
    """History, the agent's conversation, the ledger, and what became of the user's turns."""
    guest = Guest(tmp_path)
    assert guest.killed(talk(), posted("user_started_speaking", nth=2))
    stage = guest.stage(silent())
    outcome = stage.run(8.0)
    said = [(i.role, i.text_content) for i in outcome.history.items if i.type == "message"]
    assert said == [
        ("assistant", GREETING), ("user", "please book a table"), ("assistant", "One moment."),
        ("assistant", "The book is arranged."), ("assistant", DONE),
    ]  # fmt: skip
    shown = [item.text_content for item in outcome.chat_ctx.items if item.type == "message"]
    assert shown[-4:] == [text for _, text in said[1:]]
    session: Any = stage.session
    (call,) = session.ledger
    assert (call.name, call.gave, call.state) == ("book", "result", "closed")
    assert session.user_turns["replied"] == 1
    assert session.epoch == 0, "it has closed"


async def _charged(call: OrphanedCall) -> str:
    return f"done, as {call.key.partition('/')[0]} knows"


def _not_made(call: OrphanedCall) -> str:
    raise NotMade


def _cannot_tell(call: OrphanedCall) -> str:
    raise ConnectionError


RUNNING: dict[str, tuple[Any, list[str], int]] = {
    "its end is found out": (recover_with(_charged), [DONE], 1),
    "it was not made": (recover_with(_not_made), ["One moment.", "The book is arranged."], 2),
    "nobody can tell": (recover_with(_cannot_tell), [PERHAPS], 1),
    "nobody is asked": (lambda tool: tool, [PERHAPS], 1),
}
"""What the tool says of itself, what is heard of a call that ran, and how often it had its effect;
it had had it once when the worker died."""


@pytest.mark.parametrize("kind", RUNNING)
def test_a_call_that_ran_is_repeated_only_if_it_may_be(kind: str, tmp_path: Path) -> None:
    """Else its tool is asked, else the user hears that nobody knows."""
    mark, says, tables = RUNNING[kind]
    guest = Guest(tmp_path, mark=mark)
    assert guest.killed(talk(), posted("playout_finished", nth=2))
    assert guest.effects("book") == 1
    outcome = guest.gone_on(silent(), 12.0)
    assert [h.text.removeprefix(f"{SORRY} ") for h in outcome.heard] == [
        said.removeprefix(f"{SORRY} ") for said in says
    ], outcome.timeline()
    assert guest.effects("book") == tables


def test_a_call_has_the_same_key_in_its_tool_and_after_a_crash(tmp_path: Path) -> None:
    """So a service that was given the key can say what became of the call."""
    asked: list[str] = []

    def find(call: OrphanedCall) -> str:
        asked.append(call.key)
        return "done"

    guest = Guest(tmp_path, mark=recover_with(find))
    assert guest.killed(talk(), posted("playout_finished", nth=2))
    guest.gone_on(silent(), 8.0)
    assert (tmp_path / "book").read_text().splitlines() == asked
    assert len(asked) == 1


@pytest.mark.parametrize(("limit", "says"), [(5.0, PERHAPS), (8.0, DONE)])
def test_finding_out_takes_no_longer_than_its_limit(
    limit: float, says: str, tmp_path: Path
) -> None:
    """Then nobody knows what became of the call."""

    async def find(call: OrphanedCall) -> str:
        await asyncio.sleep(7.0)
        return "done"

    guest = Guest(tmp_path, mark=recover_with(find))
    assert guest.killed(talk(), posted("playout_finished", nth=2))
    flow = parsed(f"{{flow: mine, extends: turn, tools: {{recover_limit: {limit}}}}}")
    outcome = guest.gone_on(silent(), 16.0, flow=flow)
    assert [heard.text for heard in outcome.heard] == [says], outcome.timeline()


def test_recover_with_takes_a_function() -> None:
    with pytest.raises(TurnfsmError, match="give the function that finds out"):
        recover_with("find")  # type: ignore[arg-type]


@attrs.frozen
class Edited(Guest):
    """A guest whose application makes a summary of the conversation at 11 s.

    Attributes:
        keeps: How many items it keeps behind the summary.
        edits: What makes the summary.
    """

    keeps: int = 0
    edits: list[Any] = attrs.field(factory=list)

    def stage(self, user: ScriptedUser, **options: Any) -> Stage:
        def summarises(stage: Stage) -> None:
            agent = stage.session.current_agent
            items = agent.chat_ctx.items
            said = llm.ChatMessage(role="system", content=["A table was booked."])
            context = llm.ChatContext([said, *items[len(items) - self.keeps :]])
            self.edits.append(asyncio.ensure_future(agent.update_chat_ctx(context)))

        return Guest.stage(self, user, **options).at(11.0, summarises)


@pytest.mark.skipif(
    not hasattr(Agent, "update_chat_ctx"), reason="LiveKit itself keeps the conversation"
)
@pytest.mark.parametrize("keeps", [0, 1, 3])
def test_the_conversation_is_restored_as_the_application_has_edited_it(
    keeps: int, tmp_path: Path
) -> None:
    """Its summary is before what it has kept, and what it has taken out does not come back."""
    guest = Edited(tmp_path, keeps=keeps)
    assert guest.killed(talk(), posted("playout_started", nth=5))
    before = Edited.stage(guest, talk(), store=None, session_id=None).run(25.0)
    after = Guest(tmp_path).stage(silent()).run(0.5)

    def items(outcome: Any) -> list[str]:
        told = [item for item in outcome.chat_ctx.items if item.type != "agent_config_update"]
        return [str(getattr(item, "text_content", None) or item.type) for item in told]

    print(items(before))
    print(items(after))
    place = items(after).index("A table was booked.")
    assert items(before)[: place + keeps + 2] == items(after)[: place + keeps + 2]


@attrs.frozen
class Hasty(Guest):
    """A guest whose worker dies at a moment.

    Attributes:
        dies: When, in seconds.
        types: The lines that are typed, the last one 0.1 s before.
        ask: The method of the session that gets them.
        thinks: Seconds that the agent's `on_user_turn_completed` takes.
    """

    dies: float = 3.1
    types: tuple[str, ...] = ()
    ask: str = "generate_reply"
    thinks: float = 0.0

    def stage(self, user: ScriptedUser, **options: Any) -> Stage:
        def dies(_: Stage) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        stage = Guest.stage(self, user, **options).at(self.dies, dies)
        for number, line in enumerate(reversed(self.types), 1):
            ask = partial(_type, line, self.ask)
            stage.at(self.dies - number / 10, ask)
        return stage

    def agent(self) -> Agent:
        thinks = self.thinks

        class Slow(Waiter):
            async def on_user_turn_completed(self, *_: Any, **__: Any) -> None:
                await asyncio.sleep(thinks)

        return Slow(self)


def _type(line: str, ask: str, stage: Stage) -> None:
    getattr(stage.session, ask)(user_input=line)


WAITING: dict[str, tuple[dict[str, Any], list[str]]] = {
    "typed": ({"types": ("hello", "thank you very much")}, ["hello", "thank you very much"]),
    "said": ({"dies": 7.0, "thinks": 6.0}, ["hello thank you very much"]),
    "asked for by a run": (
        {"dies": 0.4, "types": ("thank you very much",), "ask": "run"},
        ["thank you very much"],
    ),
}
"""The last line waits for the reply to the one before, or for the greeting: it is in no history."""


@pytest.mark.parametrize("how", WAITING)
def test_lines_of_which_none_is_answered_are_not_lost(how: str, tmp_path: Path) -> None:
    """They are answered in their order; turns of the user that were kept are one turn."""
    given, lines = WAITING[how]
    user = ScriptedUser()
    if how == "said":
        user = user.says("hello", at=2.0).says("thank you very much", at=4.0)
    assert Hasty(tmp_path, **given).killed(user, 10_000)
    outcome = Guest(tmp_path).gone_on(silent(), 12.0)
    said = [i.text_content for i in outcome.history.messages() if i.role == "user"]
    assert said == lines
    assert outcome.heard[-1].text == "With pleasure.", outcome.timeline()


@pytest.mark.parametrize("again", ["at once", "as it apologises", "as it is heard to its end"])
def test_restarts_in_a_row_apologise_once(again: str, tmp_path: Path) -> None:
    """The third worker knows what the first one knew, and what the second one has said."""
    guest = Guest(tmp_path)
    assert guest.killed(talk(), noted("tool_ended"))
    second: dict[str, Any] = {
        "at once": noted("resumed"),
        "as it apologises": posted("playout_started"),
        "as it is heard to its end": noted("reply_heard"),
    }
    assert guest.killed(silent(), second[again])
    outcome = guest.gone_on(silent(), 12.0)
    says = {
        "at once": [DONE],
        "as it apologises": ["The book is arranged."],
        "as it is heard to its end": [],
    }
    assert [heard.text for heard in outcome.heard] == says[again], outcome.timeline()
    assert guest.effects("book") == 1
