"""The files the documented revision writes beside its predictions (CONTRACTS 2.1.a)."""

import pickle

import pandas
import pytest

from assay.dialects.vlmeval.vlmeval_command import evaluate

CHOICES = "index image question A B answer category"


def written(tmp_path, model="Reader"):
    home = tmp_path / "outputs" / model
    return home, {path.name for path in home.iterdir() if path.is_symlink()}


def test_prefetch_counts_the_right_ones_among_those_that_could_be_read(
    table, picture, early_model, tmp_path
):
    rows = [[n, picture(n), "What?", "cat", "dog", "A", f"c{n % 2}"] for n in range(4)]
    table("SEEDBench_IMG", CHOICES, rows)

    list(
        evaluate(
            [
                "--data",
                "SEEDBench_IMG",
                "--model",
                early_model({0: "A", 1: "B", 2: "hm", 3: "dog"}),
            ]
        )
    )

    home, names = written(tmp_path)
    found = pandas.read_excel(home / "Reader_SEEDBench_IMG_prefetch.xlsx").to_dict(
        "records"
    )
    assert found == [
        {
            "Category": "Overall",
            "tot": 4,
            "match": 3,
            "hit": 1,
            "match_rate": 75,
            "acc": pytest.approx(100 / 3),
        },
        {
            "Category": "c0",
            "tot": 2,
            "match": 1,
            "hit": 1,
            "match_rate": 50,
            "acc": 100,
        },
        {"Category": "c1", "tot": 2, "match": 2, "hit": 0, "match_rate": 100, "acc": 0},
    ]
    assert "Reader_SEEDBench_IMG_exact_matching_result.xlsx" in names


def test_prefetch_is_there_after_inference_alone(table, picture, early_model, tmp_path):
    table("Mine", CHOICES, [[0, picture(0), "What?", "cat", "dog", "A", "c"]])

    list(
        evaluate(
            ["--data", "Mine", "--model", early_model({0: "A"}), "--mode", "infer"]
        )
    )

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

    list(
        evaluate(
            [
                "--data",
                "MMBench_DEV_EN",
                "--model",
                early_model({0: "cat", 1: "hm"}),
                *judge,
            ]
        )
    )

    home, names = written(tmp_path)
    stem = "Reader_MMBench_DEV_EN"
    assert {
        f"{stem}{end}"
        for end in (
            ".xlsx",
            "_prefetch.xlsx",
            "_acc.csv",
            "_exact_matching_result.xlsx",
            "_exact_matching_result.pkl",
            "_openai_acc.csv",
            "_openai_result.xlsx",
            "_openai_result.pkl",
        )
    } == names
    by_question = pickle.loads((home / f"{stem}_openai_result.pkl").read_bytes())
    assert {index: entry["hit"] for index, entry in by_question.items()} == {0: 1, 1: 0}


def test_mme_predictions_are_matched_words_with_the_raw_ones_beside_them(
    table, picture, early_model, file, tmp_path
):
    rows = [
        [0, picture(1), "a.jpg", "Is it?", "Yes", "existence"],
        [1, "", "a.jpg", "Is it not?", "Yes", "existence"],
        [2, picture(2), "b.jpg", "Is it?", "No", "existence"],
    ]
    table("MME", "index image image_path question answer category", rows)
    judge = file("judge.py", "def judge(text):\n    return 'No'\n") + ":judge"

    list(
        evaluate(
            [
                "--data",
                "MME",
                "--model",
                early_model({1: "Yes, it is.", 2: "Hardly."}),
                "--judge",
                judge,
            ]
        )
    )

    home, names = written(tmp_path)
    ends = (".xlsx", "_auxmatch.xlsx", "_prefetch.xlsx", "_score.csv")
    assert names == {f"Reader_MME{end}" for end in ends}
    saved = pandas.read_excel(home / "Reader_MME.xlsx")
    assert list(saved["prediction"]) == ["Yes", "Yes", "Unknown"]
    assert list(saved["raw_prediction"]) == ["Yes, it is.", "Yes, it is.", "Hardly."]
    assert list(saved["score"]) == [True, True, False]
    matched = pandas.read_excel(home / "Reader_MME_auxmatch.xlsx")
    assert list(matched["prediction"]) == ["Yes", "Yes", "No"]
    assert list(matched["score"]) == [True, True, True]
    assert list(pandas.read_csv(home / "Reader_MME_score.csv")) == [
        "perception",
        "existence",
    ]
    assert (
        pandas.read_csv(home / "Reader_MME_score.csv")["existence"][0] == 200.0
    )  # with the judge's help
    assert pandas.read_excel(home / "Reader_MME_prefetch.xlsx")["existence"][
        0
    ] == pytest.approx(200 / 3 + 100)


