"""The same calls on AgentSession and on TurnSession, in one run, in a real room.

python -m room.beside                 the tables
python -m room.beside --docs          into docs/room.md
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, frozen

from bench.docs import DOCS, write_table
from turnfsm.runtime.demo.speech import PCM, RATE, UserVoice
from turnfsm.runtime.demo.tts import PiperVoice

from .build import ServerMissing
from .caller import Caller
from .machine import Others
from .server import RoomServer, here_or_elsewhere
from .worker import ROOT, working

__all__ = ["main"]

KINDS = ("stock", "turn")
_ANSWERED = 20.0  # seconds within which everything is said; a tool takes up to 8 s
_LOUD = 300  # samples of a clip above this are speech


@define
class Seen:
    """One conversation, as the caller and the worker recorded it, in the caller's time."""

    caller: Caller
    events: list[Mapping[str, Any]]

    def of(self, event: str) -> list[Mapping[str, Any]]:
        """The worker's notes of one kind."""
        return [one for one in self.events if one["event"] == event]

    def answer_after(self, moment: float, words: str) -> float | None:
        """Seconds from a time until the audio with this text begins."""
        told = [
            at
            for text in self.caller.agent_texts
            if words in text.text
            for at, _ in text.pieces[:1]
        ]
        sounds = [s.start for s in self.caller.ear.sounds() if s.start > moment - 0.1]
        near = [start for at in told for start in sounds if abs(start - at) < 1.5]
        return min(near) - moment if near else None


Script = Callable[[Caller, Callable[[str], PCM]], Awaitable[dict[str, float]]]


@frozen
class Conversation:
    """What a caller does, and how the outcome is checked."""

    id: str
    title: str
    play: Script
    judge: Callable[[Seen, dict[str, float]], tuple[list[str], dict[str, float]]]


def ends(pcm: PCM) -> tuple[float, float]:
    """The start and the end of the speech in a clip, in seconds."""
    loud = np.flatnonzero(np.abs(pcm.astype(np.int32)) > _LOUD)
    return float(loud[0]) / RATE, float(loud[-1]) / RATE


async def speak(caller: Caller, pcm: PCM) -> tuple[float, float]:
    """Play a clip. Returns the conversation times at which its speech began and ended."""
    end = await caller.say(pcm)
    first, last = ends(pcm)
    return end - len(pcm) / RATE + first, end - len(pcm) / RATE + last


async def _waits_for(caller: Caller, words: str) -> None:
    """Wait until the agent has said this, or for a limit. The check reports what was missed."""
    with suppress(TimeoutError):
        await caller.told(words, _ANSWERED)


def _late(waited: float | None) -> list[str]:
    """The problems with the time from the end of the caller's speech to the answer."""
    if waited is None:
        return ["the caller is never answered"]
    return [f"the caller waits {waited:.0f} s for an answer"] if waited > 3.0 else []


def _missed(seen: Seen, *texts: str) -> list[str]:
    """What the caller has not heard."""
    told = " ".join(text.text for text in seen.caller.agent_texts)
    return [f"the caller never hears {text!r}" for text in texts if text not in told]


async def _latency(caller: Caller, clip: Callable[[str], PCM]) -> dict[str, float]:
    await speak(caller, clip("Hello there, how are you?"))  # the first turn warms the models up
    await caller.told("Good morning to you.", _ANSWERED)
    await caller.silence(1.0)
    _, asked = await speak(caller, clip("Please tell me a story."))
    await caller.until(lambda: caller.ear.began > asked)
    await caller.rest(2.5)
    stop, _ = await speak(caller, clip("No, stop it please."))
    await caller.told("As you like.", _ANSWERED)
    await caller.silence(1.0)
    return {"asked": asked, "stop": stop}


def _judge_latency(seen: Seen, at: dict[str, float]) -> tuple[list[str], dict[str, float]]:
    cut = [s.end for s in seen.caller.ear.sounds() if s.start < at["stop"] + 0.2]
    waits = {"stop": max(cut, default=at["stop"]) - at["stop"]}
    first = seen.answer_after(at["asked"], "Once there was")
    if first is not None:
        waits["response"] = first
    return ([] if first is not None else ["no answer is heard"]), waits


