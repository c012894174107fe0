"""Prediction files of `assay vlmeval`: which one is read, which is refused, and which are left after failures."""

import json

import pytest

from assay.core import AssayError, UsageError
from assay.dialects import protocol
from assay.dialects.vlmeval.vlmeval_command import evaluate

EVAL = ["--data", "good", "--mode", "eval", "--work-dir", "w"]
WRONG, RIGHT = ["B", "A", "B", "A"], ["A", "B", "A", "B"]


@pytest.fixture(autouse=True)
def ours():
    yield
    protocol.choose("vlmeval", protocol.OURS)


@pytest.fixture
def good(table, picture):
    rows = [[n, picture(n), f"what {n}?", "cat", "dog", RIGHT[n]] for n in range(4)]
    return table("good", "index image question A B answer", rows)


def write_predictions(path, predictions, **changes):
    import pandas

    columns = {
        "index": range(4),
        "question": [f"what {n}?" for n in range(4)],
        "answer": RIGHT,
        "prediction": predictions,
        **changes,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pandas.DataFrame(columns).to_excel(path, index=False)


def value(results):
    (result,) = results
    return result.value("exact_matching")


@pytest.mark.parametrize("more", [[], ["--reuse"], ["--fresh"]])
def test_a_replaced_prediction_file_is_read_again(good, tmp_path, more):
    file = tmp_path / "w/M/M_good.xlsx"
    arguments = [*EVAL, "--model", "M", *more]
    write_predictions(file, WRONG)
    assert value(evaluate(arguments)) == 0.0
    write_predictions(file, RIGHT)

    (result,) = evaluate(arguments)

    assert result.value("exact_matching") == 1.0
    assert any("predictions read from w/M/M_good.xlsx" in n for n in result.notes)
    assert "1.0" in (tmp_path / "w/M/M_good_acc.csv").read_text()
    assert value(evaluate(arguments)) == 1.0
    write_predictions(file, WRONG)
    assert value(evaluate(arguments)) == 0.0
    assert file.is_file() and not file.is_symlink()


def test_a_prediction_file_of_assay_that_the_user_edits_is_read_again(
    good, file, tmp_path
):
    model = file(
        "m.py",
        """
        class Wrong:
            def generate(self, image_path, prompt, dataset=None):
                return 'C'
        """,
    )
    (first,) = evaluate(
        ["--data", "good", "--model", f"{model}:Wrong", "--work-dir", "w"]
    )
    assert first.value("exact_matching") == 0.0
    (written,) = (tmp_path / "w/Wrong").glob("T*/Wrong_good.xlsx")
    write_predictions(written, RIGHT)

    again = evaluate([*EVAL, "--model", f"{model}:Wrong"])

    assert value(again) == 1.0


def test_an_unchanged_prediction_file_is_not_read_again(good, tmp_path):
    write_predictions(tmp_path / "w/M/M_good.xlsx", RIGHT)
    (first,) = evaluate([*EVAL, "--model", "M"])

    (second,) = evaluate([*EVAL, "--model", "M"])

    assert second.folder == first.folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"index": range(3, 7)}, "3 rows that good lacks, the first with index '4'"),
        ({"question": ["which?"] * 4}, "4 rows .* are not those of good: .*index '0'"),
        ({"A": ["dog"] * 4, "B": ["cat"] * 4}, "4 rows .* at index '0' it has 'dog', the dataset 'cat'"),
        ({"index": [0, 1, 2, 0]}, "two predictions for index '0': 'A' and 'B'"),
    ],
)  # fmt: skip
def test_predictions_of_another_dataset_are_refused(good, tmp_path, changes, message):
    write_predictions(tmp_path / "w/N/N_good.xlsx", RIGHT, **changes)

    with pytest.raises(UsageError, match=message):
        list(evaluate([*EVAL, "--model", "N"]))


