"""`assay show`: names, files and runs."""

import json
from pathlib import Path

import pytest

FOUR = ("--model", "four.py:generate")


@pytest.fixture
def run(assay):
    assay("run", "sums.jsonl", *FOUR, "-o", "out")
    return "out"


def test_a_run_shows_its_table_and_its_samples(assay, run):
    said = assay("show", run)

    assert said.code == 0
    assert "exact_match" in said.out and "complete: out" in said.out
    assert "3+3?" in said.out and "target: 6" in said.out
    assert "exact_match: scored, exact_match 0.0, read '4'" in said.out


def test_only_so_many_samples_are_shown(assay, run):
    said = assay("show", run, "--limit", "1")

    assert "2+2?" in said.out and "3+3?" not in said.out
    assert "2 more samples" in said.out


def test_one_sample_is_shown_alone(assay, run):
    said = assay("show", run, "--sample", "2")

    assert "5+5?" in said.out and "2+2?" not in said.out and "complete" not in said.out


def test_a_sample_that_is_not_there_is_answered_with_the_nearest(assay, run):
    said = assay("show", run, "--sample", "22")

    assert said.code == 2 and "did you mean '2'" in said.err


def test_failures_are_listed_with_their_cause(assay, folder):
    (folder / "sometimes.py").write_text(
        "def generate(messages):\n    return {'2+2?': '4'}[messages[-1]['content']]\n"
    )
    assay(
        "run",
        "sums.jsonl",
        "--model",
        "sometimes.py:generate",
        "--on_error",
        "continue",
        "-o",
        "out",
    )

    said = assay("show", "out", "--failures")

    assert (
        "sample 1" in said.out and "sample 2" in said.out and "sample 0" not in said.out
    )
    assert (
        "KeyError: '3+3?'" in said.out
        and "exact_match: model_error, no value" in said.out
    )


def test_a_run_without_failures_says_so(assay, run):
    assert "no failures" in assay("show", run, "--failures").out


def test_what_a_model_wrote_cannot_move_the_cursor(assay, folder):
    (folder / "evil.py").write_text(
        "def generate(messages):\n    return '\\x1b[2Jgone\\r\\nnext \\u202egnp'\n"
    )
    assay("run", "sums.jsonl", "--model", "evil.py:generate", "-o", "out")

    said = assay("show", "out", "--sample", "0")

    assert "[2Jgone" in said.out and "    next " in said.out
    assert not {"\x1b", "\r", "\u202e"} & set(said.out)


def test_each_round_of_a_dialogue_is_shown_once(assay, folder):
    (folder / "talk.jsonl").write_text(
        json.dumps({"turns": ["hello", "and then?"], "answer": "x"}) + "\n"
    )
    (folder / "echo.py").write_text(
        "def generate(messages):\n    return 'you said ' + messages[-1]['content']\n"
    )
    assay("run", "talk.jsonl", "--model", "echo.py:generate", "-o", "out")

    said = assay("show", "out", "--sample", "0")

    assert (
        said.out.index("round 1")
        < said.out.index("you said hello")
        < said.out.index("round 2")
    )
    assert said.out.index("round 2") < said.out.index("you said and then?")
    assert said.out.count("you said hello") == 1


def test_a_scorer_shows_where_it_is_defined_and_its_options(assay):
    said = assay("show", "exact_match")

    assert "scorer exact_match: the answer equals a target" in said.out
    assert "scorers/text/match.py:" in said.out and "ignore_case: bool = " in said.out


def test_a_name_of_two_kinds_shows_both(assay):
    said = assay("show", "choice_likelihood")

    assert (
        "scorer choice_likelihood" in said.out
        and "template choice_likelihood" in said.out
    )


def test_the_words_under_a_field_are_its_documentation(assay):
    said = assay("show", "openai").out

    assert "`auto` uses completions for prompts without chat roles" in said
    assert (
        "The URL up to and including the version" in said
    )  # of a field it inherits from another file


def test_a_data_file_shows_a_row_and_its_prompt(assay):
    said = assay("show", "sums.jsonl")

    assert "example row (0)" in said.out and "answer: 4" in said.out
    assert "user:\n      2+2?" in said.out


