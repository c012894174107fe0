"""Whether 95 % intervals cover 95 %: assay's own functions on data whose truth is known.

Usage: python bench/coverage.py [--runs 2000] [--only clusters]

Each row is one kind of data: how many of `runs` simulated evaluations had the truth in their interval, how many were
flagged as unreliable, and how many had no interval. Shares are computed over all outcomes, not simulated. The aim is
93.5 to 96.5 %; what covers more says so, what covers less must be flagged. Exit code 1 if a row that is not flagged
covers less, the simulation's own error allowed for. The rows of gate and stopping have the share of right decisions
in the same column. The seeds are fixed: two runs print the same table.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.core import ScoreRecord, SummaryContext
from assay.summarizers.classification import SHARES
from assay.summarizers.recipes import Recipe
from assay.summarizers.statistics import (
    Estimate,
    compare_corpus,
    compare_paired,
    estimate_mean,
    jackknife,
    macro,
    micro,
    pass_at_k,
    pass_hat_k,
    prediction_powered_mean,
    ratio_estimate,
    share_interval,
)
from assay.summarizers.strata import GroupMean

sys.path.insert(0, str(Path(__file__).parent))
from decisions import all_decisions

LOWEST, HIGHEST = 93.5, 96.5
Rng = np.random.Generator
Draw = Callable[[Rng], Estimate]


@dataclass(frozen=True)
class Case:
    """One kind of data, and the truth its intervals should hold."""

    family: str
    name: str
    truth: float
    draw: Draw


@dataclass
class Tally:
    """What became of the runs of a case."""

    case: Case
    covered: int = 0
    given: int = 0
    flagged: int = 0

    def add(self, estimate: Estimate) -> None:
        """One run."""
        if estimate.low is None or estimate.high is None:
            return
        self.given += 1
        self.flagged += bool(estimate.unreliable)
        self.covered += estimate.low - 1e-9 <= self.case.truth <= estimate.high + 1e-9

    @property
    def coverage(self) -> float:
        """In per cent of the runs with an interval."""
        return 100 * self.covered / max(1, self.given)

    def verdict(self) -> str:
        """Return the verdict of a row, allowing for the simulation's own error."""
        error = 100 * (0.95 * 0.05 / max(1, self.given)) ** 0.5
        if self.flagged > 0.5 * self.given:
            return "flagged"
        if self.coverage < LOWEST - error:
            return "TOO LOW"
        return "covers more" if self.coverage > HIGHEST + error else "ok"


SETTING = SummaryContext("bench", "bench", "bench", "bench", None, 0)
"""What a summarizer may know."""


def mixture(
    n: int, values: list[float], shares: list[float], ends: tuple[float, float]
) -> Draw:
    """Values that occur with given shares."""
    return lambda rng: estimate_mean(
        rng.choice(values, p=shares, size=n).tolist(), binary=False, ends=ends
    )


def bounded() -> Iterator[Case]:
    """Means between two ends, many of them near one."""
    for n in (10, 30, 100):
        yield Case(
            "bounded mean",
            f"uniform, n={n}",
            0.5,
            _values(n, lambda rng, n: rng.random(n)),
        )
    for n, top in ((30, 0.9), (100, 0.9), (100, 0.98), (300, 0.98)):
        draw = _values(
            n, lambda rng, n, top=top: np.where(rng.random(n) < top, 1.0, rng.random(n))
        )
        yield Case(
            "bounded mean", f"F1, {top:.0%} at 1, n={n}", top + (1 - top) / 2, draw
        )
    scale = [1.0, 2.0, 3.0, 4.0, 5.0]
    for name, shares in (
        ("uniform", [0.2] * 5),
        ("60 % fives", [0.02, 0.03, 0.05, 0.3, 0.6]),
        ("95 % fives", [0.005, 0.005, 0.01, 0.03, 0.95]),
    ):
        truth = float(np.dot(scale, shares))
        for n in (30, 80, 300):
            yield Case(
                "judge 1-5",
                f"{name}, n={n}",
                truth,
                mixture(n, scale, shares, (1.0, 5.0)),
            )


def _values(n: int, make: Callable[[Rng, int], Any]) -> Draw:
    return lambda rng: estimate_mean(
        make(rng, n).tolist(), binary=False, ends=(0.0, 1.0)
    )


