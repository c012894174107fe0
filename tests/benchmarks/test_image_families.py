"""Image generation and editing families: every task runs on its mini-set with a scripted model and scripted helpers."""

import importlib.util
import io
import json
from pathlib import Path

import pytest
from each_row import each

from assay.benchmarks import image_tasks
from assay.benchmarks.image_rows import target_image
from assay.core import Image, Output, Sample, Task, UsageError
from assay.datasets.faults import RowFault
from assay.models.scripted import Scripted
from assay.runner.run import run
from assay.runner.tasks.locate import PACKAGE, find_data

TASKS = image_tasks.TASKS
SHARED = Path(__file__).parents[2].parent / "shared" / "data"
# What a helper that finds every image right replies, and the numbers that then stand in the summary.
HELPERS = {
    "geneval": ("detector", None, {"overall": 1.0, "geneval": 1.0}),
    "geneval_saved": ("", "", {"overall": 1.0, "geneval": 1.0}),
    "dpg_bench": ("vqa", None, {"dpg": 1.0, "dpg_questions": 1.0}),
    "dpg_bench_saved": ("", "", {"dpg": 1.0, "dpg_questions": 1.0}),
    "wise_verified": ("judge", "1", {"right": 1.0, "wise_verified.overall": 1.0}),
    "wise_legacy": (
        "judge",
        '{"consistency": 2, "realism": 1, "aesthetic": 2}',
        {"wise_legacy": 0.9, "wiscore_legacy": 0.9},
    ),
    "t2i_compbench": (
        "compbench",
        '{"score": 0.75}',
        {"t2i_compbench": 0.75, "overall": 0.75},
    ),
    "t2i_compbench_parts": (
        "vqa detector clip",
        None,
        # 1 for colours, texture and the place to the left; the cosine; mean of attributes and half a place.
        {
            "t2i_compbench": (1 + 1 + 1 + 0.31 + 0.75) / 5,
            "overall": (1 + 1 + 1 + 0.31 + 0.75) / 5,
        },
    ),
    "clip_score": ("clip", '{"cosine": 0.31}', {"clip_score": 0.775}),
    "clip_score_torchmetrics": ("clip", '{"cosine": 0.31}', {"clip_score": 31.0}),
    "fid": ("features", None, {"fid": 0.0}),
    "fid_clip": ("features", None, {"fid": 0.0}),
    "edit_lpips": ("lpips", '{"distance": 0.25}', {"lpips": 0.25}),
    "genai_bench": ("vqascore", "0.25", {"vqascore": 0.25}),
    "geneval_pp": ("judge", '{"verdict": "yes"}', {"overall": 1.0, "judge": 1.0}),
    "imagine_bench": (
        "judge",
        '{"fantasy": 10, "identity": 5, "aesthetics": 1}',
        {"fantasy": 10.0, "identity": 5.0, "aesthetics": 1.0, "overall": 4.2},
    ),
    "imagine_bench_ulmeval": (
        "judge",
        '{"fantasy": 10, "identity": 5, "aesthetics": 0}',
        {"fantasy": 10.0, "identity": 5.0, "aesthetics": 0.0, "overall": 7.5},
    ),
    "omnicontext": (
        "judge",
        '{"prompt_following": 9, "subject_consistency": 4}',
        {"prompt_following": 9.0, "subject_consistency": 4.0, "overall": 6.0},
    ),
    "gedit": (
        "judge",
        None,
        {"viescore.semantics": 4.0, "viescore.quality": 9.0, "viescore.overall": 6.0},
    ),
    "gedit_cn": (
        "judge",
        None,
        {"viescore.semantics": 4.0, "viescore.quality": 9.0, "viescore.overall": 6.0},
    ),
    "imgedit": (
        "judge",
        '{"compliance": 5, "naturalness": 4, "integrity": 3}',
        {
            "compliance": 5.0,
            "naturalness": 4.0,
            "integrity": 3.0,
            "overall": 4.0,
        },
    ),
    "gedit_upstream": (
        "judge",
        '{"score": [9, 4]}',
        {
            "viescore_upstream.semantics": 4.0,
            "viescore_upstream.quality": 4.0,
            "viescore_upstream.overall": 4.0,
        },
    ),
    "gedit_cn_upstream": (
        "judge",
        '{"score": [9, 4]}',
        {
            "viescore_upstream.semantics": 4.0,
            "viescore_upstream.quality": 4.0,
            "viescore_upstream.overall": 4.0,
        },
    ),
    "imgedit_upstream": (
        "judge",
        "Prompt Compliance: 5\nVisual Seamlessness: 4\nDetail Fidelity: 3",
        {"imgedit_upstream.overall": 4.0},
    ),
    "edit_similarity": (
        "",
        "",
        {"image_similarity.psnr": 100.0, "image_similarity.ssim": 1.0},
    ),
    "text_rendering": (
        "ocr",
        None,
        {
            "ocr_text.word_accuracy": 1.0,
            "ocr_text.ned": 1.0,
            "ocr_text.line_match": 1.0,
        },
    ),
}


