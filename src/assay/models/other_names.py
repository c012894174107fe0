"""Translate model names of other tools to assay's: `hf` with `pretrained=PATH`, a folder, `Qwen/Qwen3-8B`.

Translating a name uses only fixed tables and small rules. It imports and downloads
nothing.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..core import EMPTY, UsageError
from ..registry import models as registry
from . import embedded


@dataclass(frozen=True, slots=True)
class Naming:
    """A model's name and options in assay's form, with a note about the translation."""

    name: str
    args: Mapping[str, Any]
    note: str = ""
    """A note to the user about the translation; empty if nothing was translated."""


HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
WEIGHT_FILES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
API_PATHS = ("/chat/completions", "/completions", "/responses")

HOSTED = frozenset({
    "azure", "azureai", "bedrock", "cloudflare", "cohere", "deepseek", "fireworks", "fireworks_ai", "goodfire", "grok",
    "groq", "huggingface", "mistral", "openrouter", "perplexity", "sagemaker", "together", "together_ai", "vertex",
    "vertex_ai", "xai",
})  # fmt: skip
"""Prefixes that inspect_ai and litellm use for hosted services, such as `azure` in `azure/NAME`."""
SERVERS = {
    "ollama": 11434,
    "sglang": 30000,
    "lmstudio": 1234,
    "llama-cpp-python": 8000,
    "openai-api": 8000,
}
"""Programs that serve the OpenAI API, with their default ports."""

HF_OPTIONS = {
    "peft": "adapter",
    "max_length": "context",
    "max_gen_toks": "max_tokens",
    "torch_dtype": "dtype",
}
VLLM_OPTIONS = {
    "max_length": "context",
    "max_model_len": "context",
    "max_gen_toks": "max_tokens",
    "tensor_parallel_size": "tensor_parallel",
    "gpu_memory_utilization": "memory",
}
HTTP_OPTIONS = {
    "num_concurrent": "concurrency",
    "timeout": "total_timeout",
    "header": "headers",
}
HTTP_DROPPED = (
    "tokenizer",
    "tokenizer_backend",
    "tokenized_requests",
    "max_length",
    "max_retries",
    "batch_size",
    "max_gen_toks",
    "eos_string",
    "custom_prefix_token_id",
    "use_fast_tokenizer",
)
"""Options of lm-eval's endpoint models that assay ignores, because they do not change the requests."""

Rule = Callable[[Mapping[str, Any]], Naming]


def translate_name(
    name: str,
    args: Mapping[str, Any] = EMPTY,
) -> Naming:
    """Translate another tool's model name to assay's. Return any other name unchanged."""
    folded = name.lower().replace("-", "_")
    if folded in BACKENDS:
        naming = BACKENDS[folded](args)
        if naming.name == name:
            return naming
        unused = [
            option
            for option in HTTP_DROPPED
            if option in args and option not in naming.args
        ]
        if unused and naming.name.startswith("openai/"):
            also = f" ({', '.join(unused)}: not used)"
        else:
            also = ""
        return replace(naming, note=f"--model {name} is {naming.name} here{also}")
    if name.startswith("mockllm/"):
        return Naming(
            "scripted",
            args,
            f"--model {name} is scripted here (-a answers=… sets its answers)",
        )
    if _is_ours(name):
        return _with_model_path(name, args)
    if "base_url" in args:
        note = f"--model {name} with a base_url is openai/{name} here"
        return Naming(
            f"openai/{name}",
            {**args, "base_url": _bare_url(args["base_url"])},
            note,
        )
    path = Path(name).expanduser()
    if path.is_dir():
        return _folder(name, path, args)
    if HUB_ID.fullmatch(name) and path.suffix not in WEIGHT_FILES:
        return _hub_id(name, args)
    return Naming(name, args)


def takes_device(name: str) -> bool:
    """Return True if the model has an option for its device."""
    return translate_name(name, {"pretrained": "x"}).name.partition("/")[0] in (
        "hf",
        "diffusers",
    )


def _is_ours(name: str) -> bool:
    """Return True if assay already has a model with this name, or with the part before its slash."""
    scheme = name.partition("/")[0]
    return (
        name in registry
        or scheme in registry
        or (registry.resolve(name) or name) in embedded.CATALOGUE
    )


def _hub_id(
    name: str,
    args: Mapping[str, Any],
) -> Naming:
    """Translate `Qwen/Qwen3-8B` to `hf/Qwen/Qwen3-8B`.

    Names of hosted services and local servers are rejected, with the command that reaches them.
    """
    scheme, _, rest = name.partition("/")
    if difflib.get_close_matches(
        scheme.lower(),
        registry.names(),
        n=1,
        cutoff=0.8,
    ):
        # This is a misspelled backend, which is reported when the name is resolved.
        return Naming(name, args)
    if scheme == "google" and rest.startswith("gemini"):
        return Naming(f"gemini/{rest}", args, f"--model {name} is gemini/{rest} here")
    if scheme.lower() in HOSTED:
        raise UsageError(
            f"model {name!r} names a hosted service", fix=f"--model litellm/{name}"
        )
    if scheme.lower() in SERVERS:
        url = f"http://localhost:{SERVERS[scheme.lower()]}/v1"
        raise UsageError(
            f"model {name!r} names a server",
            fix=f"--model openai/{rest} --base_url {url}",
        )
    note = f"--model {name} is hf/{name} here (transformers; vllm/{name} takes vLLM, --base_url URL an endpoint)"
    return Naming(f"hf/{name}", args, note)


