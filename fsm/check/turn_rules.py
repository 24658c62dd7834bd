"""The ten properties of a turn as rules on moves and configurations.

This module has speculation, resuming, results, calls, replies and turns. The floor is in
`turn_floor`, the agent state in `turn_agent_state`, properties about waits are in `leads`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from turnfsm.fsm.flow import Flow

from .maker import Maker, on
from .parts import Bits, Rule
from .turn import WAITS_FOR_TOOLS, missing
from .turn_agent_state import agent_state_is_true
from .turn_floor import floor_is_alive, over_the_user

__all__ = ["turn_rules"]

_HOLDS_THE_FLOOR = frozenset({"thinking", "speaking", "paused", "interrupted"})


def turn_rules(flow: Flow, bits: Bits) -> Iterator[Rule]:
    """The rules of every claimed property whose names the flow has."""
    if flow.kind != "turn":
        return
    for name, rules in _RULES.items():
        if name not in flow.properties.waived and not missing(flow, name):
            yield from rules(Maker(name, bits, flow))


def _speculation(make: Maker) -> Iterator[Rule]:
    broken = "while a tool call of the turn runs"
    yield make.chosen("start_preemptive_generation", broken, ["~tools_running"])
    yield make.granted("preemptive_generation", "start_preemptive_generation")


def _resume(make: Maker) -> Iterator[Rule]:
    silent = "though no audio of this step was heard"
    yield make.chosen("resume_output", silent, unless=["~playout_started"])
    yield make.move(
        "resume_output is chosen though nothing was stopped that could go on",
        on(does="resume_output"),
        before_not=["~stopped"],
    )
    yield make.chosen("pause_output", silent, unless=["~playout_started"])
    yield make.held("paused", silent, unless=["~playout_started"])
    yield make.held("paused", "though nothing was stopped that could go on", unless=["~stopped"])
    yield make.chosen(
        "report_false_interruption",
        "though nothing is resumed",
        where=on(lacks="resume_output"),
    )
    yield make.chosen(
        "release_output",
        "before the interrupted step has ended: the interrupted audio may be heard",
        where=on(source="interrupted", dest="interrupted"),
    )
    yield make.move(
        "step_finished: what the step has left in the output would be heard, drop_audio is missing",
        on("step_finished", fresh=True, does="release_output", lacks="drop_audio"),
        before=["~paused"],
    )
    if "report_false_interruption" in make.flow.actions:
        yield make.chosen(
            "resume_output",
            "without report_false_interruption",
            where=lambda m: (
                m.trigger != "interruptions_disallowed"
                and "report_false_interruption" not in m.actions
            ),
        )


def _results(make: Maker) -> Iterator[Rule]:
    for action in ("request_reply", "start_preemptive_generation"):
        broken = "while a tool result is not in the conversation"
        yield make.chosen(action, broken, ["~result_uncommitted"])
    for action in ("request_reply", "request_with_results", "start_preemptive_generation"):
        unsaid = "while the heard part of an interrupted reply is not in the conversation"
        yield make.chosen(action, unsaid, ["~playout_started", "~step_stopped"])
    for fact in make.host_facts("message_pending"):
        earlier = "while earlier words of the user are not in the conversation"
        yield make.chosen("start_preemptive_generation", earlier, [fact])
    yield make.granted("reply", "request_reply", "request_with_results")
    for fact in make.host_facts("results_available"):
        yield make.chosen("request_with_results", "before the result is there", unless=[fact])


def _calls(make: Maker) -> Iterator[Rule]:
    forgotten = "while a blocking tool call is neither drained nor released"
    yield make.held("listening", forgotten, ["~unreleased"])
    yield from _calls_go(make)
    yield make.move(
        f"interrupted is left {forgotten}",
        lambda m: m.source == "interrupted" != m.dest,
        ["~unreleased"],
    )
    yield make.move(
        "interrupted is left for listening while a tool call of another speech runs",
        on(source="interrupted", dest="listening"),
        before=["~tools_running"],
    )
    yield make.move(
        "speech_interrupted: its tool calls are not released, release_tools is missing",
        on("speech_interrupted", lacks="release_tools"),
    )
    yield make.move(
        "step_interrupted: its tool calls are not released, release_tools is missing",
        on("step_interrupted", source=_HOLDS_THE_FLOOR, fresh=True, lacks="release_tools"),
    )


def _calls_go(make: Maker) -> Iterator[Rule]:
    yield make.move(
        "tool_limit: the turn would wait longer, give_up_tools is missing",
        on("tool_limit", taken=True, lacks="give_up_tools"),
        before=["~unreleased"],
    )
    others = {*make.flow.states} - {"interrupted"}
    lacks = ("interrupt_speech", "unblock_tools")
    yield make.move(
        "turn_committed: the calls of the turn before still block, unblock_tools is missing",
        on("turn_committed", source=others, does="answer_turn", lacks=lacks),
        before=["~unreleased"],
    )


def _one_reply(make: Maker) -> Iterator[Rule]:
    yield make.move(
        "answer_turn is chosen twice for a turn",
        lambda m: m.actions.count("answer_turn") > 1,
    )
    yield make.move(
        "answer_turn is chosen for a turn that is being answered",
        lambda m: "answer_turn" in m.actions and m.trigger != "turn_committed",
        before=["~answered"],
    )
    yield make.chosen("answer_turn", "though no turn is open", unless=["~turn_open"])
    yield make.chosen(
        "answer_turn", "while another step holds the floor", ["~step_running"], ["~step_stopped"]
    )
    yield make.granted("next_reply", "request_next_reply")
    yield make.chosen("request_next_reply", "while a turn waits for its reply", ["~turn_open"])
    for fact in make.host_facts("agenda_open"):
        yield make.chosen("request_next_reply", "though nothing is open", unless=[fact])


def _turns(make: Maker) -> Iterator[Rule]:
    held, empty = make.host_facts("tools_held"), make.host_facts("empty_transcript")
    yield make.granted("turn_committed", "answer_turn", "drop_turn")
    refused_at_rest = on("turn_committed", source="listening", taken=False)
    yield make.move("listening refuses turn_committed", refused_at_rest, unless=empty)
    yield make.move(
        "listening refuses turn_committed, though no other turn is open",
        refused_at_rest,
        before_not=["~turn_open"],
    )
    for fact in make.host_facts("interruptible"):
        broken = "though the speech that holds the floor may be interrupted"
        ignored = [*held, *empty, *make.host_facts("backchannel")]
        yield make.refused("turn_committed", broken, ["~step_running", fact], ignored)
    yield make.refused(
        "turn_committed",
        "though neither a step nor a tool call stands against it",
        unless=["~step_running", *held, *empty],
    )
    for fact in held:
        yield make.chosen(
            "answer_turn",
            "while a tool call runs whose turn cannot be interrupted",
            [fact],
            where=on(source=(*_HOLDS_THE_FLOOR, *WAITS_FOR_TOOLS)),
        )
    yield make.chosen("drop_turn", "though no turn is open", unless=["~turn_open"])
    yield make.chosen("lift_holds", "though no turn waits", unless=["~turn_deferred"])
    waits = make.flow.states.get("tool_running")
    if waits and "finish_limit" in waits.after:
        yield make.move(
            "turn_deferred: the time to finish does not begin",
            lambda m: (
                m.source in WAITS_FOR_TOOLS
                and (m.dest, m.trigger) == (m.source, "turn_deferred")
                and not (m.taken and m.taken.entered)
            ),
            before_not=["~turn_deferred"],
        )


_RULES: Mapping[str, Callable[[Maker], Iterator[Rule]]] = {
    "no_speculation_while_a_tool_runs": _speculation,
    "no_resume_of_a_silent_step": _resume,
    "no_request_before_the_results": _results,
    "every_call_ends_once": _calls,
    "no_dead_floor": floor_is_alive,
    "one_reply_to_a_turn": _one_reply,
    "every_turn_is_accounted_for": _turns,
    "no_playout_over_the_user": over_the_user,
    "the_agent_state_is_true": agent_state_is_true,
}
