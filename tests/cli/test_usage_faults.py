"""Faults of usage: one line, exit code 2, and nothing started."""

import gzip
import json
import os
import subprocess
import sys

import pytest
import zstandard

FOUR = ("--model", "four.py:generate")
RUN_READERS = {
    "score": ("score", "{run}"),
    "compare, first": ("compare", "{run}", "good"),
    "compare, second": ("compare", "good", "{run}"),
    "leaderboard": ("leaderboard", "{run}"),
    "view": ("view", "{run}", "--bundle", "bundle"),
    "report": ("report", "{run}"),
    "gate": ("gate", "policy.yaml", "{run}", "--baseline", "good"),
    "gate, baseline": ("gate", "policy.yaml", "good", "--baseline", "{run}"),
    "power": ("power", "{run}"),
    "power, baseline": ("power", "good", "--baseline", "{run}"),
    "label": ("label", "{run}"),
    "verify": ("verify", "{run}"),
    "export": ("export", "{run}"),
    "merge": ("merge", "{run}", "-o", "merged"),
    "run, baseline": ("run", "sums.jsonl", *FOUR, "-o", "x", "--baseline", "{run}"),
}
"""Commands that read a run."""
UNREADABLE = {
    "empty.jsonl": b"",
    "utf16.jsonl": "{}".encode("utf-16"),
    "cut.jsonl": b'{"question": ',
    "cut.json": b"[1,",
    "cut.csv": b'a,b\n"x',
    "cut.parquet": b"PAR1 and no more",
    "cut.jsonl.gz": gzip.compress(b"x" * 9999)[:20],
    "cut.jsonl.zst": zstandard.compress(b'{"question": 1}\n' * 9999)[:-9],
    "cut.arrow": b"ARROW1 and no more",
}


@pytest.fixture
def good(assay, folder):
    assert assay("run", "sums.jsonl", *FOUR, "-o", "good").code == 0
    (folder / "policy.yaml").write_text("max_drop: 0.5\n")
    (folder / "empty").mkdir()
    (folder / "file.txt").write_text("mine")
    return folder


def assert_usage_fault(said, *texts):
    assert said.code == 2, said
    assert said.err.startswith("assay: ") and "unexpected" not in said.err, said.err
    for text in texts:
        assert text in said.err


@pytest.mark.parametrize("run", ["nowhere", "empty", "file.txt"])
@pytest.mark.parametrize("verb", RUN_READERS)
def test_what_is_not_a_run_is_a_usage_fault(verb, run, assay, good):
    words = [word.format(run=run) for word in RUN_READERS[verb]]

    assert_usage_fault(assay(*words), run)


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("role", ["data", "predictions"])
def test_data_that_cannot_be_read_is_a_usage_fault(name, role, assay, folder):
    (folder / name).write_bytes(UNREADABLE[name])
    words = {
        "data": ("run", name, *FOUR, "-o", "run"),
        "predictions": ("run", "sums.jsonl", "--model", f"predictions/{name}"),
    }

    assert_usage_fault(assay(*words[role]), name)
    assert not (folder / "run" / "summary.json").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run", "{url}", *FOUR),
        ("run", "sums.jsonl", "--data", "{url}", *FOUR),
        ("run", "gsm8k", "--data", "{url}", *FOUR),
        ("run", "sums.jsonl", "--model", "predictions/{url}"),
        ("check", "{url}"),
    ],
)
@pytest.mark.parametrize("url", ["https://example.org/x.csv", "s3://bucket/x.jsonl"])
def test_a_url_as_data_says_what_is_supported(words, url, assay, folder):
    said = assay(*(word.format(url=url) for word in words))

    assert_usage_fault(said, f"data is not read from a URL: {url}", "hub:OWNER/NAME")


def test_a_page_of_the_hub_as_data_says_how_to_name_the_dataset(assay, folder):
    said = assay("run", "https://huggingface.co/datasets/cais/mmlu", *FOUR)

    assert_usage_fault(said, "hub:cais/mmlu")


@pytest.mark.parametrize("name", ["a,b.jsonl", "a,b,c.jsonl", "sums,more,x.jsonl"])
def test_a_comma_in_the_name_of_a_file_stays(name, assay, folder):
    (folder / "sums.jsonl").rename(folder / name)

    said = assay("run", name, *FOUR, "-o", "run", "--json")
    with_shots = assay("run", f"{name}|1", *FOUR, "-o", "shots", "--json")

    assert said.code == 0 and said.json["results"][0]["n"] == 3, said.err
    assert with_shots.code == 0, with_shots.err


