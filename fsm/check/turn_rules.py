"""The ten properties of a turn as rules on moves and configurations; the rest is in `check`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs

from ..flow import Flow
from .model import Bits, Judge, Move, Rule, Test
from .turn import TRUE_FACTS, missing

__all__ = ["turn_rules"]

_Where: TypeAlias = Callable[[Move], bool]
_BY_USER = frozenset({"barge_in", "turn_committed", "user_started_speaking", "final_transcript"})
# Either the speech became uninterruptible, or nothing of this step is left to be let go.
_MAY_LET_GO = frozenset(
    {
        "interruptions_disallowed",
        "step_started",
        "step_finished",
        "playout_started",
        "playout_finished",
    }
)
_HOLDS_THE_FLOOR = frozenset({"thinking", "speaking", "paused", "interrupted"})


def turn_rules(flow: Flow, bits: Bits) -> Iterator[Rule]:
    """The rules of every property that is claimed and that the flow has the words for."""
    if flow.kind != "turn":
        return
    for name, rules in _RULES.items():
        if name not in flow.properties.waived and not missing(flow, name):
            yield from rules(_Maker(name, bits, flow))


@attrs.frozen
class _Maker:
    """Makes the rules of one property."""

    property: str
    bits: Bits
    flow: Flow

    def move(
        self,
        broken: str,
        where: _Where,
        when: Iterable[str] = (),
        unless: Iterable[str] = (),
        before: Iterable[str] = (),
    ) -> Rule:
        """A move that is wrong if these hold after it, and `before` before it."""
        after, was = self.bits.test(when, unless), self.bits.test(before)
        reads = after.mask | was.mask
        return Rule(self.property, broken, _judge(where, was, after), reads=reads, builtin=True)

    def chosen(
        self,
        action: str,
        broken: str,
        when: Iterable[str] = (),
        unless: Iterable[str] = (),
        where: _Where = lambda move: True,
    ) -> Rule:
        """An action that is wrong if these hold when it is carried out."""
        sentence = f"{action} is chosen {broken}"
        return self.move(sentence, lambda m: action in m.actions and where(m), when, unless)

    def held(
        self, state: str | None, broken: str, when: Iterable[str] = (), unless: Iterable[str] = ()
    ) -> Rule:
        """A state that is wrong while these hold."""
        test = self.bits.test(when, unless)
        sentence = f"{state} is held {broken}" if state else broken
        return Rule(self.property, sentence, state=state, test=test, reads=test.mask, builtin=True)

    def given(self, *names: str) -> tuple[str, ...]:
        """Those that the host of this flow answers for."""
        return tuple(name for name in names if name in self.flow.given)


def _judge(where: _Where, before: Test, after: Test) -> Judge:
    def judge(move: Move) -> tuple[Test, Test] | None:
        return (before, after) if where(move) else None

    return judge


def _speculation(make: _Maker) -> Iterator[Rule]:
    broken = "while a tool call of the turn runs"
    yield make.chosen("start_preemptive_generation", broken, ["~tools_running"])


def _resume(make: _Maker) -> Iterator[Rule]:
    silent = "though no audio of this step was heard"
    yield make.chosen("resume_output", silent, unless=["~playout_started"])
    yield make.chosen("pause_output", silent, unless=["~playout_started"])
    yield make.held("paused", silent, unless=["~playout_started"])


def _results(make: _Maker) -> Iterator[Rule]:
    for action in ("request_reply", "start_preemptive_generation"):
        broken = "while a tool result is not in the conversation"
        yield make.chosen(action, broken, ["~result_uncommitted"])


def _calls(make: _Maker) -> Iterator[Rule]:
    forgotten = "while a blocking tool call is neither drained nor released"
    yield make.held("listening", forgotten, ["~unreleased"])
    yield make.move(
        f"interrupted is left {forgotten}",
        lambda m: m.source == "interrupted" != m.dest,
        ["~unreleased"],
    )
    yield make.move(
        "an interrupted speech keeps its tool calls: release_tools is missing",
        lambda m: m.trigger == "speech_interrupted",
        ["~unreleased"],
    )
    yield make.move(
        "the interrupted step keeps its tool calls: release_tools is missing",
        lambda m: (
            m.trigger == "step_interrupted"
            and m.arrives == "fresh"
            and m.source in _HOLDS_THE_FLOOR
        ),
        ["~unreleased"],
    )


def _one_reply(make: _Maker) -> Iterator[Rule]:
    yield make.move(
        "answer_turn is chosen twice for a turn",
        lambda m: (
            m.actions.count("answer_turn") > (m.trigger != "turn_committed")
            and m.trigger != "turn_committed"
            or m.actions.count("answer_turn") > 1
        ),
    )
    yield make.move(
        "answer_turn is chosen for a turn that is being answered",
        lambda m: "answer_turn" in m.actions and m.trigger != "turn_committed",
        before=["~answered"],
    )
    yield make.chosen("answer_turn", "though no turn is open", unless=["~turn_open"])
    yield make.chosen("deliver_owed_reply", "while a turn waits for its reply", ["~turn_open"])
    for fact in make.given("moot"):
        yield make.chosen("deliver_owed_reply", "for a result that was used already", [fact])


def _turns(make: _Maker) -> Iterator[Rule]:
    yield make.move(
        "turn_committed is taken without answer_turn or drop_turn",
        lambda m: (
            m.trigger == "turn_committed"
            and m.taken is not None
            and not {"answer_turn", "drop_turn"} & {*m.actions}
        ),
    )
    yield make.move(
        "listening refuses turn_committed",
        lambda m: (m.source, m.trigger, m.taken) == ("listening", "turn_committed", None),
    )
    yield make.chosen("drop_turn", "though no turn is open", unless=["~turn_open"])


def _over_the_user(make: _Maker) -> Iterator[Rule]:
    mine = make.given("interruptible", "pausable")
    yield make.chosen(
        "start_output",
        "for a step's first frame while the user speaks",
        ["~user_speaking", *mine],
        ["~playout_started"],
    )
    yield make.move(
        "the user starts to speak and the step's first frame is not held",
        lambda m: (m.source, m.trigger, m.dest) == ("thinking", "user_started_speaking", "thinking"),
        ["~step_running", *mine],
        ["~paused", "~output_held", "~playout_started"],
    )
    for action in ("release_output", "resume_output"):
        yield make.chosen(action, "while the user speaks", ["~user_speaking"], where=_lets_go)
    for facts in (["~user_speaking"], make.given("turn_pending")):
        if facts:
            yield make.chosen("deliver_owed_reply", "while the floor is the user's", facts)
    yield from _uninterruptible(make)


def _lets_go(move: Move) -> bool:
    """The move lets this step's audio go on, and not because it became uninterruptible."""
    keeps = move.dest in ("thinking", "speaking") and move.source in ("thinking", "paused")
    return keeps and move.trigger not in _MAY_LET_GO


