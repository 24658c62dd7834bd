"""What a caller and an application got in a conversation. No measure knows a flow."""

from __future__ import annotations

import re
from collections.abc import Mapping

import attrs

from turnfsm.runtime.testing.livekit.outcome import Outcome
from turnfsm.runtime.testing.livekit.side_by_side import SessionMeasures
from turnfsm.runtime.testing.livekit.speaker import Heard
from turnfsm.runtime.testing.livekit.stage import Stage

from . import measured_calls, measured_sound, measured_words
from .jobs import JobRun, Jobs
from .plan import Plan

__all__ = ["Measures", "blip_text"]

STOP = re.compile(r"^(tool: interrupts|move \d+: (interrupt|force|chat|commit|update_agent))$")

PENDING = re.compile(r"(t0[a-z]\W*)+")


@attrs.frozen
class Measures(SessionMeasures):
    """One conversation as it came out, with its jobs, sentences and moves.

    Attributes:
        failed: Why it could not be played to its end, or empty.
        effects: How often each job took effect.
        wanted: How many sentences of the user that were put to the model were to call each job;
            one that was committed in parts counts for each part.
        cut: Jobs whose call was cancelled with its turn, as its output says.
        refused: Jobs that returned an agent to which the session did not hand over, as the output
            of their call says.
        refused_by_livekit: Those of them of which LiveKit says it: their step was interrupted
            before it was heard to its end.
        halves: Jobs whose effect began and was not completed, though nobody closed the session.
        lost: Jobs that ended with a result which is not in the history.
        unseen: Jobs that had ended with a result when a request was made that does not show it, and
            when that was first.
        lies: Results in the history that say what did not happen.
        latency: Seconds from the end of each sentence of the user to an answer; None without one.
        begun: When an answer to each sentence began to be heard, and when this ended or was cut,
            perhaps too soon to count.
        answered_with: What was heard as the answer to each sentence that was answered.
        own_answers: When the answer to each sentence itself was heard, or its beginning.
        asked: When the model was first asked with each sentence as the latest words.
        outdated: From each request that was made ahead, and that could not be used, to the warning
            of this.
        put: When the model was asked to answer each sentence, which stood last, and whether it did;
            else that request was given up.
        before_typed: Sentences that stood before typed words, and behind all that the agent had
            done, in a request: the model answers the typed words. When that was first.
        together: Sentences that the model was only asked together with later ones, and the last of
            these: the model answers it.
        stops: When the application, or a tool, interrupted.
        brought: Of each job, the jobs whose results were news in the request of which its first
            call came; none if that was about what somebody had said.
        replies: When it was heard what the application has asked for, or has said, by its moves.
        told: When it began to be heard what each job has given, if more than one word was heard.
        mentioned: Jobs of whose result at least the first word was heard.
        blips: Audio that was started and cut although nobody spoke, interrupted or closed.
        cuts: When each of them was cut.
        overlap: Seconds in which both spoke, but for the moment that an interruption takes.
        news: Stretches in which nothing was heard but what has come of jobs; also at the end of a
            reply to something else.
        pending: Stretches in which nothing was heard but that jobs still run.
        begun_over: Seconds for which the VAD still took the user for speaking when audio began.
        repeats: How often each sentence of the agent began.
        words_lost: Sentences of the user that are not in the history.
        words_twice: Those that are there more than once.
        waits: Seconds that each call of the application took; None if it did not return.
        silent: Seconds of them in which the agent was not heard: a call takes its turn behind what
            is being said.
        raised: Moves that raised.
        handed_over: Another agent was in charge at the end.
        handoffs: When another agent took over.
        runs: Every execution of a tool.
        audio: What was heard, and when.
        heard: The same, for reports.
    """

    failed: str = ""
    effects: Mapping[int, int] = attrs.field(factory=dict)
    wanted: Mapping[int, int] = attrs.field(factory=dict)
    cut: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()
    refused_by_livekit: frozenset[int] = frozenset()
    halves: frozenset[int] = frozenset()
    lost: frozenset[int] = frozenset()
    unseen: Mapping[int, float] = attrs.field(factory=dict)
    lies: tuple[str, ...] = ()
    latency: Mapping[int, float | None] = attrs.field(factory=dict)
    begun: Mapping[int, tuple[float, float]] = attrs.field(factory=dict)
    answered_with: Mapping[int, str] = attrs.field(factory=dict)
    own_answers: Mapping[int, tuple[float, float]] = attrs.field(factory=dict)
    asked: Mapping[int, float] = attrs.field(factory=dict)
    outdated: tuple[tuple[float, float], ...] = ()
    put: Mapping[int, tuple[tuple[float, bool], ...]] = attrs.field(factory=dict)
    before_typed: Mapping[int, float] = attrs.field(factory=dict)
    together: Mapping[int, int] = attrs.field(factory=dict)
    stops: tuple[float, ...] = ()
    brought: Mapping[int, frozenset[int]] = attrs.field(factory=dict)
    replies: Mapping[int, tuple[float, float]] = attrs.field(factory=dict)
    told: Mapping[int, float] = attrs.field(factory=dict)
    mentioned: frozenset[int] = frozenset()
    blips: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()
    overlap: float = 0.0
    news: tuple[tuple[float, float], ...] = ()
    pending: tuple[tuple[float, float], ...] = ()
    begun_over: float = 0.0
    repeats: Mapping[str, int] = attrs.field(factory=dict)
    words_lost: frozenset[int] = frozenset()
    words_twice: frozenset[int] = frozenset()
    waits: Mapping[int, float | None] = attrs.field(factory=dict)
    silent: Mapping[int, float] = attrs.field(factory=dict)
    raised: frozenset[int] = frozenset()
    handed_over: bool = False
    handoffs: tuple[float, ...] = ()
    runs: tuple[JobRun, ...] = ()
    audio: tuple[Heard, ...] = ()
    heard: tuple[str, ...] = ()

    @classmethod
    def without_end(cls, jobs: Jobs, why: str) -> Measures:
        """A conversation that could not be played to its end."""
        return cls(failed=why, runs=tuple(jobs.runs))

    @classmethod
    def of(cls, plan: Plan, jobs: Jobs, outcome: Outcome, stage: Stage) -> Measures:
        """Measure what came of a plan."""
        end = plan.seconds if plan.ends_at is None else plan.ends_at
        waits, silent, raised = measured_words.moves(plan, outcome)
        lost, twice = measured_words.words(plan, outcome, end)
        sentences = stage.tts.sentences
        answers = dict(measured_sound.answers(plan, jobs, outcome, end))
        blips = list(measured_sound.blips(plan, outcome, sentences, end))
        return cls(
            **cls.figures(outcome, end, measured_calls.scripted(plan, jobs)),
            effects={n: jobs.effects(n) for n in plan.jobs},
            wanted=measured_calls.wanted(plan, jobs, outcome),
            cut=frozenset(measured_calls.cut(outcome)),
            refused=frozenset(measured_calls.not_handed_over(outcome)),
            refused_by_livekit=frozenset(measured_calls.cut_with_its_agent(outcome)),
            halves=frozenset(measured_calls.halves(plan, jobs, end)),
            lost=frozenset(measured_calls.lost(plan, jobs, outcome, end)),
            unseen=measured_calls.unseen(plan, jobs, outcome),
            lies=tuple(measured_calls.lies(jobs, outcome)),
            latency={n: _late(plan, n, heard) for n, heard in answers.items()},
            begun=dict(measured_sound.begun(plan, jobs, outcome, end)),
            answered_with={n: heard.text for n, heard in answers.items() if heard is not None},
            own_answers=measured_sound.own_answers(plan, outcome),
            asked=measured_words.asked(outcome),
            outdated=tuple(measured_words.outdated(outcome)),
            put=measured_words.put(outcome),
            before_typed=measured_words.before_typed(outcome),
            together=measured_words.together(outcome),
            stops=tuple(at for at, note in outcome.notes if STOP.search(note)),
            brought=measured_calls.brought(jobs, outcome),
            replies=measured_sound.replies(plan, outcome),
            told=measured_sound.told(plan, outcome, "b"),
            mentioned=frozenset(measured_sound.told(plan, outcome, "a")),
            blips=tuple(blip_text(heard) for heard in blips),
            cuts=tuple(h.end for h in blips),
            overlap=round(measured_sound.overlap(plan, outcome), 3),
            news=tuple(measured_sound.news(outcome)),
            pending=tuple((h.start, h.end) for h in outcome.heard if PENDING.fullmatch(h.text)),
            begun_over=round(measured_sound.begun_over(outcome), 3),
            repeats=measured_sound.repeats(outcome, sentences),
            words_lost=frozenset(lost),
            words_twice=frozenset(twice),
            waits=waits,
            silent=silent,
            raised=frozenset(raised),
            handed_over=jobs.agent_in_charge == "2",
            handoffs=tuple(jobs.handoffs),
            runs=tuple(jobs.runs),
            audio=tuple(outcome.heard),
            heard=outcome.heard_lines,
        )


def blip_text(heard: Heard) -> str:
    """How a report names audio that was cut."""
    return f"{heard.text!r} from {heard.start:.2f} to {heard.end:.2f} s"


def _late(plan: Plan, sentence: int, heard: Heard | None) -> float | None:
    return None if heard is None else round(heard.start - plan.sounds[sentence - 1].over, 3)