def test_names_and_files_with_commas_are_distinguished(assay, folder):
    row = json.dumps({"question": "2+2?", "answer": "4"})
    for name in ("a,b.jsonl", "c.jsonl"):
        (folder / name).write_text(row + "\n")

    said = assay("run", "c.jsonl,a,b.jsonl,sums.jsonl", *FOUR, "-o", "run", "--json")

    assert said.code == 0, said.err
    assert {result["task"] for result in said.json["results"]} == {"c", "a,b", "sums"}


def test_an_exception_in_a_file_of_the_user_names_its_line(assay, folder):
    (folder / "broken.py").write_text(
        "def helper():\n    return undefined_name\n\n"
        "def generate(messages):\n    return helper()\n"
    )

    said = assay("run", "sums.jsonl", "--model", "broken.py:generate", "-o", "run")

    assert said.code == 1
    (line,) = [line for line in said.err.splitlines() if line.startswith("assay: ")]
    assert "NameError" in line and "broken.py:2" in line
    assert "n/a" not in said.out and "infrastructure" not in said.err + said.out


def test_a_scorer_of_the_user_that_fails_stops_after_its_first_scores(assay, folder):
    scorer = "def score(sample, output):\n    return sample.{}\n"
    (folder / "mine.py").write_text('dataset = "sums.jsonl"\n' + scorer.format("taget"))

    said = assay("run", "mine.py", "--model", "four.py:generate", "-o", "out")

    assert said.code == 1
    [line] = said.err.strip().split("\n")
    assert line.startswith("assay: stopped: the first 3 scores failed: scorer 'score'")
    assert "'Sample' object has no attribute 'taget' (mine.py:3)" in line
    assert "fix: correct mine.py:3 and rerun the command" in line

    (folder / "mine.py").write_text(
        'dataset = "sums.jsonl"\n' + scorer.format("target == output.text")
    )
    (folder / "four.py").write_text("def generate(messages):\n    return '6'\n")
    again = assay("run", "mine.py", "--model", "four.py:generate", "-o", "out")

    assert again.code == 0


def test_a_scorer_that_fails_on_some_answers_goes_on(assay, folder):
    (folder / "mine.py").write_text(
        'dataset = "sums.jsonl"\ndef score(sample, output):\n'
        "    return 1 / (int(sample.target) - 10)\n"
    )

    said = assay("run", "mine.py", "--model", "four.py:generate", "-o", "out")

    assert "1 judge_error" in said.out and "stopped" not in said.err


def test_on_error_continue_scores_all_samples(assay, folder):
    (folder / "mine.py").write_text(
        'dataset = "sums.jsonl"\ndef score(sample, output):\n    return 1 / 0\n'
    )

    said = assay(
        "run", "mine.py", "--model", "four.py:generate", "--on_error", "continue"
    )

    assert "3 judge_error" in said.out and "stopped" not in said.err


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("empty", "the folder has no tasks or models of a toolkit"),
        ("no/such", "no such file or folder"),
    ],
)
def test_a_folder_that_cannot_be_listed_says_why(name, reason, assay, folder):
    (folder / "empty").mkdir()

    said = assay("ls", name)

    assert said.code == 2
    assert said.err.startswith(f"assay: {name}: {reason}; fix: ")


def test_verify_with_an_unknown_scorer_is_a_usage_fault(assay, folder):
    assay("run", "sums.jsonl", "--model", "four.py:generate", "-o", "out")

    said = assay("verify", "out", "--scorer", "nope")

    assert said.code == 2 and "unknown scorer 'nope'" in said.err


def test_an_export_has_the_rows_of_the_named_model_only(assay, folder):
    models = ("--model", "four.py:generate", "--model", "adder.py:generate")
    assay("run", "sums.jsonl", *models, "-o", "out")

    one = assay("export", "out", "--model", "four.py:generate", "-o", "-")
    both = assay("export", "out", "-o", "-")
    other = assay("export", "out", "--model", "nope")

    assert "adder.py" not in one.out and "four.py" in one.out
    assert "adder.py" in both.out and "four.py" in both.out
    assert other.code == 2 and "the run has no model 'nope'" in other.err
    assert "four.py:generate, adder.py:generate" in other.err