async def _s1(caller: Caller, clip: Callable[[str], PCM]) -> dict[str, float]:
    await speak(caller, clip("What is the weather in Rome?"))
    await caller.rest(2.5)
    begun, said = await speak(caller, clip("And what about Paris, please?"))
    await _waits_for(caller, "Paris is sunny.")
    await _waits_for(caller, "It rains in Rome.")
    await caller.silence(0.6)
    return {"begun": begun, "said": said}


def _judge_s1(seen: Seen, at: dict[str, float]) -> tuple[list[str], dict[str, float]]:
    asked = sum("paris" in one["prompt"].lower() for one in seen.of("asked"))
    wrong = [f"the model is asked {asked} times about Paris"] if asked != 1 else []
    wrong += _late(seen.answer_after(at["said"], "Paris"))
    return wrong + _missed(seen, "It rains in Rome."), {}


async def _s3(caller: Caller, clip: Callable[[str], PCM]) -> dict[str, float]:
    _, said = await speak(caller, clip("How is the weather?"))
    await caller.until(lambda: caller.state == "thinking")
    await caller.rest(1.5)
    noise, _ = await speak(caller, clip("Haha."))
    await _waits_for(caller, "It is sunny.")
    await caller.silence(0.6)
    return {"said": said, "noise": noise}


def _judge_s3(seen: Seen, at: dict[str, float]) -> tuple[list[str], dict[str, float]]:
    wrong = [f"a false interruption is reported (resumed={e['resumed']})" for e in seen.of("false")]
    wrong += [
        "noise makes the agent's state 'listening' while it thinks"
        for one in seen.of("state")
        if one["state"] == "listening" and at["noise"] < one["t"] < at["noise"] + 3.0
    ]
    return wrong + _missed(seen, "It is sunny."), {}


async def _s5(caller: Caller, clip: Callable[[str], PCM]) -> dict[str, float]:
    _, said = await speak(caller, clip("Cancel my contract."))
    await caller.until(lambda: caller.ear.began > said)
    await caller.rest(1.2)
    begun, objected = await speak(caller, clip("No, tell me a joke."))
    await _waits_for(caller, "Here is a joke.")
    await caller.silence(1.0)
    return {"begun": begun, "said": objected}


def _judge_s5(seen: Seen, at: dict[str, float]) -> tuple[list[str], dict[str, float]]:
    wrong = [f"{one['what']} after the caller has said no" for one in seen.of("effect")]
    return wrong + _late(seen.answer_after(at["said"], "joke")), {}


async def _s2(caller: Caller, clip: Callable[[str], PCM]) -> dict[str, float]:
    _, said = await speak(caller, clip("Please book the table."))
    await caller.until(lambda: caller.ear.began > said)
    await caller.rest(1.0)
    _, asked = await speak(caller, clip("Is the table booked?"))
    await caller.rest(9.0)
    await caller.silence(1.0)
    return {"said": asked}


def _judge_s2(seen: Seen, at: dict[str, float]) -> tuple[list[str], dict[str, float]]:
    effects = [one["t"] for one in seen.of("effect")]
    wrong = [f"the table is booked {len(effects)} times"] if len(effects) != 1 else []
    wrong += _late(seen.answer_after(at["said"], "booked"))
    told = " ".join(text.text for text in seen.caller.agent_texts)
    if effects and "Your table is booked." not in told and "Yes, it is booked." not in told:
        wrong.append("the caller never hears that the table is booked")
    return wrong, {}


CONVERSATIONS = (
    Conversation("L", "a question, then a barge-in on a story", _latency, _judge_latency),
    Conversation("S1", "the user speaks while a silent 8 s tool runs", _s1, _judge_s1),
    Conversation("S2", "the user barges in on the preamble of a booking", _s2, _judge_s2),
    Conversation("S3", "a laugh while the model thinks for 6 s", _s3, _judge_s3),
    Conversation("S5", "the user objects while a tool waits for its preamble", _s5, _judge_s5),
)


async def play(
    server: RoomServer, kind: str, it: Conversation, clip: Callable[[str], PCM], events: Path
) -> tuple[list[str], dict[str, float]]:
    """Play one conversation. Returns the problems and the measured waits."""
    room = f"{kind}-{it.id}-{uuid.uuid4().hex[:6]}"
    at: dict[str, float] = {}
    stopped: list[str] = []
    async with Caller(server, room) as caller:
        try:
            await caller.agent_comes()
            await caller.rest(0.5)
            at = await it.play(caller, clip)
        except TimeoutError as error:
            stopped = [str(error).partition(";")[0]]
    told = (events / f"{room}.jsonl").read_text("utf-8").splitlines()
    inside = [json.loads(line) for line in told]
    own: list[Mapping[str, Any]] = [{**one, "t": one["t"] - caller.wall} for one in inside]
    if stopped:
        return stopped, {}
    return it.judge(Seen(caller, own), at)


