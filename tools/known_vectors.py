"""Known vectors: numbers of official code that was run elsewhere, or that follow from a stated formula.

Each fixture names whose numbers they are. Nothing here asks assay.
"""

import random
from collections.abc import Iterable, Sequence
from typing import Any

from fixture_files import BY_HAND, CHINESE, Plain, called, case
from fixture_files import write as write_file


def write(
    name: str, source: str, made_by: str, cases: Iterable[Plain], **more: Any
) -> None:
    """One fixture; code that was run was run once, and what it printed is kept here as it was printed."""
    once = (
        " (once, under Python 3.11; the values as printed)"
        if " run " in made_by
        else ""
    )
    write_file(name, source, made_by + once, cases, **more)


def choices() -> None:
    """§ multiple choice: what must be read out of fourteen answers."""
    sample = {"choices": ["cat", "dog", "bird", "a fish"]}
    right = [
        "The answer is B",
        "Answer: B",
        "I think it is B, not A.",
        "A dog is shown, so B.",
        "A. No wait, the answer is B",
        "It is a dog.",
        'The correct option is "B".',
        "答案是B",
        "选B。",
        "<think>A or C?</think> B",
        "The answer is (B) dog because it barks.",
        "b",
    ]
    cases = [case("B", answer, 1.0, sample=sample) for answer in right]
    # A refusal has its own outcome; the other two are answers that no rule may turn into a letter.
    cases += [
        case("B", answer, 0.0, sample=sample)
        for answer in ("I cannot answer", "None of the above", "")
    ]
    write(
        "choice@corpus",
        "fourteen answers on which frameworks disagree",
        BY_HAND,
        cases,
        scorer="choice",
    )
    groups = {"a": [1, 1, 1, 1], "b": [1, 1, 0, 1], "c": [0, 0, 0, 0], "d": [1, 1, 1]}
    rotations = [
        case(
            "A",
            "A" if hit else "B",
            float(hit),
            sample={"choices": ["x", "y"], "group": group},
        )
        for group, hits in groups.items()
        for hit in hits
    ]
    corpus = [
        {"summarizer": "grouped", "results": {"choice.grouped": 0.5, "choice": 10 / 15}}
    ]
    write(
        "choice@circular",
        "MMBench's circular evaluation, four groups",
        BY_HAND,
        rotations,
        scorer="choice",
        corpus=corpus,
    )


def likelihoods() -> None:
    """Choice by likelihood, perplexities."""
    weighed = [
        (
            "C",
            ["cat", "elephant", "dogs and cats"],
            [-4, -6, -7.5],
            {"acc": 0.0, "acc_norm": 1.0, "acc_bytes": 1.0},
        ),
        (
            "A",
            ["是", "yes, it is"],
            [-0.9, -4.0],
            {"acc": 1.0, "acc_norm": 0.0, "acc_bytes": 1.0},
        ),
    ]
    # acc_mutual_info: what an option is worth without the question is taken off.
    less = case(
        "B",
        {"likelihoods": [-2.0, -3.0], "details": {"unconditioned": [-1.0, -9.0]}},
        {"acc": 0.0, "acc_pmi": 1.0},
        sample={"choices": ["cat", "dog"]},
    )
    write(
        "choice_likelihood@lm-eval",
        "lm-evaluation-harness' acc, acc_norm, acc_bytes",
        BY_HAND,
        [
            *(
                case(t, {"likelihoods": w}, s, sample={"choices": c})
                for t, c, w, s in weighed
            ),
            less,
        ],
        scorer="choice_likelihood",
    )
    texts = [("the cat sat on the mat", -20.0), ("héllo wörld", -15.0)]
    bits = {
        text: -weight / (len(text.encode()) * 0.6931471805599453)
        for text, weight in texts
    }
    corpus = {
        "word_perplexity": 79.439840,
        "byte_perplexity": 2.718282,
        "bits_per_byte": 1.442695,
    }
    write(
        "perplexity@corpus",
        "lm-evaluation-harness' weighted perplexities",
        BY_HAND,
        [
            case(
                None,
                {"likelihoods": [{"logprob": w, "tokens": 8}]},
                bits[t],
                sample={"input": t},
            )
            for t, w in texts
        ],
        scorer="perplexity",
        tolerance=1e-6,
        corpus=[{"summarizer": "perplexity", "results": corpus}],
    )
    words = [
        case("w", {"likelihoods": [{"logprob": w, "greedy": g, "tokens": 1}]}, float(g))
        for w, g in ((-1.0, True), (-2.0, False), (-3.0, True))
    ]
    corpus = {"perplexity": 7.389056}
    write(
        "last_word@lambada",
        "LAMBADA: exp of the mean",
        BY_HAND,
        words,
        scorer="last_word",
        tolerance=1e-6,
        corpus=[{"summarizer": "item_perplexity", "results": corpus}],
    )


