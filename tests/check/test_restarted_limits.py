"""A limit that an event starts again is no limit of its state, and the report says so."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from proved import flow_of

from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.report import as_text
from turnfsm.livekit import TurnSession
from turnfsm.testing import ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

SET = "flow: mine\nextends: turn\ntimers: {%s}\n"
BRIEF = """\
flow: brief
extends: turn
timers: {monologue_limit: 20.0}
states:
  speaking:
    after:
      monologue_limit: {dest: interrupted, actions: [report_limit, force_interrupt]}
"""


def test_a_limit_that_progress_starts_again_has_a_note() -> None:
    """With what it counts from, and what to do; the flow is proved all the same."""
    report = check_flow(flow_of(SET % "speaking_limit: 20.0"))
    assert report.ok
    (note,) = report.notes
    assert (note.place, note.severity) == ("probe.yaml:3:10", "note")
    assert note.message == (
        "speaking_limit does not limit speaking to 20 s: it counts from the last step_progressed"
    )
    assert "add a timer of your own to 'speaking'" in note.render()
    assert note.message in as_text([report])


def test_other_timers_have_none() -> None:
    """Nor has a limit that is inherited."""
    assert check_flow(flow_of(SET % "tool_limit: 20.0, false_interruption: 1.0")).notes == ()


def heard(flow: str, folder: Path) -> float:
    """How long an answer of 90 s is heard."""
    file = folder / "flow.yaml"
    file.write_text(flow)
    session: Any = partial(TurnSession, flow=file)
    user = ScriptedUser().says("tell me everything", at=1.0)
    voice = ScriptedTTS(durations={"A long story.": 90.0})
    model = ScriptedLLM({"everything": "A long story."})
    outcome = Stage(session, user=user, llm=model, tts=voice).run(120.0)
    return sum(span.end - span.start for span in outcome.heard)


@pytest.mark.exhaustive
def test_a_timer_of_ones_own_limits_the_state(tmp_path: Path) -> None:
    """As the documentation says. The session has proved both flows."""
    assert round(heard(SET % "speaking_limit: 20.0", tmp_path)) == 90
    assert round(heard(BRIEF, tmp_path)) == 20
