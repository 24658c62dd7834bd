"""Makes standard output and standard error robust against a full disk, a closed pipe and
encodings."""

from __future__ import annotations

import codecs
import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["printable", "quiet_logs", "steady_output"]

_PLAIN = {"→": "->"}
"""The characters of our own texts that are not ASCII."""

_ERRORS = "turnfsm"


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """Escapes of JSON, JavaScript and YAML, so that data can still be parsed."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return json.dumps(text)[1:-1], error.end


codecs.register_error(_ERRORS, _replaced)


def printable(text: str) -> str:
    """A table in the encoding of standard output; other characters are escaped."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for wide, plain in _PLAIN.items():
            text = text.replace(wide, plain)
    return text.encode(encoding, _ERRORS).decode(encoding)


class _Raw(io.RawIOBase):
    """Passes writes on until one fails, and stores the error."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self.error: OSError | None = None

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())

    def write(self, data: Any) -> int | None:
        if self.error is None:
            try:
                written: int | None = self._raw.write(data)
                return written
            except OSError as error:
                self.error = error
        return len(data)


@contextmanager
def steady_output() -> Iterator[None]:
    """Let the command finish even if its output fails.

    A reader that has gone away (`| head -1`) is no error. Any other failure is reported at the end,
    with exit status 2.
    """
    old = sys.stdout, sys.stderr
    out, err = _steady(sys.stdout, _ERRORS), _steady(sys.stderr, "backslashreplace")
    sys.stdout, sys.stderr = out or old[0], err or old[1]
    try:
        try:
            yield
        finally:
            for stream in (out, err):
                if stream is not None:
                    stream.flush()
        _check(out)
    except SystemExit:
        _check(out)
        raise
    finally:
        sys.stdout, sys.stderr = old


def _steady(stream: Any, errors: str) -> io.TextIOWrapper | None:
    """None if there is no such stream, or if a test has replaced it by something that is no
    file."""
    try:
        stream.flush()
        stream.fileno()
        raw = getattr(stream.buffer, "raw", stream.buffer)
    except (AttributeError, OSError, ValueError):
        return None
    buffer = io.BufferedWriter(_Raw(raw))
    interactive = stream.isatty()
    return io.TextIOWrapper(buffer, stream.encoding, errors, line_buffering=interactive)


def _check(out: io.TextIOWrapper | None) -> None:
    raw = out.buffer.raw if out is not None else None  # type: ignore[attr-defined]
    error = raw.error if raw is not None else None
    if error is None or isinstance(error, BrokenPipeError):
        return
    print(f"error: standard output: {error.strerror}", file=sys.stderr, flush=True)
    raise SystemExit(2) from None


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep log lines off the terminal: the command checks or causes them itself."""
    deaf = logging.NullHandler()
    logging.getLogger().addHandler(deaf)
    loguru = find_spec("loguru") and import_module("loguru")  # Pipecat's, if it is installed
    if loguru:
        loguru.logger.disable("pipecat")
    try:
        yield
    finally:
        logging.getLogger().removeHandler(deaf)
        if loguru:
            loguru.logger.enable("pipecat")
