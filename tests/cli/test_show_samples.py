"""`assay show RUN`: the samples that a reader asks for."""

import json

import pytest

MODEL = """
def generate(messages):
    n = int(messages[-1]["content"].split()[2])
    if n == 7:
        raise TimeoutError("no reply")
    if n == 5:
        return "I cannot say."
    return f"That makes {2 * n if n % 3 else 2 * n + 1}."
"""


@pytest.fixture
def run(assay, folder):
    rows = [
        {
            "id": f"s{n}",
            "question": f"What is {n} + {n}?",
            "answer": str(2 * n),
            "size": "small" if n < 4 else "large",
        }
        for n in range(10)
    ]
    (folder / "ten.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "ten.yaml").write_text(
        "dataset: ten.jsonl\nscorers: number\ntags: [size]\n"
    )
    (folder / "model.py").write_text(MODEL)
    assay(
        "run",
        "ten.yaml",
        "--model",
        "model.py:generate",
        "--on_error",
        "continue",
        "-o",
        "out",
    )
    return "out"


def ids(assay, *options):
    said = assay("show", "out", "--ids", *options)
    assert said.code == 0, said.err
    return said.out.split()


def test_wrong_answers_are_those_that_were_scored_and_not_right(assay, run):
    assert ids(assay, "--wrong") == ["s0", "s3", "s6", "s9"]


def test_failures_outcomes_and_both_together(assay, run):
    assert ids(assay, "--failures") == ["s5", "s7"]
    assert ids(assay, "--outcome", "unparsed") == ["s5"]
    assert ids(assay, "--outcome", "unparsed,model-error") == ["s5", "s7"]
    assert ids(assay, "--wrong", "--failures") == ["s0", "s3", "s5", "s6", "s7", "s9"]


def test_tags_expressions_and_words_choose_together(assay, run):
    assert ids(assay, "--tag", "size=small") == ["s0", "s1", "s2", "s3"]
    assert ids(assay, "--tag", "size=small", "--wrong") == ["s0", "s3"]
    assert ids(assay, "--where", 'score < 0.5 and tag.size == "large"') == [
        "s5",
        "s6",
        "s9",
    ]
    assert ids(assay, "--grep", "cannot SAY") == ["s5"]
    assert ids(assay, "--grep", "no reply") == ["s7"]


def test_samples_are_sorted_and_those_without_a_value_come_last(assay, run):
    assert ids(assay, "--sort", "-id", "-L", "3") == ["s9", "s8", "s7"]
    assert (
        ids(assay, "--sort", "score")[-1] == "s7"
        and ids(assay, "--sort", "-score")[-1] == "s7"
    )
    assert ids(assay, "--sort=-score", "--limit", "1") == ["s1"]


def test_the_list_says_how_many_there_are(assay, run):
    said = assay("show", run, "--wrong", "-L", "1").out

    assert (
        "4 of 10 samples:" in said and "sample s0" in said and "sample s3" not in said
    )
    assert "… 3 more samples: --limit 4" in said


def test_an_empty_search_result_is_reported(assay, run):
    assert "none of the 10 samples fits" in assay("show", run, "--grep", "zebra").out


def test_what_was_read_is_marked_in_the_answer(assay, run):
    said = assay("show", run, "--sample", "s2").out

    assert "    That makes ⟦4⟧." in said


def test_an_old_verdict_without_a_span_is_marked_at_its_last_occurrence(
    assay, folder, run
):
    (folder / "own.py").write_text(
        "from assay import Score\n"
        "dataset = [{'question': 'x?', 'answer': 'cat'}]\n"
        "def score(sample, output):\n    return Score(1.0, answer='cat')\n"
    )
    assay(
        "run",
        "own.py",
        "--model",
        "scripted",
        "-a",
        "answers=A cat in the category",
        "-o",
        "own",
    )

    assert "A ⟦cat⟧ in the category" in assay("show", "own").out


def test_a_long_answer_is_shown_around_what_was_read(assay, folder, run):
    lines = "\n".join(f"step {n}" for n in range(40))
    (folder / "long.py").write_text(
        f"def generate(messages):\n    return {lines!r} + '\\nThe answer is 4.\\nbye'\n"
    )
    assay(
        "run", "ten.yaml", "--model", "long.py:generate", "--limit", "1", "-o", "long"
    )

    said = assay("show", "long").out

    assert (
        "The answer is ⟦4⟧." in said
        and "… 30 lines before" in said
        and "step 0" not in said
    )
    assert "step 0" in assay("show", "long", "--sample", "s0").out


