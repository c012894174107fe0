"""Which package of a toolkit a single file was written for, judging by its relative imports."""

import pytest

from assay.dialects.placing import home_of
from assay.dialects.vlmeval.claims import NAMES


@pytest.mark.parametrize(
    ("statement", "package"),
    [
        ("from .utils import TSVDataset", "vlmeval"),
        ("from .utils import build_judge", "vlmeval.dataset"),
        ("from .base import BaseAPI", "vlmeval.api"),
        ("from .utils.multiple_choice import report_acc", "vlmeval.dataset"),
    ],
)
def test_imported_names_decide_between_packages_with_modules_of_one_name(
    tmp_path, statement, package
):
    file = tmp_path / "mine.py"
    file.write_text(f"{statement}\n")

    assert home_of(file, NAMES) == package


def test_a_file_that_only_imports_the_users_own_files_belongs_to_no_package(tmp_path):
    (tmp_path / "helpers.py").write_text("def ask(): ...\n")
    file = tmp_path / "mine.py"
    file.write_text("from .helpers import ask\n")

    assert home_of(file, NAMES) is None
