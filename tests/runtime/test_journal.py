"""The journal in memory, on disk, redacted and replayed."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
from calls import Host, flow_of
from calls import runtime as make_runtime

from turnfsm import JsonlSink, TurnRuntime, write_journal
from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.journal import (
    AudioResumed,
    AudioStopped,
    Closed,
    ComponentFailed,
    ComponentSwitched,
    Header,
    Journal,
    JournalError,
    Note,
    ReplyAudio,
    ReplyText,
    Snapshot,
    VoiceUnrecognised,
    journal_of,
    read_journal,
    replay,
    session_event,
)
from turnfsm.runtime.journal import Redactor
from turnfsm.runtime.ledger import Ledger

OPEN: list[TurnRuntime] = []
EMPTY = Journal(Header("call", "idle"), ())


@pytest.fixture(autouse=True)
def _close() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def runtime(host: Host | None = None, **options: Any) -> TurnRuntime:
    """A runtime that is closed at the end of the test."""
    OPEN.append(make_runtime(host, **options))
    return OPEN[-1]


def conversation(**options: Any) -> TurnRuntime:
    """A runtime after a few posts of every kind."""
    turn = runtime(Host(greet=lambda event: turn.note("said", text="Grüße\u2028!")), **options)
    turn.post("ring")
    turn.post("step_started", "s1", text="what the user said")
    turn.post("playout_started", "s1")
    turn.post("playout_started", "s0")
    turn.post("barge_in", None)
    turn.post("ring")
    turn.post("user_started")
    return turn


# -- in memory


def test_entries_say_what_was_asked_and_what_became_of_it() -> None:
    """Number, time, trigger, of, facts afterwards, verdict, cause and data."""
    turn = conversation()
    entries = list(turn.journal)
    assert [(e.seq, e.trigger, bool(e.verdict)) for e in entries] == [
        (1, "ring", True),
        (3, "step_started", True),
        (4, "playout_started", True),
        (5, "playout_started", False),
        (6, "barge_in", True),
        (7, "ring", False),
        (8, "user_started", True),
    ]
    assert entries[1].of == "s1"
    assert entries[2].facts == ("heard", "allowed")
    assert entries[1].data == {"text": "what the user said"}
    assert [e.trigger for e in turn.journal.refusals] == ["playout_started", "ring"]


def test_notes_stand_between_the_entries() -> None:
    """They have a number of the same count, and are read by kind."""
    turn = conversation()
    turn.note("other", n=1)
    assert [(n.seq, n.kind) for n in turn.journal.notes()] == [(2, "said"), (9, "other")]
    assert [n.data for n in turn.journal.notes("other")] == [{"n": 1}]


def test_the_journal_is_bounded() -> None:
    """The oldest go first; their numbers are not given again."""
    turn = runtime(maxlen=3)
    for _ in range(10):
        turn.post("tick")
    assert [entry.seq for entry in turn.journal] == [8, 9, 10]
    assert len(turn.journal) == 3


def test_an_empty_journal_is_its_header() -> None:
    """It names the flow and when it began."""
    journal = runtime().journal.read()
    assert journal.records == ()
    [header] = journal.to_json()
    assert (header["journal"], header["flow"], header["initial"]) == (1, "call", "idle")
    assert set(header) == {"journal", "flow", "initial", "started_at", "timers"}


# -- replay


def test_a_replay_reproduces_every_state_fact_and_verdict() -> None:
    """From memory, and through JSON."""
    turn = conversation()
    journal = turn.journal.read()
    assert replay(journal, turn.flow) is None
    assert replay(journal_of(json.loads(json.dumps(list(journal.to_json())))), turn.flow) is None


@pytest.mark.parametrize("kept", range(1, 9))
def test_a_journal_without_its_beginning_is_replayed_from_where_it_goes_on(kept: int) -> None:
    """The header holds the configuration and tokens after the first entry that is kept."""
    turn = conversation(maxlen=kept)
    journal = turn.journal.read()
    assert replay(journal, turn.flow) is None
    if kept >= 2:
        records = list(journal.to_json())
        records[-1]["facts"] = ["heard"]
        assert replay(journal_of(records), turn.flow) is not None


def test_stale_verdicts_are_reproduced_after_a_dropped_beginning() -> None:
    """The step that was current then is part of what the header keeps."""
    turn = runtime(maxlen=3)
    turn.post("step_started", "s1")
    turn.post("tick")
    turn.post("playout_started", "s1")
    turn.post("playout_started", "s2")
    journal = turn.journal.read()
    assert journal.header.snapshot == Snapshot(2, "talking", (), {"step": "s1"})
    assert [getattr(e.verdict, "reason", None) for e in journal.entries] == [None, None, "stale"]
    assert replay(journal, turn.flow) is None
    assert journal_of(journal.to_json()).header == journal.header


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("dest", "talking"),
        ("verdict", "refused"),
        ("facts", ["heard", "allowed"]),
        ("row", "busy.again.0"),
    ],
)
def test_a_replay_says_where_it_diverges(key: str, value: Any) -> None:
    """The entry's number, what the journal has and what the flow gives."""
    turn = conversation()
    records = list(turn.journal.read().to_json())
    changed = {**records[1], key: value, "reason": "guard", "why": ""}
    divergence = replay(journal_of([records[0], changed, *records[2:]]), turn.flow)
    assert divergence is not None
    assert (divergence.seq, divergence.trigger) == (1, "ring")
    assert str(divergence) == (
        f"entry 1 (ring): journal {divergence.expected}; "
        "flow taken (idle.ring.0) -> busy {allowed}"
    )


