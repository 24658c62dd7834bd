"""The command `turnfsm`, in this process."""

import pytest

from turnfsm.runtime.cli import main

__all__ = ["run"]


def run(*words: object) -> int:
    """Run the command line, and return its exit status."""
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return int(stopped.value.code or 0)
