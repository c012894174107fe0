"""What a watcher of a run can read while the model works on a batch."""

import json

import assay
from assay.runner.ask.calls import as_number, fit_batch
from assay.runner.events import Silent


class Watching(Silent):
    """Keeps the cells it is shown."""

    def start(self, cells):
        self.cells = cells


ROWS = [{"question": str(number), "answer": "a"} for number in range(6)]


def run(model, tmp_path, **settings):
    watcher = Watching()
    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    result = assay.run(
        str(tmp_path / "rows.jsonl"),
        model,
        output=str(tmp_path / "run"),
        watcher=watcher,
        **settings,
    )
    return result, watcher


def test_a_class_of_the_users_says_how_far_it_is_inside_a_batch(tmp_path):
    seen = []

    class Batches:
        batch_size = 4

        def report_to(self, meter):
            self.meter = meter

        def generate(self, requests):
            for _ in requests:
                seen.append((self.meter.begun, self.meter.ended, self.meter.tokens))
                self.meter.ended += 1
                self.meter.tokens += 10
            return ["a"] * len(requests)

    _, watcher = run(Batches, tmp_path)

    assert seen == [
        (4, 0, 0),
        (4, 1, 10),
        (4, 2, 20),
        (4, 3, 30),
        (6, 4, 40),
        (6, 5, 50),
    ]
    assert watcher.cells[0].meter.ended == 6


def test_a_class_that_is_asked_nothing_is_not_built_to_report(tmp_path):
    built = []

    class Reports:
        def __init__(self):
            built.append(1)

        def report_to(self, meter): ...

        def generate(self, messages):
            return "a"

    run(Reports, tmp_path)
    (tmp_path / "run" / "summary.json").unlink()
    result, _ = run(Reports, tmp_path)

    assert result.status == "complete"
    assert built == [1]


def test_what_a_model_was_handed_is_counted_though_it_says_nothing(tmp_path):
    begun = []
    watcher = Watching()

    class Batches:
        batch_size = 3

        def generate(self, requests):
            begun.append(watcher.cells[0].meter.begun)
            return ["a"] * len(requests)

    (tmp_path / "rows.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in ROWS)
    )
    assay.run(
        str(tmp_path / "rows.jsonl"),
        Batches,
        output=str(tmp_path / "run"),
        watcher=watcher,
    )

    assert begun == [3, 6]


def test_requests_to_an_endpoint_are_counted_when_they_are_sent(tmp_path):
    async def generate(messages):
        return "a"

    _, watcher = run(generate, tmp_path)

    assert watcher.cells[0].meter.begun == 6


def test_batch_size_auto_reports_the_chosen_size(tmp_path):
    class Sized:
        batch_size = 2

        def generate(self, requests):
            return ["a"] * len(requests)

    result, watcher = run(Sized, tmp_path, batch_size="auto")

    assert result.status == "complete"
    assert "Sized: --batch_size auto: 2 at once, as the model declares" in watcher.lines


def test_auto_is_left_to_the_model():
    async def ask(requests): ...

    endpoint = type("Endpoint", (), {"generate": staticmethod(ask)})()
    function = type("Function", (), {"generate": lambda self, requests: []})()

    assert as_number("auto") is None and as_number(4) == 4 and as_number(None) is None
    assert (
        fit_batch(endpoint)
        == "32 requests open at once, as an endpoint has no batches (--concurrency N)"
    )
    assert fit_batch(endpoint, 5).startswith("5 requests")
    assert "20 ms" in fit_batch(function)


def test_an_answer_that_two_scorers_cannot_score_counts_once(tmp_path):
    def generate(messages):
        raise ConnectionError("no route to host")

    _, watcher = run(
        generate, tmp_path, scorers=["exact_match", "includes"], on_error="continue"
    )

    (cell,) = watcher.cells
    assert cell.outcomes == {"model_error": cell.done} and cell.done > 0
