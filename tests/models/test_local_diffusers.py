"""Diffusion pipelines: real classes with tiny random weights, made on the spot."""

import functools
import importlib.util
import json

import pytest

import assay
from assay.core import (
    Image,
    Message,
    Meter,
    ModelError,
    Prompt,
    Request,
    Text,
    UsageError,
)
from assay.core.request import GenerateOptions
from assay.media import image_from
from assay.models import build_model
from assay.runner.ask.calls import call_in_halves, call_model
from assay.store import RunReader

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        any(
            importlib.util.find_spec(name) is None
            for name in ("torch", "transformers", "diffusers")
        ),
        reason="pip install torch transformers diffusers",
    ),
]


def tokenizer(folder):
    from transformers import CLIPTokenizer

    letters = [chr(code) for code in range(33, 127)]
    words = [
        *letters,
        *(f"{letter}</w>" for letter in letters),
        "<|startoftext|>",
        "<|endoftext|>",
    ]
    folder.mkdir()
    (folder / "vocab.json").write_text(
        json.dumps({word: number for number, word in enumerate(words)})
    )
    (folder / "merges.txt").write_text("#version: 0.2\n")
    made = CLIPTokenizer.from_pretrained(str(folder))
    made.model_max_length = 32
    return made


def parts(words, channels):
    from diffusers import AutoencoderKL, DDIMScheduler, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    unet = UNet2DConditionModel(
        sample_size=8,
        in_channels=channels,
        out_channels=4,
        layers_per_block=1,
        block_out_channels=(8, 16),
        norm_num_groups=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=2,
    )
    vae = AutoencoderKL(
        block_out_channels=(8, 8),
        norm_num_groups=4,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    text = CLIPTextConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
        num_hidden_layers=1,
        max_position_embeddings=32,
        bos_token_id=0,
        eos_token_id=len(words) - 1,
    )
    return {
        "vae": vae,
        "text_encoder": CLIPTextModel(text),
        "tokenizer": words,
        "unet": unet,
        "scheduler": DDIMScheduler(clip_sample=False, steps_offset=1),
        "safety_checker": None,
        "feature_extractor": None,
        "requires_safety_checker": False,
    }


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    import torch
    from diffusers import (
        StableDiffusionInstructPix2PixPipeline,
        StableDiffusionPipeline,
    )

    torch.set_num_threads(1)
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("pipelines")
    words = tokenizer(root / "words")
    StableDiffusionPipeline(**parts(words, 4)).save_pretrained(root / "draws")
    StableDiffusionInstructPix2PixPipeline(**parts(words, 8)).save_pretrained(
        root / "edits"
    )
    return root


SMALL = {"steps": 2, "height": 16, "width": 16}


@pytest.fixture(scope="module")
def drawing(folders):
    model = build_model(f"diffusers/{folders}/draws", SMALL)
    model.load()
    return model


def ask(text, n=1, draw="", picture=None):
    said = (Text(text),) if picture is None else (picture, Text(text))
    return Request(
        Prompt((Message("user", said),), produces=("image",)),
        GenerateOptions(n=n),
        draw=draw,
    )


def pixels(output, index=0):
    return output.candidates[index].media[0].data()


def test_it_says_what_it_takes_and_makes_without_loading_weights(folders):
    draws, edits = (
        build_model(f"diffusers/{folders}/{name}") for name in ("draws", "edits")
    )

    assert (draws.abilities.accepts, draws.abilities.produces) == ({"text"}, {"image"})
    assert edits.abilities.accepts == {"text", "image"}
    assert draws._pipe is None and edits._pipe is None


def test_a_candidate_is_the_same_image_however_many_are_asked_for(drawing):
    [one] = drawing.generate([ask("a red cat")])
    [three] = drawing.generate([ask("a red cat", n=3)])

    assert len({pixels(three, index) for index in range(3)}) == 3
    assert pixels(one) == pixels(three, 0)
    assert (
        len(three.details["seeds"]) == 3
        and one.details["seeds"] == three.details["seeds"][:1]
    )


def test_neighbours_do_not_change_an_image(drawing):
    alone = [drawing.generate([ask(text)])[0] for text in ("a cat", "a dog", "a boat")]
    together = drawing.generate([ask(text) for text in ("a cat", "a dog", "a boat")])

    assert [pixels(output) for output in together] == [
        pixels(output) for output in alone
    ]


def test_another_sample_is_another_image_of_the_same_words(drawing):
    first, other = drawing.generate(
        [ask("a cat", draw="7/0/0/a"), ask("a cat", draw="7/0/0/b")]
    )

    assert pixels(first) != pixels(other)


