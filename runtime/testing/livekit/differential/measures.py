"""What a caller and an application got of a conversation: no measure knows a flow."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import attrs

from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.scripted_llm import Request
from turnfsm.runtime.testing.livekit.side_by_side import SessionMeasures
from turnfsm.runtime.testing.livekit.speaker import Heard
from turnfsm.runtime.testing.livekit.stage import Stage

from .agents import sentence_answered
from .jobs import JobRun, Jobs
from .plan import ASKED, TYPED, Plan

__all__ = ["Measures"]

ANSWER = 0.5
"""Seconds that an answer is heard; one that is cut earlier answers nothing."""

BLIP = 1.5
"""Seconds: shorter audio that is cut tells the caller nothing."""

BARGE_IN = 0.6
"""Seconds of voice that interrupt: LiveKit's half a second, and what a VAD needs."""

COMMIT = 1.15
"""Seconds that a commit of the application may take: it waits a second for the words."""

STOP = re.compile(r"^(tool: interrupts|move \d+: (interrupt|force|chat|commit|update_agent))$")

NEWS = re.compile(r"([nt][1-9]\d*[a-z]\W*)+")

NONE: frozenset[int] = frozenset()

NOT_DONE = "nothing was done"
CANCELLED_WITH_TURN = "cancelled: its turn was interrupted before it had ended"

TWO_AGENTS = "expected to receive only one AgentTask from the tool executions"

REPORTED_AGENT = (
    "returned an Agent after ctx.update(); agent handoff after a progress update is not supported"
)


@attrs.frozen
class Measures(SessionMeasures):
    """One conversation as it came out, with its jobs, sentences and moves.

    Attributes:
        failed: Why it could not be played to its end, or empty.
        effects: How often each job took effect.
        wanted: How many sentences of the user that were put to the model were to call each job.
        cut: Jobs whose call was cancelled with its turn, as its output says.
        halves: Jobs whose effect began and was not completed, though nobody closed the session.
        lost: Jobs that ended with a result which is not in the history.
        unseen: Jobs that had ended with a result when a request was made that does not show it.
        lies: Results in the history that say what did not happen.
        latency: Seconds from the end of each sentence of the user to an answer; None without one.
        asked: When the model was first asked with each sentence as the latest words.
        stops: When the application, or a tool, interrupted.
        brought: Of each job, the jobs whose results were news in the request of which its first
            call came; none if that was about what somebody had said.
        replies: When the answers to what the application has asked for were heard, by its moves.
        told: Jobs of whose result the caller heard.
        blips: Audio that was started and cut although nobody spoke, interrupted or closed.
        cuts: When each of them was cut.
        overlap: Seconds in which both spoke, but for the moment that an interruption takes.
        news: Stretches in which nothing was heard but what has come of jobs.
        begun_over: Seconds for which the VAD still took the user for speaking when audio began.
        repeats: How often each sentence of the agent began.
        words_lost: Sentences of the user that are not in the history.
        words_twice: Those that are there more than once.
        waits: Seconds that each call of the application took; None if it did not return.
        silent: Seconds of them in which the agent was not heard: a call takes its turn behind what
            is being said.
        raised: Moves that raised.
        handed_over: Another agent was in charge at the end.
        runs: Every execution of a tool.
        heard: What was heard, for reports.
    """

    failed: str = ""
    effects: Mapping[int, int] = attrs.field(factory=dict)
    wanted: Mapping[int, int] = attrs.field(factory=dict)
    cut: frozenset[int] = frozenset()
    halves: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    unseen: frozenset[int] = frozenset()
    lies: tuple[str, ...] = ()
    latency: Mapping[int, float | None] = attrs.field(factory=dict)
    asked: Mapping[int, float] = attrs.field(factory=dict)
    stops: tuple[float, ...] = ()
    brought: Mapping[int, frozenset[int]] = attrs.field(factory=dict)
    replies: Mapping[int, tuple[float, float]] = attrs.field(factory=dict)
    told: frozenset[int] = frozenset()
    blips: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()
    overlap: float = 0.0
    news: tuple[tuple[float, float], ...] = ()
    begun_over: float = 0.0
    repeats: Mapping[str, int] = attrs.field(factory=dict)
    words_lost: frozenset[int] = frozenset()
    words_twice: frozenset[int] = frozenset()
    waits: Mapping[int, float | None] = attrs.field(factory=dict)
    silent: Mapping[int, float] = attrs.field(factory=dict)
    raised: frozenset[int] = frozenset()
    handed_over: bool = False
    runs: tuple[JobRun, ...] = ()
    heard: tuple[str, ...] = ()

    @classmethod
    def without_end(cls, jobs: Jobs, why: str) -> Measures:
        """A conversation that could not be played to its end."""
        return cls(failed=why, runs=tuple(jobs.runs))

    @classmethod
    def of(cls, plan: Plan, jobs: Jobs, outcome: Outcome, stage: Stage) -> Measures:
        """Measure what came of a plan."""
        end = plan.seconds if plan.ends_at is None else plan.ends_at
        waits, silent, raised = _moves(plan, outcome)
        lost, twice = _words(plan, outcome, end)
        sentences = stage.tts.sentences
        blips = list(_blips(plan, outcome, sentences, end))
        return cls(
            **cls.figures(outcome, end, _scripted(plan, jobs)),
            effects={n: jobs.effects(n) for n in plan.jobs},
            wanted=_wanted(plan, jobs, outcome),
            cut=frozenset(_cut(outcome)),
            halves=frozenset(_halves(plan, jobs, end)),
            lost=frozenset(_lost(plan, jobs, outcome, end)),
            unseen=frozenset(_unseen(plan, jobs, outcome)),
            lies=tuple(_lies(jobs, outcome)),
            latency=dict(_latency(plan, jobs, outcome, end)),
            asked=_asked(outcome),
            stops=tuple(at for at, note in outcome.notes if STOP.search(note)),
            brought=_brought(jobs, outcome),
            replies=_replies(plan, outcome),
            told=frozenset(n for n in plan.jobs if _first(outcome.heard, (f"t{n}",), 0.0)),
            blips=tuple(f"{h.text!r} from {h.start:.2f} to {h.end:.2f} s" for h in blips),
            cuts=tuple(h.end for h in blips),
            overlap=round(_overlap(plan, outcome), 3),
            news=tuple((h.start, h.end) for h in outcome.heard if NEWS.fullmatch(h.text)),
            begun_over=round(_begun_over(outcome), 3),
            repeats=_repeats(outcome, sentences),
            words_lost=frozenset(lost),
            words_twice=frozenset(twice),
            waits=waits,
            silent=silent,
            raised=frozenset(raised),
            handed_over=jobs.agent_in_charge == "2",
            runs=tuple(jobs.runs),
            heard=outcome.heard_lines,
        )


