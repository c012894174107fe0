"""Names of guests as parts of file names."""

import pytest

from assay.dialects.file_names import BYTES, file_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("MMBench_DEV_EN", "MMBench_DEV_EN"),
        ("猫狗", "猫狗"),
        ("org/model v2", "org-model-v2"),
        ("../..", "run-"),
        ("a\nb\0c", "a-b-c"),
    ],
)
def test_letters_of_any_script_stay_and_what_a_path_could_read_goes(name, expected):
    made = file_name(name)

    assert made == expected or (expected == "run-" and made.startswith(expected))


def test_names_that_consist_of_signs_stay_different():
    assert file_name("???") != file_name("!!!")


def test_a_long_name_fits_a_file_system():
    assert (
        len(file_name("长" * 300).encode()) <= BYTES and len(file_name("a" * 300)) == 80
    )
