"""A conversation of a pipeline on the page of `turnfsm view`."""

import json
import urllib.request

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage, moments

from turnfsm.pipecat import TurnGovernor
from turnfsm.runtime.testing.pipecat import Says
from turnfsm.runtime.view.live import LiveView


@pytest.mark.parametrize("observe", [False, True])
def test_the_page_shows_every_record_of_a_conversation(observe: bool) -> None:
    view = LiveView(port=0)
    try:
        stage = Stage(
            lambda messages: Says("Hello."),
            governor=lambda **options: TurnGovernor(**options, observe=observe),
            view=view,
        ).play(moments((0.0, "hello there")), seconds=6.0)
        assert stage.governor is not None
        records = list(stage.governor.turn.journal.read().records)
        rows: list[object] = []
        with urllib.request.urlopen(f"{view.url}events?session=1", timeout=60) as answer:
            while len(rows) < len(records):
                line = answer.readline()
                assert line
                if line.startswith(b"data: "):
                    rows += json.loads(line[6:]).get("rows", [])
        assert len(rows) == len(records) > 10
    finally:
        view.close()
