"""Where VLMEvalKit goes wrong (CONTRACTS 2.3), and what happens here."""

import json
import pickle
import subprocess
import sys

import pytest

from assay.core import AssayError, UsageError
from assay.dialects.vlmeval.tsv_dataset import can_infer
from assay.dialects.vlmeval.vlmeval_command import evaluate
from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT
from assay.store import RunReader

CHOICES = "index image question A B answer"


def test_1_exact_matching_really_matches(table, picture, early_model, run):
    rows = [
        [0, picture(0), "?", "cat", "dog", "A"],
        [1_000_000, "0", "?", "dog", "cat", "B"],
    ]
    path = table("MMBench", CHOICES, rows)

    assert run(path, early_model({0: "cat"})).value("exact_matching.circular") == 1.0


def test_2_an_unreadable_answer_is_always_unparsed(
    table, picture, early_model, run, tmp_path
):
    path = table("Mine", CHOICES, [[0, picture(0), "?", "x", "y", "A"]])

    results = [
        run(path, early_model({0: "hm"}), output=tmp_path / str(n)) for n in range(3)
    ]

    assert [result[0].outcomes for result in results] == [{"unparsed": 1}] * 3


def test_3_the_environment_does_not_change_what_is_read(monkeypatch):
    choices = {"A": "A cat sits on the mat", "B": "dog"}
    before = can_infer("A cat sits on the mat", choices)
    monkeypatch.setenv("VERBOSE", "1")

    assert before == can_infer("A cat sits on the mat", choices) == "A"


def test_4_a_judge_that_does_not_answer_is_counted_not_replaced(
    table, picture, early_model, file, run
):
    path = table("Mine", CHOICES, [[0, picture(0), "?", "x", "y", "A"]])
    judge = (
        file("judge.py", "def judge(text):\n    raise RuntimeError('down')\n")
        + ":judge"
    )

    judges = {"judge": judge}
    result = run(path, early_model({0: "hm"}), judges=judges, on_error="continue")

    assert result[1].outcomes == {"judge_error": 1}
    assert result[1].value is None


def test_6_served_predictions_make_no_trip_through_excel(
    table, picture, early_model, file, run
):
    table(
        "Mine",
        "index image question answer",
        [[n, picture(n), "?", "x"] for n in range(4)],
    )
    dataset = file(
        "d.py",
        """
        from vlmeval.smp import *
        from vlmeval.dataset import ImageBaseDataset

        class Mine(ImageBaseDataset):
            DATASET_URL = {'Mine': ''}

            def evaluate(self, eval_file, **judge_kwargs):
                data = load(eval_file)
                exact = [p in ('NA', 'None', '1', '=1+1') and isinstance(p, str) for p in data['prediction']]
                assert osp.exists(eval_file) and 'image' not in data and data['index'].tolist() == [0, 1, 2, 3]
                return {'exact': float(np.mean(exact))}
        """,
    )

    result = run(dataset, early_model({0: "NA", 1: "None", 2: "1", 3: "=1+1"}))

    assert result.value("evaluate.exact") == 1.0


