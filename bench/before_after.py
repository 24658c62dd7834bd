"""One spoken conversation on an AgentSession and on a TurnSession: two recordings and a picture.

python -m bench.before_after            into ./before-after/
python -m bench.before_after --docs     into docs/

Both speak with a synthetic voice. The VAD and the STT are real, the model is scripted.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import av
import numpy as np
from livekit.agents import Agent, function_tool

from turnfsm.fsm.diagram.timeline import stacked
from turnfsm.fsm.journal import Journal, journal_of
from turnfsm.runtime.demo.clock import run
from turnfsm.runtime.demo.llm import Rule, RuleLLM
from turnfsm.runtime.demo.on_livekit import prompter_of, scribe_of
from turnfsm.runtime.demo.pace import Pace
from turnfsm.runtime.demo.recorder import Recorder
from turnfsm.runtime.demo.script import Cue, Line, When
from turnfsm.runtime.demo.speech import PCM, RATE
from turnfsm.runtime.demo.stack import AudioStack
from turnfsm.runtime.demo.take import QUIET, converse
from turnfsm.runtime.livekit.session import TurnSession

from .frame import DOCS

__all__ = ["main"]

LINES = (
    Line("question", "How much did I spend last month?", Cue(When.QUIET, 0.5)),
    Line("second", "And when do you open tomorrow?", Cue(When.SILENT_TOOL, 1.5)),
    Line("backchannel", "Okay.", Cue(When.SPEAKING, 3.0), ignored=True),
    Line("stop", "Stop, that is enough.", Cue(When.SPEAKING, 3.0)),
)

RULES = (
    Rule("spend", say="Let me add that up.", tool="spending"),
    Rule("open", say="We open at nine."),
    Rule("stop", say="All right."),
)

SESSIONS: dict[str, dict[str, Any]] = {
    "AgentSession": {"observe": True},
    'TurnSession(flow="overlap")': {"flow": "overlap"},
}

_NAMES = ("before", "after")
_OCCASION = 7.0  # seconds within which the moment for a line comes; if not, the caller hangs up


class _Clerk(Agent):
    def __init__(self, pace: Pace) -> None:
        super().__init__(instructions="You work at the counter of a bank.")
        self._pace = pace

    @function_tool
    async def spending(self) -> str:
        """What the customer has spent in the last month."""
        await self._pace.sleep(7.0)
        return (
            "You spent eight hundred euros. Half of it was for groceries and the garage, "
            "and the other half was for books, for the cinema, and for two train tickets."
        )


async def play(options: dict[str, Any]) -> tuple[Journal, PCM]:
    """Play the conversation. Returns its journal and two tracks at RATE Hz: user, agent."""
    stack = await AudioStack.load(Pace(), ())
    await stack.prepare(LINES)
    stack.llm = RuleLLM(RULES, fallback="Sorry?", pace=stack.pace)
    recorder = Recorder(stack.pace)
    session: TurnSession[Any] = TurnSession(**stack.options(), **options, sinks=[recorder])
    stack.attach(session)
    recorder.align(session.turn)
    scribe, prompter = scribe_of(session, stack), prompter_of(session, stack.output, stack.pace)
    try:
        await session.start(_Clerk(stack.pace))
        try:
            await converse(LINES, stack, scribe, prompter, max_wait=_OCCASION)
        except TimeoutError:  # the caller hangs up after the answer
            await prompter.wait_for(QUIET)
    finally:
        scribe.finish()
        await session.aclose()
        await stack.aclose()
    tracks = [stack.input.track(), stack.output.track()]
    stereo = np.zeros((2, max(map(len, tracks))), np.int16)
    for channel, track in enumerate(tracks):
        stereo[channel, : len(track)] = track
    return journal_of(recorder.records), stereo


def write_ogg(path: Path, stereo: PCM) -> None:
    """Write two tracks at RATE Hz as Opus."""
    with av.open(path, "w") as file:
        stream = file.add_stream("libopus", RATE, layout="stereo", bit_rate=32_000)
        frame = av.AudioFrame.from_ndarray(stereo.T.reshape(1, -1).copy(), "s16", "stereo")
        frame.sample_rate = RATE
        for packet in (*stream.encode(frame), *stream.encode(None)):
            file.mux(packet)


def main() -> int:
    """Play both, and write the files."""
    parser = argparse.ArgumentParser(prog="python -m bench.before_after", description=__doc__)
    parser.add_argument("--docs", action="store_true")
    folder = DOCS if parser.parse_args().docs else Path("before-after")
    folder.mkdir(exist_ok=True)
    journals = {}
    for name, (session, options) in zip(_NAMES, SESSIONS.items(), strict=True):
        journals[session], stereo = run(play(options))
        write_ogg(folder / f"{name}.ogg", stereo)
    (folder / "before-after.svg").write_text(stacked(journals), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
