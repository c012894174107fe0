"""lm-eval tasks run through `assay.run`: requests, numbers, resume, failures."""

import json
from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.models.scripted import Scripted


def numbers(result):
    return {row.metric: row.value for row in result.results}


def test_choice_task_weighs_every_option_after_one_context(here, choice_task):
    model = Scripted()

    result = assay.run(choice_task, model=model, data=here.choices(), output="out")

    assert numbers(result) == {
        "acc": pytest.approx(1 / 3),
        "acc_norm": pytest.approx(1 / 3),
    }
    first = model.calls[0].prompt
    assert first.text == "Q: q0\nA:"
    assert first.continuations == (" Rome", " Oslo now", " Paris is it")
    assert len(model.calls) == 6
    assert all(row.ci is not None for row in result.results)


def test_each_filter_of_a_text_task_is_a_row(here, text_task):
    model = Scripted(lambda request: f"it is {request.prompt.text[3]}")

    result = assay.run(text_task, model=model, data=here.sums(), output="out")

    assert numbers(result) == {"exact_match,first": 0.0, "exact_match,digits": 1.0}
    options = model.calls[0].options
    assert (options.max_tokens, options.stop, options.temperature) == (8, ("\n",), 0.0)


def test_protocol_names_shots_versions_and_a_digest(here, choice_task):
    data = here.choices()

    plain = assay.run(choice_task, model=Scripted(), data=data, output="a")
    here.write("choice.yaml", Path(choice_task).read_text().replace("Q:", "Question:"))
    changed = assay.run(choice_task, model=Scripted(), data=data, output="b")

    before, after = plain.results[0].protocol, changed.results[0].protocol
    assert before.startswith("lm_eval/capitals@0shot-v2.0-lm_eval")
    assert before.rpartition("-")[0] == after.rpartition("-")[0]
    assert before != after


def test_resumed_run_asks_only_what_is_missing(here, text_task):
    data = here.sums(6)
    first = Scripted(lambda request: "1")
    assay.run(text_task, model=first, data=data, limit=2, output="out")

    second = Scripted(lambda request: "1")
    result = assay.run(text_task, model=second, data=data, output="out")

    assert len(first.calls) == 2
    assert len(second.calls) == 4
    assert result.results[0].n == 6


def test_failed_request_is_an_outcome_and_leaves_the_denominator(here, text_task):
    def answer(request):
        if "3 + 0" in request.prompt.text:
            raise RuntimeError("no power")
        return request.prompt.text[3]

    result = assay.run(
        text_task,
        model=Scripted(answer),
        data=here.sums(),
        output="out",
        on_error="continue",
    )

    row = result.results[0]
    assert (row.value, row.n, row.n_expected) == (1.0, 5, 6)
    assert row.outcomes["model_error"] == 1
    assert row.bounds == (pytest.approx(5 / 6), 1.0)


def test_examples_are_drawn_as_lm_eval_draws_them(here, choice_task):
    lm_eval_task = pytest.importorskip("lm_eval.api.task")
    from lm_eval.tasks._yaml_loader import load_yaml

    import datasets

    data = here.choices(8)
    rows = [json.loads(line) for line in Path(data).read_text().splitlines()]
    config = load_yaml(choice_task, resolve_func=True)
    dataset = datasets.Dataset.from_list(rows)
    config["custom_dataset"] = lambda **_: {"train": dataset, "test": dataset}
    task = lm_eval_task.ConfigurableTask(config=config)
    task.set_config(key="num_fewshot", value=2)
    task.set_fewshot_seed(seed=1234)
    task.build_all_requests(limit=4, rank=0, world_size=1)
    theirs = list(dict.fromkeys(instance.args[0] for instance in task.instances))

    model = Scripted()
    assay.run(
        choice_task,
        model=model,
        data=data,
        fewshot_data=data,
        num_fewshot=2,
        limit=4,
        output="out",
    )

    assert [call.prompt.text for call in model.calls] == theirs