def texts() -> None:
    """SQuAD's F1 and exact match, GSM8K's two filters, pass@k."""
    pairs = [
        ("The Eiffel Tower", "Eiffel Tower", 1, 1),
        ("in Paris, France", "Paris", 0, 0.5),
        ("no no no", "no", 0, 0.5),
        ("", "", 1, 1),
        ("", "x", 0, 0),
        ("the", "a", 1, 1),
        ("3.5", "35", 1, 1),
        ("U.S.A.", "USA", 1, 1),
        ("巴黎", "巴黎。", 0, 0),
    ]
    made = "torchmetrics squad on these pairs"
    write(
        "f1@squad",
        "SQuAD 1.1 evaluation",
        made,
        [case(t, a, float(f)) for a, t, _, f in pairs],
        scorer="f1",
    )
    write(
        "quasi_exact@squad",
        "SQuAD 1.1 evaluation",
        made,
        [case(t, a, float(e)) for a, t, e, _ in pairs],
        scorer="quasi_exact",
    )
    answers = [
        ("She sold 24. #### 72", 1, 1),
        ("#### 72.", 1, 1),
        ("The answer is 72.", 0, 1),
        ("The answer is 72...", 0, 0),
        ("The answer is $72.00", 0, 0),
        ("The answer is 72.0", 0, 0),
        ("The answer is 72 clips (24+48).", 0, 0),
        ("It was 72. In 2023, she...", 0, 0),
        (r"\boxed{72}", 0, 1),
        ("#### 72 #### 73", 1, 0),
        ("-72", 0, 0),
        ("seventy-two", 0, 0),
    ]
    write(
        "gsm8k@lm-eval",
        "lm-evaluation-harness' strict and flexible filters (4e7e0d47f)",
        "the filters run on these answers, gold 72",
        [
            case("72", a, {"strict": float(s), "flexible": float(f)})
            for a, s, f in answers
        ],
        scorer="gsm8k",
    )
    chances = [
        (10, 3, 1, 0.3),
        (10, 3, 5, 0.9166666667),
        (10, 0, 5, 0),
        (10, 10, 5, 1),
        (4, 2, 2, 0.8333333333),
        (200, 20, 10, 0.6602256238),
        (200, 20, 100, 0.9999996678),
    ]
    write(
        "pass_at_k@human-eval",
        "openai/human-eval's estimator",
        "the official function run on these counts",
        [called(v, n, c, k) for n, c, k, v in chances],
        function="summarizers.statistics.passk:pass_at_k",
        tolerance=1e-9,
    )
    hats = [(10, 3, 1, 0.3), (10, 3, 5, 0), (10, 10, 5, 1), (4, 2, 2, 0.1666666667)]
    write(
        "pass_hat_k@definition",
        "C(c,k) / C(n,k)",
        BY_HAND,
        [called(v, n, c, k) for n, c, k, v in hats],
        function="summarizers.statistics.passk:pass_hat_k",
        tolerance=1e-9,
    )


