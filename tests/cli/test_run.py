"""`assay run` as it is typed."""

import json
import os
import subprocess
import sys

import pytest

FOUR = ("--model", "four.py:generate")


def test_a_data_file_and_a_function_give_a_table(assay):
    said = assay("run", "sums.jsonl", *FOUR)

    assert said.code == 0
    assert "exact_match" in said.out and "0.333" in said.out and "3 / 3" in said.out
    assert "complete: runs/" in said.out


@pytest.mark.parametrize("flag", ["--max_tokens", "--max-tokens"])
def test_dashes_and_underscores_are_the_same(assay, flag):
    said = assay("run", "sums.jsonl", *FOUR, flag, "7", "--dry-run", "--json")

    assert said.json["cells"][0]["options"] == {"max_tokens": 7}


def test_flags_without_a_verb_mean_a_run(assay):
    said = assay("--tasks", "sums.jsonl", *FOUR, "--json")

    assert said.code == 0 and said.json["status"] == "complete"


def test_eval_is_another_word_for_run(assay):
    assert assay("eval", "sums.jsonl", *FOUR).code == 0


def test_an_unknown_option_is_answered_with_the_nearest(assay):
    said = assay("run", "sums.jsonl", *FOUR, "--temperatur", "1")

    assert said.code == 2
    assert (
        said.err
        == "assay: unknown option --temperatur; fix: did you mean --temperature?\n"
    )


def test_an_unknown_verb_is_answered_with_the_nearest(assay):
    said = assay("rum", "sums.jsonl")

    assert said.code == 2 and "did you mean 'run'" in said.err


def test_json_is_one_document_even_when_the_model_prints(assay):
    said = assay("run", "sums.jsonl", *FOUR, "--json")

    document = json.loads(said.out)
    assert document["status"] == "complete" and len(document["results"]) == 2
    assert "loading" in said.err


def test_json_is_one_document_for_the_process_too(folder):
    command = [
        sys.executable,
        "-m",
        "assay.cli.main",
        "run",
        "sums.jsonl",
        *FOUR,
        "--json",
    ]

    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0
    assert json.loads(done.stdout)["results"][0]["n"] == 3


def test_json_is_one_document_even_when_a_library_writes_to_the_file_itself(folder):
    (folder / "loud.py").write_text(
        "import os, subprocess\n"
        "def generate(messages):\n"
        "    os.write(1, b'noise')\n    subprocess.run(['echo', 'more noise'])\n    return '4'\n"
    )
    command = [
        sys.executable,
        "-m",
        "assay.cli.main",
        "run",
        "sums.jsonl",
        "--model",
        "loud.py:generate",
        "--json",
    ]

    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )

    assert json.loads(done.stdout)["status"] == "complete"
    assert "noise" in done.stderr and "more noise" in done.stderr


def test_a_config_file_gives_options_and_the_command_line_wins(assay, folder):
    (folder / "config.yaml").write_text(
        "tasks: [sums.jsonl]\nmodel: four.py:generate\nlimit: 2\n"
    )

    two = assay("run", "-C", "config.yaml", "--json").json
    one = assay("run", "-C", "config.yaml", "--limit", "1", "--json").json

    assert (two["results"][0]["n"], one["results"][0]["n"]) == (2, 1)


def test_an_unknown_key_of_a_config_is_answered_with_the_nearest(assay, folder):
    (folder / "config.yaml").write_text("tasks: [sums.jsonl]\nlimits: 2\n")

    said = assay("run", "-C", "config.yaml")

    assert (
        said.code == 2
        and "config.yaml" in said.err
        and "did you mean 'limit'" in said.err
    )


def test_the_manifest_of_a_run_repeats_it_in_a_folder_of_its_own(assay, folder):
    assay("run", "sums.jsonl", *FOUR, "--limit", "2", "-o", "first")

    again = assay("run", "-C", "first/run.json", "--json").json

    assert again["run"] != "first" and again["results"][0]["n"] == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--limit", "many"), "limit"),
        (("--epochs", "two"), "epochs"),
        (("--shard", "5/4"), "shard"),
        (("--on_error", "maybe"), "on_error"),
        (("--gen_kwargs", "temperatur=1"), "temperature"),
        (("--model_args", "size=3"), "size"),
        (("--model_args", "size"), "size"),
        (("--scorer", "exact_mach"), "exact_match"),
        (("--template", "no_such.jinja"), "no_such.jinja"),
        (("--columns", "target=gold"), "gold"),
        (("--sample_id", "no-such-id"), "no-such-id"),
        (("--judge_args", "{broken"), "judge_args"),
        (("--seed", "x"), "seed"),
        (("--data", "no_such_file.jsonl"), "no_such_file.jsonl"),
    ],
)
def test_a_wrong_value_is_one_line_before_anything_is_written(
    assay, folder, arguments, says
):
    said = assay("run", "sums.jsonl", *FOUR, *arguments)

    assert said.code == 2, said.out
    assert (
        said.err.count("\n") == 1 and says in said.err and "unexpected" not in said.err
    )
    assert not (folder / "runs").exists()


def test_several_tasks_meet_several_models(assay, folder):
    (folder / "more.jsonl").write_text('{"question": "1+1?", "answer": "2"}\n')

    said = assay(
        "run", "sums.jsonl,more.jsonl", *FOUR, "--model", "adder.py:generate", "--json"
    )

    cells = {
        (r["task"], r["model"]): r["value"]
        for r in said.json["results"]
        if r["metric"] == "exact_match"
    }
    assert cells == {
        ("sums", "four.py:generate"): pytest.approx(1 / 3),
        ("sums", "adder.py:generate"): 1.0,
        ("more", "four.py:generate"): 0.0,
        ("more", "adder.py:generate"): 1.0,
    }