def test_chat_template_sends_turns_and_drops_the_blank_before_options(
    here, choice_task
):
    model = Scripted()

    assay.run(
        choice_task,
        model=model,
        data=here.choices(),
        fewshot_data=here.choices(5, "shots.jsonl"),
        num_fewshot=1,
        apply_chat_template=True,
        system="Be brief.",
        output="out",
    )

    prompt = model.calls[0].prompt
    assert [m.role for m in prompt.messages] == ["system", "user", "assistant", "user"]
    assert prompt.messages[0].text == "Be brief."
    assert prompt.continuations == ("Rome", "Oslo now", "Paris is it")


def test_answer_prefix_is_continued_by_the_model(here):
    task = here.write(
        "prefix.yaml",
        "task: prefixed\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\ngen_prefix: "Answer:"\n',
    )
    model = Scripted(lambda request: "1")

    assay.run(
        task, model=model, data=here.sums(2), apply_chat_template=True, output="out"
    )

    last = model.calls[0].prompt.messages[-1]
    assert (last.role, last.text) == ("assistant", "Answer:")


def test_several_contexts_of_one_document_are_weighed_apart(here):
    task = here.write(
        "blank.yaml",
        "task: blanks\noutput_type: multiple_choice\ndataset_path: json\ntest_split: test\n"
        "doc_to_text: gold\n"
        'doc_to_choice: "{{[first, second]}}"\ndoc_to_target: rest\n',
    )
    rows = [
        {"first": "Tom", "second": "Ann", "rest": "sings", "gold": n % 2}
        for n in range(4)
    ]
    model = Scripted()

    result = assay.run(task, model=model, data=here.rows("b.jsonl", rows), output="out")

    asked = {(call.prompt.text, call.prompt.continuations) for call in model.calls}
    assert asked == {("Tom", (" sings",)), ("Ann", (" sings",))}
    assert result.results[0].n == 4


def test_whole_texts_have_perplexities_with_intervals(here):
    task = here.write(
        "pages.yaml",
        "task: pages\noutput_type: loglikelihood_rolling\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: ""\ndoc_to_target: "{{page}}"\n',
    )
    rows = [{"page": "some words " * (n + 1)} for n in range(12)]

    result = assay.run(
        task, model=Scripted(), data=here.rows("p.jsonl", rows), output="out"
    )

    rows_by_name = {row.metric: row for row in result.results}
    assert set(rows_by_name) == {"word_perplexity", "byte_perplexity", "bits_per_byte"}
    row = rows_by_name["word_perplexity"]
    assert row.ci is not None and row.ci[0] < row.value < row.ci[1]
    assert not row.higher_is_better


def test_number_over_the_whole_set_says_that_it_has_no_interval(here):
    here.write("helper.py", "def spread(items):\n    return max(items) - min(items)\n")
    task = here.write(
        "own.yaml",
        "task: own\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n'
        "metric_list:\n  - {metric: exact_match, aggregation: !function helper.spread, higher_is_better: true}\n",
    )

    result = assay.run(task, model=Scripted(["1"]), data=here.sums(), output="out")

    [row] = result.results
    assert row.value == 1.0
    assert (row.ci, row.interval) == (
        None,
        "none: spread is computed over the whole set",
    )


def test_aggregation_that_fails_costs_no_other_number(here):
    here.write("helper.py", "def broken(items):\n    raise OSError('no hub')\n")
    task = here.write(
        "own.yaml",
        "task: own\noutput_type: multiple_choice\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "{{question}}"\ndoc_to_choice: "{{options}}"\ndoc_to_target: gold\n'
        "metric_list:\n  - {metric: acc, aggregation: mean, higher_is_better: true}\n"
        "  - {metric: acc_norm, aggregation: !function helper.broken, higher_is_better: true}\n",
    )

    result = assay.run(task, model=Scripted(), data=here.choices(), output="out")

    values = numbers(result)
    assert values == {"acc": pytest.approx(1 / 3), "acc_norm": None}
    assert any("OSError" in flag for flag in result.results[1].flags)


def test_functions_of_a_helper_module_build_and_read(here):
    here.write(
        "helper.py",
        "def ask(doc):\n    return 'compute ' + doc['question']\n"
        "def read(doc, results):\n    return {'right': float(results[0] == doc['answer'])}\n",
    )
    task = here.write(
        "own.yaml",
        "task: own\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: !function helper.ask\ndoc_to_target: "{{answer}}"\n'
        "process_results: !function helper.read\n"
        "metric_list:\n  - {metric: right, aggregation: mean, higher_is_better: true}\n",
    )
    model = Scripted(lambda request: request.prompt.text[len("compute ")])

    result = assay.run(task, model=model, data=here.sums(), output="out")

    assert numbers(result) == {"right": 1.0}


