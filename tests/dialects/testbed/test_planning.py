"""From a testbed file to tasks: what is recognised, what becomes the target, and what is refused."""

import pytest

from assay.core import Output, Sample, UnknownName, UsageError
from assay.dialects.recognise import dialect_of
from assay.dialects.testbed.testbed_planning import tasks
from assay.runner.options import RunOptions
from assay.runner.plan.planning import prepare


def file_of(folder, body, name="guest.py"):
    path = folder / name
    path.write_text(
        "from testbed.data import *\nfrom testbed.data import register_dataset_retriever\n"
        + body
    )
    return path


def retriever_of(name, question="q", answer="a"):
    return (
        f"@register_dataset_retriever({name!r})\n"
        f"def of_{name}(item, is_last):\n"
        f"    answer = {{'role': 'A'}} if is_last else {{'role': 'A', 'content': item[{answer!r}]}}\n"
        f"    return [{{'role': 'Q', 'content': item[{question!r}]}}, answer]\n\n"
    )


def first_task(path, **settings):
    return tasks(str(path), RunOptions(**settings))[0]


def test_a_file_is_recognised_by_what_it_imports(parity_file):
    assert dialect_of(str(parity_file)) == ("testbed", "imports testbed")


def test_each_registered_dataset_is_a_task_and_one_can_be_named(tmp_path):
    path = file_of(tmp_path, retriever_of("one") + retriever_of("two"))

    assert [task.name for task in tasks(str(path), RunOptions())] == ["one", "two"]
    assert [task.name for task in tasks(f"{path}:two", RunOptions())] == ["two"]
    with pytest.raises(UnknownName, match=r"unknown dataset 'tow'.*did you mean 'two'"):
        tasks(f"{path}:tow", RunOptions())


def test_a_file_that_registers_nothing_says_what_to_write(tmp_path):
    with pytest.raises(
        UsageError, match="registers no dataset retriever; fix: decorate one"
    ):
        tasks(str(file_of(tmp_path, "x = 1\n")), RunOptions())


def test_rows_beside_the_file_are_found_and_missing_ones_are_asked_for(
    tmp_path, write_rows
):
    path = file_of(tmp_path, retriever_of("mine"))

    with pytest.raises(
        UsageError,
        match=r"no data for task 'mine'; fix: --data PATH \(the rows that the retriever",
    ):
        prepare(first_task(path), RunOptions(), [])
    write_rows([{"q": "1+1", "a": 2}], "mine.jsonl")

    assert first_task(path).dataset == tmp_path / "mine.jsonl"


def test_a_falsy_answer_is_kept_as_the_target_and_scored(
    tmp_path, write_rows, evaluate_on
):
    path = file_of(tmp_path, retriever_of("zero"))
    rows = write_rows(
        [{"q": "1-1", "a": 0}, {"q": "1-0", "a": 1}, {"q": "nothing", "a": ""}]
    )

    result, asked = evaluate_on(
        path,
        {"Q: 1-1\nA:": "0", "Q: 1-0\nA:": "0", "Q: nothing\nA:": ""},
        data=str(rows),
    )

    assert [record["target"] for record in asked] == ["0", "1", ""]
    assert result.results[0].value == pytest.approx(2 / 3)


def test_a_row_the_retriever_cannot_handle_is_counted_and_named(
    parity_file, write_rows, evaluate_on
):
    rows = write_rows(
        [{"text": "a", "label": "yes"}, {"label": "no"}, {"text": "c", "label": "yes"}]
    )

    result, asked = evaluate_on(parity_file, data=str(rows))

    assert len(asked) == 2
    assert result.status == "partial" and result.exit_code == 3
    assert result.results[0].outcomes["data_error"] == 1
    assert any(
        "rows.jsonl:2" in n
        and "the retriever of 'parity' failed: KeyError: 'text'" in n
        for n in result.notes
    )


def test_an_unlabelled_row_is_asked_and_never_scored(
    parity_file, write_rows, evaluate_on
):
    rows = write_rows([{"text": "a", "label": "yes"}, {"text": "b"}])

    result, asked = evaluate_on(parity_file, data=str(rows))

    assert len(asked) == 2
    assert (result.results[0].n, result.results[0].outcomes["data_error"]) == (1, 1)


def test_a_message_whose_content_is_none_is_a_fault_of_its_row(
    parity_file, write_rows, evaluate_on
):
    rows = write_rows([{"text": "a", "label": "yes"}, {"text": None, "label": "yes"}])

    result, _ = evaluate_on(parity_file, data=str(rows))

    assert any(
        "the content of a message of 'user' is None" in note for note in result.notes
    )


