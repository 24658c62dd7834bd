"""Pipecat is imported once, without the warnings of what it imports itself, and without its log."""

import importlib
import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        from loguru import logger

        logger.disable("pipecat")
        importlib.import_module("pipecat.pipeline.worker")
        importlib.import_module("pipecat.services.tts_service")
        importlib.import_module("pipecat.workers.runner")
        logger.enable("pipecat")
    except ModuleNotFoundError:
        """The modules skip themselves, and say why."""


@pytest.fixture(autouse=True)
def _no_log_of_pipecat() -> Iterator[None]:
    logger = pytest.importorskip("loguru").logger
    logger.disable("pipecat")
    yield
    logger.enable("pipecat")
