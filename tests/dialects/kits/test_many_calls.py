"""`track_progress_rich`: results in order, kept by key as they come."""

import pytest

pytest.importorskip("pandas")

from assay.dialects.kits.many_calls import track_progress_rich
from assay.dialects.kits.smp.file import load


def test_tasks_are_dicts_tuples_or_single_values_and_results_keep_their_order():
    found = track_progress_rich(
        lambda a, b=1: a * b, [{"a": 2, "b": 3}, (4, 5), [6], 7], nproc=3
    )

    assert found == [6, 20, 6, 7]


def test_results_are_added_to_the_file_under_their_keys(tmp_path):
    save = str(tmp_path / "kept.pkl")
    track_progress_rich(lambda a: a + 1, [1], save=save, keys=["one"])

    track_progress_rich(lambda a: a + 1, [2, 3], save=save, keys=["two", "three"])

    assert load(save) == {"one": 2, "two": 3, "three": 4}


def test_what_was_done_before_a_failure_is_kept(tmp_path):
    save = str(tmp_path / "kept.pkl")

    with pytest.raises(ZeroDivisionError):
        track_progress_rich(
            lambda a: 1 // a, [1, 0], save=save, keys=["fine", "not"], nproc=1
        )

    assert load(save) == {"fine": 1}


def test_keys_that_do_not_fit_the_tasks_are_refused():
    with pytest.raises(ValueError, match="1 keys were given for 2 tasks"):
        track_progress_rich(print, [1, 2], keys=["one"])
