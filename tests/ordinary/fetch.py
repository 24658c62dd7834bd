"""Gets LiveKit's test fakes and examples, at a pinned commit, into the cache.

They are not ours to commit.

    python tests/ordinary/fetch.py

TURNFSM_LIVEKIT_TESTS names a checkout of livekit/agents that is used instead.
"""

from __future__ import annotations

import io
import os
import sys
import tarfile
import urllib.request
from pathlib import Path

__all__ = ["COMMIT", "EXAMPLES", "unpack"]

COMMIT = "da6af86ac640a3bc54585764e64321d7048c1c16"
EXAMPLES = ("drive_thru", "frontdesk", "healthcare", "survey")
"""The folders of its examples that are played."""

URL = f"https://codeload.github.com/livekit/agents/tar.gz/{COMMIT}"


def main() -> int:
    """Fetch them if they are not there. Where they are not to be had their tests are skipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "turnfsm" / "livekit-tests" / COMMIT
    if (home / "tests" / "fake_session.py").is_file() and (home / "examples").is_dir():
        return 0
    try:
        with urllib.request.urlopen(URL, timeout=60) as answer:
            archive = io.BytesIO(answer.read())
    except OSError as error:
        print(f"LiveKit's code is not to be had, so what needs it is skipped: {error}")
        return 0
    unpack(archive, home)
    print(f"LiveKit's fakes and examples are in {home}")
    return 0


def unpack(archive: io.BytesIO, home: Path) -> None:
    """The fakes and the code of the examples in an archive of the repository, and nothing else."""
    with tarfile.open(fileobj=archive, mode="r:gz") as tar:
        for member in tar:
            name = member.name.partition("/")[2]
            folder, _, file = name.removeprefix("examples/").partition("/")
            played = name.startswith("examples/") and folder in EXAMPLES and file.endswith(".py")
            if name.startswith("tests/fake_") or name == "tests/__init__.py" or played:
                member.name = name
                tar.extract(member, home)


if __name__ == "__main__":
    sys.exit(main())