# Replies that depend on what is asked.
SPECIALISTS = {
    "t2i_compbench_parts": """import json


def generate(request):
    asked = request.prompt.messages[-1].text
    if not asked.startswith("{"):
        return '{"cosine": 0.31}'
    asked = json.loads(asked)
    if "questions" in asked:
        return json.dumps({"yes": {key: 1.0 for key in asked["questions"]}})
    boxes = {name: [[100 * n, 0, 100 * n + 10, 10, 1.0]] for n, name in enumerate(asked["classes"])}
    return json.dumps({"detections": boxes})
""",
    "fid": """import json


def generate(request):
    digest = request.prompt.media[0].digest
    return json.dumps({"features": [int(digest[:2], 16) / 255, int(digest[2:4], 16) / 255]})
""",
}
SPECIALISTS["fid_clip"] = SPECIALISTS["fid"]
SPECIALISTS["gedit"] = """def generate(request):
    if "success" in request.prompt.messages[0].text:
        return '{"success": 9, "restraint": 4}'
    return '{"naturalness": 10, "soundness": 9}'
"""
SPECIALISTS["gedit_cn"] = SPECIALISTS["gedit"]
WITHOUT_WORST = ("fid", "fid_clip", "edit_lpips")
"""Measures with no value for an image that is not there."""


@pytest.fixture(autouse=True)
def official_prompts(tmp_path_factory, monkeypatch):
    """Checkouts with prompts for the tasks that are asked with official ones; the texts are made up."""
    folder = tmp_path_factory.mktemp("checkouts")
    names = (
        "_context_no_delimit",
        "_prompts_0shot_two_image_edit_rule",
        "_prompts_0shot_tie_rule_SC",
        "_prompts_0shot_rule_PQ",
    )
    lines = "".join(f"{name} = 'rate it'\n" for name in names)
    (folder / "vie_prompts.py").write_text(lines)
    kinds = dict.fromkeys(("color", "shape", "text"), "rate <edit_prompt>")
    (folder / "prompts.json").write_text(json.dumps(kinds))
    monkeypatch.setenv("ASSAY_GEDIT", str(folder))
    monkeypatch.setenv("ASSAY_IMGEDIT", str(folder))


def samples_of(task: Task) -> list[Sample]:
    made = list(task.dataset.read(find_data(task, "mini")))
    assert made and all(isinstance(sample, Sample) for sample in made)
    return made


def blank(colour: str = "white") -> bytes:
    from PIL import Image as Pillow

    kept = io.BytesIO()
    Pillow.new("RGB", (64, 48), colour).save(kept, "PNG")
    return kept.getvalue()


def image_for(place: int) -> bytes:
    return blank(f"#{place * 10 + 5:02x}0000")


def painter(task: Task) -> Scripted:
    """A model that makes another image for each prompt, as often as it is asked to."""
    samples = samples_of(task)

    def draw(request):
        place = next(
            n for n, sample in enumerate(samples) if sample.input in request.prompt.text
        )
        target = samples[place].target
        picture = target if isinstance(target, Image) else Image(image_for(place))
        return Output.of(*[picture] * request.options.n)

    return Scripted(draw)