def test_a_new_file_is_not_put_below_a_file(assay, folder):
    said = assay("new", "scorer", "mine", "--dir", "sums.jsonl")

    assert said.code == 2
    assert said.err == "assay: sums.jsonl: this is a file; fix: name a folder\n"


@pytest.mark.parametrize(
    "words",
    [
        ("vlmeval", "--data", "q", "--model", "leaves.py:M"),
        ("ulmeval", "--data", "leaves.py", "--model", "m.py:M"),
        ("pipeline", "--register", "leaves.py", "--dataset", "a", "--dataset-path", "b"),
    ],
)  # fmt: skip
def test_a_file_that_leaves_while_it_is_loaded_is_named_by_every_verb(
    assay, folder, words
):
    (folder / "leaves.py").write_text("import sys\nsys.exit(3)\n")

    said = assay(*words)

    assert said.code == 1 and "called sys.exit(3) (leaves.py:2)" in said.err


def test_a_zstd_file_that_was_cut_between_two_rows_is_a_usage_fault(assay, folder):
    rows = [json.dumps({"question": f"{i}?", "answer": "4"}) for i in range(300)]
    halves = ["\n".join(rows[:200]) + "\n", "\n".join(rows[200:]) + "\n"]
    frames = [zstandard.compress(half.encode()) for half in halves]
    (folder / "whole.jsonl.zst").write_bytes(frames[0] + frames[1])
    (folder / "cut.jsonl.zst").write_bytes(frames[0] + frames[1][:20])

    assert assay("run", "whole.jsonl.zst", *FOUR, "-o", "run").code == 0
    assert_usage_fault(
        assay("run", "cut.jsonl.zst", *FOUR), "the zstd file is cut", "; fix: fetch"
    )


def test_a_spreadsheet_says_how_to_save_it(assay, folder):
    (folder / "rows.xlsx").write_bytes(b"PK")

    assert_usage_fault(assay("run", "rows.xlsx", *FOUR), "save the sheet as CSV")


@pytest.mark.parametrize("url", ["s3://bucket/run", "gs://x", "file:///tmp/run"])
def test_a_run_is_not_written_to_a_url(url, assay, folder):
    before = sorted(folder.iterdir())

    said = assay("run", "sums.jsonl", *FOUR, "-o", url)

    assert_usage_fault(said, f"assay export FOLDER {url}")
    assert sorted(folder.iterdir()) == before


FAULTY_FILES = {
    "list.yaml": "- 1\n",
    "open.yaml": "a: [1\n",
    "syntax.py": "def f(:\n",
    "import.py": "import nosuchpackage.inner\n",
}
FAULTY_COMMANDS = [
    ("run", "list.yaml", *FOUR),
    ("run", "open.yaml", *FOUR),
    ("run", "sums.jsonl", "--config", "list.yaml"),
    ("run", "sums.jsonl", "--config", "nowhere.yaml"),
    ("run", "sums.jsonl", "--model", "syntax.py:f"),
    ("run", "sums.jsonl", "--model", "import.py:f"),
    ("run", "sums.jsonl", *FOUR, "--template", "nowhere.txt"),
    ("run", "sums.jsonl", *FOUR, "--temperature", "-3"),
    ("run", "sums.jsonl", *FOUR, "-o", "/proc/run"),
    ("label", "good", "--import", "nowhere.csv"),
    ("python", "nowhere.py"),
]


@pytest.mark.parametrize("words", FAULTY_COMMANDS, ids=" ".join)
def test_every_fault_says_how_to_fix_it(words, assay, good):
    for name, text in FAULTY_FILES.items():
        (good / name).write_text(text)

    said = assay(*words)

    assert_usage_fault(said, "; fix: ")
    assert said.err.count("\n") == 1


def test_a_leaderboard_is_not_written_under_a_suffix_it_does_not_know(assay, good):
    assert_usage_fault(assay("leaderboard", "good", "-o", "board.pdf"), ".pdf")
    assert not (good / "board.pdf").exists()
    assert assay("leaderboard", "good", "-o", "board.tex", "--format", "md").code == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,value\n", "there are no labels"),
        ("name,value\nx,1\n", "no columns `id` and `value`"),
        ("id,value\n{id},many\n", "'many' is not a number"),
        ("id,value\n{id},nan\n", "nan is not a finite number"),
    ],
)
def test_wrong_labels_say_how_to_fix_them(text, problem, assay, good):
    rows = (good / "sums.jsonl").read_text().splitlines()
    first = str(json.loads(rows[0]).get("id", 0))
    (good / "labels.csv").write_text(text.format(id=first))

    said = assay("label", "good", "--import", "labels.csv", "--by", "me")

    assert_usage_fault(said, problem, "; fix: ")


