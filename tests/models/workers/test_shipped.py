"""The workers that ship, on tiny models of random weights: what they load, what they answer, what they refuse."""

import base64
import io
import json
import struct
import sys

import pytest

import assay
from assay.benchmarks.image_tasks import (
    clip_score,
    dpg_bench,
    fid_clip,
    geneval,
    t2i_compbench_parts,
)
from assay.core import Image, Message, Output, Prompt, Request, Text
from assay.models import build_model
from assay.models.scripted import Scripted
from assay.models.workers import serve
from assay.models.workers.shipped import inception
from assay.models.workers.sources import shipped_names

torch_only = pytest.mark.torch


def picture(colour="red", size=(48, 40)) -> bytes:
    from PIL import Image as Pillow

    kept = io.BytesIO()
    Pillow.new("RGB", size, colour).save(kept, "PNG")
    return kept.getvalue()


def asked(text, *pictures) -> serve.Request:
    said = text if isinstance(text, str) else json.dumps(text)
    parts = [
        {"type": "image", "base64": base64.b64encode(data).decode()}
        for data in pictures
    ]
    return serve.Request(
        {
            "messages": [
                {"role": "user", "content": [*parts, {"type": "text", "text": said}]}
            ]
        }
    )


def shipped(name, **options):
    from assay.models.workers.sources import SHIPPED, read_source

    source = read_source(SHIPPED / f"{name}.py", None)
    return serve.load(str(source.file), source.kind)(**options)


def numbers(features: str) -> tuple[float, ...]:
    data = base64.b64decode(features)
    return struct.unpack(f"<{len(data) // 4}f", data)


def test_the_shipped_workers_declare_themselves_without_their_libraries():
    assert shipped_names() == ["clip", "detector", "inception", "lpips", "vqa"]
    for name, options in (
        ("lpips", {"backbone": "a", "heads": "b"}),
        ("inception", {"weights": "w"}),
    ):
        assert build_model(f"worker/{name}", options).abilities.produces == {"json"}


@torch_only
def test_clip_gives_the_cosine_of_an_image_and_a_text(clip_folder):
    import torch
    from transformers import AutoProcessor, CLIPModel

    worker = shipped("clip", model=str(clip_folder))

    found = worker.answer(asked("a ball", picture()))["cosine"]

    model, processor = (
        CLIPModel.from_pretrained(clip_folder),
        AutoProcessor.from_pretrained(clip_folder),
    )
    given = processor(
        text=["a ball"],
        images=asked("", picture()).image(),
        return_tensors="pt",
        padding=True,
    )
    with torch.inference_mode():
        expected = float(
            model(**given).logits_per_image[0, 0] / model.logit_scale.exp()
        )
    assert found == pytest.approx(expected, abs=1e-5)


@torch_only
def test_clip_gives_features_and_cuts_long_texts(clip_folder):
    worker = shipped("clip", model=str(clip_folder))

    assert (
        len(numbers(worker.answer(asked({"features": True}, picture()))["features"]))
        == 8
    )
    assert -1 <= worker.answer(asked("word " * 200, picture()))["cosine"] <= 1
    with pytest.raises(ValueError, match="no text"):
        worker.answer(asked(" ", picture()))
    with pytest.raises(ValueError, match="one image at a time, got 2"):
        worker.answer(asked("a", picture(), picture()))


@torch_only
def test_a_detector_with_fixed_classes_finds_what_it_was_taught(detr_folder):
    worker = shipped("detector", model=str(detr_folder))

    found = worker.answer(
        asked({"classes": ["clock", "cup", "computer mouse"]}, picture())
    )["detections"]

    assert list(found) == ["clock", "cup", "computer mouse"]
    assert len(found["clock"]) == 6 and found["cup"] == []
    for thing in found["clock"]:
        left, top, right, bottom = thing["box"]
        assert (
            0 <= left <= right <= 48
            and 0 <= top <= bottom <= 40
            and thing["score"] > 0.9
        )
    assert [thing["score"] for thing in found["clock"]] == sorted(
        (t["score"] for t in found["clock"]), reverse=True
    )


