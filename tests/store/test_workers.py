"""Two workers, a store that is away, one that keeps no words, and what cannot be gone on with."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent, RunContext, function_tool, llm

from turnfsm.fsm import TurnfsmError
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Call, Outcome, Reply, ScriptedLLM, ScriptedUser, Stage
from turnfsm.store import (
    Acquired,
    Batch,
    Check,
    SessionTaken,
    SqliteStore,
    StoreError,
    StoreUnavailable,
)
from turnfsm.testing import run

from .play import GREETING, ROOM, SORRY, Guest, answer, silent, talk
from .test_going_on import noted


class AwayStore(SqliteStore):
    """Does not answer between two moments of the clock, in seconds from when it was made."""

    def __init__(
        self, path: Path, begin: float, end: float, error: type[Exception] = StoreUnavailable
    ) -> None:
        super().__init__(path)
        self._times = (begin, end)
        self._error = error
        self._made: float | None = None

    def acquire(self, session: str, check: Check | None = None) -> Acquired:
        self._look()
        return super().acquire(session, check)

    def append(self, batches: Sequence[Batch]) -> Sequence[SessionTaken | None]:
        self._look()
        return super().append(batches)

    def _look(self) -> None:
        now = time.monotonic()
        self._made = now if self._made is None else self._made
        begin, end = self._times
        if begin <= now - self._made < end:
            raise self._error(f"{self.path}: no answer")


def _beside(guest: Guest, at: float) -> tuple[Outcome, Outcome]:
    """A worker, and another one that takes its session at a moment."""
    other = guest.folder / "same.db"
    guest.path.touch(0o600)
    other.symlink_to(guest.path)  # one process refuses two sessions of one name
    first, second = guest.stage(talk()), guest.stage(silent(), store=other)

    async def both() -> tuple[Outcome, Outcome]:
        async def later() -> Outcome:
            await asyncio.sleep(at)
            return await second.play(12.0)

        a, b = await asyncio.gather(first.play(20.0), later())
        return a, b

    return run(both())


def test_a_worker_whose_session_was_taken_closes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It was only paused, say: it says nothing more, and begins no tool."""
    guest = Guest(tmp_path)
    old, new = _beside(guest, 3.0)
    assert [heard.text for heard in old.heard] == [GREETING]
    assert guest.effects("book") == 0
    assert [h.text for h in new.heard] == [f"{SORRY} How can I help?"], new.timeline()
    assert caplog.text.count("another worker has acquired it") == 1
    (closed,) = [event.at for event in old.events if event.what.startswith("close")]
    assert closed < 4.0, old.timeline()


def test_a_paused_tool_has_no_effect_behind_its_commit_point(tmp_path: Path) -> None:
    """Another worker has told the user that nobody knows of the call."""
    book = tmp_path / "paid"

    class Payer(Agent):
        @function_tool
        async def pay(self, ctx: RunContext[None]) -> str:
            """Pay."""
            await asyncio.sleep(2.0)
            await ctx.commit_point()  # type: ignore[attr-defined]
            book.touch()
            return "paid"

    model = ScriptedLLM({"pay": Reply("One moment.", calls=Call("pay"))}, otherwise="I see.")
    path = tmp_path / "calls.db"
    (tmp_path / "same.db").symlink_to(path)
    path.touch(0o600)
    make = partial(Stage, llm=model, agent=lambda: Payer(instructions="Pay."))

    def session(store: Path) -> Any:
        return partial(TurnSession, store=store, session_id=ROOM)

    first = make(session(path), user=ScriptedUser().says("pay now", at=1.0))
    second = make(session(tmp_path / "same.db"), user=silent())

    async def both() -> None:
        async def later() -> None:
            await asyncio.sleep(3.0)
            await second.play(6.0)

        await asyncio.gather(first.play(9.0), later())

    run(both())
    assert not book.exists()
    (call,) = second.session.ledger  # type: ignore[attr-defined]
    assert call.gave == "unknown"


def test_two_workers_that_start_at_once_leave_one(tmp_path: Path) -> None:
    """The one with the lower epoch closes; one caller is served by one agent."""
    guest = Guest(tmp_path)
    old, new = _beside(guest, 0.0)
    served = [outcome for outcome in (old, new) if GREETING in [h.text for h in outcome.heard]]
    assert len(served) == 1


