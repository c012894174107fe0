"""Prompts with media: the same token ids are shown, checked and sent to the model."""

import json
from types import SimpleNamespace

import pytest

from assay.core import Message, Prompt, Request
from assay.models.local_transformers import LocalTransformers
from assay.models.local_transformers.media_prompts import MediaRenderer

from .tiny_media import LISTED, ask, picture, plainly, sound, weigh

pytestmark = pytest.mark.torch
BOS = 256
PARTS = LISTED.replace("\n", "{{ '\\n' }}")
ONE_TEXT = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
BEGUN = (
    Message.of("user", picture("red"), "What?"),
    Message.of("assistant", "The color is"),
)


def read(model):
    """Record the token ids that go through a model, prompt by prompt."""
    loaded, found = model._ready(), []
    usual = loaded.renderer.processor

    def watched(**given):
        made = usual(**given)
        found.append(made["input_ids"][0].tolist())
        return made

    loaded.renderer.processor = type(
        "Watched", (), {"__call__": staticmethod(watched), "image_token": "<image>"}
    )()
    return found


@pytest.fixture
def llava_with_bos(llava, make, tmp_path):
    """Build a LLaVA whose tokenizer adds `<s>`, with a given chat template."""
    from transformers import AutoProcessor

    def made(template):
        from transformers import LlavaForConditionalGeneration, LlavaProcessor

        usual = AutoProcessor.from_pretrained(llava.path)
        processor = LlavaProcessor(
            image_processor=usual.image_processor,
            tokenizer=make.tokenizer("<image>", adds_bos=True),
            patch_size=14,
            vision_feature_select_strategy="default",
            image_token="<image>",
            num_additional_image_tokens=1,
            chat_template=template,
        )
        make.folder(
            tmp_path,
            LlavaForConditionalGeneration.from_pretrained(llava.path),
            processor,
        )
        return LocalTransformers(str(tmp_path), max_tokens=3)

    return made


@pytest.mark.parametrize("way", [lambda model: model, plainly], ids=["shared", "plain"])
@pytest.mark.parametrize(
    "template", ["<s>" + PARTS, "{{ bos_token }}" + PARTS, PARTS, "<s>" + ONE_TEXT]
)
def test_prompt_with_an_image_has_one_beginning_of_text_token(
    llava_with_bos, template, way
):
    model = way(llava_with_bos(template))
    ids = read(model)

    written = model.generate([ask(picture("red"), "What?")])
    weighed = model.likelihood([weigh(picture("red"), "What?", options=("A",))])

    assert [output.error for output in (*written, *weighed)] == [None, None]
    assert [(one[0], one.count(BOS), one.count(ids[0][7])) for one in ids] == [
        (BOS, 1, 4)
    ] * 2
    assert (
        model.shown(ask(picture("red"), "What?").prompt)
        == "<s>user: <image>×4What?\nassistant:"
    )
    assert model.preflight(ask(picture("red"), "What?").prompt) == []


def test_template_with_two_beginning_of_text_tokens_is_a_fault(
    llava_with_bos,
):
    model = llava_with_bos("<s><s>" + PARTS)
    model.load()

    assert [
        fault.kind for fault in model.preflight(ask(picture("red"), "What?").prompt)
    ] == ["double_bos"]


def test_completion_with_an_image_has_one_beginning_of_text_token(llava_with_bos):
    model = llava_with_bos(PARTS)
    ids = read(model)

    contents = (picture("red"), "A"), ("<s>A", picture("red"))
    model.generate(
        [Request(Prompt((Message.of("", *content),))) for content in contents]
    )

    assert [one.count(BOS) for one in ids] == [1, 1]


@pytest.mark.parametrize("template", [PARTS, ONE_TEXT], ids=["parts", "one text"])
def test_started_answer_after_an_image_is_continued(llava, template):
    model = LocalTransformers(llava.path, max_tokens=3, chat_template=template)
    ids = read(model)

    [output] = model.generate([Request(Prompt(BEGUN))])

    assert output.error is None
    assert model.shown(Prompt(BEGUN)) == "user: <image>×4What?\nassistant: The color is"
    assert model._loaded.renderer.tokenizer.decode(ids[0]).endswith(
        "assistant: The color is"
    )


