"""More cases for fixtures with few known vectors: drawn inputs, and the numbers of reference packages for them.

Run by `make_fixtures.py` after the known vectors. It needs sacrebleu, rouge-score, jiwer, scikit-learn, scikit-image,
torchmetrics, piq, krippendorff, anls_star, wetext, whisper-normalizer and pycocoevalcap; where there is no package the
definition stands here once more, written apart from assay's. Nothing here asks assay.
"""

import json
import math
import random
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any

from fixture_files import (
    BY_HAND,
    FOLDER,
    HAN,
    WORDS,
    Plain,
    called,
    case,
    sentence,
    write,
)
from peer_answers import FLOATS, NUMBER_WORDS, NUMBERS

ENOUGH = 24


def grow(
    name: str, more: Iterable[Plain], made: str, corpus: Sequence[Plain] | None = None
) -> None:
    """Add cases to a fixture, and how they were made; `corpus` replaces its numbers over all cases."""
    path = FOLDER / f"{name}.json"
    plain = json.loads(path.read_text("utf-8"))
    plain["cases"] = [*plain["cases"], *more]
    plain["made_by"] = (
        f"{plain['made_by']}; then {made}, called by tools/more_vectors.py"
    )
    if corpus is not None:
        plain["corpus"] = list(corpus)
    path.write_text(
        json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )


