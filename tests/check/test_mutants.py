"""The proof catches what is changed in the shipped turn, and owns up to what it does not."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest
from command import run
from proved import TURN, flow_of

from turnfsm.fsm import load_flow
from turnfsm.fsm.agenda.settlement import FATES
from turnfsm.fsm.check.check import check_flow
from turnfsm.fsm.check.equal import Twin
from turnfsm.fsm.check.mutate import mutants
from turnfsm.fsm.check.score import judge_mutants
from turnfsm.fsm.check.turn import AGENDA, PROPERTIES
from turnfsm.fsm.codes import PROOF_CODES
from turnfsm.fsm.load.loader import shipped_flows

PROOF = Path(__file__).parents[2] / "docs" / "proof.md"
EXPLAINED = shipped_flows()["turn"].with_suffix(".mutants.toml")


def test_every_element_is_changed() -> None:
    """Each kind of change is there, each mutant differs from the flow, and no two bear one name."""
    flow = load_flow("turn")
    made = list(mutants(flow))
    assert len(made) == len({mutant.id for mutant in made})
    assert all(mutant.flow != flow for mutant in made)
    kinds = Counter(mutant.operator for mutant in made)
    assert kinds["drop a row"] == len({flow.source.path(row.path) for row in flow.rows()})
    assert kinds["drop a fence"] == sum(t.of is not None for t in flow.triggers.values())
    assert kinds["drop an ignored event"] == sum(len(s.ignores) for s in flow.states.values())
    cells = sum(len(row) for row in flow.agenda.settle.values())
    assert kinds["change a cell"] == cells * (len(FATES) - 1)
    assert len(made) > 800


def test_what_a_section_adds_is_changed_state_by_state() -> None:
    """Its rows stand at one place of the file. The timer that lasts is stopped, too."""
    text = "{after: 4, say: Still with you., give_up: Please say it again.}"
    flow = flow_of(f"flow: mine\nextends: turn\nnever_silent: {text}\n")
    made = {mutant.id: mutant for mutant in mutants(flow)}
    rows = {name: body.after.get("quiet", ()) for name, body in flow.states.items()}
    for state in ("listening", "thinking", "tool_running", "interrupted"):
        changed = made[f"drop {state}.quiet.0"].flow.states
        left = {name: body.after.get("quiet", ()) for name, body in changed.items()}
        assert left == {**rows, state: rows[state][1:]}
    assert not made["stop quiet with its state"].flow.lasting


@pytest.mark.exhaustive
def test_a_sample_of_mutants_is_caught_or_explained() -> None:
    """One in eighty of all; those that are explained are judged below."""
    explained = tomllib.loads(EXPLAINED.read_text("utf-8"))
    flow = load_flow("turn")
    chosen = [mutant for mutant in list(mutants(flow))[::80] if mutant.id not in explained]
    results = Counter(fate.result for fate in judge_mutants(flow, chosen, {}))
    assert results["survives"] == 0
    assert results["caught"] >= 10


PARTS = 8
"""The explained mutants take minutes: the processes of the tests share them."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("part", range(PARTS))
def test_each_explanation_is_needed(part: int) -> None:
    """Each explained mutant exists, and is neither caught nor equivalent."""
    explained = tomllib.loads(EXPLAINED.read_text("utf-8"))
    mine = {name: explained[name] for name in [*explained][part::PARTS]}
    flow = load_flow("turn")
    chosen = [mutant for mutant in mutants(flow) if mutant.id in mine]
    fates = {fate.mutant.id: fate.result for fate in judge_mutants(flow, chosen, mine)}
    assert fates == dict.fromkeys(mine, "explained")


@pytest.mark.exhaustive
def test_equivalent_flows_are_recognised() -> None:
    """A row for what happens anyway changes nothing; a row that leads elsewhere does."""
    twin = Twin(load_flow("turn"), 100_000)
    said = TURN.replace(
        "      playout_started: {}\n", "      playout_started: {}\n      tool_ended: {}\n"
    )
    assert said != TURN
    assert twin.why_equal(flow_of(said)) == "no reachable configuration differs"
    led = TURN.replace("      playout_started: {}\n", "      playout_started: {dest: listening}\n")
    assert twin.why_equal(flow_of(led)) is None


@pytest.mark.parametrize(
    ("reasons", "status", "said"),
    [
        ('"no such mutant" = "why"\n', 1, "explained without need: no such mutant"),
        ("not toml", 2, "not TOML"),
        ('"x" = ""\n', 2, "has no reason"),
    ],
)
def test_the_command_judges_the_explanations(
    reasons: str,
    status: int,
    said: str,
    tmp_path: object,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A reason without its mutant is a finding, a file that cannot be read is bad input."""
    file = f"{tmp_path}/reasons.toml"
    with open(file, "w", encoding="utf-8") as out:
        out.write(reasons)
    assert run("mutants", "session", "--explained", file, "--every", "50") == status
    out_, err = capsys.readouterr()
    assert said in out_ + err


def test_the_page_of_the_proof_has_the_score() -> None:
    """docs/proof.md counts as many mutants, and repeats the reasons that are given today."""
    page = PROOF.read_text(encoding="utf-8")
    flow = load_flow("turn")
    assert f"equivalent are caught (81.9%), {len(list(mutants(flow)))} in all" in page
    explained = tomllib.loads(EXPLAINED.read_text("utf-8"))
    for reason, count in Counter(explained.values()).items():
        assert f"explained, {count}: {reason}" in page
    assert "survives:" not in page


def test_the_page_of_the_proof_has_every_property_and_code() -> None:
    """Each of the ten, of the agenda, and each code that only a proof finds, with its sentence."""
    page = PROOF.read_text(encoding="utf-8")
    for name, body in PROPERTIES.items():
        assert f"| `{name}` | {body.means} |" in page
    for name, means in AGENDA.items():
        assert f"| `{name}` | {means} |" in page
    for code, means in PROOF_CODES.items():
        assert f"| `{code}` | {means} |" in page


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "action", ["drop_audio", "force_interrupt", "give_up_tools", "unblock_tools"]
)
def test_an_action_of_the_host_that_is_dropped_is_caught(action: str) -> None:
    """The flow decides what the host does besides changing the state: no row may lose an action."""
    dropped = [m for m in mutants(load_flow("turn")) if m.id.startswith(f"drop action {action} ")]
    assert dropped
    assert [m.id for m in dropped if check_flow(m.flow).ok] == []
