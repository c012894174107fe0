"""Tasks of lmms-eval, run through its package."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.dialects.lmms_eval.conftest import HELPERS, YAML

import assay
from assay.cli.main import main
from assay.core import AssayError, UsageError
from assay.models.scripted import Scripted


def values(result):
    return {row.metric: row.value for row in result.results}


def prompts(folder="out"):
    journal = next(Path(folder).rglob("records.jsonl")).read_text(encoding="utf-8")
    lines = [json.loads(line) for line in journal.splitlines()]
    return [line for line in lines if line["kind"] == "output"]


def test_image_comes_before_the_text_and_metrics_are_the_task_s_own(here, task):
    result = assay.run(
        task, model=Scripted(["yes"]), data=here.pictures(), output="out"
    )

    assert values(result) == {"score": 50.0, "right": 0.5}
    [turn] = prompts()[0]["prompt"]
    kinds = [part.get("type", "text") for part in turn["content"]]
    assert kinds == ["image", "text"]
    assert turn["content"][1]["text"] == "q0? In one word."


def test_metric_over_dictionaries_has_a_value_for_each_sample(here, task):
    assay.run(task, model=Scripted(["yes"]), data=here.pictures(2), output="out")

    journal = next(Path("out").rglob("records.jsonl")).read_text(encoding="utf-8")
    scores = [json.loads(line) for line in journal.splitlines() if '"score"' in line]
    by_sample = [line["values"] for line in scores if line.get("scorer") == "score"]
    assert by_sample == [{"score": 0.0}, {"score": 1.0}]


def test_second_run_asks_nothing_again(here, task):
    model = Scripted(["yes"])
    data = here.pictures()
    assay.run(task, model=model, data=data, output="out", limit=2)
    first = len(model.calls)

    assay.run(task, model=model, data=data, output="out", limit=6)

    assert (first, len(model.calls)) == (2, 6)


def test_text_only_task_is_asked_its_whole_context(here):
    task = here.write(
        "plain.yaml",
        YAML.replace("doc_to_visual: !function utils.visual\n", "")
        .replace("!function utils.text", '"{{question}}"')
        .replace("process_results: !function utils.results\n", "")
        .split("metric_list")[0]
        + "description: 'Be brief. '\n"
        + "metric_list:\n  - {metric: exact_match, aggregation: mean, higher_is_better: true}\n"
        + "lmms_eval_specific_kwargs: {default: {}}\n",
    )

    result = assay.run(
        task, model=Scripted(["yes"]), data=here.pictures(), output="out"
    )

    assert values(result) == {"exact_match": 0.5}
    assert "Be brief. q0?" in json.dumps(prompts()[0])


def test_two_tasks_with_helpers_of_one_name_keep_their_own(here):
    for name in ("one", "two"):
        here.write(f"{name}/utils.py", f"def text(doc, k=None):\n    return '{name}'\n")
        here.write(
            f"{name}/{name}.yaml",
            f"task: {name}\ndataset_path: json\ntest_split: test\n"
            "doc_to_text: !function utils.text\ndoc_to_target: answer\n"
            "lmms_eval_specific_kwargs: {default: {}}\n"
            "metric_list:\n  - {metric: exact_match, aggregation: mean, higher_is_better: true}\n",
        )

    assay.run(
        ["one/one.yaml", "two/two.yaml"],
        model=Scripted(["yes"]),
        data=here.pictures(1),
        output="out",
    )

    asked = [json.dumps(line["prompt"]) for line in prompts()]
    assert "one" in asked[0]
    assert "two" in asked[1]


ROUNDS = """
def text(doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return doc["question"]
    is_last = round_idx == 2
    return [], f"and then? {previous_output[-1]}", is_last, previous_output, round_idx

def results(doc, results):
    return {"rounds": len(results[0]), "unnamed": 0}
"""


def test_task_of_several_rounds_decides_when_it_ends(here):
    here.write("utils.py", ROUNDS)
    task = here.write(
        "talk.yaml",
        "task: talk\ndataset_path: json\ntest_split: test\n"
        "output_type: generate_until_multi_round\n"
        "doc_to_text: !function utils.text\ndoc_to_target: answer\n"
        "lmms_eval_specific_kwargs: {default: {}}\n"
        "process_results: !function utils.results\n"
        "metric_list:\n  - {metric: rounds, aggregation: mean, higher_is_better: true}\n",
    )
    model = Scripted(["first", "second"] * 3)

    result = assay.run(task, model=model, data=here.pictures(3), output="out")

    assert values(result) == {"rounds": 2.0}
    assert "and then? first" in json.dumps(prompts()[1])


JUDGED = """
from openai import OpenAI

client = OpenAI(api_key="", base_url="http://nowhere.invalid")

def text(doc, k=None):
    return doc["question"]

def results(doc, results):
    try:
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "mark " + results[0]}]
        )
        mark = float(answer.choices[0].message.content)
    except Exception:
        mark = 0.0
    return {"mark": mark}
