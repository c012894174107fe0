"""Prediction files of `assay ulmeval --mode eval`: a replaced file is read again, one of another dataset is refused."""

import json
import pickle
from pathlib import Path

import pytest

from assay.cli.ulmeval import command
from assay.core import UsageError


def write(path, colour, index=("1", "2", "3", "4"), **columns):
    import pandas
    from PIL import Image

    images = [[Image.new("RGB", (8, 8), colour)] for _ in index]
    table = pandas.DataFrame({"index": list(index), "prediction": images, **columns})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(table))


def overall(capsys):
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    rows = {row["metric"]: row["value"] for row in run["results"]}
    return rows["evaluate.overall"]


def test_upstreams_own_file_is_evaluated_by_its_plain_model_name(place, capsys):
    dataset, _ = place.colours()
    write(Path("outputs/Bagel/Bagel_ColourBench.pkl"), "blue")
    flags = ["--data", dataset, "--model", "Bagel", "--mode", "eval", "--json"]

    assert command(flags) == 2
    assert "--trust-pickle" in capsys.readouterr().err
    command([*flags, "--trust-pickle"])
    first = overall(capsys)
    write(Path("outputs/Bagel/Bagel_ColourBench.pkl"), "green")
    command([*flags, "--trust-pickle"])

    assert (first, overall(capsys)) == (0.5, 0.25)


def test_a_replaced_result_file_is_read_again(place, capsys):
    dataset, _ = place.colours()
    old = Path("old.pkl")
    flags = ["--data", dataset, "--model", "Old", "--result-file", "old.pkl"]
    values = []
    for colour, mode in (("blue", "all"), ("green", "eval"), ("blue", "all")):
        write(old, colour)
        command([*flags, "--mode", mode, "--trust-pickle", "--json"])
        values.append(overall(capsys))

    assert values[0] == values[2] != values[1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"index": ("1", "9")}, "1 rows that ColourBench lacks, the first with index '9'"),
        ({"prompt": ["a cat?"] * 4}, "4 rows of the prediction file are not those"),
    ],
)  # fmt: skip
def test_predictions_of_another_dataset_are_refused(place, capsys, columns, message):
    dataset, _ = place.colours()
    write(Path("old.pkl"), "blue", **columns)
    flags = ["--data", dataset, "--model", "Old", "--result-file", "old.pkl"]

    assert command([*flags, "--trust-pickle"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"garbage", b"cno_such_module\nX\n."])
def test_a_damaged_prediction_file_is_named(place, capsys, content):
    dataset, _ = place.colours()
    file = Path("outputs/Bagel/Bagel_ColourBench.pkl")
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    flags = ["--data", dataset, "--model", "Bagel", "--mode", "eval", "--trust-pickle"]

    assert command(flags) == 2
    message = capsys.readouterr().err
    assert f"{file}: the prediction file cannot be read" in message


def test_two_rows_for_one_index_are_refused(place):
    dataset, _ = place.colours()
    write(Path("old.pkl"), "blue", index=("1", "2", "2"))
    flags = ["--data", dataset, "--model", "Old", "--result-file", "old.pkl"]

    with pytest.raises(UsageError, match="two predictions for index '2'"):
        command([*flags, "--trust-pickle"])
