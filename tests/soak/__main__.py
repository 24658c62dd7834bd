"""`python tests/soak`, which `make soak` calls."""

import logging
import sys
import warnings

from soak import main

# An error is the script's own or a finding: either way it is judged, not printed.
logging.lastResort = None
warnings.simplefilter("ignore")
sys.exit(main())