def replies_of(task: Task) -> dict[str, str]:
    """What a specialist says of the image of each sample, by the image's digest."""
    said = {}
    rows = [
        json.loads(line)
        for line in (PACKAGE / "benchmarks/data/image/geneval_saved.jsonl").open()
    ]
    for place, sample in enumerate(samples_of(task)):
        if task.name == "geneval":
            reply = json.dumps({"detections": rows[place]["detections"]})
        elif task.name == "dpg_bench":
            reply = json.dumps(
                {
                    "answers": {
                        str(one["proposition_id"]): "yes" for one in sample["questions"]
                    }
                }
            )
        else:
            reply = str(sample.target).lower()
        said[Image(image_for(place)).digest] = reply
    return said


def helper(task: Task, folder: Path) -> dict[str, str]:
    """A model in a file that answers by the image it is shown, and refuses to answer where it is shown none."""
    role, reply, _ = HELPERS[task.name]
    if not role:
        return {}
    path = folder / "helper.py"
    if task.name in SPECIALISTS:
        path.write_text(SPECIALISTS[task.name])
        return dict.fromkeys(role.split(), f"{path}:generate")
    known = replies_of(task) if reply is None else {}
    path.write_text(
        f"""KNOWN = {known!r}
REPLY = {reply!r}


def generate(request):
    shown = request.prompt.media
    if not shown:
        raise ValueError("no picture")
    return KNOWN[shown[-1].digest] if REPLY is None else REPLY
"""
    )
    return {role: f"{path}:generate"}


@each("name", TASKS)
def test_every_task_says_how_it_is_measured_and_where_its_data_is(name):
    task = TASKS[name]

    assert "@" in task.protocol and task.citation and task.licence and task.data_hint
    # `format-checked` where no official code was run beside ours; else what of it is as published.
    assert (
        task.description.endswith(("(format-checked)", "as published)"))
        and len(task.description) < 90
    )
    assert task.dataset.local and (PACKAGE / task.dataset.mini).is_file()
    assert task.produces == ("image",)


def test_protocols_are_all_different_and_every_task_is_tried():
    assert (
        len({task.protocol for task in TASKS.values()}) == len(TASKS)
        and TASKS.keys() == HELPERS.keys()
    )


@pytest.mark.parametrize("name", TASKS)
def test_images_are_scored_from_what_the_helper_says_of_them(name, tmp_path):
    task = TASKS[name]

    done = run(
        task,
        painter(task),
        data="mini",
        judge=helper(task, tmp_path),
        output=str(tmp_path / "run"),
    )

    values = {
        result.metric.removeprefix("judge_ratings."): result.value
        for result in done.results
    }
    assert done.status == "complete"
    assert values == pytest.approx(HELPERS[name][2], abs=1e-9)


@pytest.mark.parametrize(
    "name", [n for n in TASKS if not n.endswith("_saved") and n not in WITHOUT_WORST]
)
def test_a_model_that_draws_nothing_gets_nothing(name, tmp_path):
    task = TASKS[name]

    model = Scripted(lambda request: ["I cannot draw."] * request.options.n)

    done = run(
        task,
        model,
        data="mini",
        judge=helper(task, tmp_path),
        output=str(tmp_path / "r"),
    )

    # DPG has no count of questions for an image that is not there; ImgEdit's scale begins at 1.
    worst = 1.0 if name.startswith("imgedit") else 0.0
    assert all(result.value in (worst, None) for result in done.results)
    answers = len(samples_of(task)) * task.options.n
    assert done.results[0].value == worst and done.results[0].outcomes == {
        "unparsed": answers
    }