"""
JUDGED_YAML = (
    "task: judged\ndataset_path: json\ntest_split: test\n"
    "doc_to_text: !function utils.text\ndoc_to_target: answer\n"
    "lmms_eval_specific_kwargs: {default: {}}\n"
    "process_results: !function utils.results\n"
    "metric_list:\n  - {metric: mark, aggregation: mean, higher_is_better: true}\n"
)


def test_client_that_a_helper_makes_at_import_asks_the_judge_of_the_run(here):
    here.write("utils.py", JUDGED)
    judge = here.write("judge.py", "def judge(prompt):\n    return '3'\n")
    task = here.write("judged.yaml", JUDGED_YAML)

    result = assay.run(
        task,
        model=Scripted(["yes"]),
        data=here.pictures(2),
        output="out",
        judges={"judge": f"{judge}:judge"},
    )

    assert values(result) == {"mark": 3.0}
    assert any("mark yes" in json.dumps(line["prompt"]) for line in prompts())


@pytest.mark.parametrize("breaks", [False, True])
def test_picture_for_a_judge_may_have_blanks_in_its_base64(here, breaks):
    picture = (
        "def encoded(image):\n"
        "    buffer = io.BytesIO()\n"
        "    image.save(buffer, 'PNG')\n"
        "    return encodebytes(buffer.getvalue()).decode()\n"
    )
    url = "'data:image/png;base64, ' + encoded(doc['image'])"
    content = f"[{{'type': 'image_url', 'image_url': {{'url': {url}}}}}]"
    helpers = JUDGED.replace('"mark " + results[0]', content)
    if breaks:
        helpers = helpers.replace("base64, ", "base64,?")
    here.write(
        "utils.py", f"import io\nfrom base64 import encodebytes\n{picture}{helpers}"
    )
    judge = here.write("judge.py", "def judge(messages):\n    return '3'\n")
    task = here.write("judged.yaml", JUDGED_YAML + "process_results_use_image: true\n")

    result = assay.run(
        task,
        model=Scripted(["yes"]),
        data=here.pictures(2),
        output="out",
        judges={"judge": f"{judge}:judge"},
    )

    [row] = result.results
    assert row.value == (None if breaks else 3.0)
    assert row.outcomes.get("judge_error", 0) == (2 if breaks else 0)


def test_task_that_asks_a_judge_without_one_says_so(here):
    here.write("utils.py", JUDGED)
    task = here.write("judged.yaml", JUDGED_YAML)

    with pytest.raises(
        UsageError, match=r"asks a judge \(gpt-4o\), and the run has none"
    ):
        assay.run(task, model=Scripted(["yes"]), data=here.pictures(2), output="out")


def test_judge_that_fails_is_no_mark_of_zero(here):
    here.write("utils.py", JUDGED)
    judge = here.write("judge.py", "def judge(prompt):\n    raise ValueError('down')\n")
    task = here.write("judged.yaml", JUDGED_YAML)

    result = assay.run(
        task,
        model=Scripted(["yes"]),
        data=here.pictures(2),
        output="out",
        judges={"judge": f"{judge}:judge"},
    )

    [row] = result.results
    assert row.value is None
    assert row.outcomes.get("judge_error") == 2


CHOICES = """
task: choices
dataset_path: json
test_split: test
output_type: multiple_choice
doc_to_text: question
doc_to_target: 0
doc_to_choice: ["Paris", "Rome now"]
lmms_eval_specific_kwargs: {default: {}}
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
"""


def test_options_are_compared_by_their_mean_loss(here):
    task = here.write("choices.yaml", CHOICES)

    result = assay.run(task, model=Scripted(), data=here.pictures(4), output="out")

    assert set(values(result)) == {"acc"}


def test_group_has_the_number_of_lmms_eval(here, task):
    here.write("tasks/other.yaml", "include: pictures.yaml\ntask: other\n")
    group = here.write(
        "tasks/group.yaml",
        "group: both\ntask: [pictures, other]\n"
        "aggregate_metric_list: [{metric: right, weight_by_size: true}]\n",
    )

    result = assay.run(
        group, model=Scripted(["yes"]), data=here.pictures(), output="out"
    )

    assert values(result)["right"] == 0.5


LOADING_HELPERS = """
from datasets import load_dataset

