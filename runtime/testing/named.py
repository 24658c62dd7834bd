"""Loads an object by name: `module:Name` or `file.py:Name`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from turnfsm.fsm import TurnfsmError
from turnfsm.fsm.errors import near

__all__ = ["load_named"]


def load_named(name: str, folder: Path, where: str) -> Any:
    """Load the object with this name.

    Args:
        name: ``module:Name`` or ``file.py:Name``.
        folder: A file's path is relative to it.
        where: The beginning of an error message.

    Raises:
        TurnfsmError: There is no such module, file or name, or it cannot be imported.
    """
    home, _, attribute = name.rpartition(":")
    if not home or not attribute:
        raise TurnfsmError(f"{where} {name!r}: write 'module:Name' or 'file.py:Name'")
    try:
        module = _file(folder / home) if home.endswith(".py") else import_module(home)
    except FileNotFoundError as error:
        raise TurnfsmError(f"{where} {name!r}: {error}") from None
    except Exception as error:  # whatever the user's own module raises
        why = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
        if isinstance(error, ModuleNotFoundError) and error.name == home.partition(".")[0]:
            why += (
                f"; write its file, relative to {folder}, such as '../{error.name}.py:{attribute}'"
            )
        raise TurnfsmError(f"{where} {name!r}: cannot import {home}: {why}") from error
    if not hasattr(module, attribute):
        known = [n for n in vars(module) if not n.startswith("_")]
        raise TurnfsmError(
            f"{where} {name!r}: {home} has no {attribute!r}; {near(attribute, known)}"
        )
    return getattr(module, attribute)


def _file(path: Path) -> Any:
    path = path.resolve()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    name = f"turnfsm_scenario_{path.stem}"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # livekit resolves a tool's annotations through it
    spec.loader.exec_module(module)
    return module
