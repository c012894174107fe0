"""Videos, compared with the model's own processor, and messages about missing libraries."""

import importlib.util
import json

import pytest

from assay.core import Video
from assay.media import decode_frames
from assay.models import devices
from assay.models.local_transformers import LocalTransformers, media_prompts
from assay.models.local_transformers.transformers_model import in_parts

from .tiny_media import ask, picture, weigh, written
from .tiny_video import FAMILIES, film, frames_by_hand, needs

pytestmark = pytest.mark.torch
NEEDS = {"smolvlm": "num2words"}
"""Further libraries that the processors of some families need."""


@pytest.fixture
def torchvision():
    needs("av", "torchvision")


def build(name, make, folder, **options):
    needs(*filter(None, [NEEDS.get(name)]))
    FAMILIES[name](make, folder)
    return LocalTransformers(str(folder), max_tokens=6, **options)


def inputs_by_hand(model, data, words, **options):
    from transformers import AutoProcessor

    processor = AutoProcessor.from_pretrained(model.path)
    frames, metadata = frames_by_hand(data)
    mark = getattr(processor, "video_token", "<video>")
    if "<|vision_start|>" in processor.tokenizer.get_vocab():
        mark = f"<|vision_start|>{mark}<|vision_end|>"
    return processor, processor(
        text=[f"user: {mark}{words}\nassistant:"],
        videos=[frames],
        videos_kwargs={"video_metadata": [metadata], **options},
        return_tensors="pt",
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_video_answers_equal_processor_and_generate_by_hand(
    name, make, tmp_path, torchvision
):
    import torch

    model = build(name, make, tmp_path)
    data = film()
    request = ask(Video(data), "What moves?")

    [output] = model.generate([request])
    inputs = model._loaded.renderer.inputs(request.prompt)

    processor, expected = inputs_by_hand(model, data, "What moves?")
    assert inputs.keys() == expected.keys()
    for key, value in expected.items():
        assert torch.equal(torch.as_tensor(inputs[key]), torch.as_tensor(value)), key
    tokens = model._loaded.model.generate(**expected, max_new_tokens=6, do_sample=False)
    answer = tokens[0, expected["input_ids"].shape[1] :]
    assert output.error is None
    assert output.text == processor.tokenizer.decode(answer, skip_special_tokens=True)
    assert "video" in model.abilities.accepts


@pytest.mark.parametrize("name", FAMILIES)
def test_prompts_with_videos_and_images_are_answered_as_if_alone(
    name, make, tmp_path, torchvision
):
    model = build(name, make, tmp_path)
    first, second = Video(film()), Video(film(rate=5))
    requests = [
        ask(first, "What moves?"),
        ask(second, "What moves here?"),
        ask(second, "And what else? ", first, "Compare them."),
        ask(picture("red"), "Which color?"),
    ]
    if name != "smolvlm":  # Its processor loses the image if there is a video, too.
        requests.append(ask(picture("red"), "Was it in ", first, "?"))

    together = model.generate(requests)

    assert [output.error for output in together] == [None] * len(requests)
    alone = [model.generate([request])[0] for request in requests]
    assert written(together) == written(alone)


def test_image_with_a_video_is_answered_as_by_hand(make, tmp_path, torchvision):
    from transformers import AutoProcessor

    model = build("qwen2_vl", make, tmp_path)
    data = film()
    image = picture("red", (56, 56))

    [output] = model.generate([ask(image, "Was it in ", Video(data), "?")])

    processor = AutoProcessor.from_pretrained(model.path)
    frames, metadata = frames_by_hand(data)
    pads = [
        f"<|vision_start|><|{kind}_pad|><|vision_end|>" for kind in ("image", "video")
    ]
    inputs = processor(
        text=[f"user: {pads[0]}Was it in {pads[1]}?\nassistant:"],
        images=[image.source],
        videos=[frames],
        videos_kwargs={"video_metadata": [metadata]},
        return_tensors="pt",
    )
    tokens = model._loaded.model.generate(**inputs, max_new_tokens=6, do_sample=False)
    answer = tokens[0, inputs["input_ids"].shape[1] :]
    assert output.text == processor.tokenizer.decode(answer, skip_special_tokens=True)


@pytest.mark.parametrize("name", FAMILIES)
def test_likelihoods_after_a_video_are_those_of_the_model(
    name, make, tmp_path, torchvision
):
    import torch

    model = build(name, make, tmp_path)
    data = film()

    [output] = model.likelihood([weigh(Video(data), "What moves?", options=("a", "b"))])

    _, inputs = inputs_by_hand(model, data, "What moves?")
    ids = model.tokenizer.encode("ab", add_special_tokens=False)
    with torch.inference_mode():
        logits = model._loaded.model(**inputs).logits[0, -1]
    expected = torch.log_softmax(logits.float(), -1)[ids].tolist()
    values = [likelihood.logprob for likelihood in output.likelihoods]
    assert values == pytest.approx(expected, abs=1e-4)


def test_processor_chooses_the_frames(make, tmp_path, torchvision):
    needs("num2words")
    smolvlm = build("smolvlm", make, tmp_path)
    # 40 s at 2 frames per second: the processor takes one per second, at most 8.
    request = ask(Video(film(count=80, rate=2)), "What moves?")

    inputs = smolvlm._ready().renderer.inputs(request.prompt)

    assert inputs["pixel_values"].shape[1] == 8
    text = smolvlm.tokenizer.decode(inputs["input_ids"][0])
    assert "eight frames from a 0:00:40 [H:MM:SS] video" in text
    assert "Frame from 00:01:" in text


@pytest.mark.parametrize(
    ("video_args", "count"),
    [({}, 32), ({"fps": 1}, 10), ({"num_frames": 6}, 6)],
)
def test_user_chooses_frames_if_the_processor_does_not(
    video_args, count, make, tmp_path, torchvision
):
    model = build("qwen2_vl", make, tmp_path, video_args=video_args)
    request = ask(Video(film(count=40, rate=4)), "What moves?")

    inputs = model._ready().renderer.inputs(request.prompt)

    assert int(inputs["video_grid_thw"][0, 0]) == count // 2
    assert model.identity.get("video_args", {}) == video_args


def test_requests_with_videos_are_prepared_a_few_at_a_time():
    requests = [ask("Words alone.")] * 3 + [ask(Video(b""), "What?")] * 16
    sizes = []

    def answer(part):
        sizes.append(len(part))
        return list(part)

    assert in_parts(requests, answer) == requests
    assert in_parts(requests[:3], answer) == requests[:3]
    assert sizes == [8, 8, 3, 3]


def test_video_with_several_questions_is_decoded_once(
    make, tmp_path, torchvision, monkeypatch
):
    model = build("qwen2_vl", make, tmp_path)
    decoded = []

    def counted(video, numbers):
        decoded.append(video)
        return decode_frames(video, numbers)

    monkeypatch.setattr(media_prompts, "decode_frames", counted)
    first, second = Video(film()), Video(film(rate=5))

    model.generate([ask(first, "What?"), ask(first, "Who?"), ask(second, "What?")])

    assert decoded == [first, second]


@pytest.mark.parametrize("name", FAMILIES)
def test_images_need_no_torchvision(name, make, tmp_path, monkeypatch):
    if importlib.util.find_spec("torchvision") is not None:
        pytest.skip("torchvision is installed")
    model = build(name, make, tmp_path)

    outputs = model.generate(
        [ask(picture("red"), "Which?"), ask(picture("blue"), "Which?")]
    )

    assert [output.error for output in outputs] == [None, None]
    assert written(outputs)[0] != written(outputs)[1]


@pytest.mark.parametrize("name", FAMILIES)
def test_model_reports_libraries_missing_for_videos(name, make, tmp_path, monkeypatch):
    model = build(name, make, tmp_path)
    monkeypatch.setattr(devices, "VIDEO_LIBRARIES", ("no_such_library",))

    assert "video" not in model.abilities.accepts
    assert model.media_fixes == {"video": "pip install no_such_library"}

    monkeypatch.setattr(devices, "VIDEO_LIBRARIES", ())
    model = LocalTransformers(model.path)
    assert "video" in model.abilities.accepts
    assert model.media_fixes == {}


def test_model_without_videos_reports_no_missing_libraries(llava, monkeypatch):
    monkeypatch.setattr(devices, "VIDEO_LIBRARIES", ("no_such_library",))

    assert "video" not in llava.abilities.accepts
    assert llava.media_fixes == {}


def test_a_run_with_videos_is_refused_before_anything_is_loaded(
    qwen2_vl, tmp_path, monkeypatch, capsys
):
    from assay.cli.main import main

    monkeypatch.setattr(devices, "VIDEO_LIBRARIES", ("no_such_library",))
    (tmp_path / "film.mp4").write_bytes(
        bytes.fromhex("00000018667479706d703432") + bytes(12)
    )
    row = {"question": "What moves?", "video": "film.mp4", "answer": "a bar"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")

    rows, model = str(tmp_path / "rows.jsonl"), f"hf/{qwen2_vl.path}"
    code = main(["run", rows, "--model", model, "--scorer", "exact_match", "--dry_run"])

    printed = "".join(capsys.readouterr())
    assert code != 0
    assert f"sends video and model '{model}' accepts only image, text" in printed
    assert "fix: pip install no_such_library" in printed