def _uninterruptible(make: _Maker) -> Iterator[Rule]:
    def by_user(action: str) -> _Where:
        return lambda m: (
            m.trigger in _BY_USER and m.source in ("thinking", "speaking") and action in m.actions
        )

    for fact in make.given("interruptible"):
        for action in ("interrupt_speech", "pause_output", "hold_output"):
            broken = f"{action} is chosen though the speech is uninterruptible"
            yield make.move(broken, by_user(action), unless=[fact])
    for fact in make.given("pausable"):
        for action in ("pause_output", "hold_output"):
            broken = f"{action} is chosen though the output cannot pause"
            yield make.move(broken, by_user(action), unless=[fact])


def _held_output(make: _Maker) -> Iterator[Rule]:
    """An output that is held waits for the user, and for nobody else."""
    for trigger, facts in (
        ("user_stopped_speaking", make.given("turn_pending")),
        ("turn_settled", ("~user_speaking",)),
        ("interruptions_disallowed", ()),
    ):
        yield make.move(
            f"{trigger}: nothing holds the first frame back any more and it is not let go",
            _stays(trigger, "thinking"),
            ["~output_held", "~paused"],
            facts,
            before=["~output_held"],
        )
    for trigger, facts in (("turn_settled", ("~user_speaking",)), ("interruptions_disallowed", ())):
        yield make.move(
            f"{trigger}: nothing holds the speech back any more and it stays paused",
            _stays(trigger, "paused"),
            unless=facts,
        )


def _stays(trigger: str, state: str) -> _Where:
    return lambda m: (
        (m.source, m.dest, m.trigger) == (state, state, trigger) and m.arrives != "stale"
    )


def _label(make: _Maker) -> Iterator[Rule]:
    yield make.held("speaking", "though no audio is heard", unless=["~heard"])
    for state in make.flow.states:
        if state != "speaking":
            yield make.held(state, "while audio is heard", ["~heard"])
    yield make.held("tool_running", "though no tool call runs", unless=["~tools_running"])
    yield make.held("thinking", "for a step that was interrupted", ["~cut"])
    yield make.held("interrupted", "though nothing was interrupted", ["~step_running"], ["~cut"])
    for state in ("listening", "tool_running"):
        yield make.held(state, "while a step holds the floor", ["~step_running"], ["~cut"])
        yield make.held(state, "while the output stands still", ["~paused"])
    yield make.move(
        "a step begins while the output stands still",
        lambda m: m.trigger == "step_started",
        ["~paused"],
    )
    yield from _facts(make)


def _facts(make: _Maker) -> Iterator[Rule]:
    for fact in TRUE_FACTS:
        if fact in make.flow.facts and fact not in make.flow.given:
            yield make.held(None, f"the fact {fact} is true though it is not so", [fact], [f"~{fact}"])
            yield make.held(None, f"the fact {fact} is false though it is so", [f"~{fact}"], [fact])


_RULES: Mapping[str, Callable[[_Maker], Iterator[Rule]]] = {
    "no_speculation_while_a_tool_runs": _speculation,
    "no_resume_of_a_silent_step": _resume,
    "no_request_before_the_results": _results,
    "every_call_ends_once": _calls,
    "no_dead_floor": _held_output,
    "one_reply_to_a_turn": _one_reply,
    "every_turn_is_accounted_for": _turns,
    "no_playout_over_the_user": _over_the_user,
    "the_label_is_true": _label,
}