def repeated() -> Iterator[Case]:
    """Several answers to a question: their mean, and pass@k."""
    for a, b in ((1.0, 1.0), (20.0, 0.5)):
        for n in (30, 100, 300):
            draw = _values(
                n, lambda rng, n, a=a, b=b: rng.binomial(4, rng.beta(a, b, size=n)) / 4
            )
            yield Case("4 epochs", f"Beta({a:g}, {b:g}), n={n}", a / (a + b), draw)
    chances = np.array([pass_at_k(10, right, 5) for right in range(11)])
    for a, b in ((1.0, 1.0), (5.0, 1.0)):
        truth = 1 - float(np.prod([(b + i) / (a + b + i) for i in range(5)]))
        for n in (30, 164, 500):
            draw = _values(
                n,
                lambda rng, n, a=a, b=b: chances[
                    rng.binomial(10, rng.beta(a, b, size=n))
                ],
            )
            yield Case("pass@5 of 10", f"Beta({a:g}, {b:g}), n={n}", truth, draw)


def passes() -> Iterator[Case]:
    """pass^3 of 5 answers to hard questions: nearly all values are 0, and a few are 1."""
    chances = np.array([pass_hat_k(5, right, 3) for right in range(6)])
    for a, b in (
        (0.3, 3.0),
        (0.2, 3.0),
        (0.1, 3.0),
        (0.5, 5.0),
        (0.3, 1.0),
        (3.0, 0.3),
    ):
        truth = float(np.prod([(a + i) / (a + b + i) for i in range(3)]))
        for n in (30, 100, 164, 300, 500):
            draw = _values(
                n,
                lambda rng, n, a=a, b=b: chances[
                    rng.binomial(5, rng.beta(a, b, size=n))
                ],
            )
            yield Case("pass^3 of 5", f"Beta({a:g}, {b:g}), n={n}", truth, draw)


def open_scale() -> Iterator[Case]:
    """Means of values without known ends, many of them skewed."""
    kinds: tuple[tuple[str, float, Callable[[Rng, int], Any]], ...] = (
        ("normal", 0.0, lambda rng, n: rng.normal(size=n)),
        ("Laplace", 0.0, lambda rng, n: rng.laplace(size=n)),
        ("exponential", 1.0, lambda rng, n: rng.exponential(size=n)),
        ("gamma 0.3", 0.3, lambda rng, n: rng.gamma(0.3, size=n)),
        ("lognormal 0.5", np.exp(0.125), lambda rng, n: rng.lognormal(0, 0.5, size=n)),
        ("lognormal 1", np.exp(0.5), lambda rng, n: rng.lognormal(0, 1, size=n)),
        ("lognormal 1.5", np.exp(1.125), lambda rng, n: rng.lognormal(0, 1.5, size=n)),
        ("-lognormal 1", -np.exp(0.5), lambda rng, n: -rng.lognormal(0, 1, size=n)),
    )
    for name, truth, make in kinds:
        for n in (12, 30, 100, 300):
            yield Case("open scale", f"{name}, n={n}", float(truth), _open(n, make))


def _open(n: int, make: Callable[[Rng, int], Any]) -> Draw:
    return lambda rng: estimate_mean(make(rng, n).tolist(), binary=False)


UNEQUAL_SIZES: dict[str, Callable[[int], Any]] = {
    "1, 2, 20, 80": lambda count: np.resize([1, 2, 20, 80], count),
    "lognormal": lambda count: np.maximum(
        1, np.random.default_rng(7).lognormal(2, 1, size=count).astype(int)
    ),
    "one of 100, others 1": lambda count: np.array([100] + [1] * (count - 1)),
    "5 of 50, others 1": lambda count: np.array([50] * 5 + [1] * (count - 5)),
    "a quarter of 30, others 1": lambda count: np.resize([30, 1, 1, 1], count),
    "half of 40, others 5": lambda count: np.resize([40, 5], count),
}