def _wanted(plan: Plan, jobs: Jobs, outcome: Outcome) -> dict[int, int]:
    """A reply that was prepared in vain has asked for nothing: no call follows."""
    put: dict[int, float] = {}
    for request in outcome.requests:
        put.setdefault(sentence_answered(request), request.at)
    wanted = dict.fromkeys(plan.jobs, 0)
    for number, at in put.items():
        for job in set(plan.answers[number].jobs if number in plan.answers else ()):
            wanted[job] += any(run.number == job and run.start >= at for run in jobs.runs)
    return wanted


def _result(n: int, run: JobRun) -> str:
    return f"failed{n}" if run.how == "ToolError" else f"done{n}"


def _speaks(plan: Plan, run: JobRun) -> bool:
    """The run ended with a text that names it."""
    if run.how == "result":
        return plan.jobs[run.number].ends in ("returns", "hands_off")
    return run.how == "ToolError" and plan.jobs[run.number].ends == "raises"


def _halves(plan: Plan, jobs: Jobs, end: float) -> Iterator[int]:
    for run in jobs.runs:
        after = plan.jobs[run.number].after
        if after is None or run.effect is None or run.second is not None:
            continue
        if run.effect + after < end:
            yield run.number


def _lost(plan: Plan, jobs: Jobs, outcome: Outcome, end: float) -> Iterator[int]:
    outputs = [i.output for i in outcome.history.items if i.type == "function_call_output"]
    for run in jobs.runs:
        if run.end is None or run.end > end - 1.0 or not _speaks(plan, run):
            continue
        if not any(re.search(rf"{_result(run.number, run)}\b", output) for output in outputs):
            yield run.number


def _unseen(plan: Plan, jobs: Jobs, outcome: Outcome) -> Iterator[int]:
    for request in outcome.requests:
        shown = " ".join(entry.text for entry in request.shown if entry.kind == "result")
        for run in jobs.runs:
            ended = run.end is not None and run.end < request.at - 0.1 and _speaks(plan, run)
            if ended and not re.search(rf"{_result(run.number, run)}\b", shown):
                yield run.number