def pictures() -> None:
    """VQA accuracy in both behaviours, ChartQA, ANLS, OCRBench."""
    agreeing = [("yes", "Yes"), ("yes", "yes."), ("2", "two")]
    nine = [
        ("yes", "no", "Yes."),
        ("red car", "x", "a red car"),
        ("don't", "x", "dont"),
        ("1000", "x", "1,000"),
        ("t shirt", "x", "t-shirt"),
        ("0", "x", "none"),
    ]
    counted = [(1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0)]
    for name, whole in (("a013f00", 0.0), ("always", 1.0)):
        cases = [
            case(["yes"] * n + ["no"] * (10 - n), "yes", value) for n, value in counted
        ]
        cases += [case([gold] * 10, said, whole) for gold, said in agreeing]
        cases += [case([gold] * 9 + [other], said, 1.0) for gold, other, said in nine]
        made = "the official script (prints made Python 3) run on these answers"
        source = (
            "GT-Vision-Lab/VQA a013f00"
            if name == "a013f00"
            else "GT-Vision-Lab/VQA before a013f00, VLMEvalKit"
        )
        write(
            f"vqa_accuracy@{name}",
            source,
            made,
            cases,
            scorer={"name": "vqa_accuracy", "v": name},
            tolerance=1e-9,
        )
    relaxed = [
        ("100", "104", 1),
        ("100", "105", 1),
        ("100", "106", 0),
        ("0", "0.0", 0),
        ("10%", "0.1", 1),
        ("10", "10%", 0),
        ("1,000", "1000", 0),
        ("Yes", "yes", 1),
        ("2010", "2015", 1),
        ("100", "95", 1),
        ("100", "94", 0),
        ("-100", "-104", 1),
        ("-100", "100", 0),
    ]
    write(
        "relaxed_accuracy@chartqa",
        "VLMEvalKit e8e78f05 (pix2struct's rule)",
        "its function run on the first nine pairs; the last four by its formula",
        [case(t, a, float(v)) for t, a, v in relaxed],
        scorer="relaxed_accuracy",
    )
    near = [
        ("hello world", "hello word", 0.909091),
        ("Hello  World", "hello world", 1.0),
        ("abc", "xyz", 0.0),
        ("ab", "ax", 0.5),
        ("kitten", "sitting", 0.571429),
        ("$1,234", "1234", 0.666667),
        ("abcd", "axyz", 0.0),
        ("abcdefgh", "abc", 0.0),
    ]
    spaced = {"definition": 0.857143, "vlmevalkit": 0.875}
    for name, value in spaced.items():
        cases = [case(t, a, v) for t, a, v in near[:1] + near[2:]] + [
            case("abc  def", "abcdef", value)
        ]
        if name == "definition":
            cases.append(case(*near[1]))
        source = (
            "ANLS by its definition"
            if name == "definition"
            else "VLMEvalKit e8e78f05, lengths before squeezing"
        )
        made = "reference functions run on these pairs; those below one half by the definition"
        write(
            f"anls@{name}",
            source,
            made,
            cases,
            scorer={"name": "anls", "v": name},
            tolerance=1e-6,
        )
    tree = {"a": "1", "b": ["x", "y"]}
    write(
        "anls_star@reference",
        "anls_star",
        "the reference package run on this pair",
        [case(tree, {"json": {"a": "1", "b": ["x", "z"]}}, 0.666667)],
        scorer="anls_star",
        tolerance=1e-6,
    )
    formula = {
        "fields": {"category": "Handwritten Mathematical Expression Recognition"}
    }
    write(
        "ocrbench@contains",
        "OCRBench's own rule",
        BY_HAND,
        [
            case(["HELLO"], "It says hello there", 1.0),
            case(["HELLO"], "It says help", 0.0),
            case(["a b", "c"], "A\nB", 1.0),
            case(["a+b=c"], "a + b = c", 1.0, sample=formula),
            case(["a+b=C"], "a+b=c", 0.0, sample=formula),
            case(["12"], "a 2", 0.0),
        ],
        scorer="ocrbench",
    )
    boxes = [
        ("[0, 0, 10, 10]", "[0, 0, 10, 10]", 1.0),
        ("[0, 0, 10, 10]", "[5, 0, 15, 10]", 1 / 3),
        ("[0, 0, 10, 10]", "[0, 0, 10, 5]", 0.5),
        ("[0, 0, 10, 10]", "[20, 20, 30, 30]", 0.0),
    ]
    size = {"fields": {"width": 100, "height": 200}}
    for name, options, answer in (
        ("xyxy", {}, "[15, 30, 35, 55]"),
        ("xywh", {"corners": "xywh"}, "[15, 30, 20, 25]"),
        ("unit", {"scale": "unit"}, "[0.15, 0.15, 0.35, 0.275]"),
        ("thousand", {"scale": "thousand"}, "[150, 150, 350, 275]"),
    ):
        # 15 x 20 pixels shared by boxes of 20 x 30 and 20 x 25.
        cases = [
            case(
                "[10, 20, 20, 30]",
                answer,
                {"iou": 300 / 800, "acc@0.5": 0.0},
                sample=size,
            )
        ]
        cases.append(
            case(
                "[10, 20, 20, 30]",
                "no box",
                {"iou": 0.0},
                outcome="unparsed",
                sample=size,
            )
        )
        write(
            f"box_iou@{name}",
            "intersection over union of boxes in one scale and another",
            BY_HAND,
            cases,
            scorer={"name": "box_iou", "target_corners": "xywh", **options},
        )
    write(
        "box_iou@refcoco",
        "intersection over union, right from 0.5 on",
        BY_HAND,
        [case(t, a, {"iou": v, "acc@0.5": float(v >= 0.5)}) for t, a, v in boxes],
        scorer="box_iou",
    )


