"""The picture of a journal: what it tells, where it stands, and what is no journal."""

import json
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from conversation import CALL, Conversation, half_a_minute, half_an_hour

from turnfsm.fsm import TurnfsmError, load_flow
from turnfsm.fsm.diagram import journal_marks, render, timeline
from turnfsm.fsm.diagram.lanes import Lanes, read_lanes
from turnfsm.fsm.diagram.timeline import stacked
from turnfsm.fsm.journal import Journal, parse_journal

SVG = "{http://www.w3.org/2000/svg}"


def lanes_of(talk: Conversation, notes: bool = True) -> Lanes:
    """Read the lanes of a conversation, with its notes or from its triggers alone."""
    lines = talk.jsonl.splitlines()
    kept = [line for line in lines if notes or "note" not in json.loads(line)]
    return read_lanes(parse_journal("\n".join(kept)), load_flow(CALL))


def journal_of(talk: Conversation) -> Journal:
    """Read a conversation's journal back."""
    return parse_journal(talk.jsonl)


def test_states_follow_each_other_without_a_gap() -> None:
    """One state is held at each moment, from the start to the end."""
    lanes = lanes_of(half_a_minute())
    assert lanes.states[0].start == 0
    assert lanes.states[-1].end == lanes.end
    assert all(a.end == b.start for a, b in pairwise(lanes.states))
    held = [span.label for span in lanes.states]
    assert held.index("tool_running") < held.index("paused") < held.index("interrupted")


@pytest.mark.parametrize("notes", [True, False])
def test_speech_is_found_with_and_without_notes(notes: bool) -> None:
    """Triggers alone tell when user and agent were heard; notes add what was said."""
    lanes = lanes_of(half_a_minute(), notes)
    assert [round(span.start, 1) for span in lanes.user] == [0.6, 6.6, 12.0, 16.6]
    assert [round(span.end, 1) for span in lanes.user] == [2.9, 7.5, 12.5, 18.8]
    assert round(lanes.agent[0].start, 1) == 4.0
    assert round(lanes.agent[0].end, 1) == 5.4
    assert len(lanes.interruptions) == 1
    assert ("Hello?" in {span.label for span in lanes.user}) == notes


def test_a_pause_lasts_until_the_audio_goes_on() -> None:
    """A pause ends where the output is resumed, or with the speech."""
    first, second = lanes_of(half_a_minute()).pauses
    assert (round(first.start, 1), round(first.end, 1)) == (12.3, 14.5)
    assert (round(second.start, 1), round(second.end, 1)) == (17.1, 18.1)


def test_timers_are_armed_on_entry_and_fire_or_end() -> None:
    """A timer lives as long as its state; the one that fired says so."""
    lanes = lanes_of(half_a_minute())
    fired = [span for span in lanes.timers if span.kind == "fired"]
    assert [span.label for span in fired] == ["false_interruption"]
    held = {(span.start, span.end) for span in lanes.states}
    assert {(span.start, span.end) for span in lanes.timers} <= held
    settle = next(span for span in lanes.timers if span.label == "settle")
    assert settle.kind == "ended"


def test_every_refusal_is_marked_with_its_reason() -> None:
    """What was refused stands in the picture with the reason."""
    talk = half_a_minute()
    lanes = lanes_of(talk)
    refused = [r for r in talk.records if r.get("verdict") == "refused"]
    assert [mark.label for mark in lanes.refusals] == [r["trigger"] for r in refused]
    svg = timeline(journal_of(talk), load_flow(CALL))
    assert "preemptive_generation refused: tool_running refuses it" in svg


