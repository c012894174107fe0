"""Vision-language families: every task runs on its mini-set, and rows are read by the rules of the format."""

import csv
import importlib.util
import re
from pathlib import Path

import pytest
from each_row import each

from assay.benchmarks import vision_tasks
from assay.benchmarks.vision_rows import Table, ToSample
from assay.core import (
    BadSample,
    DataSource,
    Image,
    Output,
    Sample,
    Task,
    TemplateError,
    UsageError,
)
from assay.datasets.tsv_images import RowImages
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.runner.tasks.locate import PACKAGE, find_data

TASKS = {
    name: task
    for name, task in vision_tasks.TASKS.items()
    if not name.endswith("_upstream")
}
JUDGED = ("mmvet", "core_mm", "core_mm_official")


def samples_of(task: Task) -> list[Sample]:
    made = list(task.dataset.read(find_data(task, "mini")))
    assert all(isinstance(sample, Sample) for sample in made)
    return made


def right_answer(sample: Sample) -> str:
    """What a perfect model would say."""
    if "bbox" in sample.fields:
        x, y, w, h = sample.target
        width, height = float(sample["width"]), float(sample["height"])
        return f"[{x / width}, {y / height}, {(x + w) / width}, {(y + h) / height}]"
    return str(sample.targets[0])


def perfect(task: Task) -> Scripted:
    """A model that knows the answer by the images and the text of the prompt, as a real one would have to."""
    known = {}
    for sample in samples_of(task):
        known[tuple(m.digest for m in sample.media), sample.input] = right_answer(
            sample
        )

    def answer(request):
        shown = tuple(medium.digest for medium in request.prompt.media)
        text = request.prompt.text
        fitting = [
            said
            for (media, asked), said in known.items()
            if media == shown and fits(asked, text)
        ]
        letters = [
            sample for sample in samples_of(task) if shows_options(sample, shown, text)
        ]
        return right_answer(letters[0]) if letters else fitting[0]

    return Scripted(answer)


def fits(asked: str, text: str) -> bool:
    return all(piece.strip() in text for piece in re.split(r"<image \d+>", asked))


def shows_options(sample: Sample, shown: tuple, text: str) -> bool:
    listed = "\n".join(
        f"{letter}. {option}"
        for letter, option in zip("ABCD", sample.choices, strict=False)
    )
    return bool(listed) and listed in text and fits(str(sample.input), text)


@each("name", TASKS)
def test_every_task_says_how_it_is_measured_and_where_its_data_is(name):
    task = TASKS[name]

    assert "@" in task.protocol and task.citation and task.licence and task.data_hint
    # `format-checked` where no official code was run beside ours; else what of it is as published.
    endings = ("(format-checked)", "as published)", "(our own rule)")
    assert task.description.endswith(endings) and len(task.description) < 90
    assert task.dataset.local and (PACKAGE / task.dataset.mini).is_file()


def test_protocols_and_names_are_all_different():
    assert len({task.protocol for task in TASKS.values()}) == len(TASKS)


@pytest.mark.parametrize("name", [name for name in TASKS if name not in JUDGED])
def test_a_model_that_knows_the_answers_gets_full_marks_on_the_mini_set(name, tmp_path):
    task = TASKS[name]

    done = run(task, perfect(task), data="mini", output=str(tmp_path / "run"))

    assert done.status == "complete"
    values = {result.metric: result.value for result in done.results}
    full = {
        "mme": {"perception": 400.0, "cognition": 200.0, "yes_no": 1.0},
        "mme_official": {"perception": 400.0, "cognition": 200.0, "yes_no": 1.0},
    }.get(name)
    if full is not None:
        assert values == full
        return
    ratios = {
        metric: value
        for metric, value in values.items()
        if metric not in ("yes_ratio", "cider")
    }
    assert ratios and all(value == pytest.approx(1.0) for value in ratios.values()), (
        values
    )
    assert values.get("cider", 1.0) > 0


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in TASKS
        if name not in (*JUDGED, "pope_official", "pope_lmms_eval")
    ],
)
def test_a_model_that_says_nothing_to_the_point_gets_nothing(name, tmp_path):
    done = run(
        TASKS[name],
        Scripted("unrelated mumbling"),
        data="mini",
        output=str(tmp_path / "run"),
    )

    values = {
        result.metric: result.value
        for result in done.results
        if result.metric != "precision"
    }
    assert values.pop("auroc", None) is None  # what nobody said has no order
    assert all(value == pytest.approx(0.0, abs=1e-6) for value in values.values()), (
        values
    )


