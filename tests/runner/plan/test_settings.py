"""Wrong settings: all named at once, one line each, before anything is asked or written."""

import pytest

import assay
from assay.core import UsageError
from assay.runner.options import RunOptions
from assay.runner.plan.planning import make_plan
from assay.runner.plan.settings import run_faults

ROWS = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(3)]


def faults(**settings) -> list[str]:
    with pytest.raises(UsageError) as caught:
        make_plan(RunOptions.from_plain(settings, where="settings"))
    return [line.partition("; fix")[0] for line in str(caught.value).splitlines()]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(
        '{"id": "1", "question": "q", "answer": "x"}\n'
    )
    return tmp_path


def test_wrong_options_are_named_beside_an_unknown_task_and_model():
    said = faults(
        tasks="nosuch",
        models="nomodel",
        reducer="medn",
        epochs=0,
        generation={"n": 0},
        scorers="nope",
        limit="0",
    )

    assert [line.partition(",")[0] for line in said] == [
        "--epochs is 0",
        "limit '0' is not a part of a dataset",
        "generation option 'n' takes a whole number from 1",
        "--reducer: unknown reducer 'medn'",
        "unknown task 'nosuch'",
        "unknown model 'nomodel'",
        "--scorer: unknown scorer 'nope'",
    ]


def test_a_task_that_can_be_read_is_checked_beside_one_that_cannot(rows):
    said = faults(tasks=["nosuch", "rows.jsonl"], models="scripted", scorers="nope")

    assert said == ["unknown task 'nosuch'", "task 'rows': unknown scorer 'nope'"]


def test_scorers_are_checked_where_the_data_cannot_be_opened(rows):
    (rows / "task.yaml").write_text("dataset: gone.jsonl\nscorers: nope\n")

    said = faults(tasks="task.yaml", models="scripted")

    assert (
        len(said) == 2
        and "unknown scorer 'nope'" in said[0]
        and "gone.jsonl" in said[1]
    )


def test_a_judge_that_is_missing_is_named_beside_an_unknown_model(rows):
    said = faults(tasks="rows.jsonl", models="nomodel", scorers="judge")

    assert said == [
        "unknown model 'nomodel'",
        "scorer 'judge' of task 'rows' needs a model as 'judge'",
    ]


def test_a_yaml_task_with_several_faults_names_them_all(rows):
    (rows / "task.yaml").write_text(
        'dataset: rows.jsonl\nepochs: "x"\nreducer: medn\ntags: topic\ncluster: nope\n'
        "scorers: exact_mach\noptions: {max_token: 3, n: 0}\nfewshot: {nmu: 2}\nzzz: 3\n"
    )

    said = faults(tasks="task.yaml", models="scripted")

    assert said == [
        "task.yaml: key 'epochs' holds 'x'",
        "task.yaml: unknown generation option 'max_token'",
        "task.yaml: generation option 'n' takes a whole number from 1, got 0",
        "task.yaml: unknown key 'nmu' under fewshot",
        "task.yaml: unknown key 'zzz'",
        "task 'task': unknown scorer 'exact_mach'",
        "task 'task': unknown reducer 'medn'",
        "task 'task': there is no column 'topic'",
        "task 'task': there is no column 'nope'",
    ]


def test_wrong_keys_of_a_config_are_all_named():
    with pytest.raises(UsageError) as caught:
        RunOptions.from_plain(
            {"tsk": "x", "epochz": 2, "tasks": 3, "columns": "a"}, where="config.yaml"
        )

    assert [line.partition("; fix")[0] for line in str(caught.value).splitlines()] == [
        "config.yaml: unknown key 'tsk'",
        "config.yaml: unknown key 'epochz'",
        "config.yaml: key 'tasks' holds 3",
        "config.yaml: key 'columns' holds 'a'",
    ]


