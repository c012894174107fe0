"""`vlmeval.smp.status_report`: `status.json` of a run's folder."""

from ....kits.smp.status import *  # noqa: F403
