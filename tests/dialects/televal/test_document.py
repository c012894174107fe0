"""The blocks of the TELEVAL document, as they stand in it, run; our own equivalents are in the other files here.

Each block gets the smallest surroundings it needs: entries of the registry that it names, one line each.
"""

import re
import textwrap
from pathlib import Path

import pytest
import yaml

SEEDS = Path(__file__).parents[4] / "shared" / "seeds"
BLOCK = re.compile(r"^([ ]*)```(\w+)\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)

MODEL = "model your_model_name: {class: src.models.echo.Echo, args: {path: x}}"
TEMPLATE = 'template your_template_name: {class: src.prompt.template.DataTemplate, args: {template: [{role: user, content: {text: "{{query}}"}}]}}'  # noqa: E501
DATASET = "dataset your_dataset_name: {class: src.dataset.BatchLoader, args: {file: data/rows.jsonl, ref_col: answer, query_col: query}}"  # noqa: E501
EVALUATOR = (
    "evaluator your_evaluator_name: {class: src.evaluator.contains.Contains, args: {}}"
)
SUMMARIZER = "summarizer your_summarizer_name: {class: src.summarizer.summarizer.AvgInfo, args: {}}"
EVAL_TASK = "eval_task your_eval_task_name: {class: src.config.EvalTaskCfg, args: {evaluator: your_evaluator_name, summarizer: your_summarizer_name}}"  # noqa: E501


def infer_task(**names):
    given = {
        "dataset": "your_dataset_name",
        "template": "your_template_name",
        "model": "your_model_name",
        "eval_task": "your_eval_task_name",
        **names,
    }
    inner = ", ".join(f"{key}: {value}" for key, value in given.items())
    return f"infer_task your_infer_task_name: {{class: src.config.InferTaskCfg, args: {{{inner}}}}}"


ANSWERING = [
    "import json, re",
    "from src.models.base import Model",
    "class Echo(Model):",
    "    def answer(self, meaning):",
    '        """<block>"""',
    "        said = re.findall(r'\"(\\w+)\": ([^,(]+?)(?: \\(.*\\))?,?$', Echo.answer.__doc__, re.MULTILINE)",
    "        return {key: meaning[phrase] for key, phrase in said}",
]
"""The enclosing function of the fragment. Its values are phrases, so it is no Python: the function finds it in its own
text, and gives each phrase the meaning that the model around it has for it."""

TABLE = {
    "your_infer_task_name": (
        "infer_task",
        [DATASET, TEMPLATE, MODEL, EVAL_TASK, EVALUATOR, SUMMARIZER],
    ),
    "your_eval_task_name": (
        "eval_task",
        [infer_task(), DATASET, TEMPLATE, MODEL, EVALUATOR, SUMMARIZER],
    ),
    "dataset-name": (
        "dataset",
        [
            infer_task(dataset="dataset-name"),
            TEMPLATE,
            MODEL,
            EVAL_TASK,
            EVALUATOR,
            SUMMARIZER,
        ],
    ),
    "model_name": (
        "model",
        [
            infer_task(model="model_name"),
            DATASET,
            TEMPLATE,
            EVAL_TASK,
            EVALUATOR,
            SUMMARIZER,
        ],
    ),
    "return": ("answer", ANSWERING),
}
"""The first word of each block: what kind it is, and its surroundings."""


def blocks():
    """Kind and text of each block of the document."""
    files = sorted(SEEDS.glob("003_*.txt"))
    if not files:
        return []
    return [
        (kind, textwrap.dedent(text))
        for _, kind, text in BLOCK.findall(files[0].read_text(encoding="utf-8"))
    ]


def first_word(text):
    return re.match(r"[\w-]+", text.lstrip())[0]


@pytest.fixture
def document():
    found = blocks()
    if not found:
        pytest.skip("the seed documents are not beside the repository")
    return {first_word(text): (kind, text) for kind, text in found}


def test_every_block_of_the_document_is_in_the_table(document):
    assert set(document) == set(TABLE)


@pytest.mark.parametrize(
    "name", [name for name, (kind, _) in TABLE.items() if kind != "answer"]
)
def test_a_block_runs_unchanged(document, project, name):
    kind, surroundings = TABLE[name]
    text = document[name][1]
    assert len(surroundings) <= 10
    assert not any(
        line.split()[1].rstrip(":") in yaml.safe_load(text) for line in surroundings
    )
    for file in project.registry.rglob("*.yaml"):
        file.unlink()
    project.write(f"registry/{kind}/document.yaml", text)
    for number, line in enumerate(surroundings):
        of, _, entry = line.partition(" ")
        project.write(f"registry/{of}/surroundings{number}.yaml", entry)
    rows = [
        {"key": "a", "query": "is it 1949?", "answer": "1949"},
        {"key": "b", "query": "null", "answer": "no"},
    ]
    write_parquet(project.root / "path/to/huggingface", rows)
    if kind == "model":
        code = (
            (project.root / "src/models/echo.py")
            .read_text()
            .replace("Echo", "your_model_class")
        )
        project.write("src/models/xxx.py", code)

    result = project.run("your_infer_task_name")

    assert (result.status, result.results[0].value, result.results[0].n) == (
        "complete",
        0.5,
        2,
    )


def write_parquet(folder, rows):
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir(parents=True)
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), folder / "test.parquet")


