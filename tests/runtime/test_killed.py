"""kill -9 in the middle of a conversation, and the session that takes it up again.

Each conversation runs in a process of its own, which kills itself right after a record of its
journal was written, or in the middle of a tool. The next process has nothing but that journal.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from livekit.agents import Agent, RunContext, function_tool, llm

from turnfsm.fsm import load_flow
from turnfsm.fsm.journal import JournalError, read_journal, replay
from turnfsm.runtime import JsonlSink
from turnfsm.runtime.ledger import Ledger
from turnfsm.runtime.livekit import TurnSession
from turnfsm.runtime.testing.livekit import (
    Call,
    Outcome,
    Reply,
    Request,
    ScriptedLLM,
    ScriptedUser,
    Stage,
)

ASKED, BOOKED, MOMENT = "book a table", "It is booked.", "One moment please."

Record = Mapping[str, Any]
Moment = Callable[[Record], bool]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DeadlySink(JsonlSink):
    """Kills its process once the record of a certain moment is written."""

    def __init__(self, target: Path, moment: Moment, redact: Any = None) -> None:
        super().__init__(target, redact=redact)
        self._moment = moment

    def write(self, record: Record) -> None:
        """Write one line, perhaps the last one."""
        super().write(record)
        if self._moment(record):
            _die()


def noted(kind: str, **data: Any) -> Moment:
    """Right after a note of this kind."""

    def holds(record: Record) -> bool:
        fields = record.get("data") or {}
        return record.get("note") == kind and all(fields.get(k) == v for k, v in data.items())

    return holds


def second(moment: Moment) -> Moment:
    """The second time that this holds."""
    times = iter((False, True))
    return lambda record: moment(record) and next(times, True)


def posted(trigger: str) -> Moment:
    """Right after a trigger was taken."""
    return lambda record: record.get("trigger") == trigger and record["verdict"] == "taken"


def said(text: str) -> Moment:
    """Right after a message of the agent."""
    return noted("message", role="assistant", text=text)


@attrs.frozen
class Play:
    """A conversation in which a guest asks for a table.

    Attributes:
        gives: What the tool gives back; an exception is raised.
        works: Seconds that the tool takes after it has written into the restaurant's book.
        preamble: What the model says while it makes the call.
        tells: The tool has this said itself, and does not wait for it.
        updates: The tool reports before it works.
        interrupted: The guest speaks while the tool works.
        thanks: The guest says one thing more, which is answered.
        again: The guest asks a second time for the same.
        history: What was said before.
    """

    gives: Any = "booked"
    works: float = 0.0
    preamble: str = ""
    tells: str = ""
    updates: bool = False
    interrupted: bool = False
    thanks: bool = False
    again: bool = False
    history: llm.ChatContext | None = None

    def stage(self, folder: Path, *, dies: str = "", **options: Any) -> Stage:
        """The stage; `dies` says where the process ends: in the tool, or when it is asked."""

        @function_tool
        async def book(context: RunContext[None]) -> Any:
            """Book a table."""
            with (folder / "bookings").open("a") as bookings:
                bookings.write("a table\n")
            if dies == "in the tool":
                _die()
            if self.updates:
                await context.update("The kitchen is asked.")
            if self.tells:
                context.session.say(self.tells)
            await asyncio.sleep(self.works)
            if isinstance(self.gives, Exception):
                raise self.gives
            return Agent(instructions="Cook.") if self.gives is Agent else self.gives

        def result(request: Request) -> Reply:
            if dies == "at the request":
                _die()
            return Reply(BOOKED)

        model = ScriptedLLM(
            {"book": Reply(self.preamble, calls=Call("book"))},
            {"book": result},
            otherwise=BOOKED,
        )
        user = ScriptedUser().says(ASKED, at=1.0)
        if self.interrupted:
            user.says("are you there", at=5.0)
        if self.again or self.thanks:
            user.says(ASKED if self.again else "thanks a lot", at=12.0)
        agent = partial(Agent, instructions="Help.", tools=[book])
        if self.history is not None:
            agent = partial(agent, chat_ctx=self.history)
        session: Any = partial(TurnSession, **options)
        return Stage(session, user=user, llm=model, agent=agent)

    def killed(self, folder: Path, moment: Moment | str, name: str = "journal", **how: Any) -> None:
        """Play in a process that kills itself; its journal is a file of this name."""
        dies = moment if isinstance(moment, str) else ""
        redact = how.pop("redact", None)
        if (child := os.fork()) == 0:
            try:
                deadly = moment if callable(moment) else lambda record: False
                sink = DeadlySink(folder / name, deadly, redact)
                self.stage(folder, dies=dies, sinks=[sink], **how).run(30.0)
            finally:
                os._exit(1)  # it is still there: that is the failure
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, "the moment did not come"

    def taken_up(self, folder: Path, name: str = "journal") -> Outcome:
        """Play on with what a journal has."""
        return self.stage(folder, ledger=_ledger(folder, name)).run(30.0)


def _ledger(folder: Path, name: str = "journal") -> Ledger:
    return Ledger.from_journal(read_journal(folder / name))


def _tables(folder: Path) -> int:
    return len((folder / "bookings").read_text().splitlines())


PLAIN, NOTHING, DICT = Play(), Play(gives=None), Play(gives={"table": 4})
ENDED = noted("tool_ended", how="result")
COMMITTED, TOLD = noted("tool_committed"), noted("reply_heard")
HEARD_LATER = second(noted("reply_heard"))

DONE: dict[str, tuple[Play, Moment | str]] = {
    "text, ended": (PLAIN, ENDED),
    "text, committed": (PLAIN, COMMITTED),
    "text, asked for the reply": (PLAIN, "at the request"),
    "text, said": (PLAIN, said(BOOKED)),
    "text, told": (PLAIN, TOLD),
    "text, said, and another turn": (Play(thanks=True), posted("turn_committed")),
    "nothing, ended": (NOTHING, ENDED),
    "nothing, committed": (NOTHING, COMMITTED),
    "nothing, told in another turn": (Play(gives=None, thanks=True), TOLD),
    "empty text, ended": (Play(gives=""), ENDED),
    "dict, ended": (DICT, ENDED),
    "dict, committed": (DICT, COMMITTED),
    "dict, told": (DICT, TOLD),
    "preamble said, result not": (Play(preamble=MOMENT), said(MOMENT)),
    "preamble said, result asked for": (Play(preamble=MOMENT), "at the request"),
    "tool says something, result not": (Play(tells="Working on it."), said("Working on it.")),
    "interrupted, then told": (Play(works=6.0, interrupted=True), HEARD_LATER),
    "interrupted, then ended": (Play(works=6.0, interrupted=True), ENDED),
    "reported, then told": (Play(works=3.0, updates=True), TOLD),
    "reported, then ended": (Play(works=3.0, updates=True), ENDED),
    "handed over": (Play(gives=Agent), ENDED),
}
"""A call has ended with a result; the process is killed at this moment."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", DONE)
def test_a_call_that_has_ended_is_never_made_again(case: str, tmp_path: Path) -> None:
    """Whatever it gave, and whether or not its result was committed or said."""
    play, moment = DONE[case]
    play.killed(tmp_path, moment)
    attrs.evolve(play, thanks=False, interrupted=False).taken_up(tmp_path)
    assert _tables(tmp_path) == 1


