"""The cache shared by runs: a hit for the same question to the same model, and never otherwise."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_counts import COUNTS

import assay
from assay.core import Abilities, Image, Output, StoreError
from assay.store import RunReader
from assay.store.cache import ResponseCache

ROWS = [{"id": str(n), "question": f"q{n}", "answer": "x"} for n in range(6)]


class Named:
    """Answers with its own name."""

    abilities = Abilities()

    def __init__(self, name):
        self.name, self.calls = name, 0
        self.identity = {"name": name}

    def generate(self, requests):
        self.calls += len(requests)
        return [Output.of(self.name) for _ in requests]


def run(tmp_path, folder, model, **settings):
    task = assay.Task("t", dataset=ROWS, scorers="exact_match")
    settings = {"cache": str(tmp_path / "cache"), "on_error": "continue", **settings}
    return assay.run(task, model, output=str(tmp_path / folder), **settings)


def test_a_second_run_takes_its_answers_from_the_cache(tmp_path):
    run(tmp_path, "a", Named("x"))
    again = Named("x")

    result = run(tmp_path, "b", again)

    assert again.calls == 0 and result.status == "complete" and result[0].value == 1.0


def test_another_model_another_option_another_seed_are_asked(tmp_path):
    run(tmp_path, "a", Named("x"))

    for place, (name, settings) in enumerate(
        [
            ("y", {}),
            ("x", {"generation": {"temperature": 0.5}}),
            ("x", {"seed": 1}),
            ("x", {"system": "be brief"}),
        ]
    ):
        model = Named(name)
        result = run(tmp_path, f"other{place}", model, **settings)
        assert model.calls == 6
        assert result[0].value == float(name == "x")


def test_two_models_in_one_run_do_not_share_answers(tmp_path):
    one, other = Named("x"), Named("y")
    task = assay.Task("t", dataset=ROWS, scorers="exact_match")

    result = assay.run(
        task, [one, other], output=str(tmp_path / "run"), cache=str(tmp_path / "cache")
    )

    assert [r.value for r in result] == [1.0, 0.0]
    assert (one.calls, other.calls) == (6, 6)


@pytest.mark.faults
@pytest.mark.parametrize("round", range(COUNTS.rounds_of_sharing))
def test_two_runs_that_share_a_cache_at_the_same_time_keep_their_own_answers(
    tmp_path, round
):
    names = ("x", "y")
    with ThreadPoolExecutor(2) as both:
        results = list(both.map(lambda name: run(tmp_path, name, Named(name)), names))

    assert all(result.status == "complete" for result in results)
    for name in names:
        assert {
            record.output["candidates"][0]["text"]
            for record in RunReader(tmp_path / name).outputs()
        } == {name}


def test_a_failure_is_never_cached(tmp_path):
    class Down(Named):
        def generate(self, requests):
            self.calls += len(requests)
            return [
                Output.failed("exception", "down", retryable=False) for _ in requests
            ]

    run(tmp_path, "a", Down("x"))
    well = Named("x")

    run(tmp_path, "b", well)

    assert well.calls == 6


def test_a_damaged_entry_is_asked_again(tmp_path):
    run(tmp_path, "a", Named("x"))
    with sqlite3.connect(tmp_path / "cache" / "responses.sqlite") as database:
        database.execute("update responses set output = ?", (b"\x80\x04pickle",))
    model = Named("x")

    result = run(tmp_path, "b", model)

    assert model.calls == 6 and result.status == "complete"


def test_an_answer_whose_picture_was_deleted_is_not_a_hit(tmp_path):
    cache = ResponseCache(tmp_path)
    cache.put("k", Output.of(Image(b"\x89PNG\r\n\x1a\n picture")))
    for path in (tmp_path / "media").rglob("*.png"):
        path.unlink()

    assert cache.get("k") is None
    cache.close()


def test_an_unusable_cache_is_reported_before_anything_is_written(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(
        StoreError, match=r"a cache needs a folder.*choose another --cache folder"
    ):
        run(tmp_path, "a", Named("x"), cache=str(tmp_path / "file" / "cache"))

    assert not (tmp_path / "a").exists()


def test_a_file_that_is_not_a_database_is_reported(tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "responses.sqlite").write_text(
        "this is not a database, but long enough to be one" * 20
    )

    with pytest.raises(StoreError, match="is not an assay cache"):
        run(tmp_path, "a", Named("x"))


def test_a_new_cache_is_opened_by_many_at_once(tmp_path):
    def open_it(folder, together):
        together.wait()
        ResponseCache(folder)

    for number in range(60):
        together = threading.Barrier(4)
        with ThreadPoolExecutor(4) as pool:
            opened = [
                pool.submit(open_it, tmp_path / str(number), together) for _ in range(4)
            ]
        assert [done.exception() for done in opened] == [None] * 4