@torch_only
def test_a_class_the_detector_was_never_taught_is_an_error_and_not_a_missing_object(
    detr_folder,
):
    worker = shipped("detector", model=str(detr_folder))

    with pytest.raises(ValueError, match="does not know the class 'unicorn'"):
        worker.answer(asked({"classes": ["unicorn"]}, picture()))
    with pytest.raises(ValueError, match="no classes to look for"):
        worker.answer(asked("a unicorn", picture()))
    with pytest.raises(ValueError, match="option clip=PATH"):
        worker.answer(asked({"classes": ["clock"], "colors": True}, picture()))


@torch_only
@pytest.mark.parametrize("family", ["owl", "owl2", "dino"])
def test_a_zero_shot_detector_takes_class_names_as_text(family, request):
    worker = shipped(
        "detector",
        model=str(request.getfixturevalue(f"{family}_folder")),
        threshold=0.0,
    )

    found = worker.answer(asked({"classes": ["clock", "cup"]}, picture()))["detections"]

    assert set(found) == {"clock", "cup"}
    assert all(
        0 <= edge <= 48
        for things in found.values()
        for thing in things
        for edge in thing["box"]
    )
    if family != "dino":
        assert sum(map(len, found.values())) == 16  # a box for each of 4 x 4 patches


@torch_only
def test_an_instance_segmenter_gives_boxes_of_masks_and_clip_their_colours(
    mask_folder, clip_folder
):
    worker = shipped(
        "detector", model=str(mask_folder), clip=str(clip_folder), threshold=0.01
    )

    found = worker.answer(
        asked({"classes": ["clock", "car"], "colors": True}, picture())
    )["detections"]

    things = [thing for some in found.values() for thing in some]
    assert things and all(set(thing) == {"box", "score", "color"} for thing in things)
    json.dumps(found)


@torch_only
def test_a_mask_cuts_the_object_out_over_grey(mask_folder):
    import numpy as np

    cut_out = sys.modules[
        type(shipped("detector", model=str(mask_folder))).__module__
    ].cut_out
    mask = np.zeros((40, 48), bool)
    mask[10:20, 10:20] = True

    crop = cut_out(asked("", picture()).image(), {"box": [5, 5, 25, 25], "mask": mask})

    assert (
        crop.size == (20, 20)
        and crop.getpixel((0, 0)) == (153, 153, 153)
        and crop.getpixel((10, 10)) == (255, 0, 0)
    )


@torch_only
def test_a_model_other_than_a_detector_is_refused(clip_folder):
    with pytest.raises(ValueError, match="a clip model, neither a detector"):
        shipped("detector", model=str(clip_folder))


@torch_only
@pytest.mark.parametrize("family", ["blip", "vilt", "llava"])
def test_questions_are_answered_by_the_more_probable_of_yes_and_no(family, request):
    worker = shipped("vqa", model=str(request.getfixturevalue(f"{family}_folder")))

    reply = worker.answer(
        asked({"questions": {"1": "Is there a ball?", "2": "Is it red?"}}, picture())
    )

    assert set(reply) == {"answers", "yes", "probability"} and set(
        reply["answers"]
    ) == {"1", "2"}
    for key, share in reply["yes"].items():
        assert (
            reply["answers"][key] == ("yes" if share > 0.5 else "no")
            and 0 < reply["probability"][key] < 1
        )


@torch_only
def test_blip_weighs_yes_as_its_own_decoder_does(blip_folder):
    import torch
    from transformers import AutoProcessor, BlipForQuestionAnswering

    found = shipped("vqa", model=str(blip_folder)).answer(
        asked({"questions": {"1": "a ball?"}}, picture())
    )

    model, processor = (
        BlipForQuestionAnswering.from_pretrained(blip_folder),
        AutoProcessor.from_pretrained(blip_folder),
    )
    given = processor(
        images=asked("", picture()).image(), text="a ball?", return_tensors="pt"
    )
    with torch.inference_mode():
        wrote = model.generate(
            **given, max_new_tokens=1, return_dict_in_generate=True, output_logits=True
        )
    probable = wrote.logits[0][0].softmax(-1)
    yes, no = (
        float(probable[processor.tokenizer.convert_tokens_to_ids(word)])
        for word in ("yes", "no")
    )
    assert found["probability"]["1"] == pytest.approx(yes, rel=1e-4)
    assert found["yes"]["1"] == pytest.approx(yes / (yes + no), rel=1e-4)