def test_repeated_answers_go_through_the_majority_vote(here):
    task = here.write(
        "vote.yaml",
        "task: vote\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\nrepeats: 3\n'
        "generation_kwargs: {until: [], do_sample: true, temperature: 0.7}\n"
        "filter_list:\n  - name: vote\n    filter: [{function: majority_vote}, {function: take_first}]\n",
    )
    said = iter(["0", "9", "0"])
    model = Scripted(lambda request: next(said))

    result = assay.run(task, model=model, data=here.sums(1), output="out")

    assert len(model.calls) == 3
    assert numbers(result) == {"exact_match,vote": 1.0}
    assert {call.options.temperature for call in model.calls} == {0.7}


def test_group_has_the_value_of_lm_eval_and_its_tasks_as_breakdown(here, choice_task):
    text = Path(choice_task).read_text()
    here.write("second.yaml", text.replace("task: capitals", "task: towns"))
    group = here.write(
        "group.yaml",
        "group: places\ntask: [capitals, towns]\n"
        "aggregate_metric_list:\n  - {metric: acc, weight_by_size: true}\n",
    )
    here.choices(6, "data/capitals.jsonl")
    here.choices(3, "data/towns.jsonl")

    result = assay.run(group, model=Scripted(), data="data", output="out")

    row = result.results[0]
    assert (row.metric, row.n) == ("acc", 9)
    assert row.value == pytest.approx(3 / 9)
    assert set(row.groups["subtask"]) == {"capitals", "towns"}
    assert {r.metric for r in result.results[1:]} == {
        "capitals:acc_norm",
        "towns:acc_norm",
    }


INNER_GROUP = """
group: places
task:
  - group: inner
    task: [capitals, towns]
    aggregate_metric_list: [{metric: acc, weight_by_size: false}]
  - villages
"""


def test_group_inside_a_group_has_a_row_of_its_own(here, choice_task):
    text = Path(choice_task).read_text()
    here.write("second.yaml", text.replace("task: capitals", "task: towns"))
    here.write("third.yaml", text.replace("task: capitals", "task: villages"))
    group = here.write("group.yaml", INNER_GROUP)
    here.choices(6, "data/capitals.jsonl")
    here.choices(2, "data/towns.jsonl")
    here.choices(3, "data/villages.jsonl")

    result = assay.run(group, model=Scripted(), data="data", output="out")

    found = numbers(result)
    assert found["places::inner:acc"] == pytest.approx((2 / 6 + 1 / 2) / 2)
    assert found["villages:acc"] == pytest.approx(1 / 3)


def test_group_that_changes_its_tasks_is_asked_with_the_changes(here, choice_task):
    text = Path(choice_task).read_text()
    here.write("second.yaml", text.replace("task: capitals", "task: towns"))
    group = here.write(
        "group.yaml",
        "group: places\ndescription: 'Name it. '\n"
        "task:\n  - {task: capitals, num_fewshot: 2}\n  - towns\n",
    )
    model = Scripted()
    data = here.choices(4)

    result = assay.run(
        group, model=model, data=data, fewshot_data=data, limit=2, output="out"
    )

    shots = [call.messages[0].text.count("Q: ") - 1 for call in model.calls]
    assert sorted(shots) == [0, 2]
    assert all(call.messages[0].text.startswith("Name it. ") for call in model.calls)
    assert {"capitals:acc", "towns:acc"} <= set(numbers(result))


def test_shard_asks_the_same_requests_as_the_whole_run(here, choice_task):
    data = here.choices(6)
    settings = {"data": data, "fewshot_data": data, "num_fewshot": 2}
    whole, part = Scripted(), Scripted()

    assay.run(choice_task, model=whole, output="whole", **settings)
    assay.run(choice_task, model=part, output="part", shard="2/2", **settings)

    asked = [call.prompt.text for call in whole.calls]
    assert part.calls
    assert {call.prompt.text for call in part.calls} < set(asked)


