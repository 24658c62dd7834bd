"""Gets LiveKit's own test fakes, at a pinned commit, into the cache: they are not ours to commit.

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

COMMIT = "da6af86ac640a3bc54585764e64321d7048c1c16"
URL = f"https://codeload.github.com/livekit/agents/tar.gz/{COMMIT}"


def main() -> int:
    """Fetch them if they are not there. Where they are not to be had their tests are skipped."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "turnfsm" / "livekit-tests" / COMMIT
    if (home / "tests" / "fake_session.py").is_file():
        return 0
    try:
        with urllib.request.urlopen(URL, timeout=60) as answer:
            archive = io.BytesIO(answer.read())
    except OSError as error:
        print(f"LiveKit's fakes are not to be had, so their tests are skipped: {error}")
        return 0
    unpack(archive, home)
    print(f"LiveKit's fakes are in {home}")
    return 0


def unpack(archive: io.BytesIO, home: Path) -> None:
    """The fakes of an archive of the repository, and nothing else."""
    with tarfile.open(fileobj=archive, mode="r:gz") as tar:
        for member in tar:
            name = member.name.partition("/")[2]
            if name.startswith("tests/fake_") or name == "tests/__init__.py":
                member.name = name
                tar.extract(member, home)


if __name__ == "__main__":
    sys.exit(main())
