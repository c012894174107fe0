"""The acceptance list of the vlmeval dialect (CONTRACTS 2.4), item by item."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas
import pytest
from PIL import Image as pillow

from assay.cli.main import main
from assay.dialects.kits.smp import (
    decode_base64_to_image,
    encode_image_file_to_base64,
    encode_image_to_base64,
    load,
)
from assay.dialects.vlmeval.vlmeval_command import evaluate
from assay.dialects.vlmeval.vlmeval_toolkit import TOOLKIT
from assay.store import RunReader

FIELDS = "index image question hint A B C D answer category l2-category split"


def animals(picture, rotations=range(4), questions=range(3)):
    """Questions about an animal, each rotated; the right option is the one the picture's red stands for."""
    options = ["cat", "dog", "cow", "None"]
    for question in questions:
        for rotation in rotations:
            shown = options[rotation:] + options[:rotation]
            image = picture(question) if rotation == 0 else question
            letter = "ABCD"[shown.index(options[question])]
            index = question + rotation * 1_000_000
            yield [
                index,
                image,
                f"Which animal {question}?",
                "",
                *shown,
                letter,
                "animals",
                "coarse_perception",
                "dev",
            ]


def test_item_1_a_tsv_and_an_early_model_give_predictions_and_accuracy_by_category(
    table, picture, early_model, run
):
    rows = [
        [
            n,
            picture(n),
            "What?",
            "",
            "cat",
            "dog",
            "",
            "",
            "A",
            f"c{n % 2}",
            "l2",
            "dev",
        ]
        for n in range(4)
    ]
    path = table("Mine", FIELDS, rows)

    result = run(path, early_model({0: "A", 1: "The answer is B.", 2: "cat", 3: "A"}))

    assert result.status == "complete"
    said = {
        record.id: record.output["candidates"][0]["text"]
        for record in RunReader(result.folder).outputs()
    }
    assert said == {"0": "A", "1": "The answer is B.", "2": "cat", "3": "A"}
    assert result.value("exact_matching") == 0.75
    by_category = result[0].groups["category"]
    assert {name: group.value for name, group in by_category.items()} == {
        "c0": 1.0,
        "c1": 0.5,
    }


def test_item_2_a_dataset_class_is_given_rows_and_numbers_and_lists_of_pictures(
    table, picture, file, run
):
    rows = [
        [0, picture(1), "one?", "1"],
        [1, f"['{picture(1)}', '{picture(2)}']", "two?", "2"],
    ]
    path = table("MyBench", "index image question answer", rows)
    dataset = file(
        "my_dataset.py",
        """
        from vlmeval.utils import TSVDataset

        class MyDataset(TSVDataset):
            def build_prompt(self, line, dataset=None):
                if isinstance(line, int):
                    line = self.data.iloc[line]
                paths = self.dump_image(line)
                return dict(image=paths if len(paths) > 1 else paths[0], text='Q: ' + line['question'])
        """,
    )
    model = file(
        "my_model.py",
        """
        class Several:
            def generate(self, image_path, prompt, dataset=None):
                assert isinstance(image_path, str) and dataset == 'MyBench' and prompt.startswith('Q: ')
                return '1'

            def multi_generate(self, image_paths, prompt, dataset=None):
                return str(len(image_paths))
        """,
    )

    result = run(dataset, f"{model}:Several", data=str(path))
    instance = TOOLKIT.load(dataset).module.MyDataset("MyBench")

    assert result.value("exact_match") == 1.0
    assert instance.build_prompt(0)["text"] == "Q: one?"
    assert len(instance.build_prompt(instance.data.iloc[1])["image"]) == 2


CUSTOM_PROMPT = """
    from vlmeval.vlm.base import BaseModel

    class Early:
        def generate(self, image_path, prompt, dataset=None):
            return prompt

        def build_prompt(self, line, dataset=None):
            return dict(image=None, text=f"mine {line['question']} {dataset}")

    class Newer(BaseModel):
        def use_custom_prompt(self, dataset):
            return dataset == 'Yes'

        def build_prompt(self, line, dataset=None):
            paths = self.dump_image(line, dataset)
            return [dict(type='image', value=p) for p in paths] + [dict(type='text', value='mine ' + line['question'])]

        def generate_inner(self, message, dataset=None):
            return message[-1]['value']
"""