def _folder(
    name: str,
    path: Path,
    args: Mapping[str, Any],
) -> Naming:
    """Return the model name for a folder of weights: a backend that can load its files, and the path."""
    if (path / "config.json").is_file():
        return Naming(f"hf/{name}", args, f"--model {name} is hf/{name} here")
    if (path / "model_index.json").is_file():
        return Naming(
            f"diffusers/{name}",
            args,
            f"--model {name} is diffusers/{name} here",
        )
    if (path / "adapter_config.json").is_file():
        base = _adapted_model(path / "adapter_config.json")
        fix = f"--model hf/{base} -a adapter={name}"
        raise UsageError(
            "the folder holds an adapter, not a model",
            where=name,
            fix=fix,
        )
    files = sorted(file.name for file in path.glob("*.gguf"))
    if files:
        fix = f"--model {name.rstrip('/')}/{files[0]}"
    else:
        fix = "a folder of a model holds config.json"
    raise UsageError(
        "no config.json in the folder, so it is not a model",
        where=name,
        fix=fix,
    )


def _adapted_model(file: Path) -> str:
    """Return the model that an adapter was trained for; `BASE_MODEL` if the
    adapter's file does not contain the name.
    """
    try:
        return str(json.loads(file.read_bytes())["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError):
        return "BASE_MODEL"


def _with_model_path(
    name: str,
    args: Mapping[str, Any],
) -> Naming:
    """Translate inspect_ai's `hf/local` with `model_path=PATH`."""
    scheme, slash, _ = name.partition("/")
    if not slash or scheme not in ("hf", "vllm") or "model_path" not in args:
        return Naming(name, args)
    other_options = dict(args)
    path = other_options.pop("model_path")
    assay_name = f"{scheme}/{path}"
    note = f"--model {name} with model_path is {assay_name} here"
    return Naming(assay_name, other_options, note)


def _local(
    scheme: str,
    renamed: Mapping[str, str],
) -> Rule:
    """Return a function that translates lm-eval's arguments of a local model, such as `pretrained=PATH`.

    `scheme` is assay's backend. `renamed` maps lm-eval's option names to assay's.
    """

    def rule(args: Mapping[str, Any]) -> Naming:
        weights = args.get("pretrained") or args.get("model")
        if not weights:
            if args.get("path"):
                return Naming(scheme, args)
            raise UsageError(
                f"--model {scheme} does not say which weights",
                fix=f"--model {scheme}/PATH_OR_HUB_ID",
            )
        file = args.get("gguf_file")
        rest = _renamed(args, renamed, drop=("pretrained", "model", "gguf_file"))
        if rest.get("parallelize") is not None:
            rest.update({"device_map": "auto"} if rest.pop("parallelize") else {})
        return Naming(f"{scheme}/{weights}" + (f"/{file}" if file else ""), rest)

    return rule


def _endpoint(scheme: str, **more: object) -> Rule:
    """Return a function that converts endpoint arguments (`model=NAME,base_url=URL`) to assay's name and options."""

    def rule(args: Mapping[str, Any]) -> Naming:
        model = args.get("model") or args.get("pretrained")
        if not model:
            raise UsageError(
                "the endpoint's model has no name",
                fix=f"--model {scheme}/NAME --base_url URL",
            )
        rest = _renamed(args, HTTP_OPTIONS, drop=("model", "pretrained", *HTTP_DROPPED))
        if "base_url" in rest:
            rest["base_url"] = _bare_url(rest["base_url"])
        return Naming(f"{scheme}/{model}", {**more, **rest})

    return rule


def _renamed(
    args: Mapping[str, Any],
    names: Mapping[str, str],
    drop: tuple[str, ...],
) -> dict[str, Any]:
    """Rename options to assay's names, and remove those in `drop`."""
    return {
        names.get(option, option): value
        for option, value in args.items()
        if option not in drop
    }


def _bare_url(url: object) -> object:
    """Remove an API path such as `/chat/completions` from the end of a URL, because assay adds it."""
    if not isinstance(url, str):
        return url
    bare = url.rstrip("/")
    for path in API_PATHS:
        if bare.endswith(path):
            return bare.removesuffix(path)
    return url


BACKENDS: Mapping[str, Rule] = {
    **dict.fromkeys(
        ("hf", "huggingface", "hf_auto", "hf_causal", "hf_multimodal"),
        _local("hf", HF_OPTIONS),
    ),
    **dict.fromkeys(("vllm", "vllm_vlm"), _local("vllm", VLLM_OPTIONS)),
    **dict.fromkeys(
        ("local_chat_completions", "openai_chat_completions"),
        _endpoint("openai", api="chat"),
    ),
    **dict.fromkeys(
        ("local_completions", "openai_completions"),
        _endpoint("openai", api="completions", likelihood_by="echo"),
    ),
    **dict.fromkeys(
        ("anthropic_chat", "anthropic_chat_completions"), _endpoint("anthropic")
    ),
    **dict.fromkeys(
        ("dummy", "mock_llm", "mockllm"), lambda args: Naming("scripted", args)
    ),
}
"""Functions that translate arguments of lm-eval and evalscope, by backend name in lower case with underscores."""