async def compare(rounds: int, only: Sequence[str]) -> dict[str, dict[str, list[Any]]]:
    """Play each conversation on both kinds of session, in rounds. Returns problems and waits."""
    voice = UserVoice(PiperVoice.load())
    quiet = np.zeros(RATE // 5, np.int16)
    clip = lambda text: np.concatenate([voice.say(text), quiet])  # noqa: E731
    chosen = [it for it in CONVERSATIONS if not only or it.id in only]
    found: dict[str, dict[str, list[Any]]] = {it.id: {k: [] for k in KINDS} for it in chosen}
    with (
        tempfile.TemporaryDirectory() as folder,
        here_or_elsewhere() as server,
        working(server, ROOT / "room" / "either.py", environment={"ROOM_EVENTS": folder}),
    ):
        for number in range(rounds):
            for it in chosen:
                for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
                    got = await play(server, kind, it, clip, Path(folder))
                    found[it.id][kind].append(got)
                    wrong = "; ".join(got[0]) or "right"
                    print(f"{number + 1} {it.id:3} {kind:5} {wrong} {got[1]}", file=sys.stderr)
    return found


def report(found: dict[str, dict[str, list[Any]]]) -> str:
    """The two tables."""
    lines = ["| conversation | AgentSession | TurnSession |", "| --- | --- | --- |"]
    for it in CONVERSATIONS:
        if it.id not in found or it.id == "L":
            continue
        cells = [_verdicts(found[it.id][kind]) for kind in KINDS]
        lines.append(f"| {it.id}: {it.title} | {cells[0]} | {cells[1]} |")
    if "L" in found:
        lines += [
            "",
            "| wait | AgentSession | TurnSession | difference |",
            "| --- | ---: | ---: | ---: |",
        ]
        for name, what in (
            ("response", "from the end of a question to the first sound"),
            ("stop", "from the first sound of a barge-in to silence"),
        ):
            stock, ours = (_waits(found["L"][kind], name) for kind in KINDS)
            lines.append(
                f"| {what} | {_figure(stock)} | {_figure(ours)} | {_interval(stock, ours)} |"
            )
    return "\n".join(lines) + "\n"


def _verdicts(rounds: Sequence[tuple[list[str], Any]]) -> str:
    wrong = [problems for problems, _ in rounds if problems]
    if not wrong:
        return f"right, {len(rounds)} of {len(rounds)}"
    said = "; ".join(dict.fromkeys(problem for problems in wrong for problem in problems))
    return f"wrong, {len(wrong)} of {len(rounds)}: {said}"


def _waits(rounds: Sequence[tuple[Any, dict[str, float]]], name: str) -> list[float]:
    return [waits[name] for _, waits in rounds if name in waits]


def _figure(waits: Sequence[float]) -> str:
    if not waits:
        return "not measured"
    return f"{statistics.median(waits):.2f} s ({min(waits):.2f} to {max(waits):.2f}, {len(waits)})"


def _interval(stock: Sequence[float], ours: Sequence[float]) -> str:
    """The 95 % interval of the difference of the means, by Welch's formula with twice the standard
    error."""
    if min(len(stock), len(ours)) < 3:
        return "too few"
    error = (statistics.variance(stock) / len(stock) + statistics.variance(ours) / len(ours)) ** 0.5
    middle = statistics.fmean(ours) - statistics.fmean(stock)
    return f"{(middle - 2 * error) * 1000:+.0f} to {(middle + 2 * error) * 1000:+.0f} ms"


def main() -> int:
    """Play and print; with --docs replace the tables of docs/room.md."""
    parser = argparse.ArgumentParser(prog="python -m room.beside", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("only", nargs="*", help="conversations, such as S1; default: all")
    options = parser.parse_args()
    others = Others()
    try:
        tables = report(asyncio.run(compare(options.rounds, options.only)))
        tables += f"\n{options.rounds} rounds; other programs used {others.share():.0%} of the "
        tables += "processor meanwhile.\n"
    except (ServerMissing, TimeoutError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(tables)
    if options.docs:
        write_table(DOCS / "room.md", "python -m room.beside", tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
