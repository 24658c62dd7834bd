"""A language model of the user's own, in the place of the scripted one."""

import os
from importlib import import_module
from typing import Any

from livekit.agents import inference, llm

from fsm.errors import TurnfsmError

__all__ = ["ModelUnavailable", "make_model"]

_OPENAI = "openai/"


class ModelUnavailable(TurnfsmError):
    """The model cannot be used: a key or a package is missing."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"error: {problem}\n  = help: {remedy}")


def make_model(name: str) -> llm.LLM[Any]:
    """A model by its name, with the keys of the environment.

    ``openai/...`` goes to OPENAI_BASE_URL, or to OpenAI, where OPENAI_API_KEY is set; all else,
    and without that key ``openai/...`` too, to LiveKit's inference.
    """
    if "/" not in name:
        raise ModelUnavailable(
            f"{name!r} is no name of a model", "name it as provider/model, such as openai/gpt-4.1"
        )
    if name.startswith(_OPENAI) and os.environ.get("OPENAI_API_KEY"):
        return _compatible(name.removeprefix(_OPENAI))
    missing = [k for k in ("LIVEKIT_API_KEY", "LIVEKIT_API_SECRET") if not os.environ.get(k)]
    if missing:
        own = f"; or OPENAI_API_KEY for {name} itself" if name.startswith(_OPENAI) else ""
        raise ModelUnavailable(
            f"the model {name} needs a key: {' and '.join(missing)} not set in the environment",
            f"set LIVEKIT_API_KEY and LIVEKIT_API_SECRET for LiveKit's inference{own}",
        )
    return inference.LLM(name)


def _compatible(model: str) -> llm.LLM[Any]:
    try:
        openai = import_module("livekit.plugins.openai")
    except ImportError as error:
        raise ModelUnavailable(
            f"an OpenAI-compatible model needs the package livekit-plugins-openai: {error}",
            "pip install livekit-plugins-openai",
        ) from error
    made: llm.LLM[Any] = openai.LLM(model=model)
    return made
