"""Makes the fixtures of `assay conformance`: known vectors, and values of reference packages run here.

Run `python tools/make_fixtures.py` from the repository with jiwer, sacrebleu, rouge-score, nltk, math-verify and
pycocoevalcap installed. Nothing here asks assay: the numbers are those of the code each fixture names.
"""

import random
from importlib.metadata import version
from typing import Any

from fixture_files import CHINESE, FOLDER, HAN, WORDS, case, sentence, write
from known_vectors import KNOWN
from more_vectors import MORE


def captions() -> None:
    """Compute pycocoevalcap's own BLEU, ROUGE-L and CIDEr-D on random captions that need no tokenizer."""
    from pycocoevalcap.bleu.bleu import Bleu  # type: ignore[import-untyped]
    from pycocoevalcap.cider.cider import Cider  # type: ignore[import-untyped]
    from pycocoevalcap.rouge.rouge import Rouge  # type: ignore[import-untyped]

    made = f"pycocoevalcap {version('pycocoevalcap')}, called by tools/make_fixtures.py"
    drawn = random.Random(16)
    wanted, said = {}, {}
    for picture in range(30):
        caption = drawn.choices(WORDS, k=drawn.randint(4, 12))
        wanted[picture] = [
            " ".join(caption[drawn.randint(0, 2) :]),
            " ".join(drawn.sample(caption, len(caption))),
        ]
        said[picture] = [
            " ".join([*caption[: drawn.randint(2, 8)], drawn.choice(WORDS)])
        ]
    bleu, _ = Bleu(4).compute_score(wanted, said, verbose=0)
    rouge, each = Rouge().compute_score(wanted, said)
    cider, _ = Cider().compute_score(wanted, said)
    results = {
        **{f"bleu{n}": value for n, value in enumerate(bleu, 1)},
        "rouge_l": rouge,
        "cider": cider,
    }
    rows = zip(wanted.values(), said.values(), each, strict=True)
    write(
        "caption@pycocoevalcap",
        "pycocoevalcap's BLEU, ROUGE-L and CIDEr-D",
        made,
        [
            case(golds, answer, {"rouge_l": float(value)})
            for golds, (answer,), value in rows
        ],
        scorer="caption",
        tolerance=1e-6,
        corpus=[
            {
                "summarizer": "caption",
                "results": {k: float(v) for k, v in results.items()},
            }
        ],
    )


def caption_bleu() -> None:
    """Corpus BLEU with the closest reference length, by nltk."""
    from nltk.translate.bleu_score import corpus_bleu  # type: ignore[import-untyped]

    drawn = random.Random(15)
    rows = []
    for _ in range(20):
        # Captions a little shorter than the longer reference: which one is closest decides the brevity penalty.
        words = [
            drawn.choices(WORDS, k=length)
            for length in (drawn.randint(11, 13), drawn.randint(5, 7))
        ]
        rows.append((words, [*words[0][drawn.randint(1, 2) :]]))
    results = {
        f"bleu{n}": corpus_bleu(
            [refs for refs, _ in rows], [said for _, said in rows], weights=[1 / n] * n
        )
        for n in range(1, 5)
    }
    cases = [
        case([" ".join(r) for r in refs], " ".join(said), outcome="scored")
        for refs, said in rows
    ]
    write(
        "caption@nltk-bleu",
        "nltk's corpus BLEU, which coco-caption's equals up to 1e-6",
        f"nltk {version('nltk')}, called by tools/make_fixtures.py",
        cases,
        scorer="caption",
        tolerance=1e-6,
        corpus=[{"summarizer": "caption", "results": results}],
    )


