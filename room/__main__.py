"""`python -m room`, which `make room` calls."""

import sys

from .main import main

sys.exit(main())
