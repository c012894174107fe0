"""`assay report --charts`: every drawing as a file of its own."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from made_runs import sums

from assay.cli.main import main
from assay.core import UsageError
from assay.view.chart_files import write_charts


def test_every_drawing_of_two_runs_is_a_self_contained_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    sums(tmp_path / "a", count=60, right=45)
    sums(tmp_path / "b", count=60, right=30)

    code = main(
        [
            "report",
            str(tmp_path / "a"),
            str(tmp_path / "b"),
            "--charts",
            str(tmp_path / "charts"),
        ]
    )

    files = sorted((tmp_path / "charts").glob("*.svg"))
    names = {path.name for path in files}
    assert code == 0 and f"{len(files)} drawings" in capsys.readouterr().out
    assert {
        "a-exact-numbers.svg",
        "b-sums-exact.svg",
        "a-to-b-differences.svg",
    } <= names
    assert all(
        ElementTree.parse(path).getroot().tag == "{http://www.w3.org/2000/svg}svg"
        for path in files
    )


def test_names_of_files_are_plain_and_none_is_written_twice(tmp_path: Path):
    run = sums(tmp_path / "..a b|c", count=4, right=2)

    files = write_charts([run], tmp_path / "charts")

    assert len(files) == len(set(files)) and all(
        path.parent == tmp_path / "charts" for path in files
    )


def test_a_file_in_place_of_the_folder_is_reported(tmp_path: Path):
    (tmp_path / "charts").write_text("")

    with pytest.raises(UsageError, match="this is a file"):
        write_charts([sums(tmp_path / "a", count=4, right=2)], tmp_path / "charts")