@torch_only
def test_a_plain_text_is_asked_about_as_vqascore_asks(llava_folder):
    worker = shipped("vqa", model=str(llava_folder))
    heard = []
    weigh = worker.weigh
    worker.weigh = lambda image, question: (
        heard.append(question) or weigh(image, question)
    )

    score = worker.answer(asked("a red ball", picture()))["score"]

    assert (
        heard == ['Does this figure show "a red ball"? Please answer yes or no.']
        and 0 < score < 1
    )


@torch_only
def test_a_blank_with_which_yes_and_no_both_begin_speaks_for_neither(llava_folder):
    import torch

    worker = shipped("vqa", model=str(llava_folder))
    ids = {
        word: worker.processor.tokenizer.convert_tokens_to_ids(word)
        for word in ("Yes", "yes", "No", "no")
    }
    logits = torch.zeros(len(worker.processor.tokenizer))
    logits[
        worker.processor.tokenizer(" Yes", add_special_tokens=False)["input_ids"][0]
    ] = 9.0
    logits[ids["Yes"]] = 3.0

    yes, no = worker._yes_and_no(
        logits, ("Yes", "yes", " Yes", " yes"), ("No", "no", " No", " no")
    )

    probable = logits.softmax(-1)
    assert yes == pytest.approx(float(probable[ids["Yes"]] + probable[ids["yes"]]))
    assert no == pytest.approx(float(probable[ids["No"]] + probable[ids["no"]]))


@torch_only
def test_a_template_that_writes_the_first_token_is_not_given_a_second(llava_folder):
    worker = shipped("vqa", model=str(llava_folder))
    worker.processor.chat_template = "<s>" + worker.processor.chat_template
    seen = []
    worker.model.register_forward_pre_hook(
        lambda _, __, given: seen.append(given["input_ids"][0]), with_kwargs=True
    )

    worker.answer(asked("a red ball", picture()))

    [ids] = seen
    assert ids.tolist().count(worker.processor.tokenizer.bos_token_id) == 1


@torch_only
def test_a_model_that_answers_no_questions_is_refused(detr_folder):
    with pytest.raises((ValueError, OSError)):
        shipped("vqa", model=str(detr_folder))


