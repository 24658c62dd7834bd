"""Sessions seen while they run."""

from __future__ import annotations

import io
import json
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import run
from on_page import until, violations

from turnfsm.fsm import Flow, TurnfsmError, load_flow
from turnfsm.fsm.journal import Journal
from turnfsm.fsm.metrics.measuring import values_of
from turnfsm.fsm.metrics.tally import Tally
from turnfsm.livekit import LiveView, TurnSession
from turnfsm.runtime.journal import JsonlSink
from turnfsm.runtime.view import hub as hub_module
from turnfsm.runtime.view.follow import Folder
from turnfsm.runtime.view.live import view_of
from turnfsm.testing import Call, Reply, ScriptedLLM, ScriptedUser, Stage

TURN = load_flow("turn")


@pytest.fixture
def view() -> Iterator[LiveView]:
    """A page at a free port."""
    shown = LiveView(port=0)
    yield shown
    shown.close()


def stage(view: LiveView, *sinks: Any) -> Stage:
    """A conversation with a barge-in."""
    user = ScriptedUser().says("tell me all", at=1.0).says("stop it now", at=4.0)
    model = ScriptedLLM({"tell": "one two three four five six seven eight nine", "stop": "Yes."})
    return Stage(TurnSession, user=user, llm=model, view=view, sinks=sinks)


