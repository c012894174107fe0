"""What a run says of its pace; the time is told, not read."""

import io

import pytest

from assay.report.progress import LineProgress, Pace, duration
from assay.runner.events import TaskProgress


def cell(**changes):
    found = TaskProgress("t", "m", expected=20, state="running")
    for name, value in changes.items():
        setattr(found, name, value)
    return found


def test_a_batch_that_is_worked_on_says_how_many_how_fast_and_how_long():
    pace, work = Pace(), cell()
    work.meter.begun = 20
    pace.note(work, 100.0)

    work.meter.ended, work.meter.tokens = 5.0, 4000
    note = pace.note(work, 110.0)

    assert note == "20 begun, 400 tokens/s, about 30 s left"


def test_what_an_earlier_run_answered_is_neither_work_nor_pace():
    pace, work = Pace(), cell(done=10, reused=10)
    pace.note(work, 0.0)

    work.done, work.meter.begun = 15, 6
    note = pace.note(work, 10.0)

    assert note == "1 begun, about 10 s left"


def test_a_model_that_reports_nothing_is_measured_by_what_came_back():
    pace, work = Pace(), cell(tokens={"input_tokens": 100, "output_tokens": 0})
    pace.note(work, 0.0)

    work.tokens = {"input_tokens": 300, "output_tokens": 100}
    work.done, work.meter.begun = 4, 5

    assert pace.note(work, 4.0) == "1 begun, 75 tokens/s, about 16 s left"


def test_tokens_a_second_are_those_of_the_last_half_minute():
    pace, work = Pace(), cell()
    for second in range(0, 101, 5):
        work.meter.tokens = 10_000 if second < 60 else 10_000 + 10 * (second - 60)
        note = pace.note(work, float(second))

    assert note == "10 tokens/s"


def test_no_estimate_is_shown_before_anything_is_known():
    pace, work = Pace(), cell(expected=None)

    assert pace.note(work, 0.0) == ""
    assert pace.note(cell(state="loading"), 5.0) == ""
    work.done = 4
    assert pace.note(work, 10.0) == ""


def test_progress_never_exceeds_the_requests_begun():
    pace, work = Pace(), cell()
    pace.note(work, 0.0)
    work.meter.begun, work.meter.ended = 10, 500.0

    assert pace.note(work, 10.0) == "10 begun, about 10 s left"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.2, "1 s"),
        (40, "40 s"),
        (240, "4 min"),
        (7800, "2 h 10 min"),
        (200_000, "56 h"),
    ],
)
def test_a_duration_is_written_in_usual_words(seconds, said):
    assert duration(seconds) == said


def test_a_log_gets_a_line_with_content_every_half_minute(monkeypatch):
    now, stream = [0.0], io.StringIO()
    monkeypatch.setattr("assay.report.progress.time.monotonic", lambda: now[0])
    progress, work, waiting = LineProgress(stream), cell(), cell(state="loading")
    progress.start([work, waiting])
    work.meter.begun = 8

    for second in range(65):
        now[0], work.meter.ended, work.meter.tokens = (
            float(second),
            second / 10,
            50 * second,
        )
        progress.update()

    assert stream.getvalue().splitlines() == [
        "t · m: 0 / 20, 8 begun, 50 tokens/s, about 3 min left",
        "t · m: loading the model",
        "t · m: 0 / 20, 8 begun, 50 tokens/s, about 2 min left",
        "t · m: loading the model",
    ]