def test_a_replay_on_another_flow_names_what_it_lacks() -> None:
    """A trigger that the flow does not have is an error, not a divergence."""
    journal = conversation().journal.read()
    other = flow_of("flow: x\ninitial: a\nstates: {a: {}}")
    with pytest.raises(LookupError, match="flow 'x' has no trigger 'ring'"):
        replay(journal, other)


# -- on disk


def test_a_sink_gets_every_record_as_it_happens(tmp_path: Path) -> None:
    """What stands in the file is what memory has, while the conversation goes on."""
    path = tmp_path / "journal.jsonl"
    turn = conversation(sinks=[JsonlSink(path, redact=None)])
    journal = read_journal(path)
    assert journal.damage is None
    kept = json.dumps(list(turn.journal.read().to_json()))
    assert list(journal.to_json()) == json.loads(kept)
    assert replay(journal, turn.flow) is None


def test_a_file_keeps_what_memory_has_dropped(tmp_path: Path) -> None:
    """The bound is of the memory; a sink gets everything."""
    turn = runtime(maxlen=2, sinks=[JsonlSink(tmp_path / "j.jsonl")])
    for _ in range(10):
        turn.post("tick")
    assert [entry.seq for entry in read_journal(tmp_path / "j.jsonl").entries] == list(range(1, 11))


def test_only_the_owner_reads_a_journal(tmp_path: Path) -> None:
    """Mode 0600, whatever the umask."""
    before = os.umask(0)
    try:
        JsonlSink(tmp_path / "a.jsonl").close()
        write_journal(tmp_path / "b.jsonl", EMPTY)
    finally:
        os.umask(before)
    for name in "ab":
        assert stat.S_IMODE((tmp_path / f"{name}.jsonl").stat().st_mode) == 0o600


def test_a_journal_is_never_written_over(tmp_path: Path) -> None:
    """An existing file, also a dangling link, is an error that names the remedy."""
    path = tmp_path / "there"
    path.write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for target in (path, tmp_path / "link"):
        with pytest.raises(
            JournalError,
            match="exists, and is not overwritten; name a new file for each session, or a folder",
        ):
            JsonlSink(target)
        with pytest.raises(
            JournalError,
            match="exists, and is not overwritten; name a new file for each session, or a folder",
        ):
            write_journal(target, EMPTY)
    assert path.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "there"]