def test_a_bar_after_a_task_says_how_many_shots(assay):
    said = assay("run", "sums.jsonl|2", *FOUR, "--dry_run", "--json")

    messages = said.json["cells"][0]["first_prompt"]["messages"]
    assert [m["role"] for m in messages].count("assistant") == 2
    assert messages[-1] == {"role": "user", "content": "2+2?"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "sums.jsonl", "--model", "no_such_model"),
        ("run", "nope.jsonl"),
    ],
)
def test_wrong_settings_leave_with_two_and_no_traceback(assay, arguments):
    said = assay(*arguments)

    assert said.code == 2
    assert (
        said.err.startswith("assay: ")
        and "Traceback" not in said.err
        and said.err.count("\n") == 1
    )


def test_faults_of_tasks_and_models_come_together(assay):
    said = assay("run", "nope.jsonl", "--model", "no_such_model")

    assert said.code == 2
    assert (
        said.err.count("\n") == 2
        and "nope.jsonl" in said.err
        and "no_such_model" in said.err
    )


def test_a_run_with_unanswered_samples_is_partial_and_leaves_with_three(assay, folder):
    (folder / "sometimes.py").write_text(
        "def generate(messages):\n    return {'2+2?': '4'}[messages[-1]['content']]\n"
    )

    said = assay(
        "run",
        "sums.jsonl",
        "--model",
        "sometimes.py:generate",
        "--on_error",
        "continue",
        "--json",
    )

    assert said.code == 3 and said.json["status"] == "partial"
    assert said.json["results"][0]["outcomes"] == {"scored": 1, "model_error": 2}


def test_debug_shows_where_a_fault_came_from(folder):
    command = [sys.executable, "-m", "assay.cli.main", "run", "nope.jsonl", "--debug"]

    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )

    assert done.returncode != 0 and "Traceback" in done.stderr


def test_an_accident_inside_assay_is_one_line(assay, monkeypatch):
    def broken(arguments):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("assay.cli.ls.command", broken)

    said = assay("ls")

    assert said.code == 1
    assert (
        said.err.count("\n") == 1
        and "RuntimeError: two lines" in said.err
        and "--debug" in said.err
    )


def test_a_model_named_as_a_task_is_refused_with_its_place(assay):
    said = assay("run", "four.py:generate")

    assert (
        said.code == 2 and "returns a Task" in said.err and "Traceback" not in said.err
    )


def test_rows_without_a_question_are_refused_with_their_columns(assay, folder):
    (folder / "odd.jsonl").write_text('{"foo": "1", "answer": "2"}\n')

    said = assay("run", "odd.jsonl", *FOUR)

    assert said.code == 2 and "foo, answer" in said.err and "--columns" in said.err


def test_scoring_again_needs_neither_the_model_nor_the_folder_it_was_started_in(
    assay, folder, monkeypatch
):
    run = assay("run", "sums.jsonl", *FOUR, "-o", "out", "--json").json
    (folder / "four.py").unlink()
    monkeypatch.chdir(os.sep)

    said = assay("score", str(folder / "out"), "--json")

    assert said.code == 0
    assert [r["value"] for r in said.json["results"]] == [
        r["value"] for r in run["results"]
    ]


def test_help_names_every_verb(assay):
    said = assay("--help")

    for verb in ("run", "score", "ls", "show", "check", "new", "export", "doctor"):
        assert f"\n  {verb} " in said.out


def test_help_is_quick_and_imports_nothing_heavy():
    code = (
        "import sys; from assay.cli.main import main; main(['--help']);"
        "print(sorted({'numpy', 'rich', 'aiohttp', 'pyarrow'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip().endswith("[]")


def test_python_dash_m_is_the_same_command():
    import subprocess
    import sys

    said = subprocess.run(
        [sys.executable, "-m", "assay", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.returncode == 0 and said.stdout.startswith("assay ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (
            ("run", "sums.jsonl", *FOUR, "--temperatur", "1"),
            2,
            ["unknown option --temperatur"],
        ),
        (
            ("run", "nosuch", *FOUR, "--epochs", "0"),
            2,
            ["--epochs is 0", "unknown task 'nosuch'"],
        ),
        (("score", "nowhere"), 2, ["nowhere: not a run folder"]),
        (("rum", "sums.jsonl"), 2, ["unknown command 'rum'"]),
    ],
)
def test_json_is_one_document_when_the_command_is_wrong(assay, arguments, code, said):
    found = assay(*arguments, "--json")

    assert found.code == code and found.json["exit_code"] == code
    assert [
        line.startswith(start)
        for line, start in zip(found.json["error"], said, strict=True)
    ] == [True] * len(said)
    assert found.err.splitlines() == [f"assay: {line}" for line in found.json["error"]]


def test_values_that_cannot_be_read_are_named_with_what_planning_finds(assay):
    said = assay(
        "run", "nosuch", *FOUR, "--epochs", "x", "--on_duplicate", "zz", "-a", "foo"
    )

    lines = said.err.splitlines()
    assert said.code == 2 and len(lines) == 4
    assert "not a whole number: 'x'" in lines[0] and "invalid choice: 'zz'" in lines[1]
    assert (
        "--model_args takes name=value" in lines[2]
        and "unknown task 'nosuch'" in lines[3]
    )


def test_samples_are_chosen_by_ids_with_commas_between(assay):
    said = assay("run", "sums.jsonl", *FOUR, "--sample_id", "2,0", "--json")

    assert said.code == 0 and said.json["results"][0]["n"] == 2


def test_a_range_behind_the_data_is_refused(assay, folder):
    said = assay("run", "sums.jsonl", *FOUR, "--limit", "50-60")

    assert said.code == 2 and "begins after the last of 3 samples" in said.err
    assert not (folder / "runs").exists()