def translations() -> None:
    """Compute sacreBLEU on its own example and on random sentences."""
    import sacrebleu
    from sacrebleu.metrics.bleu import BLEU

    made = f"sacrebleu {version('sacrebleu')}, called by tools/make_fixtures.py"
    system = [
        "The dog bit the man.",
        "It wasn't surprising.",
        "The man had just bitten him.",
    ]
    references = [
        ["The dog bit the man.", "It was not unexpected.", "The man bit him first."],
        [
            "The dog had bit the man.",
            "No one was surprised.",
            "The man had bitten the dog.",
        ],
    ]
    drawn = random.Random(11)
    sets = {
        "readme": (system, references),
        "random": (
            [sentence(drawn) for _ in range(25)],
            [[sentence(drawn) for _ in range(25)] for _ in range(2)],
        ),
    }
    for name, (said, wanted) in sets.items():
        rows = [
            (list(golds), answer) for answer, *golds in zip(said, *wanted, strict=True)
        ]
        bleu = sacrebleu.corpus_bleu(said, wanted).score
        write(
            f"bleu@{name}",
            "sacreBLEU, 13a",
            made,
            [
                case(g, a, BLEU(effective_order=True).sentence_score(a, g).score)
                for g, a in rows
            ],
            scorer="bleu",
            corpus=[{"summarizer": "bleu", "results": {"bleu": bleu}}],
        )
        edits = sacrebleu.corpus_ter(said, wanted).score
        write(
            f"ter@{name}",
            "sacreBLEU",
            made,
            [case(g, a, sacrebleu.sentence_ter(a, g).score) for g, a in rows],
            scorer="ter",
            corpus=[{"summarizer": "ter", "results": {"ter": edits}}],
        )
        for order, label in ((0, "chrf2"), (2, "chrf2++")):
            chrf = sacrebleu.corpus_chrf(said, wanted, word_order=order).score
            write(
                f"chrf@{name}-{label}",
                "sacreBLEU",
                made,
                [
                    case(g, a, sacrebleu.sentence_chrf(a, g, word_order=order).score)
                    for g, a in rows
                ],
                scorer={"name": "chrf", "word_order": order},
                corpus=[{"summarizer": "chrf", "results": {label: chrf}}],
            )
    single = [
        case(gold, answer, outcome="scored")
        for gold, answer in zip(references[0], system, strict=True)
    ]
    write(
        "bleu@readme-single",
        "sacreBLEU, 13a, one reference",
        made,
        single,
        scorer="bleu",
        corpus=[
            {
                "summarizer": "bleu",
                "results": {
                    "bleu": sacrebleu.corpus_bleu(system, references[:1]).score
                },
            }
        ],
    )
    cat = ("The cat is on the mat.", "The cat sat on the mat.")
    write(
        "bleu@sentence",
        "sacreBLEU, 13a",
        made,
        [case(*cat, sacrebleu.sentence_bleu(cat[1], [cat[0]]).score)],
        scorer="bleu",
    )
    chinese = ("今天天气很好", "今天天气非常好")
    for tokenizer in ("zh", "13a"):
        value = sacrebleu.sentence_bleu(
            chinese[0], [chinese[1]], tokenize=tokenizer
        ).score
        write(
            f"bleu@chinese-{tokenizer}",
            f"sacreBLEU, {tokenizer}",
            made,
            [case(chinese[1], chinese[0], value)],
            scorer={"name": "bleu", "tokenize": tokenizer},
        )


def summaries() -> None:
    """rouge-score on known and random pairs."""
    from rouge_score.rouge_scorer import RougeScorer

    made = f"rouge-score {version('rouge-score')}, called by tools/make_fixtures.py"
    drawn = random.Random(12)
    pairs = [
        ("the cat is on the mat", "the cat sat on the mat"),
        ("今天天气很好", "今天天气很好"),
    ]
    # A word counts as often as it stands there; stems meet where the words do not.
    pairs += [
        ("no", "no no no"),
        ("the dogs were running home", "a dog runs home"),
        ("it was his", "it wa hi"),
    ]
    pairs += [(sentence(drawn), sentence(drawn)) for _ in range(40)]
    names = ["rouge1", "rouge2", "rougeL"]
    for stem in (False, True):
        scorer = RougeScorer(names, use_stemmer=stem)
        write(
            f"rouge@rouge-score{'-stemmed' if stem else ''}",
            "google-research rouge-score",
            made,
            [
                case(t, a, {n: s.fmeasure for n, s in scorer.score(t, a).items()})
                for t, a in pairs
            ],
            scorer={"name": "rouge", "stemmer": stem},
        )
    lines = RougeScorer(["rougeL", "rougeLsum"]).score("d e f\na b c", "a b c\nd e f")
    write(
        "rouge@lsum",
        "google-research rouge-score",
        made,
        [
            case(
                "d e f\na b c",
                "a b c\nd e f",
                {n: s.fmeasure for n, s in lines.items()},
            )
        ],
        scorer={"name": "rouge", "lsum": True},
    )


