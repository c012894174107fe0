"""A run against an earlier one."""

import hashlib
import json

import pytest

FOUR = ("--model", "four.py:generate")
ADDER = ("--model", "adder.py:generate")


@pytest.fixture
def ten(folder):
    rows = [
        {"question": f"{i}+{i}?", "answer": str(2 * i), "id": f"s{i}"}
        for i in range(10)
    ]
    (folder / "ten.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "ten.jsonl"


def test_a_clear_difference_is_called_better(assay, ten):
    assay("run", ten, *FOUR, "-o", "before")

    said = assay(
        "run",
        ten,
        *ADDER,
        "-o",
        "after",
        "--baseline",
        "before",
        "--scorer",
        "exact_match",
        "--json",
    )

    row = said.json["baseline"]["rows"][0]
    assert (row["baseline_value"], row["value"], row["difference"]) == (0.1, 1.0, 0.9)
    assert (row["wins"], row["losses"], row["n"], row["overlap"]) == (9, 0, 10, 1.0)
    assert row["p"] == pytest.approx(
        1 / 2**9
    )  # McNemar, mid-p: nine discordant samples, all one way
    assert row["ci"][0] > 0
    assert row["verdict"] == "better" and row["ci"][0] < 0.9 < row["ci"][1]


def test_the_other_way_round_it_is_worse(assay, ten):
    assay("run", ten, *ADDER, "-o", "before")

    said = assay(
        "run",
        ten,
        *FOUR,
        "-o",
        "after",
        "--baseline",
        "before",
        "--scorer",
        "exact_match",
    )

    assert (
        "1.000 → 0.100, difference -0.900" in said.out
        and said.out.count(": worse") == 1
    )


def test_several_rows_are_adjusted_together(assay, ten):
    assay("run", ten, *FOUR, "-o", "before")

    rows = assay(
        "run", ten, *ADDER, "-o", "after", "--baseline", "before", "--json"
    ).json["baseline"]["rows"]

    assert len(rows) == 2 and all(
        row["p_adjusted"] == pytest.approx(2 / 2**9) for row in rows
    )


def test_three_samples_cannot_tell_models_apart(assay):
    assay("run", "sums.jsonl", *FOUR, "-o", "before")

    said = assay("run", "sums.jsonl", *ADDER, "-o", "after", "--baseline", "before")

    assert "not distinguishable" in said.out and "p 0.250 (McNemar mid-p)" in said.out


def test_too_few_common_samples_are_refused_and_the_table_still_comes(assay, ten):
    assay("run", ten, *FOUR, "-o", "before")

    said = assay(
        "run", ten, *ADDER, "--limit", "8", "-o", "after", "--baseline", "before"
    )

    assert said.code == 3
    assert (
        "not compared: only 8 of 10 samples are in both" in said.out
        and "95 %" in said.out
    )
    assert "nothing was compared" in said.out
    assert "8 / 8" in said.out


def test_a_task_missing_in_the_baseline_is_reported(assay, ten):
    assay("run", "sums.jsonl", *FOUR, "-o", "before")

    said = assay("run", ten, *FOUR, "-o", "after", "--baseline", "before")

    assert "the baseline has no task 'ten'" in said.out


def test_another_way_of_measuring_is_noted(assay, ten):
    assay("run", ten, *FOUR, "-o", "before")

    said = assay(
        "run",
        ten,
        *FOUR,
        "--system",
        "Be brief.",
        "-o",
        "after",
        "--baseline",
        "before",
    )

    assert "ten: not measured the same way: template differs" in said.out


def test_a_baseline_that_is_not_there_stops_before_the_run(assay, folder):
    said = assay("run", "sums.jsonl", *FOUR, "-o", "after", "--baseline", "nope")

    assert said.code == 2 and "not a run folder" in said.err
    assert not (folder / "after").exists()


def test_unread_answers_count_as_zero(assay, folder):
    (folder / "quiz.jsonl").write_text(
        "".join(
            f'{{"question": "q{i}?", "options": ["yes", "no"], "answer": "A"}}\n'
            for i in range(4)
        )
    )
    (folder / "mute.py").write_text("def generate(messages):\n    return '...'\n")
    (folder / "sure.py").write_text("def generate(messages):\n    return 'A'\n")
    assay("run", "quiz.jsonl", "--model", "mute.py:generate", "-o", "before")

    rows = assay(
        "run",
        "quiz.jsonl",
        "--model",
        "sure.py:generate",
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    assert (rows[0]["baseline_value"], rows[0]["value"], rows[0]["n"]) == (0.0, 1.0, 4)


def test_the_baseline_is_what_its_last_table_counted(assay, ten):
    assay("run", ten, *FOUR, "--scorer", "exact_match", "-o", "before")
    assay("run", ten, *FOUR, "--scorer", "exact_match", "--limit", "4", "-o", "before")

    rows = assay(
        "run",
        ten,
        *ADDER,
        "--scorer",
        "exact_match",
        "--limit",
        "4",
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    assert (rows[0]["n"], rows[0]["overlap"], rows[0]["baseline_value"]) == (
        4,
        1.0,
        0.25,
    )


def test_a_folder_run_whole_again_counts_whole_again(assay, ten, folder):
    for limit in ("10", "4", "10"):
        assay(
            "run",
            ten,
            *FOUR,
            "--scorer",
            "exact_match",
            "--limit",
            limit,
            "-o",
            "before",
        )

    said = assay("export", "before", "--to", "csv")

    assert "10 rows" in said.out
    assert "counted" not in json.loads((folder / "before" / "summary.json").read_text())


def test_a_changed_scorer_is_noted(assay, ten, folder):
    for name, condition in (
        ("first", "o.text == s.target"),
        ("second", "len(o.text) > 0"),
    ):
        (folder / name).mkdir()
        (folder / name / "rule.py").write_text(
            f"def score(s, o):\n    return float({condition})\n"
        )
    assay("run", ten, *FOUR, "--scorer", "first/rule.py:score", "-o", "before")

    said = assay(
        "run",
        ten,
        *FOUR,
        "--scorer",
        "second/rule.py:score",
        "-o",
        "after",
        "--baseline",
        "before",
    )

    assert "ten: not measured the same way: scorer 'score' differs" in said.out


def test_the_same_scorer_is_not_noted(assay, ten):
    assay("run", ten, *FOUR, "-o", "before")

    said = assay("run", ten, *ADDER, "-o", "after", "--baseline", "before")

    assert "not measured the same way" not in said.out


GROUPED = """
from assay import Sample, Task

def data():
    for group in range(6):
        for place in range(4):
            yield Sample(id=f"{group}-{place}", input=f"{group}{place}", target="a", group=f"g{group}")

def cluster_but_one():
    for sample in data():
        alone = sample.id == "5-3"
        yield Sample(id=sample.id, input=sample.input, target="a", cluster=None if alone else sample.group)

grouped = Task("grouped", dataset=data, scorers="exact_match", summarizers="grouped")
clustered = Task("clustered", dataset=cluster_but_one, scorers="exact_match")
"""


@pytest.mark.parametrize(("task", "moving"), [("grouped", 4), ("clustered", 4)])
def test_samples_that_go_together_in_the_table_do_so_in_the_comparison(
    assay, folder, task, moving
):
    (folder / "tasks.py").write_text(GROUPED)
    (folder / "minds.py").write_text(
        "def none(messages):\n    return 'b'\n\n"
        "def some(messages):\n    return 'a' if messages[-1]['content'][0] in '0123' else 'b'\n"
    )
    assay("run", f"tasks.py:{task}", "--model", "minds.py:none", "-o", "before")

    rows = assay(
        "run",
        f"tasks.py:{task}",
        "--model",
        "minds.py:some",
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    row = next(row for row in rows if row["metric"] == "exact_match")
    assert row["test"] == "paired t on clusters" and row["wins"] == 4 * moving
    # Of 16 samples that all move one way, 1 in 32,768 would by chance; of four clusters, 1 in 8.
    assert row["p"] > 0.001 and (row["ci"][0] > 0) == (row["p"] < 0.05)
    assert row["unreliable"].startswith("interval unreliable:") and row[
        "unreliable"
    ].endswith("clusters")


def test_unread_answers_count_as_the_worst_value_on_either_side(assay, ten, folder):
    (folder / "far.py").write_text(
        "from assay import Score\n\n"
        "class Far:\n"
        "    higher_is_better = False\n"
        "    bounds = (0.0, 1.0)\n\n"
        "    def __call__(self, sample, output):\n"
        "        return Score(0.25) if output.text.isdigit() else Score.unparsed()\n"
    )
    (folder / "mute.py").write_text("def generate(messages):\n    return '...'\n")
    assay(
        "run",
        ten,
        "--model",
        "mute.py:generate",
        "--scorer",
        "far.py:Far",
        "-o",
        "before",
    )

    rows = assay(
        "run",
        ten,
        *FOUR,
        "--scorer",
        "far.py:Far",
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    assert (rows[0]["baseline_value"], rows[0]["value"], rows[0]["verdict"]) == (
        1.0,
        0.25,
        "better",
    )


MOOD = (
    "from assay import Output\n\n"
    "def generate(requests):\n"
    "    return [Output.of('4' if request.repeat == 0 else 'no') for request in requests]\n"
)


@pytest.fixture
def fours(folder):
    """Eight questions, and a model that is right in the first of its epochs."""
    rows = [{"id": str(i), "question": f"{i}?", "answer": "4"} for i in range(8)]
    (folder / "fours.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "mood.py").write_text(MOOD)
    return "fours.jsonl"


def test_the_baseline_is_reduced_as_its_own_table_says(assay, fours):
    common = (
        "run",
        fours,
        "--model",
        "mood.py:generate",
        "--epochs",
        "3",
        "--scorer",
        "exact_match",
    )
    assay(*common, "--reducer", "max", "-o", "best")

    said = assay(*common, "-o", "mean", "--baseline", "best", "--json").json["baseline"]

    assert (said["rows"][0]["baseline_value"], said["rows"][0]["value"]) == (
        1.0,
        pytest.approx(1 / 3),
    )
    assert (
        "fours.exact_match: not the same number: max of the answers to a sample there, mean here"
        in said["notes"]
    )


def test_two_runs_with_one_reducer_are_compared_by_it(assay, fours):
    common = ("--epochs", "3", "--reducer", "max", "--scorer", "exact_match")
    assay("run", fours, "--model", "mood.py:generate", *common, "-o", "before")

    said = assay(
        "run", fours, *FOUR, *common, "-o", "after", "--baseline", "before", "--json"
    ).json["baseline"]

    assert (said["rows"][0]["baseline_value"], said["rows"][0]["value"]) == (1.0, 1.0)
    assert not any("not the same number" in note for note in said["notes"])


def test_a_table_of_the_baseline_that_its_journal_does_not_give_is_not_compared(
    assay, ten, folder
):
    assay("run", ten, *FOUR, "--scorer", "exact_match", "-o", "before")
    summary = json.loads((folder / "before" / "summary.json").read_text())
    summary["results"][0]["value"] = 0.9
    (folder / "before" / "summary.json").write_text(json.dumps(summary))
    manifest = json.loads((folder / "before" / "run.json").read_text())
    manifest["summary"]["sha256"] = hashlib.sha256(
        (folder / "before" / "summary.json").read_bytes()
    ).hexdigest()
    (folder / "before" / "run.json").write_text(json.dumps(manifest))

    rows = assay(
        "run",
        ten,
        *ADDER,
        "--scorer",
        "exact_match",
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    assert rows[0]["refused"] == "the baseline's number is not the mean of its samples"


def test_a_baseline_scored_by_another_scorer_says_how_to_score_it(assay, ten):
    assay("run", ten, *FOUR, "-o", "before", "--scorer", "exact_match")

    said = assay(
        "run", ten, *ADDER, "-o", "after", "--baseline", "before", "--scorer", "f1"
    )

    assert (
        "the baseline was not scored by 'f1'; fix: assay score before --scorer f1"
        in said.out
    )


def test_two_samples_do_not_promise_a_difference_that_cannot_be(assay):
    assay("run", "sums.jsonl", *FOUR, "-o", "before", "--limit", "2")

    said = assay(
        "run",
        "sums.jsonl",
        *ADDER,
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
        "--limit",
        "2",
    )

    low, high = said.json["baseline"]["rows"][0]["ci"]
    assert -1 <= low < 0.5 < high <= 1


def test_a_graded_score_is_cut_to_its_scale(assay, folder):
    (folder / "graded.py").write_text(
        "def score(sample, output):\n    return len(output.text) / 4\n"
    )
    graded = ("--scorer", "graded.py", "--json")
    (folder / "long.py").write_text(
        "def generate(messages):\n    return 'xxxx' if '2' in messages[-1]['content'] else ''\n"
    )
    assay("run", "sums.jsonl", *FOUR, "-o", "before", "--limit", "2", *graded)

    again = (
        "--model",
        "long.py",
        "-o",
        "after",
        "--baseline",
        "before",
        "--limit",
        "2",
    )
    said = assay("run", "sums.jsonl", *again, *graded)

    low, high = said.json["baseline"]["rows"][0]["ci"]
    assert (low, high) == (-1, 1)


WEIGHER = (
    "from assay.core import Abilities, Likelihood, Output\n"
    "class Weigher:\n"
    "    abilities = Abilities(likelihood=True)\n"
    "    identity = {'w': 1}\n"
    "    def likelihood(self, requests):\n"
    "        return [Output(likelihoods=(Likelihood(-1.0), Likelihood(-2.0))) for r in requests]\n"
    "    def generate(self, requests):\n"
    "        return [Output.of('A') for r in requests]\n"
)


def test_no_scoring_again_is_advised_across_measures_and_nothing_compared_ends_with_3(
    assay, folder
):
    rows = [
        {"id": str(n), "question": "q", "options": ["x", "y"], "answer": "A"}
        for n in range(4)
    ]
    (folder / "two.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "weigher.py").write_text(WEIGHER)
    command = ("run", "two.jsonl", "--model", "weigher.py:Weigher", "--measure")
    assay(*command, "letter_likelihood", "-o", "before")

    said = assay(*command, "letter", "-o", "after", "--baseline", "before")
    plain = assay(
        *command, "letter", "-o", "after", "--baseline", "before", "--json"
    ).json

    assert said.code == 3 and "assay score before" not in said.out
    assert (
        "the baseline was measured by letter_likelihood, this run by letter: two different numbers"
        in said.out
    )
    assert "nothing was compared" in said.out and plain["baseline"]["compared"] == 0


def test_a_scorer_more_or_less_is_no_other_way_to_measure(assay, ten):
    assay("run", ten, *FOUR, "-o", "before")

    said = assay(
        "run",
        ten,
        *ADDER,
        "-o",
        "after",
        "--baseline",
        "before",
        "--scorer",
        "exact_match",
    )

    assert said.code == 0 and "not measured the same way" not in said.out


WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "jumps",
    "over",
    "a",
    "lazy",
    "dog",
    "while",
    "seven",
    "wizards",
    "watch",
]
SPEECH = """
def careful(messages):
    return " ".join(reversed(messages[-1]["content"].split()))

def careless(messages):
    return " ".join(careful(messages).split()[1:])
"""


@pytest.mark.parametrize(
    ("scorer", "metric"), [("wer", "wer[none]"), ("bleu", "bleu"), ("ter", "ter")]
)
def test_numbers_of_the_whole_corpus_are_compared_on_the_counts_of_their_samples(
    assay, folder, scorer, metric
):
    texts = [" ".join(WORDS[i % 5 : i % 5 + 5 + i % 4]) for i in range(20)]
    asked = [" ".join(reversed(text.split())) for text in texts]
    rows = [
        {"id": str(i), "question": asked[i], "answer": text}
        for i, text in enumerate(texts)
    ]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "minds.py").write_text(SPEECH)
    assay(
        "run",
        "said.jsonl",
        "--model",
        "minds.py:careless",
        "--scorer",
        scorer,
        "-o",
        "before",
    )

    rows = assay(
        "run",
        "said.jsonl",
        "--model",
        "minds.py:careful",
        "--scorer",
        scorer,
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    row = next(
        row
        for row in rows
        if row["metric"].startswith(metric.partition("[")[0]) and "difference" in row
    )
    assert row["verdict"] == "better" and row["test"] == "paired jackknife t"
    assert (row["ci"][0] > 0 or row["ci"][1] < 0) and row["p"] < 0.05
    assert row["difference"] == pytest.approx(row["value"] - row["baseline_value"])


def test_runs_that_made_a_number_by_different_formulas_are_not_compared(assay, folder):
    rows = [{"id": str(i), "question": "c b a", "answer": "a b c"} for i in range(4)]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "minds.py").write_text(SPEECH)
    assay(
        "run",
        "said.jsonl",
        "--model",
        "minds.py:careless",
        "--scorer",
        "bleu",
        "-o",
        "before",
    )
    summary = json.loads((folder / "before" / "summary.json").read_text())
    summary["results"][0]["details"]["recipe"]["formula"] = "ter"
    (folder / "before" / "summary.json").write_text(json.dumps(summary))
    # As the first version left it: without digests, which would tell that the summary was edited.
    manifest = json.loads((folder / "before" / "run.json").read_text())
    old = {
        name: value
        for name, value in manifest.items()
        if name not in ("journal", "summary", "mac")
    }
    (folder / "before" / "run.json").write_text(json.dumps({**old, "format": 1}))

    rows = assay(
        "run",
        "said.jsonl",
        "--model",
        "minds.py:careful",
        "--scorer",
        "bleu",
        "-o",
        "after",
        "--baseline",
        "before",
        "--json",
    ).json["baseline"]["rows"]

    assert rows[0]["refused"] == "the two runs made the number by different formulas"
