"""Loads YAML as a flow, and reports all problems of a file at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TypeAlias

import attrs

from turnfsm.fsm.diagnostics import Finding, render_findings
from turnfsm.fsm.errors import FlowError, closest, near, quoted
from turnfsm.fsm.flow import Flow
from turnfsm.fsm.source import Node, Page, Source, Unreadable

from .extends import Merge
from .names import check_names
from .resolve import resolve
from .sections import check_sections, with_sections
from .structure import structure_as
from .written import FlowFile
from .written_rules import check_written
from .yaml12 import MAX_BYTES, read_nodes, too_large, unfold

__all__ = ["load_flow", "load_shipped", "parse_flow", "shipped_flows"]

MAX_FINDINGS = 100
MAX_BASES = 8

_SHELF = Path(__file__).parents[2] / "specs"


def shipped_flows() -> dict[str, Path]:
    """The flows that come with turnfsm.

    Returns:
        Name to path.

    Example:
        >>> from turnfsm import shipped_flows
        >>> shipped_flows()["turn"].name
        'turn.yaml'
    """
    return dict(_on_the_shelf())


@cache
def _on_the_shelf() -> Mapping[str, Path]:
    return {path.stem: path for path in sorted(_SHELF.glob("*.yaml"))}


def parse_flow(text: str, file: str = "<flow>") -> tuple[Flow | None, list[Finding]]:
    """Read a flow from a text, with all of its problems.

    Args:
        text: The YAML.
        file: The file name for findings. A relative `extends` starts in its folder.

    Returns:
        The flow, or None if there are errors; and the findings, in the order of the lines.

    Example:
        >>> from turnfsm import parse_flow
        >>> flow, findings = parse_flow("{flow: door, initial: shut, states: {shut: {}}}")
        >>> flow.initial, findings
        ('shut', [])
    """
    page = Page(file, text.removeprefix("\ufeff"))
    flow, findings = _parse(page, Path(file))
    return flow, _in_order(findings)


def load_flow(name_or_path: str | Path) -> Flow:
    """Load a shipped flow by its name, or a file by its path.

    Args:
        name_or_path: Such as ``"turn"`` or ``"mine.yaml"``. A shipped flow is read only once.

    Returns:
        The flow, merged with the flow that it extends. It is valid, but not yet proved.

    Raises:
        FlowError: The file cannot be read, or is not a flow. The message has every finding with
            file, line, column and remedy.

    Example:
        >>> load_flow("turn").initial
        'listening'
        >>> load_flow("push_to_talk").timers["false_interruption"]  # seconds
        2.0
    """
    path = _locate(str(name_or_path))
    if path == Path(name_or_path):
        return _load(path, str(path))
    return load_shipped(path.stem)


@cache
def load_shipped(name: str) -> Flow:
    """Load a shipped flow, the same object each time, even if the current folder has a file of that
    name.

    Raises:
        KeyError: There is no such flow.

    Example:
        >>> from turnfsm.fsm.load import load_shipped
        >>> load_shipped("utterance").name
        'utterance'
    """
    path = _on_the_shelf()[name]
    # A shipped flow is shown by its name: its path would tell the reader nothing.
    return _load(path, path.name)


def _load(path: Path, called: str) -> Flow:
    page, problem = _read(path, called)
    flow, findings = (None, [problem]) if problem else _parse(page, path)
    findings = _in_order(findings)
    if flow is None:
        raise FlowError(render_findings(findings), findings)
    return flow


def _parse(page: Page, path: Path) -> tuple[Flow | None, list[Finding]]:
    source = Source(page)
    root, findings = _merged(read_nodes(page), path, source, ())
    if root is None:
        return None, findings
    try:
        data = unfold(root, source)
    except Unreadable as exc:
        return None, [*findings, exc.finding]
    file, problems = structure_as(FlowFile, data, source)
    flow = None
    if file is not None:
        sections = check_sections(file, source)
        parts = with_sections(file, source)
        problems = chain(sections, check_written(parts.file, source))
        flow = resolve(parts.file, source, parts.paced)
        for part, place in parts.places.items():
            source.alias(part, place)
        for fork in parts.forks:
            flow = fork.applied(flow, source)
        problems = chain(problems, check_names(flow, source))
    unread = _follows(findings)
    findings += islice((p for p in problems if not unread(p)), MAX_FINDINGS + 1)
    if any(f.severity == "error" for f in findings):
        return None, findings
    return flow, findings


def _follows(findings: list[Finding]) -> Callable[[Finding], bool]:
    """Whether a problem is only a consequence of a syntax error."""
    places = {finding.place for finding in findings}
    lost = any(finding.code in {"key", "merge-key"} for finding in findings)
    return lambda p: p.place in places or (lost and p.code in {"missing-key", "no-state"})


def _in_order(findings: list[Finding]) -> list[Finding]:
    # Aliases and inheritance may find one mistake several times: report it once.
    unique = _joined(sorted({(f.place, f.code, f.message): f for f in findings}.values()))
    if len(unique) <= MAX_FINDINGS:
        return unique
    message = f"more than {MAX_FINDINGS} problems: from here on they are not shown"
    last = attrs.evolve(
        unique[MAX_FINDINGS], message=message, remedy="fix these first", code="too-many"
    )
    return [*unique[:MAX_FINDINGS], last]


def _joined(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for a removed name and all places that use it."""
    joined: dict[tuple[str, ...], Finding] = {}
    for finding in findings:
        head, used, place = finding.message.partition(", yet used in ")
        key = (finding.place, finding.code, head, finding.remedy if used else place)
        if (first := joined.setdefault(key, finding)) is not finding:
            joined[key] = attrs.evolve(first, message=f"{first.message}, {place}")
    return list(joined.values())