@pytest.mark.parametrize("error", [StoreUnavailable, ValueError])
def test_a_store_that_is_away_in_mid_call_holds_up_tools_only(
    error: type[Exception], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """For 5 s: the tool begins when its start is written; what happens meanwhile is not lost. A
    store of a user's own may raise anything."""
    guest = Guest(tmp_path)
    store = AwayStore(guest.path, 3.0, 8.0, error)
    user = ScriptedUser().says("please book a table", at=2.0).says("thank you very much", at=11.0)
    outcome = guest.stage(user, store=store).run(20.0)
    assert [heard.text for heard in outcome.heard] == [
        GREETING, "One moment.", "The book is arranged.", "With pleasure.",
    ], outcome.timeline()  # fmt: skip
    began = next(event.at for event in outcome.events if event.what.endswith("started"))
    assert 8.0 <= began < 9.0
    assert guest.effects("book") == 1
    assert [caplog.text.count(said) for said in (": no answer;", "': the store answers")] == [1, 1]
    restored = guest.stage(silent())
    restored.run(3.0)
    ledger = restored.session.ledger  # type: ignore[attr-defined]
    assert [ledger.delivers(call.id) for call in ledger] == [False]
    assert len(restored.session.history.messages()) == 6


def test_a_store_that_stays_away_refuses_tools_and_nothing_else(tmp_path: Path) -> None:
    """The model reads why; the user is answered."""
    guest = Guest(tmp_path)
    store = AwayStore(guest.path, 3.0, 1e9)
    user = ScriptedUser().says("please book a table", at=2.0).says("thank you very much", at=20.0)
    outcome = guest.stage(user, store=store).run(30.0)
    assert guest.effects("book") == 0
    outputs = [i.output for i in outcome.history.items if i.type == "function_call_output"]
    assert ["was not done: it could not be recorded" in output for output in outputs] == [True]
    reply = outcome.heard_saying("With pleasure.")
    assert reply is not None, outcome.timeline()
    assert reply.start < 22.0, "no reply waits for the store"


def test_a_session_that_cannot_be_stored_any_more_keeps_no_records_for_the_store(
    tmp_path: Path,
) -> None:
    """It goes on, for hours perhaps."""
    guest = Guest(tmp_path)
    store = AwayStore(guest.path, 3.0, 1e9, StoreError)
    outcome = (stage := guest.stage(silent().says("thank you", at=8.0), store=store)).run(20.0)
    assert outcome.heard_saying("With pleasure.") is not None, outcome.timeline()
    session: Any = stage.session
    assert not session.turn.journal.waiting


def test_a_session_does_not_start_without_its_store(tmp_path: Path) -> None:
    """It waits 5 s, then says so."""
    guest = Guest(tmp_path)

    async def start() -> float:
        began = asyncio.get_running_loop().time()
        session: Any = TurnSession(store=AwayStore(guest.path, 0.0, 1e9), session_id=ROOM)
        with pytest.raises(
            StoreUnavailable, match="no answer; the session 'room-1' cannot begin: start"
        ):
            await session.start(Agent(instructions="Serve."))
        return asyncio.get_running_loop().time() - began

    assert 5.0 <= run(start()) < 6.0


def test_one_process_refuses_a_second_session_of_the_same_id(tmp_path: Path) -> None:
    guest = Guest(tmp_path)

    async def start() -> None:
        first, second, third = (TurnSession(store=guest.path, session_id=ROOM) for _ in range(3))  # type: ignore[var-annotated]
        await first.start(Agent(instructions="Serve."))
        with pytest.raises(StoreError, match="runs in this process already; close that one first"):
            await second.start(Agent(instructions="Serve."))
        await first.aclose()
        await third.start(Agent(instructions="Serve."))
        assert third.epoch == 2
        await third.aclose()

    run(start())


def test_a_session_that_starts_again_goes_on(tmp_path: Path) -> None:
    """The same object, after its close."""
    guest = Guest(tmp_path)

    async def twice() -> None:
        session: Any = TurnSession(store=guest.path, session_id=ROOM, llm=ScriptedLLM())
        for epoch in (1, 2):
            await session.start(Agent(instructions="Serve."))
            assert session.epoch == epoch
            await session.aclose()

    run(twice())


@pytest.mark.parametrize("id", [None, "", 7])
def test_a_store_needs_a_name_for_the_session(id: Any, tmp_path: Path) -> None:
    async def unnamed() -> None:
        TurnSession(store=tmp_path / "calls.db", session_id=id)

    with pytest.raises(TurnfsmError, match=r"session_id is .*such as the name of the room"):
        run(unnamed())


def test_a_journal_of_another_flow_is_refused(tmp_path: Path) -> None:
    """The session can start again with the right one."""
    guest = Guest(tmp_path)
    guest.stage(silent(), flow="half_duplex").run(2.0)
    message = "flow 'uninterruptible' does not continue sessions of 'half_duplex'"

    async def start(flow: str) -> None:
        session: Any = TurnSession(store=guest.path, session_id=ROOM, flow=flow)
        await session.start(Agent(instructions="Serve."))
        await session.aclose()

    with pytest.raises(StoreError, match=message):
        run(start("uninterruptible"))
    run(start("half_duplex"))


@pytest.mark.parametrize(
    "line", ['{"journal": 99, "flow": "turn", "initial": "listening"}', "no JSON", "[]"]
)
def test_a_journal_of_another_version_is_refused(line: str, tmp_path: Path) -> None:
    guest = Guest(tmp_path)
    store = SqliteStore(guest.path)
    store.append([Batch(ROOM, store.acquire(ROOM).epoch, 1, (line,))])
    store.close()

    async def start() -> None:
        session: Any = TurnSession(store=guest.path, session_id=ROOM)
        await session.start(Agent(instructions="Serve."))

    with pytest.raises(StoreError, match=r"cannot be read .*give another session_id"):
        run(start())


def test_a_start_that_fails_lets_the_session_go(tmp_path: Path) -> None:
    """Its calls cannot be read: the same process may try again, and gets the same answer."""
    guest = Guest(tmp_path)
    lines = (
        '{"journal": 1, "flow": "turn", "initial": "listening"}',
        '{"seq": 1, "t": 0.1, "note": "tool_started", "data": {"call": "call_1"}}',
    )
    store = SqliteStore(guest.path)
    store.append([Batch(ROOM, store.acquire(ROOM).epoch, 1, lines)])
    store.close()

    async def start() -> None:
        session: Any = TurnSession(store=guest.path, session_id=ROOM)
        await session.start(Agent(instructions="Serve."))

    for _ in range(2):
        with pytest.raises(StoreError, match=r"its records cannot be read .*note 1"):
            run(start())
    assert store.acquire(ROOM).epoch == 2  # it was not taken
    store.close()


@pytest.mark.parametrize("redact", ["leave_out", "hash"])
def test_a_store_that_keeps_no_words_says_what_is_missing(
    redact: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The next worker knows the names of the calls, and that it does not know more."""
    guest = Guest(tmp_path)
    guest.stage(talk(), store=SqliteStore(guest.path, redact=redact)).run(11.0)
    kept = SqliteStore(guest.path)
    text = "\n".join(kept.acquire(ROOM).records)
    kept.close()
    assert [word for word in ("please", "moment", "arranged", "Lark") if word in text] == []
    outcome = guest.gone_on(ScriptedUser().says("thank you very much", at=1.0), 6.0)
    assert "continues without the texts of the conversation" in caplog.text
    assert "its store does not keep them (redact)" in caplog.text
    assert [h.text for h in outcome.heard] == ["With pleasure."]
    calls = [(i.name, i.output) for i in outcome.history.items if i.type == "function_call_output"]
    assert [(name, "what it gave was not kept" in output) for name, output in calls] == [
        ("book", True)
    ]


def test_no_words_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever happens to the store and to the worker."""
    caplog.set_level(logging.DEBUG, "turnfsm")
    guest = Guest(tmp_path, gives="the secret of table 9")
    guest.stage(talk(), store=AwayStore(guest.path, 3.0, 5.0)).run(20.0)
    assert guest.killed(talk(), noted("resumed"))
    guest.gone_on(silent(), 8.0)
    ours = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("turnfsm"))
    assert "answers again" in ours
    assert [w for w in ("please", "taxi please", "Lark", "secret") if w in ours] == []


def test_an_agent_may_resume_in_its_own_way(tmp_path: Path) -> None:
    """`on_resume` is called instead of `on_enter`; `restore` says which agent was active."""
    guest = Guest(tmp_path)
    guest.stage(ScriptedUser().says("thank you very much", at=2.0)).run(6.0)
    resumed: list[Any] = []

    class Back(Agent):
        async def on_enter(self) -> None:
            resumed.append("entered")

        async def on_resume(self, past: Any) -> None:
            resumed.append(past.agent)

    async def go_on() -> Any:
        session: Any = TurnSession(store=guest.path, session_id=ROOM, llm=ScriptedLLM())
        past = await session.restore()
        await session.start(Back(instructions="Serve."))
        await asyncio.sleep(1.0)
        await session.aclose()
        return past

    past = run(go_on())
    assert resumed == ["waiter"]
    assert past.agent == "waiter"
    said = [item["content"] for item in past.items if item["type"] == "message"]
    assert said == [[GREETING], ["thank you very much"], ["With pleasure."]]


def test_without_a_store_there_is_nothing_to_restore(tmp_path: Path) -> None:
    async def start() -> None:
        session: Any = TurnSession(llm=ScriptedLLM(otherwise=answer))
        assert (await session.restore(), session.epoch) == (None, 0)

    run(start())


def test_a_clock_that_is_ahead_does_not_reorder_the_conversation(tmp_path: Path) -> None:
    """The worker before wrote on a machine whose clock is a day ahead: LiveKit sorts by time."""
    guest = Guest(tmp_path)
    stage = guest.stage(ScriptedUser().says("thank you very much", at=2.0))
    stage.at(
        6.0, lambda s: s.session.history.add_message(role="user", content="later", created_at=2e9)
    )  # type: ignore[arg-type]
    stage.run(8.0)
    outcome = guest.gone_on(ScriptedUser().says("thank you very much", at=2.0), 8.0)
    texts = [m.text_content for m in llm.ChatContext(outcome.history.items).messages()]
    assert texts[-2:] == ["thank you very much", "With pleasure."]
    assert texts.index("later") < len(texts) - 2
