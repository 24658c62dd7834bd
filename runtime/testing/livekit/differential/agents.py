"""The agent of a planned conversation, and its model: both do exactly what the plan says."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Any

from livekit.agents import Agent, llm

from turnfsm.runtime.testing.livekit.belief import Call
from turnfsm.runtime.testing.livekit.requests import RequestEntry
from turnfsm.runtime.testing.livekit.scripted_llm import Reply, Request

from .jobs import Jobs
from .plan import Answer, Plan

__all__ = ["GREETING", "Clerk", "answer", "sentence_answered", "words_answered", "words_asked"]

INSTRUCTIONS = "Help."
"""What each agent's own instructions begin with."""

GREETING = "hello2a"
"""What an agent says first as it takes over."""

LATER = "Do not answer what the user has said last"
"""How a session asks for results only."""

ELSEWHERE = "Another reply tells"
"""How a session says that a reply is not about some results."""

UNLESS_TOLD = "reply with nothing"
"""How a session asks for results that the model may have told."""

LATE = "_final"
"""What LiveKit adds to the id of a call for the result of a tool that has called `ctx.update()`."""


class Clerk(Agent):
    """An agent with the plan's tools. It continues the conversation that there is."""

    def __init__(self, plan: Plan, jobs: Jobs, chat_ctx: Any = None, name: str = "") -> None:
        given = {} if chat_ctx is None else {"chat_ctx": chat_ctx.copy(exclude_instructions=True)}
        super().__init__(instructions=f"{INSTRUCTIONS} {name}", tools=jobs.tools, **given)
        self._plan, self._jobs, self._first = plan, jobs, not name

    async def on_enter(self) -> None:
        self._jobs.agent_in_charge = "1" if self._first else "2"
        if not self._first:
            self._jobs.handoffs.append(self._jobs.clock())
            self.session.say(f"{GREETING} hello2b.")
        elif self._plan.greets == "say":
            self.session.say("hello1a hello1b hello1c.")
        elif self._plan.greets == "reply":
            self.session.generate_reply(instructions="greet")

    async def on_user_turn_completed(
        self, turn_ctx: llm.ChatContext, new_message: llm.ChatMessage
    ) -> None:
        if self._plan.hook:
            await asyncio.sleep(self._plan.hook)


def answer(plan: Plan, request: Request) -> Reply:
    """By the last thing that the model is shown: words of the user, a result, or instructions."""
    tail, asked = _tail(request), _asked(request)
    news = ""
    if asked is None or any(map(_is_about_results, tail)):
        told = _news(request.shown, _named(request.shown, tail))
        news = " ".join(_sentence(kind, number, 4) for kind, number in told)
    if asked is None:
        silent = any(UNLESS_TOLD in entry.text for entry in tail)
        return Reply(news or ("" if silent else "t0a t0b."))
    if number := sentence_answered(request):
        planned = plan.answers.get(number, Answer(4))
        text = _sentence("r", number, planned.words)
        calls = [Call(f"do_{plan.jobs[n].policy}", {"number": n}) for n in planned.jobs]
        return Reply(f"{text} {news}".strip(), calls=calls, ttft=planned.ttft)
    return Reply(f"{_sentence('g', _number(r'([0-9]+)', asked.text), 5)} {news}".strip())


def sentence_answered(request: Request) -> int:
    """The number of the user's sentence that the model answers; 0 if it answers none.

    It is the latest one that was said and stands behind all that the agent has said: a transcript
    may come after that of a later sentence.
    """
    asked, said = _asked(request), [""]
    if asked is not None and re.search(r"\bu\d+[a-z]", asked.text):
        said = [entry.text for entry in _tail(request) if entry.kind == "user"]
    return max(map(int, re.findall(r"\bu(\d+)[a-z]", " ".join(said))), default=0)


def words_answered(request: Request) -> frozenset[str]:
    """The words of this sentence that the request shows last."""
    number = sentence_answered(request)
    return frozenset(word for word in words_asked(request) if word[1:-1] == str(number))


def words_asked(request: Request) -> frozenset[str]:
    """The words of the user to be answered, also those of the sentences before."""
    asked = _asked(request)
    return frozenset(re.findall(r"\bu\d+[a-z]\b", asked.text if asked is not None else ""))


def _tail(request: Request) -> list[RequestEntry]:
    """What stands behind all that was said and done, the latest first."""
    tail = takewhile(lambda entry: entry.kind in ("user", "system"), reversed(request.shown))
    return [entry for entry in tail if not entry.text.startswith((INSTRUCTIONS, ELSEWHERE))]


def _asked(request: Request) -> RequestEntry | None:
    tail = _tail(request)
    if any(LATER in entry.text for entry in tail):
        return None
    return next((entry for entry in tail if not _is_about_results(entry)), None)


def _is_about_results(asked: RequestEntry) -> bool:
    """A session asks for what has come of calls; the plan asks for something else."""
    return asked.kind == "system" and not re.match("greet|tell|go on", asked.text)


def _named(shown: Sequence[RequestEntry], tail: Sequence[RequestEntry]) -> frozenset[str]:
    """The results that a session asks to be told, by id. Empty if it asks for whatever is new."""
    asks = " ".join(entry.text for entry in tail if _is_about_results(entry))
    ids = set(re.findall(r"\w+", asks))
    results = {entry.id for entry in shown if entry.kind == "result"}
    return frozenset(id for id in results if id in ids or id.removesuffix(LATE) in ids)


def _news(shown: Sequence[RequestEntry], named: Collection[str]) -> list[tuple[str, int]]:
    """What has come of which job, and was not said since: an update, or its end."""
    jobs = {entry.id: _number(r"(\d+)", entry.text) for entry in shown if entry.kind == "call"}
    elsewhere = " ".join(entry.text for entry in shown if entry.text.startswith(ELSEWHERE))
    left = set(re.findall(r"\w+", elsewhere))
    news: dict[tuple[str, int], None] = {}
    for at, entry in enumerate(shown):
        if entry.kind != "result" or not entry.text or "is still" in entry.text:
            continue
        if (named and entry.id not in named) or entry.id.removesuffix(LATE) in left:
            continue
        number = jobs.get(entry.id, 0)
        kind = "n" if re.search(rf"\bn{number}\b", entry.text) else "t"
        later = " ".join(other.text for other in shown[at:] if other.kind == "assistant")
        if f"{kind}{number}a" not in later:
            news[kind, number] = None
    return sorted(news)


def _number(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def _sentence(kind: str, number: int, words: int) -> str:
    """Its words name what it answers."""
    return " ".join(f"{kind}{number}{chr(97 + i)}" for i in range(words)) + "." * bool(words)
