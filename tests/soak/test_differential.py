"""The scripted model, and what the measures of conversations on both sessions find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest
from differential.agree import disagreements
from differential.draw import MOVES as DRAWN
from differential.draw import draw_script
from differential.keys import (
    BACK,
    DIGITS,
    FILLER,
    HOLD,
    HOLD_TOO,
    LISTENS,
    NO,
    TOOL_FILLER,
    YES,
    Keys,
)
from differential.many import findings, judge, judge_all, shrink
from differential.model import Model
from differential.play import Played, play
from differential.rates import Rates, seen, worse
from differential.script import SWITCHES, Job, Move, Script, Sound
from differential.sweep import INTERRUPTIONS, TOOLS, sweep
from flow_text import parsed
from keys_of_callers import KEYS, keys_in
from livekit.agents import AgentSession, llm

from turnfsm.fsm import Flow, shipped_flows
from turnfsm.livekit import TurnSession
from turnfsm.runtime.testing.livekit import Request

JOBS = {1: Job(1.0, after=0.5)}
PLAIN = Script("one job", (Sound(0.5, 0.6, 2, calls=(1,)), Sound(12.0, 0.3, 1)), JOBS)


@pytest.fixture(scope="module")
def played() -> Played:
    """An ordinary conversation, with nothing wrong."""
    played = play(PLAIN, AgentSession)
    assert findings(played) == ()
    return played


def kinds(played: Played) -> set[str]:
    return {finding.kind for finding in findings(played)}


# -- the model

USER = llm.ChatMessage(role="user", content=["u1a u1b"])
CALL = llm.FunctionCall(call_id="id7", name="do_detach", arguments='{"number": 1, "asked": 1}')
RESULT = llm.FunctionCallOutput(call_id="id7", name="do_detach", output="done1", is_error=False)
MORE = llm.ChatMessage(role="user", content=["u2a"])
ODD = RESULT.model_copy(update={"output": "some words of a session"})


def says(*items: Any, script: Script = PLAIN) -> tuple[list[str], int]:
    """What the model's words are about, and how many calls it makes."""
    context = llm.ChatContext.empty()
    for item in items:
        if isinstance(item, str):
            context.add_message(role="system", content=item)
        else:
            context.items.append(item)
    model = Model(script)
    reply = model.answer(Request(0.0, "", (), context))
    return list(dict.fromkeys(kind for kind, _ in model.said[0].meant)), len(reply.calls)


@pytest.mark.parametrize(
    ("items", "about", "calls"),
    [
        ((USER,), ["answer"], 1),
        ((USER, CALL, RESULT), ["result"], 0),
        ((USER, CALL, ODD), ["output"], 0),
        ((USER, CALL, RESULT, MORE), ["answer"], 0),
        ((USER, MORE), ["answer"], 1),
        ((USER, CALL, RESULT, MORE, "note: id7"), ["answer", "result"], 0),
        ((USER, CALL, RESULT, MORE, "note: do_detach 1 1"), ["answer", "result"], 0),
        ((USER, CALL, RESULT, MORE, "note: id8"), ["answer"], 0),
        ((USER, CALL, ODD, "note: id7"), ["output"], 0),
        ((USER, CALL, RESULT, MORE, "app12"), ["application"], 0),
    ],
)
def test_the_model_answers_what_is_last_and_calls_what_is_missing(
    items: tuple[Any, ...], about: list[str], calls: int
) -> None:
    """A system message that is not the script's is followed: what came of calls that it names is
    told."""
    assert says("Help.", *items) == (about, calls)


def test_a_model_that_never_obeys_reads_no_system_message_of_a_session() -> None:
    """But those of the application."""
    never = attrs.evolve(PLAIN, obeys="never")
    assert says("Help.", USER, CALL, RESULT, MORE, "id7", script=never) == (["answer"], 0)
    assert says("Help.", USER, CALL, RESULT, MORE, "app12", script=never) == (["application"], 0)


# -- the measures

Change = Callable[[Played], Mapping[str, Any]]


