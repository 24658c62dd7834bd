"""The page of a journal, in a real browser."""

from __future__ import annotations

import array
import json
import math
import wave
from functools import partial
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import Agent
from on_page import until, violations
from scripted_tool import tool

from turnfsm import JsonlSink
from turnfsm.fsm import load_flow
from turnfsm.fsm.diagram.lanes import read_lanes
from turnfsm.fsm.journal import Journal, journal_of, parse_journal, read_journal
from turnfsm.livekit import Transcript, TurnSession, classifier
from turnfsm.metrics import explain, measure
from turnfsm.runtime.view.journal_page import journal_page
from turnfsm.runtime.view.sound import read_sound
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

TURN = load_flow("turn")


def opened(tab: Any, page: str, tmp_path: Path, at: float = 0.0) -> Any:
    path = tmp_path / "page.html"
    path.write_text(page)
    tab.goto(f"{path.as_uri()}#t={at}")
    return tab


def lit(tab: Any) -> tuple[str, list[str], list[str]]:
    """The state that is lit in the picture, the one that is named, and the facts that are on."""
    states = tab.eval_on_selector_all(".picture .current", "all => all.map(one => one.id)")
    facts = tab.eval_on_selector_all("#facts .on", "all => all.map(one => one.textContent)")
    assert len(states) == 1
    return states[0].removeprefix("state-"), tab.text_content("#state"), facts


def held(journal: Journal, t: float) -> tuple[str, list[str]]:
    """The state and the facts that the journal has at a second."""
    before = [entry for entry in journal.entries if entry.t <= t]
    if not before:
        return journal.header.initial, []
    return before[-1].verdict.dest, list(before[-1].facts)


