"""The scripted model: it reads words of the user, calls, results, instructions of the application.

Of all other system messages it can only tell which calls they name, so no text of a session is
known here. It makes each call that a sentence in its context asks for and that is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from random import Random

import attrs
from livekit.agents import APIConnectionError

from turnfsm.runtime.testing.livekit import Call, Reply, Request, RequestEntry

from .script import Script
from .tools import INSTRUCTIONS, tool_name

__all__ = ["Asked", "Model", "Said"]

Asked = tuple[int, int]
"""The numbers of a job and of the sentence that asks for it."""

APPLICATION = re.compile(r"\bapp(\d+)\b")
"""The instructions of the script's application."""


@attrs.frozen
class Said:
    """What the model said to a request.

    Attributes:
        request: The request.
        words: What is said, word by word: each names the reply and its own place in it.
        meant: What each word is about: ``("answer", sentence)``, ``("result", asked)``, ...
        answers: The sentences that were there to be answered; `shows`: all in the request.
        typed: The typed lines in the request, by the number of their move.
        offered: The results in the request that the model had not mentioned before.
        calls: What it calls.
        fails: The model fails.
    """

    request: Request
    words: tuple[str, ...]
    meant: tuple[tuple[str, object], ...]
    answers: frozenset[int]
    shows: frozenset[int]
    typed: frozenset[int]
    offered: frozenset[Asked]
    calls: frozenset[Asked] = frozenset()
    fails: bool = False


class Model:
    """What a model answers to the requests of one conversation."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.said: list[Said] = []
        self.meaning: dict[str, tuple[str, object]] = {}
        """What each word is about that the model has said."""

    def answer(self, request: Request) -> Reply:
        """Text and calls, by what the request shows."""
        entries, number = request.shown, len(self.said) + 1
        tail = list(takewhile(lambda e: e.kind in ("user", "system"), reversed(entries)))
        tail = [entry for entry in tail if not entry.text.startswith(INSTRUCTIONS)]
        answers = self._sentences(tail)
        news = dict(self._news(entries))
        parts = [*self._parts(tail, answers)]
        told = self._told(number, tail, news, alone=not parts)
        if not (parts or told or self._hints(number, tail)):
            outputs = [(*what, 2) for what in sorted(news) if what[0] == "output"]
            parts = outputs or [("nothing", 0, 2)]
        parts += [(*what, 4) for what in told]
        meant = tuple((kind, about) for kind, about, many in parts for _ in range(many))
        words = tuple(f"q{number}w{place}" for place in range(len(meant)))
        self.meaning |= dict(zip(words, meant, strict=True))
        fails = number in self._script.llm_fails
        offered = frozenset(asked for kind, asked in news if kind == "result")
        typed = {int(n) for e in entries for n in re.findall(r"\btyped(\d+)\b", e.text)}
        shows = frozenset(self._sentences(entries)), frozenset(typed)
        calls = tuple(self._calls(entries))
        made = frozenset((call.arguments["number"], call.arguments["asked"]) for call in calls)
        said = Said(request, words, meant, frozenset(answers), *shows, offered, made, fails)
        self.said.append(said)
        text = " ".join(words) + "." * bool(words)
        if fails:
            half = " ".join(words[: len(words) // 2])
            return Reply(half, error=APIConnectionError("the script's failure", retryable=False))
        ttft = self._script.sounds[max(answers) - 1].ttft if answers else 0.2
        return Reply(text, calls=calls, ttft=ttft)

    def breaks_off(self, text: str) -> bool:
        """The TTS fails in this text."""
        found = re.match(r"q(\d+)w", text)
        return found is not None and int(found[1]) in self._script.tts_fails

    def _parts(
        self, tail: Sequence[RequestEntry], answers: set[int]
    ) -> Iterator[tuple[str, object, int]]:
        """What it says to the application's instructions, or to what was said last."""
        asked = [APPLICATION.search(entry.text) for entry in tail]
        if first := next((found for found in asked if found), None):
            yield "application", int(first[1]), 4
        elif answers:
            yield "answer", max(answers), self._script.sounds[max(answers) - 1].answer
        elif tail and any(entry.kind == "user" for entry in tail):
            yield "typed", 0, 3

    def _sentences(self, entries: Sequence[RequestEntry]) -> set[int]:
        """The sentences of the user of which a word is there."""
        said = " ".join(entry.text for entry in entries if entry.kind == "user")
        return self._script.sentences_in(said)

    def _calls(self, entries: Sequence[RequestEntry]) -> Iterator[Call]:
        made = {_asked(entry.text) for entry in entries if entry.kind == "call"}
        for sentence in sorted(self._sentences(entries)):
            for job in self._script.sounds[sentence - 1].calls:
                if (job, sentence) not in made:
                    name = tool_name(self._script.jobs[job])
                    yield Call(name, {"number": job, "asked": sentence})

    def _news(self, entries: Sequence[RequestEntry]) -> Iterator[tuple[tuple[str, Asked], str]]:
        """Updates, results and other outputs that the model has not mentioned, with the ids of
        their calls."""
        calls = {entry.id: entry for entry in entries if entry.kind == "call"}
        mentioned = {
            self.meaning[word]
            for entry in entries
            if entry.kind == "assistant"
            for word in re.findall(r"\bq\d+w\d+\b", entry.text)
        }
        for entry in entries:
            call = calls.get(entry.id)
            if entry.kind == "result" and call is not None:
                asked = _asked(call.text)
                given = re.search(rf"\b(done|failed|n){asked[0]}\b", entry.text)
                kind = {"n": "update"}.get(given[1], "result") if given else "output"
                if entry.text and (kind, asked) not in mentioned:
                    yield (kind, asked), entry.id

    def _told(
        self,
        number: int,
        tail: Sequence[RequestEntry],
        news: dict[tuple[str, Asked], str],
        *,
        alone: bool,
    ) -> list[tuple[str, Asked]]:
        """What it mentions: what is named, or all results if there is nothing else to say. An
        output that is no result is mentioned if it is the only one of its call."""
        hints = self._hints(number, tail)
        known = {asked for kind, asked in news if kind != "output"}
        named = [w for w, id in news.items() if any(self._names(hint, w[1], id) for hint in hints)]
        named = [(kind, asked) for kind, asked in named if kind != "output" or asked not in known]
        return sorted([w for w in news if w[0] != "output"] if alone and not named else named)

    def _hints(self, number: int, tail: Sequence[RequestEntry]) -> list[str]:
        """The system messages at the end that are not the script's, if it follows them now."""
        odds = {"always": 1.0, "mostly": 0.8, "never": 0.0}[self._script.obeys]
        if Random(f"{self._script.name} {number}").random() >= odds:
            return []
        texts = [entry.text for entry in tail if entry.kind == "system"]
        return [text for text in texts if not APPLICATION.search(text)]

    def _names(self, hint: str, asked: Asked, id: str) -> bool:
        words = set(re.findall(r"\w+", hint))
        tool = tool_name(self._script.jobs[asked[0]])
        ids = {id, id.removesuffix("_final")}  # LiveKit's id for the result after `ctx.update()`
        return bool(ids & words) or {tool, str(asked[0]), str(asked[1])} <= words


def _asked(arguments: str) -> Asked:
    job, sentence = re.findall(r"\d+", arguments)[:2]
    return int(job), int(sentence)
