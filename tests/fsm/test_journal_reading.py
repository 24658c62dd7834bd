"""One reader: what it takes, what it says of a damaged end, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import run as _run

from turnfsm.fsm import Machine, load_flow
from turnfsm.fsm.journal import (
    Entry,
    Header,
    Journal,
    JournalError,
    Note,
    parse_journal,
    read_journal,
    replay,
)

FLOW = load_flow("turn")
HEADER = '{"journal": 1, "flow": "turn", "initial": "listening"}'


def _journal() -> Journal:
    """A short conversation, with words outside of ASCII at its end."""
    machine, records = Machine(FLOW), []
    for seq, (trigger, of) in enumerate(
        [("user_started_speaking", None), ("user_stopped_speaking", None), ("step_started", "s1")],
        1,
    ):
        verdict = machine.step(trigger, of)
        facts = machine.program.names(machine.facts)
        records.append(Entry(seq, float(seq), trigger, of, facts, verdict, None, {}))
    note = Note(4, 4.0, "message", {"role": "user", "text": "Grüße\u2028!"})
    return Journal(Header("turn", "listening"), (*records, note))


WHOLE = "".join(
    json.dumps(line, ensure_ascii=False) + "\n" for line in _journal().to_json()
).encode()


def test_what_was_written_is_read() -> None:
    """Header, entries with their verdicts, and notes come back as they were."""
    journal = parse_journal(WHOLE)
    assert journal.header == _journal().header
    assert [str(e.verdict) for e in journal.entries] == [str(e.verdict) for e in _journal().entries]
    assert journal.notes == _journal().notes
    assert list(journal.to_json()) == list(_journal().to_json())
    assert (journal.damage, replay(journal, FLOW)) == (None, None)


def test_a_journal_cut_at_any_byte_keeps_its_whole_records() -> None:
    """Also in the middle of a character; what was lost is said with its line."""
    lines = WHOLE.split(b"\n")[:-1]
    ends = [sum(len(line) + 1 for line in lines[: n + 1]) - 1 for n in range(len(lines))]
    whole = parse_journal(WHOLE).records
    for size in range(ends[0], len(WHOLE) + 1):
        journal = parse_journal(WHOLE[:size], "talk.jsonl")
        complete = sum(end <= size for end in ends)
        assert list(map(str, journal.records)) == list(map(str, whole[: complete - 1]))
        torn = size - ends[complete - 1] - 1
        if torn > 0:
            line = f"talk.jsonl:{complete + 1}: the last record was cut off ({torn} bytes)"
            assert journal.damage == f"{line}; it is left out"
        else:
            assert journal.damage is None


LAST = WHOLE.rstrip(b"\n").rindex(b"\n") + 1
DAMAGED = {
    "a cut line": WHOLE[: LAST + 20],
    "half a character": WHOLE[: WHOLE.index("ü".encode()) + 1],
    "a cut line that an editor has ended": WHOLE[: LAST + 20] + b"\n",
    "zeros after a power cut": WHOLE[:LAST] + bytes(64),
}
"""Files whose last record is lost."""


def _by_timeline(file: Path) -> int:
    return _run("timeline", file, "-o", file.with_suffix(".svg"))


def _by_render(file: Path) -> int:
    return _run("render", "turn", "-o", file.with_suffix(".svg"), "--trace", file)


def _by_replay(file: Path) -> int:
    return int(replay(read_journal(file), FLOW) is not None)


READERS = [_by_timeline, _by_render, _by_replay]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("damage", DAMAGED)
def test_every_reader_takes_a_damaged_end_and_says_so(
    damage: str, reader: Callable[[Path], int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A warning names the file and the line; what is whole is used."""
    file = tmp_path / "talk.jsonl"
    file.write_bytes(DAMAGED[damage])
    assert reader(file) == 0
    [warning] = [record.getMessage() for record in caplog.records]
    assert warning.startswith(f"{file}:5: the last record was cut off")


def test_only_the_end_of_the_last_line_may_be_missing() -> None:
    """That is no damage: the record is whole."""
    journal = parse_journal(WHOLE.rstrip(b"\n"))
    assert (len(journal.records), journal.damage) == (4, None)


