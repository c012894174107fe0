"""`sys.exit` in a user's file: one line that says where, never a silent exit code."""

import pytest

from assay.cli.main import main

ROWS = '{"id": "0", "question": "q", "answer": "x"}\n{"id": "1", "question": "r", "answer": "x"}\n'
BENCH = 'import sys\ndataset = [{"question": "q", "answer": "x"}, {"question": "r", "answer": "x"}]\n'
MODEL = "import sys\nsys.exit(7)\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(ROWS)

    def call(text, *arguments):
        (tmp_path / "own.py").write_text(text)
        code = main(list(arguments))
        return code, capsys.readouterr()

    return call


@pytest.mark.parametrize("verb", ["run", "check", "show"])
def test_a_benchmark_that_exits_while_it_is_loaded_is_reported(run, verb):
    code, said = run("import sys\nsys.exit(7)\n", verb, "own.py")

    assert code in (1, 2) and said.err.count("\n") == 1
    assert "own.py:2: calls sys.exit(7) while it is loaded" in said.err


@pytest.mark.parametrize(
    ("text", "arguments", "expected"),
    [
        (
            MODEL,
            ("rows.jsonl", "--model", "own.py"),
            "own.py:2: calls sys.exit(7) while it is loaded",
        ),
        (
            MODEL,
            ("rows.jsonl", "--scorer", "own.py"),
            "own.py:2: calls sys.exit(7) while it is loaded",
        ),
        (
            "import sys\ndef dataset():\n    sys.exit(4)\n",
            ("own.py",),
            "called sys.exit(4) (own.py:3)",
        ),
        (
            BENCH + "def prompt(sample):\n    sys.exit(5)\n",
            ("own.py",),
            "called sys.exit(5) (own.py:4)",
        ),
        (
            BENCH + "def score(sample, output):\n    sys.exit(6)\n",
            ("own.py",),
            "called sys.exit(6) (own.py:4)",
        ),
        (
            "import sys\nclass M:\n    def __init__(self):\n        sys.exit(3)\n    def generate(self, requests):\n"
            "        return []\n",
            ("rows.jsonl", "--model", "own.py:M"),
            "sys.exit(3)",
        ),
        (
            "import sys\ndef generate(messages):\n    sys.exit(2)\n",
            ("rows.jsonl", "--model", "own.py"),
            "(own.py:3)",
        ),
        (
            "import sys\ndef task():\n    sys.exit(9)\n",
            ("own.py:task",),
            "called sys.exit(9) (own.py:3)",
        ),
    ],
    ids=(
        "model file",
        "scorer file",
        "dataset",
        "prompt",
        "score",
        "constructor",
        "generate",
        "task",
    ),
)
def test_every_exit_of_user_code_is_reported_with_its_place(
    run, text, arguments, expected
):
    model = () if "--model" in arguments else ("--model", "scripted")

    code, said = run(text, "run", *arguments, *model, "-o", "out")

    assert (
        code in (1, 2)
        and expected in said.err + said.out
        and "Traceback" not in said.err
    )


def test_help_still_leaves_in_peace(run):
    with pytest.raises(SystemExit) as left:
        run("", "run", "--help")

    assert left.value.code == 0


def test_what_looks_like_a_key_in_the_words_of_a_broken_file_is_not_shown(run):
    code, said = run(
        'raise ValueError("no quota left for sk-abcdefghijklmnop1234567890abcd")\n',
        "run",
        "own.py",
    )

    assert code == 2 and "ValueError: no quota left for [redacted]" in said.err
