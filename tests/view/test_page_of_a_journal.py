"""What stands on the page, without a browser."""

from __future__ import annotations

import array
import json
import re
import wave
from pathlib import Path
from typing import Any

import attrs
import pytest

from turnfsm.fsm import TurnfsmError, load_flow
from turnfsm.fsm.journal import Entry, Journal, Note, journal_of, read_journal
from turnfsm.fsm.places import Places
from turnfsm.metrics import Response, explain, measure
from turnfsm.runtime.view.journal_page import journal_page
from turnfsm.runtime.view.records import RecordEncoder
from turnfsm.runtime.view.sound import read_sound

TURN = load_flow("turn")
HEADER = {"journal": 1, "flow": "turn", "initial": "listening"}


def data_of(page: str) -> dict[str, Any]:
    """The data that a page carries."""
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_loads_nothing(journal: Journal) -> None:
    """No address but that of XML's namespace stands in what the page is made of."""
    page = journal_page(journal, TURN)
    addresses = set(re.findall(r"https?://[^\s\"'<>\\]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(link|img|iframe|object)\b|@import|url\(", page)


def test_facts_are_sent_where_they_change(journal: Journal) -> None:
    """They can be told again from what is kept, for every entry."""
    names, facts = list(TURN.facts), ()
    rows = RecordEncoder(TURN).all(journal.records)
    for record, row in zip(journal.records, rows, strict=True):
        if "f" in row:
            facts = tuple(names[n] for n in row["f"])
        if "k" in row:
            assert facts == record.facts  # type: ignore[union-attr]
    said = sum("f" in row for row in rows)
    assert 0 < said < len(journal.entries)


def test_every_row_and_every_refusal_has_a_place() -> None:
    """Whatever a state can answer, there is a line for it."""
    at = Places(TURN).at
    for row in TURN.rows():
        assert row.id in at
    for state in TURN.states:
        for trigger in (*TURN.triggers, *TURN.timers):
            assert at[f"{state}.{trigger}"]


def test_the_line_of_an_inherited_transition_is_in_the_file_that_has_it(tmp_path: Path) -> None:
    """A flow that extends another shows both files."""
    file = tmp_path / "mine.yaml"
    file.write_text("flow: mine\nextends: turn\ntimers: {settle: 1.5}\n")
    places = Places(load_flow(file)).to_json()
    names = [Path(one["name"]).name for one in places["files"]]
    assert names == ["mine.yaml", "turn.yaml"]
    assert places["at"]["=settle"][0] == 0
    assert places["at"]["speaking.barge_in.0"][0] == 1


def test_a_journal_of_another_flow_is_refused() -> None:
    """A fact that the flow does not have is named."""
    entry = {"seq": 1, "t": 1.0, "trigger": "ring", "of": None, "state": "listening"}
    entry |= {"facts": [], "verdict": "refused", "reason": "refuses", "why": "no", "data": {}}
    with pytest.raises(TurnfsmError, match="has no trigger 'ring'"):
        journal_page(journal_of([HEADER, entry]), TURN)


def write_wav(path: Path, seconds: float, channels: int = 2, width: int = 2) -> Path:
    """A silent recording."""
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, 8000, 0, "NONE", ""))
        file.writeframes(bytes(round(seconds * 8000) * channels * width))
    return path


