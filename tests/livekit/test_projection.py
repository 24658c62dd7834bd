"""Requests as each provider gets them, of every small conversation."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "fsm"))
