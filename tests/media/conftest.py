"""Lets the tests of this folder import their helpers whatever import mode pytest is run in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