@pytest.mark.parametrize("seed", [None, 1])
def test_a_run_with_more_candidates_begins_with_the_same_images_and_no_two_are_alike(
    folders, tmp_path, seed
):
    rows = [{"id": str(n), "question": "Draw a cat."} for n in range(2)]
    task = assay.Task(
        "drawn",
        dataset=rows,
        template="{{ question }}",
        produces=("image",),
        scorers=(lambda s, o: len(o.media),),
    )
    drawn = {}
    for n in (2, 3):
        assay.run(
            task,
            f"diffusers/{folders}/draws",
            model_args=SMALL,
            generation={"n": n},
            seed=seed,
            epochs=2,
            output=str(tmp_path / str(n)),
        )
        drawn[n] = [
            [
                candidate["parts"][0]["sha256"]
                for candidate in record.output["candidates"]
            ]
            for record in RunReader(tmp_path / str(n)).outputs()
        ]

    assert [pictures[:2] for pictures in drawn[3]] == drawn[2]
    assert len({picture for pictures in drawn[3] for picture in pictures}) == 2 * 2 * 3


@pytest.mark.parametrize("part", ["unet", "vae"])
def test_an_image_that_is_not_finite_is_a_failure(folders, part):
    import torch

    model = build_model(f"diffusers/{folders}/draws", SMALL)
    model.load()
    with torch.no_grad():
        {"unet": model._pipe.unet.conv_out, "vae": model._pipe.vae.decoder.conv_out}[
            part
        ].weight.fill_(float("nan"))

    [output] = model.generate([ask("a cat", n=2)])

    assert output.error.kind == "non_finite" and not output.error.retryable
    assert "computed an image that is not finite" in output.error.message


def test_the_images_are_those_the_pipeline_itself_makes(drawing):
    import torch

    [made] = drawing.generate([ask("a red cat")])
    generator = torch.Generator("cpu").manual_seed(made.details["seeds"][0])
    with torch.inference_mode():
        own = drawing._pipe(
            prompt="a red cat",
            generator=generator,
            num_inference_steps=2,
            height=16,
            width=16,
        )

    assert image_from(own.images[0]).data() == pixels(made)


def test_a_hub_that_cannot_be_reached_is_one_line_after_one_attempt(monkeypatch):
    import huggingface_hub

    attempts = []

    def offline(url, **_):
        attempts.append(url)
        raise OSError("Name or service not known\nRequest ID: 1")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", offline)

    with pytest.raises(UsageError) as said:
        _ = build_model("diffusers/org/name").abilities

    assert str(said.value) == (
        "org/name: cannot get the pipeline: Name or service not known; "
        "fix: check the name and the network, or give a local folder"
    )
    assert len(attempts) == 1


def test_the_precision_that_is_taken_is_part_of_the_identity(folders):
    full, half = (
        build_model(f"diffusers/{folders}/draws", {"device": device})
        for device in ("cpu", "cuda")
    )

    assert (full.identity["dtype"], half.identity["dtype"]) == ("float32", "bfloat16")


def test_n_images_are_one_call(drawing, monkeypatch):
    calls = []
    own = type(drawing._pipe).__call__

    @functools.wraps(own)
    def counted(pipe, *args, **kwargs):
        calls.append((kwargs["num_images_per_prompt"], len(kwargs["prompt"])))
        return own(pipe, *args, **kwargs)

    monkeypatch.setattr(type(drawing._pipe), "__call__", counted)
    drawing.generate([ask("a cat", n=2), ask("a dog", n=2), ask("a hat", n=2)])

    assert calls == [(2, 2), (2, 1)]  # four images at a time on a CPU


def test_too_little_memory_is_met_by_smaller_calls(drawing, monkeypatch):
    import torch

    own = type(drawing._pipe).__call__

    @functools.wraps(own)
    def small_memory(pipe, *args, **kwargs):
        if len(kwargs["prompt"]) > 1:
            raise torch.OutOfMemoryError("no room")
        return own(pipe, *args, **kwargs)

    whole = drawing.generate([ask(text) for text in ("a cat", "a dog", "a boat")])
    monkeypatch.setattr(type(drawing._pipe), "__call__", small_memory)
    halved, fits = call_in_halves(
        drawing, [ask(text) for text in ("a cat", "a dog", "a boat")]
    )

    assert [pixels(output) for output in halved] == [pixels(output) for output in whole]
    assert fits == 1  # so that the next batch is smaller


def test_a_prompt_that_fails_costs_no_neighbour(drawing):
    good, bad = call_model(drawing, [ask("a cat"), ask("")])

    assert good.candidates and bad.error is not None and "no text" in bad.error.message


