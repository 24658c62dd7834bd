"""The flows of conversations that need more than the shipped flow `turn`."""

from __future__ import annotations

from turnfsm.fsm import parse_flow

__all__ = ["CORRECTS"]

CORRECTS, _ = parse_flow(
    """\
flow: inn
extends: turn
tools: {corrects: {book: {same: guest}}}
"""
)
"""A newer call of `book` for the same guest replaces an earlier one."""
