"""`assay leaderboard`: models over the tasks of some runs."""

import csv
import io
import json

import pytest

MODELS = """
def share(limit, wrong="no"):
    def generate(messages):
        n = int(messages[-1]["content"].split()[1])
        return "yes" if n % 100 < limit else wrong
    return generate

good, better, bad = share(90), share(92), share(40)
"""


@pytest.fixture
def runs(assay, folder):
    """Three models on two tasks; the third has only one."""
    for task in ("first", "second"):
        rows = [
            {"id": f"{task}{n}", "question": f"Sample {n} is it?", "answer": "yes"}
            for n in range(100)
        ]
        (folder / f"{task}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows)
        )
        for name in ("good", "better", "bad"):
            if (task, name) != ("second", "bad"):
                assay(
                    "run",
                    f"{task}.jsonl",
                    "--model",
                    f"models.py:{name}",
                    "--scorer",
                    "exact_match",
                    "-o",
                    f"runs/{task}-{name}",
                )
    return folder


@pytest.fixture(autouse=True)
def models(folder):
    (folder / "models.py").write_text(MODELS)


def test_indistinguishable_models_share_ranks_and_missing_cells_are_shown(assay, runs):
    said = assay("leaderboard", "runs")

    lines = said.out.splitlines()
    assert said.code == 0
    starts = {
        line.split()[1]: number
        for number, line in enumerate(lines)
        if line[:1] not in " n" and line
    }
    better, good, bad = (starts[f"models.py:{m}"] for m in ("better", "good", "bad"))
    assert lines[better].split()[0] == lines[good].split()[0] == "1–2"
    assert "Mean" in lines[better + 1] and "exact_match ↑" in lines[better + 2]
    block = "\n".join(lines[bad : bad + 6])
    assert "#3" in block and "–" in block.split()
    tables = [line for line in lines if not line.startswith("note: ")]
    assert max(map(len, tables)) <= 80
    assert "note: models.py:better cannot be distinguished from models.py:good" in lines
    assert any(
        line.startswith("note: models.py:bad has no number in second") for line in lines
    )


def test_json_has_ranks_intervals_and_where_each_number_comes_from(assay, runs):
    said = assay("leaderboard", "runs", "--json").json

    first = said["models"][0]
    assert first["name"] == "models.py:better" and first["mean"] == pytest.approx(0.92)
    assert first["mean_ci"][0] < 0.92 < first["mean_ci"][1]
    assert first["cells"][0]["rank"] == {
        "best": 1,
        "worst": 2,
        "ties": ["models.py:good"],
    }
    assert first["cells"][0]["run"].endswith("first-better")
    assert (
        said["models"][2]["cells"].count(None) == 1
        and said["models"][2]["mean"] is None
    )


def test_one_task_alone_is_ranked_by_its_number(assay, runs):
    lines = assay("leaderboard", "runs", "--tasks", "first").out.splitlines()

    assert [line.split()[0] for line in lines[1:4]] == [
        "1–2",
        "1–2",
        "3",
    ] and "Mean" not in lines[0]


def test_the_other_formats_say_the_same(assay, runs):
    rows = list(
        csv.DictReader(io.StringIO(assay("leaderboard", "runs", "--format", "csv").out))
    )
    page = assay("leaderboard", "runs", "--format", "html").out
    written = assay("leaderboard", "runs", "-o", "board.md")

    assert (
        len(rows) == 6
        and rows[0]["model"] == "models.py:better"
        and rows[0]["rank_worst"] == "2"
    )
    assert sum(row["value"] == "" for row in rows) == 1
    assert "<td>models.py:good</td>" in page and "default-src 'none'" in page
    assert written.out == "board.md: 3 models, 2 columns\n"
    assert (
        (runs / "board.md")
        .read_text()
        .startswith("| Rank | Model | Mean | first@scorer=")
    )


def test_of_one_model_and_protocol_the_last_run_counts(assay, runs):
    assay(
        "run",
        "first.jsonl",
        "--model",
        "models.py:bad",
        "--scorer",
        "exact_match",
        "--limit",
        "50",
        "-o",
        "runs/z",
    )

    said = assay("leaderboard", "runs", "--tasks", "first", "--json").json

    [bad] = [model for model in said["models"] if model["name"] == "models.py:bad"]
    assert bad["cells"][0]["n"] == 50 and any(
        "older number" in note for note in said["notes"]
    )
    assert any(
        "not compared" in note for note in said["notes"]
    )  # half of the samples only


def test_two_models_with_one_name_are_distinguished(assay, runs):
    scripted = (
        "run",
        "first.jsonl",
        "--model",
        "scripted",
        "--scorer",
        "exact_match",
        "-o",
    )
    assay(*scripted, "runs/yes", "-a", "answers=yes")
    assay(*scripted, "runs/no", "-a", "answers=no")

    names = [
        model["name"]
        for model in assay("leaderboard", "runs", "--tasks", "first", "--json").json[
            "models"
        ]
    ]

    assert (
        len([name for name in names if name.startswith("scripted")]) == 2
        and len(set(names)) == 5
    )