def test_an_image_is_changed_by_words(folders):
    from PIL import Image as pillow

    model = build_model(f"diffusers/{folders}/edits", {"steps": 2})
    red, blue = (
        image_from(pillow.new("RGB", (16, 16), color)) for color in ("red", "blue")
    )

    [first, other] = model.generate(
        [ask("make it green", picture=red), ask("make it green", picture=blue)]
    )

    assert isinstance(first.media[0], Image) and first.error is None
    assert pixels(first) != pixels(other)


def test_a_whole_run_keeps_the_images_as_files(folders, tmp_path):
    rows = [
        {"id": str(n), "question": f"Draw {thing}."}
        for n, thing in enumerate(("a cat", "a dog"))
    ]
    task = assay.Task(
        "drawn",
        dataset=rows,
        template="{{ question }}",
        produces=("image",),
        scorers=(lambda s, o: len(o.media),),
    )

    result = assay.run(
        task,
        f"diffusers/{folders}/draws",
        model_args=SMALL,
        generation={"n": 2},
        output=str(tmp_path / "run"),
    )

    assert result.status == "complete" and result.results[0].n == 2
    assert len(list((tmp_path / "run" / "media").rglob("*.png"))) == 4


@pytest.mark.parametrize(
    ("change", "args", "words"),
    [
        ("nowhere", {}, "no such pipeline folder"),
        ("words", {}, "the folder has no model_index.json"),
        (
            "draws",
            {"pipeline": "NoSuchPipeline"},
            "diffusers knows no pipeline 'NoSuchPipeline'",
        ),
        (
            "draws",
            {"strength": 0.5},
            "StableDiffusionPipeline has no setting 'strength'",
        ),
        ("draws", {"dtype": "float3"}, "unknown dtype 'float3'"),
        ("draws", {"steps": 0}, "steps=0 is not a whole number of at least 1"),
        (
            "draws",
            {"height": -8},
            "height=-8 is not a whole number of at least 1",
        ),
        (
            "draws",
            {"pictures": -1},
            "pictures=-1 is not a whole number of at least 0",
        ),
    ],
    ids=(
        "missing",
        "not a pipeline",
        "class",
        "setting",
        "dtype",
        "steps",
        "height",
        "pictures",
    ),
)
def test_faults_are_reported(folders, change, args, words):
    with pytest.raises(UsageError, match=words):
        model = build_model(f"diffusers/{folders}/{change}", args)
        assert model.abilities
        [output] = model.generate([ask("a cat")])
        raise UsageError(output.error.message)


@pytest.mark.parametrize(
    "option",
    [{"temperature": 0.3}, {"stop": ("x",)}, {"max_tokens": 4}, {"logprobs": 0}],
)
def test_options_of_models_that_write_are_refused(drawing, option):
    asked = Request(
        Prompt((Message.of("user", "a cat"),), produces=("image",)),
        GenerateOptions(**option),
    )

    with pytest.raises(
        UsageError,
        match=f"which draws, has no generation option '{next(iter(option))}'; fix: ",
    ):
        drawing.generate([asked])


def lacking(folder, into, part, name):
    """A copy of a pipeline's folder without one tensor of one part."""
    import shutil

    from safetensors.torch import load_file, save_file

    shutil.copytree(folder, into)
    [file] = (into / part).glob("*.safetensors")
    weights = load_file(file)
    save_file(
        {own: tensor for own, tensor in weights.items() if not own.endswith(name)},
        file,
        {"format": "pt"},
    )
    return str(into)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ("unet", "conv_in.weight"),
        ("vae", "quant_conv.bias"),
        ("text_encoder", "q_proj.weight"),
    ],
)
def test_a_pipeline_that_lacks_a_tensor_names_it(folders, tmp_path, capfd, part, name):
    folder = lacking(folders / "draws", tmp_path / "lacking", part, name)

    with pytest.raises(ModelError, match=rf"the weights lack \S*{name}"):
        build_model(f"diffusers/{folder}", SMALL).load()

    assert capfd.readouterr().err == ""


def test_loading_says_nothing_on_the_terminal(folders, capfd):
    build_model(f"diffusers/{folders}/draws", SMALL).load()

    assert capfd.readouterr() == ("", "")


def test_a_pipeline_says_how_far_it_is_inside_a_batch(drawing):
    meter, seen = Meter(), []
    usual = drawing._pipe.scheduler.step
    drawing.report_to(meter)
    drawing._pipe.scheduler.step = lambda *args, **more: (
        seen.append(meter.ended),
        usual(*args, **more),
    )[1]
    try:
        drawing.generate([ask("a"), ask("b")])
    finally:
        drawing._pipe.scheduler.step = usual

    assert len(seen) > 1 and seen == sorted(set(seen))
    assert seen[0] == 0 and 0 < seen[-1] < 2
    assert meter.ended == 2