def test_predictions_of_a_part_of_the_dataset_are_scored_as_a_part(good, tmp_path):
    import pandas

    file = tmp_path / "w/M/M_good.xlsx"
    write_predictions(file, RIGHT)
    pandas.read_excel(file).iloc[:3].to_excel(file, index=False)

    (result,) = evaluate([*EVAL, "--model", "M"])

    assert (result[0].n, result[0].n_expected, result.status) == (3, 4, "partial")


def test_questions_that_a_spreadsheet_changed_are_the_same_questions(
    table, picture, tmp_path
):
    row = [0, picture(1), "what\\n is  it?", "cat", "dog", "A"]
    table("good", "index image question A B answer", [row])
    write_predictions(
        tmp_path / "w/M/M_good.xlsx",
        ["A"],
        index=[0],
        answer=["A"],
        question=["what\\n is it?_x000D_"],
    )

    assert value(evaluate([*EVAL, "--model", "M"])) == 1.0


def test_options_that_a_spreadsheet_reads_as_numbers_are_the_same_options(
    table, picture, tmp_path
):
    row = [0, picture(1), "how many?", "2.50", "007", "A"]
    table("good", "index image question A B answer", [row])
    changes = {"index": [0], "question": ["how many?"], "answer": ["A"]}
    write_predictions(tmp_path / "w/M/M_good.xlsx", ["A"], **changes, A=[2.5], B=[7])

    assert value(evaluate([*EVAL, "--model", "M"])) == 1.0


@pytest.mark.parametrize("name", ["GPT4o", "Qwen2-VL-7B"])
def test_plain_names_of_upstreams_models_are_enough_for_eval(good, tmp_path, name):
    write_predictions(tmp_path / f"w/{name}/{name}_good.xlsx", RIGHT)

    assert value(evaluate([*EVAL, "--model", name])) == 1.0


def test_a_name_without_predictions_is_an_error(good):
    with pytest.raises(UsageError, match="no predictions of GPT4o on good"):
        list(evaluate([*EVAL, "--model", "GPT4o"]))


RAISES = """
    from vlmeval.vlm import BaseModel

    class Bad(BaseModel):
        def generate_inner(self, message, dataset=None):
            raise RuntimeError('weights missing')
"""
VAGUE = """
    class Vague:
        def generate(self, image_path, prompt, dataset=None):
            return 'an animal of some kind'
"""


def files_of(tmp_path, model):
    (folder,) = (tmp_path / "w" / model).glob("T*")
    assert (folder / f"{model}_good.xlsx").is_file()
    return json.loads((folder / "status.json").read_text())["good"]


@pytest.mark.parametrize("more", [[], ["--upstream"]])
def test_a_model_that_always_raises_is_shown_and_leaves_its_files(
    good, file, tmp_path, more
):
    model = file("bad.py", RAISES)

    (result,) = evaluate(
        ["--data", "good", "--model", f"{model}:Bad", "--work-dir", "w", *more]
    )

    assert result.exit_code == 1
    assert any("weights missing" in note for note in result.notes)
    assert files_of(tmp_path, "Bad")["failures"]["exact_matching"] == {"model_error": 4}


@pytest.mark.parametrize("column", ["index", "image"])
def test_a_table_without_an_index_or_an_image_is_run(good, tmp_path, column):
    import pandas

    kept = pandas.read_csv(good, sep="\t").drop(columns=column)
    kept.to_csv(good, sep="\t", index=False)
    model = tmp_path / "any.py"
    model.write_text(
        "class Any:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'A'\n"
    )

    (result,) = evaluate(
        ["--data", "good", "--model", f"{model}:Any", "--work-dir", "w"]
    )

    assert result.value("exact_matching") == 0.5
    assert files_of(tmp_path, "Any")["status"] == "complete"


