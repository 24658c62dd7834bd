"""Random conversations under all oracles; and each oracle finds what it is for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import soak
from cast import Odds
from livekit.agents import llm
from oracles import floor, judge, leftovers, rest
from reach import Coverage
from talk import Played, Shape, Talk, draw_talk, play

from turnfsm.fsm import load_flow, shipped_flows

PIPELINE = ("pipeline",)
A_HUNDRED = Shape(
    turns=100,
    clear=True,
    moves=50,
    faults=False,
    closes=False,
    models=PIPELINE,
    odds=Odds(calls=0.5, handoffs=0.25),
)


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_random_conversation_breaks_no_oracle(seed: int) -> None:
    """Whatever happens, the oracles have nothing to say; every other one in another order."""
    schedule = seed if seed % 2 else 0
    assert judge(play(draw_talk(seed), schedule)) == []


@pytest.mark.exhaustive
def test_a_hundred_turns_break_no_oracle() -> None:
    """A long conversation with random barge-ins, tools and handoffs: all is accounted for."""
    played = play(draw_talk(1, A_HUNDRED), shape=A_HUNDRED)
    assert judge(played) == []
    outcomes = [r["data"]["outcome"] for r in played.records if r.get("note") == "turn"]
    assert len(played.talk.user.utterances) == 100
    assert len(outcomes) > 75
    assert len(played.session.ledger) > 50
    assert all(call.end is not None for call in played.session.ledger)


@pytest.mark.exhaustive
def test_a_seed_is_a_conversation() -> None:
    """Seed and schedule give the same course again, so that a finding can be looked at."""
    course = [_course(play(draw_talk(3), 3)) for _ in range(2)]
    assert course[0] == course[1]
    assert course[0] != _course(play(draw_talk(3), 4))


def _course(played: Played) -> list[tuple[float, str, str]]:
    return [(r["t"], r["trigger"], r["dest"]) for r in played.records if "trigger" in r]


PLANTED = {
    "speculates while a tool runs": (
        0.7,
        [
            (
                "      tools_released: {dest: listening}\n",
                "      tools_released: {dest: listening}\n"
                "      preemptive_generation: {actions: start_preemptive_generation}\n",
            ),
        ],
    ),
    "does not let tools go": (
        0.7,
        [("speech_interrupted: {actions: release_tools}", "speech_interrupted: {}")],
    ),
    "starts over the user": (
        0.0,
        [
            (
                "        - {conditions: [user_speaking, interruptible, holdable], "
                "unless: user_silent, actions: hold_output}\n",
                "",
            ),
            (
                "conditions: [step_running, interruptible, holdable], "
                "unless: output_held, actions: hold_output}\n",
                "}\n",
            ),
        ],
    ),
}
"""How many replies call tools, and what is taken out of the shipped flow."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_is_found(name: str, tmp_path: Path) -> None:
    """A guard less in the flow is found within five conversations."""
    text = shipped_flows()["turn"].read_text(encoding="utf-8")
    calls, edits = PLANTED[name]
    for old, new in edits:
        assert old in text, f"the shipped flow has no {old!r} any more"
        text = text.replace(old, new)
    path = tmp_path / "planted.yaml"
    path.write_text(text, encoding="utf-8")
    odds = Odds(calls=calls, handoffs=0.0)
    shape = Shape(12, clear=True, moves=0, faults=False, closes=False, models=PIPELINE, odds=odds)
    talks = (draw_talk(seed, shape) for seed in range(1, 6))
    assert any(judge(play(talk, shape=shape, flow=path)) for talk in talks)


@pytest.fixture(scope="module")
def played() -> Played:
    """A conversation with tool calls and nothing wrong."""
    odds = Odds(calls=0.7)
    shape = Shape(clear=True, moves=0, faults=False, closes=False, models=PIPELINE, odds=odds)
    return play(draw_talk(1, shape), shape=shape)


def _told(played: Played) -> set[str]:
    return {line.partition(":")[0] for line in judge(played)}


def _without(played: Played, wrong: Callable[[dict], bool]) -> Played:
    return attrs.evolve(played, records=[r for r in played.records if not wrong(r)])


def test_a_lost_outcome_is_found(played: Played) -> None:
    """A turn without an outcome."""
    assert "turns" in _told(_without(played, lambda r: r.get("note") == "turn"))


def test_a_journal_with_a_hole_is_found(played: Played) -> None:
    """An entry that is missing: the rest does not follow from what is there."""
    told = _told(_without(played, lambda r: r.get("trigger") == "step_started"))
    assert "journal" in told