@pytest.mark.parametrize(
    ("scorer", "problem"),
    [
        ("def score(sample, output):\n    return 'good'\n", "not 'good'"),
        ("def score(sample, output):\n    pass\n", "not None"),
        ("def score(sample, output):\n    return [1, 0]\n", "not [1, 0]"),
        ("def score(sample):\n    return 1\n", "positional argument"),
        ("def score(sample, output):\n    return 1e400 * 0\n", "the score is nan"),
        (
            "class score:\n    def __call__(self, sample, output):\n        return ''\n",
            "not ''",
        ),
    ],
)
def test_a_scorer_that_returns_no_score_is_named_with_its_line(
    scorer, problem, assay, folder
):
    (folder / "mine.py").write_text(scorer)

    said = assay("run", "sums.jsonl", *FOUR, "--scorer", "mine.py:score", "-o", "out")

    assert said.code == 1
    [line] = [line for line in said.err.splitlines() if line.startswith("assay: ")]
    assert "stopped: the first 3 scores failed" in line
    assert problem in line
    assert "mine.py:2" in line or "mine.py:1" in line


def test_a_syntax_error_in_an_imported_module_names_that_module(assay, folder):
    (folder / "model.py").write_text("import helper\n\ndef f(messages): return '4'\n")
    (folder / "helper.py").write_text("# a comment\n\ndef g(:\n")

    said = assay("run", "sums.jsonl", "--model", "model.py:f")

    assert_usage_fault(said, "helper.py:3: not valid Python")
    assert "model.py:" not in said.err


def test_a_relative_import_says_how_to_import_a_module_beside_the_file(assay, folder):
    (folder / "model.py").write_text("from .helper import g\n")
    (folder / "helper.py").write_text("def g(messages): return '4'\n")

    said = assay("run", "sums.jsonl", "--model", "model.py:g")

    assert_usage_fault(said, "model.py:1", "relative import", "from helper import")


RETRIEVER = """from testbed.data import register_dataset_retriever
@register_dataset_retriever("mine")
def retriever(item, is_last):
    {}
"""


@pytest.mark.parametrize(
    "body",
    ["pass", "return item['question']", "return [{'rol': 'user'}]", "return [item['no']]"],
)  # fmt: skip
def test_a_wrong_retriever_is_named_with_its_line(body, assay, folder):
    (folder / "mine.py").write_text(RETRIEVER.format(body))

    said = assay("run", "mine.py", "--data", "sums.jsonl", *FOUR, "-o", "out")

    assert_usage_fault(said, "mine.py:")


def shell(script, folder, **environment):
    """What a shell prints that runs a command of assay, written as `$ASSAY`."""
    command = f"{sys.executable} -m assay.cli.main"
    return subprocess.run(
        ["bash", "-c", script.replace("$ASSAY", command)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
    )


RUN = " ".join(["$ASSAY run sums.jsonl", *FOUR, "-o out"])


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_without_the_characters_of_the_table_gets_question_marks(
    encoding, folder
):
    said = shell(RUN, folder, PYTHONIOENCODING=encoding)

    assert said.returncode == 0, said.stderr
    assert b"?" in said.stdout


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-"])
def test_closed_streams_do_not_stop_a_run(closed, folder):
    said = shell(f"{RUN} {closed}", folder)

    assert said.returncode == 0 and b"Error" not in said.stderr + said.stdout
    assert json.loads((folder / "out" / "summary.json").read_bytes())["results"]


def test_a_name_that_is_not_utf8_is_refused(folder):
    (folder / os.fsdecode(b"\xff.jsonl")).write_bytes(
        (folder / "sums.jsonl").read_bytes()
    )
    script = RUN.replace("sums.jsonl", "$'\\xff.jsonl'")

    said = shell(script, folder)

    assert said.returncode == 2
    assert said.stderr.endswith(b"; fix: rename the file or folder\n")
    assert b"udcff.jsonl: the name is not UTF-8" in said.stderr


def test_a_working_folder_that_was_removed_is_named(folder):
    said = shell(f"mkdir gone && cd gone && rmdir ../gone && {RUN}", folder)

    assert said.returncode == 2
    assert said.stderr.startswith(b"assay: the working folder has been removed; fix: ")