def test_a_folder_gets_a_new_file_for_each_journal(tmp_path: Path) -> None:
    """A path without a suffix or with a slash is a folder, which is made; so is what is one."""
    for target in (tmp_path / "calls", f"{tmp_path}/calls/", str(tmp_path / "calls")):
        JsonlSink(target).close()
    names = [path.name for path in (tmp_path / "calls").iterdir()]
    assert len(names) == 3
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d-]{8}-[0-9a-f]{6}\.jsonl", name) for name in names)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="file/calls: not a directory; name another folder"):
        JsonlSink(f"{tmp_path}/file/calls/")


@pytest.mark.parametrize("make", [JsonlSink, lambda path: write_journal(path, EMPTY)])
def test_a_journal_needs_a_folder(tmp_path: Path, make: Any) -> None:
    """A missing folder is one clear message."""
    with pytest.raises(JournalError, match="no such file or directory; name a file"):
        make(tmp_path / "no" / "journal.jsonl")


def test_a_journal_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    """An error while the records are made leaves nothing behind."""

    broken = Note(1, 0.0, "broken", Unreadable())
    with pytest.raises(RuntimeError):
        write_journal(tmp_path / "journal", attrs.evolve(EMPTY, records=(broken,)))
    assert list(tmp_path.iterdir()) == []
    turn = conversation()
    write_journal(tmp_path / "journal", turn.journal.read(), redact=None)
    assert replay(read_journal(tmp_path / "journal"), turn.flow) is None


def test_a_full_disk_ends_the_writing_not_the_conversation() -> None:
    """The error is kept; nothing is raised, then or later."""
    with unbuffered(os.open("/dev/full", os.O_WRONLY)) as full:
        sink = JsonlSink(full)
        turn = conversation(sinks=[sink])
        assert turn.state == "busy"
        turn.close()
    assert isinstance(sink.error, OSError)
    assert sink.error.errno == errno.ENOSPC


def unbuffered(descriptor: int) -> io.TextIOWrapper:
    """A text file that keeps nothing back, so that closing it cannot fail."""
    return io.TextIOWrapper(os.fdopen(descriptor, "wb", buffering=0), write_through=True)


def test_a_closed_pipe_ends_the_writing_not_the_conversation() -> None:
    """So does a file that somebody else has closed."""
    reader, writer = os.pipe()
    os.close(reader)
    closed = io.StringIO()
    closed.close()
    with unbuffered(writer) as pipe:
        sinks = [JsonlSink(pipe), JsonlSink(closed)]
        turn = conversation(sinks=sinks)
    assert (turn.state, len(turn.journal)) == ("busy", 8)
    assert isinstance(sinks[0].error, BrokenPipeError)
    assert isinstance(sinks[1].error, ValueError)


def test_a_sink_that_raises_gets_nothing_more(caplog: pytest.LogCaptureFixture) -> None:
    """The other sinks do; the log says which one it was."""

    class Broken:
        def write(self, record: Mapping[str, Any]) -> None:
            raise RuntimeError("broken")

        def close(self) -> None:
            raise RuntimeError("also broken")

    class Fine:
        def __init__(self) -> None:
            self.records: list[Mapping[str, Any]] = []
            self.closed = 0

        def write(self, record: Mapping[str, Any]) -> None:
            self.records.append(record)

        def close(self) -> None:
            self.closed += 1

    fine = Fine()
    turn = conversation(sinks=[Broken(), fine])
    turn.close()
    turn.close()
    assert len(fine.records) == 9
    assert fine.closed == 1
    assert caplog.text.count("gets no more records") == 1


def test_an_open_file_is_not_closed() -> None:
    """Standard output is written to and left open."""
    file = io.StringIO()
    turn = conversation(sinks=[JsonlSink(file)])
    turn.close()
    assert len(file.getvalue().splitlines()) >= 9
    assert not file.closed


