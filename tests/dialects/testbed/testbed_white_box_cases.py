"""Cases of what looks inside a model: generation, hooks, trackers, modules replaced, and the helpers beside them."""

import copy
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from testbed_families import CONVERSATIONS, Case, Load, family, given, raised, tokenizer
from testbed_template_cases import idefics_processor, llava_processor, pictures


def tiny(load: Load, kind: str) -> Any:
    """A family over weights of a few thousand numbers."""
    from transformers import (
        CLIPVisionConfig,
        IdeficsConfig,
        IdeficsForVisionText2Text,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        MistralConfig,
        MistralForCausalLM,
    )

    words = tokenizer(None)
    small: dict[str, Any] = {
        "vocab_size": len(words),
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "pad_token_id": 2,
        "bos_token_id": 1,
        "eos_token_id": None,
    }
    if kind == "Mistral-7B":
        return load("testbed.models").Mistral(
            "w/Mistral-7B",
            processor_class=given(tokenizer()),
            model_class=given(settled(MistralForCausalLM(MistralConfig(**small)))),
        )
    if kind == "idefics-9b":
        config = IdeficsConfig(
            **{k: v for k, v in small.items() if k != "num_key_value_heads"},
            additional_vocab_size=0,
            cross_layer_interval=1,
            use_resampler=False,
            vision_config={
                "embed_dim": 16,
                "image_size": 28,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "intermediate_size": 16,
                "patch_size": 14,
            },
        )
        return load("testbed.models").Idefics(
            "w/idefics-9b",
            processor_class=given(idefics_processor()),
            model_class=given(settled(IdeficsForVisionText2Text(config))),
        )
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=28,
        patch_size=14,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=LlamaConfig(**small),
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    return load("testbed.models").LLaVa(
        "w/llava-1.5-7b-hf",
        processor_class=given(llava_processor()),
        model_class=given(settled(LlavaForConditionalGeneration(config))),
    )


def settled(weights: Any) -> Any:
    """The same weights in every version of the library: none is drawn."""
    import torch

    for parameter in weights.parameters():
        spread = torch.linspace(-1, 1, parameter.numel()).reshape(parameter.shape)
        parameter.data = torch.sin(spread * 50) * 0.3
    return weights


def generated(made: Any) -> Any:
    if not isinstance(made, dict):
        return made
    return {
        name: value if name == "outputs" else list_of(value)
        for name, value in made.items()
    }


