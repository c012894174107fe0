"""What is wrong with an lm-eval task is one line, before a model is asked."""

import pytest

import assay
from assay.core import AssayError
from assay.models.scripted import Scripted

HEAD = "output_type: generate_until\ndataset_path: json\ntest_split: test\n"
ASKS = 'doc_to_text: "{{question}}"\ndoc_to_target: "{{answer}}"\n'


def fault(task, data, **settings):
    model = settings.pop("model", None) or Scripted()
    with pytest.raises(AssayError) as raised:
        assay.run(task, model=model, data=data, output="out", **settings)
    assert not getattr(model, "calls", ())
    text = str(raised.value)
    assert len(text.splitlines()) <= 3
    return " ".join(text.split())


FAULTS = [
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: [{{metric: exact_mach, aggregation: mean, higher_is_better: true}}]\n",
        "unknown metric 'exact_mach'",
        "did you mean 'exact_match'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}filter_list: [{{name: x, filter: [{{function: regx}}]}}]\n",
        "unknown filter 'regx'",
        "did you mean 'regex'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_results: !function helper.nope\n",
        "unknown function 'nope'",
        "!function",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_results: !function broken.read\n",
        "needs the package 'no_such_package'",
        "pip install no_such_package",
    ),
    (
        f'task: bad\n{HEAD}doc_to_text: "{{{{nothing.upper()}}}}"\ndoc_to_target: "{{{{answer}}}}"\n',
        "'nothing' is undefined",
        "columns of --data",
    ),
    (
        f"task: bad\n{HEAD}doc_to_text: !function helper.ask\ndoc_to_target: answer\n",
        "no column 'nothing'",
        "columns of --data",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}generation_kwargs: {{until: [], num_beams: 4}}\n",
        "num_beams=4 cannot be honoured",
        "includes this one",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}unsafe_code: true\nprocess_results: !function runs.read\n",
        "runs code that the model wrote by `exec`",
        "sandbox",
    ),
    (
        "task: bad\ninclude: gone.yaml\n",
        "'gone.yaml', which does not exist",
        "relative",
    ),
    (f"task: [bad\n{HEAD}", "not valid YAML", "bad.yaml:"),
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: [{{metric: exact_match, aggregation: meann}}]\n",
        "unknown aggregation 'meann'",
        "did you mean 'mean'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}filter_list: [{{name: x, filter: [{{function: regex, regex_pattern: '(('}}]}}]\n",
        "a filter cannot be made",
        "key `filter_list`, pipeline 'x'",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}doc_to_txt: x\n",
        "unknown key 'doc_to_txt'",
        "did you mean 'doc_to_text'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}fewshot_config: {{samplr: first_n}}\n",
        "unknown key 'samplr'",
        "did you mean 'sampler'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}generation_kwargs: {{max_gen_toks: many}}\n",
        "max_gen_toks='many' is not a number",
        "key `generation_kwargs`",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_docs: !function nowhere.read\n",
        "there is no nowhere.py beside it",
        "!function",
    ),
    (
        "group: bad\ntask: [no_such_task]\naggregate_metric_list: [{metric: acc}]\n",
        "unknown lm-eval task 'no_such_task'",
        "key `task`",
    ),
    (f"{HEAD}{ASKS}", "a base file of lm-eval without a name", "key `task`"),
    (
        f'task: bad\n{HEAD}doc_to_text: "{{{{question"\ndoc_to_target: answer\n',
        "`doc_to_text` is not a valid template",
        "correct the template",
    ),
    (
        f"task: bad\n{HEAD}doc_to_text: question\ndoc_to_target: anser\n",
        "the rows have no column 'anser'",
        "did you mean 'answer'?",
    ),
    (
        f"task: bad\n{HEAD}doc_to_text: question\n",
        "`doc_to_target` is missing",
        "column",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}output_type: generate\n".replace(
            "output_type: generate_until\n", ""
        ),
        "`output_type` is unknown: 'generate'",
        "did you mean 'generate_until'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: exact_match\n",
        "`metric_list` is not a list of mappings",
        "`- `",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: []\n",
        "`metric_list` is empty",
        "remove the key",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: [{{metric: exact_match, agregation: mean}}]\n",
        "unknown key 'agregation'",
        "did you mean 'aggregation'?",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: [{{metric: exact_match, case: true}}]\n",
        "the metrics cannot be computed",
        "their arguments",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}metric_list: [{{metric: acc}}]\n",
        "the metrics cannot be computed",
        "output type",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}repeats: 1000000000\n",
        "`repeats` is 1000000000",
        "from 1 to 10000",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}num_fewshot: -1\n",
        "`num_fewshot` is -1",
        "whole number",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}generation_kwargs: [until]\n",
        "`generation_kwargs` is no mapping",
        "max_gen_toks",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}generation_kwargs: {{until: 5}}\n",
        "until=5",
        "until: [",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}generation_kwargs: {{max_gen_toks: 0}}\n",
        "from 1, got 0",
        "key `generation_kwargs`",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}filter_list: [{{filter: [{{function: take_first}}]}}]\n",
        "a pipeline without `name`",
        "- name: NAME",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}repeats: 2\nfilter_list: [{{name: x, filter: [{{function: take_first_k, k: 5}}]}}]\n",
        "the filter 'x' fails",
        "`repeats`",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}doc_to_text: again\n",
        "has the key 'doc_to_text' in line 5 and again",
        "keep one",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_results: !function exits.read\n",
        "ends Python while it is loaded",
        "exits.py:2",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_results: !function helper.NUMBER\n",
        "helper.NUMBER is 3 and no function",
        "(doc, results)",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_results: !function helper.ask\n",
        "helper.ask does not take (doc, results)",
        "parameters",
    ),
    (
        f"task: bad\n{HEAD}{ASKS}process_docs: !function helper.nothing\n",
        "`process_docs` returns nothing",
        "return the rows",
    ),
    (
        "task: bad\nclass: !function helper.Plain\n",
        "names a class that is not a task",
        "subclass",
    ),
    (
        "group: bad\ntask: []\n",
        "names no member",
        "list the names",
    ),
    (
        "group: bad\ntask: [bad]\n",
        "contains itself",
        "bad -> bad",
    ),
]


