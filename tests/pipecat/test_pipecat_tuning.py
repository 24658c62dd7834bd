"""The tuning of a state, in a pipeline."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat_stage import Stage

from turnfsm.fsm import parse_flow
from turnfsm.runtime.compare.pipecat.talks import COUNT, counts
from turnfsm.runtime.testing.pipecat import Messages, Says, Script, ScriptedVAD, said

README = """
flow: mine
extends: overlap
fillers: {after: 1.5, say: "One moment, please."}
silence:
  - {after: 8, say: Are you still there?}
  - {after: 8, say: I will hang up now. Goodbye., hang_up: true}
tools:
  confirm: {transfer_money: {say: "Shall I transfer {amount} euros?"}}
"""


def tuned(tuning: str) -> str:
    return f"flow: tuned\nextends: turn\nstates: {{speaking: {{tuning: {tuning}}}}}"


def over(words: str, *, at: float = 3.5, seconds: float = 0.5) -> Script:
    """The user asks the agent to count, and says something over it; nothing is a cough."""

    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(at)
        await (stage.says(words, seconds) if words else stage.coughs(seconds))

    return script


def counting(words: str, flow: str, **how: float) -> Stage:
    return Stage(counts, flow=parse_flow(flow)[0], vad=ScriptedVAD()).play(over(words, **how))


@pytest.mark.parametrize("words", ["mhm", "yeah okay"])
def test_overlap_talks_through_backchannels(words: str) -> None:
    stage = counting(words, README)
    assert COUNT in stage.heard
    assert len(stage.asked) == 1


def test_overlap_stops_at_stop() -> None:
    stage = counting("stop please", README)
    assert COUNT not in stage.heard
    assert said(stage.asked[-1].messages) == "stop please"


def test_words_that_are_too_few_do_not_interrupt() -> None:
    flow = tuned("{min_words: 2}")
    assert "paused" not in counting("", flow).states
    assert COUNT in counting("well", flow).heard
    assert COUNT not in counting("well stop please", flow).heard


def test_a_sound_that_is_too_short_does_not_pause() -> None:
    flow = tuned("{min_duration: 0.6}")
    assert "paused" not in counting("", flow, seconds=0.4).states
    long = counting("", flow, seconds=1.2)
    assert "paused" in long.states
    paused = next(note.at for note in long.notes if note.what == "paused")
    assert 4.0 < paused < 4.2  # 0.6 s after its begin at 3.5 s


def test_a_muted_user_is_not_heard() -> None:
    def model(messages: Messages) -> Says:
        return counts(messages)

    stage = Stage(model, flow="half_duplex", vad=ScriptedVAD()).play(over("stop please"))
    assert COUNT in stage.heard
    assert len(stage.asked) == 1