@pytest.mark.parametrize("epochs", [1, 2])
@pytest.mark.parametrize(
    ("reducer", "said"),
    [
        ("medn", "unknown reducer 'medn'; fix: use mean"),
        ("pass@5", "pass@5 needs 5 answers to each sample"),
        ("pass^5", r"pass\^5 needs 5 answers to each sample"),
        ("pass@0", "k must be at least 1"),
    ],
)
def test_a_reducer_that_cannot_be_used_is_refused_before_a_model_is_asked(
    tmp_path, reducer, said, epochs
):
    asked = []

    def model(messages):
        asked.append(messages)
        return "x"

    with pytest.raises(UsageError, match=said):
        assay.run(
            assay.Task("sums", dataset=ROWS),
            model=model,
            reducer=reducer,
            epochs=epochs,
            output=str(tmp_path / "run"),
        )

    assert asked == [] and not (tmp_path / "run").exists()


def test_candidates_and_epochs_together_are_the_answers_of_a_sample(rows):
    settings = {
        "tasks": "rows.jsonl",
        "models": "scripted",
        "epochs": 2,
        "generation": {"n": 2},
    }

    assert make_plan(
        RunOptions.from_plain({**settings, "reducer": "pass@4"}, where="settings")
    )
    assert faults(**settings, reducer="pass@5") == [
        "--reducer: pass@5 needs 5 answers to each sample, and 4 will be asked for"
    ]


def test_a_task_says_in_its_notes_which_samples_lack_shots(rows):
    (rows / "shots.jsonl").write_text('{"id": "a", "question": "q ", "answer": "x"}\n')
    options = {
        "tasks": "rows.jsonl",
        "models": "scripted",
        "num_fewshot": 1,
        "fewshot_data": "shots.jsonl",
    }

    (cell,) = make_plan(RunOptions.from_plain(options, where="settings"))

    said = "rows: 1 sample got fewer than 1 example, because the rest of the pool repeats its question"
    assert list(cell.notes()) == [said]


def test_a_task_with_a_misspelled_data_key_is_not_reported_as_without_data(rows):
    (rows / "task.yaml").write_text("datasett: rows.jsonl\n")

    assert faults(tasks="task.yaml", models="scripted") == [
        "task.yaml: unknown key 'datasett'"
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"fewshot_data": "rows.jsonl"},
            "--fewshot_data rows.jsonl: no task of this run shows shots",
        ),
        (
            {"fewshot_data": "rows.jsonl", "num_fewshot": 0},
            "--fewshot_data rows.jsonl: no task of this run shows shots",
        ),
        ({"register": "nofile.py"}, "--register nofile.py: no such file"),
        ({"register": "nofile.py:thing"}, "--register nofile.py:thing: no such file"),
    ],
    ids=["fewshot_data", "no_shots", "register", "register_part"],
)
def test_a_setting_that_nothing_takes_is_refused_before_the_run(rows, settings, said):
    assert faults(tasks="rows.jsonl", models="scripted", **settings) == [said]


def test_all_settings_that_nothing_takes_are_named_at_once(rows):
    said = faults(
        tasks="rows.jsonl",
        models="scripted",
        fewshot_data="rows.jsonl",
        register=["gone.py"],
    )

    assert [line.split()[0] for line in said] == ["--fewshot_data", "--register"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"judges": "scripted"},
            "--judge scripted was not asked: no scorer of this run takes a judge (they are exact_match, includes)",
        ),
        (
            {"judges": {"detector": "scripted"}, "scorers": ["exact_match", "f1"]},
            "--judge detector=scripted was not asked: no scorer of this run takes a detector (they are exact_match, "
            "f1)",
        ),
        (
            {"judge_args": {"temperature": 1}},
            "--judge_args temperature: there is no judge to take them (--judge MODEL)",
        ),
    ],
    ids=["judge", "role", "judge_args"],
)
def test_an_unused_judge_is_reported_and_the_run_continues(rows, settings, said):
    result = assay.run("rows.jsonl", model="scripted", output="run", **settings)

    assert result.status == "complete" and said in result.notes


def test_settings_that_something_takes_are_not_refused(rows):
    (rows / "more.jsonl").write_text('{"id": "2", "question": "r", "answer": "y"}\n')
    (rows / "guest.py").write_text("")
    settings = {
        "tasks": "rows.jsonl",
        "models": "scripted",
        "scorers": ["exact_match", "judge"],
        "judges": "scripted",
        "judge_args": {"answers": "5"},
        "num_fewshot": 1,
        "fewshot_data": "more.jsonl",
        "register": ["guest.py"],
    }

    assert len(make_plan(RunOptions.from_plain(settings, where="settings"))) == 1