def test_mmvet_files_carry_the_judges_name(table, picture, early_model, file, tmp_path):
    rows = [
        [0, picture(0), "What?", "x", "rec"],
        [1, picture(1), "What?", "z", "ocr,math"],
    ]
    table("MMVet", "index image question answer category", rows)
    judge = file("grader.py", "def grader(text):\n    return '0.5'\n") + ":grader"

    list(
        evaluate(
            [
                "--data",
                "MMVet",
                "--model",
                early_model({0: "x", 1: "y"}),
                "--judge",
                judge,
            ]
        )
    )

    home, names = written(tmp_path)
    ends = (".xlsx", "_grader.xlsx", "_grader_score.csv", "_grader_score_fine.csv")
    assert names == {f"Reader_MMVet{end}" for end in ends}
    graded = pandas.read_excel(home / "Reader_MMVet_grader.xlsx")
    assert list(graded["score"]) == [0.5, 0.5]
    fine = pandas.read_csv(home / "Reader_MMVet_grader_score_fine.csv")
    assert list(fine["Category"]) == ["rec", "ocr_math", "Overall"]


NEWER_MODEL = """
    from vlmeval.vlm.base import BaseModel

    class Newer(BaseModel):
        def generate_inner(self, message, dataset=None):
            from PIL import Image
            path = [part['value'] for part in message if part['type'] == 'image'][0]
            return ANSWERS[Image.open(path).convert("RGB").getpixel((0, 0))[0]]
"""


def newer_model(file, answers):
    return (
        file("newer_model.py", NEWER_MODEL.replace("ANSWERS", repr(answers))) + ":Newer"
    )


def test_categories_keep_their_spelling_and_odd_rows_of_mme_take_the_picture_before_them(
    table, picture, early_model, tmp_path
):
    rows = [
        [0, picture(1), "a.jpg", "Is it?", "Yes", "OCR"],
        [1, "x", "a.jpg", "Is it not?", "No", "OCR"],
        [2, picture(2), "b.jpg", "Is it?", "Yes", "artwork"],
        [3, "filler", "b.jpg", "Is it not?", "Yes", "artwork"],
    ]
    table("MME", "index image image_path question answer category", rows)

    (result,) = evaluate(
        ["--data", "MME", "--model", early_model({1: "Yes", 2: "Yes"})]
    )

    home, _ = written(tmp_path)
    score = pandas.read_csv(home / "Reader_MME_score.csv").to_dict("records")
    assert score == [{"perception": 250.0, "OCR": 50.0, "artwork": 200.0}]
    assert result.status == "complete"


