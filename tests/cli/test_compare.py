"""`assay compare`: finished runs against a baseline, from the terminal."""

import json

import pytest

FOUR = ("--model", "four.py:generate")
ADDER = ("--model", "adder.py:generate")


@pytest.fixture
def runs(assay, folder):
    """Ten sums answered by a model that says 4 to each (`before`), and by one that can add (`after`)."""
    rows = [
        {"question": f"{i}+{i}?", "answer": str(2 * i), "id": f"s{i}"}
        for i in range(10)
    ]
    (folder / "ten.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assay("run", "ten.jsonl", *FOUR, "--scorer", "exact_match", "-o", "before")
    assay("run", "ten.jsonl", *ADDER, "--scorer", "exact_match", "-o", "after")
    return folder


def test_the_first_sentence_says_what_is_better_by_how_much_and_who_changed(
    assay, runs
):
    said = assay("compare", "before", "after")

    sentence = next(
        line for line in said.out.splitlines() if line.startswith("after is")
    )
    assert sentence.startswith("after is better by 90.0 points, 95 % interval ")
    assert sentence.endswith("; 9 up, 0 down of 10; p 0.002.")
    assert said.code == 0


def test_the_table_has_a_row_for_each_number(assay, runs):
    lines = assay("compare", "before", "after").out.splitlines()

    start = lines.index("ten.exact_match ↑  better")
    assert lines[start + 1].startswith("  0.100 → 1.000, difference +0.900 [")
    assert lines[start + 2] == "  9 better, 0 worse of 10"


def test_numbers_and_changed_samples_fit_80_columns(assay, runs):
    lines = assay("compare", "before", "after", "--flips").out.splitlines()

    is_prose = ("after is", "note: ", "also different: ")
    tables = [line for line in lines if not line.startswith(is_prose)]
    assert len(tables) > 10 and max(map(len, tables)) <= 80


def test_a_wide_terminal_has_one_table(runs):
    from assay.comparison.comparison_tables import text_lines
    from assay.comparison.several import compare

    lines = list(text_lines(compare("before", "after"), width=120))

    [row] = [line.split() for line in lines if line.startswith("ten ")]
    assert row[:6] == ["ten", "exact_match", "↑", "0.100", "1.000", "+0.900"]
    assert row[-1] == "better"


def test_the_baseline_of_a_run_is_not_a_difference_between_runs(assay, runs):
    said = assay(
        "run",
        "ten.jsonl",
        *ADDER,
        "--scorer",
        "exact_match",
        "--baseline",
        "before",
        "-o",
        "third",
    )
    assert said.code == 0

    said = assay("compare", "before", "third")

    assert "baseline –" not in said.out
    assert all("baseline" not in row for row in said.out.splitlines())


def test_a_verdict_whose_answer_was_lost_is_not_paired(assay, runs):
    path = runs / "before" / "records.jsonl"
    lines = path.read_bytes().split(b"\n")
    answers = [n for n, line in enumerate(lines) if b'"kind":"output"' in line[:40]]
    lines[answers[0]] = lines[answers[0]][:60] + b"#" + lines[answers[0]][61:]
    path.write_bytes(b"\n".join(lines))
    assert assay("score", "before").code in (0, 1, 3)

    said = assay("compare", "before", "after")

    assert "only 9 of 10 samples are in both" in said.out
    assert "not the mean of its samples" not in said.out


def test_other_differences_come_before_the_sentence(assay, runs):
    assay(
        "run",
        "ten.jsonl",
        *ADDER,
        "--scorer",
        "exact_match",
        "--template",
        "{{ question }} ",
        "-o",
        "other",
    )

    lines = assay("compare", "after", "other").out.splitlines()

    assert lines[0] == "ten: not measured the same way: template differs"
    assert lines[1].startswith("also different: template – → {{ question }}")


def test_the_samples_that_changed_are_listed_with_both_answers(assay, runs):
    said = assay("compare", "before", "after", "--flips", "-L", "2")

    assert "after ten.exact_match: 9 changed; 7 more: --limit 9" in said.out
    assert (
        "  s0       0.000  1.000  better  '4'            '0'" in said.out.splitlines()
    )


def test_several_runs_are_compared_with_the_first_and_adjusted_together(assay, runs):
    assay(
        "run",
        "ten.jsonl",
        "--model",
        "scripted",
        "-a",
        "answers=8",
        "--scorer",
        "exact_match",
        "-o",
        "eight",
    )

    said = assay("compare", "before", "after", "eight", "--json").json

    assert [run["name"] for run in said["runs"]] == ["after", "eight"]
    better, same = (run["rows"][0] for run in said["runs"])
    assert (
        better["p_adjusted"] == pytest.approx(2 * better["p"])
        and same["verdict"] == "not distinguishable"
    )


def test_a_metric_that_should_be_low_says_which_way_is_good(assay, runs, folder):
    rows = [
        {
            "id": f"s{n}",
            "audio_text": "x",
            "question": f"say {n}",
            "answer": "one two three",
        }
        for n in range(12)
    ]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scripted = ("--model", "scripted", "--scorer", "wer")
    assay(
        "run",
        "said.jsonl",
        *scripted,
        "-a",
        '{"answers": ["one two", "one", "one two three"]}',
        "-o",
        "loose",
    )
    better = '{"answers": ["one two three", "one two three", "one two"]}'
    assay("run", "said.jsonl", *scripted, "-a", better, "-o", "tight")

    said = assay("compare", "loose", "tight")
    rows = {
        row["metric"]: row
        for row in assay("compare", "loose", "tight", "--json").json["runs"][0]["rows"]
    }

    words, drawn = rows["wer[none]"]["words"], rows["wer[none]"]["bootstrap"]
    assert (
        "(lower is better)" in words
        and "8 better (lower), 4 worse (higher) of 12" in words
    )
    assert (
        drawn["resamples"] == 1000
        and drawn["ci"][0] < 0
        and "paired bootstrap [" in said.out
    )


def test_markdown_and_github_say_the_same_and_github_folds_the_samples(assay, runs):
    written = assay("compare", "before", "after", "--format", "md", "--flips").out
    github = assay("compare", "before", "after", "--format", "github", "--flips").out

    assert (
        "**after is better by 90.0 points" in written
        and "| ten | exact\\_match | ↑ |" in written
    )
    assert (
        "### after is better by 90.0 points" in github
        and "<details><summary>" in github
    )
    assert "[!WARNING]" not in github  # nothing differs but the models


def test_names_with_equal_ends_are_distinguished_by_their_folders(assay, runs, folder):
    (folder / "old").mkdir()
    (folder / "before").rename(folder / "old" / "run")
    (folder / "after").rename(folder / "run")

    assert (
        assay("compare", "old/run", str(folder / "run"), "--json")
        .json["runs"][0]["name"]
        .endswith("/run")
    )


def test_what_cannot_be_compared_is_one_line_each(assay, runs, folder):
    rows = [{"question": "1+1?", "answer": "2", "id": f"t{n}"} for n in range(3)]
    (folder / "others.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows)
    )
    (folder / "deeper").mkdir()
    (folder / "deeper" / "ten.jsonl").write_text((folder / "others.jsonl").read_text())
    assay("run", "others.jsonl", *ADDER, "--scorer", "exact_match", "-o", "other_task")
    assay(
        "run",
        "deeper/ten.jsonl",
        *ADDER,
        "--scorer",
        "exact_match",
        "-o",
        "other_samples",
    )

    task = assay("compare", "before", "other_task")
    samples = assay("compare", "before", "other_samples")
    alone = assay("compare", "before")
    itself = assay("compare", "before", "./before")
    nothing = assay("compare", "before", "nowhere")

    assert (task.code, samples.code) == (3, 3)
    assert (
        "others.exact_match not compared: the baseline has no task 'others'" in task.out
    )
    assert (
        "Nothing could be compared." in task.out
        and "no sample in common" in samples.out
    )
    assert (alone.code, alone.err) == (
        2,
        "assay: one run alone cannot be compared; fix: name two: the earlier first\n",
    )
    assert itself.code == 2 and "with itself" in itself.err
    assert (
        nothing.code == 2
        and "not a run folder" in nothing.err
        and nothing.err.count("\n") == 1
    )


def test_a_damaged_run_is_reported_with_exit_code_3(assay, runs, folder):
    journal = folder / "after" / "records.jsonl"
    data = bytearray(journal.read_bytes())
    data[40] ^= 1
    journal.write_bytes(data)

    later = assay("compare", "before", "after")
    earlier = assay("compare", "after", "before")

    assert (
        later.code == 3
        and later.err.startswith("assay: damaged: ")
        and later.err.count("\n") == 1
    )
    assert earlier.code == 3 and earlier.out.startswith("damaged: ")


def test_a_run_without_numbers_is_reported(assay, runs, folder):
    (folder / "after" / "summary.json").unlink()

    said = assay("compare", "before", "after", "--format", "json")

    assert said.code == 2 and "the run has no numbers" in said.json["error"][0]