@pytest.mark.parametrize(
    ("model", "dataset", "asked"),
    [("Early", "No", "mine Q No"), ("Newer", "Yes", "mine Q"), ("Newer", "No", "Q")],
)
def test_item_3_a_models_own_prompt_wins_always_early_and_by_its_word_later(
    table, picture, file, run, model, dataset, asked
):
    path = table(dataset, "index image question answer", [[0, picture(0), "Q", asked]])

    result = run(path, f"{file('m.py', CUSTOM_PROMPT)}:{model}")

    assert result.value("exact_match") == 1.0


def test_item_4_pictures_by_reference_list_and_path_resolve_and_a_malformed_list_is_a_row_error(
    table, picture, file, run, lmu, tmp_path
):
    (lmu / "images" / "Mixed").mkdir(parents=True)
    for name in ("a.png", "b.png"):
        pillow.new("RGB", (4, 4)).save(lmu / "images" / "Mixed" / name)
    mark = tmp_path / "executed"
    path = table(
        "Mixed",
        "index image image_path question answer",
        [
            [0, picture(7), "", "?", "1"],
            [1, "0", "", "?", "1"],
            [2, f"['{picture(1)}', '{picture(2)}']", "", "?", "2"],
            [3, "", "['a.png', 'b.png']", "?", "2"],
            [4, "['unclosed", "", "?", "1"],
            [5, f"[open('{mark}', 'w')]", "", "?", "1"],
        ],
    )
    model = file(
        "count.py",
        """
        class Count:
            def generate(self, image_path, prompt, dataset=None):
                from PIL import Image
                Image.open(image_path).load()
                return '1'

            def multi_generate(self, image_paths, prompt, dataset=None):
                return str(len(image_paths))
        """,
    )

    result = run(path, f"{model}:Count")

    assert result.status == "partial"
    assert result[0].value == 1.0
    assert result[0].outcomes == {"scored": 4, "data_error": 2}
    assert not mark.exists()


def test_item_5_rotated_rows_give_circular_accuracy_and_accuracy_by_rotation(
    table, picture, early_model, run
):
    path = table("MMBench_DEV_EN", FIELDS, list(animals(picture)))

    result = run(path, early_model({0: "cat", 1: "A", 2: "cow"}))

    assert result.value("exact_matching.circular") == pytest.approx(2 / 3)
    assert result.value("exact_matching") == pytest.approx(9 / 12)
    rotations = result[1].groups["rotation"]
    assert {name: group.n for name, group in rotations.items()} == {
        "0": 3,
        "1": 3,
        "2": 3,
        "3": 3,
    }


def test_item_5_a_rotation_that_is_missing_is_reported(
    table, picture, early_model, run
):
    rows = [row for row in animals(picture) if row[0] != 2_000_001]
    path = table("MMBench_DEV_EN", FIELDS, rows)

    result = run(path, early_model({0: "cat", 1: "dog", 2: "cow"}))

    circular = result[0]
    assert (circular.n, circular.n_expected, circular.value) == (2, 3, 1.0)
    assert "1 of 3 groups lack some of their samples" in circular.flags
    assert result.status == "partial"


def test_item_5_rotations_are_recognised_by_the_image_they_borrow_under_any_name(
    table, picture, early_model, run
):
    path = table("Whatever", FIELDS, list(animals(picture)))

    result = run(path, early_model({0: "cat", 1: "dog", 2: "cow"}))

    assert result.value("exact_matching.circular") == 1.0


JUDGE = """
    def judge(text):
        return {REPLY}
"""