def test_the_newest_revision_keeps_the_answer_and_writes_what_was_read_beside_it(
    table, picture, file, tmp_path
):
    rows = [
        [0, picture(1), "a.jpg", "Is it?", "Yes", "existence"],
        [1, 0, "a.jpg", "Is it not?", "No", "existence"],
    ]
    table("MME", "index image image_path question answer category", rows)

    list(evaluate(["--data", "MME", "--model", newer_model(file, {1: "Yes, it is."})]))

    home, names = written(tmp_path, "Newer")
    assert names == {"Newer_MME.xlsx", "Newer_MME_auxmatch.xlsx", "Newer_MME_score.csv"}
    assert (
        list(pandas.read_excel(home / "Newer_MME.xlsx")["prediction"])
        == ["Yes, it is."] * 2
    )
    matched = pandas.read_excel(home / "Newer_MME_auxmatch.xlsx")
    assert list(matched.columns[-3:]) == ["prediction", "extracted", "score"]
    assert list(matched["extracted"]) == ["Yes", "Yes"] and list(matched["score"]) == [
        True,
        False,
    ]


def test_results_hold_the_rows_with_hit_and_log_by_the_format_of_each_revision(
    table, picture, early_model, file, tmp_path
):
    rows = [
        [0, picture(0), "What?", "cat", "dog", "A", "c", "dev"],
        [1_000_000, 0, "What?", "dog", "cat", "B", "c", "dev"],
        [1, picture(1), "What?", "cat", "dog", "B", "c", "test"],
        [1_000_001, 1, "What?", "dog", "cat", "A", "c", "test"],
    ]
    table("MMBench_DEV_EN", CHOICES + " split", rows)

    list(
        evaluate(
            ["--data", "MMBench_DEV_EN", "--model", early_model({0: "cat", 1: "cat"})]
        )
    )
    list(
        evaluate(
            [
                "--data",
                "MMBench_DEV_EN",
                "--model",
                newer_model(file, {0: "cat", 1: "cat"}),
            ]
        )
    )

    early, _ = written(tmp_path)
    found = pandas.read_excel(
        early / "Reader_MMBench_DEV_EN_exact_matching_result.xlsx"
    )
    assert list(found.columns) == [
        "index",
        "question",
        "A",
        "B",
        "answer",
        "category",
        "split",
        "prediction",
        "hit",
        "log",
    ]
    assert found["log"].tolist() == [
        "Succeed During Pre-fetching",
        "Failed in Prefetching Rolling 0: Answer is B, Prediction is cat, Pre-fetched is A. ",
    ]
    accuracy = pandas.read_csv(early / "Reader_MMBench_DEV_EN_acc.csv")
    assert accuracy.to_dict("records") == [
        {"split": "full", "Overall": 0.5, "c": 0.5},
        {"split": "dev", "Overall": 1.0, "c": 1.0},
        {"split": "test", "Overall": 0.0, "c": 0.0},
    ]
    newest = tmp_path / "outputs" / "Newer"
    assert pandas.read_csv(newest / "Newer_MMBench_DEV_EN_acc.csv")[
        "split"
    ].tolist() == ["dev", "test"]
    assert "g_index" in pandas.read_excel(
        newest / "Newer_MMBench_DEV_EN_exact_matching_result.xlsx"
    )


def test_index_and_answer_zero_are_kept_and_the_file_is_named_after_the_dataset(
    picture, file, tmp_path
):
    dataset = file(
        "fr.py",
        f"""
        from vlmeval.smp import *
        from vlmeval.dataset.image_base import ImageBaseDataset

        class Zero(ImageBaseDataset):
            TYPE = 'VQA'
            DATASET_URL = {{'Zero': ''}}

            def load_data(self, dataset):
                return pd.DataFrame([dict(index=n, image='{picture(1)}', question='q', answer=n) for n in range(2)])

            def evaluate(self, eval_file, **kwargs):
                raw = pd.read_excel(eval_file)
                return {{'zeros': float((raw['answer'] == 0).sum()), 'first': float((raw['index'] == 0).sum())}}
    """,
    )
    model = file(
        "zero.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return '0'\n",
    )

    (result,) = evaluate(["--data", dataset, "--model", f"{model}:M"])

    home, _ = written(tmp_path, "M")
    assert {r.metric: r.value for r in result.results} == {
        "evaluate.zeros": 1.0,
        "evaluate.first": 1.0,
    }
    saved = pandas.read_excel(home / "M_Zero.xlsx")
    assert saved["index"].tolist() == [0, 1] and saved["answer"].tolist() == [0, 1]


