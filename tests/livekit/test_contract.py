"""Every private name of livekit-agents is used in one place, listed, and checked at import."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import contract_table
import pytest
from governed import GOVERNED
from livekit.agents.voice import agent_activity, tool_executor
from livekit.agents.voice.agent_activity import AgentActivity
from livekit.agents.voice.run_result import RunResult
from livekit.agents.voice.speech_handle import SpeechHandle

import turnfsm.runtime.livekit
from turnfsm.livekit import SUPPORTED, UnsupportedLiveKit
from turnfsm.runtime.livekit import stock
from turnfsm.runtime.livekit_contract import FEATURES, ORDERS, PRIVATE_NAMES, contract
from turnfsm.runtime.livekit_contract.names import PrivateName

BINDING = Path(turnfsm.runtime.livekit.__file__).parent
OVERRIDES = sorted((BINDING / "overrides").glob("*.py"))

PLUGIN = {
    *("_event_ch", "_input_ch", "_input_text", "_FlushSentinel"),
    *("_llm", "_stt", "_tts", "_vad", "_chat_ctx", "_tools", "_conn_options"),
}
"""What livekit-agents gives to the plugins that implement its models; the scripted ones do."""


PUBLIC = {stock.AgentSession, RunResult, SpeechHandle}
"""The governed classes that are part of LiveKit's API."""


def test_the_installed_livekit_fits() -> None:
    """The overrides find every name as they expect it, or this suite would mean nothing."""
    assert contract.lost() == []
    contract.check()