def unequal() -> Iterator[Case]:
    """Clusters of very unequal size, right or wrong and on an open scale; and differences of two models on them."""
    for name, make in UNEQUAL_SIZES.items():
        for count in (15, 20, 30, 50, 100, 200):
            sizes = make(count)
            for p, icc in ((0.5, 0.5), (0.9, 0.3), (0.9, 0.5), (0.9, 0.9), (0.97, 0.8)):
                case = f"{count} of {name}, p={p}, icc={icc}"
                yield Case("unequal clusters", case, p, _clusters(sizes, p, icc))
    for count in (30, 50, 100):
        sizes = UNEQUAL_SIZES["1, 2, 20, 80"](count)
        for kind in ("normal", "exponential"):
            case = f"{count} of 1, 2, 20, 80, open scale, {kind}"
            truth = 1.0 if kind == "exponential" else 0.0
            draw = _open_clusters(sizes, kind)
            yield Case("unequal clusters", case, truth, draw)
        case = f"{count} of 1, 2, 20, 80, two models"
        yield Case("unequal clusters", case, 0.1, _paired_unequal(sizes))
        case = f"{count} speakers of 1, 2, 20, 80, WER"
        yield Case("unequal clusters", case, 0.1, _unequal_speakers(sizes))


def _open_clusters(sizes: Any, kind: str) -> Draw:
    keys = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: Rng) -> Estimate:
        effects = getattr(rng, kind)(size=len(sizes))
        values = effects[keys] + rng.normal(size=len(keys))
        return estimate_mean(values.tolist(), keys.tolist(), binary=False)

    return draw


def _paired_unequal(sizes: Any) -> Draw:
    keys = np.repeat(np.arange(len(sizes)), sizes)
    clusters = {str(index): int(key) for index, key in enumerate(keys)}

    def draw(rng: Rng) -> Estimate:
        shift = rng.choice([0.3, 0.0], size=len(sizes), p=[1 / 3, 2 / 3])[keys]
        after = (rng.random(len(keys)) < 0.5 + shift) * 1.0
        before = (rng.random(len(keys)) < 0.5) * 1.0
        return compare_paired(_ids(after), _ids(before), clusters).difference

    return draw


def _unequal_speakers(sizes: Any) -> Draw:
    keys = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: Rng) -> Estimate:
        chances = rng.beta(1.9, 17.1, size=len(sizes))[keys]
        words = rng.integers(4, 26, size=len(keys))
        errors = rng.binomial(words, chances)
        return ratio_estimate(errors.tolist(), words.tolist(), keys.tolist())

    return draw


def clustered() -> Iterator[Case]:
    """Right-or-wrong scores whose clusters go right or wrong together, with intra-class correlation `icc`."""
    for icc in (0.05, 0.3, 0.6):
        for count, size in (
            (5, 20),
            (10, 20),
            (10, 0),
            (20, 20),
            (30, 7),
            (50, 5),
            (50, 20),
            (50, 0),
            (200, 5),
        ):
            for p in (0.5, 0.9, 0.98):
                sizes = (
                    np.random.default_rng(7).integers(1, 21, size=count)
                    if not size
                    else np.full(count, size)
                )
                name = f"{count} of {size or '1-20'}, p={p}, icc={icc}"
                yield Case("clusters", name, p, _clusters(sizes, p, icc))


def _clusters(sizes: Any, p: float, icc: float) -> Draw:
    keys = np.repeat(np.arange(len(sizes)), sizes).tolist()

    def draw(rng: Rng) -> Estimate:
        chances = rng.beta(
            p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, size=len(sizes)
        )
        values = (rng.random(len(keys)) < np.repeat(chances, sizes)).astype(float)
        return estimate_mean(values.tolist(), keys, binary=True)

    return draw


def grouped() -> Iterator[Case]:
    """Simulate macro and micro means over fixed groups, and the summarizer `group_mean`."""
    for name, count, low, high, a, b in (
        ("57 of 2-5, p~.6", 57, 2, 6, 3.0, 2.0),
        ("57 of 2-5, p~.95", 57, 2, 6, 19.0, 1.0),
        ("57 of 10-30, p~.95", 57, 10, 31, 19.0, 1.0),
        ("10 of 5-20, p~.6", 10, 5, 21, 3.0, 2.0),
        ("14 of 50-100, p~.7", 14, 50, 101, 7.0, 3.0),
    ):
        fixed = np.random.default_rng(3)
        sizes, chances = (
            fixed.integers(low, high, size=count),
            fixed.beta(a, b, size=count),
        )
        truths = {
            "macro": float(chances.mean()),
            "micro": float(np.average(chances, weights=sizes)),
        }
        for kind, join in (("macro", macro), ("micro", micro)):
            yield Case(kind, name, truths[kind], _groups(sizes, chances, join))
    for count, size in ((10, 3), (4, 5), (6, 10), (10, 20), (6, 50)):
        chances = np.random.default_rng(4).beta(3, 2, size=count)
        yield Case(
            "group_mean",
            f"{count} of {size}",
            float(chances.mean()),
            _group_mean(chances, size),
        )


