"""Seeds in a run: each sample, repeat and round draws by numbers of its own, and nothing else changes them."""

import pytest

import assay
from assay.core import Abilities, Output
from assay.store import RunReader

SAME = [{"id": str(n), "question": "Draw a cat.", "answer": "x"} for n in range(3)]


class Drawing:
    """Answers with what it was given to draw from, and keeps it."""

    def __init__(self):
        self.asked = []
        self.identity = {"name": "drawing"}
        self.abilities = Abilities()

    def generate(self, requests):
        self.asked += requests
        return [Output.of(f"{request.seed} {request.draw}") for request in requests]


def drawn(tmp_path, rows=SAME, folder="run", **settings):
    model = Drawing()
    task = assay.Task("t", dataset=rows, scorers="exact_match")
    assay.run(task, model, output=str(tmp_path / folder), **settings)
    return model.asked


def test_every_sample_and_every_epoch_has_a_seed_of_its_own(tmp_path):
    asked = drawn(tmp_path, seed=7, epochs=3)

    assert (
        len({request.seed for request in asked})
        == len({request.draw for request in asked})
        == 9
    )


def test_neither_the_number_of_candidates_nor_the_temperature_changes_what_is_drawn_from(
    tmp_path,
):
    two, four = (
        drawn(
            tmp_path, folder=str(n), seed=7, generation={"n": n, "temperature": n / 4}
        )
        for n in (2, 4)
    )

    assert [(r.seed, r.draw) for r in two] == [(r.seed, r.draw) for r in four]
    assert [r.key for r in two] != [r.key for r in four]


def test_neither_neighbours_nor_the_batch_change_what_is_drawn_from(tmp_path):
    all_of_them = {r.id: r.draw for r in drawn(tmp_path, seed=7, batch_size=3)}
    one = {
        r.id: r.draw
        for r in drawn(tmp_path, folder="one", seed=7, batch_size=1, ids=("2",))
    }

    assert one == {"2": all_of_them["2"]}


def test_without_a_seed_none_is_sent_and_two_runs_draw_alike(tmp_path):
    first, again = (
        drawn(tmp_path, folder=folder, epochs=2) for folder in ("first", "again")
    )

    assert {request.seed for request in first} == {None}
    assert [r.draw for r in first] == [r.draw for r in again]
    assert len({r.draw for r in first}) == 6


def test_each_round_of_a_dialogue_draws_by_numbers_of_its_own(tmp_path):
    rows = [{"id": "a", "turns": ["Hello.", "And now?", "Goodbye."], "answer": "x"}]

    asked = drawn(tmp_path, rows, seed=7)

    assert len(asked) == 3
    assert (
        len({request.seed for request in asked})
        == len({request.draw for request in asked})
        == 3
    )


@pytest.mark.parametrize("seed", [None, 7])
def test_the_cache_gives_no_sample_the_draw_of_another(tmp_path, seed):
    settings = {
        "seed": seed,
        "generation": {"temperature": 1.0},
        "cache": str(tmp_path / "cache"),
    }

    first = drawn(tmp_path, **settings)
    again = drawn(tmp_path, folder="again", **settings)

    assert len(first) == 3 and again == []
    said = [
        [r.output["candidates"][0]["text"] for r in RunReader(tmp_path / f).outputs()]
        for f in ("run", "again")
    ]
    assert said[0] == said[1] and len(set(said[0])) == 3


def test_the_same_command_again_asks_nothing(tmp_path):
    drawn(tmp_path, seed=7, epochs=2, generation={"temperature": 1.0})

    assert drawn(tmp_path, seed=7, epochs=2, generation={"temperature": 1.0}) == []