def _cut(outcome: Outcome) -> Iterator[int]:
    items = outcome.history.items
    calls = {item.call_id: item for item in items if item.type == "function_call"}
    for item in items:
        if item.type == "function_call_output" and item.output == CANCELLED_WITH_TURN:
            yield _number(calls[item.call_id].arguments)


def _lies(jobs: Jobs, outcome: Outcome) -> Iterator[str]:
    calls = {item.call_id: item for item in outcome.history.items if item.type == "function_call"}
    for item in outcome.history.items:
        if item.type != "function_call_output" or item.call_id not in calls:
            continue
        number = _number(calls[item.call_id].arguments)
        runs = [run for run in jobs.runs if run.number == number]
        if NOT_DONE in item.output and any(run.effect is not None for run in runs):
            yield f"{item.output!r} of job {number}, which took effect"
        cut = runs and all(run.how == "CancelledError" for run in runs)
        if cut and not item.output and not item.is_error:
            yield f"an empty result of job {number}, which was cancelled"


def _number(arguments: str) -> int:
    found = re.search(r"\d+", arguments)
    return int(found[0]) if found else 0


def _latency(
    plan: Plan, jobs: Jobs, outcome: Outcome, end: float
) -> Iterator[tuple[int, float | None]]:
    """What comes of a job answers a sentence only if the job was done since for it."""
    for number, sound in enumerate(plan.sounds, 1):
        over = sound.at + sound.duration
        if not sound.words or sound.stt_delay is None or over + sound.stt_delay > end - 6.0:
            continue
        later = range(number, len(plan.sounds) + 1)
        whole = [h for h in outcome.heard if h.end - h.start >= ANSWER]
        found = [_first(whole, tuple(f"r{n}" for n in later), over - 1e-6)]
        for job in {job for n in later for job in plan.answers[n].jobs}:
            runs = [run for run in jobs.runs if run.number == job and run.start >= sound.at]
            if runs:
                found.append(_first(whole, (f"n{job}",), max(over - 1e-6, runs[0].start)))
            if runs and runs[0].end is not None:
                found.append(_first(whole, (f"t{job}",), max(over - 1e-6, runs[0].end)))
        first = min((heard.start for heard in found if heard is not None), default=None)
        yield number, None if first is None else round(first - over, 3)


def _asked(outcome: Outcome) -> dict[int, float]:
    asked: dict[int, float] = {}
    for request in outcome.requests:
        words = [entry.text for entry in request.shown if entry.kind == "user"][-1:]
        for number in re.findall(r"\bu(\d+)a", " ".join(words)):
            asked.setdefault(int(number), request.at)
    return asked


def _brought(jobs: Jobs, outcome: Outcome) -> dict[int, frozenset[int]]:
    known: set[int] = set()
    asked: list[tuple[float, frozenset[int]]] = []
    for request in sorted(outcome.requests, key=lambda request: request.at):
        calls = {entry.id: _number(entry.text) for entry in request.shown if entry.kind == "call"}
        results = (entry for entry in request.shown if entry.kind == "result")
        shown = {calls.get(entry.id, 0) for entry in results if " is still " not in entry.text}
        asked.append((request.at, frozenset(shown - known) if _is_about_results(request) else NONE))
        known |= shown
    brought: dict[int, frozenset[int]] = {}
    for run in sorted(jobs.runs, key=lambda run: run.start):
        before = [news for at, news in asked if at <= run.start]
        brought.setdefault(run.number, before[-1] if before else NONE)
    return brought


def _is_about_results(request: Request) -> bool:
    typed = any("typed" in entry.text for entry in request.shown[-1:])
    return not (typed or sentence_answered(request))


def _replies(plan: Plan, outcome: Outcome) -> dict[int, tuple[float, float]]:
    replies = {}
    for number, move in enumerate(plan.moves):
        base = {"reply": ASKED, "ask": TYPED, "chat": TYPED, "run": TYPED}.get(move.what)
        heard = None if base is None else _first(outcome.heard, (f"g{base + number}",), move.at)
        if heard is not None:
            replies[number] = heard.start, heard.end
    return replies


def _first(heard: Sequence[Heard], names: tuple[str, ...], since: float) -> Heard | None:
    """The first stretch after this moment with a word of one of these sentences."""
    wanted = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})[a-z]")
    return next((h for h in heard if h.start >= since and wanted.search(h.text)), None)