def _groups(
    sizes: Any, chances: Any, join: Callable[[list[Estimate]], Estimate]
) -> Draw:
    def draw(rng: Rng) -> Estimate:
        pairs = zip(sizes, chances, strict=True)
        return join(
            [
                estimate_mean((rng.random(n) < p).astype(float).tolist(), binary=True)
                for n, p in pairs
            ]
        )

    return draw


def _group_mean(chances: Any, size: int) -> Draw:
    summarizer = GroupMean("g")

    def draw(rng: Rng) -> Estimate:
        records = [
            ScoreRecord(
                "b",
                "m",
                f"{g}-{i}",
                "s",
                "",
                {"s": float(right)},
                "scored",
                tags={"g": str(g)},
            )
            for g, p in enumerate(chances)
            for i, right in enumerate(rng.random(size) < p)
        ]
        (result,) = summarizer(records, SETTING)
        low, high = result.ci or (None, None)
        flag = next((flag for flag in result.flags if "unreliable" in flag), "")
        return Estimate(
            result.value or 0.0,
            None,
            low,
            high,
            result.n,
            None,
            result.interval,
            unreliable=flag,
        )

    return draw


def corpora() -> Iterator[Case]:
    """Error rates, BLEU, perplexity and F1 of small corpora."""
    for name, p, alike in (
        ("5 %", 0.05, 0.1),
        ("20 %", 0.2, 0.15),
        ("2 %, uneven", 0.02, 0.3),
    ):
        for n in (10, 30, 100, 500):
            yield Case("WER", f"{name}, n={n}", p, _wer(n, p, alike))
    for n in (100, 150, 200, 300, 500, 1000):
        yield Case(
            "WER",
            f"5 %, loops in 1 %, n={n}",
            0.05 + 0.01 * 139.5 / 14.5,
            _wer(n, 0.05, 0.1, loops=0.01),
        )
    for speakers in (5, 10, 20, 40):
        yield Case("WER", f"10 %, {speakers} speakers", 0.1, _speakers(speakers))
    sums = np.zeros(10)
    for _ in range(200):
        sums += _bleu_rows(np.random.default_rng(_), 2000).sum(axis=0)
    bleu = Recipe("bleu", "stats")
    truth = float(bleu.function()(sums[None, :])[0])
    for n in (20, 50, 200):
        yield Case(
            "BLEU", f"n={n}", truth, _corpus(bleu, lambda rng, n=n: _bleu_rows(rng, n))
        )
    ppl = Recipe("perplexity", (("logprob",), ("words",)))
    for n in (5, 20, 100):
        yield Case(
            "word perplexity",
            f"n={n}",
            float(np.exp(4.0)),
            _corpus(ppl, lambda rng, n=n: _texts(rng, n)),
        )
    for yes in (0.5, 0.1):
        for n in (20, 100, 500):
            hit, false = 0.8 * yes, 0.15 * (1 - yes)
            yield Case(
                "F1 on yes",
                f"{yes:.0%} yes, n={n}",
                2 * hit / (hit + false + yes),
                _f1(n, yes),
            )


def _wer(n: int, p: float, alike: float, loops: float = 0.0) -> Draw:
    def draw(rng: Rng) -> Estimate:
        words = rng.integers(4, 26, size=n)
        errors = rng.binomial(
            words,
            rng.beta(p * (1 - alike) / alike, (1 - p) * (1 - alike) / alike, size=n),
        )
        errors = errors + np.where(
            rng.random(n) < loops, rng.integers(60, 220, size=n), 0
        )
        return ratio_estimate(errors.tolist(), words.tolist())

    return draw