@pytest.mark.parametrize(
    "body", ["raise RuntimeError('down')", "return 'hm'", "return None"]
)
@pytest.mark.parametrize("more", [[], ["--upstream"]])
def test_a_judge_that_is_down_is_shown_and_leaves_the_files(
    good, file, tmp_path, body, more
):
    model = file("vague.py", VAGUE)
    judge = file("j.py", f"def judge(prompt):\n    {body}\n")
    arguments = ["--data", "good", "--model", f"{model}:Vague", "--work-dir", "w"]

    (result,) = evaluate([*arguments, "--judge", f"{judge}:judge", *more])

    status = files_of(tmp_path, "Vague")
    assert status["status"] == result.status
    assert any("judge" in note for note in result.notes) or result.status == "complete"


@pytest.mark.parametrize("more", [[], ["--upstream"]])
def test_mmvet_leaves_the_judges_files_under_both_rules(
    table, picture, file, tmp_path, more
):
    rows = [[n, picture(n), "what?", "a cat", "ocr"] for n in range(2)]
    table("MMVet", "index image question answer category", rows)
    model = file("vague.py", VAGUE)
    judge = file("j.py", "def judge(prompt):\n    return '0.5'\n")
    arguments = ["--data", "MMVet", "--model", f"{model}:Vague", "--work-dir", "w"]

    (result,) = evaluate([*arguments, "--judge", f"{judge}:judge", *more])

    (folder,) = (tmp_path / "w/Vague").glob("T*")
    names = {path.name for path in folder.glob("Vague_MMVet*")}
    assert result[0].value == 50.0
    assert names == {
        "Vague_MMVet.xlsx",
        "Vague_MMVet_judge.xlsx",
        "Vague_MMVet_judge_score.csv",
        "Vague_MMVet_judge_score_fine.csv",
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("N_good.xlsx", b""),
        ("N_good.xlsx", b"PK\x03\x04cut off"),
        ("N_good.tsv", b"\xff\xfe\x00index"),
        ("N_good.tsv", b"index\tprediction\n0\n"),
        ("N_good.json", b'{"index":'),
        ("N_good.json", b"[1, 2]"),
        ("N_good.json", b'{"0": "A"}'),
    ],
)
def test_a_damaged_prediction_file_is_named(good, tmp_path, name, content):
    (tmp_path / "w/N").mkdir(parents=True)
    (tmp_path / "w/N" / name).write_bytes(content)

    with pytest.raises(AssayError) as caught:
        list(evaluate([*EVAL, "--model", "N"]))

    assert name in str(caught.value) and caught.value.exit_code == 2


def test_a_prediction_file_in_another_format_is_named(good, tmp_path):
    (tmp_path / "w/N").mkdir(parents=True)
    (tmp_path / "w/N/N_good.pkl").write_bytes(b"anything")

    with pytest.raises(UsageError, match=r"write N_good\.pkl as N_good\.xlsx"):
        list(evaluate([*EVAL, "--model", "N"]))


def test_predictions_need_no_column_but_index_and_prediction(good, tmp_path):
    rows = [{"index": float(n), "prediction": letter} for n, letter in enumerate(RIGHT)]
    (tmp_path / "w/N").mkdir(parents=True)
    (tmp_path / "w/N/N_good.json").write_text(json.dumps(rows))

    assert value(evaluate([*EVAL, "--model", "N"])) == 1.0


def test_exact_texts_of_a_workbook_stay_with_their_rows_when_rows_are_removed(
    good, file, tmp_path
):
    import openpyxl

    model = file(
        "m.py",
        """
        class Long:
            def generate(self, image_path, prompt, dataset=None):
                return 'B' if 'what 0?' in prompt else '=A' if 'what 2?' in prompt else 'B ' + ' ' * 40_000
        """,
    )
    (_,) = evaluate(["--data", "good", "--model", f"{model}:Long", "--work-dir", "w"])
    (written,) = (tmp_path / "w/Long").glob("T*/Long_good.xlsx")
    book = openpyxl.load_workbook(written)
    book["Sheet1"].delete_rows(2)
    book.save(written)

    from assay.datasets.excel import read_excel

    header, rows = read_excel(written)
    column = header.index("prediction")
    predictions = {
        int(row[header.index("index")]): str(row[column])[:2] for row in rows
    }
    assert predictions == {1: "B ", 2: "=A", 3: "B "}