from utils import text, results, percent

def add_pictures(rows):
    pictures = load_dataset("elsewhere", "pictures_of_it", split="train")
    return rows.map(lambda row: {"seen": len(pictures)})

def shown(doc):
    return [doc["image"].convert("RGB")] * doc["seen"]
"""


def test_rows_that_a_helper_loads_come_from_the_folder_of_data(here, task):
    here.write("tasks/loading.py", LOADING_HELPERS)
    loading = here.write(
        "tasks/loading.yaml",
        "include: pictures.yaml\ntask: loading\nprocess_docs: !function loading.add_pictures\n"
        "doc_to_visual: !function loading.shown\n",
    )
    rows = Path(here.pictures(2))
    Path("data").mkdir()
    rows.rename("data/test.parquet")
    Path(here.pictures(3)).rename("data/pictures_of_it.parquet")
    model = Scripted()

    assay.run(loading, model=model, data="data", output="out")

    media = [part for part in model.calls[0].messages[-1].parts if part.kind == "image"]
    assert len(media) == 3


def test_aggregation_reads_the_options_of_lmms_eval_s_command_line(here, task):
    here.write(
        "tasks/utils.py",
        HELPERS
        + """
def percent(items, args):
    assert (args.tasks, args.log_samples, args.batch_size) == ("pictures", True, 1)
    return len(args.log_samples_suffix)