def outcome(**changed: Any) -> Change:
    return lambda played: {"outcome": attrs.evolve(played.outcome, **changed)}


def run(**changed: Any) -> Change:
    return lambda played: {"runs": (attrs.evolve(played.runs[0], **changed),)}


def history(text: str) -> Change:
    """The output of the call has this text."""

    def change(played: Played) -> Mapping[str, Any]:
        items = [
            i.model_copy(update={"output": text}) if i.type == "function_call_output" else i
            for i in played.outcome.history.items
        ]
        return outcome(history=llm.ChatContext(items))(played)

    return change


def assistant(played: Played) -> Mapping[str, Any]:
    """The history has words that nobody heard."""
    copy = played.outcome.history.copy()
    copy.add_message(role="assistant", content="q9w0 q9w1")
    return outcome(history=copy)(played)


WRONG: dict[str, tuple[Change, set[str]]] = {
    "an error": (lambda played: {"failed": "it hangs"}, {"failed"}),
    "two effects": (lambda played: {"runs": played.runs * 2}, {"twice"}),
    "no effect": (run(effect=None, second=None, end=None, how=""), {"undone"}),
    "half an effect": (run(second=None, how="CancelledError"), {"undone"}),
    "an empty history": (outcome(history=llm.ChatContext.empty()), {"lost", "words"}),
    "another output": (history("no more of this"), {"lost"}),
    "a false output": (history("nothing was done"), {"lost", "lies"}),
    "a false cancel": (history("it was cancelled"), {"lost", "lies"}),
    "silence": (outcome(heard=[]), {"silence", "unheard", "lies"}),
    "unheard words": (assistant, {"lies"}),
    "an old request": (
        lambda p: outcome(
            requests=[p.outcome.requests[0], attrs.evolve(p.outcome.requests[0], at=9.0)]
        )(p),
        {"unseen"},
    ),
    "a task": (outcome(orphans=("task",)), {"leftovers"}),
    "a slow close": (outcome(closed_in=60.0), {"leftovers"}),
    "held output": (lambda played: {"state": ("listening", "output_held")}, {"leftovers"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(played: Played, name: str) -> None:
    """One thing is changed; its measures find it, and no other."""
    change, expected = WRONG[name]
    assert kinds(attrs.evolve(played, **change(played))) == expected


def test_words_that_are_doubled_are_found(played: Played) -> None:
    """In the history."""
    doubled = llm.ChatContext([*played.outcome.history.items, USER])
    assert kinds(attrs.evolve(played, **outcome(history=doubled)(played))) == {"words"}


# -- the keys of flows

ASKS = Sound(0.5, 0.6, 2, calls=(1,), answer=0)
CONFIRM = Keys(confirm=frozenset({1}), confirm_wait=6.0)


def keyed(keys: Keys, *sounds: Sound) -> Script:
    return Script("keys", sounds, JOBS, keys=keys, switches=frozenset({"barge_in"}))


def reply(phrase: str, at: float = 4.0) -> Sound:
    return Sound(at, 0.6, len(phrase.split()), phrase=phrase)


@pytest.mark.parametrize(("said", "runs"), [(YES, 1), (NO, 0), ((), 0), (None, 0)])
def test_a_tool_runs_only_after_a_yes(said: tuple[str, ...] | None, runs: int) -> None:
    """Yes, no, something else, nothing. `AgentSession` does not ask."""
    replies = () if said is None else (reply(said[0]) if said else Sound(4.0, 0.6, 2),)
    script = keyed(CONFIRM, ASKS, *replies)
    ours = play(script, TurnSession)
    assert findings(ours) == ()
    assert len(ours.runs) == runs
    assert "unconfirmed" in kinds(play(script, AgentSession))


def test_a_run_without_a_yes_and_a_refusal_that_is_not_told_are_found() -> None:
    yes, no = (play(keyed(CONFIRM, ASKS, reply(s)), TurnSession) for s in (YES[0], NO[0]))
    assert "unconfirmed" in kinds(attrs.evolve(yes, script=no.script))
    assert "undone" in kinds(attrs.evolve(yes, runs=()))
    assert "lies" in kinds(attrs.evolve(no, **history("no more of this")(no)))


@pytest.mark.parametrize("until", [False, True])
def test_words_that_ask_the_agent_to_wait_are_no_turn(until: bool) -> None:
    """With phrases that end the hold, nor are the words before them. Others are lost."""
    hold, back = Keys(hold=8.0, until=until), reply(BACK[0], at=9.0)
    script = keyed(hold, reply(HOLD[0]), Sound(6.0, 0.3, 1), back)
    held = play(script, TurnSession)
    assert findings(held) == ()
    lost = attrs.evolve(held, **outcome(history=llm.ChatContext.empty())(held))
    expected = {"words": 1 if until else 2}
    assert {kind: [f.kind for f in findings(lost)].count(kind) for kind in expected} == expected


def test_a_hold_that_does_not_end_is_found() -> None:
    held = play(keyed(Keys(hold=8.0), reply(HOLD[0])), TurnSession)
    assert findings(held) == ()
    silent = [heard for heard in held.outcome.heard if heard.text != "l1 l2."]
    assert kinds(attrs.evolve(held, **outcome(heard=silent)(held))) == {"lies", "silence"}


def test_speech_without_a_transcript_is_asked_for_again() -> None:
    script = keyed(Keys(not_heard=True), Sound(2.0, 1.5))
    assert judge(script).found == ()
    assert "silence" in kinds(play(script, AgentSession))
    short = attrs.evolve(script, sounds=(Sound(2.0, 0.3),))
    assert kinds(attrs.evolve(play(script, TurnSession), script=short)) == {"unfounded"}


def test_a_silence_that_is_too_long_is_found() -> None:
    """For a session that declares how long one may be."""
    slow = attrs.evolve(ASKS, calls=(), answer=3, ttft=8.0)
    script = keyed(Keys(never_silent=3.0), slow)
    assert judge(script).found == ()
    assert "silence" in kinds(attrs.evolve(play(script, AgentSession), script=script))


def test_a_filler_counts_as_no_answer() -> None:
    """It is said while the application and then the model are slow."""
    slow = attrs.evolve(ASKS, calls=(), answer=3, ttft=4.0)
    script = keyed(Keys(fillers=("listening", "thinking")), slow)
    played = play(attrs.evolve(script, hook=1.0), TurnSession)
    assert played.outcome.heard[0].text == FILLER
    assert findings(played) == ()
    only = [heard for heard in played.outcome.heard if heard.text == FILLER]
    assert "silence" in kinds(attrs.evolve(played, **outcome(heard=only)(played)))


def test_a_filler_for_another_tool_is_found() -> None:
    slow = {1: Job(3.0)}
    script = attrs.evolve(keyed(Keys(filler_tools=("detach",)), ASKS), jobs=slow)
    played = play(script, TurnSession)
    assert played.outcome.heard[0].text == TOOL_FILLER
    assert findings(played) == ()
    other = attrs.evolve(script, jobs={1: attrs.evolve(slow[1], policy="finish")})
    assert "unfounded" in kinds(attrs.evolve(played, script=other))


def test_hanging_up_too_soon_or_not_at_all_is_found() -> None:
    keys = Keys(silence=(3.0,), hang_up=True)
    played = play(keyed(keys, attrs.evolve(ASKS, calls=(), answer=3)), TurnSession)
    goodbye, ends = played.outcome.heard[-1], played.script.hung_up
    assert ends == pytest.approx(goodbye.end + 1.0, abs=0.05)
    assert findings(played) == ()
    speaks = (*played.script.sounds, Sound(goodbye.end + 0.2, 0.6, 2))
    too_soon = attrs.evolve(played.script, sounds=speaks)
    assert "unfounded" in kinds(attrs.evolve(played, script=too_soon))
    never = attrs.evolve(played.script, hung_up=None)
    assert kinds(attrs.evolve(played, script=never)) == {"silence"}


@pytest.mark.parametrize("button", ["turn", "push_to_talk"])
def test_only_what_is_said_with_the_button_counts(button: Any) -> None:
    moves = (Move(8.0, "press"), Move(9.5, "release"))
    sounds = (attrs.evolve(ASKS, calls=()), Sound(8.2, 0.6, 2))
    script = keyed(Keys(button=button), *sounds)
    script = attrs.evolve(script, moves=moves, detection="manual")
    played = play(script, TurnSession)
    assert findings(played) == ()
    lost = outcome(history=llm.ChatContext.empty())(played)
    words = [
        found.text for found in findings(attrs.evolve(played, **lost)) if found.kind == "words"
    ]
    assert words == ["sentence 2 is not in the history"]
    assert findings(play(script, AgentSession)) == ()


def test_sessions_that_differ_are_found(played: Played) -> None:
    """In an effect, or in what is said."""
    assert disagreements(played, played) == []
    for change in (run(second=None), history("done2"), assistant):
        other = attrs.evolve(played, **change(played))
        assert len(disagreements(played, other)) == 1


def test_with_all_switches_off_the_sessions_agree() -> None:
    """And nothing is wrong, with what production has: interim transcripts, a turn detector, ..."""
    for detection in ("vad", "stt", "detector"):
        sounds = tuple(attrs.evolve(s, interims="revised", likely=False) for s in PLAIN.sounds)
        script = attrs.evolve(PLAIN, sounds=sounds, detection=detection, min_words=1, hook=1.0)
        assert judge(script).found == ()


# -- a session that is wrong


def _never_released() -> Flow:
    """The flow of a turn that waits for the tools of an interrupted one."""
    path = shipped_flows()["turn"]
    text, released = (
        path.read_text(encoding="utf-8"),
        "speech_interrupted: {actions: release_tools}",
    )
    assert released in text
    return parsed(text.replace(released, "speech_interrupted: {}"), str(path))


class Waits(TurnSession):
    """It answers an interruption only when the tool has ended."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, flow=_never_released(), proof="off")


SLOW = Script(
    "a slow tool",
    (Sound(0.5, 0.6, 2, calls=(1,), answer=0), Sound(4.0, 0.6, 2)),
    {1: Job(12.0)},
    switches=frozenset({"barge_in"}),
)


def test_an_answer_that_waits_for_a_tool_is_found() -> None:
    """A caller who speaks while a tool runs is answered at once."""
    assert judge(SLOW).found == ()
    judged = judge(SLOW, Waits)
    assert "silence" in {finding.kind for finding in judged.found}
    assert "late answer" in judged.ours


def test_a_handoff_may_wait_for_a_tool_but_nothing_after_it() -> None:
    """As on `AgentSession`: the words that come meanwhile are for the next agent."""
    handoff = frozenset({"barge_in", "handoff"})
    during, before = (
        attrs.evolve(SLOW, moves=(Move(at, "hand_over"),), switches=handoff) for at in (3.0, 0.3)
    )
    assert judge(during).found == ()
    assert judge(before).found == ()
    assert "silence" in {finding.kind for finding in judge(before, Waits).found}


def test_a_reply_that_was_refused_is_not_waited_for() -> None:
    """LiveKit raises an error while agents hand over; one that is not refused is due."""
    asks = Move(3.0, "hand_over"), Move(4.2, "ask")
    script = attrs.evolve(PLAIN, sounds=(Sound(2.0, 0.3, 1, answer=9),), moves=asks)
    refused = play(script, TurnSession)
    assert any(note.startswith("ask is refused") for _, note in refused.outcome.notes)
    assert kinds(refused) == set()
    assert "silence" in kinds(attrs.evolve(refused, **outcome(notes=[])(refused)))


# -- draws, rates, sweeps


def test_a_seed_draws_one_script() -> None:
    """And plays it the same again, in asyncio's order or in another one."""
    assert draw_script(3) == draw_script(3) != draw_script(4)
    courses = [play(draw_script(3, 5), TurnSession).outcome.trace() for _ in range(2)]
    assert courses[0] == courses[1]


def test_everything_is_drawn() -> None:
    """Each switch, each way to end a turn; and final transcripts come in order."""
    scripts = [draw_script(seed) for seed in range(300)]
    assert {on for script in scripts for on in script.switches} == set(SWITCHES)
    ways = {"vad", "stt", "detector", "manual", "realtime_llm"}
    assert {script.detection for script in scripts} == ways
    assert {s.interims for script in scripts for s in script.sounds} == {"", "plain", "revised"}
    phrases = {sound.phrase for script in scripts for sound in script.sounds}
    assert phrases == {"", *HOLD, *HOLD_TOO, *BACK, *YES, *NO, *DIGITS, *LISTENS}
    assert {script.keys == Keys() for script in scripts if not script.switches} == {True}
    for field in attrs.fields(Keys):
        assert len({str(getattr(script.keys, field.name)) for script in scripts}) > 1, field.name
    moves = {move.what for script in scripts for move in script.moves}
    assert moves == {*DRAWN, "hand_over", "commit", "close", "press", "release", "cancel"}
    assert "hangs_up" in {job.ends for script in scripts for job in script.jobs.values()}
    for name, values in {
        "obeys": {"always", "mostly", "never"},
        "model": {"pipeline", "realtime", "server"},
        "min_words": {0, 2},
    }.items():
        assert {getattr(script, name) for script in scripts} == values
    for script in scripts:
        finals = [sound.recognised for _, sound in script.sentences()]
        assert finals == sorted(finals)


def test_the_keys_for_what_a_caller_notices_are_drawn() -> None:
    """Each one, or the table of the keys says why not."""
    drawn = {key for seed in range(300) for key in keys_in(draw_script(seed).keys.tree())}
    wanted = {name for name, key in KEYS.items() if not key.soak.startswith("no: ")}
    assert drawn & KEYS.keys() == wanted


def test_what_is_found_is_shrunk() -> None:
    """What does not matter goes."""
    simple = shrink(draw_script(5), lambda script: len(script.sounds) > 1)
    assert len(simple.sounds) == 2
    assert simple.moves == ()
    assert [sound.calls for sound in simple.sounds] == [(), ()]


def test_a_rate_that_has_become_worse_is_found(played: Played, tmp_path: Any) -> None:
    """By more than chance explains; the record and the page have what was measured."""
    page, record = tmp_path / "soak.md", tmp_path / "rates.json"
    page.write_text("before\n<!-- rates -->\nold\n<!-- end of the rates -->\nafter\n")
    rates = Rates()
    for number in range(400):
        rates.add({"twice"}, {"overlap"} if number < 8 else ())
    rates.write(record, page, 17)
    text = page.read_text()
    assert text.startswith("before\n<!-- rates -->\n400 conversations from seed 17 on:\n")
    assert "| twice: a tool took effect twice for one request of the user | 100.00 | 0.00 |" in text
    assert text.endswith("<!-- end of the rates -->\nafter\n")
    assert "old" not in text
    assert worse(rates, record) == []
    rates.add((), seen(played, findings(attrs.evolve(played, failed="it hangs"))))
    assert worse(rates, record) == []
    for _ in range(30):
        rates.add((), {"overlap"})
    assert [line.partition(":")[0] for line in worse(rates, record)] == ["overlap"]


def test_the_sweep_has_every_interruption_tool_and_moment() -> None:
    """Quick: `make soak ARGS=--sweep` plays them."""
    scripts = list(sweep(2.0))
    for words in (INTERRUPTIONS, TOOLS):
        assert all(any(word in script.name for script in scripts) for word in words)
    assert len({script.name for script in scripts}) == len(scripts)
    judged = list(judge_all(scripts[::97]))
    assert len(judged) == len(scripts[::97])


@pytest.mark.parametrize("session", [AgentSession, TurnSession])
def test_a_conversation_is_played_until_the_agent_has_said_all(session: Any) -> None:
    """The answer takes longer than the rest of the script: it is no leftover."""
    script = Script("", (Sound(0.5, 0.6, 2, answer=100),))
    played = play(script, session)
    assert played.outcome.heard[-1].text.endswith("q1w99.")
    assert findings(played) == ()