class Unreadable(Mapping[str, Any]):
    """Data that cannot be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError

    def __len__(self) -> int:
        return 1


class Unspeakable:
    """A value that raises when it is shown."""

    def __str__(self) -> str:
        raise ValueError


def _circle() -> dict[str, Any]:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    return circle


@pytest.mark.parametrize(
    "value", ["\ud800", {1, 2}, _circle(), {(1, 2): 3}, Unspeakable(), b"\xff", 1e400, object()]
)
def test_whatever_data_is_the_record_is_written(tmp_path: Path, value: Any) -> None:
    """Values that JSON does not have never cost a record."""
    turn = runtime(sinks=[JsonlSink(tmp_path / "j.jsonl", redact=None)])
    turn.post("tick", value=value)
    turn.post("ring")
    journal = read_journal(tmp_path / "j.jsonl")
    assert journal.damage is None
    assert [entry.trigger for entry in journal.entries] == ["tick", "ring"]
    assert replay(journal, turn.flow) is None


def test_a_killed_process_loses_no_record(tmp_path: Path) -> None:
    """What was posted before kill -9 stands in the file and replays."""
    path = tmp_path / "journal.jsonl"
    if (child := os.fork()) == 0:
        conversation(sinks=[JsonlSink(path)])
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    journal = read_journal(path)
    assert (len(journal.records), journal.damage) == (8, None)
    assert replay(journal, runtime().flow) is None


# -- redacted


def test_what_was_said_stays_off_the_disk(tmp_path: Path) -> None:
    """By default the values of private keys are left out, and the header says so."""
    path = tmp_path / "journal.jsonl"
    turn = conversation(sinks=[JsonlSink(path)])
    turn.note("tool", name="look", arguments={"city": "Bonn"}, parts=[{"text": "secret", "n": 1}])
    text = path.read_text()
    assert not [word for word in ("said.", "Bonn", "secret", "Gr") if word in text]
    journal = read_journal(path)
    redacted = journal.header.redacted
    assert redacted is not None
    assert redacted["how"] == "leave_out"
    assert "text" in redacted["keys"]
    assert journal.records[-1].data == {"name": "look", "parts": [{"n": 1}]}
    assert replay(journal, turn.flow) is None
    assert list(turn.journal)[1].data == {"text": "what the user said"}, "memory keeps it"


def test_hashed_words_can_be_compared_and_not_guessed() -> None:
    """Equal words have equal hashes in one journal and others in the next."""
    one, two = Redactor("hash"), Redactor("hash")
    record = {"note": "message", "data": {"text": "yes", "more": {"text": "yes"}, "role": "user"}}
    data = one(record)["data"]
    assert data["text"] == data["more"]["text"] != two(record)["data"]["text"]
    assert data["text"].startswith("hash:")
    assert data["role"] == "user"
    assert one({"data": {"text": ["\ud800", 1]}})["data"]["text"].startswith("hash:")
    assert record["data"]["text"] == "yes"  # type: ignore[index]


def test_the_private_keys_are_a_choice(tmp_path: Path) -> None:
    """Others may be named; a way to redact that there is not is refused."""
    sink = JsonlSink(tmp_path / "j.jsonl", private=["phone"])
    sink.write({"note": "call", "data": {"phone": "0228", "text": "hello"}})
    sink.close()
    assert read_tail(tmp_path / "j.jsonl")["data"] == {"text": "hello"}
    with pytest.raises(ValueError, match="give 'leave_out', 'hash' or None"):
        Redactor("blank")  # type: ignore[arg-type]


def read_tail(path: Path) -> Any:
    """The last record of a file."""
    return json.loads(path.read_text().splitlines()[-1])


@pytest.mark.parametrize("maxlen", ["x", 0, -1, 2.5, True, None])
@pytest.mark.parametrize(
    "make", [lambda n: make_runtime(maxlen=n), Ledger], ids=["runtime", "ledger"]
)
def test_a_length_that_is_no_number_is_refused(make: Callable[[Any], object], maxlen: Any) -> None:
    """It is said when the runtime or the ledger is made, not by the first record."""
    with pytest.raises(TurnfsmError, match=r"maxlen is .*; give a whole number from 1 on"):
        make(maxlen)


@pytest.mark.parametrize("batches", [False, True], ids=["kept", "read in batches"])
def test_a_listener_that_comes_late_hears_what_comes_then(
    batches: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """One that raises is logged and hears no more."""
    turn, heard = conversation(), []

    def fails(raw: Any) -> None:
        raise ValueError("not now")

    if batches:
        turn.journal.tap(lambda: None)
        turn.journal.drain()
    before = turn.journal.seq
    turn.journal.listen(fails)
    turn.journal.listen(heard.append)
    turn.post("tick")
    turn.post("tick")
    assert [raw[0] for raw in heard] == list(range(before + 1, turn.journal.seq + 1))
    assert caplog.text.count("gets no more records") == 1


def test_a_session_that_goes_on_without_its_folder_has_no_second_file(tmp_path: Path) -> None:
    """The error is kept; nothing is raised."""
    folder = tmp_path / "journals"
    folder.mkdir()
    sink = JsonlSink(folder / "call.jsonl")
    conversation(sinks=[sink]).close()
    assert sink.error is None
    (folder / "call.jsonl").unlink()
    folder.rmdir()
    conversation(sinks=[sink]).close()
    assert isinstance(sink.error, JournalError)


# -- what the session has reported


EVENTS = [
    ComponentFailed("llm", "openai.LLM", "APIStatusError", False, 429, "speech_1", "500 euro"),
    ComponentSwitched("tts", "openai.TTS", available=False),
    AudioStopped(since=3.5),
    AudioResumed(),
    VoiceUnrecognised(since=1.0, until=2.5, longest=1.5),
    ReplyText("speech_1"),
    ReplyAudio("speech_1"),
    Closed("error", "the LLM failed (APIStatusError 429)"),
]


def test_every_event_of_a_session_is_read_as_it_was_written() -> None:
    """From memory, and through JSON; a replay passes them over."""
    turn = conversation()
    for event in EVENTS:
        turn.note(event.KIND, **event.fields())
    journal = turn.journal.read()
    read = journal_of(json.loads(json.dumps(list(journal.to_json()))))
    for kept in (journal, read):
        assert [e for note in kept.notes if (e := session_event(note)) is not None] == EVENTS
        assert replay(kept, turn.flow) is None


def test_the_message_of_an_error_is_left_out_with_the_words() -> None:
    """It may repeat what somebody has said. The class of the error stays."""
    out = io.StringIO()
    turn = runtime(sinks=[JsonlSink(out)])
    turn.note(EVENTS[0].KIND, **EVENTS[0].fields())
    assert "500 euro" not in out.getvalue()
    assert "APIStatusError" in out.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "a note 'closed' without 'reason'"),
        ({"reason": 3}, "'reason' is text, not 3"),
    ],
)
def test_an_event_with_a_wrong_field_is_reported_with_its_line(
    data: dict[str, Any], said: str
) -> None:
    """A journal that was edited, or is of something else."""
    records = [
        {"journal": 1, "flow": "call", "initial": "idle"},
        {"seq": 1, "t": 1.0, "note": "closed", "data": data},
    ]
    with pytest.raises(JournalError, match=re.escape(f"record 2: {said}")):
        journal_of(records)


def test_a_journal_that_begins_with_a_note_is_whole() -> None:
    """It is replayed from its beginning, not from a snapshot."""
    turn = runtime()
    turn.note("other")
    turn.post("ring")
    assert turn.journal.read().header.snapshot is None