UNDONE: dict[str, tuple[Play, Moment | str]] = {
    "in the tool": (PLAIN, "in the tool"),
    "while it runs": (Play(works=3.0, preamble=MOMENT), said(MOMENT)),
    "while it runs, let go of": (
        Play(works=9.0, interrupted=True),
        noted("tool_turn_over"),
    ),
    "while it runs, reported": (Play(works=3.0, updates=True), said(BOOKED)),
    "it failed": (Play(gives=ValueError("no table")), noted("tool_ended", how="error")),
}
"""A call has not ended, or has failed."""


@pytest.mark.parametrize("case", UNDONE)
def test_a_call_that_has_not_ended_is_made_again(case: str, tmp_path: Path) -> None:
    """Nobody knows what became of it; what failed may be tried again."""
    play, moment = UNDONE[case]
    play.killed(tmp_path, moment)
    outcome = PLAIN.taken_up(tmp_path)
    assert _tables(tmp_path) == 2
    assert outcome.heard_saying(BOOKED) is not None, outcome.timeline()


@pytest.mark.parametrize(
    ("play", "read"),
    [(PLAIN, "booked"), (DICT, "{'table': 4}"), (Play(gives=Agent), "did not run again")],
    ids=["text", "dict", "handoff"],
)
def test_the_model_reads_what_the_call_gave(play: Play, read: str, tmp_path: Path) -> None:
    """The user hears the answer that was not said."""
    play.killed(tmp_path, ENDED)
    outcome = play.taken_up(tmp_path)
    outputs = [i.output for i in outcome.history.items if i.type == "function_call_output"]
    assert [read in output for output in outputs] == [True]
    assert outcome.heard_saying(BOOKED) is not None, outcome.timeline()


def test_without_the_ledger_the_call_is_made_again(tmp_path: Path) -> None:
    """So it is the ledger that keeps it from happening."""
    PLAIN.killed(tmp_path, ENDED)
    PLAIN.stage(tmp_path).run(20.0)
    assert _tables(tmp_path) == 2


def test_who_asks_a_second_time_gets_a_second_table(tmp_path: Path) -> None:
    """An old result answers one turn; the next turn is a new request."""
    PLAIN.killed(tmp_path, ENDED)
    Play(again=True).taken_up(tmp_path)
    assert _tables(tmp_path) == 2


HISTORY = llm.ChatContext(
    [
        llm.ChatMessage(role="user", content=[ASKED], created_at=1.0),
        llm.FunctionCall(call_id="call_1", name="book", arguments="{}", created_at=2.0),
        llm.FunctionCallOutput(
            call_id="call_1", name="book", output="booked", is_error=False, created_at=2.0
        ),
    ]
)
"""The conversation of the dead process, as an application may have kept it."""


