"""The conversation as data."""

import re

import pytest

from turnfsm.runtime.demo.script import CONVERSATION, IGNORED, RULES, Line, When
from turnfsm.runtime.demo.words import words

BARE = {line.name: " ".join(words(line.text)) for line in CONVERSATION}


@pytest.mark.parametrize("line", [line for line in CONVERSATION if not line.ignored])
def test_every_turn_of_the_user_has_one_rule(line: Line) -> None:
    """A line that two rules match would depend on their order, one without would be a fallback."""
    assert len([rule for rule in RULES if re.search(rule.heard, BARE[line.name])]) == 1


def test_every_rule_is_used() -> None:
    """No rule waits for words that nobody says."""
    said = [BARE[line.name] for line in CONVERSATION]
    assert [rule for rule in RULES if not any(re.search(rule.heard, text) for text in said)] == []


def test_nothing_that_wants_an_answer_is_ignored() -> None:
    """The filter drops the backchannel and no turn."""
    ignored = {tuple(words(phrase)) for phrase in IGNORED}
    turns = {tuple(words(line.text)) for line in CONVERSATION if not line.ignored}
    assert tuple(words("Oh, I see.")) in ignored
    assert not ignored & turns


def test_every_situation_is_played() -> None:
    """The conversation has a line for each situation that a cue can name."""
    assert {line.cue.when for line in CONVERSATION} == set(When)
    assert len(BARE) == len(CONVERSATION)
