"""A flow that extends another: ten lines that a reader understands."""

from pathlib import Path

import pytest
from cases import prepare
from flow_text import parsed
from jsonschema import Draft7Validator
from trees import tree_of

from turnfsm.fsm import Flow, FlowError, load_flow, parse_flow
from turnfsm.fsm.load.schema import flow_schema


@pytest.fixture(autouse=True)
def bases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder that holds the flows to extend."""
    prepare(tmp_path)
    monkeypatch.chdir(tmp_path)


def variant(changes: str = "", base: str = "base.yaml") -> Flow:
    """A valid variant of the base."""
    return parsed(f"flow: x\nextends: {base}\n{changes}", "case.yaml")


def test_without_changes_it_is_the_base_under_its_own_name() -> None:
    """Everything is inherited but the name, the sentence and the base's own base."""
    flow, base = variant("is: Mine.\n"), load_flow("base.yaml")
    assert (flow.name, flow.is_, flow.extends) == ("x", "Mine.", "base.yaml")
    assert (base.extends, flow.initial) == (None, "idle")
    assert flow.states == base.states
    assert flow.facts == base.facts
    assert list(flow.rows()) == list(base.rows())


def test_a_value_replaces_that_of_the_base() -> None:
    """Numbers, words and lists of a key are replaced; its neighbours stay."""
    flow = variant("timers: {limit: 9}\nfacts: {session: {open: {cleared_by: [stop, barge_in]}}}\n")
    assert flow.timers == {"limit": 9.0}
    assert flow.facts["open"].cleared_by == ("stop", "barge_in")
    assert flow.facts["open"].set_by == ("go",)


def test_what_a_trigger_does_is_replaced_as_a_whole() -> None:
    """A transition does not keep the guard or the actions of the one that it replaces."""
    flow = variant("states: {idle: {on: {go: {dest: talking}}}}\n")
    (go,) = flow.states["idle"].on["go"]
    assert (go.dest, go.unless, go.actions) == ("talking", (), ())
    assert flow.refused_in("idle") == ("stop", "barge_in")
    assert flow.states["idle"].refuses == ("stop",)


def test_null_removes() -> None:
    """A trigger of a state, a timer of a state, a field of a fact."""
    flow = variant(
        "states: {talking: {on: {barge_in: null}, after: {limit: null}}}\n"
        "facts: {session: {open: {cleared_by: null}}}\n"
    )
    assert list(flow.states["talking"].on) == ["stop"]
    assert not flow.states["talking"].after
    assert flow.facts["open"].cleared_by == ()
    # An inherited timer that no state has any more is no mistake of the variant.
    assert "limit" in flow.timers


def test_a_state_is_added_behind_the_bases() -> None:
    """What is new follows, in the order of the variant."""
    flow = variant(
        "states:\n  held: {on: {stop: {dest: idle}}}\n  talking: {on: {barge_in: {dest: held}}}\n"
    )
    assert list(flow.states) == ["idle", "talking", "held"]
    assert flow.states["talking"].on["barge_in"][0].dest == "held"


@pytest.mark.parametrize("refuses", ["barge_in", "[barge_in]"])
def test_refusing_a_trigger_removes_what_it_did(refuses: str) -> None:
    """`refuses` takes the request out of `on`."""
    flow = variant(f"states: {{talking: {{refuses: {refuses}}}}}\n")
    assert flow.refused_in("talking") == ("go", "barge_in")
    assert flow.states["talking"].refuses == ("barge_in",)
    assert list(flow.states["talking"].on) == ["stop"]


def test_declaring_a_trigger_ends_its_refusal() -> None:
    """`on` takes the trigger out of what the state refused."""
    idle = variant("states: {idle: {on: {stop: {actions: speak}}}}\n").states["idle"]
    assert idle.refuses == ()
    assert list(idle.on) == ["go", "stop"]


def test_properties_are_changed_by_their_name() -> None:
    """One of the same name is replaced in its place; others are added."""
    flow = variant(
        "properties:\n"
        "  leads_to:\n"
        "    more: {from: idle, to: idle}\n"
        "    it_ends: {from: talking, to: idle, within: limit}\n"
    )
    assert [(p.name, p.within) for p in flow.properties.leads_to] == [
        ("it_ends", "limit"),
        ("more", None),
    ]


def test_waiving_an_inherited_property_drops_it() -> None:
    """A property of the base can be given up, with a reason that stays readable."""
    flow = variant("properties: {waived: {it_ends: It may talk for ever.}}\n")
    assert flow.properties.leads_to == ()
    assert flow.properties.waived == {"it_ends": "It may talk for ever."}


def test_a_chain_of_bases(tmp_path: Path) -> None:
    """A variant of a variant, in another folder: paths are relative to the file that says them."""
    folder = tmp_path / "inner"
    folder.mkdir()
    middle = "flow: middle\nextends: ../base.yaml\ntimers: {limit: 7}\n"
    (folder / "middle.yaml").write_text(middle)
    flow = variant("states: {talking: {refuses: barge_in}}\n", base="inner/middle.yaml")
    assert flow.timers == {"limit": 7.0}
    assert flow.states["talking"].refuses == ("barge_in",)
    assert flow.extends == "inner/middle.yaml"


