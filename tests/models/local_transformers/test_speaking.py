"""Text-to-speech: clips of a tiny VITS model, and failures."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from assay.core import GenerateOptions, Message, Prompt, Request
from assay.media import decode_audio
from assay.models.local_transformers import LocalTransformers

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def voice_folder(tmp_path_factory):
    import torch
    from transformers import VitsConfig, VitsModel, VitsTokenizer

    folder = tmp_path_factory.mktemp("voice")
    torch.manual_seed(0)
    config = VitsConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        ffn_dim=16,
        flow_size=16,
        spectrogram_bins=9,
        upsample_initial_channel=16,
        upsample_rates=[4, 4],
        upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1, 3]],
        prior_encoder_num_flows=1,
        prior_encoder_num_wavenet_layers=1,
        posterior_encoder_num_wavenet_layers=1,
        wavenet_dilation_rate=1,
        duration_predictor_filter_channels=8,
        duration_predictor_num_flows=1,
        duration_predictor_flow_bins=4,
        depth_separable_num_layers=1,
    )
    VitsModel(config).save_pretrained(folder)
    letters = {
        letter: number for number, letter in enumerate(" abcdefghijklmnopqrstuvwxyz_")
    }
    (folder / "vocab.json").write_text(json.dumps(letters))
    tokenizer = VitsTokenizer(
        str(folder / "vocab.json"),
        pad_token="_",
        unk_token="_",
        language="eng",
        phonemize=False,
        is_uroman=False,
    )
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def voice(voice_folder):
    return LocalTransformers(str(voice_folder))


def say(text, **options):
    return Request(
        Prompt((Message.of("user", text),), produces=("audio",)),
        GenerateOptions(**options),
    )


def test_longer_text_becomes_a_longer_clip(voice):
    short, long = voice.generate(
        [say("hello"), say("hello there how are you this morning")]
    )

    sounds = [decode_audio(output.media[0]) for output in (short, long)]
    assert voice.abilities.produces == {"audio"}
    assert voice.abilities.likelihood is False
    assert [sound.rate for sound in sounds] == [16000, 16000]
    assert len(sounds[1].samples) > len(sounds[0].samples) > 0


def test_each_clip_has_its_own_seed_and_does_not_depend_on_the_batch(voice):
    [two] = voice.generate([say("hello", n=2, seed=1)])
    [_, three] = voice.generate([say("before"), say("hello", n=3, seed=1)])

    first = [candidate.media[0].digest for candidate in two.candidates]
    assert first == [candidate.media[0].digest for candidate in three.candidates][:2]
    assert len(set(first)) == 2


def test_two_models_that_speak_in_parallel_give_the_same_clips_as_alone(voice_folder):
    voices = [LocalTransformers(str(voice_folder)) for _ in range(2)]
    texts = [
        [say(f"hello {name} {number}" * 2) for number in "abcdefghijklmno"]
        for name in ("one", "two")
    ]

    def said(at):
        return [
            voices[at].generate([request])[0].media[0].digest for request in texts[at]
        ]

    alone = [said(at) for at in (0, 1)]
    with ThreadPoolExecutor(2) as both:
        together = list(both.map(said, (0, 1)))

    assert together == alone


def test_text_that_cannot_be_spoken_fails_only_its_sample(voice):
    nothing, something = voice.generate([say(""), say("hello")])

    assert nothing.error is not None
    assert something.error is None


def test_a_waveform_that_is_not_finite_is_a_failure(voice):
    import torch

    with torch.no_grad():
        next(voice._ready().model.decoder.parameters()).fill_(float("nan"))

    [output] = voice.generate([say("hello")])

    assert output.error.kind == "non_finite"