def _speakers(count: int) -> Draw:
    def draw(rng: Rng) -> Estimate:
        keys = np.repeat(np.arange(count), rng.integers(10, 40, size=count))
        chances = rng.beta(1.9, 17.1, size=count)[keys]
        words = rng.integers(4, 26, size=len(keys))
        return ratio_estimate(
            rng.binomial(words, chances).tolist(), words.tolist(), keys.tolist()
        )

    return draw


def _bleu_rows(rng: Rng, n: int) -> Any:
    reference = rng.integers(8, 31, size=n)
    hypothesis = np.maximum(5, reference + rng.integers(-2, 3, size=n))
    quality = rng.beta(6, 3, size=n)
    totals = [hypothesis - order for order in range(4)]
    matches = [
        rng.binomial(total, quality ** (order + 1))
        for order, total in enumerate(totals)
    ]
    return np.column_stack([hypothesis, reference, *matches, *totals]).astype(float)


def _texts(rng: Rng, n: int) -> Any:
    words = rng.integers(20, 200, size=n)
    return np.column_stack([-words * rng.gamma(16.0, 0.25, size=n), words]).astype(
        float
    )


def _corpus(recipe: Recipe, make: Callable[[Rng], Any]) -> Draw:
    function = recipe.function()
    return lambda rng: jackknife(make(rng), function, ends=recipe.ends)


def _f1(n: int, yes: float) -> Draw:
    above, below = (np.asarray(weights) for weights in SHARES["f1"])

    def draw(rng: Rng) -> Estimate:
        gold, said = rng.random(n) < yes, rng.random(n)
        answer = np.where(gold, said < 0.8, said < 0.15)
        cell = np.where(gold, np.where(answer, 0, 2), np.where(answer, 1, 3))
        table = np.eye(6)[cell]
        if not (table @ below).any():
            return Estimate(0.0, None, None, None, n, None, "n/a: undefined")
        return ratio_estimate(
            (table @ above).tolist(), (table @ below).tolist(), ends=(0.0, 1.0)
        )

    return draw


WEIGHTS: dict[str, Callable[[int], Any]] = {
    "1 to 5": lambda n: np.random.default_rng(3).integers(1, 6, size=n).astype(float),
    "lognormal": lambda n: np.random.default_rng(3).lognormal(0, 1, size=n),
    "one of n/3": lambda n: np.array([n / 3] + [1.0] * (n - 1)),
}


def weighted() -> Iterator[Case]:
    """Simulate right-or-wrong scores of rows with weights."""
    for name, make in WEIGHTS.items():
        for n in (30, 100, 300):
            for p in (0.5, 0.9, 0.98):
                draw = _weighted(make(n), p)
                yield Case("weights", f"{name}, n={n}, p={p}", p, draw)


def _weighted(weights: Any, p: float) -> Draw:
    def draw(rng: Rng) -> Estimate:
        right = rng.random(len(weights)) < p
        products = (right * weights).tolist()
        return ratio_estimate(products, weights.tolist(), ends=(0.0, 1.0))

    return draw


def differences() -> Iterator[Case]:
    """Two models on the same samples."""
    for n, discordance, gap in (
        (50, 0.1, 0.09),
        (50, 0.2, 0.0),
        (100, 0.2, 0.1),
        (300, 0.1, 0.05),
        (1000, 0.05, 0.0),
    ):
        name = f"binary, n={n}, {discordance:.0%} differ, gap {gap}"
        yield Case("paired", name, gap, _paired_binary(n, discordance, gap))
    for n in (20, 100):
        yield Case("paired", f"graded, n={n}", 0.1, _paired_graded(n))
    yield Case("paired", "graded, 3 % differ, n=300", 0.0, _paired_sparse(300))
    for count in (10, 30):
        yield Case(
            "paired", f"binary, {count} clusters of 4", 0.1, _paired_clusters(count)
        )
    for n in (20, 100):
        yield Case("paired", f"WER, n={n}", 0.05, _paired_wer(n))
    for n in (20, 50, 200):
        truth = float(0.2 * np.exp(0.5))
        yield Case("paired", f"lognormal, n={n}", truth, _paired_skewed(n))
    for n in (50, 200):
        yield Case("paired", f"WER, 2 % loops, n={n}", 0.2, _paired_loops(n))


def _ids(values: Any) -> dict[str, Any]:
    return {str(at): value for at, value in enumerate(values.tolist())}