def captions() -> None:
    """coco-caption's three pictures."""
    rows = [
        (
            [
                "a man riding a horse on the beach",
                "a person rides a horse near the ocean",
            ],
            "a man rides a horse on the beach",
            0.875,
        ),
        (
            ["a cat sits on a red chair", "the cat is sitting on the chair"],
            "a cat sitting on a chair",
            0.758706,
        ),
        (
            ["two dogs play in the snow", "a pair of dogs playing outside in snow"],
            "two dogs are playing in the snow",
            0.780051,
        ),
    ]
    results = {
        "bleu1": 0.952381,
        "bleu2": 0.796819,
        "bleu3": 0.595936,
        "bleu4": 0.433373,
        "rouge_l": 0.804586,
        "cider": 3.054976,
    }
    loud = [
        ([f"{ref.capitalize()}." for ref in refs], f"{said.capitalize()}.")
        for refs, said, _ in rows
    ]
    write(
        "caption@untokenized",
        "pycocoevalcap without its tokenizer, captions with a capital and a point",
        "the package run on these three pictures",
        [case(refs, said, outcome="scored") for refs, said in loud],
        scorer={"name": "caption", "tokenize": "none"},
        tolerance=1e-6,
        corpus=[{"summarizer": "caption", "results": {"cider": 3.027490}}],
    )
    write(
        "caption@coco-caption",
        "pycocoevalcap after PTB tokenization",
        "the package run on these three pictures",
        [case(refs, said, {"rouge_l": value}) for refs, said, value in rows],
        scorer="caption",
        tolerance=1e-6,
        corpus=[{"summarizer": "caption", "results": results}],
    )


def meteor() -> None:
    """METEOR 1.5 on the same three images: its counts, and what its program says of each and of all."""
    counts = [
        "8 8 4 4 3 3 4 4 1 1 0 0 0 0 0 0 0 0 0 0 0 8 8",
        "6 7 3 3 2 2 3 3 1 1 0 0 0 0 0 0 0 0 0 0 2 6 6",
        "7 6 4 3 2 2 3 3 0 0 0 0 0 0 0 0 1 1 1 0 0 7 6",
    ]
    rows = [[float(number) for number in line.split()] for line in counts]
    cases = [
        called(value, {"array": [row]})
        for row, value in zip(rows, (0.925, 0.384758, 0.896461), strict=True)
    ]
    write(
        "meteor@java",
        "METEOR 1.5 as coco-caption calls it",
        "java -jar meteor-1.5.jar run on three captions",
        [*cases, called(0.532574, {"array": rows})],
        function="summarizers.text_corpora:meteor_of",
        tolerance=1e-6,
    )


def verdicts() -> None:
    """MME, POPE under both rules, HallusionBench."""
    hits = [[1, 1], [1, 0], [0, 0], [1, 1]]
    pairs = [
        case(
            "Yes",
            "Yes" if hit else "No",
            float(hit),
            sample={"group": str(n), "tags": {"category": "existence"}},
        )
        for n, pair in enumerate(hits)
        for hit in pair
    ]
    for rule in ("words", "mme_official"):
        write(
            f"yes_no@mme-{rule}",
            "MME's acc + acc+",
            "VLMEvalKit's and MME's functions run on these verdicts",
            pairs,
            scorer={"name": "yes_no", "rule": rule},
            corpus=[{"summarizer": "mme", "results": {"perception": 112.5}}],
        )
    said = [
        ("yes", "Yes"),
        ("yes", "Yes, there is a dog."),
        ("no", "No."),
        ("no", "There is no dog."),
        ("no", "There isn't a dog."),
        ("yes", "I am not sure"),
        ("no", "It is unclear"),
        ("yes", "Yes"),
        ("no", "yes"),
        ("no", "not visible"),
    ]
    columns = ("accuracy", "precision", "recall", "f1", "yes_ratio")
    rules = {
        "pope_official": (
            "AoiDragon/POPE 08d957b",
            (0.6, 0.5, 0.75, 0.6, 0.6),
            (1, 1, 1, 1, 0, 0, 0, 1, 0, 1),
        ),
        "words": (
            "VLMEvalKit e8e78f05",
            (0.5, 0.75, 0.75, 0.75, 0.4),
            (1, 1, 1, 1, 0, 0, 0, 1, 0, 0),
        ),
        "lmms_eval": (
            "lmms-eval",
            (0.2, 2 / 3, 1.0, 0.8, 0.4),
            (1, 0, 0, 0, 0, 0, 0, 1, 0, 0),
        ),
    }
    for rule, (source, numbers, right) in rules.items():
        results = dict(zip(columns, numbers, strict=True))
        write(
            f"yes_no@pope-{rule}",
            source,
            "its script run on these answers",
            [case(t, a, float(r)) for (t, a), r in zip(said, right, strict=True)],
            scorer={"name": "yes_no", "rule": rule},
            tolerance=1e-6,
            corpus=[
                {
                    "results": results,
                    "summarizer": {"name": "yes_no", "counting": rule}
                    if rule == "lmms_eval"
                    else "yes_no",
                }
            ],
        )
    ranked = [0.1, 0.4, 0.35, 0.8, 0.4, 0.4], [False, False, True, True, True, False]
    write(
        "auroc@sklearn",
        "scikit-learn's roc_auc_score",
        "scikit-learn 1.9.1 run on these scores",
        [
            called(0.75, ranked[0][:4], ranked[1][:4]),
            called(0.6666666666666667, *ranked),
            called(0.5, [0.0, 0.0], [True, False]),
        ],
        function="summarizers.classification:area_under_roc",
    )
    places = [("0", "0", 1), ("0", "1", 1), ("1", "0", 1), ("1", "1", 0), ("2", "0", 1)]
    tagged = [
        case(
            "yes",
            "yes" if hit else "no",
            float(hit),
            sample={
                "tags": {
                    "l2-category": "chart",
                    "set_id": "0",
                    "figure_id": figure,
                    "question_id": question,
                }
            },
        )
        for figure, question, hit in places
    ]
    results = {"aAcc": 4 / 5, "qAcc": 1 / 2, "fAcc": 2 / 3}
    write(
        "yes_no@hallusionbench",
        "HallusionBench: all of a question, all of a figure",
        BY_HAND,
        tagged,
        scorer="yes_no",
        corpus=[{"summarizer": "hallusionbench", "results": results}],
    )