def test_two_runs_are_compared_sample_by_sample(here, text_task):
    data = here.sums(12)
    for folder, answer in (("a", "1"), ("b", "2")):
        args = {"answers": answer}
        assay.run(
            text_task, model="scripted", model_args=args, data=data, output=folder
        )

    comparison = assay.compare("a", "b")

    row = next(r for r in comparison.rows if r.metric == "exact_match,first")
    assert not row.refused
    assert row.verdict == "not distinguishable"
    assert (len(row.before), len(row.after)) == (12, 12)


def test_scoring_again_asks_nothing_and_gives_the_same_numbers(here, text_task):
    args = {"answers": "1"}
    first = assay.run(
        text_task, model="scripted", model_args=args, data=here.sums(), output="out"
    )
    journal = Path("out/records.jsonl").read_bytes()

    again = assay.score("out")

    assert numbers(again) == numbers(first)
    assert Path("out/records.jsonl").read_bytes() == journal


def test_image_is_sent_where_the_text_marks_it(here):
    image_module = pytest.importorskip("PIL.Image")
    import base64
    import io

    buffer = io.BytesIO()
    image_module.new("RGB", (2, 2)).save(buffer, "PNG")
    here.write(
        "helper.py",
        "import base64, io\nfrom PIL import Image\n"
        "def image(doc):\n    return [Image.open(io.BytesIO(base64.b64decode(doc['png'])))]\n",
    )
    task = here.write(
        "seen.yaml",
        "task: seen\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "Look: <image> What?"\ndoc_to_target: "{{answer}}"\n'
        "doc_to_image: !function helper.image\n",
    )
    png = base64.b64encode(buffer.getvalue()).decode()
    model = Scripted(lambda request: "red")

    assay.run(
        task,
        model=model,
        data=here.rows("i.jsonl", [{"png": png, "answer": "red"}]),
        apply_chat_template=True,
        output="out",
    )

    parts = model.calls[0].prompt.messages[0].parts
    assert [part.kind for part in parts] == ["text", "image", "text"]


def test_output_of_a_failed_document_is_kept(here, text_task):
    def answer(request):
        raise RuntimeError("no power")

    result = assay.run(
        text_task,
        model=Scripted(answer),
        data=here.sums(2),
        output="out",
        on_error="continue",
    )

    [row] = result.results
    assert (row.value, row.n) == (None, 0)


CODE_HELPER = """
import evaluate

code_eval = evaluate.load("code_eval")


def pass_at_1(references, predictions):
    programs = [[text] for text in predictions]
    return code_eval.compute(references=references, predictions=programs, k=[1])[0]["pass@1"]
"""


def test_code_of_the_model_runs_in_the_sandbox(here):
    here.write("helper.py", CODE_HELPER)
    task = here.write(
        "code.yaml",
        "task: code\noutput_type: generate_until\ndataset_path: json\ntest_split: test\nunsafe_code: true\n"
        'doc_to_text: "{{question}}"\ndoc_to_target: "assert add(1, 2) == 3"\n'
        "metric_list:\n  - {metric: !function helper.pass_at_1, aggregation: mean, higher_is_better: true}\n",
    )
    inside = "open('/etc/passwd').read()\ndef add(a, b): return a + b"
    said = iter(["def add(a, b): return a + b", "def add(a, b): return 0", inside])
    model = Scripted(lambda request: next(said))

    result = assay.run(task, model=model, data=here.sums(3), output="out")

    [row] = result.results
    assert (row.metric, row.value) == ("pass_at_1", pytest.approx(1 / 3))
    assert row.ci[0] >= 0


def test_metric_that_sets_an_alarm_works(here):
    here.write(
        "helper.py",
        "import signal\n"
        "def read(doc, results):\n"
        "    signal.signal(signal.SIGALRM, signal.SIG_DFL)\n"
        "    signal.alarm(5)\n    signal.alarm(0)\n"
        "    return {'right': 1.0}\n",
    )
    task = here.write(
        "own.yaml",
        "task: own\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n'
        "process_results: !function helper.read\n"
        "metric_list:\n  - {metric: right, aggregation: mean, higher_is_better: true}\n",
    )

    result = assay.run(task, model=Scripted(["1"]), data=here.sums(), output="out")

    assert numbers(result) == {"right": 1.0}