@pytest.mark.parametrize("name", WITHOUT_WORST)
def test_an_image_that_was_not_made_leaves_a_measure_without_a_worst_value(
    name, tmp_path
):
    task = TASKS[name]

    done = run(
        task,
        Scripted("I cannot draw."),
        data="mini",
        judge=helper(task, tmp_path),
        output=str(tmp_path / "r"),
        on_error="continue",
    )

    assert done.status == "failed" and all(
        result.value is None for result in done.results
    )
    assert any("no image was made" in note for note in done.notes)


@pytest.mark.parametrize(
    "name", [name for name, (role, _, _) in HELPERS.items() if role]
)
def test_a_task_without_its_helper_is_refused_before_the_run(name, tmp_path):
    role = HELPERS[name][0]

    with pytest.raises(UsageError, match=f"needs a model as '{role.split()[0]}'"):
        run(
            TASKS[name], painter(TASKS[name]), data="mini", output=str(tmp_path / "run")
        )


def test_a_judge_of_an_edit_sees_what_was_given_and_what_was_made(tmp_path):
    task = TASKS["gedit"]
    path = tmp_path / "judge.py"
    path.write_text(
        """def generate(request):
    kinds = [getattr(part, "kind", "text") for part in request.prompt.messages[-1].parts]
    if "success" not in request.prompt.messages[0].text:
        return '{"naturalness": 10, "soundness": 10}'
    seen = kinds == ["text", "text", "image", "text", "image", "text"]
    return '{"success": %d, "restraint": %d}' % (10 * seen, 10 * seen)
"""
    )

    done = run(
        task,
        painter(task),
        data="mini",
        judge=f"{path}:generate",
        output=str(tmp_path / "run"),
    )

    assert {result.value for result in done.results} == {10.0}


def test_several_images_of_one_prompt_keep_their_own_verdicts(tmp_path):
    task = TASKS["geneval"].but(options=TASKS["geneval"].options.set(n=2))
    good = painter(task)
    half = Scripted(lambda r: Output.of(good.answers(r).media[0], Image(blank("blue"))))
    judge = helper(task, tmp_path)
    path = tmp_path / "helper.py"
    path.write_text(
        path.read_text().replace(
            "KNOWN[shown[-1].digest]", "KNOWN.get(shown[-1].digest, '{}')"
        )
    )

    done = run(task, half, data="mini", judge=judge, output=str(tmp_path / "run"))

    assert {result.metric: result.value for result in done.results} == {
        "overall": 0.5,
        "geneval": 0.5,
    }


def test_a_judge_is_shown_each_image_of_a_prompt_and_its_verdict_stays_with_it(
    tmp_path,
):
    task = TASKS["geneval_pp"].but(options=TASKS["geneval_pp"].options.set(n=3))
    drawn = [Image(blank(colour)) for colour in ("red", "blue", "red")]
    path = tmp_path / "judge.py"
    path.write_text(
        f"""def generate(request):
    (shown,) = request.prompt.media
    return '{{"verdict": "%s"}}' % ("yes" if shown.digest == {drawn[1].digest!r} else "no")
"""
    )

    done = run(
        task,
        Scripted(lambda r: Output.of(*drawn)),
        data="mini",
        judge=f"{path}:generate",
        output=str(tmp_path / "run"),
    )

    lines = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").open()]
    verdicts = [line["candidates"] for line in lines if line["kind"] == "score"]
    assert verdicts and all(given == [0.0, 1.0, 0.0] for given in verdicts)
    assert done.results[0].value == pytest.approx(1 / 3)


def graded_by_question(folder: Path, grades: dict[str, str], otherwise: str) -> str:
    """A judge that grades by the prompt it reads."""
    path = folder / "judge.py"
    path.write_text(
        f"""def generate(request):
    return next((reply for asked, reply in {grades!r}.items() if asked in request.prompt.text), {otherwise!r})
"""
    )
    return f"{path}:generate"


