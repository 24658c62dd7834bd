"""The sections `fillers` and `silence`, and actions that say a text: how they are read."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_text import parsed

from turnfsm.fsm import Flow, load_flow, parse_flow
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.load.spoken import BY_WORDS

FILLERS = "{after: 1.5, say: Moment.}"
SILENCE = "[{after: 8, say: Hello?}, {after: 6, say: Bye., hang_up: true}]"
SILENT = *(f"silence_{n}{again}" for n in (1, 2) for again in ("", "_again")), "hang_up_after"


def flow_of(text: str, head: str = "flow: mine\nextends: turn\n") -> Flow:
    return parsed(head + text, "mine.yaml")


def test_an_action_says_one_text_or_several() -> None:
    flow = flow_of("actions: {one: {say: Hello.}, two: {say: [Yes., 'Yes?']}}\n")
    assert flow.actions["one"].say == ("Hello.",)
    assert flow.actions["two"].say == ("Yes.", "Yes?")
    assert flow.actions["answer_turn"].say == ()


def test_a_text_may_be_owned_by_a_scope() -> None:
    assert flow_of("actions: {one: {say: Hello., owner: turn}}\n").actions["one"].owner == "turn"


def test_a_text_may_be_uninterruptible() -> None:
    flow = flow_of("actions: {one: {say: Hello., interruptible: false}}\n")
    assert not flow.actions["one"].interruptible


def test_the_sections_are_short_for_timers_facts_and_actions() -> None:
    flow = flow_of(f"fillers: {FILLERS}\nsilence: {SILENCE}\n")
    assert flow.timers["filler_1"] == 1.5
    assert (flow.timers["silence_1"], flow.timers["silence_2"]) == (8.0, 6.0)
    assert flow.actions["say_silence_2"].say == ("Bye.",)
    assert flow.facts["filler_1_said"].scope == "turn"
    assert flow.states["listening"].after["hang_up_after"][0].actions == ("hang_up",)
    texts = {f"silence_{n}_{what}" for n in (1, 2) for what in ("heard", "ended")}
    added = {"reply_ready", "user_typed", *texts}
    assert added == {*flow.triggers} - {*load_flow("turn").triggers}


def test_a_filler_for_a_slow_model_is_counted_through_both_states() -> None:
    flow = flow_of("fillers: {say: Moment., in: [thinking, tool_running], interruptible: false}\n")
    assert flow.lasting == ("filler_1",)
    (row,) = flow.states["thinking"].after["filler_1"]
    assert row.actions == ("say_filler_1", "yield_floor")
    assert row.conditions[0] == "model_silent"
    assert flow.states["tool_running"].after["filler_1"][0].actions == ("say_filler_1",)
    assert not flow.actions["say_filler_1"].interruptible


def test_a_filler_in_other_states_has_its_own_seconds() -> None:
    """It does not wait for the other one."""
    flow = flow_of("fillers: [{say: Moment., in: thinking}, {say: A second.}]\n")
    assert (flow.timers["filler_1"], flow.timers["filler_2"]) == (1.5, 1.5)
    (row,) = flow.states["tool_running"].after["filler_2"]
    assert row.conditions == ("can_say",)


@pytest.mark.exhaustive
def test_a_filler_for_a_turn_that_is_held_is_proved_beside_the_other_sections() -> None:
    flow = flow_of(
        "fillers: {say: Moment., in: [listening, thinking, tool_running]}\n"
        f"silence: {SILENCE}\nnever_silent: {{after: 4, say: Still., give_up: Sorry.}}\n"
    )
    report = check_flow(flow)
    assert report.ok
    assert list(report.findings) == []


def test_a_filler_before_an_answer_that_has_begun_is_refuted() -> None:
    """The guard is written without the fact."""
    text = (
        "flow: mine\nextends: turn\nfillers: {say: Moment., in: thinking}\n"
        "states: {thinking: {after: {filler_1: {unless: filler_1_said, "
        "actions: [say_filler_1, yield_floor]}}}}\n"
    )
    results = {one.name: one.result for one in check_flow(flow_of(text, "")).properties}
    assert results["no_filler_before_a_ready_answer"] == "fails"


def test_without_the_sections_a_flow_has_nothing_of_them() -> None:
    assert flow_of("") == parse_flow("{flow: mine, extends: turn}")[0]
    assert "can_say" not in load_flow("turn").facts


def test_a_text_that_no_silent_user_has_heard_to_its_end_is_said_again_only_once() -> None:
    """Until the user says something: what the end of the text sets refuses its timer."""
    flow = flow_of(f"silence: {SILENCE}\n")
    for trigger, rows in flow.states["listening"].after.items():
        for row in rows:
            if any(action.startswith("say_silence") for action in row.actions):
                said = trigger, flow.actions[row.actions[0]].failed
                ends = said[trigger.endswith("_again") - 1]
                own = [name for name in row.unless if ends in flow.facts[name].set_by]
                assert len(own) == 1, trigger
                assert flow.facts[own[0]].cleared_by == BY_WORDS
    assert [*flow.states["listening"].after][-5:] == [*SILENT]


def test_what_a_state_does_stays_and_the_silence_counts_from_it() -> None:
    """No transition of the base is lost."""
    turn, mine = load_flow("turn"), flow_of(f"silence: {SILENCE}\n")
    for trigger, rows in turn.states["listening"].on.items():
        for before, after in zip(rows, mine.states["listening"].on[trigger], strict=False):
            assert before.dest == after.dest
            assert before.actions == after.actions
            assert {*before.restarts} <= {*after.restarts}
    (asked,) = mine.states["listening"].on["reply_requested"]
    assert asked.restarts == ("noise_limit", *SILENT)


def test_the_file_itself_has_the_last_word() -> None:
    flow = flow_of(
        f"fillers: {FILLERS}\nsilence: {SILENCE}\n"
        "timers: {filler_end: 0.1, hang_up_after: 2.0}\n"
        "actions: {hang_up: Say that the line is free.}\n"
    )
    assert (flow.timers["filler_end"], flow.timers["hang_up_after"]) == (0.1, 2.0)
    assert flow.actions["hang_up"].is_ == "Say that the line is free."


def test_a_flow_that_extends_one_can_change_a_section(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(f"flow: base\nextends: turn\nfillers: {FILLERS}\n")
    for text, seconds in (("fillers: {after: 3}\n", 3.0), ("fillers: null\n", None)):
        mine = tmp_path / "mine.yaml"
        mine.write_text("flow: mine\nextends: base.yaml\n" + text)
        assert load_flow(mine).timers.get("filler_1") == seconds


MONOLOGUE = "{after: 20, say: Shall I go on?}"


def test_a_monologue_ends_at_a_sentence_and_five_seconds_later_in_any_case() -> None:
    flow = flow_of(f"monologue: {MONOLOGUE}\n")
    assert (flow.timers["monologue"], flow.timers["monologue_limit"]) == (20.0, 25.0)
    after = flow.states["speaking"].after
    (look,), (limit,) = after["monologue_look"], after["monologue_limit"]
    assert {*look.conditions} == {"talked_long", "between_sentences", "interruptible"}
    assert limit.conditions == ("interruptible",)
    assert look.actions == limit.actions == ("force_interrupt", "say_monologue")
    assert flow.facts["talked_long"].scope == "step"
    assert flow_of("monologue: {after: 20}\n").states["speaking"].after["monologue_look"][
        0
    ].actions == ("force_interrupt",)


def test_a_filler_may_be_for_some_tools() -> None:
    """They are counted apart from those for all tools."""
    flow = flow_of(
        "fillers:\n  - {after: 1, say: One.}\n  - {after: 2, say: Two., tools: [pay, refund]}\n"
        "  - {after: 3, say: Three.}\n"
    )
    rows = [flow.states["tool_running"].after[f"filler_{n}"][0] for n in (1, 2, 3)]
    assert flow.facts["filler_2_waits"].tools == ("pay", "refund")
    assert [row.conditions for row in rows] == [
        ("can_say",),
        ("filler_2_waits", "can_say"),
        ("can_say", "filler_1_said"),
    ]
    assert [row.restarts for row in rows] == [("filler_3",), (), ()]
    assert tuple(flow.named_tools) == ("pay", "refund")


HOLD = "{say: Sure., until: [I am back], limit: 30, then: Are you back?}"


def test_a_hold_is_short_for_a_fact_a_request_and_a_timer() -> None:
    flow = flow_of(f"silence: {SILENCE}\nhold: {HOLD}\n")
    assert flow.timers["hold"] == 30.0
    ends = ("turn_committed", "turn_deferred", "user_typed", "hold")
    assert flow.facts["on_hold"].cleared_by == ends
    asked, room = flow.states["listening"].on["hold_turn"]
    assert asked.actions == ("leave_turn", "say_hold")
    assert asked.restarts == ("hold", *SILENT)
    assert (room.conditions, room.unless) == (("on_hold",), ("user_back", "manual_turns"))
    after = flow.states["listening"].after
    for timer in ("silence_1", "silence_2", "hang_up_after"):
        assert "on_hold" in after[timer][0].unless


def test_no_section_lets_the_agent_speak_over_the_user_by_itself() -> None:
    """But for a monologue, which is the agent's own speech."""
    flow = flow_of(
        f"fillers: [{{after: 1.5, say: Moment., in: [thinking, tool_running, listening]}}]\n"
        f"silence: {SILENCE}\nhold: {HOLD}\nmonologue: {{say: And you?}}\n"
        "never_silent: {after: 4, say: Still with you., give_up: Again please.}\n"
        "not_heard: {say: Again?, no_audio: I cannot hear you.}\n"
        "tools: {confirm: {pay: {say: Shall I pay?}}}\n"
    )
    by_itself = [
        row
        for row in flow.rows()
        if any(flow.actions[action].audible for action in row.transition.actions)
        and (row.timer or row.trigger in ("voice_unrecognised", "audio_stopped", "question_due"))
    ]
    assert len({row.trigger for row in by_itself}) >= 7
    for row in by_itself:
        assert "user_speaking" in row.transition.unless or row.trigger.startswith("monologue"), row


def test_without_phrases_for_the_end_of_a_hold_the_next_words_end_it() -> None:
    flow = flow_of("hold: {then: Are you back?}\n")
    assert len(flow.states["listening"].on["hold_turn"]) == 1
    assert not {"user_back", "say_hold"} & {*flow.facts, *flow.actions}
    assert flow.timers["hold"] == 60.0


EVERY_SECTION = f"""fillers: {FILLERS}
silence: {SILENCE}
backchannels: {{say: Mhm.}}
monologue: {{}}
never_silent: {{after: 5, say: Moment., give_up: Sorry.}}
not_heard: {{say: What?, no_audio: Hello?}}
hold: {{then: Hello?, until: I am back}}
button: {{}}
tools: {{confirm: {{pay: {{say: Pay?}}}}}}
"""


def test_the_sections_add_nothing_to_a_final_state() -> None:
    flow = flow_of(f"{EVERY_SECTION}states: {{over: {{final: true}}}}\n")
    assert not flow.states["over"].on
    assert not flow.states["over"].after