def sounds() -> None:
    """DNSMOS, SI-SDR."""
    rated = {
        "tone": (1.1894, 1.6201, 1.5511, 2.2628),
        "noise": (1.1089, 1.1782, 1.1050, 2.1109),
        "silence": (1.8399, 2.5136, 3.4724, 2.1468),
    }
    cases = [
        called(
            dict(zip(("ovrl", "sig", "bak", "p808"), values, strict=True)),
            {"signal": name},
        )
        for name, values in rated.items()
    ]
    cases.append(called({"ovrl": 1.1229}, {"signal": "short_tone"}))
    write(
        "dnsmos@speechmos",
        "Microsoft DNSMOS P.835 and P.808",
        "speechmos 0.0.1.1 run on these sounds",
        cases,
        function="scorers.speech.dnsmos:rate_speech",
        tolerance=5e-3,
    )
    write(
        "dnsmos@calibration",
        "Microsoft DNSMOS' polynomials",
        BY_HAND,
        [
            called(v, n, 3.0)
            for n, v in (("sig", 2.912007), ("bak", 3.246400), ("ovrl", 2.783454))
        ],
        function="scorers.speech.dnsmos:calibrate",
        tolerance=1e-6,
    )
    write(
        "si_sdr@torchmetrics",
        "torchmetrics' SI-SDR",
        "torchmetrics run on this pair",
        [
            called(
                18.402992,
                {"array": [3.0, -0.5, 2.0, 7.0]},
                {"array": [2.5, 0.0, 2.0, 8.0]},
            )
        ],
        function="scorers.speech.recordings:si_sdr",
        tolerance=1e-6,
    )
    write(
        "speaker_similarity@cosine",
        "cosine of embeddings",
        BY_HAND,
        [
            called(1.0, [1.0, 2.0], [2.0, 4.0]),
            called(0.0, [1.0, 0.0], [0.0, 1.0]),
            called(-1.0, [1.0], [-3.0]),
        ],
        function="scorers.speech.recordings:cosine",
    )


def judges() -> None:
    """Agreement, and verdicts in both orders."""
    first, second = [1, 1, 0, 1, 0, 0, 1, 0, 1, 1], [1, 1, 0, 0, 0, 1, 1, 0, 1, 1]
    weighted = [1, 2, 3, 4, 5, 3], [1, 2, 4, 4, 4, 3]
    write(
        "cohens_kappa@sklearn",
        "scikit-learn's cohen_kappa_score",
        "the function run on these ratings",
        [called(0.583333, first, second), called(0.888889, *weighted, "quadratic")],
        function="summarizers.statistics.agreement:cohens_kappa",
        tolerance=1e-6,
    )
    textbook = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    write(
        "krippendorff@textbook",
        "Krippendorff's four observers and twelve units",
        "the package run on the matrix",
        [called(0.743421, textbook)],
        function="summarizers.statistics.agreement:krippendorff_alpha",
        tolerance=1e-6,
    )
    pairs = [["A", "A"], ["A", "B"], ["B", "B"], ["tie", "A"], ["B", "A"], ["A", "A"]]
    folded = {
        "wins": 2,
        "losses": 1,
        "ties": 3,
        "win_rate": 0.583333,
        "flat_win_rate": 0.625,
        "position_consistency": 0.5,
        "first_position_share": 5 / 11,
    }
    write(
        "pairwise_judge@both-orders",
        "a win needs the same winner in both orders",
        BY_HAND,
        [called(folded, {"pairs": pairs})],
        function="summarizers.statistics.agreement:fold_verdicts",
        tolerance=1e-6,
    )