def _blips(plan: Plan, outcome: Outcome, sentences: Sequence[str], end: float) -> Iterator[Heard]:
    spoken = [text.split() for text in sentences if text.split()]
    done = {word for heard in outcome.heard for word in heard.text.split()}
    for heard in outcome.heard:
        words = heard.text.split()
        complete = bool(words) and any(s[-1] in done for s in spoken if words[-1] in s)
        if complete or heard.end - heard.start > BLIP or heard.end > end - 0.05:
            continue
        if not _reason(plan, outcome, heard):
            yield heard


def _reason(plan: Plan, outcome: Outcome, heard: Heard) -> bool:
    """Somebody spoke, or the application or a tool did something, while it was heard."""
    ends = [at for at, state in outcome.user_states if state == "listening"]
    for sound in plan.sounds:  # a voice is over when the VAD has noticed
        over = sound.at + sound.duration
        over = min((at for at in ends if at > over), default=over)
        if sound.at < heard.end + 0.06 and over > heard.start:
            return True
    acts = [at for at, note in outcome.notes if note.startswith(("move", "tool"))]
    if any(heard.start - 0.01 <= at <= heard.end + 0.06 for at in acts):
        return True
    commits = [move.at for move in plan.moves if move.what == "commit"]
    return any(at <= heard.start and heard.end <= at + COMMIT for at in commits)


def _overlap(plan: Plan, outcome: Outcome) -> float:
    """Who speaks over the agent is heard after a moment; where turns are manual, at a commit."""
    manual = plan.settings.get("turn_detection") == "manual"
    seconds = 0.0
    for sound in plan.sounds:
        for heard in outcome.heard:
            both = min(sound.at + sound.duration, heard.end) - max(sound.at, heard.start)
            if heard.start < sound.at:
                both = 0.0 if manual else both - BARGE_IN
            seconds += max(0.0, both) if sound.words else 0.0
    return seconds


def _begun_over(outcome: Outcome) -> float:
    seconds = 0.0
    for (at, state), (over, _) in pairwise(outcome.user_states):
        if state == "speaking":
            seconds += sum(over - h.start for h in outcome.heard if at < h.start < over)
    return seconds


def _repeats(outcome: Outcome, sentences: Sequence[str]) -> dict[str, int]:
    words = Counter(word for heard in outcome.heard for word in set(heard.text.split()))
    return {text: words[text.split()[0]] for text in sentences if text.split()}


def _scripted(plan: Plan, jobs: Jobs) -> Counter[str]:
    """What LiveKit logs because a tool gave what the plan lets it give, once for each run."""
    said: Counter[str] = Counter()
    for run in jobs.runs:
        job = plan.jobs[run.number]
        if run.how == "ToolError":
            said["ToolError while executing tool"] += 1
        elif run.how == "result" and job.ends == "invalid":
            said[f"AI function `{run.name}` returned an invalid output"] += 1
        elif run.how == "result" and job.ends == "hands_off" and job.waits == "updates":
            said[f"tool `{run.name}` {REPORTED_AGENT}"] += 1
    begun = Counter(r.start for r in jobs.runs if plan.jobs[r.number].ends == "hands_off")
    said[TWO_AGENTS] += sum(many > 1 for many in begun.values())
    return said


def _words(plan: Plan, outcome: Outcome, end: float) -> tuple[list[int], list[int]]:
    history = [item for item in outcome.history.items if item.type == "message"]
    said = " ".join(item.text_content or "" for item in history if item.role == "user").split()
    lost, twice = [], []
    for number, sound in enumerate(plan.sounds, 1):
        count = said.count(f"u{number}a")
        if sound.words and sound.at + sound.duration < end - 8.0 and not count:
            lost.append(number)
        if count > 1:
            twice.append(number)
    return lost, twice


def _moves(
    plan: Plan, outcome: Outcome
) -> tuple[dict[int, float | None], dict[int, float], list[int]]:
    waits: dict[int, float | None] = {}
    silent: dict[int, float] = {}
    raised = []
    for number in range(len(plan.moves)):
        notes = {note: at for at, note in outcome.notes if note.startswith(f"move {number}: ")}
        begun = min(notes.values(), default=None)
        done = notes.get(f"move {number}: done")
        if any("refused" in note for note in notes):
            raised.append(number)
        elif begun is not None:
            waits[number] = None if done is None else round(done - begun, 3)
            if done is not None:
                heard = (min(h.end, done) - max(h.start, begun) for h in outcome.heard)
                silent[number] = round(done - begun - sum(max(0.0, s) for s in heard), 3)
    return waits, silent, raised
