"""Host facts: what the host knows, asked at the moment of a decision."""

from __future__ import annotations

import logging

__all__ = ["answers_of"]

logger = logging.getLogger("turnfsm")


def answers_of(
    host: object, facts: tuple[str, ...]
) -> tuple[dict[str, bool], list[tuple[str, Exception]]]:
    """What the host's methods answer, and which of them raised."""
    answers: dict[str, bool] = {}
    failed: list[tuple[str, Exception]] = []
    for name in facts:
        try:
            answers[name] = bool(getattr(host, name)())
        except Exception as exc:
            logger.error("host fact %r raised; it keeps its value", name, exc_info=exc)
            failed.append((name, exc))
    return answers, failed