@pytest.mark.parametrize(
    ("name", "reply", "value"),
    [
        ("mmvet", "0.5", {"mmvet": 50.0}),
        ("core_mm", '{"score": 3}', {"judge": 3.0}),
        (
            "core_mm_official",
            "0.5",
            {
                "core_mm": 50.0,
                "core_mm.ocr": 50.0,
                "core_mm.rec,gen": 50.0,
                "core_mm.rec,spat": 50.0,
            },
        ),
    ],
)
def test_judged_answers_are_graded_by_the_judge_that_is_given(
    name, reply, value, tmp_path
):
    judge = tmp_path / "judge.py"
    judge.write_text(f"def generate(messages):\n    return {reply!r}\n")

    done = run(
        TASKS[name],
        Scripted("a ball"),
        data="mini",
        judge=f"{judge}:generate",
        output=str(tmp_path / "run"),
    )

    assert {result.metric: result.value for result in done.results} == value


def test_a_judged_task_without_a_judge_is_refused_before_the_run(tmp_path):
    with pytest.raises(
        UsageError, match="scorer 'mmvet' of task 'mmvet' needs a model as 'judge'"
    ):
        run(
            TASKS["mmvet"],
            Scripted("a ball"),
            data="mini",
            output=str(tmp_path / "run"),
        )


def test_the_second_question_of_a_pair_shows_the_image_of_the_first():
    assert (
        vision_tasks.first_of_pair({"index": "3"}) == "2"
        and vision_tasks.first_of_pair({"index": "2"}) is None
    )
    assert (
        vision_tasks.pair_of({"index": "3"})
        == vision_tasks.pair_of({"index": "2"})
        == "2"
    )


def test_a_question_counts_only_if_all_its_rotations_are_right(tmp_path):
    task = vision_tasks.mmbench_dev_en

    done = run(task, Scripted("A"), data="mini", output=str(tmp_path / "run"))

    values = {result.metric: result.value for result in done.results}
    assert values == {"choice.circular": 0.0, "choice": pytest.approx(2 / 5)}


def test_rotations_share_group_and_image_with_the_first_row():
    made = samples_of(vision_tasks.mmbench_dev_en)

    assert [sample.group for sample in made] == ["1", "1", "1", "2", "2"]
    assert len({sample.media[0].digest for sample in made if sample.group == "1"}) == 1
    assert len({sample.media[0].digest for sample in made}) == 2


def test_answers_that_are_not_public_are_read_but_not_judged():
    sample = Sample("1", choices=("red", "blue"))

    read = vision_tasks.option_read(sample, Output.of("The answer is B."))
    unread = vision_tasks.option_read(sample, Output.of("who knows"))

    assert (read.value, read.answer) == (1.0, "B")
    assert (unread.value, unread.outcome) == (0.0, "unparsed")


def test_images_are_inserted_where_the_text_names_them():
    (sample,) = [s for s in samples_of(vision_tasks.mmmu) if len(s.media) == 2]

    parts = vision_tasks.mmmu.template(sample).messages[0].parts

    assert [type(part).__name__ for part in parts] == [
        "Text",
        "Image",
        "Text",
        "Image",
        "Text",
    ]
    assert parts[1].digest == sample.media[0].digest


def test_an_image_that_is_not_there_is_a_fault_of_the_row():
    sample = Sample(
        "x", "Is it <image 3>?", "A", ("yes", "no"), media=(Image(b"\x89PNG"),)
    )

    with pytest.raises(TemplateError, match="shows <image 3> of 1 images"):
        vision_tasks.Interleaved()(sample)


def test_mathvista_asks_all_its_questions_each_in_its_form():
    asked = {
        s.id: vision_tasks.mathvista_mini.template(s).messages[-1].text
        for s in samples_of(vision_tasks.mathvista_mini)
    }

    assert asked["1"].endswith("(B) right") and "select" not in asked["1"]
    assert "A. red" in asked["2"]
    assert asked["3"].endswith("as an integer.") and asked["4"].endswith(
        "with 1 decimal places."
    )
    assert asked["5"].endswith("as [1, 2].")


