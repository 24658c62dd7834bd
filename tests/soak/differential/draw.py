"""Draws conversations. The seed decides everything."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from random import Random
from typing import Literal

import attrs

from turnfsm.fsm.pace import Pace

from .keys import BACK, DIGITS, FILLED, KEYS, LISTENS, NO, POLICIES, YES, Keys
from .script import SWITCHES, Job, Model, Move, Obeys, Script, Sound

__all__ = ["MOVES", "draw_script"]

GRID = 0.05
"""Times lie on the grid of the microphone's frames, so that things happen at the same moment."""

DOES = ("playout", "says", "replies", "updates", "filler", "interrupts")
MOVES = ("interrupt", "force", "say", "say_on", "reply", "ask", "chat", "run", "clear")
"""What an application does; `chat` is how RoomIO takes typed text: interrupt, then reply."""


ODDS = {"barge_in": 0.6, "noise": 0.3, "slow_words": 0.3, "handoff": 0.1, "close": 0.1,
        "manual": 0.1, "failures": 0.1}  # fmt: skip
"""How often a switch is on; else in one conversation of five."""

PACES: tuple[Pace, ...] = ("calm", "brisk")
TIMERS = {
    "audio_limit": (2.0, 5.0),
    "transcript_limit": (2.5, 3.0, 5.0),
    "drain_limit": (2.0, 5.0),
    "cleanup_limit": (2.0, 20.0),
    "settle_limit": (2.0, 10.0),
}  # fmt: skip
"""Limits that the key `limits` sets, and their seconds."""

TUNING: dict[str, tuple[object, ...]] = {
    "min_words": (0, 2),
    "min_duration": (0.3, 0.5, 1.0),
    "min_silence": (0.1, 0.3),
    "preemptive_generation": (True, False),
    "preemptive_tts": (True, False),
    "interruptible": (True, False),
}
"""Settings that the key `tuning` gives an agent or a tool."""

By = Literal["state", "agent", "questions"]

DRAWN_FIRST = tuple(switch for switch in SWITCHES if switch not in KEYS)


def draw_script(seed: int, schedule: int = 0, *, without: Collection[str] = frozenset()) -> Script:
    """The conversation of a seed. In a quarter of them no switch is on; these never are."""
    draws = Random(seed)
    plain = draws.random() < 0.25
    drawn = [s for s in DRAWN_FIRST if draws.random() < ODDS.get(s, 0.2) and not plain]
    on = frozenset(drawn) - {*without}
    model: Model = draws.choice(("realtime", "server")) if "realtime" in on else "pipeline"
    obeys: Obeys = draws.choice(("always", "always", "mostly", "never"))
    jobs = {number: _job(draws, on) for number in range(1, 5)}
    sounds = _sounds(draws, on, jobs)
    script = Script(
        name=f"--seed {seed}" + f" --schedule {schedule}" * bool(schedule),
        sounds=sounds,
        jobs=jobs,
        switches=on,
        model=model,
        obeys=obeys,
        detection=_detection(draws, on, model),
        detector_delay=draws.choice((0.05, 0.2, 0.4)),
        settings={"preemptive_generation": {"enabled": draws.random() < 0.6}},
        min_words=draws.choice((0, 0, 0, 2)),
        greets=draws.random() < 0.3,
        hook=draws.choice((0.0, 0.0, 0.0, 0.05, 1.0)),
        can_pause=draws.random() < 0.7,
        schedule=schedule,
    )
    if on:  # of its own, so that a script without keys is what it was before there were any
        script = _with_keys(Random(seed + 1), script, without)
    if "failures" in on:
        fails = (frozenset(draws.sample(range(1, 9), draws.randint(0, 2))) for _ in range(2))
        script = attrs.evolve(script, llm_fails=next(fails), tts_fails=next(fails))
    return attrs.evolve(script, moves=_moves(draws, script))


def _detection(draws: Random, on: frozenset[str], model: Model) -> str:
    if model == "server":
        return "realtime_llm"
    if "manual" in on:
        return "manual"
    return "vad" if model == "realtime" else draws.choice(("vad", "vad", "detector", "stt"))