def test_json_is_one_document_with_whole_samples(assay, run):
    said = assay("show", run, "--wrong", "--json").json

    assert said["found"] == 4 and [sample["id"] for sample in said["samples"]] == [
        "s0",
        "s3",
        "s6",
        "s9",
    ]
    assert said["samples"][0]["verdicts"][0]["details"]["span"] == [11, 12]
    assert said["results"][0]["metric"] == "number"
    assert assay("show", run, "--wrong", "--json", "--ids", "-L", "1").json[
        "samples"
    ] == ["s0"]


def test_breakdowns_are_aligned_tables(assay, run):
    lines = assay("show", run).out.splitlines()

    place = next(n for n, line in enumerate(lines) if line.startswith("  size"))
    assert lines[place] == "  size   n  number"
    assert lines[place + 1].startswith("  large  5  0.400 [") and lines[
        place + 2
    ].startswith("  small  4  0.500 [")


def test_the_judges_question_and_reply_are_shown(assay, folder, run):
    (folder / "judged.yaml").write_text("dataset: ten.jsonl\nscorers: judge\n")
    judge = ("--judge", "scripted", "--judge_args", "answers=Fine. Rating: [[7]]")
    assay(
        "run",
        "judged.yaml",
        "--model",
        "model.py:generate",
        *judge,
        "-L",
        "1",
        "-o",
        "judged",
    )

    said = assay("show", "judged").out

    assert (
        "the judge (scripted" in said
        and "What is 0 + 0?" in said.split("was asked")[1]
        and "Rating: [[7]]" in said
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (
            ("--outcome", "unparsd"),
            "there is no outcome 'unparsd'; fix: did you mean 'unparsed'?",
        ),
        (("--tag", "size"), "--tag takes name=value, got 'size'; fix: --tag size=…"),
        (
            ("--tag", "sise=small"),
            "the samples have no tag 'sise'; fix: did you mean 'size'?",
        ),
        (
            ("--sort", "scor"),
            "samples cannot be sorted by 'scor'; fix: did you mean 'score'?",
        ),
        (("--where", "score <"), "--where: a value is missing"),
        (("--limit", "-1"), "--limit -1 is not a number of samples"),
    ],
)
def test_what_was_asked_wrongly_is_one_line(assay, run, options, line):
    said = assay("show", run, *options)

    assert said.code == 2 and line in said.err and said.err.count("\n") == 1


def test_options_for_runs_are_refused_for_names(assay, run):
    said = assay("show", "exact_match", "--wrong")

    assert said.code == 2 and "--wrong is for runs" in said.err


def test_a_named_sample_is_shown_also_where_the_last_table_is_not_about_it(assay, run):
    assay(
        "run", "ten.yaml", "--model", "model.py:generate", "--limit", "2", "-o", "out"
    )

    assert ids(assay) == ["s0", "s1"]
    assert "What is 4 + 4?" in assay("show", run, "--sample", "s4").out


def test_text_that_is_not_text_is_still_json(assay, folder):
    (folder / "odd.py").write_text("def generate(messages):\n    return 'a\\ud800b'\n")
    assay("run", "sums.jsonl", "--model", "odd.py:generate", "-o", "odd")

    said = assay("show", "odd", "--json").json

    assert said["samples"][0]["rounds"][0]["output"]["candidates"][0][
        "text"
    ].startswith("a")


def test_the_results_of_the_last_calls_are_shown(assay, folder):
    (folder / "sums.py").write_text(
        'dataset = [{"question": "What is 17 + 25?", "answer": "42"}]\n'
        "def add(x: int, y: int) -> int:\n"
        '    """Add two numbers."""\n'
        "    return x + y\n"
        "tools = [add]\nscorers = ['includes']\n"
    )
    call = {"calls": [{"name": "add", "arguments": {"x": 17, "y": 25}}]}
    rounds = f"rounds={json.dumps([call, call])}"
    assay(
        "run",
        "sums.py",
        "--model",
        "scripted",
        "-a",
        rounds,
        "--max_turns",
        "1",
        "-o",
        "out",
    )

    said = assay("show", "out")

    assert said.out.count("[result] 42") == 1
    assert said.out.index("[call] add") < said.out.index("[result] 42")
