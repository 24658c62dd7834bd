"""Which packages are installed that only some of the tests need."""

from importlib.metadata import PackageNotFoundError, distribution

__all__ = ["PIPECAT"]


def _installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


# Not `find_spec("pipecat")`: the folder tests/pipecat can be imported as a package of that name.
PIPECAT = _installed("pipecat-ai")
