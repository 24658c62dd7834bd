"""A governed conversation is kept in a store, and another worker goes on with it."""

import asyncio
from collections.abc import Sequence

import pytest
from flow_text import parsed

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pathlib import Path

from pipecat.frames import frames as f
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat_stage import Stage, moments

from turnfsm import TurnfsmError
from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Messages, Says, Tool, said, shows
from turnfsm.store import Acquired, Batch, Check, SessionTaken, SqliteStore

GREETING = "Welcome to the Lark."
SORRY = "Sorry for the interruption."
BOOKED = "The table is booked."
PERHAPS = "The table is perhaps booked."


class Recording(SqliteStore):
    """Remembers what it has written, and how many effects there were then."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.stage: Stage | None = None
        self.written: list[tuple[tuple[str, ...], int]] = []

    def append(self, batches: Sequence[Batch]) -> Sequence[SessionTaken | None]:
        refused = super().append(batches)
        assert self.stage is not None
        for batch in batches:
            if batch.records:
                self.written.append((batch.records, len(self.stage.effects)))
        return refused


class Left(SqliteStore):
    """What a worker has left that was killed after a write."""

    def __init__(self, path: Path, records: tuple[str, ...]) -> None:
        super().__init__(path)
        self._records = records

    def acquire(self, session: str, check: Check | None = None) -> Acquired:
        super().acquire(session)  # the worker before
        acquired = Acquired(session, super().acquire(session).epoch, self._records)
        if check is not None:
            check(acquired)
        return acquired


def _model(messages: Messages) -> Says:
    orders = [str(m["content"]) for m in messages if m.get("role") == "developer"]
    sorry = f"{SORRY} " if orders and "Apologise" in orders[-1] else ""
    if "thanks" in said(messages):
        return Says(f"{sorry}You are welcome.")
    if "book" not in said(messages):
        return Says(f"{sorry}How can I help?")
    if shows(messages, "not known"):
        return Says(sorry + PERHAPS)
    if shows(messages, "all done"):
        return Says(sorry + BOOKED)
    return Says(calls=(("book", {}),))


async def _talk(stage: Stage) -> None:
    assert stage.governor is not None
    if await stage.governor.restore() is None:
        await stage.pushes(f.TTSSpeakFrame(GREETING))
    await stage.until(3.0)
    await stage.says("please book a table")
    await stage.until(11.0)
    await stage.says("okay thanks")


async def _waits(stage: Stage) -> None:
    assert stage.governor is not None
    assert await stage.governor.restore() is not None


def _stage(store: SqliteStore | str) -> Stage:
    tools = {"book": Tool(2.0, "all done", effect_at=1.0)}
    return Stage(_model, tools, store=store, session_id="room-1")


def _kept(path: Path) -> Recording:
    store = Recording(path / "calls.db")
    store.stage = _stage(store)
    store.stage.play(_talk, seconds=18.0)
    assert store.stage.heard == f"{GREETING} {BOOKED} You are welcome."
    return store


def test_the_next_worker_goes_on_at_every_write(tmp_path: Path) -> None:
    """No call has its effect twice, there is at most one apology, and nobody is greeted again. A
    result that was not told is told, or that it is not known."""
    first = _kept(tmp_path)
    assert len(first.written) > 20
    wrong: list[object] = []
    records: tuple[str, ...] = ()
    for place, (more, effects) in enumerate(first.written):
        records += more
        stage = _stage(Left(tmp_path / f"{place}.db", records))
        stage.play(_waits, seconds=12.0)
        told = BOOKED in stage.heard or PERHAPS in stage.heard
        owed = any('"turn_committed"' in r or '"please book' in r for r in records)
        heard = any("is booked" in r for r in records)
        if (
            effects + len(stage.effects) > 1
            or stage.heard.count(SORRY) > 1
            or GREETING in stage.heard
            or (owed and not told and not heard)
            or stage.errors
        ):
            wrong.append((place, effects, stage.effects, stage.heard, stage.errors))
    assert wrong == []


def test_a_question_of_the_worker_before_is_never_taken_for_answered(tmp_path: Path) -> None:
    """Wherever it dies: the next worker runs the tool only after a yes to a question of its own."""
    text = "flow: b\nextends: turn\ntools: {confirm: {book: {say: Shall I book the table?}}}\n"
    flow = parsed(text)

    def stage_of(store: SqliteStore) -> Stage:
        tools = {"book": Tool(2.0, "all done", effect_at=1.0)}
        options = {"store": store, "session_id": "room-1", "flow": flow, "proof": "off"}
        return Stage(_model, tools, **options)

    async def agrees(stage: Stage) -> None:
        assert stage.governor is not None
        await stage.governor.restore()
        await stage.until(3.0)
        await stage.says("please book a table")
        await stage.until(9.0)
        await stage.says("yes")

    first = Recording(tmp_path / "calls.db")
    first.stage = stage_of(first)
    first.stage.play(agrees, seconds=18.0)
    assert first.stage.effects == ["book"]
    places = [n for n, (more, _) in enumerate(first.written) if "tool_started" in str(more)]
    confirmed = [n for n, (more, _) in enumerate(first.written) if "tool_confirmed" in str(more)]
    records: tuple[str, ...] = ()
    for place, (more, _) in enumerate(first.written[: confirmed[0]]):
        records += more
        if place >= places[0]:
            after = stage_of(Left(tmp_path / f"{place}.db", records))
            after.play(moments((0.0, "yes")), seconds=8.0)
            assert after.effects == [], (place, after.heard)


def test_the_conversation_is_restored(tmp_path: Path) -> None:
    """Messages, calls and the count of turns; what was said is not said again."""
    first = _kept(tmp_path)
    before = first.stage
    after = _stage(str(tmp_path / "calls.db")).play(_waits, seconds=10.0)
    assert before is not None
    assert after.heard == ""
    assert after.context.messages == before.context.messages
    assert after.user_turns == before.user_turns
    assert [(c.name, c.gave) for c in after.governor.ledger] == [("book", "result")]


SUMMARY = {"role": "developer", "content": "The table was booked at the Lark."}


@pytest.mark.parametrize("kept", [0, 1, 2])
@pytest.mark.parametrize("again", [False, True])
def test_the_conversation_is_restored_as_the_application_has_edited_it(
    again: bool, kept: int, tmp_path: Path
) -> None:
    """Its summary takes the place of what was said, and the last messages stay behind it. What it
    has taken out does not come back, and what came later is behind it."""

    async def summarises(stage: Stage) -> None:
        assert stage.governor is not None
        await stage.governor.restore()
        await stage.says("please book a table")
        await stage.until(8.0)
        assert stage.heard == BOOKED
        messages = stage.context.messages
        stage.context.set_messages([SUMMARY, *messages[len(messages) - kept :]])
        await stage.says("book another" if again else "okay thanks")

    first = _stage(str(tmp_path / "calls.db")).play(summarises, seconds=18.0)
    after = _stage(str(tmp_path / "calls.db")).play(_waits, seconds=10.0)
    assert after.context.messages == first.context.messages
    assert after.context.messages[0] == SUMMARY
    assert (after.heard, after.effects) == ("", [])


def test_a_store_needs_the_name_of_the_session(tmp_path: Path) -> None:
    with pytest.raises(TurnfsmError, match="session_id is None"):
        TurnGovernor(store=tmp_path / "calls.db")


def test_a_store_that_cannot_be_used_ends_the_pipeline(tmp_path: Path) -> None:
    """The error says why."""

    async def silent(stage: Stage) -> None:
        await stage.until(1.0)

    stage = _stage(str(tmp_path / "nowhere" / "calls.db")).play(silent, seconds=8.0)
    assert any("nowhere" in error for error in stage.errors)


def test_a_call_of_a_renamed_tool_is_a_call_of_the_new_one(tmp_path: Path) -> None:
    """Its result answers the call that the model makes again; nothing is booked twice."""
    first = _kept(tmp_path)
    ended = next(n for n, (more, _) in enumerate(first.written) if '"tool_ended"' in str(more))
    records = tuple(record for more, _ in first.written[: ended + 1] for record in more)
    flow = parsed("flow: inn\nextends: turn\nmigrates: {tools: {book: book_table}}\n")

    def model(messages: Messages) -> Says:
        calls = [call for m in messages for call in m.get("tool_calls") or ()]
        return Says(BOOKED) if len(calls) > 1 else Says(calls=(("book_table", {}),))

    stage = Stage(
        model, {"book_table": Tool(2.0, "all done", effect_at=1.0)}, flow=flow, proof="off",
        store=Left(tmp_path / "next.db", records), session_id="room-1",
    )  # fmt: skip
    stage.play(_waits, seconds=12.0)
    names = [c["function"]["name"] for m in stage.context.messages for c in m.get("tool_calls", ())]
    assert names == ["book_table", "book_table"]
    assert stage.effects == []
    assert stage.heard == BOOKED


class Facts(FrameProcessor):
    """Finds a fact for the user's latest message, before the model is asked."""

    async def process_frame(self, frame: f.Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, f.LLMContextFrame):
            await asyncio.sleep(1.0)
            frame.context.add_message({"role": "developer", "content": "The fact: Mill Road."})
        await self.push_frame(frame, direction)


def test_a_turn_that_the_next_worker_answers_passes_the_processors_before_the_model(
    tmp_path: Path,
) -> None:
    """Whenever the first one was killed, also while its processor searched."""

    def model(messages: Messages) -> Says:
        return Says("In Mill Road." if shows(messages, "The fact") else "I do not know.")

    def stage_of(store: SqliteStore) -> Stage:
        def around(parts: list[FrameProcessor]) -> list[FrameProcessor]:
            return [*parts[:2], Facts(), *parts[2:]]

        return Stage(model, around=around, store=store, session_id="room-1")

    async def asks(stage: Stage) -> None:
        await stage.says("where")

    store = Recording(tmp_path / "calls.db")
    store.stage = stage_of(store)
    store.stage.play(asks, seconds=8.0)
    heard: list[str] = []
    records: tuple[str, ...] = ()
    for place, (more, _) in enumerate(store.written):
        records += more
        stage = stage_of(Left(tmp_path / f"{place}.db", records))
        heard.append(stage.play(_waits, seconds=12.0).heard)
    assert set(heard) == {"", "In Mill Road."}
