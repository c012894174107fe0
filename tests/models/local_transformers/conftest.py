"""Tiny models of real architectures with random weights, created when needed; one CPU thread."""

import importlib.util
import threading

import pytest

from .tiny_media import folders, janus, llava, qwen2_audio, qwen2_vl, whisper  # noqa: F401 - fixtures
from .torchvision_operators import declare_operators

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PATIENCE = 60
"""Seconds after which a test stops waiting for an event."""
needs_torch = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")),
    reason="pip install torch transformers",
)


def pytest_collection_modifyitems(items):
    for item in items:
        if "local_transformers" in str(item.path) and item.get_closest_marker("torch"):
            item.add_marker(needs_torch)


@pytest.fixture(autouse=True, scope="session")
def importable_torchvision():
    declare_operators()


@pytest.fixture(autouse=True)
def one_thread():
    if importlib.util.find_spec("torch") is None:
        return
    import torch

    torch.set_num_threads(1)


def make_tokenizer(*special, template=None, adds_bos=False, merges=()):
    """Return a tokenizer with one token for each byte and for each pair in `merges`."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: number for number, character in enumerate(alphabet)}
    vocabulary["<s>"] = len(vocabulary)
    vocabulary |= {
        one + other: len(vocabulary) + number
        for number, (one, other) in enumerate(merges)
    }
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=list(merges)))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    if adds_bos:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", vocabulary["<s>"])]
        )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>", *special],
    )
    tokenizer.chat_template = template
    return tokenizer


def llama_config(**changes):
    from transformers import LlamaConfig

    sizes = {
        "vocab_size": 300,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "bos_token_id": 256,
        "eos_token_id": 257,
        "initializer_range": 0.2,
    }
    return LlamaConfig(**{**sizes, **changes})


def make_model(kind, config, seed=0):
    import torch

    torch.manual_seed(seed)
    return kind(config).eval()


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory):
    """A Llama with a chat template, saved with `save_pretrained`."""
    from transformers import LlamaForCausalLM

    folder = tmp_path_factory.mktemp("llama")
    make_model(LlamaForCausalLM, llama_config()).save_pretrained(folder)
    make_tokenizer(template=CHATML).save_pretrained(folder)
    return folder


@pytest.fixture
def llama(llama_folder):
    from assay.models.local_transformers import LocalTransformers

    return LocalTransformers(str(llama_folder), max_tokens=12)


@pytest.fixture(scope="session")
def plain_llama(llama_folder):
    """The model in `llama_folder`, run by transformers alone."""
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(llama_folder).eval()


@pytest.fixture
def make():
    """Functions that build other models and tokenizers for tests."""

    class Make:
        tokenizer = staticmethod(make_tokenizer)
        config = staticmethod(llama_config)
        model = staticmethod(make_model)
        chatml = CHATML

        @staticmethod
        def folder(path, model, tokenizer):
            model.save_pretrained(path)
            tokenizer.save_pretrained(path)
            return str(path)

    return Make


class HeldDevice:
    """Holds each forward pass until the next batch is read; `came` records whether it was."""

    def __init__(self, model):
        self.entered, self.read, self.came = threading.Event(), threading.Event(), []
        self.model = model
        model._ready().model.register_forward_pre_hook(self._hold)

    def _hold(self, *_):
        self.entered.set()
        self.came.append(self.read.wait(PATIENCE))

    def first_then_second(self, call):
        """Call with "first" in a thread, then with "second" once the first is on the device.

        Return both results.
        """
        found = {}
        thread = threading.Thread(target=lambda: found.update(first=call("first")))
        thread.start()
        assert self.entered.wait(PATIENCE)
        found["second"] = call("second")
        thread.join(PATIENCE)
        return found["first"], found["second"]

    def watch(self, owner, name):
        """Release the device when this function of `owner` reads a prompt of the second batch."""
        usual = getattr(owner, name)

        def watched(prompt):
            made = usual(prompt)
            if "second" in prompt.text:
                self.read.set()
            return made

        setattr(owner, name, watched)


@pytest.fixture
def held_device():
    """The class `HeldDevice`, which makes a model wait until the next batch is read."""
    return HeldDevice
