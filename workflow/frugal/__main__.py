"""Makes `python -m frugal` the command line."""

import sys

from frugal.cli import main

sys.exit(main())
