"""A classifier of the application judges what the user says."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest
from flow_text import parsed
from livekit.agents import Agent

from turnfsm import Flow
from turnfsm.livekit import Transcript, TurnSession, classifier, host_fact
from turnfsm.testing import Outcome, ScriptedLLM, ScriptedTTS, ScriptedUser, Stage

STORY = "Once upon a time there was a king."


def play(
    agent: type[Agent], words: str, flow: Flow | str = "overlap", actions: object = None
) -> Outcome:
    """The user says this from 3.0 s, over the story."""
    first = words.split()[0]
    user = ScriptedUser().says(words, at=3.0, duration=1.0, interims=((0.4, first),))
    stage = Stage(
        partial(TurnSession, flow=flow, proof="off", actions=actions),
        user=user,
        agent=partial(agent, instructions="Help."),
        llm=ScriptedLLM(otherwise="Pardon?"),
        tts=ScriptedTTS(durations={STORY: 8.0}),
    )
    outcome = stage.at(0.5, lambda stage: stage.session.say(STORY) and None).run(14.0)
    assert outcome.orphans == ()
    return outcome


def heard(outcome: Outcome) -> str:
    """All that was heard; a text that was paused in between is whole again."""
    return " ".join(one.text for one in outcome.heard)


class Patient(Agent):
    """It knows an idiom that no list has."""

    asked: list[Transcript]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        type(self).asked = []

    @classifier
    def backchannel(self, heard: Transcript) -> bool:
        self.asked.append(heard)
        return heard.by_phrases or "cool beans".startswith(heard.text)


def test_a_classifier_decides_in_the_place_of_the_phrases() -> None:
    assert "Pardon?" in heard(play(Agent, "cool beans"))
    outcome = play(Patient, "cool beans")
    assert heard(outcome) == STORY, outcome.timeline()


def test_it_is_asked_once_for_each_transcript_and_knows_what_the_agent_says() -> None:
    play(Patient, "cool beans")
    asked = Patient.asked
    assert [(one.text, one.final) for one in asked] == [("cool", False), ("cool beans", True)]
    assert {one.agent_text for one in asked if not one.final} == {STORY}
    assert [one.by_phrases for one in asked] == [True, False]


def test_a_guess_is_revised_by_the_next_word() -> None:
    outcome = play(Patient, "cool but stop it now")
    assert heard(outcome).endswith("Pardon?"), outcome.timeline()


async def test_the_phrases_count_while_no_agent_is_active(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session: Any = TurnSession(flow="overlap", proof="off", vad=None)
    assert session.turn.ask("message_answered")
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


class Slow(Agent):
    takes = 0.1

    @classifier(within=0.2)
    async def stop_word(self, heard: Transcript) -> bool:
        await asyncio.sleep(self.takes)
        return "yeah" in heard.text


class TooSlow(Slow):
    takes = 0.3


def test_the_flow_decides_again_when_a_coroutine_has_answered() -> None:
    outcome = play(Slow, "yeah")
    assert heard(outcome).endswith("Pardon?"), outcome.timeline()
    assert outcome.heard[0].end < 4.0


def test_an_answer_after_the_deadline_does_not_count() -> None:
    outcome = play(TooSlow, "yeah")
    assert heard(outcome) == STORY, outcome.timeline()


class Broken(Agent):
    @classifier
    def backchannel(self, heard: Transcript) -> bool:
        raise OSError("no model")


class BrokenLater(Agent):
    @classifier
    async def backchannel(self, heard: Transcript) -> bool:
        raise OSError("no model")


@pytest.mark.parametrize("agent", [Broken, BrokenLater])
def test_the_phrases_count_if_it_fails(
    agent: type[Agent], caplog: pytest.LogCaptureFixture
) -> None:
    assert heard(play(agent, "yeah")) == STORY
    logged = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert logged
    assert logged[0].message == "classifier backchannel failed; the phrases count"


def test_a_fact_of_ones_own_needs_no_phrases() -> None:
    flow = parsed(
        "flow: mine\nextends: overlap\n"
        "facts: {host: {not_to_me: The user speaks to somebody else.}}\n"
        "states:\n  speaking:\n    on:\n      interim_transcript: {unless: not_to_me}\n"
        "      final_transcript: {unless: not_to_me}\n"
        "      ignore_turn: {conditions: not_to_me, actions: discard_turn}\n"
        "  paused:\n    on:\n      interim_transcript: {unless: not_to_me}\n"
        "      final_transcript: {dest: speaking, conditions: not_to_me, actions: resume_output}\n"
        "      ignore_turn: {conditions: not_to_me, actions: discard_turn}\n"
    )

    class Aside(Agent):
        @classifier
        def not_to_me(self, said: Transcript) -> bool:
            return "darling" in said.text

    assert heard(play(Aside, "darling where is my phone", flow)) == STORY


def test_it_may_be_a_method_of_the_object_that_has_the_actions() -> None:
    class Judges:
        @classifier
        def backchannel(self, said: Transcript) -> bool:
            return "cool beans".startswith(said.text)

    assert heard(play(Agent, "cool beans", actions=Judges())) == STORY


def test_a_host_fact_does_not_take_the_place_of_phrases() -> None:
    class Quiet(Agent):
        @host_fact
        def backchannel(self) -> bool:
            return True

    assert "Pardon?" in heard(play(Quiet, "cool beans"))


@pytest.mark.parametrize(("agent", "differs"), [(Patient, True), (Agent, False)])
def test_the_journal_says_where_a_classifier_differs_from_the_phrases(
    agent: type[Agent], differs: bool
) -> None:
    """With the fact and the answer, and without the words."""
    notes: list[Any] = []

    class Noting(agent):  # type: ignore[misc, valid-type]
        async def on_enter(self) -> None:
            turn: Any = self.session
            notes.append(turn.turn.journal)

    play(Noting, "cool beans")
    told = [dict(note.data) for note in notes[0].notes("classified")]
    assert bool(told) is differs
    assert all(note == {"fact": "backchannel", "holds": True} for note in told)


@pytest.mark.parametrize(
    ("flow", "remedy"),
    [("overlap", "did you mean 'backchannel'?"), ("turn", "there is: abandon_step, ")],
)
def test_a_classifier_that_nobody_asks_is_a_warning(flow: str, remedy: str) -> None:
    """Its name is misspelt, or the flow has no such fact."""

    class Misspelt(Agent):
        def __init__(self) -> None:
            super().__init__(instructions="Help.")

        @classifier
        def backchanel(self, said: Transcript) -> bool:
            return False

    outcome = Stage(partial(TurnSession, flow=flow), agent=Misspelt).run(1.0)
    said = f"Misspelt.backchanel is marked as classifier, but the flow {flow!r} has no action or"
    (found,) = (text for _, text in outcome.warnings if text.startswith(said))
    assert remedy in found
