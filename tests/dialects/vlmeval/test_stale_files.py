"""An evaluation never takes a file for its own that was made of other predictions."""

from assay.dialects.vlmeval.vlmeval_command import evaluate
from assay.runner.run import score

DATASET = """
    from vlmeval.smp import *
    from vlmeval.dataset.image_base import ImageBaseDataset

    class Mine(ImageBaseDataset):
        TYPE = 'VQA'
        DATASET_URL = {'toyv': ''}

        def evaluate(self, eval_file, **judge_kwargs):
            storage = get_intermediate_file_path(eval_file, '_judge')
            if not osp.exists(storage):
                data = load(eval_file)
                data['hit'] = [int(p == a) for p, a in zip(data['prediction'], data['answer'])]
                dump(data, storage)
            return {'acc': float(load(storage)['hit'].mean())}
"""
FLAKY = """
    import os

    class F:
        def generate(self, image_path, prompt, dataset=None):
            if prompt == 'What?' and not os.path.exists('net_ok'):
                raise RuntimeError('network down')
            return {'What?': 'FIRST', 'And now?': 'dog'}[prompt]
"""


def toy(table, picture, file, first="wrong"):
    table(
        "toyv",
        "index image question answer",
        [[1, picture(1), "What?", "cat"], [2, picture(2), "And now?", "dog"]],
    )
    return file("ds.py", DATASET), file(
        "flaky.py", FLAKY.replace("FIRST", first)
    ) + ":F"


def accuracy(result):
    return {r.metric: r.value for r in result.results}["evaluate.acc"]


def test_a_row_answered_later_is_counted(table, picture, file, run, tmp_path):
    dataset, model = toy(table, picture, file)
    assert accuracy(run(dataset, model)) == 1.0

    (tmp_path / "net_ok").touch()

    assert accuracy(run(dataset, model)) == 0.5


def test_a_corrected_model_gets_its_own_number_fresh_and_scored_again(
    table, picture, file, run, tmp_path
):
    dataset, model = toy(table, picture, file)
    (tmp_path / "net_ok").touch()
    assert accuracy(run(dataset, model)) == 0.5
    file("flaky.py", FLAKY.replace("FIRST", "cat"))

    assert accuracy(run(dataset, model, fresh=True)) == 1.0
    assert accuracy(score(str(tmp_path / "run"))) == 1.0


def test_the_original_command_evaluates_what_its_prediction_file_holds(
    table, picture, file, tmp_path
):
    dataset, model = toy(table, picture, file)
    arguments = ["--data", f"{dataset}:Mine", "--model", model, "--work-dir", "o"]
    (first,) = evaluate(arguments)
    assert accuracy(first) == 1.0
    (tmp_path / "net_ok").touch()

    (second,) = evaluate(arguments)

    assert accuracy(second) == 0.5


def test_an_edited_evaluate_and_an_edited_helper_make_their_files_anew(
    table, picture, file, run, tmp_path
):
    dataset, model = toy(table, picture, file)
    (tmp_path / "net_ok").touch()
    file("right.py", "def right(p, a):\n    return int(p == a)\n")
    file(
        "ds.py",
        "from right import right\n"
        + DATASET.replace("int(p == a)", "right(p, a)").replace("\n    ", "\n"),
    )
    assert accuracy(run(dataset, model)) == 0.5

    file("right.py", "def right(p, a):\n    return 1\n")

    assert accuracy(run(dataset, model)) == 1.0


def test_tables_of_a_judge_go_when_the_predictions_they_were_made_of_do(
    table, picture, file, tmp_path
):
    table(
        "SEEDBench_IMG",
        "index image question A B answer",
        [[1, picture(1), "What?", "cat", "dog", "A"]],
    )
    judge = [
        "--judge",
        file("judge.py", "def judge(text):\n    return 'A'\n") + ":judge",
    ]
    source = "class R:\n    def generate(self, image_path, prompt, dataset=None):\n        return 'hm'\n"
    arguments = [
        "--data",
        "SEEDBench_IMG",
        "--model",
        file("r.py", source) + ":R",
        "--work-dir",
        "o",
    ]
    list(evaluate([*arguments, *judge]))
    assert (tmp_path / "o/R/R_SEEDBench_IMG_judge_acc.csv").exists()

    file("r.py", source.replace("hm", "B"))
    list(evaluate(arguments))

    assert sorted(path.name for path in (tmp_path / "o/R").glob("R_*judge*")) == []
    assert (tmp_path / "o/R/R_SEEDBench_IMG_acc.csv").exists()