def _sounds(draws: Random, on: frozenset[str], jobs: dict[int, Job]) -> tuple[Sound, ...]:
    sounds: list[Sound] = []
    at = draws.choice((0.5, 3.0))
    interims = draws.choice(("", "plain", "plain", "revised"))
    for number in range(draws.randint(1, 5)):
        wait = draws.choice((0.1, 0.4, 0.9, 1.5, 3.0, 5.0))
        if number and "noise" in on and draws.random() < 0.4:
            sounds.append(Sound(round(sounds[-1].over + wait, 2), draws.choice((0.1, 0.3, 1.0))))
            continue
        if number:
            at = round(sounds[-1].over + (wait if "barge_in" in on else _quiet(sounds, jobs)), 2)
        words = draws.randint(1, 4)
        slow = (0.6, 1.0, 1.5) if "slow_words" in on else ()
        delay = draws.choice((0.05, 0.3, 0.3, *slow))
        over = round(at + 0.3 * words, 2)
        # an STT gives the final transcripts in the order of the sounds
        before = max((s.recognised for s in sounds if s.words), default=0.0)
        sounds.append(
            Sound(
                at,
                round(0.3 * words, 2),
                words,
                max(delay, round(before + GRID - over, 2)),
                interims,
                draws.random() < 0.8,
                tuple(draws.sample(sorted(jobs), draws.choice((0, 1, 1, 1, 2)))),
                draws.choice((0, 3, 6, 10)),
                draws.choice((0.05, 0.2, 0.2, 0.6, 1.5)),
            )
        )
    return tuple(
        attrs.evolve(s, answer=3) if s.words and not (s.calls or s.answer) else s for s in sounds
    )


LATER = (
    "fillers", "backchannels", "silence", "monologue", "expect", "overlap", "pace", "limits",
    "tuning", "button",
)  # fmt: skip
"""The keys that are drawn after the others, which stay what they were before there were these."""


def _with_keys(draws: Random, script: Script, without: Collection[str]) -> Script:
    """The same with some sections in its flow, and with what the user says to them."""
    drawn = [key for key in KEYS if key not in LATER and draws.random() < 0.15]
    on = frozenset(drawn) - {*without}
    keys = Keys(
        hold=draws.choice((3.0, 8.0)) if "hold" in on else None,
        says_hold=draws.random() < 0.5,
        until=draws.random() < 0.4,
        also=draws.random() < 0.4,
        confirm=frozenset(draws.sample(range(1, 5), 3)) if "confirm" in on else frozenset(),
        confirm_wait=draws.choice((3.0, 6.0, 15.0)),
        otherwise=draws.random() < 0.5,
        not_heard="not_heard" in on,
        never_silent=draws.choice((2.0, 3.0, 5.0)) if "never_silent" in on else None,
    )
    sounds = _with_replies(draws, script, keys) if on else script.sounds
    keys = keys if on else Keys()
    if draws.random() < 0.15 and "fillers" not in without:  # behind what was there before it
        on |= {"fillers"}
        states = tuple(state for state in FILLED if draws.random() < 0.6)
        keys = attrs.evolve(keys, fillers=states or FILLED, audio=draws.random() < 0.3)
        if draws.random() < 0.4:
            tools = draws.sample(POLICIES, draws.randint(1, 3))
            keys = attrs.evolve(keys, fillers=states, filler_tools=tuple(tools))
    if draws.random() < 0.15 and "backchannels" not in without:
        on |= {"backchannels"}
        keys = attrs.evolve(keys, backchannels=draws.choice((0.1, 0.3, 1.0)))
    more = {key for key in ("silence", "monologue", "expect", "overlap", "pace", "limits")
            if draws.random() < 0.1}  # fmt: skip
    if script.detection == "manual" and draws.random() < 0.5:
        more.add("button")
    more -= {*without}
    keys, on = _with_more(draws, more, keys), on | more
    for key, phrases in (("expect", DIGITS), ("overlap", LISTENS)):
        sounds = _with_phrases(draws, sounds, phrases) if key in more else sounds
    if keys.not_heard:
        keys = attrs.evolve(keys, no_audio=draws.random() < 0.7)
    if "expect" in on:
        asked = draws.sample(range(1, 6), 3)
        by: By = draws.choice(("state", "agent", "questions"))
        keys = attrs.evolve(keys, by=by, asked=tuple(asked) if by == "questions" else ())
    if draws.random() < 0.1 and "tuning" not in without:
        keys, on = _with_tuning(draws, keys), on | {"tuning"}
    return attrs.evolve(script, switches=script.switches | on, keys=keys, sounds=sounds)


