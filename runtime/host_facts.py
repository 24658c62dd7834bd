"""Host facts: facts that the host is asked for during a decision."""

from __future__ import annotations

import logging

__all__ = ["answers_of"]

logger = logging.getLogger("turnfsm")


def answers_of(
    host: object, facts: tuple[str, ...]
) -> tuple[dict[str, bool], list[tuple[str, Exception]]]:
    """The answers of the host's methods, and which of them raised."""
    answers: dict[str, bool] = {}
    failed: list[tuple[str, Exception]] = []
    for name in facts:
        try:
            answers[name] = bool(getattr(host, name)())
        except Exception as exc:
            logger.error("host fact %r raised; its last value is used", name, exc_info=exc)
            failed.append((name, exc))
    return answers, failed