def test_item_6_rules_and_judge_are_both_reported_and_no_letter_is_drawn_at_random(
    table, picture, early_model, file, run
):
    rows = [
        [n, picture(n), "What?", "", "a cat", "a dog", "", "", "A", "c", "l2", "dev"]
        for n in range(3)
    ]
    path = table("Mine", FIELDS, rows)
    reply = "'A' if 'feline' in text else 'Z' if 'mumble' in text else 'no idea, sorry'"
    judge = file("judge.py", JUDGE.replace("{REPLY}", reply)) + ":judge"

    answers = {0: "some feline", 1: "mumble mumble", 2: "unclear words"}
    result = run(path, early_model(answers), judges={"judge": judge})

    exact, judged = result[0], result[1]
    assert (exact.metric, exact.value, exact.outcomes) == (
        "exact_matching",
        0.0,
        {"unparsed": 3},
    )
    assert judged.metric == "judge"
    assert judged.outcomes == {"scored": 1, "unparsed": 1, "judge_error": 1}
    assert judged.value == 0.5


def test_item_7_mme_gives_acc_and_acc_plus_and_their_sums(
    table, picture, early_model, run
):
    rows = [
        [0, picture(1), "a.jpg", "Is it?", "Yes", "existence"],
        [1, "", "a.jpg", "Is it not?", "Yes", "existence"],
        [2, picture(1), "b.jpg", "Is it?", "Yes", "existence"],
        [3, "", "b.jpg", "Is it not?", "No", "existence"],
        [4, picture(1), "c.jpg", "Is it?", "Yes", "code_reasoning"],
        [5, "", "c.jpg", "Is it not?", "Yes", "code_reasoning"],
    ]
    path = table("MME", "index image image_path question answer category", rows)

    result = run(path, early_model({1: "Yes, it is."}))

    assert result.value("perception") == 125.0
    assert result.value("reasoning") == 200.0
    existence = result[0].groups["category"]["existence"].details
    assert (existence["acc"], existence["acc_plus"]) == (75.0, 50.0)


def test_item_7_mmvet_gives_the_means_of_capabilities(
    table, picture, early_model, file, run
):
    rows = [
        [0, picture(0), "What?", "x <AND> y", "rec"],
        [1, picture(1), "What?", "z", "ocr,math"],
        [2, picture(2), "What?", "z", "rec,math"],
    ]
    path = table("MMVet", "index image question answer category", rows)
    reply = "'0.5' if '| half |' in text else '1.0' if '| whole |' in text else 'the grade is good'"
    judge = file("judge.py", JUDGE.replace("{REPLY}", reply)) + ":judge"

    result = run(
        path, early_model({0: "half", 1: "whole", 2: "odd"}), judges={"judge": judge}
    )

    (row,) = result
    assert (row.metric, row.value, row.n) == ("mmvet", 75.0, 2)
    assert row.outcomes == {"scored": 2, "judge_error": 1}
    assert {name: group.value for name, group in row.groups["capability"].items()} == {
        "rec": 50.0,
        "ocr": 100.0,
        "math": 100.0,
    }
    assert set(row.groups["combination"]) == {"rec", "ocr,math", "rec,math"}


MORTAL_MODEL = """
    import os, signal, time

    class Mortal:
        def generate(self, image_path, prompt, dataset=None):
            with open('calls.txt', 'a') as log:
                log.write(prompt + '\\n')
            if not os.path.exists('killed'):
                time.sleep(0.01)
                if prompt == 'question-9':
                    open('killed', 'w').close()
                    os.kill(os.getpid(), signal.SIGKILL)
            return 'A'
"""


def test_item_8_a_killed_run_continues_with_nothing_repeated_and_nothing_lost(
    table, picture, file, tmp_path, lmu
):
    rows = [[n, picture(0), f"question-{n}", "answer"] for n in range(40)]
    path = table("Kill", "index image question answer", rows)
    model = file("mortal.py", MORTAL_MODEL) + ":Mortal"
    command = ["run", str(path), "--model", model, "-o", "r"]
    calls = tmp_path / "calls.txt"

    killed = subprocess.run(
        [sys.executable, "-m", "assay.cli.main", *command],
        capture_output=True,
        check=False,
    )
    kept = {record.id for record in RunReader(tmp_path / "r").outputs()}
    asked_before = calls.read_text().split()
    done = main(command)

    assert (killed.returncode, done) == (-signal.SIGKILL, 0) and kept
    asked_after = calls.read_text().split()[len(asked_before) :]
    assert not {f"question-{n}" for n in kept} & set(asked_after)
    assert len(list(RunReader(tmp_path / "r").outputs())) == 40


