"""Sampled texts of whole runs: the effect of `n`, epochs and equal prompts."""

import pytest

import assay
from assay.store import RunReader

pytestmark = pytest.mark.torch
ROWS = [{"id": str(n), "question": "abc", "answer": "x"} for n in range(2)]


def texts(tmp_path, folder, **settings):
    """Return the texts of each sample and epoch."""
    generation = {"temperature": 1.0, "max_tokens": 12, "n": settings.pop("n")}
    output = tmp_path / "-".join(map(str, (generation["n"], *settings.values())))
    task = assay.Task(
        "t", dataset=ROWS, template="{{ question }}", scorers="exact_match"
    )
    assay.run(
        task, f"hf/{folder}", generation=generation, output=str(output), **settings
    )
    return {
        (record.id, record.epoch): [
            candidate["text"] for candidate in record.output["candidates"]
        ]
        for record in RunReader(output).outputs()
    }


@pytest.mark.parametrize("seed", [None, 7])
def test_first_candidates_do_not_depend_on_n_and_all_differ(
    llama_folder, tmp_path, seed
):
    two, three = (
        texts(tmp_path, llama_folder, n=n, seed=seed, epochs=2) for n in (2, 3)
    )

    assert len(two) == 4
    assert {place: drawn[:2] for place, drawn in three.items()} == two
    assert len({text for drawn in three.values() for text in drawn}) == 12


def test_another_seed_of_the_run_samples_other_texts(llama_folder, tmp_path):
    one, other = (texts(tmp_path, llama_folder, n=1, seed=seed) for seed in (7, 8))

    assert all(one[place] != other[place] for place in one)