@pytest.mark.parametrize(("yaml", "what", "fix"), FAULTS, ids=[f[1] for f in FAULTS])
def test_fault_of_a_task_file_is_one_line(here, yaml, what, fix):
    here.write(
        "helper.py",
        "NUMBER = 3\n\n\ndef ask(doc):\n    return doc['nothing']\n\n\n"
        "def nothing(rows):\n    pass\n\n\nclass Plain:\n    pass\n",
    )
    here.write("exits.py", "import sys\nsys.exit(3)\n")
    here.write("broken.py", "import no_such_package\n")
    here.write("runs.py", "def read(doc, results):\n    exec(results[0])\n")
    task = here.write("bad.yaml", yaml)

    text = fault(task, here.sums())

    assert what in text
    assert fix in text


CHOICE = "task: bad\noutput_type: multiple_choice\ndataset_path: json\ntest_split: test\ndoc_to_text: question\n"
CHOICE_FAULTS = [
    (
        f"{CHOICE}doc_to_choice: [x]\ndoc_to_target: gold\n",
        "is none of the 1 choices",
        "an index from 0",
    ),
    (
        f"{CHOICE}doc_to_choice: [x, y]\ndoc_to_target: question\n",
        "is none of the 2 choices",
        "row 1, key `doc_to_target`",
    ),
    (f"{CHOICE}doc_to_choice: []\ndoc_to_target: gold\n", "is empty", "a list of"),
    (f"{CHOICE}doc_to_target: gold\n", "`doc_to_choice` is missing", "a list of"),
    (
        f"{CHOICE}doc_to_choice: question\ndoc_to_target: gold\n",
        "which is not a list of choices",
        "key `doc_to_choice`",
    ),
]


@pytest.mark.parametrize(("yaml", "what", "fix"), CHOICE_FAULTS)
def test_fault_of_choices_is_one_line(here, yaml, what, fix):
    text = fault(here.write("bad.yaml", yaml), here.choices())

    assert what in text
    assert fix in text


def test_file_with_a_byte_order_mark_is_read(here):
    task = here.write("marked.yaml", f"\ufefftask: marked\n{HEAD}{ASKS}")

    result = assay.run(task, model=Scripted(["1"]), data=here.sums(2), output="out")

    assert result.results[0].metric == "exact_match"


def test_metric_of_a_group_that_no_task_computes_is_refused(here, text_task):
    group = here.write(
        "group.yaml",
        "group: all\ntask: [sums]\naggregate_metric_list: [{metric: exact_mach}]\n",
    )

    text = fault(group, here.sums())

    assert "unknown metric 'exact_mach'" in text
    assert "did you mean 'exact_match'?" in text