def test_the_splits_of_mmmu_are_tasks_of_their_own_and_open_questions_stay():
    assert [(s.id, bool(s.choices)) for s in samples_of(vision_tasks.mmmu)] == [
        ("1", True),
        ("2", True),
        ("3", False),
    ]
    assert [s.id for s in samples_of(vision_tasks.mmmu_dev)] == ["4"]


def test_a_question_of_several_pope_categories_is_asked_under_each():
    assert [(s.id, s.tags["category"]) for s in samples_of(vision_tasks.pope)] == [
        ("0:random", "random"),
        ("0:popular", "popular"),
        ("1", "popular"),
        ("2", "adversarial"),
    ]


def test_lmms_eval_asks_pope_for_a_single_word_and_the_others_ask_as_the_file_does():
    sample = samples_of(vision_tasks.pope)[0]

    tasks = (vision_tasks.pope_lmms_eval, vision_tasks.pope, vision_tasks.pope_official)
    single_word, *as_it_is = [task.template(sample).messages[-1].text for task in tasks]

    assert (
        single_word
        == f"{sample.input}\nAnswer the question using a single word or phrase."
    )
    assert as_it_is == [sample.input, sample.input]
    assert vision_tasks.pope_lmms_eval.options.max_tokens == 128


def test_places_of_hallusionbench_come_from_the_index_where_there_are_no_columns():
    assert vision_tasks.places_of(
        {"index": "h_VD_chart_4_1_2", "l2-category": "chart"}
    ) == {
        "set_id": "4",
        "figure_id": "1",
        "question_id": "2",
        "l2-category": "chart",
    }


def test_one_answer_of_ocrvqa_counts_as_ten_annotators():
    assert (
        vision_tasks.one_for_ten({"answer": "Mary Poppins"}) == ("Mary Poppins",) * 10
    )


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ({"question": ""}, "the row has no question"),
        ({"image": ""}, "the row has no image"),
        ({"A": "", "B": ""}, "the row has no options"),
        ({"answer": "Z"}, "the right answer is not among the 2 options"),
        ({"image": "77"}, "the image is that of row '77', which is not there"),
    ],
)
def test_a_row_that_cannot_be_asked_is_listed_with_its_reason(cells, what, tmp_path):
    good = {
        "index": "1",
        "image": "a" * 100,
        "question": "Which?",
        "A": "x",
        "B": "y",
        "answer": "B",
    }
    path = tmp_path / "t.tsv"
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(good), delimiter="\t")
        table.writeheader()
        table.writerows([good, {**good, "index": "2", **cells}])

    first, second = Table(options="all")(path)

    assert isinstance(first, Sample) and first.target == "B"
    assert isinstance(second, BadSample) and what in second.error.what


def test_rows_of_the_hub_are_read_with_their_own_names():
    table = Table(aliases={"category": "question_type"})
    row = {
        "image": {"bytes": b"\x89PNG", "path": None},
        "question": "?",
        "answer": ["a", "b"],
        "question_type": "OCR",
    }
    sample = ToSample(table, RowImages(lambda index: None))(row)

    assert (
        sample.target == ("a", "b")
        and sample.tags == {"category": "OCR"}
        and len(sample.media) == 1
    )


def test_data_mini_is_the_shipped_set_and_lmudata_a_place_to_look(
    tmp_path, monkeypatch
):
    task = TASKS["mmstar"]
    (tmp_path / "MMStar.tsv").write_text("index\timage\tquestion\n")
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    monkeypatch.setenv("LMUData", str(tmp_path))

    assert find_data(task, "mini").name == "choices.tsv"
    assert find_data(task, None) == tmp_path / "MMStar.tsv"


def test_a_task_without_a_mini_set_says_so():
    with pytest.raises(UsageError, match="task 'own' has no mini-set"):
        find_data(Task("own", dataset=DataSource(hub="org/own")), "mini")


def test_the_mini_sets_are_what_their_script_makes(tmp_path):
    path = Path(__file__).parents[2] / "tools" / "make_minisets.py"
    spec = importlib.util.spec_from_file_location("make_minisets", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    script.main(tmp_path)

    shipped = PACKAGE / "benchmarks" / "data" / "vision"
    for made in tmp_path.glob("*.tsv"):
        assert (
            made.read_text().split("\n")[0]
            == (shipped / made.name).read_text().split("\n")[0]
        )
        assert len(made.read_text().split("\n")) == len(
            (shipped / made.name).read_text().split("\n")
        )