def drawings() -> None:
    """GenEval, DPG-Bench, WISE in both versions, CLIPScore in both scales, FID, PSNR, SSIM."""
    hits = {
        "single_object": (8, 8),
        "two_object": (3, 4),
        "counting": (1, 4),
        "colors": (4, 4),
        "position": (1, 4),
        "color_attr": (1, 2),
    }
    wanted = [{"class": "dog", "count": 1}]
    found = {"dog": [[0, 0, 10, 10, 0.95]]}
    cases = [
        {
            "sample": {"fields": {"tag": tag, "include": wanted}, "tags": {"tag": tag}},
            "output": {"json": found if n < right else {}},
            "score": float(n < right),
        }
        for tag, (right, of) in hits.items()
        for n in range(of)
    ]
    corpus = [
        {
            "summarizer": {"name": "group_mean", "by": "tag"},
            "results": {"overall": 0.625},
        },
        {"summarizer": "mean", "results": {"geneval": 18 / 26}},
    ]
    write(
        "geneval@summary",
        "djghosh13/geneval af4902f",
        "the official summary script run on these verdicts",
        cases,
        scorer="geneval",
        corpus=corpus,
    )
    drawn = random.Random(14)
    relations = ("left of", "right of", "above", "below")
    boxes = [tuple(_box(drawn) for _ in range(2)) for _ in range(20)]
    write(
        "geneval@position",
        "djghosh13/geneval: offset of the centres, less a tenth of both sizes",
        "the formula of relative_position (16f1681), written out in tools/make_fixtures.py",
        [
            {
                "sample": {
                    "fields": {
                        "include": [
                            *wanted,
                            {"class": "cat", "count": 1, "position": [relation, 0]},
                        ]
                    }
                },
                "output": {"json": {"dog": [[*dog, 0.95]], "cat": [[*cat, 0.95]]}},
                "score": float(relation in _relations(cat, dog)),
            }
            for cat, dog in boxes
            for relation in relations
        ],
        scorer="geneval",
    )
    two = {
        "include": [{"class": "dog", "count": 2}],
        "exclude": [{"class": "dog", "count": 3}],
    }
    red = {"include": [{"class": "car", "count": 1, "color": "red"}]}
    sure, unsure = [0, 0, 10, 10, 0.95], [0, 0, 10, 10, 0.25]
    clauses = [
        (two, {"dog": [sure]}, 0),
        (two, {"dog": [sure] * 2}, 1),
        (two, {"dog": [sure] * 3}, 0),
        ({"include": wanted}, {"dog": [unsure]}, 0),
        ({"include": wanted}, {"dog": [{"box": unsure}]}, 0),
        ({"tag": "counting", "include": wanted}, {"dog": [[0, 0, 10, 10, 0.5]]}, 0),
        ({"tag": "two_object", "include": wanted}, {"dog": [[0, 0, 10, 10, 0.5]]}, 1),
        (red, {"car": [{"box": sure, "color": "red"}]}, 1),
        (red, {"car": [{"box": sure, "color": "blue"}]}, 0),
        (
            {"include": [], "exclude": [{"class": "dog", "count": 17}]},
            {"dog": [sure] * 20},
            1,
        ),
    ]
    write(
        "geneval@clauses",
        "djghosh13/geneval: what must be there AND, what must not OR; thresholds 0.3 and 0.9",
        BY_HAND,
        [
            {"sample": {"fields": f}, "output": {"json": d}, "score": float(v)}
            for f, d, v in clauses
        ],
        scorer="geneval",
    )
    parents = {1: "0", 2: "1", 3: "0", 4: "3", 5: "4"}
    answers = {"1": 1, "2": 1, "3": 0, "4": 1, "5": 1}
    for name, tied, value in (
        ("dependent", parents, 0.4),
        ("independent", dict.fromkeys(parents, "0"), 0.8),
    ):
        questions = [
            {"proposition_id": key, "dependency": above} for key, above in tied.items()
        ]
        write(
            f"dpg@{name}",
            "TencentQQGYLab/ELLA 3c228f1: what depends on a no is a no",
            BY_HAND,
            [
                {
                    "sample": {"fields": {"questions": order}},
                    "output": {"json": answers},
                    "score": value,
                }
                for order in (questions, questions[::-1])
            ],
            scorer="dpg",
        )
    ratings = [
        ((2, 1, 2), 0.9),
        ((2, 2, 2), 1.0),
        ((0, 0, 0), 0.0),
        ((1, 0, 2), 0.45),
        ((0, 2, 0), 0.2),
    ]
    fields = ("culture", "time", "space", "biology", "physics")
    legacy = [
        {
            "sample": {"tags": {"category": f}},
            "output": {
                "json": {"consistency": c, "realism": r, "aesthetic_quality": a}
            },
            "score": v,
        }
        for ((c, r, a), v), f in zip(ratings, fields, strict=True)
    ]
    # Chemistry is left out: the weights of the rest are made to add up to 1.
    shares = (0.4, 0.167, 0.133, 0.1, 0.1)
    overall = sum(s * v for s, (_, v) in zip(shares, ratings, strict=True)) / sum(
        shares
    )
    write(
        "wise_legacy@2025",
        "PKU-YuanGroup/WISE eb51174, first version: (0.7 c + 0.2 r + 0.1 a) / 2",
        BY_HAND,
        legacy,
        scorer="wise_legacy",
        corpus=[{"summarizer": "wise_legacy", "results": {"wiscore_legacy": overall}}],
    )
    scores = dict(zip((*fields, "chemistry"), (1, 0, 1, 1, 0, 1), strict=True))
    verified = [
        {
            "sample": {"tags": {"category": f}},
            "output": {"json": {"score": s}},
            "score": float(s),
        }
        for f, s in scores.items()
    ]
    write(
        "wise_verified@2026",
        "PKU-YuanGroup/WISE eb51174, WISE_Verified: .4 culture and .12 for each other",
        BY_HAND,
        verified,
        scorer="wise_verified",
        corpus=[
            {
                "summarizer": "wise_verified",
                "results": {"wise_verified.overall": 0.4 + 0.12 * 3},
            }
        ],
    )
    for variant, values in (
        ("official", (0.775, 0.45, 0)),
        ("torchmetrics", (31, 18, 0)),
    ):
        write(
            f"clip_score@{variant}",
            "2.5 max(cos, 0)" if variant == "official" else "100 max(cos, 0)",
            BY_HAND,
            [
                {"output": {"json": {"cosine": c}}, "score": v}
                for c, v in zip((0.31, 0.18, -0.05), values, strict=True)
            ],
            scorer={"name": "clip_score", "variant": variant},
        )
    one, four, mixed = [[1, 0], [0, 1]], [[4, 0], [0, 4]], [[1, 0], [0, 4]]
    moments = [
        ([0, 0], one, [3, 4], one, 25),
        ([0, 0], one, [0, 0], four, 2),
        ([0, 0], mixed, [1, 1], [[9, 0], [0, 1]], 7),
    ]
    write(
        "fid@moments",
        "Fréchet distance of normal distributions",
        "the reference formula run on these moments",
        [called(v, *({"array": part} for part in parts)) for *parts, v in moments],
        function="scorers.image.fid:distance_of_moments",
        tolerance=1e-6,
    )
    ramp, noisy = {"signal": "ramp"}, {"signal": "noisy"}
    write(
        "image_similarity@psnr",
        "scikit-image",
        "the function run on these pictures",
        [
            called(28.228248, ramp, {"signal": "brighter"}),
            called(26.696782, ramp, noisy),
            called("inf", ramp, ramp),
        ],
        function="scorers.image.image_similarity:psnr",
        tolerance=1e-6,
    )
    units = {"signal": "ramp_unit"}, {"signal": "noisy_unit"}
    write(
        "image_similarity@ssim",
        "scikit-image, Wang's settings and its own",
        "the function run on these pictures",
        [
            called(0.482631, ramp, noisy),
            called(0.564762, ramp, noisy, window="skimage"),
            called(0.716690, *units, 2.0, window="skimage"),
        ],
        function="scorers.image.image_similarity:ssim",
        tolerance=1e-6,
    )
    for program, release, double, single in (
        ("torchmetrics", "1.9.0", 0.4831765899100729, 0.483164),
        ("piq", "0.8.0", 0.48263060030005994, 0.482612),
    ):
        write(
            f"image_similarity@ssim-{program}",
            f"{program}'s SSIM",
            f"{program} {release} run on these pictures as float64 (in float32, its default, it gives {single})",
            [called(double, ramp, noisy, window=program)],
            function="scorers.image.image_similarity:ssim",
            tolerance=1e-9,
        )
    write(
        "ocr_text@ned",
        "1 - edits / longer length, words and lines found",
        BY_HAND,
        [
            case(
                "OPEN NOW",
                "OPEN NOW",
                {"word_accuracy": 1.0, "ned": 1.0, "line_match": 1.0},
            ),
            case(
                "OPEN NOW",
                "OPEN",
                {"word_accuracy": 0.5, "ned": 0.5, "line_match": 0.0},
            ),
            case("one\ntwo", "two", {"word_accuracy": 0.5, "line_match": 0.5}),
        ],
        scorer="ocr_text",
    )