def test_a_judge_for_one_of_two_tasks_is_taken(rows):
    (rows / "judged.yaml").write_text(
        "name: judged\ndataset: rows.jsonl\nscorers: judge\n"
    )
    settings = {
        "tasks": ["rows.jsonl", "judged.yaml"],
        "models": "scripted",
        "judges": "scripted",
    }

    assert len(make_plan(RunOptions.from_plain(settings, where="settings"))) == 2


def test_scoring_again_by_other_scorers_is_silent_on_the_judge_of_the_run_and_not_on_one_given_now(
    rows,
):
    assay.run(
        "rows.jsonl", model="scripted", scorers="judge", judges="scripted", output="run"
    )

    result = assay.score("run", scorers=("exact_match",))

    assert [row.metric for row in result.results] == [
        "exact_match"
    ] and not result.notes
    again = assay.score("run", scorers=("exact_match",), judges={"judge": "scripted"})
    assert any(
        note.startswith("--judge scripted was not asked") for note in again.notes
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"generation": {"temperature": -1}},
            "generation option 'temperature' takes a number from 0, got -1",
        ),
        (
            {"generation": {"temperature": float("nan")}},
            "takes a number from 0, got nan",
        ),
        (
            {"generation": {"top_p": 7}},
            "generation option 'top_p' takes a number from 0 to 1, got 7",
        ),
        ({"generation": {"min_p": -0.1}}, "'min_p' takes a number from 0 to 1"),
        ({"generation": {"top_k": -5}}, "'top_k' takes a whole number from -1"),
        ({"generation": {"repetition_penalty": 0}}, "takes a number above 0, got 0"),
        ({"generation": {"presence_penalty": 3}}, "takes a number from -2 to 2"),
        (
            {"generation": {"reasoning_effort": "ultra"}},
            "generation option 'reasoning_effort' cannot be 'ultra'",
        ),
        ({"generation": {"reasoning_effort": "hihg"}}, "did you mean 'high'?"),
        ({"generation": {"response_format": "jsn"}}, "did you mean 'json'?"),
        ({"generation": {"seed": 1.5}}, "'seed' takes a whole number"),
        (
            {"on_error": "2.5"},
            "--on_error 2.5 is neither a fraction below 1 nor a whole number of errors",
        ),
        (
            {"on_duplicate": "frist"},
            "--on_duplicate cannot be 'frist'; fix: did you mean 'first'?",
        ),
        (
            {"on_data_error": "halt"},
            "--on_data_error cannot be 'halt'; fix: one of continue, stop",
        ),
        ({"executor": "rey"}, "--executor cannot be 'rey'; fix: did you mean 'ray'?"),
        ({"gpus_per_replica": -1}, "--gpus_per_replica is -1; fix: at least 0"),
        ({"shuffle": "yes"}, "--shuffle is 'yes'; fix: true or false"),
        ({"seed": "x"}, "--seed is 'x'; fix: a whole number"),
        ({"shuffle_choices": 0.5}, "--shuffle_choices is 0.5; fix: a whole number"),
        ({"judges": {"judge": "nope"}}, "unknown model 'nope'"),
        (
            {"template": "{{ nope }}"},
            "no sample can be asked: 'nope' is undefined; fix: the row has the",
        ),
    ],
    ids=str,
)
def test_values_out_of_range_are_named_with_their_line_and_nothing_is_written(
    rows, settings, said
):
    with pytest.raises(UsageError) as caught:
        assay.run("rows.jsonl", "scripted", output="run", **settings)

    assert said in str(caught.value) and not (rows / "run").exists()


def test_every_option_of_a_run_that_is_a_number_a_word_or_a_truth_value_is_checked():
    wrong = {"bool": "x", "int": "x", "float": "x"}
    hints = {name: str(hint) for name, hint in RunOptions.__annotations__.items()}
    plain = {
        name: kind
        for name, hint in hints.items()
        for kind in wrong
        if kind in hint and "str" not in hint
    }

    unheard = [
        name
        for name, kind in plain.items()
        if not run_faults(RunOptions(**{name: wrong[kind]}))
    ]

    assert len(plain) > 10 and unheard == []