class Messages:
    """What a viewer is told, read from the socket."""

    def __init__(self, view: LiveView, query: str = "") -> None:
        self.answer = urllib.request.urlopen(f"{view.url}events{query}", timeout=60)

    def next(self) -> dict[str, Any]:
        while True:
            line = self.answer.readline()
            assert line, "the server has ended"
            if line.startswith(b"data: "):
                message: dict[str, Any] = json.loads(line[6:])
                return message

    def rows(self, count: int) -> list[dict[str, Any]]:
        """So many rows, or more."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            found += self.next().get("rows", [])
        return found

    def close(self) -> None:
        self.answer.close()


def test_a_session_is_seen_while_it_runs(tab: Any, view: LiveView) -> None:
    """At each moment, what is lit is the state of the session."""
    tab.goto(view.url)
    seen = []

    def look(stage: Stage) -> None:
        turn = stage.session.turn
        count = sum(1 for _ in turn.journal.read().records)
        until(tab, f"page.recording && page.recording.records.length >= {count}")
        until(tab, f"document.querySelector('.current')?.id === 'state-{turn.state}'")
        assert tab.text_content("#state") == turn.state
        on = tab.eval_on_selector_all("#facts .on", "all => all.map(one => one.textContent)")
        assert set(on) == set(turn.facts)
        seen.append(turn.state)

    played = stage(view)
    for second in (0.5, 2.5, 3.5, 4.9, 5.3, 8.0):
        played.at(second, look)
    played.run(9.0)
    assert {"listening", "thinking", "speaking"} <= set(seen)
    until(tab, "page.live.ended")
    assert "the session closed: user_initiated" in tab.text_content("#badges")
    clock = f"{played.session.turn.journal.read().records[-1].t:.2f} s"
    until(tab, f"document.querySelector('#clock').textContent === '{clock}'")
    tab.wait_for_timeout(300)
    assert tab.text_content("#clock") == clock  # it stands still


def test_a_late_viewer_sees_the_past_and_the_other_sessions(tab: Any, view: LiveView) -> None:
    """Both sessions are listed; the whole of either is there."""
    stages = [stage(view), stage(view)]
    for one in stages:
        one.run(9.0)
    tab.goto(view.url)
    counts = [len(one.session.turn.journal.read().records) for one in stages]
    until(tab, f"page.recording && page.recording.records.length === {counts[1]}")
    assert tab.text_content("#sessions-open") == "2 sessions"
    assert tab.is_hidden(".desk")
    tab.click("#sessions tr[data-key='1']")
    until(tab, f"page.data.key === '1' && page.recording.records.length === {counts[0]}")
    assert tab.is_visible(".desk")
    tab.keyboard.press("Home")
    assert tab.text_content("#clock") == "0.00 s"
    assert tab.text_content("#state") == "listening"


def test_sessions_are_listed_by_trouble_and_open_at_their_worst_moment(
    tab: Any, view: LiveView, axe: str
) -> None:
    """One that waited for its model comes before two that did not, though it began first."""
    slow = ScriptedLLM({"tell": Reply("one two", ttft=7.0)})
    user = ScriptedUser().says("tell me all", at=1.0)
    troubled = Stage(TurnSession, user=user, llm=slow, view=view)
    troubled.run(14.0)
    for _ in range(2):
        stage(view).run(20.0)
    worst = Tally()
    for value in values_of(troubled.session.turn.journal.read()):
        worst.add(value)
    assert worst.longest is not None
    tab.goto(view.url)
    until(tab, "document.querySelectorAll('#sessions tbody tr').length === 3")
    first = tab.eval_on_selector_all("#sessions td", "all => all.map(one => one.textContent)")[:6]
    assert first[1] == f"{worst.longest.seconds:.2f} s: llm"
    assert first[2] == f"{worst.waited:.2f} s"
    assert first[3:] == [str(worst.refusals or "-"), "-", "-"]
    assert violations(tab, axe) == []
    tab.click("#sessions tbody tr >> nth=0")
    until(tab, f"document.querySelector('#clock').textContent === '{worst.worst:.2f} s'")
    assert "silence: llm" in tab.text_content("#why")
    end = troubled.session.turn.journal.read().records[-1].t
    assert tab.evaluate("page.recording.end") == pytest.approx(end, abs=0.01)
    tab.click("#sessions-open")
    assert tab.is_visible("#sessions tr.shown[data-key='1']")


@pytest.mark.parametrize("keeps", [False, True])
def test_words_are_shown_only_if_the_journal_keeps_them(keeps: bool, view: LiveView) -> None:
    """A `JsonlSink(redact=None)` says so; without one nothing that was said leaves the process."""
    sink = JsonlSink(io.StringIO(), redact=None if keeps else "leave_out")
    stage(view, sink).run(9.0)
    viewer = Messages(view)
    told = json.dumps([viewer.next() for _ in range(3)])
    viewer.close()
    assert ("tell me all" in told) is keeps


def test_a_tool_call_is_seen(view: LiveView) -> None:
    """Its notes are among the rows; what it was called with is left out."""
    user = ScriptedUser().says("book it", at=1.0)
    model = ScriptedLLM({"book": Reply("Yes.", calls=Call("unknown", {"secret": "4711"}))})
    played = Stage(TurnSession, user=user, llm=model, view=view)
    played.run(9.0)
    viewer = Messages(view)
    rows = viewer.rows(len(played.session.turn.journal.read().records))
    viewer.close()
    assert "4711" not in json.dumps(rows)


HEADER = {"journal": 1, "flow": "turn", "initial": "listening"}


def entry(seq: int) -> dict[str, Any]:
    """The user begins and ends to speak, again and again."""
    speaks = seq % 2 == 1
    trigger = "user_started_speaking" if speaks else "user_stopped_speaking"
    record = {"seq": seq, "t": seq / 100, "trigger": trigger, "of": None, "state": "listening"}
    data = {"filler": "x" * 2000}  # more than the buffers of the system take
    record |= {"facts": ["user_speaking"] if speaks else [], "verdict": "taken", "data": data}
    return record | {"dest": "listening", "row": None, "actions": [], "entered": False}


def settled(view: LiveView, count: int) -> None:
    """Wait until so many records have reached the viewers' side."""
    end = time.monotonic() + 120
    while view.in_server(lambda: sum(map(len, view.hub.conversations.values()))) < count:
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_viewer_that_stands_still_never_slows_a_session(
    view: LiveView, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under load: what is kept is bounded, another viewer gets all, the slow one is told."""
    monkeypatch.setattr(hub_module, "MOST_ROWS", 2000)
    feed = view.feed(TURN)
    feed.write(HEADER)
    slow = socket.create_connection(("127.0.0.1", int(view.url.split(":")[2].strip("/"))))
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    slow.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")  # and it never reads
    quick = Messages(view)
    got, costs = 0, []
    for batch in range(6):
        for seq in range(batch * 1000 + 1, batch * 1000 + 1001):
            record = entry(seq)
            start = time.thread_time()
            feed.write(record)
            costs.append(time.thread_time() - start)
        settled(view, batch * 1000 + 1000)
        got += len(quick.rows(1000 + batch * 1000 - got))
    quick.close()
    assert got == 6000
    print(f"a record costs the session {1e6 * sorted(costs)[len(costs) // 2]:.1f} us")
    assert sorted(costs)[len(costs) // 2] < 100e-6
    (shown,) = view.hub.conversations.values()
    assert view.in_server(lambda: len(shown._rows)) == 2000
    slow.settimeout(60)
    heard = b""
    while b'"m":"dropped"' not in heard.replace(b" ", b""):
        part = slow.recv(1_000_000)
        assert part, "the server has let the slow viewer go"
        heard = heard[-100:] + part
    slow.close()


def test_a_viewer_that_goes_away_is_forgotten(view: LiveView) -> None:
    """The session goes on, and so does the server."""
    feed = view.feed(TURN)
    feed.write(HEADER)
    for _ in range(5):
        Messages(view).close()
    feed.write(entry(1))
    viewer = Messages(view)
    assert len(viewer.rows(1)) == 1
    viewer.close()


def test_records_that_were_lost_on_the_way_are_marked(view: LiveView) -> None:
    """A gap in the numbers stands where it is, with the state after it."""
    feed = view.feed(TURN)
    for record in (HEADER, entry(1), entry(11)):
        feed.write(record)
    viewer = Messages(view)
    rows = viewer.rows(3)
    viewer.close()
    assert [row.get("m") for row in rows] == [None, "dropped", None]
    assert (rows[1]["x"], rows[1]["d"]) == ({"records": 9}, "listening")
    assert rows[2]["f"] == [0]


def test_beyond_loopback_a_token_is_needed() -> None:
    """Nothing is shown without it; other machines' names are refused on loopback."""
    open_view = LiveView("0.0.0.0", 0)
    try:
        assert "token=" in open_view.url
        with urllib.request.urlopen(open_view.url, timeout=60) as answer:
            assert answer.status == 200
        for path in ("", "events", "?token=guess"):
            bare = open_view.url.partition("?")[0] + path
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(bare, timeout=60)
            assert refused.value.code == 401
            refused.value.close()
    finally:
        open_view.close()


def test_a_page_of_another_name_cannot_read_along(view: LiveView) -> None:
    """A host name that resolves to this machine is refused (DNS rebinding)."""
    request = urllib.request.Request(view.url, headers={"Host": "evil.example:8765"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=60)
    assert refused.value.code == 403
    refused.value.close()


def test_a_busy_port_is_reported(view: LiveView, tmp_path: Path, capsys: Any) -> None:
    """By the command with status 2; sessions take the next port."""
    port = int(view.url.split(":")[2].strip("/"))
    assert run("view", "--live", str(tmp_path), "--port", str(port)) == 2
    assert f"127.0.0.1:{port}: the port is in use" in capsys.readouterr().err
    another = LiveView(port=port, more_ports=20)
    assert another.url != view.url
    another.close()


def test_the_environment_variable_shows_every_session(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its address is logged, and all sessions of the process share it."""
    monkeypatch.setenv("TURNFSM_VIEW", "0")
    assert view_of(None) is None
    monkeypatch.setenv("TURNFSM_VIEW", "127.0.0.1:0")
    first = view_of(None)
    assert first is not None
    assert view_of(None) is first
    assert view_of(False) is None
    assert first.url in caplog.text
    first.close()
    monkeypatch.setenv("TURNFSM_VIEW", "localhost:http")
    with pytest.raises(TurnfsmError, match="TURNFSM_VIEW=localhost:http; give True or 1, a port"):
        view_of(None)


def test_journals_of_a_folder_are_followed(
    view: LiveView, journal: Journal, tmp_path: Path
) -> None:
    """As far as whole lines go; one that is no journal is said once, the others go on."""
    lines = [json.dumps(record) + "\n" for record in journal.to_json()]
    folder = Folder(tmp_path, view.hub, lambda name: load_flow(name))
    growing = tmp_path / "call.jsonl"
    growing.write_text("".join(lines[:5]) + lines[5][:9])
    (tmp_path / "other.jsonl").write_text('{"journal": 7, "flow": "turn"}\n')
    (trouble,) = view.in_server(folder.look)
    assert "reads version 1" in trouble
    assert list(view.hub.unread) == [trouble]
    (shown,) = view.hub.conversations.values()
    assert len(shown) == 4
    with growing.open("a") as file:
        file.write(lines[5][9:] + "".join(lines[6:]))
    assert view.in_server(folder.look) == []
    assert len(shown) == len(journal.records)


def test_the_page_says_why_a_journal_is_not_shown(tab: Any, view: LiveView, tmp_path: Path) -> None:
    """Also when others are shown."""

    def flow_of(name: str) -> Flow:
        if name == "mine":
            raise TurnfsmError("of the flow 'mine'; name its file: --flow FILE.yaml")
        return load_flow(name)

    folder = Folder(tmp_path, view.hub, flow_of)
    head = {"journal": 1, "flow": "mine", "initial": "listening"}
    (tmp_path / "call.jsonl").write_text(json.dumps(head) + "\n")
    view.in_server(folder.look)
    tab.goto(view.url)
    until(tab, "document.querySelector('#badges .bad') !== null")
    assert tab.text_content("#badges .bad") == "of the flow 'mine'; name its file: --flow FILE.yaml"
    (tmp_path / "other.jsonl").write_text(json.dumps(head | {"flow": "turn"}) + "\n")
    view.in_server(folder.look)
    until(tab, "document.querySelector('#badges .bad').textContent === '1 not shown'")
    assert "--flow" in tab.get_attribute("#badges .bad", "title")
