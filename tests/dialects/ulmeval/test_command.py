"""`assay ulmeval`: the original flags, the promised files, JSON configs and old prediction files."""

import json
import pickle
from pathlib import Path

import pytest

from assay.cli.ulmeval import command
from assay.core import UnknownName, UsageError


def printed(capsys) -> list[dict]:
    return json.loads(capsys.readouterr().out)["runs"]


def metrics(run: dict) -> dict[str, float]:
    return {row["metric"]: row["value"] for row in run["results"]}


def test_the_original_command_runs_and_leaves_the_promised_files(place, capsys):
    dataset, model = place.colours()

    code = command(
        ["--data", dataset, "--model", model, "--num-generations", "2", "--json"]
    )

    (run,) = printed(capsys)
    assert code == 0
    assert metrics(run)["images"] == 2.0 and metrics(run)["evaluate.overall"] == 0.75
    (today,) = Path("outputs/Painter").glob("T20*_G*")
    visible = {path.name for path in today.iterdir() if not path.name.startswith(".")}
    assert visible == {"Painter_ColourBench.pkl", "Painter_ColourBench_score.csv"}
    link = Path("outputs/Painter/Painter_ColourBench_score.csv")
    assert link.is_symlink() and link.read_text().startswith("ball,")
    assert not list(Path("outputs/Painter/Painter_ColourBench.run").rglob("*.pkl"))


def test_the_prediction_file_is_one_that_others_can_read(place, capsys):
    dataset, model = place.colours()
    command(["--data", dataset, "--model", model, "--num-generations", "2", "--json"])
    data = Path("outputs/Painter/Painter_ColourBench.pkl").read_bytes()

    table = pickle.loads(data)

    assert b"assay" not in data
    assert list(table["index"]) == ["1", "2", "3", "4"]
    assert [type(images) for images in table["prediction"]] == [list] * 4
    assert table["prediction"][2][1].getpixel((0, 0)) == (0, 0, 255)


def test_names_are_found_in_registered_files_and_folders(place, capsys):
    place.colours()
    place.write("mine/data.py", (place.folder / "my_dataset.py").read_text())
    place.write(
        "mine/models.py",
        (place.folder / "my_model.py").read_text()
        + "\nfrom functools import partial\nfrom ulmeval.config import supported_ULM\n"
        + "supported_ULM['Painter-1B'] = partial(Painter)\n",
    )
    place.write(
        "mine/notes.py", "raise RuntimeError('not for ULMEvalKit: never run')\n"
    )

    code = command(
        [
            "--register",
            "mine",
            "--data",
            "ColourBench",
            "--model",
            "Painter-1B",
            "Painter",
            "--json",
        ]
    )

    assert code == 0
    assert [run["results"][0]["model"] for run in printed(capsys)] == [
        "Painter-1B",
        "Painter",
    ]


def test_infer_then_eval_are_two_steps_over_one_folder(place, capsys):
    dataset, model = place.colours()
    command(["--data", dataset, "--model", model, "--mode", "infer", "--json"])
    (inferred,) = printed(capsys)
    (place.data / "ColourBench.tsv").unlink()

    command(["--data", dataset, "--model", model, "--mode", "eval", "--json"])

    (evaluated,) = printed(capsys)
    assert set(metrics(inferred)) == {"images"}
    assert metrics(evaluated)["evaluate.overall"] == 0.75
    assert len(place.calls()) == 4


def test_the_same_command_again_asks_nothing(place, capsys):
    dataset, model = place.colours()

    for _ in range(2):
        command(["--data", dataset, "--model", model, "--json"])

    assert len(place.calls()) == 4


def test_failed_rows_are_asked_again_unless_ignored(place, capsys):
    dataset, model = place.colours()
    table = place.data / "ColourBench.tsv"
    table.write_text(
        table.read_text().replace("something", "nothing").replace("a red", "nothing")
    )
    flags = ["--data", dataset, "--model", model, "--json"]

    first = command(flags)
    ignored = command([*flags, "--ignore"])
    after_ignoring = len(place.calls())
    command(flags)

    assert (first, ignored) == (3, 3)
    assert after_ignoring == 4
    assert len(place.calls()) == 6


def test_one_dataset_that_fails_does_not_stop_the_others_and_shows_in_the_exit_code(
    place, capsys
):
    dataset, model = place.colours()
    missing = place.write(
        "missing.py",
        """
        from ulmeval.dataset.text_base import TextBaseDataset
        class Missing(TextBaseDataset):
            DATASET_URL = {'Missing': ''}
        """,
    )

    code = command(["--data", missing, dataset, "--model", model, "--json"])

    captured = capsys.readouterr()
    assert code == 2
    assert "no such table" in captured.err
    assert len(json.loads(captured.out)["runs"]) == 1


def test_a_table_without_a_class_is_drawn_for(place, capsys):
    _, model = place.colours()

    code = command(["--data", "ColourBench", "--model", model, "--json"])

    (run,) = printed(capsys)
    assert code == 0 and metrics(run) == {"images": 1.0}
    assert place.calls()[0] == "ColourBench: a red ball"