@pytest.mark.parametrize("name", ["qwen2_vl", "qwen2_audio", "janus"])
def test_started_answer_is_continued_after_any_media(name, request):
    marks = {
        "qwen2_vl": "<|vision_start|><|image_pad|><|vision_end|>",
        "qwen2_audio": "<|AUDIO|>",
        "janus": "<image>",
    }
    medium = sound() if name == "qwen2_audio" else picture("red")
    template = PARTS.replace("<image>", marks[name]).replace(
        "'image'", f"'{medium.kind}'"
    )
    model = LocalTransformers(
        request.getfixturevalue(name).path, max_tokens=3, chat_template=template
    )
    model.load()
    begun = Prompt(
        (Message.of("user", medium, "What?"), Message.of("assistant", "The color is"))
    )

    [output] = model.generate([Request(begun)])

    assert output.error is None
    shown = model.shown(begun)
    assert shown.startswith("user: ") and shown.endswith(
        "What?\nassistant: The color is"
    )


def test_template_that_reads_text_only_gets_placeholders(llava):
    model = LocalTransformers(llava.path, chat_template=ONE_TEXT)
    model.load()

    shown = model.shown(ask("Look:", picture("red"), "What?").prompt)

    assert shown == "user: Look:<image>×4What?\nassistant:"


def test_faults_between_turns_are_found_in_templates_that_read_parts(llava):
    model = LocalTransformers(
        llava.path, chat_template=LISTED.replace("{{ m.role }}: ", "")
    )
    model.load()

    faults = model.preflight(ask(picture("red"), "What?").prompt, ("assistant",))

    assert [fault.kind for fault in faults] == ["unclosed_turn", "stop_in_template"]


def test_shown_prompt_of_a_speech_model_is_the_clip_alone(whisper):
    whisper.load()

    assert whisper.shown(ask("ignored", sound()).prompt) == "<audio>"
    assert whisper.preflight(ask("ignored", sound()).prompt) == []


def test_prompt_refused_by_the_processor_is_one_clear_error(llava):
    from assay.core import UsageError

    llava.load()

    with pytest.raises(UsageError, match="the model's processor refuses this prompt: "):
        llava.shown(ask(picture("red"), "Is this <image> another one?").prompt)


@pytest.mark.parametrize("name", ["llava", "qwen2_vl", "whisper"])
def test_showing_a_prompt_loads_no_weights(name, request):
    model = request.getfixturevalue(name)
    prompt = ask(sound() if name == "whisper" else picture("red"), "What?").prompt

    shown, faults = model.shown(prompt), model.preflight(prompt)

    assert model._loaded is None
    model.load()
    assert (shown, faults) == (model.shown(prompt), model.preflight(prompt))


def test_a_dry_run_shows_the_image_at_its_position(llava, tmp_path, capsys):
    from PIL import Image as pillow

    from assay.cli.main import main

    pillow.new("RGB", (40, 30), "red").save(tmp_path / "red.png")
    row = {"image": "red.png", "question": "Which color?", "answer": "red"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n")

    rows, model = str(tmp_path / "rows.jsonl"), f"hf/{llava.path}"
    code = main(["run", rows, "--model", model, "--scorer", "exact_match", "--dry_run"])

    assert code == 0
    assert "user: <image>×4Which color?" in capsys.readouterr().out


def renderer(**parts):
    return MediaRenderer(
        SimpleNamespace(
            tokenizer=SimpleNamespace(chat_template=None, bos_token=None), **parts
        )
    )


def test_feature_extractor_is_found_under_both_names():
    import torch

    extractor = SimpleNamespace(sampling_rate=8000, hop_length=80, feature_size=40)
    cut = {"input_features": torch.zeros(1, 40, 100)}
    prompt = ask(sound(440, 2.0), "what?").prompt

    for made in (
        renderer(audio_processor=extractor),
        renderer(feature_extractor=extractor),
    ):
        assert made.rate == 8000
        assert (
            "a clip lasts 2.0 s and the model hears 1.0 s at once"
            in made.check_audio(prompt, cut).error.message
        )


def test_processor_without_a_feature_extractor_needs_no_audio_check():
    made = renderer()

    assert made.rate == 16000
    assert (
        made.check_audio(
            ask(sound(440, 2.0), "what?").prompt, {"audio_input_features": None}
        )
        is None
    )


def test_tensors_of_unknown_shape_fail_only_their_sample():
    made = renderer(
        audio_processor=SimpleNamespace(sampling_rate=16000, hop_length=160)
    )

    failed = made.check_audio(ask(sound(), "what?").prompt, {"input_features": [[0.0]]})

    assert (failed.error.kind, failed.error.retryable) == ("exception", False)
    assert "AttributeError" in failed.error.message
