"""YAML to a Flow; every problem of a file at once."""

from __future__ import annotations

from pathlib import Path

from .diagnostics import Finding, render_findings
from .errors import FlowError, near
from .flow import Flow
from .names import check_names
from .source import read_source
from .structure import structure

__all__ = ["load_flow", "parse_flow", "shipped_flows"]

_PACKAGE = Path(__file__).parent
# In a wheel the flows lie inside the package; in a checkout beside it.
_SHELVES = (_PACKAGE / "specs", _PACKAGE.parent / "specs")


def shipped_flows() -> dict[str, Path]:
    """The flows that come with turnfsm, by name."""
    shelf = next((s for s in _SHELVES if s.is_dir()), None)
    return {p.stem: p for p in sorted(shelf.glob("*.yaml"))} if shelf else {}


def parse_flow(text: str, file: str = "<flow>") -> tuple[Flow | None, list[Finding]]:
    """The flow in a text and everything that is wrong with it, in the order of its lines.

    A flow with findings of severity ``error`` is None.
    """
    data, source, findings = read_source(text, file)
    if data is None and findings:
        return None, sorted(findings)
    flow, problems = structure(data, source)
    findings += problems
    if flow is not None:
        findings += check_names(flow, source)
    failed = any(f.severity == "error" for f in findings)
    return (None if failed else flow), sorted(findings)


def load_flow(name_or_path: str | Path) -> Flow:
    """A shipped flow by its name, or a file by its path.

    Raises:
        FlowError: The file cannot be read, or is not a flow; the message holds every finding.
    """
    path = _locate(str(name_or_path))
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as exc:
        raise FlowError(f"{path}: not UTF-8 text (byte {exc.start}); save it as UTF-8") from None
    except OSError as exc:
        why = (exc.strerror or str(exc)).lower()
        raise FlowError(f"{path}: {why}; name a readable file") from None
    # A shipped flow is called by its name: where it lies says nothing to the reader.
    file = str(path) if path == Path(name_or_path) else path.name
    flow, findings = parse_flow(text, file)
    if flow is None:
        raise FlowError(render_findings(findings), findings)
    return flow


def _locate(name: str) -> Path:
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or path.is_file():
        return path
    shipped = shipped_flows()
    if name in shipped:
        return shipped[name]
    raise FlowError(f"no flow {name!r}; {near(name, shipped)}; or name a .yaml file")