def test_a_json_config_names_classes_and_their_options(place, capsys):
    dataset, _ = place.colours()
    model = place.write(
        "tinted.py",
        """
        from PIL import Image
        from ulmeval.ulm.base import BaseModel
        class Tinted(BaseModel):
            def __init__(self, colour, **kwargs):
                super().__init__()
                self.colour = colour
            def generate_inner(self, message, dataset=None):
                return Image.new('RGB', (8, 8), self.colour)
        """,
    )
    config = place.write(
        "config.json",
        json.dumps(
            {
                "model": {
                    "Red": {"class": "Tinted", "colour": "red"},
                    "Blue": {"class": "Tinted", "colour": "blue"},
                },
                "data": {
                    "Colours": {
                        "class": "ColourBench",
                        "dataset": "ColourBench",
                        "unknown": 1,
                    }
                },
            }
        ),
    )

    code = command(["--config", config, "--register", dataset, model, "--json"])

    runs = printed(capsys)
    assert code == 0
    assert [metrics(run)["evaluate.overall"] for run in runs] == [0.25, 0.5]
    assert Path("outputs/Blue/Blue_Colours.pkl").exists()


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            {"model": {"M": {"class": "Paintr"}}, "data": {}},
            "unknown model class 'Paintr'.*did you mean 'Painter'",
        ),
        (
            {"model": {}, "data": {"D": {"class": "ColorBench"}}},
            "unknown dataset class.*did you mean 'ColourBench'",
        ),
        ({"model": {"M": []}, "data": {}}, "expected an object"),
        ({"model": {}}, "`data` must be an object"),
    ],
)
def test_a_wrong_config_is_refused_before_anything_runs(place, entry, said):
    dataset, model = place.colours()
    config = place.write("config.json", json.dumps(entry))

    with pytest.raises(UsageError, match=said):
        command(["--config", config, "--register", dataset, model.rpartition(":")[0]])
    assert place.calls() == []


def test_unknown_names_are_refused_with_the_nearest(place):
    dataset, model = place.colours()
    register = ["--register", dataset, model.rpartition(":")[0]]

    with pytest.raises(UnknownName, match="did you mean 'ColourBench'"):
        command([*register, "--data", "ColorBench", "--model", "Painter"])
    with pytest.raises(UnknownName, match="did you mean 'Painter'"):
        command([*register, "--data", "ColourBench", "--model", "Pianter"])


@pytest.mark.parametrize(
    "flags", [[], ["--data", "x"], ["--config", "c.json", "--data", "x"]]
)
def test_missing_or_contradictory_flags_are_refused(place, flags):
    with pytest.raises(UsageError):
        command(flags)


def test_an_old_prediction_file_is_evaluated_after_consent_only(place, capsys):
    import pandas
    from PIL import Image

    dataset, _ = place.colours()
    images = [[Image.new("RGB", (8, 8), "blue")] * 2 for _ in range(3)]
    old = pandas.DataFrame({"index": ["1", "3", "4"], "prediction": images})
    Path("old.pkl").write_bytes(pickle.dumps(old))
    flags = ["--data", dataset, "--model", "Old", "--result-file", "old.pkl", "--json"]

    with pytest.raises(UsageError, match="--trust-pickle"):
        command(flags)
    code = command([*flags, "--trust-pickle"])

    (run,) = printed(capsys)
    assert code in (1, 3)  # a row is missing
    assert metrics(run)["evaluate.overall"] == pytest.approx(2 / 3)
    assert metrics(run)["images"] == 2.0


def test_the_judge_and_its_arguments_reach_evaluate(place, capsys):
    place.colours()
    _, model = place.colours()
    dataset = place.write(
        "told.py",
        (place.folder / "my_dataset.py").read_text().partition("    def evaluate")[0]
        + """
    def evaluate(self, eval_file, **judge_kwargs):
        assert judge_kwargs == dict(nproc=2, verbose=True, retry=5, model='gpt-x', strict=True), judge_kwargs
        return {'told': 1}
""",
    )
    flags = ["--api-nproc", "2", "--verbose", "--retry", "5", "--judge", "gpt-x"]

    code = command(
        [
            "--data",
            dataset,
            "--model",
            model,
            *flags,
            "--judge-args",
            '{"strict": true}',
            "--json",
        ]
    )

    (run,) = printed(capsys)
    assert code == 0 and metrics(run)["evaluate.told"] == 1.0


def test_register_may_be_given_more_than_once_and_names_of_any_script_are_files(
    place, capsys
):
    place.colours()
    for name in ("猫", "狗"):
        (place.data / f"{name}.tsv").write_text(
            "index\tprompt\n1\ta red ball\n", encoding="utf-8"
        )
    dataset = """
        from ulmeval.dataset.text_base import TextBaseDataset

        class Pets(TextBaseDataset):
            DATASET_URL = {'猫': '', '狗': ''}
            DATASET_MD5 = {'猫': None, '狗': None}

            def evaluate(self, eval_file, **judge_kwargs):
                return {'own': 1}
    """
    files = [
        "--register",
        place.write("pets.py", dataset),
        "--register",
        str(place.folder / "my_model.py"),
    ]

    code = command([*files, "--data", "猫", "狗", "--model", "Painter", "--json"])

    assert code == 0 and [metrics(run)["evaluate.own"] for run in printed(capsys)] == [
        1.0,
        1.0,
    ]
    assert (
        Path("outputs/Painter/Painter_猫.pkl").exists()
        and Path("outputs/Painter/Painter_狗.pkl").exists()
    )


def test_eval_before_infer_says_what_is_missing(place, capsys):
    dataset, model = place.colours()

    assert command(["--data", dataset, "--model", model, "--mode", "eval"]) != 0

    said = capsys.readouterr()
    assert (
        "no predictions of Painter on ColourBench; fix: run --mode infer first"
        in said.err + said.out
    )
