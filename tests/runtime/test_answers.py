"""The rules by which the scripted models of `turnfsm compare` answer."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from turnfsm.runtime.compare.answers import Seen, answer_to, calls_of

ASKED = Seen(
    last="where is it", by="user", user="where is it", said="", shown=["where is it"],
    results=[], called=False,
)  # fmt: skip
TOLD = attrs.evolve(
    ASKED, by="developer", said="It is here.", shown=["it was found"], results=["it was found"],
    called=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "asked", "told"),
    [
        ({"last": "where"}, True, True),
        ({"by": "developer"}, False, True),
        ({"said": "here"}, False, True),
        ({"not_said": "here"}, True, False),
        ({"shown": ["it", "found"]}, False, True),
        ({"not_shown": "found"}, True, False),
        ({"result": "found"}, False, True),
        ({"called": False}, True, False),
    ],
)
def test_a_rule_holds_if_all_its_conditions_do(
    condition: dict[str, Any], asked: bool, told: bool
) -> None:
    rules = [{**condition, "text": "yes"}, {"text": "no"}]
    assert [answer_to(seen, rules)["text"] == "yes" for seen in (ASKED, TOLD)] == [asked, told]


def test_the_first_rule_that_holds_answers_with_what_it_has_seen() -> None:
    rules = [{"result": "", "text": "{result}!"}, {"text": "You said {user}."}, {"text": "Never."}]
    assert answer_to(ASKED, rules)["text"] == "You said where is it."
    assert answer_to(TOLD, rules)["text"] == "it was found!"


def test_texts_are_joined_and_other_rules_are_named() -> None:
    looks: Any = [{"calls": ["look_up", {"name": "book", "arguments": {"for": 2}}]}]
    named = {"looks": looks}
    joined = [{"all": [{"text": "One."}, {"said": "here", "text": "Two."}]}]
    assert [answer_to(seen, joined)["text"] for seen in (ASKED, TOLD)] == ["One.", "One. Two."]
    answer = answer_to(ASKED, [{"as": "looks", "preamble": "One moment."}], named)
    assert answer["text"] == "One moment."
    assert list(calls_of(answer)) == [("look_up", {}), ("book", {"for": 2})]