def test_omnicontext_is_the_mean_over_its_task_types(tmp_path):
    # Three rows of one type, two of the other: the beach leaves 4 to the first, and the mean over rows would be 4.8.
    judge = graded_by_question(
        tmp_path,
        {"beach": '{"prompt_following": 0, "subject_consistency": 10}'},
        '{"prompt_following": 9, "subject_consistency": 4}',
    )

    task = TASKS["omnicontext"]

    done = run(
        task, painter(task), data="mini", judge=judge, output=str(tmp_path / "r")
    )

    values = {
        result.metric.removeprefix("judge_ratings."): result.value
        for result in done.results
    }
    assert values == pytest.approx(
        {"overall": 5.0, "prompt_following": 7.5, "subject_consistency": 5.0}
    )
    assert set(done.results[0].groups["category"]) == {"single", "multiple"}


def test_geneval_pp_is_the_mean_over_its_tags(tmp_path):
    # Three prompts of one tag and one of each of two others; only the action is right.
    judge = graded_by_question(
        tmp_path, {"goat": '{"verdict": "yes"}'}, '{"verdict": "no"}'
    )

    done = run(
        TASKS["geneval_pp"],
        painter(TASKS["geneval_pp"]),
        data="mini",
        judge=judge,
        output=str(tmp_path / "r"),
    )

    assert {result.metric: result.value for result in done.results} == pytest.approx(
        {"overall": 1 / 3, "judge": 1 / 5}
    )


def test_imagine_bench_weighs_four_kinds_of_prompts(tmp_path):
    grades = {"goat": '{"fantasy": 10, "identity": 10, "aesthetics": 10}'}
    judge = graded_by_question(
        tmp_path, grades, '{"fantasy": 0, "identity": 10, "aesthetics": 0}'
    )
    task = TASKS["imagine_bench"]

    done = run(
        task, painter(task), data="mini", judge=judge, output=str(tmp_path / "r")
    )

    # The goat is the only prompt with several objects: 2 of 9 parts of the weights.
    assert done.results[0].value == pytest.approx(10 * 2 / 9)
    assert image_tasks.kind_of({"type": "TWO_OBJECT"})["kind"] == "multi-object"


def test_the_official_file_of_imagine_bench_asks_in_instruction():
    assert (
        image_tasks.instruction_as_prompt({"id": 1, "instruction": "a blue monkey"})[0][
            "prompt"
        ]
        == "a blue monkey"
    )


@pytest.mark.parametrize(
    ("name", "firsts"),
    [
        ("wise_legacy", (1, 401, 568, 701, 801, 901)),
        ("wise_verified", (1, 401, 521, 641, 761, 881)),
    ],
)
def test_the_field_of_a_wise_prompt_uses_its_category_or_by_its_number_in_that_version(
    name, firsts
):
    field = TASKS[name].dataset.read.tags
    names = ["culture", "time", "space", "biology", "physics", "chemistry"]

    assert [
        field({"prompt_id": n, "Category": "?"})["category"] for n in firsts
    ] == names
    assert [
        field({"prompt_id": n - 1})["category"] for n in (*firsts[1:], 1001)
    ] == names
    assert field({"prompt_id": 1, "Category": "Physics"}) == {"category": "physics"}
    assert field({"prompt_id": "x"}) == {}


def test_each_version_of_wise_has_its_own_fields():
    # The data of 2026 call physics `Physical Knowledge`, so that it goes by the number.
    row = {"prompt_id": 790, "Prompt": "A bent straw", "Category": "Physical Knowledge"}

    assert TASKS["wise_verified"].dataset.read.tags(row) == {"category": "physics"}
    assert TASKS["wise_legacy"].dataset.read.tags(row) == {"category": "biology"}


def test_an_edit_without_its_result_is_a_fault_of_the_row():
    with pytest.raises(RowFault, match="no image to compare with"):
        target_image({"target_image": ""})


def test_the_official_geneval_prompts_are_read_in_place():
    if not (SHARED / "geneval").is_dir():
        pytest.skip("../shared/data/geneval is not there")
    task = TASKS["geneval"]

    samples = list(task.dataset.read(find_data(task, str(SHARED))))

    assert len(samples) == 553 and all(isinstance(sample, Sample) for sample in samples)
    assert {sample.tags["tag"] for sample in samples} == {
        "single_object",
        "two_object",
        "counting",
        "colors",
        "position",
        "color_attr",
    }
    assert json.loads(image_tasks.classes_to_find(samples[0])) == {
        "classes": [samples[0]["include"][0]["class"]]
    }