def test_missing_split_names_those_of_the_data(here):
    rows = here.sums()
    task = here.write(
        "split.yaml",
        f"task: split\n{HEAD.replace('test_split: test', 'test_split: tset')}{ASKS}"
        f"dataset_kwargs: {{data_files: {{test: {rows}}}}}\n",
    )

    text = fault(task, None)

    assert "the data has no split 'tset'" in text
    assert "did you mean 'test'?" in text


def test_more_examples_than_rows_are_refused(here, text_task):
    text = fault(text_task, here.sums(3), num_fewshot=9, fewshot_data=here.sums(3))

    assert "more examples than its data has rows for" in text


def test_include_cycle_names_its_files(here):
    here.write("a.yaml", "include: b.yaml\ntask: cycle\ndataset_path: x\n")
    here.write("b.yaml", "include: a.yaml\n")

    assert "include cycle: a.yaml -> b.yaml -> a.yaml" in fault("a.yaml", here.sums())


def test_yaml_bomb_is_refused(here):
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 9):
        names = ", ".join([f"*a{level - 1}"] * 9)
        levels.append(f"a{level}: &a{level} [{names}]")
    text = f"task: bomb\n{HEAD}{ASKS}metadata:\n  " + "\n  ".join(levels) + "\n"

    assert "aliases" in fault(here.write("bomb.yaml", text), here.sums())


def test_group_that_holds_a_task_twice_is_refused(here, text_task):
    group = here.write(
        "group.yaml",
        "group: twice\ntask: [sums, sums]\naggregate_metric_list: [{metric: exact_match}]\n",
    )

    assert "contains the task 'sums' twice" in fault(group, here.sums())


def test_likelihood_task_is_refused_for_a_model_without_likelihoods(here, choice_task):
    text = fault(choice_task, here.choices(), model=Scripted(weighs=False))

    assert "needs likelihoods" in text


def test_examples_are_never_drawn_from_the_evaluated_rows_in_silence(here, choice_task):
    text = fault(choice_task, here.choices(), num_fewshot=2)

    assert "2 examples come from the split 'train'" in text
    assert "--fewshot_data FILE" in text


def test_options_that_the_task_would_ignore_are_refused(here, text_task):
    assert "--epochs does not apply" in fault(text_task, here.sums(), epochs=3)
    assert "--template does not apply" in fault(
        text_task, here.sums(), template="{{ question }}"
    )


def test_unknown_name_is_answered_with_the_nearest(here):
    text = fault("lm_eval/hellaswagg", here.sums())

    assert "did you mean 'hellaswag'?" in text


def test_unreachable_data_suggests_the_data_option(here, text_task, monkeypatch):
    import datasets

    def unreachable(**_):
        raise ConnectionError("Couldn't reach the hub")

    monkeypatch.setattr(datasets, "load_dataset", unreachable)

    assert "--data FILE_OR_FOLDER" in fault(text_task, None)


def test_dataset_with_a_script_is_read_from_the_parquet_branch(
    here, text_task, monkeypatch
):
    import datasets

    asked = []

    def load(path, name=None, **options):
        asked.append(options.get("revision"))
        if "revision" not in options:
            raise RuntimeError(
                "Dataset scripts are no longer supported, but found x.py"
            )
        rows = [{"question": "1 + 0", "answer": "1"}]
        return {"test": datasets.Dataset.from_list(rows)}

    monkeypatch.setattr(datasets, "load_dataset", load)

    result = assay.run(text_task, model=Scripted(["1"]), output="out")

    assert result.results[0].value == 1.0
    assert asked == [None, "refs/convert/parquet"]


def test_helper_module_that_never_ends_its_import_is_ended(here, monkeypatch):
    from assay.dialects.harness import package_care

    monkeypatch.setattr(package_care, "LONGEST_IMPORT", 0.5)
    here.write("endless.py", "while True:\n    pass\n")
    task = here.write(
        "bad.yaml", f"task: bad\n{HEAD}{ASKS}process_results: !function endless.read\n"
    )

    text = fault(task, here.sums())

    assert "endless.py: importing it takes longer than 0.5 s" in text


def test_template_that_never_ends_is_ended(here, monkeypatch):
    from assay.dialects.harness import package_care

    monkeypatch.setattr(package_care, "LONGEST_RENDERING", 0.5)
    loops = "".join(f"{{% for {name} in range(90000) %}}" for name in "abc")
    ends = "{% endfor %}" * 3
    task = here.write(
        "bad.yaml",
        f'task: bad\n{HEAD}doc_to_text: "{loops}{ends}"\ndoc_to_target: "x"\n',
    )

    assert "a template takes longer than 0.5 s" in fault(task, here.sums())