PHRASES = """
    def meaning(self, text, **kwargs):
        cache, log = kwargs.get("cache", 0) + 1, open("calls.jsonl", "a")
        log.write(json.dumps([text, kwargs.get("cache"), kwargs.get("said")]) + "\\n")
        log.close()
        if kwargs.get("pred_audio"):
            open(kwargs["pred_audio"], "wb").write(open(kwargs["heard"], "rb").read())
        return {
            "model's text output": f"said {text}",
            "model's audio output path": kwargs.get("pred_audio"),
            "model's kv_cache or generate_id": cache,
            "model's history text which is differed from text output": f"his {cache}",
        }

    def generate_once(self, audio, **kwargs):
        return self.answer(self.meaning(kwargs["query"], heard=audio, **kwargs))

    def generate_multiturn(self, audio, user_history, assistant_history, **kwargs):
        return self.answer(self.meaning(kwargs["user_query"], said=assistant_history, heard=audio, **kwargs))
"""


@pytest.fixture
def answering(document, project, monkeypatch):
    """A model whose methods return the fragment, as it stands in the document."""
    monkeypatch.chdir(project.root)
    block, preamble = document["return"][1], "\n".join(TABLE["return"][1])
    assert len(preamble.splitlines()) <= 10 and "<block>" in preamble
    project.entry("model", "echo", "src.models.echo.Echo", {})
    project.write(
        "src/models/echo.py", preamble.replace("<block>", f"\n{block}") + PHRASES
    )
    return project


def test_a_model_returns_exactly_what_the_document_lists(answering):
    answering.wav("data/a.wav")
    template = [
        {"role": "user", "content": {"audio": "data/a.wav", "text": "{{query}}"}}
    ]
    answering.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": template}
    )

    result, _ = answering.televal("infer", save_pred_audio=True)

    lines = answering.lines("save/prediction/echo/task.jsonl")
    assert (result.status, [line["pred"] for line in lines]) == (
        "complete",
        ["said is it 1949?", "said null"],
    )
    assert [Path(line["pred_audio"]).name for line in lines] == [
        "a_pred.wav",
        "b_pred.wav",
    ]
    assert not any("cache" in line or "his" in line for line in lines)


def test_what_the_document_lists_for_dialogues_reaches_the_next_round(answering):
    from .test_dialogues import TEMPLATE

    answering.entry(
        "template", "ask", "src.prompt.template.DataTemplate", {"template": TEMPLATE}
    )
    row = {"key": "d", "nrounds": 2, "answer": None}
    answering.rows(
        row
        | {f"{who}_text{n}": f"{who} {n}" for who in ("user", "bot") for n in (1, 2)}
    )

    answering.televal("infer")

    assert answering.lines("calls.jsonl") == [
        ["user 1", None, []],
        ["user 2", 1, ["his 1"]],
    ]
    lines = answering.lines("save/prediction/echo/task.jsonl")
    assert [line["pred"] for line in lines] == ["said user 1", "said user 2"]
