"""Explains errors of a YAML parser, and says how to fix them."""

from __future__ import annotations

import re

import yaml

from turnfsm.fsm.diagnostics import Finding
from turnfsm.fsm.errors import quoted
from turnfsm.fsm.source import Location, Page

__all__ = ["explain_syntax"]

_QUOTE = "write the whole text in quotes"
_SPACES = "YAML is indented with spaces: use two"
_APOSTROPHE = "write '' for an apostrophe inside quotes"
_NEIGHBOUR = "indent it like the other keys of its block"

# The messages of libyaml and of PyYAML's own parser, and ours with a remedy. {c} is the character.
_PROBLEMS = (
    ("found a tab character", "a tab indents this line", _SPACES),
    ("mapping values are not allowed", "':' cannot stand here", _QUOTE),
    ("found unexpected ':'", "':' cannot stand here", "put a space after it"),
    ("sequence entries are not allowed", "a list cannot begin here", "begin it on the next line"),
    ("found unknown escape", "this escape is unknown", "use single quotes, or double the '\\'"),
    ("character escape code", "this escape names no character", "write the character itself"),
    ("hex", "this escape is incomplete", "use single quotes, or double the '\\'"),
    ("found unexpected document", "a document ends inside quotes", "close the quotes"),
    ("expected alphabetic or numeric", "'*' and '&' need a name", f"{_QUOTE}, if it is text"),
    ("comment or line break", "a text block begins on the next line", "break the line here"),
    ("comment or a line break", "a text block begins on the next line", "break the line here"),
    ("chomping", "a text block begins on the next line", "break the line here"),
    ("node content", "a value is missing before {c}", "write it, or remove {c}"),
    ("expected '-' indicator", "a list ends here, yet its block goes on", "begin it with '- '"),
    ("expected <document start>", "the flow has ended above", "indent this, or remove the '...'"),
    ("expected '<document start>'", "the flow has ended above", "indent this, or remove the '...'"),
    ("incompatible YAML", "this version of YAML is unknown", "remove the line"),
    ("duplicate %YAML", "the directive is given twice", "remove the line"),
    ("tag handle", "tags are not allowed", "a flow is plain data: remove the tag"),
)


def explain_syntax(page: Page, exc: yaml.MarkedYAMLError) -> Finding:
    """The finding for an error of a YAML parser."""
    problem = exc.problem or ""
    mark, context = _place(page, exc.problem_mark), _place(page, exc.context_mark)
    at, message, remedy = _special(page, problem, mark, context) or _common(problem, mark)
    return at.finding(message, remedy, code="syntax")


def _special(
    page: Page, problem: str, mark: Location, context: Location
) -> tuple[Location, str, str] | None:
    line, character = page.line(mark.line), _character(mark)
    if "cannot start any token" in problem:
        return _token(mark, character)
    if "mapping values" in problem and not re.search(r":\s", line[: mark.column - 1]):
        joined = re.search(r"(\w+):(\S+)$", page.line(mark.line - 1))
        spaced = joined and f"put a space after the colon above: '{joined[1]}: {joined[2]}'"
        return mark, "':' cannot stand here, below a text", spaced or _NEIGHBOUR
    if "unexpected end of stream" in problem:
        return context, "the quote that opens here is never closed", "close it"
    if "could not find expected ':'" in problem:
        return context, "this is no 'name: value'", "put ':' and a value behind it"
    if "',' or" in problem:
        return _bracket(page, mark, context, character)
    if "expected key" in problem or "<block end>" in problem:
        return _block(mark, line, character)
    return None


def _token(mark: Location, character: str) -> tuple[Location, str, str]:
    if character == "\t":
        return mark, "a tab indents this line", _SPACES
    return mark, f"a text cannot begin with {quoted(character)}", _QUOTE


def _bracket(
    page: Page, mark: Location, opened: Location, character: str
) -> tuple[Location, str, str]:
    bracket = _character(opened)
    close = "}" if bracket == "{" else "]"
    if mark.line > opened.line or not character:
        return opened, f"{quoted(bracket)} is never closed", f"add {quoted(close)}"
    if character in "]}":
        message = f"{quoted(character)} closes what {quoted(bracket)} opened"
        return mark, message, f"write {quoted(close)}"
    if _behind_apostrophe(mark):
        return mark, "the text has ended before this", _APOSTROPHE
    message = f"',' or {quoted(close)} is missing before {quoted(character)}"
    return mark, message, f"{_QUOTE}, if {quoted(character)} is part of it"


def _block(mark: Location, line: str, character: str) -> tuple[Location, str, str]:
    if character and character in "]}":
        return mark, f"{quoted(character)} closes nothing", "remove it"
    if _behind_apostrophe(mark):
        return mark, "the text has ended before this", _APOSTROPHE
    if line[: mark.column - 1].strip():
        return mark, "the value has ended before this", f"{_QUOTE}, or remove this"
    if line[mark.column - 1 :].startswith("- "):
        return mark, "a list item cannot stand here", "indent it below the key of its list"
    return mark, "this line belongs to no block", _NEIGHBOUR


def _behind_apostrophe(mark: Location) -> bool:
    before = mark.page.line(mark.line)[: mark.column - 1]
    return before.endswith("'") and _character(mark).isalnum()


def _common(problem: str, mark: Location) -> tuple[Location, str, str]:
    shown = quoted(_character(mark)) if _character(mark) else "the end"
    for pattern, message, remedy in _PROBLEMS:
        if pattern in problem:
            return mark, message.replace("{c}", shown), remedy.replace("{c}", shown)
    return mark, f"this is not YAML: {problem or 'it cannot be read'}", _QUOTE


def _character(mark: Location) -> str:
    return mark.page.line(mark.line)[mark.column - 1 : mark.column]


def _place(page: Page, where: yaml.Mark | None) -> Location:
    """The parser's position; at the end of the text, the last line with content."""
    if where is None:
        return Location(page)
    line, column = where.line + 1, where.column + 1
    while line > 1 and not page.line(line).strip():
        line -= 1
        column = len(page.line(line)) + 1
    return Location(page, line, column)
