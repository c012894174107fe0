"""`vlmeval.eval`: the evaluations of the documented revision."""

from ...era import note_documented
from .mme_eval import MME_eval, MME_postproc, MME_rating
from .mmvet_eval import MMVet_eval
from .multiple_choice import multiple_choice_eval

__all__ = [
    "MME_eval",
    "MME_postproc",
    "MME_rating",
    "MMVet_eval",
    "multiple_choice_eval",
]

note_documented()