def test_a_number_that_should_be_low_ranks_the_lowest_first(assay, folder):
    rows = [
        {"id": f"s{n}", "question": f"say {n}", "answer": "one two three four"}
        for n in range(40)
    ]
    (folder / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, answers in (
        ("loose", ["one", "one two"]),
        ("tight", ["one two three four", "one two three"]),
    ):
        assay(
            "run",
            "said.jsonl",
            "--model",
            "scripted",
            "-a",
            json.dumps({"answers": answers}),
            "--scorer",
            "wer",
            "-o",
            f"runs/{name}",
        )

    board = assay("leaderboard", "runs", "--json").json

    assert [model["cells"][0]["rank"]["best"] for model in board["models"]] == [1, 2]
    assert (
        board["models"][0]["cells"][0]["value"]
        < board["models"][1]["cells"][0]["value"]
    )
    assert board["models"][0]["mean"] is None


def test_what_cannot_be_shown_is_one_line(assay, runs, folder):
    (folder / "empty").mkdir()
    nothing = assay("leaderboard", "empty")
    nowhere = assay("leaderboard", "nowhere")
    unknown = assay("leaderboard", "runs", "--metric", "bleu")

    assert (nothing.code, nowhere.code, unknown.code) == (2, 2, 2)
    assert (
        "there are no runs here" in nothing.err and "there is no folder" in nowhere.err
    )
    assert "no run has a number of bleu" in unknown.err
    assert all(said.err.count("\n") == 1 for said in (nothing, nowhere, unknown))


def test_hostile_names_stay_text(assay, folder):
    (folder / "first.jsonl").write_text(
        '{"question": "Sample 1 x", "answer": "yes"}\n' * 1
    )
    evil = folder / "<img src=x>=|.py"
    evil.write_text("def generate(messages):\n    return 'yes'\n")
    assay("run", "first.jsonl", "--model", f"{evil.name}:generate", "-o", "runs/evil")

    assert "<img" not in assay("leaderboard", "runs", "--format", "html").out
    assert "\\<img src=x\\>=\\|" in assay("leaderboard", "runs", "--format", "md").out


@pytest.fixture
def rivals(folder, assay):
    """Three models on the same 60 questions."""
    (folder / "many.py").write_text(
        'dataset = [{"id": f"q{i}", "question": f"{i}", "answer": "y"} for i in range(60)]\nscorers = "exact_match"\n'
    )
    (folder / "models.py").write_text(
        "def share(percent):\n    return lambda text: 'y' if int(text) * 37 % 100 < percent else 'n'\n\n"
        "good, fair, poor = share(90), share(50), share(30)\n"
        "mixed = lambda text: 'n' if int(text) % 10 == 0 else 'y' if int(text) * 53 % 100 < 60 else 'n'\n"
    )
    for name in ("good", "fair", "mixed"):
        said = assay(
            "run", "many.py", "--model", f"models.py:{name}", "-o", f"runs/{name}"
        )
        assert said.code == 0
    return folder


def test_ratings_rank_models_from_battles_on_shared_samples(assay, rivals):
    said = assay("leaderboard", "runs", "--ratings")

    assert said.code == 0 and "Bradley-Terry ratings, 60 samples" in said.out
    lines = [line.split() for line in said.out.splitlines() if "models.py" in line]
    assert lines[0][1] == "models.py:good"
    assert max(map(len, said.out.splitlines())) <= 80
    plain = assay("leaderboard", "runs", "--ratings", "--json").json["ratings"][0]
    total = sum(model["rating"] for model in plain["models"])
    assert abs(total - 3000) < 1e-6
    top = plain["models"][0]
    assert top["ci"][0] < top["rating"] < top["ci"][1]


def test_elo_ratings_say_that_they_depend_on_the_order(assay, rivals):
    said = assay("leaderboard", "runs", "--ratings", "elo")

    assert said.code == 0 and "Elo depends on the order" in said.out


def test_battles_of_a_model_against_itself_are_left_out(assay, folder):
    (folder / "duel.py").write_text(
        'dataset = [{"id": f"{o}{i}", "question": f"{i}", "answer": "y", "opponent": o} '
        'for i in range(40) for o in ("old", "m.py:new")]\nscorers = "exact_match"\n'
        'tags = ("opponent",)\n'
    )
    (folder / "m.py").write_text(
        "def new(text):\n    return 'y' if int(text) % 4 else 'n'\n"
    )
    assert assay("run", "duel.py", "--model", "m.py:new", "-o", "runs/new").code == 0

    said = assay("leaderboard", "runs", "--ratings")

    assert said.code == 0 and "40 samples" in said.out
    rows = [line.split() for line in said.out.splitlines()[2:4]]
    assert [(row[1], row[-3]) for row in rows] == [("m.py:new", "30"), ("old", "10")]


def test_ratings_against_named_opponents(assay, folder):
    (folder / "duel.py").write_text(
        'dataset = [{"id": f"{o}{i}", "question": f"{i}", "answer": "y", "opponent": o, "item": f"{i}"} '
        'for i in range(40) for o in ("old", "base")]\nscorers = "exact_match"\n'
        'tags = ("opponent",)\ncluster = "item"\n'
    )
    (folder / "m.py").write_text(
        "def new(text):\n    return 'y' if int(text) % 4 else 'n'\n"
    )
    assert assay("run", "duel.py", "--model", "m.py:new", "-o", "runs/new").code == 0

    plain = assay("leaderboard", "runs", "--ratings", "--json").json["ratings"][0]

    assert {model["name"] for model in plain["models"]} == {"m.py:new", "old", "base"}
    assert plain["samples"] == 40
    assert plain["models"][0]["name"] == "m.py:new"
