"""`python -m assay`: the same as the command `assay`."""

import sys

from assay.cli.main import main

sys.exit(main())