@pytest.mark.parametrize("make", [half_a_minute, half_an_hour])
def test_no_text_lies_on_another(make: type[Conversation]) -> None:
    """Texts in one line of the picture keep apart and inside it, for 30 s and for 30 min."""
    svg = timeline(journal_of(make()), load_flow(CALL))
    lines: dict[str, list[tuple[float, float, str]]] = {}
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        x, width = float(text.attrib["x"]), float(text.attrib["textLength"])
        assert x >= 0
        assert x + width <= 1200, text.text
        lines.setdefault(text.attrib["y"], []).append((x, x + width, text.text or ""))
    for words in lines.values():
        for (_, end, one), (start, _, other) in pairwise(sorted(words)):
            assert end <= start + 0.5, (one, other)


def test_half_an_hour_is_wrapped_and_kept_whole() -> None:
    """Thirty minutes take at most 16 strips and an overview; no refusal is lost."""
    talk = half_an_hour()
    root = ElementTree.fromstring(timeline(journal_of(talk), load_flow(CALL)))
    ids = [e.attrib["id"] for e in root.iter() if "id" in e.attrib]
    strips = [i for i in ids if i.startswith("strip-")]
    assert "overview" in ids
    assert 2 <= len(strips) <= 16
    ticks = [e for e in root.iter() if e.attrib.get("class") == "refusal"]
    refused = [r for r in talk.records if r.get("verdict") == "refused"]
    assert len(ticks) == 2 * len(refused)  # once in a strip, once in the overview


def test_a_stretch_can_be_cut_out() -> None:
    """Only what lies between two moments is drawn; an empty stretch is an error."""
    journal = journal_of(half_an_hour())
    svg = timeline(journal, load_flow(CALL), start=300, end=340)
    assert "5:00 to 5:40" in svg
    assert len(svg) < len(timeline(journal, load_flow(CALL))) / 4
    with pytest.raises(TurnfsmError, match="nothing between 9000 s"):
        timeline(journal, load_flow(CALL), start=9000)


def test_a_journal_without_its_flow_is_drawn() -> None:
    """Without the flow there are no timers, and all else."""
    svg = timeline(journal_of(half_a_minute()))
    assert "track_parcel" in svg
    assert "false_interruption:" not in svg


def test_journals_stacked_have_one_scale() -> None:
    """The same call twice: the same bars at the same places, each under its heading, no states."""
    journal = journal_of(half_a_minute())
    root = ElementTree.fromstring(stacked({"before": journal, "after": journal}))
    first, second = root.findall(f"{SVG}g")
    assert first.attrib["id"] != second.attrib["id"]
    assert [e.text for e in root.findall(f"{SVG}text")] == ["before", "after"]
    places = [[e.attrib["x"] for e in call.iter(f"{SVG}rect")] for call in (first, second)]
    assert places[0] == places[1]
    assert places[0]
    assert "state" not in {e.text for e in root.iter(f"{SVG}text")}


def test_a_timeline_is_the_same_each_time() -> None:
    """The same journal gives the same text."""
    assert len({timeline(journal_of(half_a_minute())) for _ in range(3)}) == 1


def test_a_trace_counts_what_was_taken() -> None:
    """Counts of rows are those of the journal, and the picture shows them."""
    talk, flow = half_a_minute(), load_flow(CALL)
    marks = journal_marks(flow, journal_of(talk))
    rows = [r["row"] for r in talk.records if r.get("row")]
    assert marks.taken == {row: rows.count(row) for row in rows}
    root = ElementTree.fromstring(render(flow, marks=marks))
    named = {e.attrib["id"]: e for e in root.iter() if "id" in e.attrib}
    assert named["edge-speaking--paused"].attrib["class"] == "line taken"
    assert "\u00d72" in "".join(named["label-speaking--paused"].itertext())
    assert "untaken" in named["edge-listening--tool_running"].attrib["class"]


def test_a_journal_of_another_flow_is_refused() -> None:
    """A trace with rows that the flow does not have says which."""
    text = half_a_minute().jsonl.replace("speaking.barge_in.0", "speaking.barge_on.0")
    with pytest.raises(TurnfsmError, match=r"no row of the journal 'speaking.barge_on.0'"):
        journal_marks(load_flow(CALL), parse_journal(text))