def test_the_official_dpg_prompts_are_read_in_place():
    if not (SHARED / "dpg").is_dir():
        pytest.skip("../shared/data/dpg is not there")
    task = TASKS["dpg_bench"]

    samples = list(task.dataset.read(find_data(task, str(SHARED))))

    assert samples and all(
        isinstance(sample, Sample) and sample.input for sample in samples
    )
    assert samples[0].id == "103" or samples[0].fields.get("questions")


DPG_CSV = """item_id,text,keywords,proposition_id,dependency,category_broad,category_detailed,tuple,\
question_natural_language
p1,"A red ball, on a table.",ball,1,0,entity,whole,entity - whole (ball),Is there a ball?
p1,"A red ball, on a table.",ball,2,1,attribute,color,"attribute - color (ball, red)",Is the ball red?
p1,"A red ball, on a table.",ball,3,"1, 2",relation,spatial,relation - spatial (ball on table),Is it on a table?
p2,A boat.,boat,1,0,entity,whole,entity - whole (boat),Is there a boat?
p3,A tree.,tree,1,0,entity,whole,entity - whole (tree),
"""


def test_the_official_table_of_propositions_is_read_as_it_is(tmp_path):
    (tmp_path / "dpg_bench.csv").write_text(DPG_CSV)
    task = TASKS["dpg_bench"]

    first, second, third = task.dataset.read(find_data(task, str(tmp_path)))

    assert (first.id, first.input) == (
        "p1",
        "A red ball, on a table.",
    ) and second.id == "p2"
    asked = json.loads(image_tasks.propositions(first))["questions"]
    assert asked == {
        "1": "Is there a ball?",
        "2": "Is the ball red?",
        "3": "Is it on a table?",
    }
    assert [question["dependency"] for question in first["questions"]] == [
        "0",
        "1",
        "1, 2",
    ]
    assert (
        "dpg_bench.csv:6:question_natural_language: a proposition of the prompt has no question"
        in str(third.error)
    )


def test_the_official_table_is_scored_with_its_dependencies(tmp_path):
    (tmp_path / "dpg_bench.csv").write_text(DPG_CSV.rsplit("p3", 1)[0])
    path = tmp_path / "vqa.py"
    path.write_text(
        """import json


def generate(request):
    asked = json.loads(request.prompt.messages[-1].text)["questions"]
    return json.dumps({"answers": {key: "no" if "red" in text else "yes" for key, text in asked.items()}})
"""
    )
    task = TASKS["dpg_bench"].but(options=TASKS["dpg_bench"].options.set(n=1))
    drawn = Scripted(lambda request: Output.of(Image(blank())))

    done = run(
        task,
        drawn,
        data=str(tmp_path),
        judge={"vqa": f"{path}:generate"},
        output=str(tmp_path / "run"),
    )

    # Prompt 1: of three propositions the red ball fails and takes the table with it.
    values = {result.metric: result.value for result in done.results}
    assert values == pytest.approx({"dpg": (1 / 3 + 1) / 2, "dpg_questions": 2 / 4})


def test_the_mini_sets_are_what_their_script_makes(tmp_path):
    path = Path(__file__).parents[2] / "tools" / "make_sound_and_drawing_minisets.py"
    spec = importlib.util.spec_from_file_location(
        "make_sound_and_drawing_minisets", path
    )
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)

    script.main(tmp_path)

    def without_images(line: str) -> dict:
        return {
            k: v
            for k, v in json.loads(line).items()
            if k not in ("image", "images", "target_image")
        }

    shipped = PACKAGE / "benchmarks" / "data" / "image"
    for made in (tmp_path / "image").glob("*.jsonl"):
        pairs = zip(made.open(), (shipped / made.name).open(), strict=True)
        assert all(without_images(one) == without_images(other) for one, other in pairs)
