"""What must not happen in any conversation, whatever the reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from turnfsm.fsm.pace import times
from turnfsm.runtime.testing.livekit.user import FRAME

from .facts import (
    Finding,
    Question,
    commits,
    given_up,
    handoffs,
    heard_words,
    known_result,
    may_be_lost,
    outputs,
    questions,
    refused,
    spoken,
    stops,
    typed,
    user_words,
    with_results,
)
from .keys import HOLD_LIMIT, NO_AUDIO, NOT_HEARD, REPROMPTS, TOOL_FILLER, YES
from .play import BUTTON, Played
from .tools import Run

__all__ = ["hard_findings"]

SETTLED = 10.0
"""Seconds after which a call has been made, and a sentence is in the history."""

CLOSES = 12.0
"""Seconds that a close may take: LiveKit gives tools five, and lets a speech end."""

CANCELLED = re.compile(r"\b(cancel|abort)\w*", re.IGNORECASE)
"""Plain English for: it did not come to its end."""

NO_EFFECT = re.compile(
    r"\b(nothing|never|not (been )?(done|made|run|called|executed)|no effect)\b", re.IGNORECASE
)
"""Plain English for: it did nothing."""

OPEN = {"turn_open", "output_held", "step_running", "tools_running", "turn_deferred"}
"""Facts of the flow `turn` that do not hold when all is done."""


def hard_findings(played: Played) -> list[Finding]:
    """All that is wrong."""
    if played.failed:
        return [Finding("failed", played.failed)]
    measures = (
        _twice,
        _unconfirmed,
        _unfounded,
        _undone,
        _lost,
        _unseen,
        _lies,
        _words,
        _leftovers,
    )
    return [Finding(m.__name__.strip("_"), text) for m in measures for text in m(played)]


def _twice(played: Played) -> Iterator[str]:
    """Each sentence asks once for each of its jobs."""
    effects = Counter((run.job, run.asked) for run in played.runs if run.effect is not None)
    for (job, asked), count in effects.items():
        if count > 1:
            yield f"job {job}, asked for in sentence {asked}, took effect {count} times"


def _unconfirmed(played: Played) -> Iterator[str]:
    """A tool that needs a yes runs only if that is what the user says to the question, and nothing
    else."""
    script = played.script
    asked = {q.asked: q for q in questions(played)}
    lines = [m.at for n, m in enumerate(script.moves, 1)
             if m.what in ("ask", "chat", "run") and not refused(played, n)]  # fmt: skip
    for run in played.runs:
        if run.job not in script.keys.confirm:
            continue
        one, what = asked.get((run.job, run.asked)), f"job {run.job} (sentence {run.asked})"
        if one is None or one.end is None or one.end > run.start:
            yield f"{what} ran before the question was heard"
            continue
        yes = [s for _, s in script.sentences()
               if s.phrase in YES and one.end - 0.05 <= s.at < run.start]  # fmt: skip
        if not yes:
            yield f"{what} ran before a yes"
            continue
        others = [
            number
            for number, sound in script.sentences()
            if one.start < sound.recognised < yes[0].recognised and not may_be_lost(played, sound)
        ]
        said = any(one.end <= heard.start < yes[0].at for heard in played.outcome.heard)
        if said or others or any(one.start < at < yes[0].at for at in lines):
            yield f"{what} ran, although something else was said first"


def _unfounded(played: Played) -> Iterator[str]:
    """What a section says has its reason."""
    sounds = played.script.sounds
    for at in spoken(played, NOT_HEARD):
        if not any(not s.words and s.duration > 0.9 and s.over < at < s.over + 60 for s in sounds):
            yield f"at {at:.2f} s the agent has not heard the user, who has not spoken"
    for at in spoken(played, NO_AUDIO):
        yield f"at {at:.2f} s the agent gets no audio of the user, which comes all the time"
    for say, after in zip(REPROMPTS, played.script.keys.silence, strict=False):
        for at in spoken(played, say.split()[0]):  # a sound is known with its first frame
            since = at - after + 0.1
            said = [(h.start, h.end) for h in played.outcome.heard if h.start < at]
            said += _user_speaks(played)
            if any(start < at and end > since for start, end in said):
                yield f"at {at:.2f} s the agent asks a user who is not silent"
    for at in spoken(played, HOLD_LIMIT):
        if not any(s.phrase in played.script.keys.holds and s.over < at for s in sounds):
            yield f"at {at:.2f} s the agent ends a hold that nobody has asked for"
    for at in spoken(played, TOOL_FILLER.split()[0]):
        if not any(_waits_for(played, run, at) for run in played.runs):
            yield f"at {at:.2f} s the agent says a filler for a tool that does not run"
    yield from _hang_ups(played)
    for one in played.outcome.backchannels:
        if not any(s.over + 0.04 < one.start < s.over + 0.35 for s in sounds):
            yield f"at {one.start:.2f} s the agent says a backchannel, and the user does not pause"
        if any(h.start < one.end - 0.02 and one.start < h.end for h in played.outcome.heard):
            yield f"at {one.start:.2f} s the agent says a backchannel over its own speech"


def _user_speaks(played: Played) -> list[tuple[float, float]]:
    script = played.script
    if script.keys.button:
        return [*script.pressed()]
    return [(s.at + FRAME, s.over) for _, s in script.sentences()]


def _waits_for(played: Played, run: Run, at: float) -> bool:
    job = played.script.jobs[run.job]
    over = played.script.seconds if run.end is None else run.end
    first_sound = over + 0.1 + FRAME  # it was decided on while the tool ran
    return job.policy in played.script.keys.filler_tools and run.start < at < first_sound


def _hang_ups(played: Played) -> Iterator[str]:
    """Only a tool and the flow hang up, and the flow only if the user has said nothing since the
    goodbye."""
    script, at = played.script, played.script.hung_up
    if at is None or any(note == "hangs up" for _, note in played.outcome.notes):
        return
    heard = [h for h in played.outcome.heard if h.start < at - 0.1]
    last = REPROMPTS[len(script.keys.silence) - 1].split()[-1]
    goodbye = max(h.end for h in heard if h.text.endswith(last))
    said = [*_user_speaks(played), *((line, line) for line in typed(script))]
    spoke = any(start < at - 0.1 and end > goodbye + 0.05 for start, end in said)
    since = at - times(script.keys.pace, 1.0)
    if spoke or any(h.end > since + 0.05 for h in heard):
        yield f"at {at:.2f} s the agent hangs up on a user who is not silent"


def _agreed(played: Played, one: Question) -> bool:
    """The user has said yes to it, and nothing else happens meanwhile."""
    script, end = played.script, one.end
    later = [sound for sound in script.sounds if sound.over > one.start]
    if end is None or not later or later[0].phrase not in YES or script.model != "pipeline":
        return False
    yes, more = later[0], later[1:]
    over = max([yes.recognised, *commits(script, yes)[:1]]) + 3.0 + script.hook
    moved = [m.at for m in script.moves if m.what not in ("commit", *BUTTON)]
    moved += [*(at for span in handoffs(played) for at in span), *stops(played)]
    quiet = all(sound.at > over for sound in more)
    quiet &= not any(end <= heard.start < yes.at for heard in played.outcome.heard)
    quiet &= not any(one.start - 1.0 <= at <= over for at in moved)
    in_time = end + 0.1 <= yes.at <= end + script.keys.confirm_wait - 1.0
    earlier = [sound for _, sound in script.sentences() if sound.at < yes.at][-1:]
    if script.detection == "manual":  # what comes too late for its commit is said with the yes
        before = (min(commits(script, sound), default=script.end) for sound in earlier)
        quiet &= bool(commits(script, yes)) and all(at < yes.at for at in before)
    return quiet and in_time and not may_be_lost(played, yes)


def _undone(played: Played) -> Iterator[str]:
    """A call that the model has made takes effect, to its end, unless that is opted out of."""
    script, ended = played.script, [*stops(played), *given_up(played)]
    agreed = {q.asked for q in questions(played) if _agreed(played, q)}
    for number, sound in script.sentences():
        if not user_words(played).keys() & script.words(number):
            continue  # it was no turn, and its answer was speculation
        replies = [said for said in played.said if number in said.answers]
        made = [s.request for s in replies if s.request.outcome == "complete"]
        asked = [said.request for said in replies]
        stopped = any(r.at <= t <= (r.ended or r.at) + 1.0 for r in asked for t in ended)
        if not made or stopped or any(said.fails for said in replies):
            continue
        for job in sound.calls:
            if job in script.keys.confirm and (job, number) not in agreed:
                continue
            after, effect = script.jobs[job].after, _effects(played, job, number)
            if script.policy(job) == "cancel" or script.jobs[job].does == "playout":
                continue
            if not effect and (made[0].ended or 0.0) < script.end - SETTLED:
                yield f"job {job}, asked for in sentence {number}, never took effect"
            elif after and effect and effect[0] + after < script.end and None in effect[1:]:
                yield f"job {job}, asked for in sentence {number}, took half of its effect"


def _effects(played: Played, job: int, asked: int) -> list[float | None]:
    runs = [r for r in played.runs if (r.job, r.asked) == (job, asked) and r.effect is not None]
    return [when for run in runs for when in (run.effect, run.second)]


def _lost(played: Played) -> Iterator[str]:
    """A result is in the history."""
    kept = set(_results(outputs(played.outcome.history)))
    for run, end, text in with_results(played, played.script.end - 1.0):
        if (run.job, run.asked, text) not in kept:
            yield f"the result of job {run.job} (sentence {run.asked}, {end:.2f} s)"


def _unseen(played: Played) -> Iterator[str]:
    """A request shows each result that there is. A model that answers the user by itself does so
    before it is known whether they object to the handoff that a call has asked for, and with it
    what the output of the call is."""
    script = played.script
    for run, end, text in with_results(played, script.end):
        later = [request for request in played.outcome.requests if request.at > end + 0.1]
        if script.model == "server" and script.jobs[run.job].ends == "hands_off":
            later = later[1:]
        for request in later:
            shown = set(_results(outputs(request.chat_ctx)))
            if (run.job, run.asked, text) not in shown:
                at = f"the request at {request.at:.2f} s"
                yield f"{at} does not show the result of job {run.job} (sentence {run.asked})"
                break


def _results(outputs: Iterator[tuple[tuple[int, int], str]]) -> Iterator[tuple[int, int, str]]:
    for (job, asked), output in outputs:
        for text in re.findall(r"\b(?:done|failed)\d+\b", output):
            yield job, asked, text


def _lies(played: Played) -> Iterator[str]:
    """No output says of a call what did not happen, and the history has no words unheard."""
    contexts = [(request.at, request.chat_ctx) for request in played.outcome.requests]
    contexts.append((played.script.seconds, played.outcome.history))
    found: set[str] = set()
    for at, context in contexts:
        for (job, asked), output in outputs(context):
            runs = [r for r in played.runs if (r.job, r.asked) == (job, asked)]
            if re.search(r"\b(done|failed|n)\d+\b", output):
                continue
            complete = any(known_result(played, r) and (r.end or at) < at for r in runs)
            begun = any(r.effect is not None and r.effect < at for r in runs)
            if (complete and CANCELLED.search(output)) or (begun and NO_EFFECT.search(output)):
                found.add(f"{output!r} of job {job} (sentence {asked}), which took effect")
    yield from sorted(found)
    for (job, asked), output in outputs(played.outcome.history):
        never = not any((r.job, r.asked) == (job, asked) for r in played.runs)
        if never and job in played.script.keys.confirm and not NO_EFFECT.search(output):
            yield f"{output!r} of job {job} (sentence {asked}), which never ran"
    heard = heard_words(played)
    for item in played.outcome.history.items:
        if item.type == "message" and item.role == "assistant":
            words = [word.strip(".") for word in (item.text_content or "").split()]
            unheard = [word for word in words if word not in heard]
            if len(unheard) > 1:
                yield f"the history has {' '.join(unheard)}, which nobody heard"


def _words(played: Played) -> Iterator[str]:
    """What was recognised is in the history, once."""
    script = played.script
    said = user_words(played)
    for number, sound in script.sentences():
        counts = [said[word] for word in script.words(number)]
        if max(counts) > 1:
            yield f"sentence {number} is in the history twice"
        expected = sound.recognised < script.end - SETTLED and not may_be_lost(played, sound)
        if expected and min(counts) == 0:
            yield f"sentence {number} is not in the history"


def _leftovers(played: Played) -> Iterator[str]:
    """Nothing outlives the session, and it owes nothing at rest."""
    outcome = played.outcome
    yield from (f"the task {name} is left" for name in outcome.orphans)
    yield from (f"a timer is left: {name}" for name in outcome.timers)
    if outcome.closed_in > CLOSES:
        yield f"closing takes {outcome.closed_in:.1f} s"
    if played.state and (played.state[0] != "listening" or OPEN & {*played.state}):
        yield f"at the end the turn is {', '.join(played.state)}"
    closed = [event.at for event in outcome.events if event.what.startswith("close: ")]
    if played.script.hung_up is not None and closed:
        since = max([played.script.hung_up, *(heard.end for heard in outcome.heard)])
        if closed[0] > since + CLOSES:
            yield f"hanging up takes {closed[0] - since:.1f} s"
    if len(closed) != 1:
        yield f"there are {len(closed)} close events"