@pytest.fixture
def alexnet(tmp_path):
    import torch

    layers = torch.nn.Sequential(
        torch.nn.Conv2d(3, 64, 11, 4, 2),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2),
        torch.nn.Conv2d(64, 192, 5, padding=2),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2),
        torch.nn.Conv2d(192, 384, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(384, 256, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(256, 256, 3, padding=1),
        torch.nn.ReLU(),
    )
    torch.save(
        {f"features.{name}": value for name, value in layers.state_dict().items()},
        tmp_path / "alexnet.pth",
    )
    heads = {
        f"lin{n}.model.1.weight": torch.rand(1, c, 1, 1)
        for n, c in enumerate((64, 192, 384, 256, 256))
    }
    torch.save(heads, tmp_path / "heads.pth")
    return (
        {
            "backbone": str(tmp_path / "alexnet.pth"),
            "heads": str(tmp_path / "heads.pth"),
        },
        layers,
        heads,
    )


@torch_only
def test_lpips_sums_weighed_differences_over_five_layers(alexnet):
    import torch

    options, layers, heads = alexnet
    one, other = picture("red", (80, 64)), picture("#203040", (80, 64))
    worker = shipped("lpips", **options)

    found = worker.answer(asked("", one, other))["distance"]

    expected = 0.0
    seen = [worker.tensor(asked("", data).image()) for data in (one, other)]
    with torch.inference_mode():
        for place, layer in enumerate(layers):
            seen = [layer(values) for values in seen]
            if isinstance(layer, torch.nn.ReLU):
                a, b = (
                    values / values.pow(2).sum(1, keepdim=True).sqrt().clamp_min(1e-10)
                    for values in seen
                )
                head = heads[f"lin{(1, 4, 7, 9, 11).index(place)}.model.1.weight"]
                expected += float(torch.nn.functional.conv2d((a - b) ** 2, head).mean())
    assert found == pytest.approx(expected, rel=1e-4) and found > 0
    assert worker.answer(asked("", one, one))["distance"] == 0.0
    assert worker.answer(asked("", other, one))["distance"] == pytest.approx(
        found, rel=1e-5
    )


@torch_only
def test_lpips_says_what_it_cannot_compare(alexnet, tmp_path):
    import torch

    options, _, _ = alexnet
    worker = shipped("lpips", **options)

    with pytest.raises(ValueError, match="compares two images, got 1"):
        worker.answer(asked("", picture()))
    with pytest.raises(ValueError, match="different sizes"):
        worker.answer(asked("", picture(), picture(size=(80, 64))))
    with pytest.raises(ValueError, match="at least 63 x 63"):
        worker.answer(asked("", picture(), picture()))
    torch.save({"features.0.weight": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(ValueError, match="is not an AlexNet"):
        shipped("lpips", **{**options, "backbone": str(tmp_path / "other.pth")})


def test_inception_has_as_many_weights_as_the_published_network():
    import math

    shapes = inception.shapes_of_weights()

    # 27,161,264 parameters of the published network less 2,049,000 of its classifier and 3,326,696 of its helper.
    assert (
        sum(math.prod(shape) + 2 * shape[0] for shape in shapes.values()) == 21_785_568
    )
    assert shapes["Mixed_7c.branch3x3dbl_3b"] == (384, 384, 3, 1) and shapes[
        "Conv2d_1a_3x3"
    ] == (32, 3, 3, 3)


@torch_only
def test_inception_gives_2048_features_and_names_what_a_file_lacks(tmp_path):
    import torch

    weights = {}
    for name, shape in inception.shapes_of_weights().items():
        weights[f"{name}.conv.weight"] = torch.randn(shape) * 0.05
        weights |= {
            f"{name}.bn.{own}": torch.ones(shape[0])
            for own in ("weight", "running_var")
        }
        weights |= {
            f"{name}.bn.{own}": torch.zeros(shape[0])
            for own in ("bias", "running_mean")
        }
    torch.save({**weights, "fc.weight": torch.zeros(2)}, tmp_path / "inception.pth")
    worker = shipped("inception", weights=str(tmp_path / "inception.pth"))

    values = numbers(worker.answer(asked("", picture()))["features"])

    assert (
        len(values) == 2048
        and all(value >= 0 for value in values)
        and len({*values}) > 100
    )
    pool = sys.modules[type(worker).__module__]._pool
    assert bool((pool(torch.ones(1, 1, 8, 8), "Mixed_7b") == 1).all())
    del weights["Mixed_6c.branch1x1.bn.weight"]
    torch.save(weights, tmp_path / "torn.pth")
    with pytest.raises(ValueError, match=r"has no Mixed_6c\.branch1x1\.bn\.weight"):
        shipped("inception", weights=str(tmp_path / "torn.pth"))


@torch_only
def test_geneval_runs_end_to_end_with_a_detector_in_another_process(
    mask_folder, clip_folder, tmp_path
):
    painter = Scripted(
        lambda r: Output.of(
            *[Image(picture(f"#{n}08080")) for n in range(1, r.options.n + 1)]
        )
    )
    task = geneval.but(options=geneval.options.set(n=2))

    done = assay.run(
        task,
        painter,
        data="mini",
        judge={"detector": "worker/detector"},
        judge_args={
            "model": str(mask_folder),
            "clip": str(clip_folder),
            "threshold": 0.01,
            "python": sys.executable,
        },
        output=str(tmp_path / "run"),
        on_error="continue",
    )

    # Its mini-set asks for classes that the tiny detector was never taught: those are the detector's failure.
    overall = next(r for r in done.results if r.metric == "geneval")
    assert overall.outcomes.get("scored", 0) >= 3
    assert set(overall.outcomes) <= {"scored", "judge_error"}
    assert all(
        "does not know the class" in note
        for note in done.notes
        if "judge_error" in note
    )


@torch_only
def test_a_shipped_worker_answers_from_its_own_process(clip_folder):
    worker = build_model(
        "worker/clip", {"model": str(clip_folder), "python": sys.executable}
    )
    prompt = Prompt(
        (Message("user", (Image(picture()), Text("a ball"))),), produces=("json",)
    )
    try:
        (output,) = worker.generate([Request(prompt)])
    finally:
        worker.close()

    assert output.error is None and -1 <= output.json["cosine"] <= 1


@torch_only
def test_t2i_compbench_asks_three_workers_in_their_own_processes(
    blip_folder, owl_folder, clip_folder, tmp_path
):
    task = t2i_compbench_parts.but(options=t2i_compbench_parts.options.set(n=1))
    folders = {"vqa": blip_folder, "detector": owl_folder, "clip": clip_folder}

    done = assay.run(
        task,
        Scripted(lambda request: Output.of(Image(picture("#808080")))),
        data="mini",
        judge={role: f"worker/{role}" for role in folders},
        judge_args={f"{role}.model": str(folder) for role, folder in folders.items()}
        | {"python": sys.executable},
        output=str(tmp_path / "run"),
    )

    assert done.status == "complete" and done.notes == ()
    assert all(0 <= result.value <= 1 for result in done.results)
    lines = [json.loads(line) for line in (tmp_path / "run" / "records.jsonl").open()]
    parts = {
        line["id"]: set(line["details"]["parts"])
        for line in lines
        if line["kind"] == "score"
    }
    assert parts == {
        "1": {"vqa"},
        "2": {"detector"},
        "3": {"vqa"},
        "4": {"clip"},
        "5": {"vqa", "detector"},
    }


@torch_only
def test_fid_on_clip_features_and_clip_score_run_with_one_kind_of_worker(
    clip_folder, tmp_path
):
    rows = [
        {
            "id": str(n),
            "prompt": f"shade {n}",
            "target_image": base64.b64encode(picture(f"#{n:x}0{15 - n:x}040")).decode(),
        }
        for n in range(10)
    ]
    (tmp_path / "fid.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    painter = Scripted(
        lambda r: Output.of(
            Image(picture(f"#40{int(r.prompt.messages[-1].text[6:]):x}0f0"))
        )
    )
    settings = {
        "judge_args": {"model": str(clip_folder), "python": sys.executable},
        "data": str(tmp_path / "fid.jsonl"),
    }

    distance = assay.run(
        fid_clip,
        painter,
        judge={"features": "worker/clip"},
        output=str(tmp_path / "a"),
        **settings,
    )
    cosine = assay.run(
        clip_score,
        painter,
        judge={"clip": "worker/clip"},
        output=str(tmp_path / "b"),
        **settings,
    )

    assert (
        distance.status == "complete"
        and distance.results[0].metric == "fid"
        and distance.results[0].value > 0
    )
    assert distance.results[0].details["features"] == 8
    assert cosine.status == "complete" and 0 <= cosine.results[0].value <= 2.5


@torch_only
def test_dpg_is_answered_by_a_vqa_worker(blip_folder, tmp_path):
    task = dpg_bench.but(options=dpg_bench.options.set(n=2))

    done = assay.run(
        task,
        Scripted(
            lambda request: Output.of(Image(picture("red")), Image(picture("blue")))
        ),
        data="mini",
        judge={"vqa": "worker/vqa"},
        judge_args={"model": str(blip_folder), "python": sys.executable},
        output=str(tmp_path / "run"),
    )

    assert done.status == "complete" and {result.metric for result in done.results} == {
        "dpg",
        "dpg_questions",
    }
