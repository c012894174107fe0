"""Helpers for the tests of replicas, in this folder."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