def test_predictions_are_compared_with_a_column_where_one_is_named(
    tmp_path, write_rows, evaluate_on
):
    body = retriever_of("truth") + (
        "@register_postprocess('truth')\ndef read(text):\n    return {'true': 1, 'false': 0}.get(text.lower(), -1)\n"
    )
    rows = write_rows(
        [{"q": "x", "a": "t", "value": True}, {"q": "y", "a": "f", "value": False}]
    )

    result, _ = evaluate_on(
        file_of(tmp_path, body), "false", data=str(rows), columns={"target": "value"}
    )

    assert result.results[0].value == 0.5


def test_a_postprocess_that_reads_every_answer_alike_is_refused_before_the_run(
    tmp_path, write_rows
):
    body = (
        retriever_of("blind")
        + "@register_postprocess('blind')\ndef read(text):\n    return -1\n"
    )
    rows = write_rows([{"q": "x", "a": "1"}, {"q": "y", "a": "0"}])

    with pytest.raises(
        UsageError,
        match=r"its post-process reads all of '0', '1' as -1 .guest.py:8.; fix: --columns target=COLUMN",
    ):
        tasks(str(file_of(tmp_path, body)), RunOptions(data=str(rows)))


def test_stop_words_cut_a_prediction_before_it_is_read(parity_file, parity_rows):
    task = first_task(
        parity_file, data=str(parity_rows), generation={"stop": ("\n", "Question")}
    )
    sample = Sample(id="a", target="yes")

    assert task.scorers[0](sample, Output.of("yes\nQuestion: next")).value == 1.0
    assert task.scorers[0](sample, Output.of("yesQuestion")).value == 1.0


def test_two_files_may_register_the_same_name_without_disturbing_each_other(
    tmp_path, write_rows, evaluate_on
):
    first, second = (tmp_path / name for name in ("first", "second"))
    first.mkdir(), second.mkdir()
    paths = [
        file_of(first, retriever_of("same", "q", "a")),
        file_of(second, retriever_of("same", "a", "q")),
    ]
    rows = write_rows([{"q": "left", "a": "right"}])

    made = [
        prepare(first_task(path, data=str(rows)), RunOptions(data=str(rows)), [])
        for path in paths
    ]

    assert [next(iter(p.samples)).target for p in made] == ["right", "left"]


def test_a_message_without_content_is_moved_to_the_very_end(
    tmp_path, write_rows, evaluate_on
):
    path = tmp_path / "middle.py"
    path.write_text(
        "from testbed.data import register_dataset_retriever\n"
        "@register_dataset_retriever('middle')\n"
        "def of(item, is_last):\n"
        "    answer = {'role': 'Answer'} if is_last else {'role': 'Answer', 'content': item['a']}\n"
        "    return [{'role': 'Question', 'content': item['q']}, answer, {'role': 'Hint', 'content': 'short'}]\n"
    )
    rows = write_rows([{"q": "x", "a": "1"}, {"q": "y", "a": "2"}])

    _, asked = evaluate_on(path, "1", data=str(rows), num_fewshot=1)

    roles = [turn["role"] for turn in asked[0]["prompt"]]
    assert roles == ["Question", "Answer", "Hint", "Question", "Hint", "Answer"]
    assert "content" not in asked[0]["prompt"][-1]


def test_a_built_in_dataset_takes_the_users_postprocess(tmp_path):
    body = "@register_postprocess('vqav2')\ndef read(text):\n    return text.lower()\n"

    task = first_task(file_of(tmp_path, body))

    assert task.name == "vqav2"
    assert task.scorers[0].reading("  YES ") == "yes"


def test_a_metric_reads_predictions_by_the_post_process_of_its_own_dataset(tmp_path):
    (tmp_path / "two.py").write_text(
        "from testbed.data import register_dataset_retriever, register_postprocess\n\n"
        "for name in ('first', 'second'):\n"
        "    register_dataset_retriever(name)(lambda item, is_last: [])\n"
        "    register_postprocess(name)(name.__add__)\n"
    )
    folder = tmp_path / "testbed" / "evaluate" / "share"
    folder.mkdir(parents=True)
    (folder / "share.py").write_text("")

    metrics = [
        task.but(scorers=("share",)).scorers[0]
        for task in tasks(str(tmp_path / "two.py"), RunOptions())
    ]

    assert [metric.reading(" x") for metric in metrics] == ["firstx", "secondx"]