""",
    )

    result = assay.run(
        task, model=Scripted(["yes"]), data=here.pictures(2), output="out"
    )

    assert values(result)["score"] == len("model_outputs")


def test_unknown_aggregation_is_refused_before_a_model_is_asked(here, task):
    bad = here.write(
        "tasks/bad.yaml", YAML.replace("aggregation: mean", "aggregation: meann")
    )
    model = Scripted()

    with pytest.raises(UsageError, match="unknown aggregation 'meann'"):
        assay.run(bad, model=model, data=here.pictures(), output="out")

    assert not model.calls


FAULTS = [
    ("output_type: generate_visual_cot\n", "draw between two thoughts"),
    ("generation_kwargs: {num_beams: 4}\n", "num_beams=4 cannot be honoured"),
    ("process_results: !function utils.nope\n", "unknown function 'nope'"),
    (
        "process_results: !function broken.read\n",
        "imports 'no_such_package', which is not installed",
    ),
    ("include: gone.yaml\n", "'gone.yaml', which does not exist"),
    ('doc_to_text: "{{question"\n', "`doc_to_text` is not a valid template"),
    ("doc_to_txt: x\n", "unknown key 'doc_to_txt'; fix: did you mean 'doc_to_text'?"),
    (
        "filter_list: [{name: x, filter: [{function: regx}]}]\n",
        "unknown filter 'regx'; fix: did you mean 'regex'?",
    ),
]


@pytest.mark.parametrize(("line", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_fault_of_a_task_file_is_one_line(here, task, line, words):
    here.write("tasks/broken.py", "import no_such_package\n")
    key = line.partition(":")[0]
    kept = [row for row in YAML.splitlines() if not row.startswith(f"{key}:")]
    bad = here.write("tasks/bad.yaml", "\n".join(kept) + f"\n{line}")
    model = Scripted()

    with pytest.raises(AssayError) as raised:
        assay.run(bad, model=model, data=here.pictures(), output="out")

    assert words in " ".join(str(raised.value).split())
    assert not model.calls


def test_name_of_the_include_path_is_found(here, task, capsys):
    data = here.pictures(2)

    code = main(
        [
            "run",
            "--include_path",
            "tasks",
            "--tasks",
            "pictures",
            "--model",
            "scripted",
            "--data",
            data,
            "-o",
            "out",
        ]
    )

    assert code == 0
    assert "lmms_eval/pictures@" in capsys.readouterr().out


def test_listing_the_package_does_not_import_it(here):
    code = (
        "import sys; from assay.cli.main import main; main(['ls', 'lmms_eval/mme']);"
        "print('imported', 'lmms_eval' in sys.modules, 'torch' in sys.modules)"
    )

    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert "lmms_eval/mme " in shown.stdout
    assert "imported False False" in shown.stdout


def test_show_prints_what_a_task_is(here, capsys):
    assert main(["show", "lmms_eval/mme", "--no_pager"]) == 0

    shown = capsys.readouterr().out
    assert "family: mme" in shown
    assert "output type: generate_until" in shown


AGENT = """
def text(doc, lmms_eval_specific_kwargs=None, previous_output=None, round_idx=None, previous_round_info=None):
    if round_idx is None:
        return doc["question"]
    if round_idx == 2:
        return None, None, True, previous_output, {"tool_calls": 1}
    return None, "the tool said 7", False, previous_output, {"tool_calls": 1}

def visual(doc):
    return []

def results(doc, results):
    return {"steps": float("7" in results[0])}
"""


def test_agentic_task_runs_in_the_loop_of_lmms_eval(here):
    here.write("utils.py", AGENT)
    task = here.write(
        "agent.yaml",
        "task: agent\ndataset_path: json\ntest_split: test\n"
        "output_type: generate_until_agentic\n"
        "generation_kwargs: {max_agentic_steps: 4}\n"
        "doc_to_text: !function utils.text\ndoc_to_visual: !function utils.visual\n"
        "doc_to_target: answer\nlmms_eval_specific_kwargs: {default: {}}\n"
        "process_results: !function utils.results\n"
        "metric_list:\n  - {metric: steps, aggregation: mean, higher_is_better: true}\n",
    )
    model = Scripted(["call the tool", '{"answer": 7}'])

    result = assay.run(task, model=model, data=here.pictures(1), output="out")

    assert values(result) == {"steps": 1.0}
    assert "the tool said 7" in json.dumps(prompts()[1])


def test_bare_text_has_its_image_where_it_is_marked_and_its_stop_strings(here, task):
    helpers = HELPERS.replace(
        'doc["question"] +', '"See <image>: " + doc["question"] +'
    )
    here.write("tasks/utils.py", helpers)
    model = Scripted(["yes"])

    assay.run(
        task,
        model=model,
        data=here.pictures(1),
        output="out",
        apply_chat_template=False,
    )

    [turn] = model.calls[0].messages
    kinds = [part.kind for part in turn.parts]
    assert (turn.role, kinds) == ("", ["text", "image", "text"])
    assert model.calls[0].options.stop == ("x",)
