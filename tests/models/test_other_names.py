"""Names of models that other tools use, in assay's words."""

import json

import pytest
from each_row import each

from assay.core import UsageError
from assay.models import build_model
from assay.models.other_names import takes_device, translate_name
from assay.registry import models


@pytest.mark.parametrize(
    ("name", "args", "ours", "rest"),
    [
        (
            "hf",
            {"pretrained": "o/m", "dtype": "half", "revision": "r"},
            "hf/o/m",
            {"dtype": "half", "revision": "r"},
        ),
        (
            "huggingface",
            {"pretrained": "/m", "peft": "/a", "max_length": 9},
            "hf//m",
            {"adapter": "/a", "context": 9},
        ),
        (
            "hf",
            {"pretrained": "m", "parallelize": True},
            "hf/m",
            {"device_map": "auto"},
        ),
        ("hf", {"pretrained": "m", "parallelize": False}, "hf/m", {}),
        ("hf", {"pretrained": "/w", "gguf_file": "m.gguf"}, "hf//w/m.gguf", {}),
        ("hf/local", {"model_path": "/w/m"}, "hf//w/m", {}),
        (
            "vllm",
            {"pretrained": "m", "tensor_parallel_size": 2},
            "vllm/m",
            {"tensor_parallel": 2},
        ),
        (
            "vllm",
            {"pretrained": "m", "gpu_memory_utilization": 0.8},
            "vllm/m",
            {"memory": 0.8},
        ),
        (
            "local-completions",
            {"model": "m", "base_url": "http://h/v1/completions"},
            "openai/m",
            {"api": "completions", "likelihood_by": "echo", "base_url": "http://h/v1"},
        ),
        (
            "local-chat-completions",
            {
                "model": "m",
                "base_url": "http://h/v1/chat/completions",
                "num_concurrent": 8,
                "max_retries": 3,
            },
            "openai/m",
            {"api": "chat", "base_url": "http://h/v1", "concurrency": 8},
        ),
        ("anthropic-chat-completions", {"model": "m"}, "anthropic/m", {}),
        ("google/gemini-2.5-pro", {}, "gemini/gemini-2.5-pro", {}),
        ("google/gemma-3-4b-it", {}, "hf/google/gemma-3-4b-it", {}),
        ("Qwen/Qwen3-8B", {}, "hf/Qwen/Qwen3-8B", {}),
        ("openai-community/gpt2", {}, "hf/openai-community/gpt2", {}),
        (
            "Qwen/Qwen3-8B",
            {"base_url": "http://h/v1"},
            "openai/Qwen/Qwen3-8B",
            {"base_url": "http://h/v1"},
        ),
        (
            "gpt-x",
            {"base_url": "http://h/v1/chat/completions/"},
            "openai/gpt-x",
            {"base_url": "http://h/v1"},
        ),
        ("mockllm/model", {}, "scripted", {}),
    ],
)
def test_a_name_of_another_tool_has_one_in_assay(name, args, ours, rest):
    naming = translate_name(name, args)

    assert (naming.name, dict(naming.args)) == (ours, rest)
    assert naming.note


@each(
    "name",
    [
        *models.names(),
        "hf/org/name",
        "openai/gpt-x",
        "replay/runs/one",
        "litellm/groq/x",
    ],
)
def test_a_name_of_assays_own_stays_as_it_is(name):
    args = {"path": "x"} if name in ("hf", "vllm") else {}

    assert translate_name(name, args) == type(translate_name("scripted"))(
        name, args, ""
    )


@pytest.mark.parametrize(
    "name", ["openay/gpt-x", "gguff/x", "weights/model.safetensors", "nothing", "a/b/c"]
)
def test_what_may_be_a_slip_or_a_file_is_not_taken_for_a_model_of_the_hub(name):
    assert translate_name(name).name == name

    with pytest.raises(UsageError, match="unknown model"):
        build_model(name)


def test_what_lm_eval_says_to_an_endpoint_and_assay_does_not_need_is_named():
    args = {
        "model": "m",
        "base_url": "http://h/v1",
        "tokenizer_backend": "huggingface",
        "tokenized_requests": False,
    }

    naming = translate_name("local-chat-completions", args)

    assert "tokenizer_backend, tokenized_requests: not used" in naming.note


@pytest.mark.parametrize(
    ("file", "content", "ours"),
    [
        ("config.json", {}, "hf"),
        ("model_index.json", {"_class_name": "X"}, "diffusers"),
    ],
)
def test_a_folder_is_the_kind_of_model_its_files_say(tmp_path, file, content, ours):
    (tmp_path / file).write_text(json.dumps(content))

    assert translate_name(str(tmp_path)).name == f"{ours}/{tmp_path}"


def test_a_folder_of_gguf_files_is_answered_with_one_of_them(tmp_path):
    (tmp_path / "small.gguf").write_bytes(b"GGUF")

    with pytest.raises(
        UsageError, match=r"no config.json .*; fix: --model .*/small\.gguf"
    ):
        translate_name(str(tmp_path))


def test_options_in_place_of_a_model_are_answered_with_their_own_flag():
    with pytest.raises(UsageError, match="-a device=cuda"):
        build_model("device=cuda")


@pytest.mark.parametrize(
    ("name", "has_choice"),
    [("hf", True), ("Qwen/Qwen3-8B", True), ("smollm2", False), ("openai/x", False)],
)
def test_only_models_with_a_choice_of_device_take_one(name, has_choice):
    assert takes_device(name) is has_choice