def test_the_range_is_the_one_that_is_installed() -> None:
    """The binding and the package ask for the same livekit-agents."""
    project = tomllib.loads((BINDING.parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"livekit-agents{SUPPORTED}" in project["optional-dependencies"]["livekit"]
    makefile = (BINDING.parents[2] / "Makefile").read_text("utf-8")
    assert f"\nOLDEST ?= {SUPPORTED.removeprefix('>=').partition(',')[0]}\n" in makefile


@pytest.mark.parametrize("version", ["1.8.6", "1.7.1", "1.9.0", "2.0.0b2", "of unknown version"])
def test_another_version_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error names the version that is there, those that fit, and the remedy."""
    monkeypatch.setattr(contract, "installed", lambda: version)
    with pytest.raises(UnsupportedLiveKit) as caught:
        contract.check()
    said = str(caught.value)
    assert f"livekit-agents {version} is installed, turnfsm supports {SUPPORTED}" in said
    assert "pip install 'turnfsm[livekit]'" in said


@pytest.mark.parametrize("version", ["1.8.7", "1.8.9", "1.8.12", "1.8.10rc1", "2.0.0b1"])
def test_a_later_one_of_the_series_is_tried(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the range the names decide, so that a bug-fix release needs none of ours."""
    monkeypatch.setattr(contract, "installed", lambda: version)
    contract.check()


def _no_constructor(self: object) -> None:
    """Sets nothing."""


def _other_order(self: AgentActivity) -> None:
    if self._pause_enabled() and self._session.options.interruption["min_words"]:  # type: ignore[attr-defined]
        self._aec_warmup_timer, self._rt_turn_detection_enabled = None, None  # type: ignore[assignment]
        self._current_speech.allow_interruptions.pause.interrupt()  # type: ignore[union-attr]


CHANGES = [
    (AgentActivity, "_schedule_speech", None, "the method AgentActivity._schedule_speech is"),
    (
        AgentActivity,
        "_schedule_speech",
        lambda self, speech, when: None,
        "AgentActivity._schedule_speech takes (self, speech, when), not (self speech priority",
    ),
    (
        AgentActivity,
        "preemptive_generation_opts",
        None,
        "the property AgentActivity.preemptive_generation_opts is missing",
    ),
    (
        SpeechHandle,
        "__init__",
        _no_constructor,
        "the attribute SpeechHandle._generations is missing",
    ),
    (
        AgentActivity,
        "drain",
        _no_constructor,
        "the task AgentActivity.AgentTask_on_exit is missing",
    ),
    (
        agent_activity,
        "forward_generation",
        lambda audio: None,
        "forward_generation takes (audio), not (audio_source text_source",
    ),
    (
        tool_executor,
        "_ToolExecutor",
        None,
        "the global _ToolExecutor is missing",
    ),
    (
        agent_activity,
        "AgentActivity",
        None,
        "livekit.agents.voice.agent_activity.AgentActivity is missing",
    ),
    (
        AgentActivity,
        "_interrupt_by_audio_activity",
        _other_order,
        "AgentActivity._interrupt_by_audio_activity works in another order: LiveKit must check",
    ),
]


@pytest.mark.parametrize(
    ("owner", "name", "new", "said"), CHANGES, ids=[change[3][:50] for change in CHANGES]
)
def test_a_change_in_livekit_is_named(
    owner: object, name: str, new: object, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is renamed, removed, called otherwise or done in another order is said by name."""
    if new is None:
        monkeypatch.delattr(owner, name)  # type: ignore[arg-type]
    else:
        monkeypatch.setattr(owner, name, new)
    assert [problem for problem in contract.lost() if problem.said.startswith(said)]
    with pytest.raises(UnsupportedLiveKit, match=re.escape(said)):
        contract.check()


def test_every_name_is_of_a_feature() -> None:
    """What is lost if it goes is said; and no feature is without a name."""
    assert {row.feature for row in (*PRIVATE_NAMES, *ORDERS)} == set(FEATURES)


def _both(row: PrivateName) -> set[str]:
    """Its name, and that in livekit-agents 2.0."""
    return {row.name, *(row.instead or ())[1:]}


def test_every_used_name_is_listed() -> None:
    """The list has exactly what the overrides touch."""
    touched = {name for path in OVERRIDES for name in _names(path)}
    listed = {name for row in PRIVATE_NAMES for name in _both(row)}
    private = {name for name in touched if _private(name)}
    assert private - listed - _ours() == set()
    assert listed - touched == set()


def test_every_override_is_listed() -> None:
    """Each override of something of LiveKit's is in the list, except the public methods of its
    public classes."""
    listed = {name for row in PRIVATE_NAMES for name in _both(row)}
    for governed in GOVERNED:
        bases = _theirs(governed)
        theirs = {name for base in bases for name in (*dir(base), *_set_by(base))}
        if PUBLIC.intersection(bases):
            theirs = {name for name in theirs if name.startswith("_")}
        ours = {name for path in OVERRIDES for name in _defined(path)} & set(vars(governed))
        assert {name for name in ours & theirs - listed if not name.startswith("__")} == set()


@pytest.mark.parametrize(
    "path", [p for p in sorted(BINDING.rglob("*.py")) if p not in OVERRIDES], ids=lambda p: p.stem
)
def test_no_private_name_is_used_elsewhere(path: Path) -> None:
    """Outside the overrides no code uses a private name of LiveKit's, not even by a string."""
    tree = ast.parse(path.read_text("utf-8"))
    near = (*path.parent.glob("*.py"), *(BINDING / "testing").glob("*.py"))
    foreign = {row.name for row in PRIVATE_NAMES}
    own = {name for neighbour in near for name in _defined(neighbour)} - foreign
    found = {f"{path.name}:{n}: {what}" for n, what in _reaches(tree, own | _defined(path))}
    assert found == set()


def test_the_page_lists_them() -> None:
    """The table in docs/livekit.md is the list."""
    assert contract_table.written() == contract_table.table(), (
        "the table is out of date; python tests/livekit/contract_table.py writes it again"
    )


def _names(path: Path) -> Iterator[str]:
    """The attributes, imported names, definitions and strings of a file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Attribute(attr=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Constant(value=str(name)):
                yield name
            case ast.ImportFrom(module=str(module), names=names) if "livekit" in module:
                yield from (alias.name for alias in names)


@cache
def _defined(path: Path) -> set[str]:
    """What a file defines in its classes and sets on `self`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found.add(name)
    return found


def _ours() -> set[str]:
    """Private names of the overrides that LiveKit's classes do not have."""
    theirs = {name for cls in GOVERNED for base in _theirs(cls) for name in _set_by(base)}
    theirs |= {name for cls in GOVERNED for base in _theirs(cls) for name in dir(base)}
    defined = {name for path in OVERRIDES for name in _defined(path)}
    strange = {"_GatesPassed", "_CommitRefused", "_final"}
    return (defined - theirs) | strange


def _theirs(governed: type) -> list[type]:
    return [base for base in governed.__mro__[1:-1] if base not in GOVERNED]


def _set_by(base: type) -> frozenset[str]:
    built = inspect.isfunction(vars(base).get("__init__"))
    return contract._assigned(contract._code(base.__init__)) if built else frozenset()  # type: ignore[misc]


def _reaches(tree: ast.AST, own: set[str]) -> Iterator[tuple[int, str]]:
    foreign = {row.name for row in PRIVATE_NAMES}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                reaches = name not in own | PLUGIN
            case ast.Attribute(attr=name):
                reaches = name not in (own - foreign) | {"_FlushSentinel"}
            case ast.ImportFrom(module=str(module), names=names):
                name = next((alias.name for alias in names if _private(alias.name)), "")
                reaches = module.startswith("livekit")
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(n), *_]):
                name, reaches = str(n), True
            case _:
                continue
        if reaches and _private(name):
            yield node.lineno, ast.unparse(node)


def _private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")
