"""The error of a module whose extra is not installed."""

from __future__ import annotations

__all__ = ["not_installed"]


def not_installed(user: str, package: str, extra: str, error: ImportError) -> ModuleNotFoundError:
    """The error with its remedy.

    Args:
        user: The module of turnfsm that needs the package.
        package: The package.
        extra: The extra of turnfsm that brings it.
        error: What its import has raised.
    """
    remedy = f"pip install 'turnfsm[{extra}]', or in a clone: pip install -e '.[{extra}]'"
    return ModuleNotFoundError(f"{user} needs {package} ({error}): {remedy}", name=error.name)
