"""Checks that every name that a flow uses is declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import closest, did_you_mean, near, quoted
from turnfsm.fsm.flow import Always, Flow, Names, Never, Transition
from turnfsm.fsm.phrases import Phrases, phrases_of, shipped_phrases, words_of
from turnfsm.fsm.problems import problem
from turnfsm.fsm.source import Path, Source

from .rules import check_rules

__all__ = ["as_list", "check_names", "wordless"]

_SECTIONS = {
    "state": "states",
    "trigger": "triggers",
    "fact": "facts",
    "action": "actions",
    "timer": "timers",
    "scope": "scopes",
}

_NO_HOST_FACT = "list it below 'host:' in 'facts', or extend a flow that has it, such as 'overlap'"
_DECLARED = {
    "state": "add '{}: ...' below 'states'",
    "trigger": "add '{}: ...' below 'events' or 'requests'",
    "fact": "add '{}: ...' below its scope in 'facts'",
    "action": "add '{}: ...' below 'actions'",
    "timer": "add '{}: SECONDS' below 'timers'",
    "scope": "add '{}: ...' below 'scopes'",
}


def check_names(flow: Flow, source: Source) -> Iterator[Finding]:
    """Find undeclared and misspelt names, contradictions and impossible values."""
    names = _Names(flow, source)
    sections = (names.states, names.facts, names.triggers, names.actions, names.scopes)
    for check in (*sections, names.limits):
        yield from check()
    yield from names.phrases()
    for name, question in flow.questions.items():
        yield from wordless(question.asked, ("questions", name, "asked"), source)
    for row in flow.rows():
        yield from names.transition(row.transition, row.path)
    yield from names.properties()
    yield from check_rules(flow, source)


@attrs.frozen
class _Names:
    flow: Flow
    source: Source

    def states(self) -> Iterator[Finding]:
        if self.flow.states:
            yield from self._one(("initial",), "state", self.flow.initial)
        for name, state in self.flow.states.items():
            path: Path = ("states", name)
            for trigger in state.on:
                yield from self._key((*path, "on", trigger), "trigger", trigger)
            for timer in state.after:
                yield from self._key((*path, "after", timer), "timer", timer)

    def facts(self) -> Iterator[Finding]:
        for name, fact in self.flow.facts.items():
            path: Path = ("facts", name)
            timers = tuple(self.flow.timers)
            yield from self._many((*path, "set_by"), "trigger", fact.set_by, timers)
            yield from self._many((*path, "cleared_by"), "trigger", fact.cleared_by, timers)

    def triggers(self) -> Iterator[Finding]:
        methods: dict[str, str] = {}
        for name, trigger in self.flow.triggers.items():
            yield from self._one(("triggers", name, "of"), "scope", trigger.of)
            if trigger.rpc is None:
                continue
            path: Path = ("triggers", name, "rpc")
            if trigger.of is not None:
                named = {"name": name, "scope": trigger.of}
                yield problem(self.source, path, "contradiction.rpc", **named)
            if (other := methods.setdefault(trigger.rpc, name)) != name:
                named = {"method": trigger.rpc, "other": other}
                yield problem(self.source, path, "repeated.rpc", **named)

    def actions(self) -> Iterator[Finding]:
        for name, action in self.flow.actions.items():
            path: Path = ("actions", name)
            yield from self._one((*path, "owner"), "scope", action.owner, ("state", "session"))
            yield from self._one((*path, "done"), "trigger", action.done)
            yield from self._one((*path, "failed"), "trigger", action.failed)

    def scopes(self) -> Iterator[Finding]:
        for name, scope in self.flow.scopes.items():
            yield from self._many(("scopes", name, "begins"), "trigger", scope.begins)
            timers = tuple(self.flow.timers)
            yield from self._many(("scopes", name, "ends"), "trigger", scope.ends, timers)

    def limits(self) -> Iterator[Finding]:
        yield from self._many(("lasting",), "timer", self.flow.lasting)
        for name, seconds in self.flow.limit_sets.items():
            for timer in seconds:
                yield from self._key(("limit_sets", name, timer), "timer", timer)

    def phrases(self) -> Iterator[Finding]:
        for fact, phrases in self.flow.phrases.items():
            path: Path = ("phrases", fact)
            if fact not in (host_facts := self.flow.host_facts):
                hint = near(fact, host_facts) if closest(fact, host_facts) else _NO_HOST_FACT
                named = {"name": fact, "near": hint}
                yield self.source.still_used("facts", "fact", fact, path) or problem(
                    self.source, path, "unknown-fact.of_phrases", **named
                )
            for index, name in enumerate(phrases.lists):
                if name not in (known := shipped_phrases()):
                    place, named = (
                        (*path, "lists", index),
                        {"name": name, "near": near(name, known)},
                    )
                    yield problem(self.source, place, "unknown-phrases.list", **named)
            yield from wordless(phrases.also, (*path, "also"), self.source)
            yield from self._left_out(path, phrases)

    def _left_out(self, path: Path, phrases: Phrases) -> Iterator[Finding]:
        allowed = {phrase for name in phrases.lists for phrase in phrases_of(name)}
        for index, text in enumerate(phrases.without):
            if (words := words_of(text)) not in allowed:
                listed: Path = (*path, "without", index)
                place = listed if self.source.written(listed) else (*path, "without")
                hint = near(" ".join(words), [" ".join(phrase) for phrase in allowed])
                named = {"fact": path[-1], "text": text, "near": hint}
                yield problem(self.source, place, "unknown-phrases.left_out", **named)

    def transition(self, transition: Transition, path: Path) -> Iterator[Finding]:
        yield from self._one((*path, "dest"), "state", transition.dest)
        yield from self._many((*path, "conditions"), "fact", transition.conditions)
        yield from self._many((*path, "unless"), "fact", transition.unless)
        yield from self._many((*path, "actions"), "action", transition.actions)
        yield from self._many((*path, "restarts"), "timer", transition.restarts)

    def properties(self) -> Iterator[Finding]:
        held = self.flow.properties
        kinds: dict[str, tuple[Never | Always, ...]] = {"never": held.never, "always": held.always}
        for kind, items in kinds.items():
            for item in items:
                path: Path = ("properties", kind, item.name)
                yield from self._many((*path, "when"), "fact", item.when)
                yield from self._many((*path, "unless"), "fact", item.unless)
                yield from self._one((*path, "state"), "state", item.state)
                yield from self._one((*path, "action"), "action", getattr(item, "action", None))
        for leads in held.leads_to:
            path = ("properties", "leads_to", leads.name)
            yield from self._one((*path, "from"), "state", leads.from_)
            yield from self._one((*path, "to"), "state", leads.to)
            yield from self._one((*path, "within"), "timer", leads.within)
            yield from self._many((*path, "until"), "trigger", leads.until)

    def _one(self, path: Path, kind: str, name: str | None, more: Names = ()) -> Iterator[Finding]:
        if name is not None and name not in more and name not in self._declared(kind):
            yield self._unknown(path, kind, name, more)

    def _many(self, path: Path, kind: str, names: Names, more: Names = ()) -> Iterator[Finding]:
        for index, name in enumerate(names):
            yield from self._one((*path, index), kind, name, more)

    def _key(self, path: Path, kind: str, name: str) -> Iterator[Finding]:
        if name not in self._declared(kind):
            finding = self._unknown(path, kind, name)
            # The word is a key, so the caret points at the key.
            place = self.source.at_key(path, finding.message, finding.remedy, code=finding.code)
            yield finding if finding.code == "removed" else place

    def _declared(self, kind: str) -> Mapping[str, object]:
        declared: Mapping[str, object] = getattr(self.flow, _SECTIONS[kind])
        return declared

    def _unknown(self, path: Path, kind: str, name: str, more: Names = ()) -> Finding:
        if removed := self.source.still_used(_SECTIONS[kind], kind, name, path):
            return removed
        message = f"{kind} {quoted(name)} is not declared"
        remedy = self._remedy(kind, name, (*self._declared(kind), *more))
        return self.source.at(path, message, remedy, code=f"unknown-{kind}")

    def _remedy(self, kind: str, name: str, names: Names) -> str:
        bare = name.removeprefix("!").removeprefix("not ").strip()
        if kind == "fact" and bare != name and bare in self.flow.facts:
            return f"a fact that must be false stands under 'unless': {bare}"
        if "," in name or " " in name.strip():
            return as_list(name)
        if meant := closest(name, names):
            return did_you_mean(name, meant)
        for other in _SECTIONS:
            if other != kind and name in self._declared(other):
                return f"{name!r} is a {other}".replace("a action", "an action")
        declared = _DECLARED[kind].format(name)
        return f"{declared}; {near(name, names)}" if any(names) else declared


def wordless(phrases: Names, path: Path, source: Source) -> Iterator[Finding]:
    """The phrases that no transcript can have: they consist of signs."""
    for index, phrase in enumerate(phrases):
        if not words_of(phrase):
            yield problem(source, (*path, index), "name.of_phrase", phrase=phrase)


def as_list(text: str) -> str:
    """The remedy for several names in one text."""
    words = [w for w in text.replace(",", " ").split() if w not in {"and", "&&", "&"}]
    if {"or", "||", "|"} & set(words):
        return "write two transitions: a list of them is tried in order"
    return f"write a list: [{', '.join(words[:8])}]"[:100]
