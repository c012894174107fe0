# ruff: noqa: E501, E731, B023 - tables of inputs, a case to a line
"""Inputs that are run through TELEVAL's own code and through the dialect's names: what comes out must be the same.

A family is a function that yields `(name, thunk)`; all that it uses of TELEVAL it gets by `side.module("src.…")`, so
that the same lines run on either side. `tools/guest_fixtures_televal.py` runs them in a checkout and keeps what it
gave.
"""

import contextlib
import io
import json
import math
import struct
import sys
import types
import wave
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

Case = tuple[str, Callable[[], Any]]


class Side:
    """One of the two: where its modules come from, its era, and an empty folder, which is the working folder."""

    def __init__(self, module: Callable[[str], Any], era: str, folder: Path) -> None:
        self.module, self.era, self.folder = module, era, folder

    def get(self, path: str) -> Any:
        """A class or function by its dotted name."""
        module, _, name = path.rpartition(".")
        return getattr(self.module(module), name)

    def jsonl(self, name: str, rows: list[Any]) -> str:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
            encoding="utf-8",
        )
        return str(file)

    def wav(
        self, name: str, rate: int = 16000, channels: int = 1, seconds: float = 0.05
    ) -> str:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(wav_bytes(rate, channels, seconds))
        return str(file)


def wav_bytes(rate: int = 16000, channels: int = 1, seconds: float = 0.05) -> bytes:
    """A tone, as a file."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        values = [
            int(8000 * math.sin(frame * 440 * 2 * math.pi / rate))
            for frame in range(int(rate * seconds))
        ]
        sound.writeframes(
            b"".join(struct.pack("<h", value) * channels for value in values)
        )
    return stream.getvalue()


def outcome(thunk: Callable[[], Any], folder: Path) -> Any:
    """What a case gives, as JSON can hold it; of an error its kind."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return as_json(thunk(), folder)
    except Exception as error:
        return {
            "raises": next(
                k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"
            )
        }


