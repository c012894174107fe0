"""The files the documented revision writes beside its predictions (CONTRACTS 2.1.a)."""

import pickle

import pandas
import pytest

from assay.dialects.vlmeval.command import evaluate

CHOICES = "index image question A B answer category"


def written(tmp_path, model="Reader"):
    home = tmp_path / "outputs" / model
    return home, {path.name for path in home.iterdir() if path.is_symlink()}


def test_prefetch_counts_the_right_ones_among_those_that_could_be_read(table, picture, early_model, tmp_path):
    rows = [[n, picture(n), "What?", "cat", "dog", "A", f"c{n % 2}"] for n in range(4)]
    table("SEEDBench_IMG", CHOICES, rows)

    list(evaluate(["--data", "SEEDBench_IMG", "--model", early_model({0: "A", 1: "B", 2: "hm", 3: "dog"})]))

    home, names = written(tmp_path)
    found = pandas.read_excel(home / "Reader_SEEDBench_IMG_prefetch.xlsx").to_dict("records")
    assert found == [
        {"Category": "Overall", "tot": 4, "match": 3, "hit": 1, "match_rate": 75, "acc": pytest.approx(100 / 3)},
        {"Category": "c0", "tot": 2, "match": 1, "hit": 1, "match_rate": 50, "acc": 100},
        {"Category": "c1", "tot": 2, "match": 2, "hit": 0, "match_rate": 100, "acc": 0},
    ]
    assert "Reader_SEEDBench_IMG_exact_matching_result.xlsx" in names


def test_prefetch_is_there_after_inference_alone(table, picture, early_model, tmp_path):
    table("Mine", CHOICES, [[0, picture(0), "What?", "cat", "dog", "A", "c"]])

    list(evaluate(["--data", "Mine", "--model", early_model({0: "A"}), "--mode", "infer"]))

    assert written(tmp_path)[1] == {"Reader_Mine.xlsx", "Reader_Mine_prefetch.xlsx"}


def test_results_by_question_are_named_after_the_judge_as_upstream_does(
    table, picture, early_model, endpoint, tmp_path
):
    rows = [
        [0, picture(0), "What?", "cat", "dog", "A", "c"],
        [1_000_000, 0, "What?", "dog", "cat", "B", "c"],
        [1, picture(1), "What?", "cat", "dog", "B", "c"],
    ]
    table("MMBench_DEV_EN", CHOICES, rows)
    endpoint.answer = lambda body: "Z"
    judge = ["--judge", "gpt-3.5-turbo", "--judge-base-url", endpoint.url]

    list(evaluate(["--data", "MMBench_DEV_EN", "--model", early_model({0: "cat", 1: "hm"}), *judge]))

    home, names = written(tmp_path)
    stem = "Reader_MMBench_DEV_EN"
    assert {f"{stem}{end}" for end in (
        ".xlsx", "_prefetch.xlsx", "_acc.csv", "_exact_matching_result.xlsx", "_exact_matching_result.pkl",
        "_openai_acc.csv", "_openai_result.xlsx", "_openai_result.pkl",
    )} == names  # fmt: skip
    by_question = pickle.loads((home / f"{stem}_openai_result.pkl").read_bytes())
    assert {index: entry["hit"] for index, entry in by_question.items()} == {0: 1, 1: 0}


def test_mme_predictions_are_matched_words_with_the_raw_ones_beside_them(table, picture, early_model, file, tmp_path):
    rows = [
        [0, picture(1), "a.jpg", "Is it?", "Yes", "existence"],
        [1, "", "a.jpg", "Is it not?", "Yes", "existence"],
        [2, picture(2), "b.jpg", "Is it?", "No", "existence"],
    ]
    table("MME", "index image image_path question answer category", rows)
    judge = file("judge.py", "def judge(text):\n    return 'No'\n") + ":judge"

    list(evaluate(["--data", "MME", "--model", early_model({1: "Yes, it is.", 2: "Hardly."}), "--judge", judge]))

    home, names = written(tmp_path)
    assert names == {"Reader_MME.xlsx", "Reader_MME_auxmatch.xlsx", "Reader_MME_score.csv"}
    saved = pandas.read_excel(home / "Reader_MME.xlsx")
    assert list(saved["prediction"]) == ["Yes", "Yes", "Unknown"]
    assert list(saved["raw_prediction"]) == ["Yes, it is.", "Yes, it is.", "Hardly."]
    assert list(saved["score"]) == [True, True, False]
    matched = pandas.read_excel(home / "Reader_MME_auxmatch.xlsx")
    assert list(matched["prediction"]) == ["Yes", "Yes", "No"]
    assert list(matched["score"]) == [True, True, True]
    assert "perception" in pandas.read_csv(home / "Reader_MME_score.csv")


def test_mmvet_files_carry_the_judges_name(table, picture, early_model, file, tmp_path):
    rows = [[0, picture(0), "What?", "x", "rec"], [1, picture(1), "What?", "z", "ocr,math"]]
    table("MMVet", "index image question answer category", rows)
    judge = file("grader.py", "def grader(text):\n    return '0.5'\n") + ":grader"

    list(evaluate(["--data", "MMVet", "--model", early_model({0: "x", 1: "y"}), "--judge", judge]))

    home, names = written(tmp_path)
    ends = (".xlsx", "_grader.xlsx", "_grader_score.csv", "_grader_score_fine.csv")
    assert names == {f"Reader_MMVet{end}" for end in ends}
    graded = pandas.read_excel(home / "Reader_MMVet_grader.xlsx")
    assert list(graded["score"]) == [0.5, 0.5]
    fine = pandas.read_csv(home / "Reader_MMVet_grader_score_fine.csv")
    assert list(fine["Category"]) == ["ocr,math", "rec", "Overall"]