def test_7_and_15_importing_the_names_loads_no_torch_and_touches_no_tls(file):
    guest = file(
        "x.py",
        "import ssl\nbefore = ssl._create_default_https_context\n"
        "import vlmeval\nfrom vlmeval.smp import *\nfrom vlmeval.dataset import *\n"
        "import sys\nprint('torch' in sys.modules, ssl._create_default_https_context is before)\n",
    )

    # In a process of its own: here, a test before this one may have loaded torch.
    said = subprocess.run(
        [sys.executable, "-m", "assay", "python", str(guest)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert said.stdout.split() == ["False", "True"]


def test_8_a_foreign_pickle_is_not_read_without_consent(file, tmp_path):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({1: 2}))
    module = TOOLKIT.load(file("x.py", "from vlmeval.smp import load, dump")).module

    with pytest.raises(UsageError, match="--trust-pickle"):
        module.load(tmp_path / "x.pkl")


def test_10_one_failing_sample_does_not_stop_the_others(
    table, picture, early_model, run
):
    path = table(
        "Mine",
        "index image question answer",
        [[n, picture(n), "?", "x"] for n in range(3)],
    )

    result = run(path, early_model({0: "x", 2: "x"}), on_error="continue")

    assert result[0].outcomes == {"scored": 2, "model_error": 1}
    assert result.status == "partial"


def test_13_a_failed_pair_is_reported_in_the_result(table, picture, file):
    path = table("Mine", "index image question answer", [[0, picture(0), "?", "x"]])
    model = file(
        "m.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return None\n",
    )

    (result,) = evaluate(["--data", str(path), "--model", f"{model}:M"])

    assert result.status == "failed"
    assert result.exit_code == 1


def test_14_changed_pixels_are_never_taken_from_an_old_file(
    table, picture, early_model, run, tmp_path
):
    model = early_model({1: "one", 2: "two"})
    for red, word in ((1, "one"), (2, "two")):
        path = table(
            "Mine", "index image question answer", [[0, picture(red), "?", word]]
        )

        assert run(path, model, output=tmp_path / word).value("exact_match") == 1.0


@pytest.mark.parametrize("flag", ["--key", "--judge-key"])
def test_12_a_key_on_the_command_line_is_refused_and_reaches_neither_a_file_nor_the_message(
    table, picture, early_model, tmp_path, flag
):
    path = table("Mine", "index image question answer", [[0, picture(0), "?", "x"]])

    with pytest.raises(
        UsageError, match=f"{flag} takes the name of an environment variable"
    ) as refused:
        list(
            evaluate(
                [
                    "--data",
                    str(path),
                    "--model",
                    early_model({0: "x"}),
                    flag,
                    "sk-very-secret",
                ]
            )
        )

    assert "sk-very-secret" not in str(refused.value)
    assert all(
        b"sk-very-secret" not in f.read_bytes()
        for f in tmp_path.rglob("*")
        if f.is_file()
    )


def test_a_falsy_answer_is_kept(table, picture, file, run):
    path = table("Mine", "index image question answer", [[0, picture(0), "?", "0"]])
    model = file(
        "m.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return 0\n",
    )

    result = run(path, f"{model}:M")

    assert result.value("exact_match") == 1.0


def test_a_wrong_shape_names_the_model(table, picture, file, run):
    path = table("Mine", "index image question answer", [[0, picture(0), "?", "0"]])
    model = file(
        "m.py",
        "class M:\n    def generate(self, image_path, prompt, dataset=None):\n        return ['a']\n",
    )

    result = run(path, f"{model}:M")

    (record,) = RunReader(result.folder).outputs()
    assert "m.py:M returned ['a']; it must return the answer as text" in json.dumps(
        record.output
    )


def test_several_pictures_for_a_model_of_one_are_a_counted_failure(
    table, picture, early_model, run
):
    path = table(
        "Mine",
        "index image question answer",
        [[0, f"['{picture(1)}', '{picture(2)}']", "?", "0"]],
    )

    result = run(path, early_model({1: "x"}), on_error="continue")

    assert result[0].outcomes == {"model_error": 1}
    assert any(
        "2 images and Reader has no multi_generate" in note for note in result.notes
    )


def test_an_unknown_name_says_the_dialect(file):
    with pytest.raises(
        AssayError, match=r"the vlmeval dialect has no 'nonsense' in 'vlmeval\.smp'"
    ):
        TOOLKIT.load(file("x.py", "from vlmeval.smp import nonsense")).module


def test_a_row_the_users_prompt_cannot_handle_is_counted(
    table, picture, file, early_model, run
):
    table(
        "Mine",
        "index image question answer",
        [[0, picture(0), "?", "x"], [1, picture(0), "", "x"]],
    )
    dataset = file(
        "d.py",
        """
        from vlmeval.utils import TSVDataset

        class Mine(TSVDataset):
            def build_prompt(self, line, dataset=None):
                return dict(image=self.dump_image(line)[0], text=line['question'].upper())
        """,
    )

    result = run(dataset, early_model({0: "x"}))

    assert result[0].outcomes == {"scored": 1, "data_error": 1}


@pytest.fixture
def faraway(tmp_path):
    """A picture outside the data folder, by its whole path."""
    from PIL import Image as pillow

    folder = tmp_path / "faraway"
    folder.mkdir()
    pillow.new("RGB", (4, 4)).save(folder / "there.png")
    return folder / "there.png"


def test_a_table_of_the_users_own_in_lmudata_may_name_whole_paths(
    table, early_model, run, faraway
):
    path = table(
        "Paths", "index image_path question answer", [[0, str(faraway), "?", "x"]]
    )

    result = run(path, early_model({0: "x"}))

    assert result[0].outcomes == {"scored": 1}


def test_a_table_elsewhere_cannot_name_a_file_outside_its_data(
    table, early_model, run, faraway, tmp_path, lmu
):
    from PIL import Image as pillow

    folder = tmp_path / "downloads"
    folder.mkdir()
    pillow.new("RGB", (4, 4)).save(folder / "beside.png")
    rows = [[0, str(folder / "beside.png"), "?", "x"], [1, str(faraway), "?", "x"]]
    path = table("Paths", "index image_path question answer", rows).rename(
        folder / "Paths.tsv"
    )

    result = run(path, early_model({0: "x"}))

    assert result[0].outcomes == {"scored": 1, "data_error": 1}
    assert any(
        "is outside the data folder" in note and "--media_root DIR" in note
        for note in result.notes
    )


def test_the_folder_named_by_media_root_may_be_named_by_rows(
    table, early_model, run, faraway, tmp_path
):
    folder = tmp_path / "downloads"
    folder.mkdir()
    rows = [[0, str(faraway), "?", "x"], [1, "there.png", "?", "x"]]
    path = table("Paths", "index image_path question answer", rows).rename(
        folder / "Paths.tsv"
    )

    result = run(path, early_model({0: "x"}), media_root=str(faraway.parent))

    assert result[0].outcomes == {"scored": 2}


def test_a_relative_name_never_leads_out_of_the_data_folder(
    table, early_model, run, faraway
):
    path = table(
        "Paths",
        "index image_path question answer",
        [[0, "../faraway/there.png", "?", "x"]],
    )

    with pytest.raises(AssayError, match="is outside the data folder"):
        run(path, early_model({0: "x"}))


def test_a_table_with_a_url_stays_inside_its_data_even_in_lmudata(
    table, file, early_model, run, faraway
):
    table(
        "Paths",
        "index image_path question answer",
        [[0, str(faraway), "?", "x"], [1, "in.png", "?", "x"]],
    )
    dataset = file(
        "d.py",
        """
        from vlmeval.dataset import ImageBaseDataset

        class Paths(ImageBaseDataset):
            TYPE = 'VQA'
            DATASET_URL = {'Paths': 'https://example.invalid/Paths.tsv'}
        """,
    )

    result = run(dataset, early_model({0: "x"}), on_error="continue")

    assert any("is outside the data folder" in note for note in result.notes)


@pytest.mark.parametrize(
    ("name", "kind", "modality"),
    [
        ("ScienceQA_VAL", "MCQ", "IMAGE"),
        ("COCO_VAL", "Caption", "IMAGE"),
        ("POPE", "Y/N", "IMAGE"),
        ("MMDU", "MT", "IMAGE"),
        ("Video-MME", "Video-MCQ", "VIDEO"),
        ("Mine_openended", "VQA", "IMAGE"),
        ("Mine", "MCQ", "IMAGE"),
    ],
)
def test_a_name_that_upstream_knows_has_its_type_and_another_is_multiple_choice(
    name, kind, modality
):
    from assay.dialects.protocol import OURS, UPSTREAM, choose
    from assay.dialects.vlmeval.dataset_names import DATASET_MODALITY, DATASET_TYPE

    choose("vlmeval", UPSTREAM)
    try:
        found = DATASET_TYPE(name), DATASET_MODALITY(name)
    finally:
        choose("vlmeval", OURS)

    assert found == (kind, modality)
