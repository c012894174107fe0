"""`assay show TASK` where the task's data are not on this machine: the example comes from the mini-set."""

import pytest

from assay.cli.main import main


@pytest.mark.parametrize(
    ("name", "place"),
    [("pope", "data: here with"), ("gsm8k", "data: openai/gsm8k on the hub")],
)
def test_a_task_without_its_data_is_shown_by_a_row_of_its_mini_set(
    name, place, capsys, monkeypatch
):
    for variable in ("ASSAY_DATA", "LMUData"):
        monkeypatch.delenv(variable, raising=False)

    code = main(["show", name])

    shown = capsys.readouterr().out
    assert code == 0
    assert place in shown and "of the mini-set (--data mini):" in shown
    assert "example row" in shown and "prompt:" in shown


def test_a_place_that_was_named_and_has_no_rows_is_still_said(capsys, tmp_path):
    main(["show", "pope", "--data", str(tmp_path)])

    assert "no example: " in capsys.readouterr().out