def transcripts() -> None:
    """Compute jiwer on known and random pairs."""
    import jiwer

    made = f"jiwer {version('jiwer')}, called by tools/make_fixtures.py"
    drawn = random.Random(13)
    pairs = [
        ("the cat sat on the mat", "the cat sit on mat"),
        ("the cat sat on the mat", "the cat sit on mat now ok"),
        ("今天天气很好", "今天天汽好"),
        ("hello world", "hello word"),
        ("a b c d", "a b c d"),
        ("a", "b c d"),
        ("Hello, world!", "hello world"),
        ("a", ""),
    ]
    pairs += [(sentence(drawn), sentence(drawn)) for _ in range(60)]
    wanted, said = [t for t, _ in pairs], [a for _, a in pairs]
    for name, rate in (("wer", jiwer.wer), ("cer", jiwer.cer)):
        pooled = {
            "name": "pooled",
            "numerator": ["S", "D", "I"],
            "denominator": "N",
            "metric": name,
        }
        write(
            f"{name}@jiwer",
            "jiwer",
            made,
            [case(t, a, rate(t, a)) for t, a in pairs],
            scorer=name,
            corpus=[{"summarizer": pooled, "results": {name: rate(wanted, said)}}],
        )
    han = [*CHINESE]
    han += [
        ("".join(drawn.choices(HAN, k=8)), "".join(drawn.choices(HAN, k=7)))
        for _ in range(20)
    ]
    write(
        "cer@jiwer-chinese",
        "jiwer",
        made,
        [case(t, a, jiwer.cer(t, a)) for t, a in han],
        scorer="cer",
    )


def mathematics() -> None:
    """math-verify, gold first."""
    from math_verify import parse, verify

    pairs = [
        ("1/2", "0.5"),
        (r"\frac12", r"\boxed{\frac24}"),
        ("0.5", "50%"),
        (r"2\sqrt2", r"\sqrt8"),
        ("(1,2)", "[1,2]"),
        ("{1,2}", "{2,1}"),
        ("x=5", "5"),
        ("x^2+2x+1", "(x+1)^2"),
        ("1,000", "1000"),
        ("10", "10.0000001"),
        (r"\pi", "3.14159"),
        ("1/3", "0.333"),
        ("1/3", "0.333333"),
        (r"5\text{ cm}", "5"),
        ("[0,1)", r"0\le x<1"),
        (r"0\le x<1", "[0,1)"),
        (
            r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}",
            r"\boxed{\begin{pmatrix} 1 \\ 7 \end{pmatrix}}",
        ),
        (r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}", "7"),
        (r"\begin{pmatrix} 1 \\ 7 \end{pmatrix}", r"\boxed{1}"),
        (
            r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
            r"\begin{bmatrix} 1 & 2 \\ 3 & 4 \end{bmatrix}",
        ),
        (
            r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
            r"\begin{pmatrix} 1 & 2 \\ 3 & 5 \end{pmatrix}",
        ),
        (r"\$20", r"\boxed{20}"),
        (r"\$20", r"\$20"),
        (r"\$20", "21"),
        (r"90^\circ", "90"),
        (r"50\%", "50"),
        (r"50\%", "0.5"),
        (r"\{1,2,3\}", r"\{3,2,1\}"),
        (r"(-\infty, 3]", r"(-\infty,3)"),
        ("3.0", "3"),
        ("3", "3.0"),
        ("3.0", "3.00"),
        ("0.10", "0.1"),
    ]
    made = f"math-verify {version('math-verify')}, called by tools/make_fixtures.py"
    read = [
        (gold, said, _expression(parse, gold), _expression(parse, said))
        for gold, said in pairs
    ]
    cases = [
        case(gold, said, float(verify(wanted, found)))
        for gold, said, wanted, found in read
    ]
    write("math@math-verify", "math-verify, the gold first", made, cases, scorer="math")


def _expression(parse: Any, text: str) -> Any:
    """Write a bare formula between dollars, as the package requires; single letters are words and stay."""
    return parse(text if "boxed" in text or text.isalpha() else f"${text}$")


def main() -> None:
    """Write these fixtures again; those of `make_peer_fixtures.py` stay unchanged."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (
        *KNOWN,
        captions,
        caption_bleu,
        translations,
        summaries,
        transcripts,
        mathematics,
        *MORE,
    ):
        make()


if __name__ == "__main__":
    main()