def list_of(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else sorted(value.keys())


def generate_case(kind: str, images: Any, turns: Any, **kwargs: Any) -> Case:
    def case(load: Load) -> Any:
        model = tiny(load, kind)
        return generated(
            model.generate(
                images(),
                copy.deepcopy(turns),
                max_new_tokens=3,
                do_sample=False,
                **kwargs,
            )
        )

    return case


def tracked(load: Load, kind: str, on_device: Any = False, manual: bool = False) -> Any:
    """Two passes under a tracker of two layers."""
    import torch

    model = family(load, "Mistral-7B")
    trackers = load("testbed.utils.tracker")
    tracker = {
        "forward": lambda: trackers.ForwardTracker(on_device=on_device),
        "locals": lambda: trackers.LocalsTracker(
            "forward", ["scaled", "shifted"], on_device=on_device
        ),
        "grad": lambda: trackers.GradTracker(on_device=on_device),
    }[kind]()
    seen: list[Any] = [tracker.is_tracking, tracker.auto_incre_index]
    with tracker as same:
        seen.append(same is tracker)
        model.add_tracker(r"layers\.\d$", tracker)
        seen += [
            tracker.is_tracking,
            tracker.auto_incre_index,
            tracker.next_index,
            isinstance(tracker.id, int),
        ]
        for value in (1.0, 5.0):
            out = model.model(torch.tensor([value], requires_grad=True))
            if kind == "grad":
                out.sum().backward()
        keys = {
            "forward": ["inputs", "outputs"],
            "locals": ["scaled", "shifted"],
            "grad": ["grad_outputs"],
        }[kind]
        for key in keys:
            kept = tracker.get(key) if kind == "locals" else getattr(tracker, key)
            seen.append(nested(kept))
        seen.append(tracker.next_index)
        tracker.clear()
        seen.append(
            [
                tracker.next_index,
                nested(
                    tracker.get("scaled")
                    if kind == "locals"
                    else getattr(tracker, keys[0])
                ),
            ]
        )
    seen.append(tracker.is_tracking)
    return seen


def nested(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [nested(inner) for inner in value]
    return value


def tracker_by_hand(load: Load) -> Any:
    """A tracker that follows modules without a model around them counts passes itself."""
    import torch
    from torch import nn

    trackers = load("testbed.utils.tracker")
    layers = [nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)]
    for at, layer in enumerate(layers):
        nn.init.constant_(layer.weight, at + 2.0)
    tracker = trackers.ForwardTracker()
    tracker.track(layers, OrderedDict())
    for value in (1.0, 2.0):
        layers[1](layers[0](torch.tensor([value])))
    seen = [nested(tracker.outputs), nested(tracker.inputs), tracker.next_index]
    tracker.auto_incre_index = False
    tracker.incre_next_index()
    layers[0](torch.tensor([7.0]))
    seen += [nested(tracker.outputs), tracker.next_index]
    tracker.remove()
    return seen


def tracker_errors(load: Load) -> Any:
    trackers = load("testbed.utils.tracker")
    forward, own = (
        trackers.ForwardTracker(),
        trackers.LocalsTracker("forward", ["scaled"]),
    )
    model = family(load, "Mistral-7B")
    return [
        raised(lambda: forward.outputs),
        raised(lambda: own.get("scaled")),
        raised(lambda: own.get("other")),
        raised(lambda: forward.incre_next_index()),
        raised(lambda: model.add_tracker("nothing", forward)),
        raised(lambda: model.add_tracker(3, forward)),
        raised(lambda: forward.track([], {})),
        raised(
            lambda: model.add_tracker(
                r"layers\.0$", trackers.LocalsTracker("forward", ["missing"])
            )
        ),
        raised(lambda: forward.remove()),
        forward.id,
    ]


def hooks(load: Load) -> Any:
    import torch

    model = family(load, "Mistral-7B")
    seen: list[Any] = []
    handles = model.register_forward_hook(
        r"layers\.\d$",
        lambda m, a, o, module_name: seen.append((module_name, o.tolist())),
    )
    exact = model.register_forward_pre_hook(
        ["layers.1"], lambda m, a: seen.append(("pre", a[0].tolist()))
    )
    model.register_forward_hook(
        "layers.0", lambda m, a, o, **named: seen.append(sorted(named))
    )
    model.model(torch.tensor([1.0]))
    counts = [len(handles), len(exact)]
    for handle in [*handles, *exact]:
        handle.remove()
    model.model(torch.tensor([2.0]))
    return [
        seen,
        counts,
        raised(lambda: model.register_forward_hook(3, lambda *a: None)),
        raised(lambda: model.register_forward_hook("none", lambda *a: None)),
    ]


def replaced(load: Load) -> Any:
    import torch
    from torch import nn

    class Twice(nn.Module):
        def forward(self, states):
            return states * 2

    class Other(nn.Module):
        def forward(self, other):
            return other

    def shifted(self, states, module_name=None, old_method=None):
        return old_method(states) + len(module_name)

    model = family(load, "Mistral-7B")
    seen: list[Any] = []
    ask = lambda: model.model(torch.tensor([1.0])).tolist()  # noqa: E731
    model.replace_module_method(["layers.0"], "forward", shifted)
    seen.append(ask())
    model.replace_module("layers.1", Twice)
    seen.append(ask())
    model.replace_module(r"layers\.\d$", [Twice(), Twice()], strict=False)
    seen.append(ask())
    model.replace_module(Twice, Twice)
    seen.append(ask())
    for attempt in (
        lambda: model.replace_module("layers.0", Other()),
        lambda: model.replace_module("layers.0", Other(), strict=False),
        lambda: model.replace_module(r"layers\.\d$", Twice()),
        lambda: model.replace_module(r"layers\.\d$", [Twice()]),
        lambda: model.replace_module("nothing", Twice),
        lambda: model.replace_module_method("layers.1", "nothing", shifted),
        lambda: model.replace_module_method(
            "layers.1", "forward", lambda self, other: other
        ),
        lambda: model.replace_module_method(
            "layers.1", "forward", lambda self, other: other, strict=False
        ),
    ):
        seen.append(raised(attempt))
    seen.append(ask())
    return seen


def torch_module(load: Load) -> Any:
    """What a user does with a model because it is a torch module."""
    import torch

    model = family(load, "Mistral-7B")
    same = model.to("cpu") is model and model.eval() is model
    names = [name for name, _ in model.named_parameters()]
    with torch.no_grad():
        total = sum(p.sum().item() for p in model.parameters())
    return [
        isinstance(model, torch.nn.Module),
        same,
        names,
        sorted(model.state_dict()),
        total,
        model.training,
        [name for name, _ in model.named_modules()],
        [name for name, _ in model.named_children()],
    ]


def helpers(load: Load) -> Any:
    """`testbed.utils`: what is bound, and how things are copied to a device."""
    import torch

    tools = load("testbed.utils")
    bound = tools.try_inject_params(lambda a, b=0: (a, b), b=2, c=3)(1)
    whole = tools.try_inject_params(lambda a, **more: (a, more), b=2)(1)
    plain: Any = lambda a: a  # noqa: E731
    copied = tools.clone_to_device(
        {"a": torch.ones(2), "b": [torch.zeros(1)], "c": "text", "d": 3}
    )
    deep = tools.clone_to_device([[[torch.ones(1)]]], max_recur_depth=5)
    return [
        bound,
        whole,
        tools.try_inject_params(plain, b=1) is plain,
        {k: nested(v) for k, v in copied.items()},
        nested(deep),
    ]


def white_box_cases() -> Iterator[tuple[str, Case]]:
    for kind in ("forward", "locals", "grad"):
        yield f"tracker.{kind}", lambda load, kind=kind: tracked(load, kind)
        yield f"tracker.{kind}.cpu", lambda load, kind=kind: tracked(load, kind, "cpu")
    yield "tracker.locals.on_device", lambda load: tracked(load, "locals", True)
    yield "tracker.by_hand", tracker_by_hand
    yield "tracker.errors", tracker_errors
    yield "hooks", hooks
    yield "replace_module", replaced
    yield "torch_module", torch_module
    yield "utils", helpers
    yield "fingerprint", fingerprint
    one, two = (lambda: pictures("green")), (lambda: pictures("red", "blue"))
    for kind in ("idefics-9b", "llava-1.5-7b-hf"):
        short, single = CONVERSATIONS["vqa_0shot"], CONVERSATIONS["vqa_1shot"]
        yield f"generate.{kind}.single", generate_case(kind, one, short)
        yield f"generate.{kind}.batch", generate_case(kind, lambda: [two()], [single])
        yield (
            f"generate.{kind}.whole",
            generate_case(
                kind, one, short, return_inputs=True, return_generated_ids=True
            ),
        )


def fingerprint(load: Load) -> Any:
    made = load("testbed.utils.fingerprint")
    print_of = made.Fingerprint(lambda sample: sample.encode())
    print_of.update("a", "hello")
    return [
        print_of.to_dict()["a"]["sample"],
        "a" in print_of,
        "b" in print_of,
        print_of.validate("a"),
        print_of.validate("a", "other"),
        made.Hasher.hash_bytes(b"x", "sha256"),
        made.Hasher.hash_bytes([b"x", b"y"], "md5"),
        raised(lambda: made.Hasher.hash_bytes(b"x", "none")),
        raised(lambda: print_of.load_from_dict([])),
        raised(lambda: print_of.load_from_dict({"a": {}})),
    ]
