"""The statistics behind every result in a summary, as pure functions that need only the standard library and numpy."""

from .agreement import cohens_kappa, krippendorff_alpha
from .betting import BettingSequence, StoppingRule
from .compare_corpus import compare_corpus
from .difference_intervals import Comparison, PairedBootstrap, compare_paired
from .estimate import Estimate, Spread
from .group_means import macro, micro, weighted_mean
from .intervals import clustered_mean, estimate_mean, mean_interval
from .jackknife import POSITIVE, jackknife, ratio_estimate
from .paired_shares import holm, paired_share_difference
from .power_analysis import (
    minimum_detectable_difference,
    minimum_detectable_paired_binary,
    paired_binary_power,
    sample_size,
    sample_size_paired_binary,
)
from .prediction_powered import prediction_powered_mean
from .proportions import clopper_pearson, share_interval, wald, wilson
from .rating_models import Battle, Rating, Ratings, bradley_terry, elo
from .repeats import (
    Decomposition,
    Reduced,
    decompose,
    pass_at_k,
    pass_hat_k,
    reduce_repeats,
)

__all__ = [
    "POSITIVE",
    "Battle",
    "BettingSequence",
    "Comparison",
    "Decomposition",
    "Estimate",
    "PairedBootstrap",
    "Rating",
    "Ratings",
    "Reduced",
    "Spread",
    "StoppingRule",
    "bradley_terry",
    "clopper_pearson",
    "clustered_mean",
    "cohens_kappa",
    "compare_corpus",
    "compare_paired",
    "decompose",
    "elo",
    "estimate_mean",
    "holm",
    "jackknife",
    "krippendorff_alpha",
    "macro",
    "mean_interval",
    "micro",
    "minimum_detectable_difference",
    "minimum_detectable_paired_binary",
    "paired_binary_power",
    "paired_share_difference",
    "pass_at_k",
    "pass_hat_k",
    "prediction_powered_mean",
    "ratio_estimate",
    "reduce_repeats",
    "sample_size",
    "sample_size_paired_binary",
    "share_interval",
    "wald",
    "weighted_mean",
    "wilson",
]