@pytest.mark.parametrize("channels", [1, 2])
def test_a_recording_is_read(tmp_path: Path, channels: int) -> None:
    """Its length, its channels, and how loud each is."""
    path = write_wav(tmp_path / "a.wav", 2.0, channels)
    sound = read_sound(path)
    assert (sound.seconds, sound.channels, len(sound.peaks)) == (2.0, channels, channels)
    assert sound.data == path.read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable WAV file"),
        (b"RIFF", "not a readable WAV file"),
        (b"ID3" + bytes(100), "not a readable WAV file"),
        ((1.0, 3, 2), "3 channels of 16 bit"),
        ((1.0, 1, 1), "1 channels of 8 bit"),
        ((0.0, 1, 2), "without sound"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    """Each with what to do about it."""
    path = tmp_path / "a.wav"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        write_wav(path, *content)
    with pytest.raises(TurnfsmError, match=message):
        read_sound(path)


def test_a_recording_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Half a frame at its end is left out."""
    path = write_wav(tmp_path / "a.wav", 2.0)
    path.write_bytes(path.read_bytes()[:-1001])
    assert read_sound(path).seconds == pytest.approx(2.0, abs=0.05)


def test_a_recording_of_another_length_is_refused(journal: Journal, tmp_path: Path) -> None:
    """Unless it is said where in the journal it begins."""
    end = journal.records[-1].t
    sound = read_sound(write_wav(tmp_path / "a.wav", end - 20))
    with pytest.raises(TurnfsmError, match="--offset"):
        journal_page(journal, TURN, sound)
    assert data_of(journal_page(journal, TURN, sound, offset=20))["sound"]["offset"] == 20


def test_a_session_may_close_long_after_its_last_sound(journal: Journal, tmp_path: Path) -> None:
    """A tool that it waits for runs on after the user has hung up."""
    end = journal.records[-1].t
    closed = Note(seq=journal.records[-1].seq + 1, t=end + 60, kind="closed", data={})
    later = attrs.evolve(journal, records=(*journal.records, closed))
    sound = read_sound(write_wav(tmp_path / "a.wav", end))
    assert data_of(journal_page(later, TURN, sound))["end"] == end + 60


def test_large_values_are_cut(journal: Journal) -> None:
    """A record of any size and depth costs a page little."""
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    data = {"text": "y" * 1_000_000, "many": list(range(100_000)), "deep": deep, "odd": array.array}
    row = RecordEncoder(TURN)(
        journal_of([HEADER, {"seq": 1, "t": 0, "note": "n", "data": data}]).records[0]
    )
    assert len(json.dumps(row)) < 30_000


def test_a_turn_has_its_latency_and_what_that_was_spent_on(journal: Journal) -> None:
    """With the note that says how it has ended."""
    figures = measure(journal)
    ends = [row for row in RecordEncoder(TURN).all(journal.records) if row.get("m") == "turn"]
    assert [row["x"]["outcome"] for row in ends] == [turn.outcome for turn, _ in figures.turn_ends]
    responses = [response for _, response in figures.turn_ends]
    assert any(responses)
    for row, response in zip(ends, responses, strict=True):
        spent = None if response is None else dict(response.parts)
        assert row.get("p") == (None if spent is None else pytest.approx(spent, abs=1e-3))


def test_the_silences_of_a_page_are_those_of_why(journal: Journal) -> None:
    """Each with its causes; one that lasts until the end as well."""
    data = data_of(journal_page(journal, TURN))
    silences = [one for row in data["records"] for one in row.get("h", [])] + data["silences"]
    told = explain(journal, TURN)
    assert [tuple(one[:3]) for one in silences] == [(s.start, s.end, s.cause) for s in told]
    assert data["silences"], "the last one lasts until the end"
    for one, silence in zip(silences, told, strict=True):
        for (start, end, cause, why), line in zip(one[3], silence.lines, strict=True):
            assert line == f"{start:.2f} to {end:.2f} s  {cause}: {why}"


def test_the_page_opens_at_the_longest_wait(journal: Journal) -> None:
    """Not at a silence in which nobody had asked anything, however long it is."""
    waits = [s for s in explain(journal, TURN) if s.cause != "nothing_asked"]
    longest = max(waits, key=lambda s: s.end - s.start)
    assert data_of(journal_page(journal, TURN))["at"] == longest.start
    closed = Note(seq=journal.records[-1].seq + 1, t=500.0, kind="closed", data={})
    late = attrs.evolve(journal, records=(*journal.records, closed))
    assert data_of(journal_page(late, TURN))["at"] == longest.start


def test_without_a_wait_the_page_opens_at_the_slowest_response_or_the_first_decision(
    journal: Journal,
) -> None:
    """Never at a moment at which nothing has happened."""
    quick = attrs.evolve(journal, records=tuple(r for r in journal.records if r.t < 3.0))
    (response,) = [v for v in measure(quick).values if isinstance(v, Response)]
    assert data_of(journal_page(quick, TURN))["at"] == response.at
    first = next(r for r in journal.records if isinstance(r, Entry))
    only = attrs.evolve(journal, records=(first,))
    assert data_of(journal_page(only, TURN))["at"] == first.t


def test_a_message_tells_when_its_first_words_were_heard(talk: Path) -> None:
    """It is written at its end; a voice without words before it is not its beginning."""
    journal = read_journal(talk / "journal.jsonl")
    heard: dict[str, list[float]] = {"user": [], "assistant": []}
    resumed = [entry.t for entry in journal.entries if "resume_output" in entry.verdict.actions]
    for note in journal.notes:
        if note.kind == "user_audio" and note.data["line"] not in ("backchannel", "noise"):
            heard["user"].append(note.data["start"])
        elif note.kind == "agent_audio" and note.data["start"] not in resumed:
            heard["assistant"].append(note.data["start"])
    rows = RecordEncoder(TURN).all(journal.records)
    for role, starts in heard.items():
        begun = [r["b"] for r in rows if r.get("m") == "message" and r["x"]["role"] == role]
        assert begun == pytest.approx(starts, abs=0.06), role


def test_a_voice_without_words_does_not_begin_the_next_message() -> None:
    """A cough, and much later a sentence in two breaths."""
    said = [("user_started_speaking", 1.0), ("user_stopped_speaking", 1.4)]
    said += [("user_started_speaking", 9.0), ("user_stopped_speaking", 9.5)]
    said += [("user_started_speaking", 9.8), ("final_transcript", 10.3)]
    since = {"t": 4.4, "note": "voice_unrecognised"}
    since |= {"data": {"since": 1.0, "until": 1.4, "longest": 0.4}}
    assert message_begins(said, since) == 9.0


def test_a_turn_that_is_discarded_does_not_begin_the_next_message() -> None:
    """A backchannel over the agent, and later a sentence."""
    said = [("user_started_speaking", 1.0), ("final_transcript", 1.4), ("ignore_turn", 1.9)]
    said += [("user_started_speaking", 9.0), ("final_transcript", 9.8)]
    assert message_begins(said) == 9.0


def test_a_voice_whose_turn_has_not_come_does_not_begin_the_next_message() -> None:
    said = [("user_started_speaking", 1.0), ("user_stopped_speaking", 1.4)]
    said += [("endpointing_ended", 1.7), ("user_started_speaking", 3.0), ("final_transcript", 3.8)]
    assert message_begins(said) == 3.0


def message_begins(said: list[tuple[str, float]], *notes: dict[str, Any]) -> float:
    """When the first words of the message were heard that ends a journal of these entries."""
    records: list[dict[str, Any]] = [HEADER]
    for seq, (trigger, t) in enumerate(said, 1):
        entry = {"seq": seq, "t": t, "trigger": trigger, "of": None, "state": "listening"}
        entry |= {"facts": [], "verdict": "taken", "dest": "listening", "entered": False}
        actions = ["discard_turn"] if trigger == "ignore_turn" else []
        records.append(entry | {"row": None, "actions": actions, "data": {}})
    records[3:3] = notes
    records.append({"t": 10.6, "note": "message", "data": {"role": "user"}})
    for seq, record in enumerate(records[1:], 1):
        record["seq"] = seq
    return float(RecordEncoder(TURN).all(journal_of(records).records)[-1]["b"])


def test_a_session_that_has_not_closed_says_so(journal: Journal) -> None:
    """Its worker has died, or it still runs."""
    assert data_of(journal_page(journal, TURN))["how"] is None
    cut = attrs.evolve(journal, records=journal.records[:-1])
    assert "the session has not closed" in data_of(journal_page(cut, TURN))["how"]