def _with_more(draws: Random, on: Collection[str], keys: Keys) -> Keys:
    """The settings of these keys."""
    if "silence" in on:
        seconds = draws.choices((3.0, 5.0, 8.0), k=draws.randint(1, 2))
        keys = attrs.evolve(keys, silence=tuple(seconds), hang_up=draws.random() < 0.5)
    if "monologue" in on:
        keys = attrs.evolve(keys, monologue=draws.choice((0.5, 1.0, 2.0)))
    if "expect" in on:
        keys = attrs.evolve(keys, expect=draws.choice((1.0, 2.5, 4.0)))
    if "pace" in on:
        keys = attrs.evolve(keys, pace=draws.choice(PACES))
    if "limits" in on:
        drawn = {name: draws.choice(choice) for name, choice in TIMERS.items()}
        timers = {name: seconds for name, seconds in drawn.items() if draws.random() < 0.5}
        limit = draws.choice((1.0, 3.0, 10.0))
        keys = attrs.evolve(
            keys, brisk=draws.random() < 0.5, timers=timers, objection_limit=limit, later=True
        )
    if "button" in on:
        keys = attrs.evolve(keys, button=draws.choice(("turn", "push_to_talk")))
    return attrs.evolve(keys, overlap="overlap" in on)


def _with_tuning(draws: Random, keys: Keys) -> Keys:
    """The same, with settings of the agent, of some tools, or of both."""
    one, other = ({name: draws.choice(choice) for name, choice in TUNING.items()
                   if draws.random() < 0.4} for _ in range(2))  # fmt: skip
    tools = tuple(draws.sample(POLICIES, draws.randint(1, 4))) if other else ()
    policies = {policy: draws.choice(POLICIES) for policy in POLICIES if draws.random() < 0.3}
    return attrs.evolve(
        keys,
        agent_tuning=one,
        tool_tuning=other,
        tuned_tools=tools,
        policies=policies,
        by_name=draws.random() < 0.5,
        finished=draws.random() < 0.3,
    )


def _with_phrases(
    draws: Random, sounds: tuple[Sound, ...], phrases: tuple[str, ...]
) -> tuple[Sound, ...]:
    """Some sentences are these phrases instead, and ask for nothing."""
    left, changed = list(phrases), []
    for sound in sounds:
        if sound.words and not sound.phrase and left and draws.random() < 0.4:
            phrase = left.pop(draws.randrange(len(left)))
            words = len(phrase.split())
            sound = attrs.evolve(sound, phrase=phrase, words=words, calls=(), answer=3)
        changed.append(sound)
    return tuple(changed)


def _with_replies(draws: Random, script: Script, keys: Keys) -> tuple[Sound, ...]:
    """What the user says to the sections comes between the other sounds, which are later then."""
    left = {which: draws.sample(which, len(which)) for which in (keys.holds, BACK, YES, NO)}
    sounds: list[Sound] = []
    before = 0.0
    for sound in script.sounds:
        for gap, one in ((sound.at - before, sound), *_replies(draws, script, sound, keys, left)):
            at = round((sounds[-1].over if sounds else 0.0) + gap, 2)
            one = attrs.evolve(one, at=at)
            last = max((s.recognised for s in sounds if s.words), default=0.0)
            delay = max(one.stt_delay, round(last + GRID - one.over, 2))
            sounds.append(attrs.evolve(one, stt_delay=delay))
        before = sound.over
    return tuple(sounds)


