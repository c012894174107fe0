# ruff: noqa: E501 - tables of inputs, a case to a line
"""A user's TELEVAL project, whose whole runs are held against those of TELEVAL's own code: files, names and lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reference_cases import TURNS, Case, Side

FILES = {
    "src/models/mine.py": """
import json
from src.models.base import Model


class Echo(Model):
    def __init__(self, style="plain", sample_params=None):
        super().__init__(sample_params)
        self.style = style

    def note(self, *what):
        with open("asked.jsonl", "a", encoding="utf-8") as lines:
            lines.write(json.dumps(what, ensure_ascii=False) + "\\n")

    def generate_once(self, audio, **kwargs):
        self.note(audio, kwargs)
        if self.style == "text":
            return "only text"
        said = {"pred": f"it is {kwargs['query']}"}
        if self.style == "first":
            said = {"speed": 1.5, "pred": said["pred"], "cache": [1], "more": {"a": [1, None]}}
        if self.style == "none":
            said = {"pred": None}
        if self.style == "number":
            said = {"pred": 5, "query": "mine"}
        if kwargs.get("pred_audio"):
            said["pred_audio"] = kwargs["pred_audio"]
            if self.style == "speaks":
                import soundfile
                soundfile.write(kwargs["pred_audio"], [0.0] * 160, 16000)
        return said

    def generate_multiturn(self, audio, user_history, assistant_history, **kwargs):
        self.note(audio, user_history, assistant_history, kwargs)
        said = {"pred": f"to {kwargs['user_query']}"}
        if kwargs.get("pred_audio"):
            said["pred_audio"] = kwargs["pred_audio"]
        if self.style == "cache":
            said["cache"] = len(user_history)
        if self.style == "his":
            said["his"] = ["h", len(user_history)]
        return said


class Own(Model):
    def inference(self, inputs, **kwargs):
        return [{"pred": json.dumps([entry, kwargs], ensure_ascii=False)} for entry in inputs]
""",
    "src/evaluator/mine.py": """
from src.evaluator.base import Evaluator, ExistMatch
from src.evaluator.llm import LLMScorer
from src.utils import parallel_batch


class Rank(Evaluator):
    def evaluate(self, preds, refs, pred_info_list, **kwargs):
        return [{"key": info["key"], "score": n + 1} for n, info in enumerate(pred_info_list)]


class Single(Evaluator):
    def __init__(self, max_workers=2):
        self.max_workers = max_workers

    @parallel_batch(default_workers=4)
    def evaluate(self, pred, ref, pred_info, **kwargs):
        return {"key": pred_info["key"], "query": "overwritten", "mine": (1, 2), "score": len(str(pred)) / 10, "saw": sorted(pred_info)}


class Sub(ExistMatch):
    pass


class Judge(LLMScorer):
    def api_generate(self, temp, api_key, url):
        return '{"Explanation": "fine", "Score": 4.6}'
""",
    "src/summarizer/mine.py": """
from src.summarizer.summarizer import Summarizer


class Last(Summarizer):
    def statistic(self, scores, **kwargs):
        self._check_scores(scores)
        return {"score": f"LAST: {self.rescale_func(float(scores[-1])):.1f}", "n": len(scores), "all": scores}
""",
    "src/my_data.py": """
from src.dataset import BatchLoader


class Filtered(BatchLoader):
    @staticmethod
    def load_jsonl(file, tuple_decode):
        return [row for row in BatchLoader.load_jsonl(file, tuple_decode) if row["key"] != "a"]
