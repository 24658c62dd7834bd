"""`enable_interruptions=False` at the start strategies: what the agent says is heard to its end."""

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.frames import frames as f
from pipecat.turns.user_start import (
    TranscriptionUserTurnStartStrategy,
    VADUserTurnStartStrategy,
)
from pipecat.turns.user_stop import SpeechTimeoutUserTurnStopStrategy
from pipecat.turns.user_turn_strategies import UserTurnStrategies
from pipecat_stage import (
    COUNT,
    LATE,
    PRICE,
    Stage,
    asks_again,
    brief,
    counts,
    look_up,
    moments,
    orders,
)

from turnfsm.runtime.testing.pipecat import Messages, Says, Script


def _off() -> UserTurnStrategies:
    return UserTurnStrategies(
        start=[
            VADUserTurnStartStrategy(enable_interruptions=False),
            TranscriptionUserTurnStartStrategy(enable_interruptions=False),
        ],
        stop=[SpeechTimeoutUserTurnStopStrategy()],
    )


def _at(second: float, words: str = "hello there") -> Script:
    async def script(stage: Stage) -> None:
        await stage.says("please count")
        await stage.until(second)
        await (stage.says(words) if words else stage.coughs(1.0))

    return script


@pytest.mark.parametrize("second", [2.6, 3.5, 4.5])
def test_a_turn_over_the_answer_is_answered_after_it(second: float) -> None:
    stage = Stage(counts, strategies=_off).play(_at(second))
    assert stage.heard == f"{COUNT} You said hello there."
    assert brief(stage.requests[1])[1] == f"assistant: {COUNT}"
    assert "paused" not in stage.states
    assert stage.user_turns == {"replied": 2}


def test_a_turn_while_the_model_thinks_is_answered_after_the_answer() -> None:
    """As Pipecat alone does it."""

    def model(messages: Messages) -> Says:
        return Says(counts(messages).text, after=1.5)

    stage = Stage(model, strategies=_off).play(_at(2.15))
    assert stage.heard == f"{COUNT} You said hello there."


def test_a_noise_changes_nothing() -> None:
    alone = Stage(counts, strategies=_off).play(_at(60.0))
    stage = Stage(counts, strategies=_off).play(_at(4.0, ""))
    assert stage.heard == COUNT
    assert stage.speaker.played[-1].end == pytest.approx(alone.speaker.played[-1].end, abs=0.2)


def test_a_turn_over_a_running_tool_does_not_wait_for_it() -> None:
    """Nothing is said that could be interrupted."""
    stage = Stage(orders, look_up(6.0), strategies=_off).play(asks_again(4.0))
    assert stage.heard == f"{PRICE} {LATE}"
    assert stage.when("It") < 7.0
    assert stage.effects == ["look_up"]


def test_words_over_a_greeting_do_not_cut_it() -> None:
    script = moments(
        (0.0, f.TTSSpeakFrame("Welcome to the shop dear customer.")), (0.5, "please count")
    )
    stage = Stage(counts, strategies=_off).play(script)
    assert stage.heard == f"Welcome to the shop dear customer. {COUNT}"


async def _is_stopped_by_the_application(stage: Stage) -> None:
    await stage.says("please count")
    await stage.until(3.0)
    await stage.says("hello there", 0.4)
    await stage.until(4.2)
    await stage.pushes(f.InterruptionFrame())
    await stage.until(9.0)
    await stage.says("are you there")


def test_an_interruption_by_the_application_ends_the_answer_all_the_same() -> None:
    """Pipecat drops the rest of it, whatever the user's turn may do."""
    stage = Stage(counts, strategies=_off).play(_is_stopped_by_the_application)
    assert stage.heard.endswith("You said hello there. You said are you there.")
    assert stage.states[-1] == "listening"