ENTRY = {"seq": 1, "t": 1, "trigger": "x", "state": "s", "facts": [], "verdict": "taken"}
ENTRY |= {"dest": "s", "row": None, "actions": [], "entered": False}


def _entry(**fields: Any) -> str:
    merged = {**ENTRY, **fields}
    return json.dumps({key: value for key, value in merged.items() if value != "left out"})


REFUSED = {
    "{": "not JSON",
    "\xff": "not JSON",
    "[1]": "not a record",
    "[" * 100_000: "nested too deeply",
    HEADER: "a second header",
    '{"seq": 1, "t": 1}': "without 'trigger'",
    _entry(verdict="left out"): "without 'verdict'",
    _entry(state="left out"): "without 'state'",
    _entry(dest="left out"): "without 'dest'",
    _entry(verdict="refused"): "without 'reason'",
    _entry(verdict="maybe"): "verdict 'maybe'",
    _entry(seq=True): "'seq' cannot be True",
    _entry(t=-1): "'t' is -1",
    _entry(t=True): "'t' cannot be True",
    _entry(t=float("nan")): "'t' is nan",
    _entry(trigger=7): "'trigger' cannot be 7",
    _entry(entered="yes"): "'entered' cannot be 'yes'",
    _entry(actions=[1]): "'actions' is a list of names",
    _entry(facts="x"): "'facts' cannot be 'x'",
    _entry(data="x"): "'data' cannot be 'x'",
    '{"seq": 1, "t": 1, "note": 5}': "'note' cannot be 5",
}


@pytest.mark.parametrize("line", REFUSED, ids=range(len(REFUSED)))
def test_damage_before_the_end_is_refused_with_its_line(line: str, tmp_path: Path) -> None:
    """File and line are named, nothing is guessed."""
    file = tmp_path / "talk.jsonl"
    file.write_bytes(f"{HEADER}\n\n".encode() + line.encode("latin-1") + f"\n{_entry()}\n".encode())
    with pytest.raises(JournalError) as caught:
        read_journal(file)
    assert str(caught.value).startswith(f"{file}:3: ")
    assert REFUSED[line] in str(caught.value)


NO_JOURNAL = {
    "": "talk.jsonl: empty; name a journal",
    "\n \n": "talk.jsonl: empty; name a journal",
    "hello": "talk.jsonl:1: not JSON",
    '{"journal": 1, "fl': "talk.jsonl:1: not JSON",
    _entry(): "talk.jsonl:1: not a journal; its first line is a header",
    "[]": "talk.jsonl:1: not a record",
    HEADER.replace("1", "2"): "talk.jsonl:1: journal version 2, this turnfsm reads version 1; use",
    HEADER.replace("1", '"1"'): "talk.jsonl:1: journal version '1', this turnfsm",
    HEADER.replace('"turn"', "3"): "talk.jsonl:1: 'flow' cannot be 3",
    '{"journal": 1, "flow": "turn"}': "talk.jsonl:1: a record without 'initial'",
}


@pytest.mark.parametrize("text", NO_JOURNAL)
@pytest.mark.parametrize("reader", [_by_timeline, _by_render])
def test_what_is_no_journal_is_one_clear_error(
    text: str,
    reader: Callable[[Path], int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every reader says the same: file, line, what is wrong; the commands exit with 2."""
    monkeypatch.chdir(tmp_path)
    Path("talk.jsonl").write_text(text)
    with pytest.raises(JournalError) as caught:
        read_journal("talk.jsonl")
    assert str(caught.value).startswith(NO_JOURNAL[text])
    assert reader(Path("talk.jsonl")) == 2
    assert capsys.readouterr().err == f"error: {caught.value}\n"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """Missing, or a folder."""
    with pytest.raises(JournalError, match="no such file or directory; name a journal"):
        read_journal(tmp_path / "nothing")
    with pytest.raises(JournalError, match="is a directory; name a journal"):
        read_journal(tmp_path)