def test_a_long_chain_ends() -> None:
    """A chain of more bases than anyone can follow is refused."""
    for number in range(12):
        text = f"flow: f{number}\nextends: f{number + 1}.yaml\n"
        Path(f"f{number}.yaml").write_text(text)
    with pytest.raises(FlowError, match="more than 8 bases"):
        load_flow("f0.yaml")


def test_a_shipped_flow_is_extended_by_its_name() -> None:
    """Ten lines make a turn without barge-in."""
    flow = variant("states: {speaking: {refuses: [barge_in]}}\n", base="turn")
    assert "barge_in" not in flow.states["speaking"].on
    assert flow.states["paused"] == load_flow("turn").states["paused"]


def test_every_place_is_in_the_file_that_says_it() -> None:
    """Findings of a variant point at the base's lines for what is inherited."""
    source = variant("timers: {limit: 9}\nstates: {idle: {on: {go: {}}}}\n").source
    assert source is not None
    assert source.place(("states", "talking", "on", "stop", 0)) == "base.yaml:16:7"
    assert source.place(("states", "idle", "on", "go", 0)) == "case.yaml:4:22"
    assert source.at(("timers", "limit"), "").place == "case.yaml:3:17"
    assert source.at(("facts", "open", "set_by"), "").text == (
        "    open: {set_by: go, cleared_by: stop}"
    )


def test_the_base_is_not_changed() -> None:
    """Loading a variant leaves no trace in its base."""
    before = load_flow("base.yaml")
    variant("states: {talking: {refuses: [barge_in, stop], after: {limit: null}}}\n")
    assert load_flow("base.yaml") == before


def test_properties_that_say_nothing_any_more_go_with_what_is_removed() -> None:
    """A property about a state, a fact or an action that is gone cannot be broken."""
    changes = (
        "states: {talking: null, idle: {on: {go: {}}}}\n"
        "facts: {session: {open: null}}\nactions: {speak: null}"
    )
    flow = variant(changes + "\nproperties: {never: {mine: {state: idle}}}\n", "told.yaml")
    assert [p.name for p in flow.properties.never] == ["stays", "mine"]
    assert (flow.properties.always, flow.properties.leads_to) == ((), ())


def test_what_a_property_only_mentions_does_not_go_silently() -> None:
    """A promise that a state is reached is broken without the state: that is said."""
    text = "flow: x\nextends: told.yaml\ninitial: talking\nstates: {idle: null, talking: "
    _, findings = parse_flow(text + "{on: {stop: null, barge_in: null}, after: null}}", "case.yaml")
    assert {f.code for f in findings} == {"removed"}


def test_the_ways_that_a_variant_takes_away_are_known() -> None:
    """Refused, replaced or removed: the line is kept for each state that was led to from there."""
    for change in ("refuses: [barge_in]", "on: {barge_in: {}}", "on: {barge_in: null}"):
        source = variant(f"states:\n  talking:\n    {change}\n").source
        assert source is not None
        assert str(source.removed_to["idle"]).startswith("case.yaml:5:")
        assert "talking" not in source.removed_to


@pytest.mark.parametrize(
    "change",
    [
        "fillers: {after: 2}",
        "silence: {after: 2}",
        "hold: {limit: 20}",
        "never_silent: {after: 9}",
        "not_heard: {no_audio: Hello.}",
        "backchannels: {after: 9}",
        "tools: {confirm: {pay: {yes: do it}}}",
        "tools: {confirm: {pay: {when: {amount: {below: 9}}}}}",
        "states: {listening: {tuning: {expect: {length: 5}}}}",
    ],
)
def test_one_key_of_a_section_may_be_changed(change: str) -> None:
    """The schema knows that a file may have the others."""
    flow = variant(f"{change}\n", base="sections.yaml")
    assert flow != variant(base="sections.yaml")
    validator = Draft7Validator(flow_schema())
    lines = tree_of(change)
    assert validator.is_valid({"flow": "x", "extends": "sections.yaml"} | lines)
    assert not validator.is_valid({"flow": "x", "extends": "turn"} | lines)


def test_a_section_of_the_base_needs_a_state_that_is_removed() -> None:
    """The finding is at the line that removes it, not in the base."""
    text = "flow: x\nextends: sections.yaml\nstates: {tool_running: null}\n"
    findings = parse_flow(text, "case.yaml")[1]
    assert {(f.file, f.line, f.code) for f in findings} == {("case.yaml", 3, "removed")}
    assert any("sections.yaml:3:1" in f.message for f in findings)


def test_phrases_of_the_base_need_a_fact_that_is_removed() -> None:
    """The finding is at the line that removes it, and names the phrases in the base."""
    text = "flow: x\nextends: turn\nfacts: {host: null}\n"
    findings = parse_flow(text, "case.yaml")[1]
    assert {(f.file, f.line, f.code) for f in findings} == {("case.yaml", 3, "removed")}
    assert any(
        "'acknowledged' is removed, yet used in turn.yaml:124:3" in f.message for f in findings
    )
