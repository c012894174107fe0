"""The statistics behind every number a summary prints: pure functions, standard library and numpy only."""

from .agreement import PairwiseFold, cohens_kappa, fold_verdicts, krippendorff_nominal
from .betting import BettingSequence, betting_sequence
from .clusters import cluster_codes
from .compare import Comparison, PairedBootstrap, compare_paired
from .compare_corpus import compare_corpus
from .distributions import beta_quantile, incomplete_beta, normal_quantile, t_quantile
from .estimate import Estimate, Spread
from .failures import FailureBounds, failure_bounds
from .groups import macro, median, micro, weighted_mean
from .intervals import clustered_mean, estimate_mean, mean_interval, proportion
from .jackknife import POSITIVE, jackknife, ratio_estimate
from .paired_shares import paired_share_difference
from .paired_tests import McNemar, holm, mcnemar
from .passk import pass_at_k, pass_hat_k
from .power import (
    minimum_detectable_difference,
    minimum_detectable_paired_binary,
    paired_binary_power,
    sample_size,
    sample_size_correlated,
    sample_size_paired_binary,
)
from .prediction_powered import judge_weight, prediction_powered_mean
from .proportions import clopper_pearson, share_interval, unseen_spread, wald, wilson
from .ratings import Game, Ratings, bradley_terry, bradley_terry_intervals, elo
from .repeats import Decomposition, Reduced, decompose, modes, reduce_repeats
from .sequential import (
    StoppingRule,
    asymptotic_radius,
    asymptotic_sequence,
    tuning,
)

__all__ = [
    "POSITIVE",
    "BettingSequence",
    "Comparison",
    "Decomposition",
    "Estimate",
    "FailureBounds",
    "Game",
    "McNemar",
    "PairedBootstrap",
    "PairwiseFold",
    "Ratings",
    "Reduced",
    "Spread",
    "StoppingRule",
    "asymptotic_radius",
    "asymptotic_sequence",
    "beta_quantile",
    "betting_sequence",
    "bradley_terry",
    "bradley_terry_intervals",
    "clopper_pearson",
    "cluster_codes",
    "clustered_mean",
    "cohens_kappa",
    "compare_corpus",
    "compare_paired",
    "decompose",
    "elo",
    "estimate_mean",
    "failure_bounds",
    "fold_verdicts",
    "holm",
    "incomplete_beta",
    "jackknife",
    "judge_weight",
    "krippendorff_nominal",
    "macro",
    "mcnemar",
    "mean_interval",
    "median",
    "micro",
    "minimum_detectable_difference",
    "minimum_detectable_paired_binary",
    "modes",
    "normal_quantile",
    "paired_binary_power",
    "paired_share_difference",
    "pass_at_k",
    "pass_hat_k",
    "prediction_powered_mean",
    "proportion",
    "ratio_estimate",
    "reduce_repeats",
    "sample_size",
    "sample_size_correlated",
    "sample_size_paired_binary",
    "share_interval",
    "t_quantile",
    "tuning",
    "unseen_spread",
    "wald",
    "weighted_mean",
    "wilson",
]