def _paired_binary(n: int, discordance: float, gap: float) -> Draw:
    shares = [(discordance + gap) / 2, (discordance - gap) / 2, 1 - discordance]

    def draw(rng: Rng) -> Estimate:
        kind = rng.choice(3, p=shares, size=n)
        return compare_paired(
            _ids((kind != 1) * 1.0), _ids((kind != 0) * 1.0)
        ).difference

    return draw


def _paired_graded(n: int) -> Draw:
    def draw(rng: Rng) -> Estimate:
        base = rng.random(n)
        return compare_paired(
            _ids(base + rng.normal(0.1, 0.3, size=n)), _ids(base)
        ).difference

    return draw


def _paired_sparse(n: int) -> Draw:
    def draw(rng: Rng) -> Estimate:
        moved = np.where(rng.random(n) < 0.03, rng.choice([-0.5, 0.5], size=n), 0.0)
        return compare_paired(
            _ids(0.5 + moved), _ids(np.full(n, 0.5)), bounds=(0.0, 1.0)
        ).difference

    return draw


def _paired_skewed(n: int) -> Draw:
    """Simulate costs of which half are 40 % higher with one model."""

    def draw(rng: Rng) -> Estimate:
        costs = rng.lognormal(0, 1, size=n)
        higher = costs * rng.choice([1.0, 1.4], size=n)
        return compare_paired(_ids(higher), _ids(costs)).difference

    return draw


def _paired_loops(n: int) -> Draw:
    """Simulate word errors of two recognisers, one of which repeats itself on 2 % of the recordings."""
    rate = Recipe("ratio", (("errors",), ("words",))).function()

    def draw(rng: Rng) -> Estimate:
        words = rng.integers(3, 20, size=n)
        tables = []
        for loops in (rng.random(n) < 0.02, np.zeros(n)):
            errors = rng.binomial(words, 0.05) + 10 * words * loops
            tables.append(_ids(np.column_stack([errors, words])))
        return compare_corpus(*tables, rate).difference

    return draw


