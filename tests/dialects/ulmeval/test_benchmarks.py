"""The benchmarks that ULMEvalKit ships, scored without GPUs: specialists and judges are injected as models of a file.

Each specialist finds every picture right but the first, of which it says nothing that can be read.
"""

import io
import json
from pathlib import Path

import pytest

from assay import registry
from assay.core import Image, Output, Task
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.runner.tasks.locate import find_data
from assay.store import RunReader

SPECIALIST = """
KNOWN = {known!r}

def generate(request):
    [*_, shown] = request.prompt.media
    return KNOWN[shown.digest]
"""


def detections(sample):
    """Exactly what the prompt asks for, side by side from left to right."""
    found = {}
    for place, clause in enumerate(sample["include"]):
        for copy in range(clause["count"]):
            left = 5 + 30 * (place + copy)
            box = {
                "box": [left, 10, left + 20, 40],
                "score": 0.99,
                "color": clause.get("color", "white"),
            }
            found.setdefault(clause["class"], []).append(box)
    return {"detections": found}


def all_yes(sample):
    return {
        "answers": {
            str(question["proposition_id"]): "yes" for question in sample["questions"]
        }
    }


CASES = {
    "geneval": ("detector", detections, "geneval", 1.0),
    "dpg_bench": ("vqa", all_yes, "dpg", 1.0),
    "wise_legacy": (
        "judge",
        lambda _: {"consistency": 2, "realism": 1, "aesthetic": 2},
        "wise_legacy",
        0.9,
    ),
    "wise_verified": ("judge", lambda _: 1, "right", 1.0),
    "geneval_pp": ("judge", lambda _: {"verdict": "yes"}, "judge", 1.0),
    "imagine_bench_ulmeval": (
        "judge",
        lambda _: {"fantasy": 10, "identity": 5, "aesthetics": 0},
        "judge_ratings.overall",
        7.5,
    ),
    "omnicontext": (
        "judge",
        lambda _: {"prompt_following": 9, "subject_consistency": 4},
        "judge_ratings.overall",
        6.0,
    ),
    "t2i_compbench": ("compbench", lambda _: {"score": 0.75}, "t2i_compbench", 0.75),
}
"""By task: the role that is injected, what it says of a right picture, the metric, and its value."""


def shipped(name: str) -> Task:
    found = registry.tasks.get(name)
    return found if isinstance(found, Task) else found()


def picture(place: int, generation: int) -> Image:
    from PIL import Image as pillow

    kept = io.BytesIO()
    pillow.new("RGB", (64, 48), (place * 20, generation * 20, 90)).save(kept, "PNG")
    return Image(kept.getvalue())


@pytest.fixture
def evaluated(tmp_path: Path):
    """Runs a shipped task on its mini-set; gives the result and the folder."""

    def evaluate(name: str):
        task = shipped(name)
        role, says, _, _ = CASES[name]
        samples = list(task.dataset.read(find_data(task, "mini")))
        copies = max(task.options.n, 1)
        known = {
            picture(place, copy).digest: json.dumps(says(sample))
            if place
            else "I cannot tell"
            for place, sample in enumerate(samples)
            for copy in range(copies)
        }
        helper = tmp_path / "specialist.py"
        helper.write_text(SPECIALIST.format(known=known))

        def draw(request):
            place = next(
                n
                for n, sample in enumerate(samples)
                if sample.input in request.prompt.text
            )
            return Output.of(
                *(picture(place, copy) for copy in range(request.options.n))
            )

        judges = {role: f"{helper}:generate"}
        result = run(
            name,
            Scripted(draw),
            data="mini",
            judges=judges,
            output=str(tmp_path / "run"),
        )
        return result, tmp_path / "run", samples

    return evaluate


@pytest.mark.parametrize("name", CASES)
def test_item_7_a_benchmark_has_an_aggregate_with_error_bars_and_a_count_of_the_unscored(
    evaluated, name
):
    _, _, metric, value = CASES[name]

    result, _, samples = evaluated(name)

    [row] = [row for row in result.results if row.metric == metric]
    assert row.value == pytest.approx(value)
    assert row.ci is not None and row.ci[0] <= row.value <= row.ci[1]
    assert (row.n, row.n_expected) == (len(samples) - 1, len(samples))
    pictures = max(shipped(name).options.n, 1)
    assert row.outcomes["judge_error"] == pictures and result.status == "partial"


@pytest.mark.parametrize(
    "name",
    [
        "wise_legacy",
        "wise_verified",
        "geneval_pp",
        "imagine_bench_ulmeval",
        "omnicontext",
    ],
)
def test_item_7_the_judge_is_shown_the_picture_as_an_image_part(evaluated, name):
    _, folder, samples = evaluated(name)

    asked = [
        record
        for record in RunReader(folder).outputs()
        if record.task.endswith("#judge")
    ]
    drawn = {picture(place, 0).digest for place in range(len(samples))}
    shown = [
        [part["sha256"] for part in message["content"] if part["type"] == "image"]
        for record in asked
        for message in record.prompt
        if isinstance(message["content"], list)
    ]
    assert len(asked) == len(samples)
    assert {digests[-1] for digests in shown} == drawn
    assert not any("base64" in json.dumps(record.prompt) for record in asked)


def test_wise_in_its_two_versions_gives_numbers_of_their_own(evaluated):
    assert {shipped(name).protocol for name in ("wise_legacy", "wise_verified")} == {
        "wise@legacy",
        "wise@verified-v2",
    }