def test_image_column_of_a_parquet_file_is_an_image(here):
    from PIL import Image

    import datasets

    rows = [{"image": Image.new("RGB", (3, 2)), "question": "What?", "answer": "red"}]
    datasets.Dataset.from_list(rows).to_parquet("seen.parquet")
    here.write("helper.py", "def image(doc):\n    return [doc['image'].convert('L')]\n")
    task = here.write(
        "seen.yaml",
        "task: seen\noutput_type: generate_until\ndataset_path: json\ntest_split: test\n"
        'doc_to_text: "<image>{{question}}"\ndoc_to_target: "{{answer}}"\n'
        "doc_to_image: !function helper.image\n",
    )
    model = Scripted(lambda request: "red")

    result = assay.run(task, model=model, data="seen.parquet", output="out")

    parts = model.calls[0].prompt.messages[0].parts
    assert [part.kind for part in parts] == ["image", "text"]
    assert result.results[0].value == 1.0


def test_logged_samples_have_the_fields_of_lm_eval(here, text_task):
    pytest.importorskip("lm_eval")
    model = Scripted(lambda request: f"it is {request.prompt.text[3]}")

    assay.run(text_task, model=model, data=here.sums(2), output="out", log_samples=True)

    lines = Path("out/samples_sums.jsonl").read_text().splitlines()
    first, *_, last = map(json.loads, lines)
    assert len(lines) == 4
    assert (first["filter"], last["filter"]) == ("first", "digits")
    assert first["doc"] == {"question": "0 + 0", "answer": "0"}
    assert first["arguments"]["gen_args_0"]["arg_0"] == "Q: 0 + 0\nA:"
    assert (first["resps"], first["filtered_resps"]) == ([["it is 0"]], ["it is 0"])
    assert last["filtered_resps"] == ["1"]
    assert last["exact_match"] == 1.0
    assert {
        "doc_id",
        "target",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
    } <= first.keys()


def test_logged_samples_of_a_finished_run_come_from_scoring_it_again(here, text_task):
    args = {"answers": "1"}
    assay.run(
        text_task, model="scripted", model_args=args, data=here.sums(2), output="out"
    )

    assay.score("out", log_samples=True)

    assert len(Path("out/samples_sums.jsonl").read_text().splitlines()) == 4


def test_task_that_shuffles_with_its_own_generator_is_the_same_in_every_run(here):
    here.write(
        "helper.py",
        "import random\nrng = random.Random(42)\n\n"
        "def shuffled(rows):\n"
        "    def add(row):\n        words = list('abcdefgh')\n        rng.shuffle(words)\n"
        "        return {'order': ''.join(words)}\n"
        "    return rows.map(add, keep_in_memory=True, load_from_cache_file=False)\n",
    )
    task = here.write(
        "shuffling.yaml",
        "task: shuffling\noutput_type: generate_until\ndataset_path: json\n"
        "test_split: test\nprocess_docs: !function helper.shuffled\n"
        'doc_to_text: "{{order}}"\ndoc_to_target: "{{answer}}"\n',
    )
    first, second = Scripted(["x"]), Scripted(["x"])
    data = here.sums(3)

    assay.run(task, model=first, data=data, output="one")
    assay.run(task, model=second, data=data, output="two", seed=7)

    asked = []
    for model in (first, second):
        asked.append([call.prompt.text for call in model.calls])
    assert asked[0] == asked[1]


def test_task_that_is_named_alone_and_by_its_tag_runs_once(here, text_task, capsys):
    text = Path(text_task).read_text()
    here.write("inc/sums.yaml", text + "tag: [both]\n")
    here.write("inc/more.yaml", text.replace("task: sums", "task: more\ntag: [both]"))
    words = "run --include_path inc --tasks both,sums --model scripted -a answers=1"

    code = main([*words.split(), "--data", here.sums(3), "-o", "out"])

    table = capsys.readouterr().out
    assert code == 0
    assert table.count("lm_eval/sums@") == 2  # one row for each filter
    assert table.count("lm_eval/more@") == 2
