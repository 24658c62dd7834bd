"""A worker dies, and the next one goes on under an edited flow: a rolling deploy, and back."""

from __future__ import annotations

import asyncio
from pathlib import Path

import attrs
import pytest

from turnfsm.livekit import recover_with
from turnfsm.runtime.testing.livekit import Outcome
from turnfsm.store import StoreError
from turnfsm.testing import run

from .play import silent
from .test_going_on import noted, posted
from .version import BOOKED, HOTEL, PERHAPS, RENAMED, Version, asks, found, versions

EDITS = {
    "a state is gone": ("states: {parked: {is: Nobody uses it.}}\n", ""),
    "a state is new": ("", "states: {parked: {is: Nobody uses it.}}\n"),
    "a fact and a trigger are renamed": (
        "events: {paid: They paid.}\nfacts: {session: {has_paid: {set_by: paid}}}\n",
        "events: {settled: They paid.}\nfacts: {session: {has_settled: {set_by: settled}}}\n",
    ),
    "a policy is changed": (
        "tools: {by_name: {book: hold}}\n",
        "tools: {by_name: {book: cancel}}\n",
    ),
    "timers are changed": ("timers: {settle: 0.4}\n", "timers: {settle: 0.3, tool_limit: 9}\n"),
    "sections are gone": ("hold: {then: Are you back?}\nfillers: {say: Wait.}\n", ""),
}
"""Two versions between which a call may change its worker without a word in the flow."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("back", [False, True], ids=["deploy", "rollback"])
def test_what_a_call_does_not_need_is_edited_freely(edit: str, back: bool, tmp_path: Path) -> None:
    old, new = EDITS[edit][::-1] if back else EDITS[edit]
    assert Version(tmp_path, flow=HOTEL + old).killed(asks(), posted("tool_started"))
    version = Version(tmp_path, flow=HOTEL + new)
    assert version.heard() == [PERHAPS]
    assert version.booked() == 0


def test_the_result_of_a_tool_that_is_gone_is_told(tmp_path: Path) -> None:
    assert Version(tmp_path).killed(asks(), noted("tool_ended"))
    assert Version(tmp_path, tool="").heard() == [BOOKED]


def test_a_call_of_a_renamed_tool_is_not_made_again(tmp_path: Path) -> None:
    """The model sees its call under the new name, and if it repeats it, gets the same result."""
    assert Version(tmp_path).killed(asks(), noted("tool_ended"))
    version = Version(tmp_path, flow=RENAMED, tool="book_table", repeats=True)
    outcome = version.gone_on(silent(), 12.0)
    calls = [item.name for item in outcome.history.items if item.type == "function_call"]
    assert calls == ["book_table", "book_table"], outcome.timeline()
    assert version.booked() == 1


@pytest.mark.parametrize("back", [False, True], ids=["deploy", "rollback"])
def test_a_renamed_tool_says_what_became_of_its_call(back: bool, tmp_path: Path) -> None:
    """Also after a rollback: the flow from before the change has no entry, so the store has it."""
    old, new = Version(tmp_path), Version(tmp_path, flow=RENAMED, tool="book_table")
    first, second = (new, old) if back else (old, new)
    assert first.killed(asks(), posted("tool_started"))
    second = attrs.evolve(second, mark=recover_with(found))
    outcome = second.gone_on(silent(), 12.0)
    assert [one.text for one in outcome.heard] == [BOOKED], outcome.timeline()
    outputs = [i.output for i in outcome.history.items if i.type == "function_call_output"]
    assert outputs == [f"done by {second.tool}"]


SAYS_AGAIN = f"{HOTEL}agenda: {{settle: {{interrupted_by_application: {{sole_result: open}}}}}}\n"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [(SAYS_AGAIN, HOTEL, [BOOKED]), (HOTEL, SAYS_AGAIN, [])],
    ids=["it was open", "it was done"],
)
def test_the_old_agenda_says_what_is_still_to_be_delivered(
    old: str, new: str, told: list[str], tmp_path: Path
) -> None:
    """It has decided when the reply was interrupted; the new one decides about what comes later."""
    version = Version(tmp_path, flow=old, interrupts=5.8)
    assert version.killed(asks(), noted("reply_ended", by="application"))
    assert Version(tmp_path, flow=new).heard() == told


RENAMES = {
    "it says so": (HOTEL, "flow: inn\nextends: turn\nmigrates: {flow: hotel}\n"),
    "it extends the other": ("", HOTEL),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("how", RENAMES)
@pytest.mark.parametrize("back", [False, True], ids=["deploy", "rollback"])
def test_a_flow_with_another_name_continues_what_it_replaces(
    how: str, back: bool, tmp_path: Path
) -> None:
    versions = [Version(tmp_path, flow=text) for text in RENAMES[how]]
    first, second = reversed(versions) if back else versions
    assert first.killed(asks(), noted("tool_ended"))
    assert second.heard() == [BOOKED]


def test_an_unrelated_flow_is_refused_with_the_remedy_and_nothing_is_lost(tmp_path: Path) -> None:
    """The next worker under the right flow continues."""
    assert Version(tmp_path).killed(asks(), noted("tool_ended"))
    with pytest.raises(StoreError) as refused:
        Version(tmp_path, flow="extends: turn\nflow: inn\n").heard()
    assert "hotel.yaml:2:7: error: flow 'inn' does not continue" in str(refused.value)
    assert "migrates: {flow: hotel}" in str(refused.value)
    assert Version(tmp_path).heard() == [BOOKED]


def test_a_worker_under_an_unrelated_flow_takes_nothing_from_the_one_that_runs(
    tmp_path: Path,
) -> None:
    """It is refused, and the conversation goes on where it is."""
    right, wrong = Version(tmp_path), Version(tmp_path, flow="extends: turn\nflow: inn\n")
    other = tmp_path / "same.db"
    right.path.touch(0o600)
    other.symlink_to(right.path)  # one process refuses two sessions of one name

    async def both() -> Outcome:
        async def refused() -> None:
            await asyncio.sleep(3.0)
            with pytest.raises(StoreError, match="flow 'inn' does not continue"):
                await wrong.stage(silent(), store=other).play(2.0)

        outcome, _ = await asyncio.gather(right.stage(asks()).play(12.0), refused())
        return outcome

    outcome = run(both())
    assert BOOKED in [heard.text for heard in outcome.heard], outcome.timeline()


def test_a_rolling_deploy_and_its_rollback_lose_nothing(tmp_path: Path) -> None:
    """One version dies while the tool runs, the other as it tells the result, and so on."""
    old, new = versions(tmp_path)
    assert old.killed(asks(), posted("tool_started"))
    assert new.killed(silent(), noted("resumed"))
    assert old.killed(silent(), posted("playout_started"))
    assert new.heard() == [BOOKED]
    assert new.booked() == 0