def test_a_list_of_one_image_goes_to_multi_generate(table, picture, file, tmp_path):
    rows = [
        [0, [picture(1)], ["a.jpg"], "One?"],
        [1, [picture(2), picture(3)], ["b.jpg", "c.jpg"], "Two?"],
    ]
    table("CORE_MM", "index image image_path question", rows)
    model = file(
        "multi.py",
        """
        class M:
            MULTI_IMG = True

            def generate(self, image_path, prompt, dataset=None):
                raise AssertionError('one image')

            def multi_generate(self, image_paths, prompt, dataset=None):
                import os
                return ','.join(os.path.relpath(path, os.environ['LMUData']) for path in image_paths)
    """,
    )

    list(evaluate(["--data", "CORE_MM", "--model", f"{model}:M"]))

    home, _ = written(tmp_path, "M")
    saved = pandas.read_excel(home / "M_CORE_MM.xlsx")["prediction"].tolist()
    assert saved == [
        "images/CORE_MM/a.jpg",
        "images/CORE_MM/b.jpg,images/CORE_MM/c.jpg",
    ]


def test_a_models_own_prompt_may_name_an_image_that_only_it_can_read(
    table, picture, file, tmp_path
):
    table("SEEDBench_IMG", CHOICES, [[7, picture(1), "What?", "cat", "dog", "A", "c"]])
    model = file(
        "own.py",
        """
        class M:
            def build_prompt(self, line, dataset=None):
                return dict(image=f"memory/{line['index']}", text=line['question'])

            def generate(self, image_path, prompt, dataset=None):
                return f"A {image_path}"
    """,
    )

    (result,) = evaluate(["--data", "SEEDBench_IMG", "--model", f"{model}:M"])

    home, _ = written(tmp_path, "M")
    assert pandas.read_excel(home / "M_SEEDBench_IMG.xlsx")["prediction"].tolist() == [
        "A memory/7"
    ]
    assert result.status == "complete"


@pytest.mark.parametrize("how", ["run", "register", "class"])
def test_of_a_base_class_and_its_subclass_in_one_file_the_subclass_is_meant(
    table, picture, file, run, how
):
    table("toyv", "index image question answer", [[1, picture(1), "What?", "cat"]])
    dataset = file(
        "two.py",
        """
        from vlmeval.dataset.image_base import ImageBaseDataset
        from vlmeval.smp import *

        class Base(ImageBaseDataset):
            TYPE = 'VQA'
            DATASET_URL = {'toyv': ''}

        class Mine(Base):
            def evaluate(self, eval_file, **kw):
                return {'n': len(load(eval_file))}
    """,
    )
    model = file(
        "x.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'x'\n",
    )

    if how == "run":
        result = run(dataset, f"{model}:M")
    else:
        data = (
            ["--register", dataset, "--data", "toyv"]
            if how == "register"
            else ["--data", f"{dataset}:Mine"]
        )
        (result,) = evaluate([*data, "--model", f"{model}:M"])

    assert {r.metric: r.value for r in result.results} == {"evaluate.n": 1.0}


def test_a_constructor_of_keywords_alone_gets_the_dataset_by_keyword(
    table, picture, file, run
):
    table("toyv", "index image question answer", [[1, picture(1), "What?", "x"]])
    dataset = file(
        "kw.py",
        """
        from vlmeval.dataset.image_base import ImageBaseDataset

        class Kw(ImageBaseDataset):
            TYPE = 'VQA'
            DATASET_URL = {'toyv': ''}

            def __init__(self, **kwargs):
                super().__init__(**kwargs)
    """,
    )
    model = file(
        "x.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'x'\n",
    )

    result = run(dataset, f"{model}:M")

    assert {r.metric: r.value for r in result.results}["exact_match"] == 1.0
