"""Pipecat is imported once, without the warnings of what it imports itself."""

import importlib
import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        importlib.import_module("pipecat.pipeline.worker")
        importlib.import_module("pipecat.services.tts_service")
        importlib.import_module("pipecat.workers.runner")
    except ModuleNotFoundError:  # `make pipecat` installs it
        collect_ignore_glob = ["test_*.py"]