def as_json(value: Any, folder: Path) -> Any:
    """Plain values; tuples marked, numbers of libraries as Python's, the working folder named as such."""
    if isinstance(value, str):
        return value.replace(str(folder.resolve()), "<folder>").replace(
            str(folder), "<folder>"
        )
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Path):
        return as_json(str(value), folder)
    if isinstance(value, tuple):
        return {"__tuple__": [as_json(item, folder) for item in value]}
    if isinstance(value, (list, set, frozenset)):
        return [
            as_json(item, folder)
            for item in (sorted(value) if not isinstance(value, list) else value)
        ]
    if isinstance(value, dict):
        return {str(key): as_json(item, folder) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return as_json(asdict(value), folder)
    if hasattr(value, "tolist"):
        return as_json(value.tolist(), folder)
    return {"type": type(value).__name__}


# --- text -------------------------------------------------------------------------------------------------------------

TEXTS = [
    "", " ", "北京", "北 京", "Hello, World!", "it's", "It’s", "été", "été", "ＡＢＣ", "５", "a  b", "a\tb\nc",
    "第1名", "①②", "U.S.A.", "3.14", "C++", "$100", "100%", "你好，世界。", "「答案」是A", "ΑΣ", "İstanbul", "ß", "ﬁne",
    "한국어", "カタカナ", "ひらがな", "👍🏽 ok", "\u200bzero\u200b", "a—b", "a_b", "a-b", "𠀀𠀁", "ｱ", "…", "“引用”",
    "x²", "½", "NaN", "None", "A/B", "（括号）", "é".upper(), "naïve café", "1,000", "م", "\u2001x", "\u2e80y", "々",
]  # fmt: skip
MATCHES = [
    ("答案是北京。", ["北京"]), ("北 京", ["北京"]), ("a  b", ["a b"]), ("été", ["été"]), ("ＡＢＣ", ["abc"]),
    ("５", ["5"]), ("it's", ["It’s"]), ("It’s fine", ["it’s"]), ("Hello, World", ["hello world"]),
    ("hello world", ["hello, world"]), ("", ["x"]), ("x", [""]), ("x", ["。"]), ("x", []), (None, ["none"]), (None, ["x"]),
    (12, ["12"]), (1.0, ["1.0"]), (True, ["true"]), (["a", "b"], ["a"]), ("x", "x"), ("xy", "x"), ("x", ("x",)), ("x", None),
    ("x", 5), ("x", [5]), ("x", [None]), ("a and b", [("a", "b")]), ("a", [("a", "b")]), ("a", [("a", ["b", "a"])]),
    ("a c", [["b", "c"]]), ("a", [()]), ("a", [[]]), ("a", [("a", "c"), "a"]), ("category", ["cat"]), ("cat egory", ["cat"]),
    ("他在1949年", ["1949"]), ("1949", ["194"]), ("第１９４９", ["1949"]), ("U.S.A", ["usa"]), ("U.S.A", ["u s a"]),
    ("USA", ["U.S.A"]), ("50%", ["50"]), ("$5", ["5"]), ("C++", ["c"]), ("C++", ["C++"]), ("C", ["C++"]),
    ("A, B", ["a,b"]), ("A,B", ["A, B"]), ("“北京”", ["北京"]), ("北京市", ["京市"]), ("ß", ["SS"]), ("İ", ["i"]),
    ("ΑΣ", ["ας"]), ("a—b", ["a b"]), ("a_b", ["a b"]), ("3.14", ["3 14"]), ("3.14", ["314"]), ("½", ["1/2"]), ({"a": 1}, ["a"]),
    ("nan", [float("nan")]), (float("nan"), ["nan"]), ("是 的", ["是的"]), ("トヨタ", ["トヨタ"]), ("トヨタ車", ["トヨタ"]),
]  # fmt: skip


def tokenizer(side: Side) -> Iterator[Case]:
    kind = side.get("src.evaluator.process.SimpleTokenizer")
    for uncased in (False, True):
        for keep in (False, True):
            for n, text in enumerate(TEXTS):
                yield (
                    f"{uncased}.{keep}.{n}",
                    lambda t=text, u=uncased, k=keep: kind.tokenize(
                        t, uncased=u, keep_punc=k
                    ),
                )
    yield "normalize", lambda: [kind.unicode_normalize(text) for text in TEXTS]
    codes = [
        0x41,
        0x2000,
        0x2001,
        0x2019,
        0x2A6D,
        0x2A6E,
        0x2A71,
        0x2B74,
        0x2B75,
        0x2B82,
        0x2CEA,
        0x2CEB,
        0x2EBE,
        0x2EBF,
        0x3007,
        0x3400,
        0x4DBF,
        0x4E00,
        0x9FFF,
        0xF900,
        0xFAFF,
        0x20000,
        0x2A700,
        0xAC00,
        0x3042,
    ]
    yield "chinese", lambda: [kind.is_chinese_char(chr(code)) for code in codes]
    yield (
        "punctuation",
        lambda: [kind.is_punctuation(c) for c in ".,。’—_$+^`|~<>=あa1 "],
    )
    yield (
        "has_answer",
        lambda: [kind.has_answer(["B", ("a", "c")], t) for t in ("b", "a c", "a", "")],
    )
    yield (
        "cased",
        lambda: [kind.has_answer(["B"], "b", uncased=u) for u in (False, True)],
    )


def exist_match(side: Side) -> Iterator[Case]:
    kind = side.get("src.evaluator.base.ExistMatch")
    for keep in (False, True):
        for n, (pred, ref) in enumerate(MATCHES):
            yield (
                f"keep_punc_{keep}.{n}",
                lambda p=pred, r=ref, k=keep: kind(keep_punc=k).evaluate(
                    [p], [r], [{"key": n}]
                ),
            )
    yield (
        "batch",
        lambda: kind(max_workers=2).evaluate(
            ["a", "b", "c"], [["a"], ["x"], ["c"]], [{"key": i} for i in "abc"]
        ),
    )
    yield "empty", lambda: kind().evaluate([], [], [])
    yield "no_key", lambda: kind().evaluate(["a"], [["a"]], [{}])
    yield "not_lists", lambda: kind().evaluate("a", ["a"], {"key": 1})
    yield "uneven", lambda: kind().evaluate(["a"], [["a"]], [])
    yield (
        "attributes",
        lambda: [
            kind().keep_punc,
            kind(True).keep_punc,
            hasattr(kind(), "max_workers"),
            kind(max_workers=3).max_workers,
        ],
    )


QUESTIONS = [
    "",
    "首都是哪里？",
    "下列说法错误的是哪项？",
    "以下哪项不正确？",
    "不是正确的是哪项？",
    "下列选项中不属于合理的是",
]
ANSWERS = [
    "A", "a", "答案是B", "答案为 C。", "答案：D", "正确答案是C", "应该是B吧", "答案是错误的A", "我选A", "选A", "选择B", "B选项正确",
    "综上所述，选B", "综上，答案是(B)", "因此应选C", "所以答案是【D】", "A和B都对", "A不对，所以应该选B", "首先看A，答案应该是B，因为B正确",
    "选项A是错误的，选项B正确", "答案是E", "答案是AB", "答案是B2", "ABC", "不知道", "", "None", "最可能是C", "最有可能的是C",
    "正确的选项是A", "正确叙述为D", "推荐选择A", "倾向选择 B", "结论是C", "总的来说，A", "可见，错误的是D", "综上错误的选项是A", "答案不是A",
    "应该选b", "b 是最合适的答案", "选项 B 最佳", "答案 A 不正确", "答案选“C”", "答案是，B。", "A B", "A A", "我认为是C", "C",
    "可能是A", "应当选择D，合理", "错误说法是B", "不符合的是C", "因此，不正确的是 A", "答案就是d", "答案会是B", "唯一正确答案 B", "选项D正确",
    "【A】", "(a)", "“B”", "最终选C", "总结：选A", "由此可见应为B", "答案是:A", "ANSWER: B", "The answer is B", "Ａ", "答案是Ｂ",
]  # fmt: skip
OPTION_REFS: list[Any] = ["B", "b", ["B"], ["B", "C"], [], None, 5, "", "BC", ("B",)]


def option(side: Side) -> Iterator[Case]:
    kind = side.get("src.evaluator.process.OptionExtractor")
    for cushion in (False, True):
        for q, question in enumerate(QUESTIONS):
            for n, answer in enumerate(ANSWERS):
                yield (
                    f"extract.{cushion}.{q}.{n}",
                    lambda a=answer, o=question, c=cushion: kind.extract(
                        a, o, cushion=c
                    ),
                )
    yield "has_answer", lambda: [kind.has_answer("b", a, "") for a in ANSWERS]
    evaluator = side.get("src.evaluator.base.SingleOptionMatch")
    for cushion in (False, True):
        judge = lambda p, r, i, c=cushion: evaluator(cushion=c).evaluate([p], [r], [i])
        for n, ref in enumerate(OPTION_REFS):
            yield (
                f"evaluate.{cushion}.ref{n}",
                lambda r=ref, j=judge: j("答案是B", r, {"key": "k", "query": "哪个？"}),
            )
        for n, pred in enumerate(
            [None, 3, ["答案是B"], "答案是B\n", {"pred": "B"}, True]
        ):
            yield (
                f"evaluate.{cushion}.pred{n}",
                lambda p=pred, j=judge: j(p, "B", {"key": "k", "query": "哪个？"}),
            )
        for n, info in enumerate(
            [
                {"key": "k"},
                {"key": "k", "query": None},
                {"query": "q"},
                {"key": "k", "query": 5},
            ]
        ):
            yield (
                f"evaluate.{cushion}.info{n}",
                lambda i=info, j=judge: j("答案是B", "B", i),
            )
        for n, answer in enumerate(ANSWERS):
            yield (
                f"evaluate.{cushion}.{n}",
                lambda a=answer, j=judge: j(
                    a, "B", {"key": "k", "query": QUESTIONS[1]}
                ),
            )


REPLIES = [
    '{"Explanation": "good", "Score": 4}', '{"Explanation": "good", "Score": 4.7}', '{"Explanation": "good", "Score": "4"}',
    '{"Explanation": "good", "Score": "4.5"}', '```json\n{"Explanation": "ok", "Score": 3}\n```', '{"Score": 3}', "no",
    '{"Explanation": "a", "Score": 9}', '{"Explanation": "a", "Score": -1}', '{"Explanation": "a", "Score": null}',
    'Sure: {"Explanation": "because", "Score": 2}', '{"Explanation": "say "hi"", "Score": 5}', '{"Explanation": "x", "score": 1}',
    '{"Explanation": ["a"], "Score": 1}', "", '"Explanation": "abc"\n"Score": 4', '{"Explanation":"s","Score":true}', "null", "[1]",
    '{"Explanation": "n", "Score": 4}\n\n', '{"Explanation": "多\n行", "Score": 4}', "{'Explanation': 'q', 'Score': 4}",
    '{"Explanation": "half", "Score": 0.5} extra', '{"Explanation": "x", "Score": "four"}',
]  # fmt: skip
JUDGE_TASKS = [
    "aed",
    "humanlike",
    "emotion_understand",
    "empathy_response",
    "dialect_follow",
    "value_align",
    "nsv_care",
    "para_care",
    "age_care",
    "nothing",
]


def judge(side: Side) -> Iterator[Case]:
    extractor = side.get("src.evaluator.process.LLMExtractor")
    for n, reply in enumerate(REPLIES):
        yield (
            f"extract.{n}",
            lambda r=reply: extractor.extract(
                r, explain_col="Explanation", score_col="Score"
            ),
        )
    yield (
        "extract.columns",
        lambda: extractor.extract('{"why": "w", "mark": 2}', "why", "mark"),
    )
    kind = side.get("src.evaluator.llm.LLMScorer")
    for name in JUDGE_TASKS:
        yield f"known.{name}", lambda n=name: kind("m", n, {"k1": "v1"}).llm_name
    keys = {"k1": "v1", "k2": "v2", "k3": "v3"}
    make = lambda **a: kind(
        **{"llm_name": "gpt4o", "judge_task": "aed", "api_keys": dict(keys), **a}
    )
    yield (
        "attributes",
        lambda: [
            make().api_keys,
            make().urls,
            make().max_workers,
            make(max_workers=7).max_workers,
            make().llm_name,
        ],
    )
    yield "turns", lambda: (lambda j: [j.get_next_key() for _ in range(5)])(make())
    yield "no_keys", lambda: make(api_keys={})
    yield (
        "placeholders",
        lambda: (lambda j: [j.get_next_key() for _ in range(3)])(
            make(api_keys={"a": "xxx", "b": "xxx"})
        ),
    )

    def subclass(replies: list[str]) -> Any:
        asked: list[Any] = []

        class Mine(kind):  # type: ignore[misc,valid-type]
            def api_generate(self, temp: str, api_key: str, url: str) -> str:
                asked.append([api_key, url])
                return replies[len(asked) - 1]

        return Mine("gpt4o", "aed", dict(keys), max_workers=1), asked

    def scored(replies: list[str]) -> Any:
        judge, asked = subclass(replies)
        preds = [f"p{n}" for n in range(len(replies))]
        made = judge.evaluate(
            preds,
            [["r"]] * len(preds),
            [{"key": n, "query": "q"} for n in range(len(preds))],
        )
        return [made, asked]

    good = [REPLIES[0], REPLIES[1], REPLIES[4], REPLIES[10]]
    yield "api_generate", lambda: scored(good)
    yield (
        "server_response",
        lambda: subclass([REPLIES[1]])[0].get_server_response("text", "k", "u"),
    )
    yield "prompt_generator", lambda: callable(make().prompt_generator)


# --- speech -----------------------------------------------------------------------------------------------------------

HEARD = [
    {"labels": ["生气/angry", "开心/happy", "中立/neutral"], "scores": [0.1, 0.6, 0.3]},
    {"labels": ["angry", "HAPPY", "neutral"], "scores": [0.5, 0.2, 0.3]},
    {"labels": [], "scores": []},
]
FEELINGS: list[Any] = [
    ["happy"],
    ["Happy", "neutral"],
    ["neutral"],
    ["neutral", "neutral", "sad"],
    ["angry", "neutral", "sad"],
    [],
    "happy",
    ["unknown"],
    ["neutral", "angry"],
]


class FakeFunasr(types.ModuleType):
    """A stand-in for the package: it hears what it was told to hear."""

    def __init__(self, heard: list[Any]) -> None:
        super().__init__("funasr")
        calls = self.calls = []  # type: ignore[var-annotated]

        class AutoModel:
            def __init__(self, **options: Any) -> None:
                calls.append({"built": options})

            def generate(self, *inputs: Any, **options: Any) -> list[Any]:
                given = inputs[0] if inputs else options["input"]
                many = given if isinstance(given, list) else [given]
                return [heard[n % len(heard)] for n, _ in enumerate(many)]

        self.AutoModel = AutoModel


@contextlib.contextmanager
def funasr(heard: list[Any]) -> Iterator[FakeFunasr]:
    before = sys.modules.get("funasr")
    sys.modules["funasr"] = fake = FakeFunasr(heard)
    try:
        yield fake
    finally:
        if before is None:
            del sys.modules["funasr"]
        else:
            sys.modules["funasr"] = before


def emo2vec(side: Side) -> Iterator[Case]:
    sound, long = side.wav("s.wav"), side.wav("long.wav", rate=100, seconds=301)

    def judged(
        strict: bool,
        feelings: list[Any],
        heard: list[Any],
        sounds: list[str] | None = None,
    ) -> Any:
        with funasr(heard):
            kind = side.get("src.evaluator.emo2vec.Emo2vec")
            infos = [
                {"key": n, "pred_audio": (sounds or [sound] * 9)[n], "answer_emo": f}
                for n, f in enumerate(feelings)
            ]
            return kind(model="m", strict=strict).evaluate(
                ["x"] * len(infos), ["angry"] * len(infos), infos
            )

    for strict in (True, False):
        for h, heard in enumerate(HEARD):
            for n, feeling in enumerate(FEELINGS):
                yield (
                    f"{strict}.{h}.{n}",
                    lambda s=strict, f=feeling, o=heard: judged(s, [f], [o]),
                )
        yield f"{strict}.batch", lambda s=strict: judged(s, FEELINGS[:4], HEARD[:2])
        yield (
            f"{strict}.long",
            lambda s=strict: judged(
                s, [["happy"], ["happy"]], HEARD[:1], [sound, long]
            ),
        )

    def lacking(info: dict[str, Any]) -> Any:
        with funasr(HEARD):
            return side.get("src.evaluator.emo2vec.Emo2vec")("m").evaluate(
                ["x"], [["happy"]], [info]
            )

    yield "no_answer_emo", lambda: lacking({"key": 1, "pred_audio": sound})
    yield "no_audio", lambda: lacking({"key": 1, "answer_emo": ["happy"]})
    yield (
        "defaults",
        lambda: lacking(
            {"key": "k", "pred_audio": sound, "answer_emo": ["happy", "neutral"]}
        ),
    )


SPOKEN_PAIRS = [
    ("你好世界", "你好世界"),
    ("你好世", "你好世界"),
    ("你好，世界！", "你好世界"),
    ("ABC", "abc"),
    ("北京 天气", "北京天气"),
    ("一二三四", "一三二四五"),
    ("完全不同", "今天下雨"),
    ("", "你好"),
    ("你好", ""),
    ("。", "你好"),
    ("體育", "体育"),
    ("他说hello", "他说Hello world"),
]


def asr(side: Side) -> Iterator[Case]:
    module = "src.evaluator.asr_eval" if side.era == "newest" else "src.evaluator.asr"

    def built() -> Any:
        with funasr([{"text": "你好世界"}]):
            return side.get(f"{module}.ASR")("paraformer-zh", max_workers=1)

    for n, (heard, text) in enumerate(SPOKEN_PAIRS):
        yield (
            f"compute_wer.{n}",
            lambda h=heard, t=text: built().compute_wer(hypo=h, truth=t),
        )
    yield (
        "evaluate",
        lambda: built().evaluate(
            ["你好，世间"], [["x"]], [{"key": "k", "pred_audio": "a.wav"}]
        ),
    )
    yield "no_audio", lambda: built().evaluate(["你好"], [["x"]], [{"key": "k"}])
    processor = side.get("src.evaluator.text_utils.TextProcessor")
    for n, text in enumerate(
        ["你好， 世界！", "a b.c", "「引」《书》、…", "", "体　育"]
    ):
        yield (
            f"clean.{n}",
            lambda t=text: [
                processor.clean_text(t),
                processor.clean_text(t, remove_punct=False),
                processor.clean_text(t, remove_space=False),
            ],
        )
    yield (
        "convert",
        lambda: [processor.convert_cn(t) for t in ("體育", "台灣", "abc", "後來")],
    )
    yield "language", lambda: processor(language="fr")
    yield (
        "normalize",
        lambda: [
            processor("zh").normalize_and_clean(t)
            for t in ("你好，世界", "體 育。", "ok!")
        ],
    )


def listening(side: Side) -> Iterator[Case]:
    dialect, mos = (
        side.get("src.evaluator.dialect.DialectClassify"),
        side.get("src.evaluator.dnsmos.DNSMOS"),
    )
    names = {
        "ct": "粤语",
        "zhs": "河南话",
        "zhc": "四川话",
        "zhd": "东北话",
        "wuy": "上海话",
        "mand": "普通话",
    }

    def heard(code: str, ref: Any, info: dict[str, Any]) -> Any:
        made = dialect.__new__(dialect)
        made.onnx_sess = types.SimpleNamespace(classify=lambda path: code)
        made.dialect_mapping = names
        return made.evaluate(["x"], [ref], [info])

    for code in ("ct", "zhs", "wuy", "kej", "zz"):
        for n, ref in enumerate(["粤语", "上海话", ["粤语"], None]):
            yield (
                f"dialect.{code}.{n}",
                lambda c=code, r=ref: heard(c, r, {"key": "k", "pred_audio": "a.wav"}),
            )
    yield "dialect.no_audio", lambda: heard("ct", "粤语", {"key": "k"})

    def rated(value: float) -> Any:
        made = mos.__new__(mos)
        made.compute_score = lambda path, rate: {"OVRL": value, "SIG": rate}
        return made.evaluate(["x"], ["y"], [{"key": "k", "pred_audio": "a.wav"}])

    yield "dnsmos", lambda: [rated(3.25), rated(1.0)]


# --- summaries --------------------------------------------------------------------------------------------------------

SCORES: list[Any] = [
    [1, 0, 1], [0.5], [5, 4, 3, 0], ["5", "4", "3"], ["0.5", 1], [True, False], [], [None, 1], [1, None], [3.0, 3.0, 3.6],
    [{"cover": 1, "correct": 0}, {"cover": 1, "correct": 1}], [{"a": "1"}, {"a": 0}], [{"a": 1}, {"b": 1}], [{}], ["x"], [float("nan"), 1],
    [{"ref_len": 10, "subs": 1, "dele": 1, "inse": 0}, {"ref_len": 5, "subs": 0, "dele": 0, "inse": 4}], [{"ref_len": 3}],
    [{"ref_len": 0, "subs": 1}], [{"subs": 2}], [100], [-1, 2], [{"ref_len": 2, "subs": 3, "dele": 0, "inse": 0, "wer": 1.5}],
]  # fmt: skip
SUMMARIZERS: list[tuple[str, dict[str, Any]]] = [
    ("AvgInfo", {}), ("AvgInfo", {"rescale": "power", "power": 1}), ("AvgThreshold", {"rescale": "base"}),
    ("AvgThreshold", {"rescale": "linear"}), ("AvgThreshold", {"rescale": "power"}), ("AvgThreshold", {"rescale": "power", "power": 1}),
    ("AvgThreshold", {"rescale": "power", "power": 0.5, "threshold": 60.0}), ("AvgThreshold", {"rescale": "base", "threshold": 3}),
    ("AvgThreshold", {}), ("AvgThreshold", {"rescale": "other"}), ("AvgMOS", {}), ("AvgWER", {}), ("AvgWER", {"reverse": True}),
    ("Avg", {"rescale": "power", "power": 1, "score_scale": 1}), ("AvgThreshold", {"rescale": "linear", "reverse": True}),
    ("AvgWER", {"rescale": "linear", "power": 3}), ("AvgMOS", {"reverse": True}),
]  # fmt: skip


def summaries(side: Side) -> Iterator[Case]:
    for n, (name, args) in enumerate(SUMMARIZERS):
        for s, scores in enumerate(SCORES):
            yield (
                f"{name}.{n}.{s}",
                lambda k=name, a=args, v=scores: side.get(
                    f"src.summarizer.summarizer.{k}"
                )(**a).statistic(v),
            )
    base = side.get("src.summarizer.summarizer.Summarizer")
    for rescale in ("base", "linear", "power"):
        yield (
            f"rescale.{rescale}",
            lambda r=rescale: [
                base(r, power=3).rescale_func(x) for x in (0, 1, 2.5, 5)
            ],
        )
    yield (
        "static",
        lambda: [
            base.linear_rescale(2),
            base.power_rescale(4, 2),
            base.power_rescale(4, power=0.5),
        ],
    )
    for n, scores in enumerate([[1], [None], [{"a": None}], [], [None, {"a": 1}]]):
        yield f"check.{n}", lambda v=scores: base()._check_scores(v)
    yield "base", lambda: base().statistic([1])
    yield "reverse", lambda: base(reverse=True).reverse

    class Mine(base):  # type: ignore[misc,valid-type]
        def statistic(self, scores: list[Any], **kwargs: Any) -> dict[str, Any]:
            self._check_scores(scores)
            values = [self.rescale_func(float(score)) for score in scores]
            return {"score": f"AVG: {sum(values) / len(values):.2f}"}

    yield (
        "subclass",
        lambda: [
            Mine("linear").statistic([1, 2, "3"]),
            Mine("power", power=1).statistic([5]),
        ],
    )


# --- data -------------------------------------------------------------------------------------------------------------

TURNS = """{"nrounds": {{ nrounds }}, "dialogue": [{% for i in range(1, nrounds + 1) %}
{"role": "A", "round": "{{ i }}", "content": {"audio": {{ getvar("user_audio" ~ i) | tojson }}, "text": {{ getvar("user_text" ~ i) | tojson }}}},
{"role": "B", "round": "{{ i }}", "content": {"audio": {{ getvar("bot_audio" ~ i) | tojson }}, "text": {% if loop.last and answer is not none %}
{{ answer | tojson }}{% else %}{{ getvar("bot_text" ~ i) | tojson }}{% endif %}}}{% if not loop.last %},{% endif %}{% endfor %}]}
"""
TEMPLATES: dict[str, Any] = {
    "audio": [{"role": "user", "content": {"audio": "{{audio}}"}}],
    "text": [{"role": "user", "content": {"text": "{{query}}"}}],
    "prefixed": [
        {"role": "system", "content": {"text": "You"}},
        {"role": "user", "content": {"text": "问：{{ query }}!"}},
    ],
    "turns": TURNS,
    "string": "{{query}}",
    "plain": "no variables",
    "number": {"a": 1, "b": None, "c": [True, "{{query}}", 2.5]},
    "getvar": "{{ getvar('query') }}",
    "missing": "{{ getvar('nothing') | tojson }}",
    "undefined": "{{ nothing }}",
    "default": "{{ getvar('nothing', 'd') }}",
    "filter": "{{ query | upper }}",
    "empty": "",
    "newline": "{{query}}\n",
    "condition": "{% if query is none %}none{% else %}{{ query }}{% endif %}",
    "list": [],
    "attribute": "{{ options.a }} {{ options['b'] }}",
    "tojson": "{{ options | tojson }}",
    "loop": "{% for o in letters %}{{ loop.index }}.{{ o }} {% endfor %}",
}
NAN = float("nan")
ROWS: dict[str, dict[str, Any]] = {
    "plain": {"query": "你好", "audio": "a.wav", "options": {"a": 1, "b": "x"}, "letters": ["A", "B"], "nrounds": 1, "answer": None,
              "user_text1": "u", "bot_text1": "b"},
    "year": {"query": "1949", "audio": "1", "options": {}, "letters": [], "nrounds": 2, "answer": ["x", "y"], "user_text1": "u1",
             "bot_text1": "b1", "user_text2": "u2", "bot_text2": "b2", "user_audio1": "1.wav"},
    "null": {"query": "null", "audio": "null", "nrounds": 1, "answer": "A \"q\" <b> & 'c'", "user_text1": 'say "x"'},
    "nan": {"query": NAN, "audio": NAN, "nrounds": 1, "answer": NAN, "user_text1": NAN, "bot_text1": "b"},
    "json": {"query": '{"a": [1, 2]}', "audio": "[1]", "nrounds": 1, "answer": ("x", ["y"]), "letters": ("q",)},
    "none": {"query": None, "audio": None, "nrounds": 0, "answer": None, "letters": "ab"},
    "number": {"query": 5, "audio": 2.5, "nrounds": 1.0, "answer": 7},
    "braces": {"query": "{{ x }}", "audio": "true", "nrounds": 1, "answer": True},
    "text": {"query": " 12 ", "audio": "NaN", "nrounds": "1", "answer": "x"},
    "empty": {},
}  # fmt: skip


def templates(side: Side) -> Iterator[Case]:
    kind = side.get("src.prompt.template.DataTemplate")
    for name, template in TEMPLATES.items():
        for row, values in ROWS.items():
            yield f"{name}.{row}", lambda t=template, v=values: kind(t).load(**v)
    yield "attribute", lambda: kind(TEMPLATES["text"]).template


LINES: list[Any] = [
    {"key": "a", "query": "q1", "answer": ["x"], "n": 1},
    {
        "key": "b",
        "query": "q2",
        "answer": {"__tuple__": True, "items": ["x", "y"]},
        "extra": "e",
    },
    {"key": 3, "query": None, "answer": "z", "n": 2, "flag": True},
    {"key": "d", "answer": [{"__tuple__": True, "items": ["x"]}], "n": None},
    {"key": "e", "query": "q5", "answer": [], "n": 4},
]


def loaders(side: Side) -> Iterator[Case]:
    kind = side.get("src.dataset.BatchLoader")
    file, empty = side.jsonl("rows.jsonl", LINES), side.jsonl("empty.jsonl", [])
    whole = side.jsonl("whole.jsonl", [{"key": str(n), "n": n} for n in range(5)])
    for label, args in {
        "plain": {},
        "batch2": {"batch_size": 2},
        "batch9": {"batch_size": 9},
        "limit": {"limit": 2},
        "start": {"start": 3},
        "both": {"start": 1, "limit": 3},
        "beyond": {"start": 9},
        "raw": {"tuple_decode": False},
        "columns": {"key_col": "query"},
    }.items():
        yield (
            f"jsonl.{label}",
            lambda a=args: [list(kind(file, **a)), len(kind(file, **a))],
        )
        yield f"whole.{label}", lambda a=args: list(kind(whole, **a))
    yield (
        "twice",
        lambda: (lambda loader: [list(loader), list(loader), next(iter(loader))])(
            kind(whole)
        ),
    )
    yield (
        "next",
        lambda: (
            lambda loader: [next(loader), next(loader), loader.index, loader.batch_size]
        )(kind(whole)),
    )
    yield (
        "frame",
        lambda: (
            lambda loader: [
                list(loader.df.columns),
                len(loader.df),
                loader.df["n"].sum(),
            ]
        )(kind(whole)),
    )
    yield (
        "attributes",
        lambda: (
            lambda v: [
                v.key_col,
                v.ref_col,
                v.query_col,
                v.extra_col,
                v.batch_size,
                v.index,
            ]
        )(kind(whole, ref_col="r", query_col="q", extra_col=["n"])),
    )
    yield "empty", lambda: [list(kind(empty)), len(kind(empty))]
    for n, bad in enumerate(
        [
            "nowhere.jsonl",
            "nowhere",
            "rows.csv",
            "",
            *(["a/b"] if side.era == "newest" else []),
        ]
    ):
        yield f"bad_path.{n}", lambda b=bad: len(kind(b))
    broken = side.folder / "broken.jsonl"
    broken.write_text('{"key": 1}\nnot json\n', encoding="utf-8")
    yield "broken", lambda: list(kind(str(broken)))
    blank = side.folder / "blank.jsonl"
    blank.write_text('{"key": 1}\n\n{"key": 2}\n', encoding="utf-8")
    yield "blank_line", lambda: list(kind(str(blank)))
    yield (
        "load_jsonl",
        lambda: [kind.load_jsonl(file, True)[1], kind.load_jsonl(file, False)[1]],
    )

    class Filtered(kind):  # type: ignore[misc,valid-type]
        @staticmethod
        def load_jsonl(file: Any, tuple_decode: bool) -> list[Any]:
            return [
                row for row in kind.load_jsonl(file, tuple_decode) if row["key"] == "a"
            ]

    class Upper(kind):  # type: ignore[misc,valid-type]
        def __next__(self) -> list[Any]:
            return [{**row, "query": f"Q:{row['query']}"} for row in super().__next__()]

    class ByFrame(kind):  # type: ignore[misc,valid-type]
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            self.df = self.df[self.df["key"] == "a"]

    for sub in (Filtered, Upper, ByFrame):
        yield (
            f"subclass.{sub.__name__}",
            lambda s=sub: [list(s(file=file)), len(s(file=file))],
        )
    if side.era == "newest":
        values = side.folder / "values.json"
        values.write_text('[{"a": 1}]', encoding="utf-8")
        yield "load_json", lambda: kind.load_json(str(values))
        yield "do_infer", lambda: kind("a/b", do_infer=False)
        yield "positional", lambda: kind(whole, "key", True, "r", "q").query_col
        yield "path", lambda: kind(Path(whole)).file
    else:
        yield "positional", lambda: kind(whole, "key", "r", "q").query_col


def parquet(side: Side) -> Iterator[Case]:
    import pandas as pd

    folder = side.folder / "data" / "parq"
    folder.mkdir(parents=True)
    rows = [
        {
            "key": "a",
            "audio": {"bytes": wav_bytes(), "path": "x"},
            "answer": '["x", {"__tuple__": true, "items": ["y", "z"]}]',
            "n": 1,
        },
        {
            "key": "b",
            "audio": {"bytes": wav_bytes(seconds=0.1), "path": None},
            "answer": "plain",
            "n": 2,
        },
        {"key": "c", "audio": None, "answer": "12", "n": 3},
    ]
    pd.DataFrame(rows).to_parquet(folder / "one.parquet")
    turns = side.folder / "data" / "turns"
    turns.mkdir()
    sound = {"bytes": wav_bytes(), "path": None}
    pd.DataFrame(
        [
            {
                "key": "t",
                "user_audio1": sound,
                "user_audio2": sound,
                "bot_audio1": "kept",
                "answer": None,
            }
        ]
    ).to_parquet(turns / "t.parquet")
    kind, extra = (
        side.get("src.dataset.BatchLoader"),
        {} if side.era == "newest" else {"is_local": True},
    )

    def seen(loader: Any) -> Any:
        import soundfile

        made = [
            {
                **row,
                **{
                    k: [
                        Path(v).name,
                        soundfile.info(v).samplerate,
                        soundfile.read(v, dtype="int16")[0][:20].tolist(),
                    ]
                    for k, v in row.items()
                    if isinstance(v, str) and v.endswith(".wav")
                },
            }
            for batch in loader
            for row in batch
        ]
        return [made, len(loader)]

    yield "temporary", lambda: seen(kind(str(folder), **extra))
    yield "turns", lambda: seen(kind(str(turns), **extra))

    def kept() -> Any:
        kind(str(folder), save_query_audio_dir=str(side.folder / "kept"), **extra)
        return sorted(
            str(p.relative_to(side.folder))
            for p in (side.folder / "kept").rglob("*")
            if p.is_file()
        )

    yield "kept", kept
    yield "limit", lambda: seen(kind(str(folder), limit=1, **extra))
    load = side.get("src.utils.load_and_process_parquet_dataset")
    if side.era == "newest":
        yield (
            "function",
            lambda: [
                r["answer"]
                for r in load(
                    str(folder), "*.parquet", str(side.folder / "f"), is_local=True
                )
            ],
        )
        yield (
            "undecoded",
            lambda: [
                r["answer"]
                for r in load(
                    str(folder),
                    "*.parquet",
                    str(side.folder / "g"),
                    is_local=True,
                    tuple_decode=False,
                )
            ],
        )
    else:
        yield (
            "function",
            lambda: [
                r["answer"]
                for r in load(
                    str(folder.parent), "parq", str(side.folder / "f"), is_local=True
                )
            ],
        )


def savers(side: Side) -> Iterator[Case]:
    kind = side.get("src.dataset.BatchSaver")
    read = lambda name: (side.folder / name).read_text(encoding="utf-8")

    def one() -> Any:
        saver = kind(str(side.folder / "new" / "a.jsonl"))
        for item in ({"a": (1, "二")}, {"b": [("x",)]}, {"c": NAN, "d": None}):
            saver.save_one(item)
        return read("new/a.jsonl")

    def many(name: str) -> Any:
        kind(str(side.folder / name)).save_all([{"a": 1}, {"b": (2,)}])
        return read(name)

    def again(overwrite: bool) -> Any:
        for value in (1, 2):
            kind(
                str(side.folder / f"again{overwrite}.jsonl"), overwrite=overwrite
            ).save_one({"a": value})
        return read(f"again{overwrite}.jsonl")

    def table() -> Any:
        import pandas as pd

        kind(str(side.folder / "t.parquet")).save_all(
            [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
        )
        kind(str(side.folder / "u.jsonl")).save_parquet(
            pd.DataFrame({"a": [1], "b": [2]}), columns=["a"]
        )
        return [
            pd.read_parquet(side.folder / "t.parquet").to_dict("records"),
            read("u.jsonl"),
        ]

    yield "one", one
    yield "many", lambda: many("m.jsonl")
    yield "other_suffix", lambda: many("m.csv")
    yield "one_other_suffix", lambda: kind(str(side.folder / "n.csv")).save_one({})
    yield "overwrite", lambda: [again(True), again(False)]
    yield "parquet", table


def helpers(side: Side) -> Iterator[Case]:
    utils, config = side.module("src.utils"), side.module("src.config")
    values: list[Any] = [
        1,
        "x",
        (1, (2,)),
        [(1,)],
        {"a": (1,)},
        {"__tuple__": True, "items": [1]},
        {"__tuple__": False, "items": [1]},
        (),
        None,
    ]
    for n, value in enumerate(values):
        yield (
            f"encode.{n}",
            lambda v=value: [
                utils.TupleEncoder.encode(v),
                utils.TupleEncoder.decode(v),
            ],
        )
        yield (
            f"dumps.{n}",
            lambda v=value: [
                utils.TupleJSONLConverter.dumps(v),
                utils.TupleJSONLConverter.loads(utils.TupleJSONLConverter.dumps(v)),
            ],
        )

    class Single:
        @utils.parallel_batch(default_workers=2)
        def evaluate(self, pred: Any, ref: Any, pred_info: Any, **kwargs: Any) -> Any:
            if pred == "bad":
                raise KeyError(pred)
            return [pred, ref, pred_info, kwargs]

    yield (
        "parallel",
        lambda: Single().evaluate([1, 2, 3], ["a", "b", "c"], [{}, {}, {"k": 1}]),
    )
    yield "parallel.options", lambda: Single().evaluate([1], ["a"], [{}], more=1)
    yield (
        "parallel.failing",
        lambda: Single().evaluate(["bad", 1], ["a", "b"], [{}, {}]),
    )
    yield "parallel.empty", lambda: Single().evaluate([], [], [])
    yield "parallel.tuple", lambda: Single().evaluate((1,), ["a"], [{}])
    yield "parallel.uneven", lambda: Single().evaluate([1, 2], ["a"], [{}])
    yield "parallel.name", lambda: Single.evaluate.__name__

    def tried(times: int, fails: int) -> Any:
        calls = []

        @utils.retry(max_retries=times, sleep_second=0)
        def work() -> Any:
            calls.append(1)
            if len(calls) <= fails:
                raise KeyError("x")
            return len(calls)

        try:
            return [work(), len(calls)]
        except KeyError:
            return ["KeyError", len(calls)]

    yield "retry", lambda: [tried(3, 0), tried(3, 2), tried(3, 3), tried(1, 1)]
    yield (
        "make_object",
        lambda: (
            utils.make_object(
                "src.config.EvalTaskCfg", evaluator="e", summarizer="s"
            ).evaluator
        ),
    )
    yield (
        "make_object.exist",
        lambda: (
            utils.make_object("src.evaluator.base.ExistMatch", keep_punc=True).keep_punc
        ),
    )
    for n, path in enumerate(
        [
            "src.config.Nothing",
            "src.nothing.X",
            "NoDots",
            "src.evaluator.base.ExistMatch",
        ]
    ):
        yield f"make_object.bad{n}", lambda p=path: utils.make_object(p, other=1)
    yield (
        "task",
        lambda: [
            config.InferTaskCfg("d", "t", "m", "e"),
            config.InferTaskCfg(["a"], "t", "m", "e", True, True, False, True),
        ],
    )
    yield (
        "eval_task",
        lambda: [
            config.EvalTaskCfg("e", "s").evaluator,
            config.EvalTaskCfg(evaluator="e", summarizer="s").summarizer,
        ],
    )
    yield "context", lambda: config.DatasetRuntimeCtx("n", None, None)
    yield (
        "types",
        lambda: [
            hasattr(config, name)
            for name in (
                "TemplateStruct",
                "RefType",
                "RefsType",
                "BatchLoader",
                "BatchSaver",
            )
        ],
    )
    if side.era == "newest":
        (side.folder / "here").mkdir()
        for n, path in enumerate(
            ["here", "org/repo/sub", "org/repo/a/b", "org/repo", "name", "/org/repo/x/"]
        ):
            yield f"parse.{n}", lambda p=path: utils.parse_repo_and_pattern(p)
    mono, stereo = side.wav("m.wav"), side.wav("st.wav", channels=2)
    yield (
        "audio",
        lambda: [
            list(utils.preprocess_audio(mono).shape),
            utils.preprocess_audio(mono)[0][:5],
            list(utils.preprocess_audio(stereo).shape),
        ],
    )
    yield "audio.bytes", lambda: list(utils.preprocess_audio(wav_bytes()).shape)
    yield "audio.bad", lambda: utils.preprocess_audio(5)


# --- models -----------------------------------------------------------------------------------------------------------


def echo(side: Side, style: str = "plain") -> Any:
    """A model that notes what it is asked."""
    base = side.get("src.models.base.Model")

    class Echo(base):  # type: ignore[misc,valid-type]
        def __init__(self) -> None:
            super().__init__({"gen_type": "greedy"})
            self.asked: list[Any] = []

        def generate_once(self, audio: Any, **kwargs: Any) -> Any:
            self.asked.append(json.loads(json.dumps([audio, kwargs])))
            if style == "text":
                return "text"
            return {
                "pred": f"p{len(self.asked)}",
                **(
                    {"pred_audio": kwargs["pred_audio"]}
                    if kwargs.get("pred_audio")
                    else {}
                ),
            }

        def generate_multiturn(
            self, audio: Any, user_history: Any, assistant_history: Any, **kwargs: Any
        ) -> Any:
            self.asked.append(
                json.loads(json.dumps([audio, user_history, assistant_history, kwargs]))
            )
            made: dict[str, Any] = {"pred": f"p{len(self.asked)}"}
            if kwargs.get("pred_audio"):
                made["pred_audio"] = kwargs["pred_audio"]
            if style == "cache":
                made["cache"] = {"seen": len(self.asked)}
            if style == "his":
                made["his"] = None if len(self.asked) == 2 else [len(self.asked)]
            if style == "no_pred":
                del made["pred"]
            return made

    return Echo()


def dialogue(
    side: Side,
    rounds: int,
    *,
    meta: bool = False,
    instruct: bool = False,
    sounds: bool = True,
) -> dict[str, Any]:
    turns = []
    for n in range(rounds):
        for who in "AB":
            content = {
                "audio": side.wav(f"{who}{n}.wav") if sounds and who == "A" else None,
                "text": f"{who}{n}",
            }
            turns.append(
                {
                    "role": who,
                    "round": str(n),
                    "content": {
                        **content,
                        **({"mood": f"{who}{n}"} if meta and n else {}),
                    },
                }
            )
    return {
        "nrounds": rounds,
        "dialogue": turns,
        **({"instruct": {"content": {"text": "be kind"}}} if instruct else {}),
    }


def inference(side: Side) -> Iterator[Case]:
    sound = side.wav("q.wav")
    run = lambda inputs, style="plain", **options: (
        lambda m: [m.inference(inputs, **options), m.asked]
    )(echo(side, style))
    singles: dict[str, Any] = {
        "audio": [{"role": "user", "content": {"audio": sound}}],
        "text": [{"role": "user", "content": {"text": "hi"}}],
        "number": [{"role": "user", "content": {"text": 1949}}],
        "roles": [
            {"role": "System", "content": {"text": "s"}},
            {"role": "instruct", "content": {"text": "i"}},
            {"role": "USER", "content": {"audio": sound, "text": "t"}},
            {"role": "assistant", "content": {"text": "a"}},
        ],
        "other_role": [
            {"role": "tool", "content": {"text": "x"}},
            {"role": "user", "content": {"text": "t"}},
        ],
        "no_user": [{"role": "system", "content": {"text": "x"}}],
        "empty": [],
        "no_content": [{"role": "user"}],
        "empty_text": [{"role": "user", "content": {"text": ""}}],
        "two_users": [
            {"role": "user", "content": {"text": "1"}},
            {"role": "user", "content": {"text": "2"}},
        ],
        "null_instruct": [
            {"role": "instruct", "content": {"text": None}},
            {"role": "user", "content": {"text": "t"}},
        ],
    }
    for name, entry in singles.items():
        yield f"single.{name}", lambda e=entry: run([e])
        yield f"process.{name}", lambda e=entry: echo(side)._process_inputs(e)
    yield (
        "single.flags",
        lambda: run(
            [singles["text"]],
            reverse_spkr=False,
            use_model_history=True,
            save_latest_only=False,
        ),
    )
    yield (
        "single.batch",
        lambda: run(
            [singles["text"], singles["audio"]], pred_audio=["a_pred.wav", "b_pred.wav"]
        ),
    )
    yield (
        "single.short",
        lambda: run([singles["text"], singles["audio"]], pred_audio=["a_pred.wav"]),
    )
    yield (
        "single.shared",
        lambda: run(
            [singles["text"], singles["audio"]], pred_audio="x_pred.wav", other=1
        ),
    )
    yield (
        "single.not_list",
        lambda: run({"nrounds": 1, "dialogue": dialogue(side, 1)["dialogue"]}),
    )
    yield "single.no_dict", lambda: run([singles["text"]], "text")
    yield "empty_batch", lambda: run([])
    yield "text_input", lambda: run("hello")
    yield "none_input", lambda: run([None])
    yield (
        "split",
        lambda: [
            echo(side)._split_kwargs({"a": [1, 2], "b": 3}, 1),
            echo(side)._split_kwargs({}, 4),
        ],
    )
    yield "split.short", lambda: echo(side)._split_kwargs({"a": [1]}, 1)
    yield (
        "bad.stereo",
        lambda: run(
            [[{"role": "user", "content": {"audio": side.wav("s.wav", channels=2)}}]]
        ),
    )
    yield (
        "bad.rate",
        lambda: run(
            [[{"role": "user", "content": {"audio": side.wav("r.wav", rate=8000)}}]]
        ),
    )
    yield (
        "bad.both",
        lambda: run(
            [
                [
                    {
                        "role": "user",
                        "content": {"audio": side.wav("b.wav", rate=44100, channels=2)},
                    }
                ]
            ]
        ),
    )
    yield (
        "bad.missing",
        lambda: run([[{"role": "user", "content": {"audio": "nowhere.wav"}}]]),
    )
    yield (
        "bad.no_audio",
        lambda: run(
            [[{"role": "user", "content": {"audio": side.jsonl("x.txt", [1])}}]]
        ),
    )
    for rounds in (1, 2, 3):
        for style in ("plain", "cache", "his"):
            for reverse in (False, True):
                for own in (False, True):
                    flags = {"reverse_spkr": reverse, "use_model_history": own}
                    yield (
                        f"multi.{style}.{rounds}.rev{reverse}.own{own}",
                        lambda r=rounds, s=style, f=flags: run(
                            [dialogue(side, r, sounds=not f["reverse_spkr"])],
                            s,
                            **f,
                            save_latest_only=False,
                        ),
                    )
    shapes = {
        "meta": {"meta": True},
        "instruct": {"instruct": True},
        "both": {"meta": True, "instruct": True},
    }
    for name, options in shapes.items():
        for latest in (False, True):
            for reverse in (False, True):
                yield (
                    f"multi.{name}.latest{latest}.rev{reverse}",
                    lambda o=options, la=latest, re=reverse: run(
                        [dialogue(side, 2, **o, sounds=not re)],
                        save_latest_only=la,
                        reverse_spkr=re,
                        use_model_history=True,
                    ),
                )
    yield "multi.defaults", lambda: run([dialogue(side, 3)])
    yield (
        "multi.spoken",
        lambda: run(
            [dialogue(side, 2)], pred_audio=["out/k_pred.wav"], use_model_history=True
        ),
    )
    yield (
        "multi.spoken.reference",
        lambda: run(
            [dialogue(side, 2)], pred_audio=["out/k_pred.wav"], use_model_history=False
        ),
    )
    yield (
        "multi.two",
        lambda: run(
            [dialogue(side, 1), dialogue(side, 2)],
            pred_audio=["a.wav", "b.wav"],
            use_model_history=True,
        ),
    )
    yield (
        "multi.odd",
        lambda: run(
            [{"nrounds": 2, "dialogue": dialogue(side, 2)["dialogue"][:3]}],
            use_model_history=True,
        ),
    )
    yield (
        "multi.odd.reversed",
        lambda: run(
            [
                {
                    "nrounds": 2,
                    "dialogue": dialogue(side, 2, sounds=False)["dialogue"][:3],
                }
            ],
            use_model_history=True,
            reverse_spkr=True,
        ),
    )
    yield (
        "multi.one_turn",
        lambda: run(
            [{"nrounds": 1, "dialogue": dialogue(side, 1)["dialogue"][:1]}],
            use_model_history=True,
        ),
    )
    yield "multi.empty", lambda: run([{"nrounds": 0, "dialogue": []}])
    yield (
        "multi.no_pred",
        lambda: run([dialogue(side, 2)], "no_pred", use_model_history=True),
    )
    yield (
        "multi.process",
        lambda: echo(side)._process_inputs(dialogue(side, 2, meta=True, instruct=True)),
    )
    yield "multi.unlisted", lambda: run(dialogue(side, 1), use_model_history=True)
    yield (
        "attributes",
        lambda: (lambda m: [m.sample_params, m.mono_only, m.inputs_sr])(echo(side)),
    )
    yield "no_params", lambda: side.get("src.models.base.Model")().sample_params
    yield (
        "abstract.once",
        lambda: side.get("src.models.base.Model")().inference([singles["text"]]),
    )
    yield (
        "abstract.multi",
        lambda: side.get("src.models.base.Model")().inference([dialogue(side, 1)]),
    )

    def graded() -> Any:
        import torch

        base = side.get("src.models.base.Model")

        class Net(base):  # type: ignore[misc,valid-type]
            def generate_once(self, audio: Any, **kwargs: Any) -> Any:
                layer = torch.nn.Linear(1, 1)
                return {
                    "pred": str(layer(torch.zeros(1)).requires_grad),
                    "mode": torch.is_inference_mode_enabled(),
                }

        return Net().inference([singles["text"]])

    yield "inference_mode", graded


FAMILIES: dict[str, Callable[[Side], Iterator[Case]]] = {
    "tokenize": tokenizer, "exist_match": exist_match, "single_option": option, "judge": judge, "emo2vec": emo2vec, "asr": asr,
    "listening": listening, "summarizer": summaries, "template": templates, "batchloader": loaders, "parquet": parquet,
    "saver": savers, "helpers": helpers, "model": inference,
}  # fmt: skip