def test_a_task_whose_data_is_not_here_says_where_to_get_it(assay, folder, monkeypatch):
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    (folder / "bench.py").write_text(
        "from assay import DataSource, Task\n"
        "mine = Task('mine', dataset=DataSource(hub='org/name', local=('mine.jsonl',)), data_hint='rows of mine')\n"
    )

    said = assay("show", "bench.py")

    assert (
        said.code == 0
        and "org/name" in said.out
        and "--data PATH" in said.out
        and "rows of mine" in said.out
    )


def test_the_data_of_a_task_may_be_given(assay, folder):
    (folder / "bench.py").write_text(
        "from assay import DataSource, Task\nmine = Task('mine', dataset=DataSource(hub='org/name'))\n"
    )

    assert "2+2?" in assay("show", "bench.py", "--data", "sums.jsonl").out


def test_a_function_of_a_file_shows_what_it_takes(assay):
    said = assay("show", "four.py:generate")

    assert said.code == 0 and "four.py:1" in said.out and "takes (messages)" in said.out


def test_an_unknown_name_is_answered_with_the_nearest(assay):
    said = assay("show", "exact_mtch")

    assert said.code == 2 and "did you mean 'exact_match'" in said.err


def test_a_shipped_value_is_found_where_it_is_written():
    from assay.cli.show import shipped_at

    place = shipped_at("assay.registry:tasks")

    file, _, line = place.rpartition(":")
    assert file.endswith("registry.py")
    assert (
        Path(file).read_text().splitlines()[int(line) - 1].startswith("tasks: Registry")
    )


def test_a_suite_shows_each_of_its_tasks(assay, folder):
    (folder / "pair.py").write_text(
        "from assay import Suite, Task\n"
        "rows = [{'question': 'a?', 'answer': 'b'}]\n"
        "pair = Suite('pair', (Task('one', dataset=rows), Task('two', dataset=rows)))\n"
    )

    said = assay("show", "pair.py:pair")

    assert "task one" in said.out and "task two" in said.out


def test_a_judge_says_why(assay, folder):
    (folder / "judge.py").write_text(
        'def generate(messages):\n    return \'{"score": 4, "reason": "short"}\'\n'
    )
    (folder / "mute.py").write_text(
        "def generate(messages):\n    return 'I would rather not.'\n"
    )
    judged = ("run", "sums.jsonl", *FOUR, "--scorer", "judge", "--limit", "1")
    assay(*judged, "--judge", "judge.py", "-o", "fine")
    assay(*judged, "--judge", "mute.py", "-o", "none")

    fine, none = (
        assay("show", "fine", "--sample", "0"),
        assay("show", "none", "--sample", "0"),
    )

    assert (
        "  for judge, the judge (judge.py" in fine.out
        and "QUESTION\n      2+2?" in fine.out
    )
    assert '      {"score": 4, "reason": "short"}' in fine.out
    assert "    reason: " in none.out and "      I would rather not." in none.out


def test_a_huge_answer_is_shown_once_and_cut_in_a_list(assay, folder):
    (folder / "long.py").write_text(
        "def generate(messages):\n    return 'w' * 50_000\n"
    )
    assay("run", "sums.jsonl", "--model", "long.py", "-o", "out")

    listed, alone = (
        assay("show", "out", "--limit", "1"),
        assay("show", "out", "--sample", "0"),
    )

    assert listed.out.count("w") < 3000 and "48000 more characters" in listed.out
    assert 50_000 <= alone.out.count("w") < 51_000


def test_a_picture_is_shown_by_its_file(assay, folder):
    (folder / "paint.py").write_text(
        "from PIL import Image\n\ndef generate(messages):\n    return Image.new('RGB', (4, 4), 'red')\n"
    )
    (folder / "words.py").write_text("def score(sample, output):\n    return 1.0\n")
    (folder / "draw.yaml").write_text(
        "dataset: sums.jsonl\nproduces: [image]\nscorers: [words.py]\n"
    )
    assay("run", "draw.yaml", "--model", "paint.py", "-o", "out")

    said = assay("show", "out", "--sample", "0")

    [line] = [line for line in said.out.splitlines() if ".png" in line]
    assert Path(line.partition(": ")[2]).is_file()