def _replies(
    draws: Random, script: Script, sound: Sound, keys: Keys, left: dict[tuple[str, ...], list[str]]
) -> Iterator[tuple[float, Sound]]:
    """What follows a sound, and after how many seconds."""

    def says(which: tuple[str, ...]) -> Sound:
        phrase = left[which].pop() if which and left[which] else ""
        words = len(phrase.split()) or 2
        seconds, delay = round(0.3 * words, 2), draws.choice((0.05, 0.3))
        answer = draws.choice((3, 6))
        return Sound(0.0, seconds, words, delay, sound.interims, answer=answer, phrase=phrase)

    asked = sound.stt_delay + 0.5 + sound.ttft + 0.3 * (sound.answer + 2)
    for job in sorted(keys.confirm.intersection(sound.calls)):
        reply = draws.choice((YES, YES, YES, NO, (), None))
        if reply is not None:
            yield asked + draws.choice((-0.4, 0.2, 0.6, 1.0, 2.5)), says(reply)
        asked = 3.0 + script.jobs[job].seconds
    if keys.hold is not None and draws.random() < 0.4:
        yield draws.choice((0.4, 1.5, 3.0, 5.0)), says(keys.holds)
        if draws.random() < 0.5:
            yield draws.choice((1.5, 4.0)), says(BACK)
    if keys.not_heard and draws.random() < 0.4:
        yield draws.choice((0.4, 1.5, 4.0)), Sound(0.0, draws.choice((1.0, 1.5, 2.5)))


def _quiet(sounds: list[Sound], jobs: dict[int, Job]) -> float:
    """Seconds until all that the sounds have asked for has been said."""
    last = next((s for s in reversed(sounds) if s.words), sounds[-1])
    work = sum(jobs[n].seconds + (jobs[n].after or 0.0) + 4.0 for n in last.calls)
    return round(last.stt_delay + 6.0 + last.ttft + 0.3 * last.answer + work, 2)


def _job(draws: Random, on: frozenset[str]) -> Job:
    return Job(
        draws.choice((0.0, 0.05, 0.5, 1.5, 3.0, 6.0)),
        draws.choice((None, None, 0.5, 2.0)),
        draws.choice(("", *DOES)) if "speaking_tools" in on else "",
        draws.choice(
            ("returns",) * 4
            + ("nothing", "raises")
            + ("hands_off",) * 3 * ("handoff" in on)
            + ("hangs_up",) * ("close" in on)
        ),
        draws.choice(POLICIES) if "policies" in on else "detach",
    )


def _moves(draws: Random, script: Script) -> tuple[Move, ...]:
    end = script.sounds[-1].over
    moves = []
    if "application" in script.switches:
        kinds = draws.choices(MOVES, k=draws.choice((1, 1, 2)))
        moves += [Move(_grid(draws, 0.5, end + 4.0), what) for what in kinds]
    if "handoff" in script.switches and draws.random() < 0.4:
        moves.append(Move(_grid(draws, 0.5, end + 4.0), "hand_over"))
    if script.keys.button:
        moves += _presses(draws, script)
    elif script.detection == "manual":
        moves += [Move(round(s.over + 0.4, 2), "commit") for s in script.sounds if s.words]
    if "close" in script.switches and draws.random() < 0.7:
        moves.append(Move(_grid(draws, 2.0, end + 4.0), "close"))
    return tuple(sorted(moves, key=lambda move: move.at))


def _presses(draws: Random, script: Script) -> Iterator[Move]:
    """The user presses the button before a sentence, and releases it afterwards or cancels. They
    may keep it until after the next sentence, and press it without saying anything."""
    said = [sound for _, sound in script.sentences()]
    pressed = over = 0.0
    for sound, following in zip(said, (*said[1:], None), strict=True):
        gap = sound.at - over
        if not pressed:
            pressed = round(sound.at - min(draws.choice((0.05, 0.2, 0.5)), gap / 2), 2)
            yield Move(pressed, "press")
        if following is not None and draws.random() < 0.15:
            continue
        gap = 5.0 if following is None else following.at - sound.over
        over = round(sound.over + min(draws.choice((0.1, 0.4, 0.4, 1.0)), gap / 2), 2)
        yield Move(over, draws.choice(("release",) * 9 + ("cancel",)))
        pressed = 0.0
        if gap > 3.0 and draws.random() < 0.15:
            at = _grid(draws, over + 0.5, over + gap / 2)
            yield Move(at, "press")
            over = round(at + 0.3, 2)
            yield Move(over, draws.choice(("release", "cancel")))


def _grid(draws: Random, start: float, end: float) -> float:
    return round(draws.randint(int(start / GRID), int(end / GRID)) * GRID, 2)
