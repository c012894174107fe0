"""BIG-Bench Hard: folders of subsets, worked examples, and a line for each subset."""

import json
from pathlib import Path

import pytest

from assay.benchmarks.text_rows import BBH_SUBSETS, after_examples, read_subsets
from assay.benchmarks.text_tasks import bbh, bbh_direct
from assay.core import Output, Sample, UsageError
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.scorers.text.bbh import declared_answer

DATA = Path(__file__).parents[3].parent / "shared" / "data" / "bbh"


@pytest.fixture
def folder(tmp_path) -> Path:
    """Two subsets with worked examples."""
    made = tmp_path / "bbh"
    (made / "cot-prompts").mkdir(parents=True)
    for name, target in (("navigate", "Yes"), ("word_sorting", "a b")):
        data = {
            "canary": "…",
            "examples": [{"input": f"{name} {i}", "target": target} for i in range(3)],
        }
        (made / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
        prompt = f"canary\n-----\nAbout {name}.\n\nQ: one\nA: Let's think step by step.\nSo the answer is {target}."
        (made / "cot-prompts" / f"{name}.txt").write_text(prompt, encoding="utf-8")
    return made


def test_samples_of_all_subsets_have_ids_that_do_not_depend_on_the_other_files(folder):
    both = [sample.id for sample in read_subsets(folder, worked=True)]
    one = [
        sample.id for sample in read_subsets(folder / "word_sorting.json", worked=True)
    ]

    assert both == [
        "navigate/1",
        "navigate/2",
        "navigate/3",
        "word_sorting/1",
        "word_sorting/2",
        "word_sorting/3",
    ]
    assert one == both[3:]


def test_the_worked_examples_of_the_subset_come_before_the_question_without_the_canary(
    folder,
):
    sample = next(iter(read_subsets(folder, worked=True)))
    assert isinstance(sample, Sample)

    text = after_examples(sample).messages[0].text

    assert text.startswith("About navigate.\n\nQ: one\n")
    assert text.endswith(
        "So the answer is Yes.\n\nQ: navigate 0\nA: Let's think step by step."
    )


def test_the_result_has_a_line_for_each_subset(folder, tmp_path):
    results = run(
        bbh,
        Scripted("So the answer is Yes."),
        data=str(folder),
        output=str(tmp_path / "run"),
    ).results

    exact = next(result for result in results if result.metric == "bbh.exact")
    assert (exact.value, exact.n, exact.protocol) == (0.5, 6, "bbh@cot")
    assert {name: group.value for name, group in exact.groups["subset"].items()} == {
        "navigate": 1,
        "word_sorting": 0,
    }


def test_without_steps_the_first_line_is_the_answer(folder, tmp_path):
    model = Scripted("a b\nbecause of the alphabet")

    results = run(
        bbh_direct, model, data=str(folder), output=str(tmp_path / "run")
    ).results

    assert results[0].value == 0.5 and results[0].protocol == "bbh@direct"
    assert "one\n" not in model.calls[0].prompt.text


def test_a_subset_without_worked_examples_is_refused_with_the_way_out(folder):
    (folder / "cot-prompts" / "navigate.txt").unlink()

    with pytest.raises(
        UsageError, match=r"no worked examples for navigate.*run task bbh_direct"
    ):
        read_subsets(folder, worked=True)
    assert len(list(read_subsets(folder, worked=False))) == 6


def test_the_hub_copy_has_no_worked_examples():
    with pytest.raises(UsageError, match="task bbh_direct"):
        read_subsets("hub:lukaemon/bbh#test", worked=True)


def test_a_folder_without_subsets_says_what_is_expected(tmp_path):
    with pytest.raises(UsageError, match=r"no subset files.*NAME\.json"):
        read_subsets(tmp_path, worked=False)


def test_the_real_files_are_read_and_their_worked_examples_end_as_the_scorer_expects():
    if not DATA.is_dir():
        pytest.skip("the BIG-Bench Hard files are not at hand")
    samples = list(read_subsets(DATA, worked=True))

    assert len(samples) == 8 * 250 + 187
    assert {sample.tags["subset"] for sample in samples} < set(BBH_SUBSETS)
    for sample in samples:
        *_, last = sample["examples"].split("\n\nQ: ")
        assert declared_answer(Output.of(last).text) is not None
