"""The testbed's model families and trackers on real torch: tiny models of their architectures with random weights."""

import importlib.util

import pytest

from assay.dialects.testbed.model_families import LLaVa, Mistral, Qwen2
from assay.dialects.testbed.testbed_models import adapt
from assay.dialects.testbed.testbed_trackers import (
    ForwardTracker,
    GradTracker,
    LocalsTracker,
)
from assay.runner.run import run

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        any(
            importlib.util.find_spec(name) is None for name in ("torch", "transformers")
        ),
        reason="pip install torch transformers",
    ),
]
SIZES = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "eos_token_id": 257,
    "pad_token_id": 258,
}
TURNS = [
    {"role": "question", "content": "q1"},
    {"role": "answer", "content": "a1"},
    {"role": "question", "content": "q2"},
    {"role": "answer"},
]


def tokenizer(*special):
    """One token for each byte, so that any text has tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(
        models.BPE(
            vocab={letter: number for number, letter in enumerate(alphabet)}, merges=[]
        )
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>", *special],
    )


@pytest.fixture(scope="module")
def qwen2_folder(tmp_path_factory):
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("families") / "Qwen2-tiny"
    Qwen2ForCausalLM(Qwen2Config(**SIZES, bos_token_id=256)).eval().save_pretrained(
        folder
    )
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def mistral_folder(tmp_path_factory):
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("families") / "Mistral-tiny"
    MistralForCausalLM(MistralConfig(**SIZES, bos_token_id=256)).eval().save_pretrained(
        folder
    )
    tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def llava_folder(tmp_path_factory):
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("families") / "llava-1.5-7b-hf"
    words = tokenizer("<image>")
    sees = CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=28,
        patch_size=14,
        projection_dim=32,
    )
    config = LlavaConfig(
        vision_config=sees,
        image_seq_length=4,
        text_config=LlamaConfig(**SIZES, bos_token_id=256),
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    images = CLIPImageProcessorPil(
        size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
    )
    processor = LlavaProcessor(
        image_processor=images,
        tokenizer=words,
        patch_size=14,
        vision_feature_select_strategy="default",
        image_token="<image>",
        num_additional_image_tokens=1,
    )
    LlavaForConditionalGeneration(config).eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def test_a_qwen2_renders_its_marked_turns_and_writes_new_tokens_only(qwen2_folder):
    model = Qwen2(str(qwen2_folder))

    made = model.generate(
        [TURNS, TURNS[2:]], max_new_tokens=4, do_sample=False, return_inputs=True
    )

    whole = model.apply_prompt_template(TURNS)
    assert whole.endswith("<|im_start|>question\nq2<|im_end|>\n<|im_start|>answer\n")
    assert whole.startswith(
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    )
    assert len(made["outputs"]) == 2 and made["inputs"]["input_ids"].shape[0] == 2
    alone = model.generate(TURNS[2:], max_new_tokens=4, do_sample=False)
    assert alone == made["outputs"][1:]


def test_a_mistral_renders_roles_by_line_and_writes(mistral_folder):
    model = Mistral(str(mistral_folder))

    assert model.apply_prompt_template(TURNS[2:]).endswith("Answer:")
    [said] = model.generate([TURNS], max_new_tokens=3, do_sample=False)
    assert isinstance(said, str)


def test_a_llava_sees_as_many_pictures_as_it_has_places_for(llava_folder):
    from PIL import Image

    turns = [
        {"role": "image", "content": [{"type": "image"}]},
        {"role": "question", "content": [{"type": "text", "text": "q?"}]},
        {"role": "answer"},
    ]
    model = LLaVa(str(llava_folder))

    inputs = model.process_input(
        [[Image.new("RGB", (28, 28), "red")], [Image.new("RGB", (28, 28))]],
        [turns, turns],
    )
    first, second = model.generate(
        [[Image.new("RGB", (28, 28), "red")], [Image.new("RGB", (28, 28), "blue")]],
        [turns, turns],
        max_new_tokens=3,
        do_sample=False,
    )

    assert model.apply_prompt_template(turns) == "IMAGE: <image>\nQUESTION: q? ANSWER:"
    assert inputs["pixel_values"].shape[0] == 2
    assert isinstance(first, str) and isinstance(second, str)


def test_a_family_runs_a_testbed_file_end_to_end(
    qwen2_folder, parity_file, parity_rows, tmp_path
):
    model = adapt(Qwen2, "families.py:Qwen2", {"model_root": str(qwen2_folder)})

    result = run(
        str(parity_file),
        model,
        data=str(parity_rows),
        num_fewshot=2,
        limit=3,
        output=str(tmp_path / "run"),
        generation={"max_tokens": 3, "temperature": 0.0},
    )

    assert (result.status, result.results[0].n) == ("complete", 3)


def test_a_forward_tracker_keeps_what_layers_return_pass_by_pass(qwen2_folder):
    import torch

    model = Qwen2(str(qwen2_folder))
    tracker = ForwardTracker(on_device=True)
    model.add_tracker(["model.layers.1.mlp"], tracker)

    with torch.no_grad():
        inputs = model.process_input(TURNS)
        model.model(**inputs)
        model.model(**inputs)

    [first], [second] = tracker.outputs
    assert torch.equal(first, second)
    assert first.shape[-1] == SIZES["hidden_size"]


def test_a_grad_tracker_keeps_gradients_and_lets_go(qwen2_folder):
    model = Qwen2(str(qwen2_folder))
    tracker = GradTracker()
    model.add_tracker(["model.layers.0.mlp"], tracker)
    inputs = model.process_input(TURNS)

    model.model(**inputs, labels=inputs["input_ids"]).loss.backward()

    [[(kept,)]] = tracker.grad_outputs
    assert float(kept.abs().sum()) > 0
    tracker.remove()
    model.model(**inputs, labels=inputs["input_ids"]).loss.backward()
    assert not tracker.is_tracking


def test_a_locals_tracker_keeps_the_variables_of_a_forward(qwen2_folder):
    import torch

    model = Qwen2(str(qwen2_folder))
    tracker = LocalsTracker("forward", ["down_proj"])
    model.add_tracker(["model.layers.0.mlp"], tracker)

    with torch.no_grad():
        model.model(**model.process_input(TURNS))

    [[held]] = tracker.get("down_proj")
    assert held.shape[-1] == SIZES["hidden_size"]


def test_a_hook_and_a_replaced_method_change_what_a_real_layer_does(qwen2_folder):
    import torch

    model = Qwen2(str(qwen2_folder))
    seen = []

    def note(module, args, output, module_name):
        seen.append(module_name)

    model.register_forward_hook(r"model\.layers\.\d+\.mlp$", note)
    model.replace_module_method(
        ["model.layers.0.mlp"],
        "forward",
        lambda self, x: torch.zeros_like(x),
        strict=False,
    )

    with torch.no_grad():
        model.model(**model.process_input(TURNS))

    assert seen == ["model.layers.0.mlp", "model.layers.1.mlp"]