def test_item_8_awkward_predictions_survive_exactly(
    table, picture, early_model, run, tmp_path
):
    long = 'code "x"\r\n\t' * 10_000
    answers = {0: "NA", 1: "None", 2: "1", 3: long, 4: "=1+1", 5: ""}
    path = table(
        "Words",
        "index image question answer",
        [[n, picture(n), "?", "x"] for n in answers],
    )

    (result,) = evaluate(
        ["--data", str(path), "--model", early_model(answers), "--work-dir", "out"]
    )

    assert result.status == "complete"
    saved = load(tmp_path / "out" / "Reader" / "Reader_Words.xlsx")
    assert list(saved["prediction"]) == list(answers.values())
    recorded = {
        record.id: record.output["candidates"][0]["text"]
        for record in RunReader(result.folder).outputs()
    }
    assert recorded == {str(n): text for n, text in answers.items()}


def test_item_9_inference_here_and_evaluation_there_with_only_the_run_folder(
    table, picture, early_model, tmp_path, monkeypatch
):
    path = table("MMBench_DEV_EN", FIELDS, list(animals(picture)))
    model = early_model({0: "cat", 1: "dog", 2: "A"})

    (inferred,) = evaluate(
        [
            "--data",
            "MMBench_DEV_EN",
            "--model",
            model,
            "--mode",
            "infer",
            "--work-dir",
            "out",
        ]
    )
    there = tmp_path / "there"
    shutil.copytree(tmp_path / "out", there / "out", symlinks=True)
    path.unlink()
    Path(model.partition(":")[0]).unlink()
    monkeypatch.chdir(there)
    (judged,) = evaluate(
        [
            "--data",
            "MMBench_DEV_EN",
            "--model",
            model,
            "--mode",
            "eval",
            "--work-dir",
            "out",
        ]
    )

    assert [r.metric for r in inferred] == ["answered"]
    assert judged.value("exact_matching.circular") == pytest.approx(2 / 3)
    assert (there / "out" / "Reader" / "Reader_MMBench_DEV_EN_acc.csv").exists()


def test_item_10_the_base64_helpers_round_trip_a_png_with_alpha(tmp_path):
    glass = pillow.new("RGBA", (3, 3), (1, 2, 3, 77))
    glass.save(tmp_path / "glass.png")

    from_picture = decode_base64_to_image(encode_image_to_base64(glass))
    from_file = decode_base64_to_image(
        encode_image_file_to_base64(tmp_path / "glass.png")
    )

    assert from_picture.tobytes() == from_file.tobytes() == glass.tobytes()


def test_the_promised_files_are_where_vlmevalkit_puts_them(
    table, picture, early_model, tmp_path
):
    table("MMBench_DEV_EN", FIELDS, list(animals(picture)))

    list(
        evaluate(
            [
                "--data",
                "MMBench_DEV_EN",
                "--model",
                early_model({0: "cat", 1: "dog", 2: "A"}),
            ]
        )
    )

    home = tmp_path / "outputs" / "Reader"
    (folder,) = home.glob("T*")
    status = json.loads((folder / "status.json").read_text())
    assert status["MMBench_DEV_EN"]["metrics"]["exact_matching"] == pytest.approx(
        9 / 12
    )
    accuracy = pandas.read_csv(home / "Reader_MMBench_DEV_EN_acc.csv")
    assert list(accuracy.columns) == ["split", "Overall", "CP", "animals"]
    assert accuracy["Overall"][0] == pytest.approx(2 / 3)
    predictions = load(home / "Reader_MMBench_DEV_EN.xlsx")
    assert list(predictions.columns) == [
        *FIELDS.replace("image ", "").split(),
        "prediction",
    ]
    assert (home / "Reader_MMBench_DEV_EN.xlsx").is_symlink()