def test_what_is_left_after_the_close_is_found(played: Played) -> None:
    """Tasks, timers, errors and a close that does not end."""
    outcome = attrs.evolve(
        played.outcome,
        orphans=("a task",),
        timers=("a timer",),
        closed_in=60.0,
        errors=[(1.0, "x")],
    )
    wrong = judge(attrs.evolve(played, outcome=outcome))
    assert [line.partition(":")[0] for line in wrong] == ["errors", *["leftovers"] * 3]


def test_a_slow_close_is_explained_by_the_limit_of_each_speech_that_did_not_end(
    played: Played,
) -> None:
    """An output that does not report the end; and a close that takes longer than the limits, or
    without the fault."""
    talk, seconds = played.talk, played.talk.seconds
    timers = {**talk.timers, "speaking_limit": 10.0}
    dead = attrs.evolve(talk, faults=frozenset({"no_end"}), closes_at=None, timers=timers)
    limit = {"trigger": "speaking_limit", "actions": ["report_limit"]}
    two = [{**limit, "t": seconds + 11.0}, {**limit, "t": seconds + 22.0}]

    def slow(took: float, talk: Talk = dead, records: list[dict] | None = None) -> list[str]:
        outcome = attrs.evolve(played.outcome, closed_in=took)
        shown = two if records is None else records
        return [*leftovers(attrs.evolve(played, talk=talk, outcome=outcome, records=shown))]

    assert slow(28.2) == []
    assert slow(40.0) == ["closing takes 40 s"]
    assert slow(28.2, records=two[:1]) == ["closing takes 28.2 s"]
    assert slow(28.2, talk=attrs.evolve(dead, faults=frozenset())) == ["closing takes 28.2 s"]


def test_a_speech_may_begin_over_the_user_if_it_could_not_be_interrupted(played: Played) -> None:
    """Its tool awaits a task; and another step that could be interrupted."""
    said = played.talk.user.utterances[0]
    at = round(said.at + 0.2, 3)
    over = attrs.evolve(played.outcome.heard[0], start=at)
    outcome = attrs.evolve(played.outcome, heard=[over])
    begun = {"trigger": "playout_started", "of": "s1#1", "verdict": "taken", "t": at}
    disallowed = {"trigger": "interruptions_disallowed", "verdict": "taken", "t": at - 0.1}

    def found(*records: dict) -> list[str]:
        return [*floor(attrs.evolve(played, outcome=outcome, records=records))]

    assert found(begun, {**disallowed, "of": "s1#1"}) == []
    assert len(found(begun, {**disallowed, "of": "s0#1"})) == 1
    assert len(found(begun, {**disallowed, "of": "s1#1", "t": at + 0.1})) == 1


def test_lost_words_and_results_are_found(played: Played) -> None:
    """A conversation whose history was emptied."""
    outcome = attrs.evolve(played.outcome, history=llm.ChatContext.empty())
    assert _told(attrs.evolve(played, outcome=outcome)) == {"words", "calls"}


def test_a_turn_rests_only_after_the_timers_that_started_again(played: Played) -> None:
    """A limit counts from the last progress, and the conversation may end before it."""
    begun = {"trigger": "playout_started", "dest": "speaking", "facts": [], "t": 0.0}
    going_on = {**begun, "trigger": "step_progressed", "restarts": ["speaking_limit"]}
    seconds = played.talk.seconds

    def found(progress: float) -> list[str]:
        records = [{**begun, "entered": True}, {**going_on, "entered": False, "t": progress}]
        return [*rest(attrs.evolve(played, records=records))]

    assert found(seconds - 9.0) == []
    assert len(found(seconds - 11.0)) == 1


def test_coverage_counts_what_there_is(played: Played) -> None:
    """Everything is missing at first; what was taken and refused is not any more."""
    reach = Coverage(load_flow("turn"), {}, {})
    assert f"0 of {len(reach.rows)}" in reach.text()
    reach.add(played.records)
    assert 15 < len(set(reach.rows) & set(reach.taken)) < len(reach.rows)
    reach.add([{"trigger": "barge_in", "state": "interrupted", "verdict": "refused"}])
    assert "interrupted barge_in" in set(reach.pairs) & set(reach.refused)


def test_the_command_draws_new_conversations_and_repeats_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It prints the first seed, and plays each conversation in two orders."""
    monkeypatch.setattr("sys.argv", ["soak", "--flow", "--count", "1"])
    monkeypatch.setattr(soak.secrets, "randbelow", lambda limit: 1)
    assert soak.main() == 0
    drawn = capsys.readouterr().out
    assert drawn.startswith("the first seed is 1; --first 1 plays these again\n2 conversations")
    monkeypatch.setattr("sys.argv", ["soak", "--flow", "--count", "1", "--first", "1"])
    assert soak.main() == 0
    assert capsys.readouterr().out == drawn