def _paired_clusters(count: int) -> Draw:
    keys = {str(at): at // 4 for at in range(4 * count)}

    def draw(rng: Rng) -> Estimate:
        shift = np.repeat(rng.choice([0.3, 0.0], size=count, p=[1 / 3, 2 / 3]), 4)
        luck = rng.random(4 * count)
        a, b = (luck < 0.5 + shift) * 1.0, (rng.random(4 * count) < 0.5) * 1.0
        return compare_paired(_ids(a), _ids(b), keys).difference

    return draw


def _paired_wer(n: int) -> Draw:
    function = Recipe("ratio", (("E",), ("N",))).function()

    def draw(rng: Rng) -> Estimate:
        words = rng.integers(4, 26, size=n)
        hard = rng.beta(1.0, 9.0, size=n)
        ours, theirs = (
            rng.binomial(words, hard),
            rng.binomial(words, hard + (1 - hard) * 0.05 / 0.9),
        )
        tables = [
            _ids(np.column_stack([errors, words]).astype(float))
            for errors in (theirs, ours)
        ]
        return compare_corpus(tables[0], tables[1], function).difference

    return draw


def corrected() -> Iterator[Case]:
    """Simulate a judge that is 12 points too kind, corrected by people's labels of some of 2,000 samples."""
    for n in (20, 30, 50, 100, 300):
        for truth, finds in ((0.5, 0.9), (0.7, 0.95), (0.8, 0.97)):
            yield Case(
                "judge corrected",
                f"n={n}, truth {truth}, judge 12 points high",
                truth,
                _judge(n, truth, finds),
            )
    yield Case(
        "judge corrected",
        "n=100, 1-5, judge half a point high",
        3.2,
        _rating_judge(100),
    )


def _judge(n: int, truth: float, finds: float) -> Draw:
    """Right answers are found so often; wrong ones pass as often as makes the judge 12 points too high."""
    passes = (truth + 0.12 - truth * finds) / (1 - truth)

    def draw(rng: Rng) -> Estimate:
        right = rng.random(2000) < truth
        judged = rng.random(2000) < np.where(right, finds, passes)
        labels, said = right.astype(float).tolist(), judged.astype(float).tolist()
        return prediction_powered_mean(labels[:n], said[:n], said[n:], ends=(0.0, 1.0))

    return draw


def _rating_judge(n: int) -> Draw:
    def draw(rng: Rng) -> Estimate:
        rating = rng.choice(
            [1.0, 2.0, 3.0, 4.0, 5.0], 2000, p=[0.1, 0.2, 0.25, 0.3, 0.15]
        )
        judged = np.clip(rating + rng.choice([0.0, 1.0], 2000, p=[0.4, 0.6]), 1.0, 5.0)
        return prediction_powered_mean(
            rating[:n].tolist(),
            judged[:n].tolist(),
            judged[n:].tolist(),
            ends=(1.0, 5.0),
        )

    return draw


def shares() -> Iterator[str]:
    """Coverage of shares, exactly, over 400 true shares for each n."""
    for n in (5, 10, 30, 63, 64, 100, 200, 1000):
        limits = [share_interval(k, n)[0] for k in range(n + 1)]
        truths = np.concatenate(
            [np.geomspace(0.001, 0.02, 100), np.linspace(0.02, 0.5, 300)]
        )
        logs = np.array([0.0, *np.cumsum(np.log(np.arange(1, n + 1)))])
        counts = np.arange(n + 1)
        chances = np.exp(
            logs[n]
            - logs
            - logs[::-1]
            + counts * np.log(truths)[:, None]
            + (n - counts) * np.log1p(-truths)[:, None]
        )
        inside = np.array([[low <= p <= high for low, high in limits] for p in truths])
        covered = 100 * (chances * inside).sum(axis=1)
        name = share_interval(0, n)[1]
        verdict = (
            "exact: covers more"
            if name == "clopper-pearson"
            else "ok"
            if covered.min() >= LOWEST
            else "TOO LOW"
        )
        yield _line(
            "share",
            f"n={n}, {name}, worst of 400 true shares",
            covered.min(),
            verdict,
            0.0,
            0.0,
        )
        yield _line(
            "share", f"n={n}, {name}, mean over them", covered.mean(), verdict, 0.0, 0.0
        )


FAMILIES = (
    bounded,
    repeated,
    passes,
    open_scale,
    clustered,
    unequal,
    grouped,
    corpora,
    weighted,
    differences,
    corrected,
)


def measure(case: Case, runs: int, seed: int = 0) -> Tally:
    """Return the tally of some runs of a case; it is the same in every call."""
    tally = Tally(case)
    rng = np.random.default_rng([seed, *case.name.encode()])
    for _ in range(runs):
        tally.add(case.draw(rng))
    return tally


def cases(only: str = "") -> Iterator[Case]:
    """All cases, or those of a family."""
    for family in FAMILIES:
        yield from (case for case in family() if only in case.family)


def _line(
    family: str, name: str, coverage: float, verdict: str, flagged: float, none: float
) -> str:
    return f"| {family} | {name} | {coverage:.1f} | {flagged:.0f} | {none:.0f} | {verdict} |"


def main() -> int:
    """Print the table. Return 1 if a row covers too little and is not flagged."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--only", default="", help="part of a family's name")
    options = parser.parse_args()
    print("| data | case | covered % | flagged % | no interval % | |")
    print("| --- | --- | --- | --- | --- | --- |")
    low = False
    if options.only in "share":
        for line in shares():
            print(line, flush=True)
            low |= "TOO LOW" in line
    for one in all_decisions(options.only):
        # Sequences are slow to compute: fewer of them, with a wider error of the simulation's own.
        runs = options.runs // 5 if one.is_slow else options.runs
        right = one.measure(runs)
        error = 100 * (one.promised / 100 * (1 - one.promised / 100) / runs) ** 0.5
        verdict = f"promised {one.promised:g}: " + (
            "TOO LOW" if right < one.promised - 2 * error else "ok"
        )
        low |= "TOO LOW" in verdict
        print(_line(one.family, one.name, right, verdict, 0.0, 0.0), flush=True)
    for case in cases(options.only):
        tally = measure(case, options.runs)
        verdict = tally.verdict()
        low |= verdict == "TOO LOW"
        flagged, none = (
            100 * tally.flagged / max(1, tally.given),
            100 * (1 - tally.given / options.runs),
        )
        print(
            _line(case.family, case.name, tally.coverage, verdict, flagged, none),
            flush=True,
        )
    return int(low)


if __name__ == "__main__":
    raise SystemExit(main())