def texts_of(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the outputs and targets of a fixture."""
    cases = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["cases"]
    targets = [one["sample"]["target"] for one in cases]
    return [one["output"] for one in cases], [
        t if isinstance(t, list) else [t] for t in targets
    ]


def translations() -> None:
    """Compute sacreBLEU on more sentences, in English and Chinese."""
    import sacrebleu
    from sacrebleu.metrics.bleu import BLEU

    made = f"sacrebleu {version('sacrebleu')}"
    drawn = random.Random(21)
    rows = [
        ([sentence(drawn).capitalize() + ".", sentence(drawn)], sentence(drawn))
        for _ in range(ENOUGH)
    ]
    for name, value in (
        (
            "bleu@readme",
            lambda g, a: BLEU(effective_order=True).sentence_score(a, g).score,
        ),
        ("ter@readme", lambda g, a: sacrebleu.sentence_ter(a, g).score),
        ("chrf@readme-chrf2", lambda g, a: sacrebleu.sentence_chrf(a, g).score),
        (
            "chrf@readme-chrf2++",
            lambda g, a: sacrebleu.sentence_chrf(a, g, word_order=2).score,
        ),
    ):
        said, wanted = texts_of(name)
        said, wanted = said + [a for _, a in rows], wanted + [g for g, _ in rows]
        streams = [list(stream) for stream in zip(*wanted, strict=True)]
        corpus = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["corpus"]
        (metric,) = corpus[0]["results"]
        whole = {
            "bleu": lambda s=said, r=streams: sacrebleu.corpus_bleu(s, r),
            "ter": lambda s=said, r=streams: sacrebleu.corpus_ter(s, r),
            "chrf2": lambda s=said, r=streams: sacrebleu.corpus_chrf(s, r),
            "chrf2++": lambda s=said, r=streams: sacrebleu.corpus_chrf(
                s, r, word_order=2
            ),
        }[metric]()
        grow(
            name,
            [case(g, a, value(g, a)) for g, a in rows],
            made,
            [{**corpus[0], "results": {metric: whole.score}}],
        )
    said, wanted = texts_of("bleu@readme-single")
    single = [(g[0], a) for g, a in rows]
    said, golds = (
        said + [a for _, a in single],
        [g[0] for g in wanted] + [g for g, _ in single],
    )
    corpus = [
        {
            "summarizer": "bleu",
            "results": {"bleu": sacrebleu.corpus_bleu(said, [golds]).score},
        }
    ]
    grow(
        "bleu@readme-single",
        [case(g, a, outcome="scored") for g, a in single],
        made,
        corpus,
    )
    grow(
        "bleu@sentence",
        [case(g, a, sacrebleu.sentence_bleu(a, [g]).score) for g, a in single],
        made,
    )
    han = [
        ("".join(drawn.choices(HAN, k=drawn.randint(4, 12))),) * 2
        for _ in range(ENOUGH)
    ]
    han = [(g, a[: drawn.randint(2, len(a))] + drawn.choice(HAN)) for g, a in han]
    for tokenizer in ("zh", "13a"):
        more = [
            case(g, a, sacrebleu.sentence_bleu(a, [g], tokenize=tokenizer).score)
            for g, a in han
        ]
        grow(f"bleu@chinese-{tokenizer}", more, made)


def summaries() -> None:
    """rouge-score's summary-level ROUGE-L."""
    from rouge_score.rouge_scorer import RougeScorer

    drawn = random.Random(22)
    scorer = RougeScorer(["rougeL", "rougeLsum"])
    rows = [
        [
            "\n".join(sentence(drawn, 6) for _ in range(drawn.randint(1, 4)))
            for _ in range(2)
        ]
        for _ in range(ENOUGH)
    ]
    more = [
        case(t, a, {n: s.fmeasure for n, s in scorer.score(t, a).items()})
        for t, a in rows
    ]
    grow("rouge@lsum", more, f"rouge-score {version('rouge-score')}")


def transcripts() -> None:
    """jiwer, and whisper's normalizer before it."""
    import jiwer
    from whisper_normalizer.basic import BasicTextNormalizer

    made = f"jiwer {version('jiwer')}"
    drawn = random.Random(23)
    rows = [(sentence(drawn), sentence(drawn)) for _ in range(ENOUGH)]
    more = [case(t, a, jiwer.wer(t, a)) for t, a in rows]
    said, wanted = texts_of("wer@corpus")
    golds = [t[0] for t in wanted] + [t for t, _ in rows]
    said = said + [a for _, a in rows]
    pooled = {
        "name": "pooled",
        "numerator": ["S", "D", "I"],
        "denominator": "N",
        "metric": "wer",
    }
    grow(
        "wer@corpus",
        more,
        made,
        [{"summarizer": pooled, "results": {"wer": jiwer.wer(golds, said)}}],
    )
    mean = sum(jiwer.wer(t, a) for t, a in zip(golds, said, strict=True)) / len(said)
    grow("wer@macro", more, made, [{"summarizer": "mean", "results": {"wer": mean}}])
    blanks = ["", " ", "\n", "\t \n"]
    empty = [case(t, a, 0.0) for t in blanks for a in blanks]
    empty += [case(t, a, 1.0) for t in blanks for a in ("a", " yes ")]
    grow("wer@empty", empty, "the policy written out for every pair of blanks")
    normalize = BasicTextNormalizer()
    scripts = [
        "नमस्ते",
        "สวัสดีครับ",
        "Привет, мир!",
        "Ça va bien?",
        "¡Hola! ¿Qué tal?",
        "مرحبا بالعالم",
        "γειά σου",
        "Straße & Co.",
        "[laughs] hello",
        "(music) ok",
        "A  B   C",
        "don't stop",
        "naïve café",
        "x_y-z",
        "100% sure",
        "e-mail @ home",
        "तुम कैसे हो",
        "ไม่เป็นไร",
        "Łódź żyje",
        "日本",
        "한국어 문장",
        "Tiếng Việt",
        "O'Brien",
    ]
    lines = [(line, normalize(line)) for line in scripts]
    grow(
        "wer@whisper-basic",
        [case(plain, written, 0.0) for written, plain in lines if plain.strip()],
        f"whisper-normalizer {version('whisper-normalizer')}",
    )
    # Han characters are words of their own, Latin words stay whole: split so, it is jiwer's word error rate.
    latin = ["python", "api", "hello", "gpu"]
    mixed = []
    for _ in range(ENOUGH):
        wanted_words = [
            drawn.choice([*HAN, *latin]) for _ in range(drawn.randint(3, 9))
        ]
        said_words = [
            w if drawn.random() < 0.7 else drawn.choice(HAN) for w in wanted_words
        ][: drawn.randint(2, 9)]
        rate = jiwer.wer(" ".join(wanted_words), " ".join(said_words))
        mixed.append(case(_spaced(wanted_words), _spaced(said_words), rate))
    grow("mer@mixed", mixed, made)


def _spaced(words: Sequence[str]) -> str:
    """Words joined as people write them: blanks between Latin words only."""
    text = ""
    for word in words:
        text += f" {word} " if word.isascii() else word
    return " ".join(text.split())


def chinese_numbers() -> None:
    """Compute wetext's written-out numbers."""
    from wetext import Normalizer  # type: ignore[import-untyped]

    spoken = Normalizer(lang="zh", operator="tn")
    lines = [
        "共有3个人",
        "2023年",
        "12月25日",
        "价格是99元",
        "增长了15%",
        "下午3点30分",
        "3.14",
        "-5度",
        "1/2",
        "第10名",
        "电话110",
        "1000米",
        "10000人",
        "温度25度",
        "2比1",
        "占0.5%",
        "1992年3月",
        "5公斤",
        "30分钟",
        "重2.5千克",
        "有100本书",
        "8月1日",
        "6:30",
        "20岁",
    ]
    more = [called(spoken.normalize(line), line) for line in lines]
    grow("spoken_numbers@wetext", more, f"wetext {version('wetext')}")


def statistics() -> None:
    """scikit-learn's AUROC and kappa, krippendorff's alpha, verdicts folded by the definition."""
    import krippendorff  # type: ignore[import-untyped]
    import numpy as np
    from sklearn.metrics import cohen_kappa_score, roc_auc_score  # type: ignore[import-untyped]

    drawn = random.Random(24)
    made = f"scikit-learn {version('scikit-learn')}"
    more = []
    while len(more) < ENOUGH:
        n = drawn.randint(4, 30)
        scores, labels = (
            [round(drawn.random(), 1) for _ in range(n)],
            [drawn.random() < 0.4 for _ in range(n)],
        )
        if len(set(labels)) == 2:
            more.append(called(float(roc_auc_score(labels, scores)), scores, labels))
    grow("auroc@sklearn", more, made)
    more = []
    while len(more) < ENOUGH:
        n, weights = drawn.randint(6, 30), drawn.choice([None, "linear", "quadratic"])
        one = [drawn.randint(1, 5) for _ in range(n)]
        two = [
            rating if drawn.random() < 0.6 else drawn.randint(1, 5) for rating in one
        ]
        if len({*one, *two}) == 5:
            value = float(cohen_kappa_score(one, two, weights=weights))
            more.append(called(value, one, two, *([weights] if weights else [])))
    grow("cohens_kappa@sklearn", more, made)
    more = []
    for _ in range(ENOUGH):
        raters, units = drawn.randint(2, 5), drawn.randint(5, 12)
        truth = [drawn.randint(1, 4) for _ in range(units)]
        matrix = [
            [
                None
                if drawn.random() < 0.15
                else t
                if drawn.random() < 0.7
                else drawn.randint(1, 4)
                for t in truth
            ]
            for _ in range(raters)
        ]
        data = np.array(
            [[np.nan if v is None else v for v in row] for row in matrix], float
        )
        more.append(
            called(
                float(krippendorff.alpha(data, level_of_measurement="nominal")), matrix
            )
        )
    grow("krippendorff@textbook", more, f"krippendorff {version('krippendorff')}")
    more = [called(_folded(pairs), {"pairs": pairs}) for pairs in _drawn_pairs(drawn)]
    grow("pairwise_judge@both-orders", more, "the definition worked out")


def _drawn_pairs(drawn: random.Random) -> list[list[list[str]]]:
    return [
        [
            [drawn.choice(["A", "B", "tie"]) for _ in "12"]
            for _ in range(drawn.randint(2, 12))
        ]
        for _ in range(ENOUGH)
    ]


def _folded(pairs: Sequence[Sequence[str]]) -> Plain:
    """Return cases of two verdicts: one with our answer first, one with it second, turned round."""
    wins = sum(pair == ["A", "A"] for pair in pairs)
    losses = sum(pair == ["B", "B"] for pair in pairs)
    points = {"A": 1.0, "B": 0.0, "tie": 0.5}
    flat = [points[one] for pair in pairs for one in pair]
    decided = [
        (place, one) for pair in pairs for place, one in enumerate(pair) if one != "tie"
    ]
    first = sum((one == "A") == (place == 0) for place, one in decided)
    return {
        "wins": wins,
        "losses": losses,
        "ties": len(pairs) - wins - losses,
        "win_rate": (wins + (len(pairs) - wins - losses) / 2) / len(pairs),
        "flat_win_rate": sum(flat) / len(flat),
        "position_consistency": sum(one == two for one, two in pairs) / len(pairs),
        **({"first_position_share": first / len(decided)} if decided else {}),
    }


def boxes() -> None:
    """Intersection over union by its definition, in four ways to write a box."""
    drawn = random.Random(25)
    for name in ("xyxy", "xywh", "unit", "thousand"):
        more = []
        for _ in range(ENOUGH):
            width, height = drawn.choice([(100, 200), (640, 480), (50, 50)])
            target, other = _box(drawn, width, height), _box(drawn, width, height)
            iou = _iou(target, other)
            x, y, right, bottom = other
            said = {
                "xyxy": [x, y, right, bottom],
                "xywh": [x, y, right - x, bottom - y],
                "unit": [x / width, y / height, right / width, bottom / height],
                "thousand": [
                    1000 * x / width,
                    1000 * y / height,
                    1000 * right / width,
                    1000 * bottom / height,
                ],
            }[name]
            wanted = [
                target[0],
                target[1],
                target[2] - target[0],
                target[3] - target[1],
            ]
            size = {"fields": {"width": width, "height": height}}
            more.append(
                case(
                    str(wanted),
                    str(said),
                    {"iou": iou, "acc@0.5": float(iou >= 0.5)},
                    sample=size,
                )
            )
        grow(f"box_iou@{name}", more, "the definition worked out")
    more = []
    for _ in range(ENOUGH):
        target, other = _box(drawn, 40, 40), _box(drawn, 40, 40)
        iou = _iou(target, other)
        more.append(
            case(str(target), str(other), {"iou": iou, "acc@0.5": float(iou >= 0.5)})
        )
    grow("box_iou@refcoco", more, "the definition worked out")


def _box(drawn: random.Random, width: int, height: int) -> list[int]:
    x, y = drawn.randint(0, width // 2), drawn.randint(0, height // 2)
    return [x, y, x + drawn.randint(5, width // 2), y + drawn.randint(5, height // 2)]


def _iou(one: Sequence[float], two: Sequence[float]) -> float:
    across = min(one[2], two[2]) - max(one[0], two[0])
    down = min(one[3], two[3]) - max(one[1], two[1])
    shared = max(0, across) * max(0, down)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, two)]
    return shared / (sum(areas) - shared)


def structures() -> None:
    """anls_star's package on drawn trees; edits over the longer length by jiwer's alignment."""
    import jiwer
    from anls_star import anls_score  # type: ignore[import-untyped]

    drawn = random.Random(26)
    more = []
    for _ in range(ENOUGH):
        tree = {
            key: _leaf(drawn)
            for key in drawn.sample(["a", "b", "c", "d"], drawn.randint(1, 4))
        }
        said = {
            key: value if drawn.random() < 0.6 else _leaf(drawn)
            for key, value in tree.items()
            if drawn.random() < 0.9
        }
        more.append(case(tree, {"json": said}, float(anls_score(tree, said))))
    grow("anls_star@reference", more, f"anls_star {version('anls_star')}")
    more = []
    for _ in range(ENOUGH):
        target, said = sentence(drawn, 4).upper(), sentence(drawn, 4).upper()
        found = jiwer.process_characters(target, said)
        edits = found.substitutions + found.deletions + found.insertions
        more.append(
            case(
                target,
                said,
                {
                    "ned": 1 - edits / max(len(target), len(said)),
                    "line_match": float(target == said),
                },
            )
        )
    grow("ocr_text@ned", more, f"jiwer {version('jiwer')}")


def _leaf(drawn: random.Random) -> Any:
    return drawn.choice(
        [
            str(drawn.randint(1, 99)),
            sentence(drawn, 2),
            [drawn.choice(WORDS) for _ in range(drawn.randint(1, 3))],
        ]
    )


def pictures() -> None:
    """PSNR and SSIM of scikit-image, torchmetrics, piq on seeded noise; CLIPScore, Fréchet, cosine by definition."""
    import numpy as np
    import piq  # type: ignore[import-untyped]
    import torch
    from scipy.linalg import sqrtm  # type: ignore[import-untyped]
    from skimage.metrics import peak_signal_noise_ratio, structural_similarity  # type: ignore[import-not-found]
    from torchmetrics.functional.image import (
        structural_similarity_index_measure as torch_ssim,
    )

    ramp = np.zeros((64, 1), np.uint8) + np.arange(0, 256, 4, dtype=np.uint8)
    psnr, ssim, by_program = [], [], {"torchmetrics": [], "piq": []}  # type: ignore[var-annotated]
    for seed in range(1, ENOUGH + 1):
        noise = np.random.RandomState(seed).randint(-20, 21, (64, 64))
        noisy = np.asarray(np.clip(ramp.astype(int) + noise, 0, 255), np.uint8)
        pair = {"signal": "ramp"}, {"signal": f"noisy_{seed}"}
        psnr.append(called(float(peak_signal_noise_ratio(ramp, noisy)), *pair))
        wang = structural_similarity(
            ramp,
            noisy,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=255,
        )
        own = structural_similarity(ramp, noisy)
        ssim += [
            called(float(wang), *pair),
            called(float(own), *pair, window="skimage"),
        ]
        one, two = (
            torch.tensor(p / 1.0, dtype=torch.float64)[None, None]
            for p in (ramp, noisy)
        )
        by_program["torchmetrics"].append(
            called(
                float(torch_ssim(two, one, data_range=255.0)),
                *pair,
                window="torchmetrics",
            )
        )
        by_program["piq"].append(
            called(
                float(piq.ssim(two, one, data_range=255.0, downsample=False)),
                *pair,
                window="piq",
            )
        )
    library = f"scikit-image {version('scikit-image')}"
    grow("image_similarity@psnr", psnr, library)
    grow("image_similarity@ssim", ssim[: 2 * ENOUGH], library)
    for program, more in by_program.items():
        grow(
            f"image_similarity@ssim-{program}",
            more,
            f"{program} {version(program)} in double precision",
        )
    drawn = random.Random(27)
    cosines = [round(drawn.uniform(-0.3, 0.6), 3) for _ in range(ENOUGH)]
    for variant, scale in (("official", 2.5), ("torchmetrics", 100)):
        more = [
            {"output": {"json": {"cosine": c}}, "score": scale * max(c, 0)}
            for c in cosines
        ]
        grow(f"clip_score@{variant}", more, "the formula worked out")
    more = []
    for seed in range(ENOUGH):
        state, size = np.random.RandomState(seed), 2 + seed % 3
        means, roots = state.randn(2, size), state.randn(2, size, size)
        spreads = [root @ root.T + np.eye(size) for root in roots]
        cross = sqrtm(spreads[0] @ spreads[1]).real
        distance = ((means[0] - means[1]) ** 2).sum() + np.trace(
            spreads[0] + spreads[1] - 2 * cross
        )
        parts = (means[0], spreads[0], means[1], spreads[1])
        more.append(
            called(float(distance), *({"array": part.tolist()} for part in parts))
        )
    grow("fid@moments", more, f"scipy {version('scipy')}'s sqrtm in the formula")
    more = []
    for seed in range(ENOUGH):
        one, two = np.random.RandomState(seed).randn(2, 3 + seed % 5).round(3)
        more.append(
            called(
                float(one @ two / np.linalg.norm(one) / np.linalg.norm(two)),
                one.tolist(),
                two.tolist(),
            )
        )
    grow("speaker_similarity@cosine", more, f"numpy {version('numpy')}")


def sounds() -> None:
    """Compute torchmetrics' SI-SDR, and the polynomials of DNSMOS from its repository by numpy."""
    import numpy as np
    import torch
    from torchmetrics.functional.audio import (
        scale_invariant_signal_distortion_ratio as si_sdr,
    )

    more = []
    for seed in range(ENOUGH):
        wanted, noise = np.random.RandomState(seed).randn(2, 12).round(3)
        said = (wanted + 0.3 * noise).round(3)
        value = si_sdr(torch.tensor(said), torch.tensor(wanted))
        more.append(
            called(float(value), {"array": wanted.tolist()}, {"array": said.tolist()})
        )
    known = json.loads((FOLDER / "si_sdr@torchmetrics.json").read_text("utf-8"))[
        "cases"
    ][0]
    first, second = (
        torch.tensor(known["args"][place]["array"], dtype=torch.float64)
        for place in (0, 1)
    )
    if (
        abs(float(si_sdr(second, first)) - known["score"]) > 1e-3
    ):  # which of the two is the reference
        for one in more:
            one["args"].reverse()
    grow("si_sdr@torchmetrics", more, f"torchmetrics {version('torchmetrics')}")
    polynomials = {
        "sig": [-0.08397278, 1.22083953, 0.0052439],
        "bak": [-0.13166888, 1.60915514, -0.39604546],
        "ovrl": [-0.06766283, 1.11546468, 0.04602535],
    }
    more = [
        called(float(np.polyval(p, x / 4)), n, x / 4)
        for n, p in polynomials.items()
        for x in range(4, 21, 2)
    ]
    grow("dnsmos@calibration", more, f"numpy {version('numpy')}")


def likelihoods() -> None:
    """Choices and perplexities by the definitions of lm-evaluation-harness."""
    drawn = random.Random(28)
    more = []
    while len(more) < ENOUGH:
        options = [
            sentence(drawn, 4)
            if drawn.random() < 0.7
            else "".join(drawn.choices(HAN, k=3))
            for _ in range(4)
        ]
        weights = [-round(drawn.uniform(1, 30), 3) for _ in options]
        gold = drawn.randrange(4)
        ways: dict[str, Callable[[int], float]] = {
            "acc": lambda i, w=weights: w[i],
            "acc_norm": lambda i, w=weights, o=options: w[i] / len(o[i]),
            "acc_bytes": lambda i, w=weights, o=options: w[i] / len(o[i].encode()),
        }
        score = {
            name: float(max(range(4), key=way) == gold) for name, way in ways.items()
        }
        if len(set(options)) == 4:
            more.append(
                case(
                    "ABCD"[gold],
                    {"likelihoods": weights},
                    score,
                    sample={"choices": options},
                )
            )
    grow("choice_likelihood@lm-eval", more, "the definitions worked out")
    plain = json.loads((FOLDER / "perplexity@corpus.json").read_text("utf-8"))
    texts = [
        (one["sample"]["input"], one["output"]["likelihoods"][0]["logprob"])
        for one in plain["cases"]
    ]
    drawn_texts = [
        (sentence(drawn, 12), -round(drawn.uniform(5, 80), 3)) for _ in range(ENOUGH)
    ]
    more = [
        case(
            None,
            {"likelihoods": [{"logprob": w, "tokens": 8}]},
            -w / len(t.encode()) / math.log(2),
            sample={"input": t},
        )
        for t, w in drawn_texts
    ]
    whole = [*texts, *drawn_texts]
    weight = -sum(w for _, w in whole)
    n_bytes, n_words = (
        sum(len(t.encode()) for t, _ in whole),
        sum(len(t.split()) for t, _ in whole),
    )
    results = {
        "word_perplexity": math.exp(weight / n_words),
        "byte_perplexity": math.exp(weight / n_bytes),
        "bits_per_byte": weight / n_bytes / math.log(2),
    }
    grow(
        "perplexity@corpus",
        more,
        "the definitions worked out",
        [{"summarizer": "perplexity", "results": results}],
    )
    rows = [
        (-round(drawn.uniform(0.1, 9), 3), drawn.random() < 0.5) for _ in range(ENOUGH)
    ]
    more = [
        case("w", {"likelihoods": [{"logprob": w, "greedy": g, "tokens": 1}]}, float(g))
        for w, g in rows
    ]
    mean = sum(w for w, _ in [(-1.0, 1), (-2.0, 1), (-3.0, 1), *rows]) / (len(rows) + 3)
    corpus = [
        {"summarizer": "item_perplexity", "results": {"perplexity": math.exp(-mean)}}
    ]
    grow("last_word@lambada", more, "the definition worked out", corpus)


def propositions() -> None:
    """DPG-Bench: the share of yes, where what depends on a no is a no."""
    drawn = random.Random(29)
    for name, is_tied in (("dependent", True), ("independent", False)):
        more = []
        for _ in range(ENOUGH):
            count = drawn.randint(2, 8)
            parents = {
                n: str(drawn.randint(0, n - 1)) if is_tied else "0"
                for n in range(1, count + 1)
            }
            said = {str(n): drawn.randint(0, 1) for n in parents}
            # In order, as upstream does it: a parent that was itself taken away takes its children away.
            holds: dict[int, int] = {}
            for n, above in parents.items():
                holds[n] = said[str(n)] if above == "0" or holds[int(above)] else 0
            questions = [
                {"proposition_id": n, "dependency": above}
                for n, above in parents.items()
            ]
            score = sum(map(bool, holds.values())) / count
            more.append(
                {
                    "sample": {"fields": {"questions": questions}},
                    "output": {"json": said},
                    "score": score,
                }
            )
        grow(f"dpg@{name}", more, "the rule worked out")


def captions() -> None:
    """Compute pycocoevalcap on more captions, with and without capitals and full stops."""
    from pycocoevalcap.bleu.bleu import Bleu  # type: ignore[import-untyped]
    from pycocoevalcap.cider.cider import Cider  # type: ignore[import-untyped]
    from pycocoevalcap.rouge.rouge import Rouge  # type: ignore[import-untyped]

    made = f"pycocoevalcap {version('pycocoevalcap')}"
    drawn = random.Random(30)
    rows = [
        ([sentence(drawn, 9), sentence(drawn, 9)], sentence(drawn, 9))
        for _ in range(ENOUGH)
    ]
    for name, turned in (
        ("caption@coco-caption", str),
        ("caption@untokenized", lambda text: f"{text.capitalize()}."),
    ):
        said, wanted = texts_of(name)
        said, wanted = (
            said + [turned(a) for _, a in rows],
            wanted + [[turned(g) for g in golds] for golds, _ in rows],
        )
        indexed = (
            dict(enumerate(wanted)),
            {place: [one] for place, one in enumerate(said)},
        )
        cider, _ = Cider().compute_score(*indexed)
        rouge, each = Rouge().compute_score(*indexed)
        bleu, _ = Bleu(4).compute_score(*indexed, verbose=0)
        is_plain = name == "caption@coco-caption"
        known = len(said) - len(rows)
        scores = [
            {"score": {"rouge_l": float(v)}} if is_plain else {"outcome": "scored"}
            for v in each[known:]
        ]
        more = [
            {**case(g, a), **s}
            for g, a, s in zip(wanted[known:], said[known:], scores, strict=True)
        ]
        results = {
            **{f"bleu{n}": float(v) for n, v in enumerate(bleu, 1)},
            "rouge_l": float(rouge),
            "cider": float(cider),
        }
        corpus = [
            {
                "summarizer": "caption",
                "results": results if is_plain else {"cider": float(cider)},
            }
        ]
        grow(name, more, made, corpus)


def several_metrics() -> None:
    """Return the values of a scorer over all cases: the mean of each value, whatever the outcomes."""
    for name in (
        "mmlu_pro@official",
        "gsm8k@lm-eval",
        "bbh@lm-eval",
        "single_choice_zh@televal",
        "rouge@rouge-score",
        "rouge@lsum",
        "ocr_text@ned",
    ):
        plain = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
        columns: dict[str, list[float]] = {}
        for one in plain["cases"]:
            for metric, value in one["score"].items():
                columns.setdefault(metric, []).append(value)
        scorer = name.partition("@")[0]
        whole = {m: v for m, v in columns.items() if len(v) == len(plain["cases"])}
        results = {
            f"{scorer}.{metric}": sum(values) / len(values)
            for metric, values in whole.items()
        }
        grow(
            name,
            [],
            "the mean of each value worked out",
            [{"summarizer": "mean", "results": results}],
        )


def by_hand() -> None:
    """Numbers and float targets as a person reads them."""
    write(
        "number@spellings",
        "numbers as people write them",
        BY_HAND,
        [case(t, a, v) for a, t, v in NUMBERS],
        scorer="number",
    )
    write(
        "number@words",
        "numbers in words and with scales",
        BY_HAND,
        [case(t, a, v) for a, t, v in NUMBER_WORDS],
        scorer="number",
    )
    write(
        "exact_match@floats",
        "a float target in plain digits",
        BY_HAND,
        [case(t, a, v) for t, a, v in FLOATS],
        scorer="exact_match",
    )


MORE = (
    translations,
    summaries,
    transcripts,
    chinese_numbers,
    statistics,
    boxes,
    structures,
    pictures,
    sounds,
    likelihoods,
    propositions,
    captions,
    several_metrics,
    by_hand,
)