_Read: TypeAlias = tuple[Node | None, list[Finding]]


@cache
def _read_shipped(file: str, text: str) -> _Read:
    """The nodes of a base, which every flow that extends it copies."""
    return read_nodes(Page(file, text, shipped=True))


def _merged(read: _Read, path: Path, source: Source, above: tuple[Path, ...]) -> _Read:
    root, found = read
    findings = [*found]
    extends = root.value.get("extends") if root and isinstance(root.value, dict) else None
    if root is None or extends is None or extends.value is None:
        return root, findings
    base, problems = _read_base(extends, path, source, (*above, path))
    findings += problems
    if base is None or not isinstance(base.value, dict):
        return base, findings  # the caller reports a base that is not a mapping
    merge = Merge(str(extends.value))
    merged = merge.merge(base, root)
    source.removed.update(merge.removed)
    source.removed_to.update(merge.removed_to)
    source.added.update(merge.added)
    if (name := base.value.get("flow")) is not None:
        source.bases.add(str(name.value))
    return merged, findings + merge.findings


def _read_base(extends: Node, path: Path, source: Source, above: tuple[Path, ...]) -> _Read:
    name, mark = extends.value, extends.mark
    if not isinstance(name, str):
        message, remedy = "expected the name of a flow", "write a name or a path: 'extends: turn'"
        return None, [mark.finding(message, remedy, code="type")]
    base = _base_path(name, path)
    if base is None:
        message = f"no flow {quoted(name)}"
        return None, [mark.finding(message, _shipped_near(name), code="unknown-flow")]
    if base.resolve() in [p.resolve() for p in above] or len(above) > MAX_BASES:
        chain = " -> ".join(p.name for p in (*above, base))
        message = f"the flow extends itself: {chain}"
        if len(above) > MAX_BASES:
            message = f"the flow has more than {MAX_BASES} bases"
        return None, [mark.finding(message, "remove one 'extends'", code="extends-cycle")]
    page, problem = _read(base, base.name if _shipped(base) else str(base))
    if problem:
        message = f"{quoted(name)} cannot be extended: {problem.message}"
        return None, [mark.finding(message, problem.remedy, code="unknown-flow")]
    read = _read_shipped(page.file, page.text) if page.shipped else read_nodes(page)
    return _merged(read, base, source, above)


def _base_path(name: str, path: Path) -> Path | None:
    if name.endswith((".yaml", ".yml")):
        return path.parent / name
    return shipped_flows().get(name)


def _shipped(path: Path) -> bool:
    return path in shipped_flows().values()


def _read(path: Path, file: str) -> tuple[Page, Finding | None]:
    page = Page(file, "", _shipped(path))
    try:
        if path.exists() and not path.is_file():
            message = "it is a folder" if path.is_dir() else "it is no regular file"
            return page, page.whole.finding(message, "name a file", code="unreadable")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return page, too_large(page)
        return attrs.evolve(page, text=data.decode("utf-8-sig")), None
    except UnicodeDecodeError as exc:
        return page, _not_utf8(file, exc)
    except (OSError, ValueError) as exc:  # ValueError: a path with a NUL
        reason = (getattr(exc, "strerror", None) or str(exc)).lower()
        remedy = _meant(path) if isinstance(exc, FileNotFoundError) else "name a readable file"
        return page, page.whole.finding(reason, remedy, code="unreadable")


def _meant(path: Path) -> str:
    if path.stem in shipped_flows():
        return f"the flow that comes with turnfsm is called {path.stem!r}, without {path.suffix!r}"
    if not path.parent.is_dir():
        return f"there is no folder {quoted(path.parent)}"
    others = {other.stem: other.name for other in sorted(path.parent.glob("*.y*ml"))}
    meant = closest(path.stem, others)
    return f"did you mean {others[meant]!r}?" if meant else "name a readable file"


def _not_utf8(file: str, exc: UnicodeDecodeError) -> Finding:
    good = Page(file, exc.object[: exc.start].decode("utf-8"))
    mark = good.mark(len(good.text))
    message = f"byte 0x{exc.object[exc.start]:02X} is not UTF-8"
    return mark.finding(message, "save the file as UTF-8", code="encoding")


def _locate(name: str) -> Path:
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or _there(path, Path.is_file):
        return path
    shipped = _on_the_shelf()
    if name in shipped:
        return shipped[name]
    if _there(path, Path.exists):
        return path
    message, remedy = f"no flow {quoted(name)}", _shipped_near(name)
    finding = Page(name, "").whole.finding(message, remedy, code="unknown-flow")
    raise FlowError(f"{message}; {remedy}", [finding])


def _shipped_near(name: str) -> str:
    remedy = near(name, shipped_flows())
    return remedy if remedy.endswith("?") else f"{remedy}; or name a .yaml file"


def _there(path: Path, test: Callable[[Path], bool]) -> bool:
    try:
        return test(path)
    except (OSError, ValueError):  # too long for the system, or with a NUL
        return False
