"""What a run tells the façade: what the user consented to, the judge, and the prediction files it serves."""

from ..kits.state import of_process

session = of_process()