""",
}
ROWS: dict[str, list[dict[str, Any]]] = {
    "qa": [
        {"key": "a", "query": "巴黎", "answer": ["巴黎"]},
        {"key": "b", "query": "London", "answer": ["london"]},
        {"key": "c", "query": "1949", "answer": [{"__tuple__": True, "items": ["1949", "it"]}]},
        {"key": "d", "query": "x y", "answer": ["z"]},
    ],
    "gaps": [
        {"key": "a", "query": "q", "answer": ["q"], "emo": "sad", "n": 1},
        {"key": "b", "query": "r", "answer": ["x"]},
        {"key": "c", "answer": ["x"], "emo": None, "query": "1.0"},
    ],
    "strings": [{"key": "a", "query": "a", "answer": "a"}, {"key": "b", "query": "null", "answer": "x"}],
    "keyless": [{"query": "a", "answer": ["a"]}, {"query": "b", "answer": ["c"]}, {"query": "c", "answer": ["c"]}],
    "twice": [{"key": "k", "query": "a", "answer": ["a"]}, {"key": "k", "query": "b", "answer": ["c"]}],
    "numbers": [{"key": 1, "query": "a", "answer": ["a"]}, {"key": 2, "query": 7, "answer": ["7"]}],
    "choice": [
        {"key": "a", "query": "答案是B", "answer": "B"},
        {"key": "b", "query": "下列错误的是？答案是错误的A", "answer": ["A"]},
        {"key": "c", "query": "C", "answer": "D"},
    ],
    "turns": [
        {"key": "m", "nrounds": 2, "user_text1": "u1", "bot_text1": "b1", "user_text2": "u2", "bot_text2": "b2", "answer": ["u2", "x"]},
        {"key": "n", "nrounds": 1, "user_text1": "v1", "bot_text1": "c1", "answer": ["v1"]},
    ],
}  # fmt: skip
MULTI = {
    "multi": {},
    "multi-latest": {"save_latest_only": True},
    "multi-reversed": {"reverse_spkr": True},
    "multi-reference": {"use_model_history": False},
    "multi-all": {
        "save_latest_only": True,
        "reverse_spkr": True,
        "use_model_history": False,
    },
    "multi-spoken": {"save_pred_audio": True},
    "multi-spoken-reversed": {"save_pred_audio": True, "reverse_spkr": True},
}
EXTERNAL: dict[str, list[dict[str, Any]]] = {
    "plain": [
        {"key": "a", "pred": "yes 巴黎", "ref": ["巴黎"]},
        {"key": "b", "pred": "no", "ref": ["london"]},
    ],
    "string": [{"key": "a", "pred": "yes", "ref": "yes"}],
    "more": [
        {"key": "a", "pred": "x", "ref": ["x"], "query": "q", "score": 9, "n": 1},
        {"key": "b", "pred": "y", "ref": ["x"], "extra": [1], "score": 0.5},
        {"key": "b", "pred": None, "ref": ["none"], "n": None, "score": 1},
    ],
    "tuple": [
        {"key": 1, "pred": "x and y", "ref": [{"__tuple__": True, "items": ["x", "y"]}]}
    ],
}


def write(folder: Path) -> None:
    """The project, in the working folder."""
    import yaml

    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for name, rows in ROWS.items():
        (folder / "data").mkdir(exist_ok=True)
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / "data" / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    for kind, entries in registry().items():
        (folder / "registry" / kind).mkdir(parents=True)
        text = yaml.safe_dump(entries, allow_unicode=True)
        (folder / "registry" / kind / "mine.yaml").write_text(text, encoding="utf-8")


def registry() -> dict[str, dict[str, Any]]:
    def entry(cls: str, **args: Any) -> dict[str, Any]:
        return {"class": cls, "args": args}

    def data(
        file: str, cls: str = "src.dataset.BatchLoader", **args: Any
    ) -> dict[str, Any]:
        return entry(
            cls, file=f"data/{file}.jsonl", query_col="query", ref_col="answer", **args
        )

    def task(
        dataset: Any,
        template: str = "ask",
        model: str = "echo",
        eval_task: str = "match",
        **args: Any,
    ) -> dict[str, Any]:
        return entry(
            "src.config.InferTaskCfg",
            dataset=dataset,
            template=template,
            model=model,
            eval_task=eval_task,
            **args,
        )

    datasets = {f"{name}-zh": data(name) for name in ROWS}
    datasets |= {
        "gaps-extra": data("gaps", extra_col=["emo", "n", "nothing"]),
        "qa-cut": data("qa", start=1, limit=3),
        "qa-filtered": data("qa", "src.my_data.Filtered"),
    }
    tasks = {f"t-{name}": task(f"{name}-zh") for name in ROWS if name != "turns"}
    tasks |= {
        f"t-{style}": task("qa-zh", model=style)
        for style in ("first", "none", "number", "text", "own")
    }
    tasks |= {
        f"t-{name}": task("turns-zh", "turns", **flags) for name, flags in MULTI.items()
    }
    tasks |= {
        f"t-multi-{style}": task("turns-zh", "turns", style)
        for style in ("cache", "his", "own")
    }
    tasks |= {
        "t-choices": task("choice-zh", eval_task="option"),
        "t-extra": task("gaps-extra"),
        "t-cut": task("qa-cut"),
        "t-filtered": task("qa-filtered"),
        "t-two": task(["qa-zh", "choice-zh"]),
        "t-two-spoken": task(["qa-zh", "choice-zh"], save_pred_audio=True),
        "t-spoken": task("qa-zh", model="speaks", save_pred_audio=True),
        "t-system": task("qa-zh", "roles", "own"),
        "t-no-judge": task("qa-zh", eval_task="nowhere"),
        "t-no-model": task("qa-zh", model="nowhere"),
    }
    text = [{"role": "user", "content": {"text": "{{query}}"}}]
    roles = [
        {"role": "system", "content": {"text": "be {{ key }}"}},
        {"role": "instruct", "content": {"text": "now"}},
        *text,
    ]
    scorer = {
        "llm_name": "gpt4o",
        "judge_task": "value_align",
        "api_keys": {"k1": "v1", "k2": "v2"},
    }
    pairs = {
        "match": ("exist", "avg"),
        "punctuation": ("exist-punc", "avg"),
        "option": ("single", "avg"),
        "rank": ("rank", "avg"),
        "single": ("own", "threshold"),
        "last": ("own", "last"),
        "sub": ("sub", "mos"),
        "judged": ("judge", "threshold"),
    }
    return {
        "dataset": datasets,
        "infer_task": tasks,
        "template": {
            "ask": entry("src.prompt.template.DataTemplate", template=text),
            "turns": entry("src.prompt.template.DataTemplate", template=TURNS),
            "roles": entry("src.prompt.template.DataTemplate", template=roles),
        },
        "model": {
            "echo": entry("src.models.mine.Echo"),
            **{
                s: entry("src.models.mine.Echo", style=s)
                for s in ("first", "none", "number", "text", "speaks", "cache", "his")
            },
            "own": entry("src.models.mine.Own"),
        },
        "evaluator": {
            "exist": entry(
                "src.evaluator.base.ExistMatch", keep_punc=False, max_workers=1
            ),
            "exist-punc": entry("src.evaluator.base.ExistMatch", keep_punc=True),
            "single": entry("src.evaluator.base.SingleOptionMatch", cushion=True),
            "rank": entry("src.evaluator.mine.Rank"),
            "own": entry("src.evaluator.mine.Single"),
            "sub": entry("src.evaluator.mine.Sub"),
            "judge": entry("src.evaluator.mine.Judge", **scorer),
        },
        "eval_task": {
            k: entry("src.config.EvalTaskCfg", evaluator=e, summarizer=s)
            for k, (e, s) in pairs.items()
        },
        "summarizer": {
            "avg": entry("src.summarizer.summarizer.AvgInfo"),
            "threshold": entry(
                "src.summarizer.summarizer.AvgThreshold", rescale="power"
            ),
            "last": entry("src.summarizer.mine.Last", rescale="linear"),
            "mos": entry("src.summarizer.summarizer.AvgMOS"),
        },
    }


def seen(folder: Path, save: str) -> dict[str, Any]:
    """The files of a run: JSON lines as values with the order of their keys, sounds by name."""
    found: dict[str, Any] = {}
    for file in sorted((folder / save).rglob("*")):
        name = file.relative_to(folder / save).as_posix()
        if (
            not file.is_file()
            or name.startswith(("run/", "."))
            or name.endswith("results.csv")
        ):
            continue
        if file.suffix == ".jsonl":
            lines = [
                json.loads(line)
                for line in file.read_text(encoding="utf-8").splitlines()
            ]
            found[name] = [[list(line), line] for line in lines]
        else:
            found[name] = "there"
    return found


def pipeline(side: Side) -> Iterator[Case]:
    """Whole runs; a run that upstream ends at a bad row goes on here, and is not compared. `side.stage(mode, task, save_dir, **options)` does one stage."""
    write(side.folder)
    numbers = iter(range(1000))

    def asked() -> list[Any]:
        file = side.folder / "asked.jsonl"
        lines = (
            [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            if file.exists()
            else []
        )
        file.unlink(missing_ok=True)
        return lines

    def infer(task: str, **options: Any) -> Any:
        save = f"save{next(numbers)}"
        asked()
        side.stage("infer", task, save, **options)
        return json.loads(
            json.dumps([seen(side.folder, save), asked()]).replace(save, "save")
        )

    def both(
        task: str, infer_options: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        save = f"save{next(numbers)}"
        side.stage("infer", task, save, **(infer_options or {}))
        side.stage("eval", task, save, **options)
        return json.loads(json.dumps(seen(side.folder, save)).replace(save, "save"))

    def external(name: str, eval_task: str | None = None, **options: Any) -> Any:
        save = f"save{next(numbers)}"
        side.jsonl(f"{save}/prediction/other/qa-zh.jsonl", EXTERNAL[name])
        side.stage("eval", "t-qa", save, model="other", eval_task=eval_task, **options)
        return [seen(side.folder, save), side.table(save)]

    plain = [
        name
        for name in registry()["infer_task"]
        if name not in ("t-no-judge", "t-no-model", "t-turns")
    ]
    for name in plain:
        yield f"infer.{name}", lambda n=name: infer(n)
    for name in (
        "t-qa",
        "t-choices",
        "t-gaps",
        "t-keyless",
        "t-twice",
        "t-numbers",
        "t-extra",
        "t-multi",
        "t-multi-latest",
        "t-two",
        "t-none",
    ):
        yield f"both.{name}", lambda n=name: both(n)
    for eval_task in registry()["eval_task"]:
        yield f"override.{eval_task}", lambda e=eval_task: both("t-qa", eval_task=e)
    yield "bsz.rank3", lambda: both("t-qa", eval_task="rank", bsz="3")
    yield "bsz.single3", lambda: both("t-qa", eval_task="single", bsz="3")
    yield "bsz.infer", lambda: infer("t-keyless", bsz="2")
    yield "model", lambda: infer("t-qa", model="first")
    yield "save_pred_audio", lambda: infer("t-qa", save_pred_audio="True")
    yield "not_save_pred_audio", lambda: infer("t-spoken", save_pred_audio="False")
    yield "infer_without_judge", lambda: infer("t-no-judge")
    yield "eval_without_judge", lambda: both("t-no-judge", eval_task="match")
    yield "no_model", lambda: infer("t-no-model", model="echo")
    for name in EXTERNAL:
        yield f"external.{name}", lambda n=name: external(n)
        yield f"external.{name}.single", lambda n=name: external(n, "single")