@pytest.mark.parametrize(("moment", "tables"), [(COMMITTED, 1), (said(MOMENT), 1), (TOLD, 2)])
def test_what_the_user_has_heard_and_the_model_is_shown_is_over(
    moment: Moment, tables: int, tmp_path: Path
) -> None:
    """With the old history in its context a model that books again wants a second table; not so
    if the user never heard of the first."""
    play = Play(preamble=MOMENT)
    play.killed(tmp_path, moment)
    attrs.evolve(play, history=HISTORY.copy()).taken_up(tmp_path)
    assert _tables(tmp_path) == tables


AGAIN: dict[str, Moment | str] = {
    "at once": noted("tool_restored"),
    "as the user speaks": posted("user_started_speaking"),
    "answered": noted("tool_answered"),
    "answered, committed": COMMITTED,
    "answered, asked for the reply": "at the request",
    "answered, told": TOLD,
}


def _cases() -> list[Any]:
    """A tool that gives nothing asks for no reply."""
    plays = {"text": PLAIN, "nothing": NOTHING, "dict": DICT}
    return [
        pytest.param(play, case, id=f"{name}, {case}")
        for name, play in plays.items()
        for case in AGAIN
        if play is not NOTHING or case not in ("answered, asked for the reply", "answered, told")
    ]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("play", "case"), _cases())
def test_a_second_restart_knows_what_the_first_one_knew(
    play: Play, case: str, tmp_path: Path
) -> None:
    """The journal of the second process carries what it was given."""
    play.killed(tmp_path, ENDED)
    play.killed(tmp_path, AGAIN[case], "second", ledger=_ledger(tmp_path))
    play.taken_up(tmp_path, "second")
    assert _tables(tmp_path) == 1


LIVES: dict[str, tuple[Play, list[str]]] = {
    "plain": (PLAIN, ["started", "ended", "committed", BOOKED, "heard"]),
    "preamble": (
        Play(preamble=MOMENT),
        ["started", "ended", MOMENT, "committed", BOOKED, "heard"],
    ),
    "the tool says something": (
        Play(tells="Working on it."),
        ["started", "ended", "committed", "Working on it.", BOOKED, "heard"],
    ),
    "nothing": (
        Play(gives=None, thanks=True),
        ["started", "ended", "committed", BOOKED, "heard"],
    ),
    "interrupted": (
        Play(works=6.0, interrupted=True),
        ["started", "turn_over", BOOKED, "heard", "ended", "committed", BOOKED, "heard"],
    ),
    "reported": (
        Play(works=6.0, updates=True),
        ["started", BOOKED, "late_result", "ended", BOOKED, "heard"],
    ),
}


MOVES = ("started", "turn_over", "ended", "committed", "late_result")


@pytest.mark.parametrize("case", LIVES)
def test_the_journal_says_what_was_committed_and_heard(case: str, tmp_path: Path) -> None:
    """A result is told by the reply that was made with it, by nothing else that is said."""
    play, life = LIVES[case]
    stage = play.stage(tmp_path)
    stage.run(30.0)
    notes = stage.session.turn.journal.notes()  # type: ignore[attr-defined]
    kinds = {f"tool_{trigger}" for trigger in MOVES} | {"reply_heard"}
    told = [
        note.kind.rpartition("tool_")[2].removeprefix("reply_")
        if note.kind in kinds
        else note.data["text"]
        for note in notes
        if note.kind in kinds or note.data.get("role") == "assistant"
    ]
    assert told == life
    (call,) = stage.session.ledger  # type: ignore[attr-defined]
    assert (call.gave, call.committed) == ("result", True)
    assert not stage.session.ledger.delivers(call.id)  # type: ignore[attr-defined]


@pytest.mark.parametrize("redact", ["hash", "leave_out"])
def test_a_journal_without_arguments_is_refused_for_a_restart(redact: Any, tmp_path: Path) -> None:
    """No call can be found in it; the error says how to write one that does."""
    PLAIN.killed(tmp_path, ENDED, redact=redact)
    with pytest.raises(JournalError, match=rf"redact={redact!r}.*JsonlSink\(path, redact=None\)"):
        _ledger(tmp_path)


def test_a_journal_that_hides_only_words_is_enough(tmp_path: Path) -> None:
    """What the user said is left out; calls and results stay."""
    PLAIN.killed(tmp_path, ENDED)
    journal = read_journal(tmp_path / "journal")
    redacted = attrs.evolve(
        journal, header=attrs.evolve(journal.header, redacted={"how": "hash", "keys": ["text"]})
    )
    PLAIN.stage(tmp_path, ledger=Ledger.from_journal(redacted)).run(20.0)
    assert _tables(tmp_path) == 1


def test_what_was_written_before_the_kill_is_whole_and_replays(tmp_path: Path) -> None:
    """The journal of the dead process ends in the middle of a turn, and nothing of it is lost."""
    PLAIN.killed(tmp_path, "at the request")
    journal = read_journal(tmp_path / "journal")
    assert journal.damage is None
    assert replay(journal, load_flow("turn")) is None
    assert [call.end for call in Ledger.from_journal(journal)] == ["result"]
