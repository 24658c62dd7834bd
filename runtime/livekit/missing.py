"""Reports that the installed livekit-agents lacks something that turnfsm needs."""

from __future__ import annotations

import logging
from functools import cache

from turnfsm.runtime.livekit_contract import check, installed

from .overrides import LEFT_OUT

__all__ = ["require_livekit"]

logger = logging.getLogger("turnfsm")


def require_livekit(*, strict: bool) -> None:
    """Refuse an unsupported livekit-agents, or log which guarantees are missing with it.

    Raises:
        UnsupportedLiveKit: It is not supported, and `strict` is set.
    """
    if strict:
        _supported()
    for feature, guarantee in LEFT_OUT.items():
        logger.warning(
            "livekit-agents %s lacks private names that turnfsm needs; without %s there is no "
            "promise that %s",
            *(installed(), feature, guarantee),
        )


@cache
def _supported() -> None:
    """Success is cached for the process; an error is raised each time."""
    check()