def speech() -> None:
    """Corpus WER, empty texts, the Chinese recipe, mixed text, the normalizers."""
    corpus = {
        "name": "pooled",
        "numerator": ["S", "D", "I"],
        "denominator": "N",
        "metric": "wer",
    }
    write(
        "wer@corpus",
        "corpus WER: all edits over all reference words",
        BY_HAND,
        [case("hello world", "hello word", 0.5), case("a b c d", "a b c d", 0.0)],
        scorer="wer",
        corpus=[{"summarizer": corpus, "results": {"wer": 1 / 6}}],
    )
    write(
        "wer@empty",
        "the policy for empty texts: nothing for nothing is 0, anything for nothing 1",
        BY_HAND,
        [case("", "", 0.0), case("", "a", 1.0)],
        scorer="wer",
    )
    write(
        "cer@zh",
        "TELEVAL's and seed-tts' recipe: simplified, numbers spelled, marks and blanks gone",
        BY_HAND,
        [
            case(t, a, v)
            for (t, a), v in zip(CHINESE, (1 / 3, 0.0, 0.0, 0.0), strict=True)
        ],
        scorer={"name": "cer", "normalize": "zh"},
    )
    write(
        "mer@mixed",
        "Han characters and Latin words",
        BY_HAND,
        [case("我用python写代码", "我用拍森写代码", 1 / 3)],
        scorer="mer",
    )
    whisper = [
        (
            "Mr. Smith won't pay $3.50 for twenty-one colour TVs, um, okay?",
            "mister smith will not pay $3.50 for 21 color tvs okay",
        ),
        ("two hundred and five", "205"),
        ("one oh one", "101"),
        ("$20 million", "$20000000"),
        ("3 o'clock", "30 clock"),
        ("O'Brien's", "0 brien is"),
        ("neighbour's", "neighbor is"),
        ("yes [laughs] (applause)", "yes"),
    ]
    write(
        "wer@whisper-en",
        "whisper's English normalizer, oddities included",
        "the normalizer run on these lines",
        [case(plain, written, 0.0) for written, plain in whisper],
        scorer={"name": "wer", "normalize": "whisper-en"},
    )
    basic = [("नमस्ते दुनिया", "नमस त द न य"), ("สวัสดี", "สว สด")]
    write(
        "wer@whisper-basic",
        "whisper's basic normalizer, which takes the vowel signs of some scripts",
        "the normalizer run on these lines",
        [case(plain, written, 0.0) for written, plain in basic],
        scorer={"name": "wer", "normalize": "whisper-basic", "any_script": True},
    )
    write(
        "wer@macro",
        "the mean of the utterances' rates, beside the corpus rate",
        BY_HAND,
        [case("hello world", "hello word", 0.5), case("a b c d", "a b c d", 0.0)],
        scorer="wer",
        corpus=[{"summarizer": "mean", "results": {"wer": 0.25}}],
    )
    spoken = (
        "我有二点五亿元，二零二四年三月五日，电话幺三八零零幺三八零零零，占百分之五十"
    )
    write(
        "spoken_numbers@wetext",
        "wetext 0.1.8",
        "wetext run on this line",
        [called(spoken, "我有2.5亿元，2024年3月5日，电话13800138000，占50%")],
        function="scorers.speech.speech_normalize:spoken_numbers",
    )


def _box(drawn: random.Random) -> list[int]:
    left, top = drawn.randint(0, 200), drawn.randint(0, 200)
    return [left, top, left + drawn.randint(10, 120), top + drawn.randint(10, 120)]


def _relations(box: Sequence[float], other: Sequence[float]) -> set[str]:
    """Per axis: (|centre - centre| - 0.1 (size + size)), not below 0, over the distance of the centres, beyond 0.5."""
    centres = [
        [(one[axis] + one[axis + 2]) / 2 for axis in (0, 1)] for one in (box, other)
    ]
    apart = [centres[0][axis] - centres[1][axis] for axis in (0, 1)]
    distance = (apart[0] ** 2 + apart[1] ** 2) ** 0.5
    found = set()
    for axis, names in enumerate((("left of", "right of"), ("above", "below"))):
        size = box[axis + 2] - box[axis] + other[axis + 2] - other[axis]
        share = max(abs(apart[axis]) - 0.1 * size, 0.0) / distance if distance else 0.0
        if share > 0.5:
            found.add(names[apart[axis] > 0])
    return found


KNOWN = (
    choices,
    likelihoods,
    texts,
    pictures,
    captions,
    meteor,
    verdicts,
    sounds,
    judges,
    drawings,
    speech,
)