def test_the_lit_state_is_that_of_the_journal(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """At 12.0 s, and at every half second of the conversation."""
    opened(tab, journal_page(journal, TURN), tmp_path, 12.0)
    seconds = [12.0, *(n / 2 for n in range(int(2 * journal.records[-1].t) + 1))]
    for t, (states, named, facts) in zip(seconds, tab.evaluate(SEEN, seconds), strict=True):
        state, true = held(journal, t)
        assert (states, named, facts) == ([f"state-{state}"], state, true), f"at {t} s"
    assert len({held(journal, t)[0] for t in seconds}) >= 4


SEEN = """seconds => seconds.map(t => {
  page.seek(t);
  const all = (selector, of) => [...document.querySelectorAll(selector)].map(of);
  return [all(".picture .current", one => one.id), document.getElementById("state").textContent,
          all("#facts .on", one => one.textContent)];
})"""


def test_the_link_to_a_second_opens_there(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """`page.html#t=12.0` shows second 12."""
    opened(tab, journal_page(journal, TURN), tmp_path, 12.0)
    assert tab.text_content("#clock") == "12.00 s"
    assert lit(tab)[0] == held(journal, 12.0)[0]


def test_the_page_opens_at_the_worst_moment_and_says_why_it_was_silent(
    tab: Any, journal: Journal, tmp_path: Path
) -> None:
    """Each part of the silence with its cause; the key W comes back to it."""
    path = tmp_path / "page.html"
    path.write_text(journal_page(journal, TURN))
    tab.goto(path.as_uri())
    waits = [s for s in explain(journal, TURN) if s.cause != "nothing_asked"]
    worst = max(waits, key=lambda s: s.end - s.start)
    assert tab.text_content("#clock") == f"{worst.start:.2f} s"
    head = f"{worst.end - worst.start:.2f} s of silence: {worst.cause}"
    assert tab.text_content("#why .silence p") == head
    told = tab.eval_on_selector_all("#why .silence li", "all => all.map(one => one.textContent)")
    assert len(told) == len(worst.lines)
    for part, line in zip(told, worst.lines, strict=True):
        assert part.endswith(line.partition(": ")[2])
    assert tab.is_visible("#why .verdict")
    tab.keyboard.press("Home")
    assert tab.locator("#why .silence").count() == 0
    tab.keyboard.press("w")
    assert tab.text_content("#clock") == f"{worst.start:.2f} s"


def test_the_timeline_has_each_wait_with_its_parts(
    tab: Any, journal: Journal, tmp_path: Path
) -> None:
    """A silence, and the response to a turn, say what they were spent on."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    until(tab, "page.timeline.hits.length > 0")
    hits = tab.evaluate("page.timeline.hits.map(([_, words]) => words())")
    for silence in explain(journal, TURN):
        whole = f"{silence.end - silence.start:.2f} s of silence: {silence.cause}"
        assert any(hit.startswith(whole) for hit in hits), whole
    _, response = measure(journal).turn_ends[0]
    parts = ", ".join(f"{cause} {seconds:.2f}" for cause, seconds in response.parts)
    assert f"response {response.seconds:.2f} s, {parts}" in hits


@pytest.mark.parametrize(("width", "height"), [(1400, 900), (1000, 640)])
def test_the_picture_can_be_read_and_nothing_is_covered(
    tab: Any, journal: Journal, tmp_path: Path, width: int, height: int
) -> None:
    """The smallest words have nine pixels, the held state is in sight, and the page has no bar."""
    tab.set_viewport_size({"width": width, "height": height})
    opened(tab, journal_page(journal, TURN), tmp_path, 38.0)
    assert min(tab.evaluate(SIZES)) >= 9
    assert tab.evaluate(INSIDE, [".picture .current", ".picture"])
    assert tab.evaluate(INSIDE, ["#why", ".desk"]) or width < 1400
    assert tab.evaluate(INSIDE, ["#tab-settings", ".log-pane"])
    root = "document.documentElement"
    assert tab.evaluate(f"{root}.scrollHeight <= innerHeight && {root}.scrollWidth <= innerWidth")


SIZES = """() => [...document.querySelectorAll(".picture text")].map(
  text => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""

INSIDE = """([inner, outer]) => {
  const [a, b] = [inner, outer].map(one => document.querySelector(one).getBoundingClientRect());
  return a.top >= b.top && a.bottom <= b.bottom && a.left >= b.left && a.right <= b.right;
}"""


def test_a_reason_is_shown_whole_in_the_list(tab: Any, tmp_path: Path) -> None:
    """However long it is; the rows after it are below it."""
    why = " and ".join(["the caller has not confirmed the address"] * 6)
    records: list[dict[str, Any]] = [{"journal": 1, "flow": "turn", "initial": "listening"}]
    for seq, reason in enumerate((why, "no reply", why), 1):
        row = {"seq": seq, "t": float(seq), "trigger": "reply", "of": None, "state": "listening"}
        row |= {"verdict": "refused", "reason": "guard", "why": reason, "facts": [], "data": {}}
        records.append(row)
    opened(tab, journal_page(journal_of(records), TURN), tmp_path)
    rows = tab.evaluate(ROWS)
    assert all(whole for _, _, whole in rows)
    assert all(end <= start + 1 for (_, end, _), (start, _, _) in pairwise(rows))
    assert rows[0][1] - rows[0][0] > rows[1][1] - rows[1][0]
    tab.click("#rows .row >> nth=2")
    assert tab.text_content("#clock") == "3.00 s"


ROWS = """() => [...document.querySelectorAll("#rows .row:not([hidden])")].map(row => {
  const box = row.getBoundingClientRect(), told = row.querySelector(".rest");
  return [box.top, box.bottom, told.getBoundingClientRect().bottom <= box.bottom];
})"""


def test_the_transcript_has_the_start_of_each_speech_and_the_tools(
    tab: Any, journal: Journal, talk: Path
) -> None:
    """In the order in which they began."""
    tab.goto((talk / "conversation.html").as_uri())
    tab.click("#tab-words")
    shown = tab.eval_on_selector_all("#words .who", "all => all.map(one => one.textContent)")
    lanes = read_lanes(journal, TURN)
    spans = [(s.start, "user") for s in lanes.user] + [(s.start, "agent") for s in lanes.agent]
    spans += [(s.start, "tool") for s in lanes.tools]
    assert shown == [f"{who}  {start:.2f} s" for start, who in sorted(spans)]
    called = tab.text_content("#words .called .text")
    assert called == "drive done after 3.00 s"


def test_the_lanes_are_those_of_the_timeline(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """The page and `turnfsm timeline` tell the same of a journal."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    shown = tab.evaluate(
        "Object.fromEntries(Object.entries(page.recording.lanes)"
        ".map(([name, spans]) => [name, spans.map(s => [s.a, s.b, s.label])]))"
    )
    lanes = read_lanes(journal, TURN)
    for name in ("user", "agent", "pauses", "tools", "states"):
        spans = [[s.start, s.end, s.label] for s in getattr(lanes, name)]
        assert [s[:2] for s in shown[name]] == [pytest.approx(s[:2], abs=1e-3) for s in spans], name
        assert [s[2] for s in shown[name]] == [s[2] for s in spans], name
    assert [(s[0], s[2]) for s in shown["refusals"]] == [
        (pytest.approx(mark.t, abs=1e-3), mark.label) for mark in lanes.refusals
    ]


def test_timers_show_what_is_left(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """A fifth of a second after a state was entered, its timers have that much less."""
    entered = [e for e in journal.entries if e.verdict.entered]
    entry = next(
        one
        for one, after in pairwise(entered)
        if one.verdict.dest == "thinking" and after.t > one.t + 0.21
    )
    opened(tab, journal_page(journal, TURN), tmp_path, entry.t + 0.2)
    cells = "all => all.map(one => [...one.children].map(cell => cell.textContent))"
    rows = tab.eval_on_selector_all("#timers li", cells)
    left = {name: float(rest.split()[0]) for name, _, rest in rows}
    assert list(left) == [name for name in TURN.states["thinking"].after if TURN.timers[name] < inf]
    assert left["handover"] == pytest.approx(TURN.timers["handover"] - 0.2, abs=0.02)


def test_a_refusal_names_its_reason_and_its_line(
    tab: Any, journal: Journal, tmp_path: Path
) -> None:
    """The key R goes to the first refusal; the line beside it is the one that decided."""
    refused = read_lanes(journal, TURN).refusals[0]
    opened(tab, journal_page(journal, TURN), tmp_path)
    tab.keyboard.press("r")
    assert refused.why in tab.text_content("#why")
    place = tab.text_content("#why .link")
    file, line, _ = place.split(":")
    assert file == "turn.yaml"
    assert refused.reason == "refuses"
    assert TURN.source.text.split("\n")[int(line) - 1] == f"  {refused.state}:"
    assert tab.text_content(".line.decided .number") == line


def test_every_decision_has_its_line(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """Each entry of the journal leads to a line of the flow that names its trigger, or to the state
    that does not declare it."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    found = tab.evaluate(
        "page.recording.records.filter(row => row.k)"
        ".map(row => [row.k, placeOf(page.recording.flow, row)])"
    )
    lines = TURN.source.text.split("\n")
    assert len(found) == len(journal.entries)
    for entry, (trigger, (_, line, *_)) in zip(journal.entries, found, strict=True):
        near = "\n".join(lines[max(0, line - 6) : line])  # a list of alternatives is below its key
        undeclared = lines[line - 1] == f"  {entry.verdict.state}:"
        assert trigger in near or undeclared, (trigger, line)


def test_the_list_can_be_filtered(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """By trigger, state, refusals and words; stepping goes through what is listed."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    tab.select_option("#by-trigger", "step_started")
    count = sum(entry.trigger == "step_started" for entry in journal.entries)
    assert tab.text_content("#count").startswith(f"{count} of {len(journal.records)}")
    tab.keyboard.press("Escape")
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("ArrowRight")
    assert tab.text_content("#why b") == "step_started"
    tab.select_option("#by-trigger", "")
    tab.select_option("#by-kind", "refusals")
    refusals = len(read_lanes(journal, TURN).refusals)
    assert tab.text_content("#count").startswith(f"{refusals} of")
    tab.select_option("#by-kind", "")
    tab.select_option("#by-state", "paused")
    assert tab.locator(".row:visible").count() > 0
    tab.fill("#search", "no such words")
    assert tab.text_content("#count").startswith("0 of")


def test_it_is_usable_by_keyboard_alone(tab: Any, journal: Journal, tmp_path: Path) -> None:
    """Every control is reached with Tab; keys step, play, and show help."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.id"))
    wanted = {"theme", "search", "by-kind", "by-trigger", "by-state", "rows", "play", "slider"}
    assert wanted <= reached
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("End")
    tab.keyboard.press("ArrowLeft")
    assert tab.evaluate("page.index") == len(journal.records) - 2
    tab.keyboard.press("Home")
    tab.keyboard.press("Space")
    until(tab, "page.player.t > 0.2")
    tab.keyboard.press("Space")
    assert not tab.evaluate("page.player.playing")
    tab.keyboard.press("?")
    assert tab.is_visible("#help")


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_axe_has_nothing_against_it(tab: Any, axe: str, talk: Path, theme: str, width: int) -> None:
    """The page of the demo, in both themes, on a desk and on a phone, with both lists."""
    tab.set_viewport_size({"width": width, "height": 844})
    tab.emulate_media(color_scheme=theme)
    tab.goto(f"{(talk / 'conversation.html').as_uri()}#t=12")
    assert violations(tab, axe) == []
    tab.keyboard.press("r")
    for list_ in ("words", "turns", "evidence"):
        tab.click(f"#tab-{list_}")
        assert violations(tab, axe) == []
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_turns_are_listed_with_what_their_time_was_spent_on(
    tab: Any, journal: Journal, tmp_path: Path
) -> None:
    """As the report has them; a click goes to the end of the turn."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    tab.click("#tab-turns")
    cells = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    head, *lines = tab.eval_on_selector_all("#turns tr", cells)
    rows = [dict(zip(head, line, strict=True)) for line in lines]
    ends = measure(journal).turn_ends
    assert [(row["turn"], row["outcome"]) for row in rows] == [
        (str(turn.number), turn.outcome) for turn, _ in ends
    ]
    for row, (_, response) in zip(rows, ends, strict=True):
        spent = {name: f"{seconds:.2f}" for name, seconds in (response.parts if response else ())}
        assert {part: row[part] for part in head[3:] if row[part]} == spent
        assert row["response"] == ("" if response is None else f"{response.seconds:.2f}")
    tab.click("#turns tbody button")
    at = float(tab.text_content("#clock").removesuffix(" s"))
    assert at == pytest.approx(ends[0][0].at, abs=0.01)


def test_half_an_hour_opens_in_a_second_and_scrubs_smoothly(tab: Any, half_an_hour: Path) -> None:
    """In time of the processor, which others on the machine do not stretch."""
    spent = Spent(tab)
    tab.goto(half_an_hour.as_uri())
    opened_in = spent.seconds()
    assert tab.evaluate("page.recording.end") > 1800
    assert tab.locator(".row").count() < 60
    rounds = []
    for _ in range(4):  # a busy machine has slow moments
        before = spent.seconds()
        tab.evaluate(COPY)
        copied = spent.seconds()
        tab.evaluate(SCRUB)
        rounds.append(((spent.seconds() - copied) / 20, copied - before))
    cost, copying = min(rounds, key=lambda one: one[0] / one[1])
    print(f"opens in {1000 * opened_in:.0f} ms, a frame takes {1000 * cost:.1f} ms")
    assert opened_in < 1
    assert cost < max(1 / 60, copying)


COPY = "() => { for (let n = 0; n < 40; n++) JSON.parse(JSON.stringify(page.data.flow)); }"
"""Takes a frame or so where nobody else computes: on a busy machine everything takes longer."""

SCRUB = """() => new Promise(resolve => {
  let frames = 0;
  const frame = () => {
    page.seek((page.player.t + 6.07) % page.recording.end);
    if (++frames < 20) requestAnimationFrame(frame);
    else resolve();
  };
  requestAnimationFrame(frame);
})"""


class Spent:
    """The time that the page's thread has computed."""

    def __init__(self, tab: Any) -> None:
        self._session = tab.context.new_cdp_session(tab._thing)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds(self) -> float:
        metrics = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def tone(path: Path, seconds: float, onsets: dict[int, float], rate: int = 16_000) -> Path:
    """A stereo recording that is silent but for half a second of tone in each channel."""
    samples = array.array("h", bytes(4 * round(seconds * rate)))
    for channel, onset in onsets.items():
        for n in range(rate // 2):
            at = 2 * (round(onset * rate) + n) + channel
            samples[at] = round(20_000 * math.sin(2 * math.pi * 440 * n / rate))
    with wave.open(str(path), "wb") as file:
        file.setparams((2, 2, rate, 0, "NONE", ""))
        file.writeframes(samples.tobytes())
    return path


@pytest.mark.parametrize("largest", [12_000_000, 1000], ids=["as it is", "compressed"])
def test_sound_and_picture_are_in_step(
    tab: Any,
    journal: Journal,
    tmp_path: Path,
    largest: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The user is left, the agent right, each heard when the recording has it; within 50 ms."""
    monkeypatch.setattr("turnfsm.runtime.view.sound.LARGEST", largest)
    wav = tone(tmp_path / "talk.wav", journal.records[-1].t, {0: 2.0, 1: 4.5})
    opened(tab, journal_page(journal, TURN, read_sound(wav)), tmp_path, 1.5)
    until(tab, "page.player.audio && page.player.audio.readyState >= 1")
    data = tab.evaluate("page.data.sound.seconds")
    assert data == pytest.approx(journal.records[-1].t, abs=0.01)
    tab.click("#play")
    until(tab, "page.player.t > 1.9")
    apart = tab.evaluate(
        """() => new Promise(resolve => {
          const apart = [], show = page.show.bind(page), { audio } = page.player;
          page.show = (...words) => {
            show(...words);
            apart.push(Math.abs(audio.currentTime - parseFloat(document.body.dataset.time)));
            if (apart.length === 60) resolve(apart.sort((x, y) => x - y)[30]);
          };
        })"""
    )
    print(f"sound to picture: {apart * 1000:.1f} ms")
    assert apart < 0.05
    tab.click("#play")
    peaks = tab.evaluate("page.sound.peaks.map(p => p.findIndex(v => v > 60) / p.length)")
    assert [p * data for p in peaks] == pytest.approx([2.0, 4.5], abs=0.05)


def test_a_compressed_recording_keeps_its_times(
    tab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the browser decodes begins where the recording does, in the right channel."""
    monkeypatch.setattr("turnfsm.runtime.view.sound.LARGEST", 1000)
    sound = read_sound(tone(tmp_path / "talk.wav", 8.0, {0: 2.0, 1: 4.5}))
    assert sound.type == "audio/webm"
    tab.goto("about:blank")
    heard = tab.evaluate(
        """async bytes => {
          const context = new OfflineAudioContext(2, 48000, 48000);
          const heard = await context.decodeAudioData(new Uint8Array(bytes).buffer);
          const onset = c => heard.getChannelData(c).findIndex(s => Math.abs(s) > 0.1);
          return [onset(0) / heard.sampleRate, onset(1) / heard.sampleRate];
        }""",
        list(sound.data),
    )
    assert heard == pytest.approx([2.0, 4.5], abs=0.05)


def test_a_cut_journal_is_shown_as_far_as_it_goes(tab: Any, talk: Path, tmp_path: Path) -> None:
    """The page says that its end is missing."""
    lines = (talk / "journal.jsonl").read_bytes().splitlines(keepends=True)
    kept = len(lines) * 2 // 3
    cut = parse_journal(b"".join(lines[:kept]) + lines[kept][:-5], "cut.jsonl")
    assert cut.damage
    opened(tab, journal_page(cut, TURN), tmp_path, cut.records[-1].t)
    assert tab.text_content(".badge.bad") == "cut off"
    assert lit(tab)[0] == held(cut, cut.records[-1].t)[0]


EVIL = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    "<!--<script>",
    "\u202e\u2066 right to left \u05d0\u05d1\u05d2",
    "\u2028\u2029\ud800 @DATA@ @SCRIPT@",
    "x" * 1_000_000,
]


def test_hostile_words_do_nothing(tab: Any, tmp_path: Path) -> None:
    """Markup, reversed text and a line of a megabyte are shown as text."""
    records: list[dict[str, Any]] = [{"journal": 1, "flow": "turn", "initial": "listening"}]
    for seq, words in enumerate(EVIL, 1):
        data = {"role": "user", "text": words, words: words}
        records.append({"seq": seq, "t": float(seq), "note": "message", "data": data})
    seq = len(records)
    refused = {"seq": seq, "t": float(seq), "trigger": EVIL[0], "of": EVIL[1], "state": "listening"}
    refused |= {"verdict": "refused", "reason": "refuses", "why": EVIL[1], "facts": [], "data": {}}
    page = journal_page(journal_of(records), TURN, title=EVIL[0])
    assert len(page) < 1_000_000
    opened(tab, page, tmp_path)
    for _ in records:
        tab.keyboard.press("ArrowRight")
    tab.click("#tab-words")
    assert tab.locator("script").count() == 3
    assert tab.locator("img").count() == 0
    assert tab.text_content("h1") == EVIL[0]
    assert tab.locator(".said").count() == len(EVIL)
    assert tab.locator(".said .text").nth(0).text_content() == EVIL[0]
    assert json.loads(tab.evaluate("JSON.stringify(page.recording.records.length)")) == len(EVIL)


def test_words_that_the_journal_leaves_out_are_not_on_the_page(
    tab: Any, journal: Journal, talk: Path, tmp_path: Path
) -> None:
    """The page of the journal says so; the page of the demo has them."""
    opened(tab, journal_page(journal, TURN), tmp_path)
    assert "text left out" in tab.text_content("#badges")
    tab.goto((talk / "conversation.html").as_uri())
    tab.click("#tab-words")
    assert "Is it heavy?" in tab.text_content("#words")


def test_the_transcript_opens_at_what_is_said_now(tab: Any, talk: Path) -> None:
    """Late in the conversation that is not its first line."""
    tab.goto(f"{(talk / 'conversation.html').as_uri()}#t=38")
    tab.click("#tab-words")
    seen = """() => {
      const box = document.getElementById("words").getBoundingClientRect();
      const now = document.querySelector("#words [aria-current]").getBoundingClientRect();
      return now.top >= box.top && now.bottom <= box.bottom;
    }"""
    assert tab.evaluate(seen)


def test_the_page_of_the_demo_replays(tab: Any, talk: Path) -> None:
    """The flow decides every entry again, and the page says so."""
    tab.goto((talk / "conversation.html").as_uri())
    assert tab.text_content(".badge.good") == "replays"


def test_what_the_users_words_were_taken_for_is_listed_with_its_revisions(
    tab: Any, tmp_path: Path
) -> None:
    """ "Yeah" is a backchannel, and "yeah but" is not. "Beans" is one to the classifier alone."""

    class Patient(Agent):
        @classifier
        def backchannel(self, heard: Transcript) -> bool:
            return heard.by_phrases or heard.text == "beans"

    user = ScriptedUser().says("beans", at=3.0, duration=0.4, interims=((0.3, "beans"),))
    user.says("yeah but wait", at=6.0, duration=1.2, interims=((0.3, "yeah"), (0.6, "yeah but")))
    journal = tmp_path / "journal.jsonl"
    stage = Stage(
        partial(TurnSession, flow="overlap", sinks=[JsonlSink(journal)]),
        user=user,
        agent=lambda: Patient(instructions="Help."),
        llm=ScriptedLLM(otherwise="As you like."),
        tts=ScriptedTTS(durations={"Once upon a time.": 9.0}),
    )
    stage.at(0.5, lambda stage: stage.session.say("Once upon a time.") and None).run(12.0)
    opened(tab, journal_page(read_journal(journal), load_flow("overlap")), tmp_path)
    tab.click("#tab-evidence")
    cells = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    _, *lines = tab.eval_on_selector_all("#evidence tr", cells)
    judged = [(by, says, revised) for _, by, says, revised, _ in lines]
    assert ("classifier", "backchannel", "") in judged
    yeah = judged.index(("phrases", "backchannel", ""))
    assert judged[yeah + 1] == ("phrases", "other words", "backchannel, 0.30 s before"), lines
    assert "interrupt_speech" in lines[yeah + 1][-1]
    tab.click(f"#evidence tbody tr:nth-child({yeah + 1}) button")
    assert float(tab.text_content("#clock").removesuffix(" s")) == pytest.approx(6.3, abs=0.02)


def test_the_settings_of_each_moment_are_shown_with_what_they_belong_to(
    tab: Any, tmp_path: Path
) -> None:
    """While a tool runs its own settings hold; each is linked to its line."""
    flow, journal = tmp_path / "desk.yaml", tmp_path / "journal.jsonl"
    flow.write_text(
        "flow: desk\nextends: turn\n"
        "overlays: {clerk: {policies: {look: hold}}}\n"
        "tools: {tuning: {look: {min_words: 2}}}\n"
    )
    stage = Stage(
        partial(TurnSession, flow=flow, sinks=[JsonlSink(journal)]),
        user=ScriptedUser().says("a slot", at=1.0),
        agent=lambda: Clerk(instructions="Help.", tools=[tool("look", "10", seconds=2.0)]),
        llm=ScriptedLLM({"slot": Reply(calls=Call("look"))}, {"look": "At ten."}),
    )
    stage.run(8.0)
    opened(tab, journal_page(read_journal(journal), load_flow(flow)), tmp_path)
    tab.click("#tab-settings")
    cells = "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    of_agent = [["policy of a tool", "detach", "flow"], ["policy of look", "hold", "agent clerk"]]
    seen = []
    for second in (1.0, 3.0, 7.0):
        tab.evaluate(f"page.seek({second})")
        seen.append(tab.eval_on_selector_all("#settings tbody tr", cells))
    running = [of_agent[0], ["policy of look", "hold, runs", "agent clerk"]]
    assert seen == [of_agent, [*running, ["min_words", "2", "tool look"]], of_agent]
    tab.evaluate("page.seek(3.0)")
    tab.click("#settings tr:last-child button")
    assert "min_words" in tab.text_content("#source .decided")


class Clerk(Agent):
    """Its overlay is `clerk`."""
