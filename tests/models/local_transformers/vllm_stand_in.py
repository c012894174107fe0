"""A stand-in for vLLM: its names, arguments and results, computed one prompt at a time by transformers.

`tools/check_vllm_stand_in.py WHEEL` checks that every class, argument and field here exists in vLLM's own source.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace


@dataclass
class SamplingParams:
    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = None
    max_tokens: int | None = 16
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    structured_outputs: object = None


@dataclass
class StructuredOutputsParams:
    json_object: bool | None = None


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None
    logprobs: list | None
    finish_reason: str | None = None
    stop_reason: int | str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt: str | None
    prompt_token_ids: list[int] | None
    prompt_logprobs: list | None
    outputs: list[CompletionOutput]
    finished: bool = True
    num_cached_tokens: int | None = None


@dataclass
class LLM:
    model: str
    dtype: str = "auto"
    tensor_parallel_size: int = 1
    gpu_memory_utilization: float = 0.92
    revision: str | None = None
    quantization: str | None = None
    trust_remote_code: bool = False
    max_model_len: int | None = None
    calls: list = field(default_factory=list)

    def __post_init__(self):
        from transformers import AutoTokenizer, LlamaForCausalLM

        self._tokenizer = AutoTokenizer.from_pretrained(self.model)
        self._model = LlamaForCausalLM.from_pretrained(self.model).eval()
        longest = self.max_model_len or self._model.config.max_position_embeddings
        self.llm_engine = SimpleNamespace(
            model_config=SimpleNamespace(max_model_len=longest)
        )

    def get_tokenizer(self):
        return self._tokenizer

    def generate(
        self, prompts, sampling_params=None, *, use_tqdm: bool | Callable = True
    ):
        self.calls.append(("generate", len(prompts)))
        prompts = (
            list(use_tqdm(prompts, desc="Adding requests"))
            if callable(use_tqdm)
            else prompts
        )
        alike = not isinstance(sampling_params, list)
        params = [sampling_params] * len(prompts) if alike else sampling_params
        longest = self.llm_engine.model_config.max_model_len
        for prompt in prompts:
            if len(prompt["prompt_token_ids"]) > longest - 1:
                raise ValueError(
                    f"the prompt is longer than the maximum model length of {longest}"
                )
        bar = use_tqdm(
            total=len(prompts), desc="Processed prompts", dynamic_ncols=True, postfix=""
        )
        results = []
        for prompt, own in zip(prompts, params, strict=True):
            results.append(self._one(prompt["prompt_token_ids"], own))
            bar.postfix = (
                f"est. speed input: {1 / bar.format_dict['elapsed']:.2f} toks/s"
            )
            bar.update(1)
            if bar.n == len(prompts):
                bar.refresh()
        bar.close()
        return results

    def chat(
        self,
        messages,
        sampling_params=None,
        use_tqdm: bool | Callable = True,
        chat_template=None,
    ):
        self.calls.append(("chat", len(messages)))
        self.messages = messages
        texts = [
            "".join(p.get("text", "<image>") for m in said for p in m["content"])
            for said in messages
        ]
        prompts = [{"prompt_token_ids": self._tokenizer.encode(text)} for text in texts]
        return self.generate(prompts, sampling_params, use_tqdm=use_tqdm)

    def _one(self, ids, params):
        import torch

        with torch.inference_mode():
            scores = torch.log_softmax(
                self._model(torch.tensor([ids])).logits[0].float(), -1
            )
        reported = None
        if params.prompt_logprobs is not None:
            reported = [
                None,
                *(
                    self._report(scores[at], ids[at + 1], 0)
                    for at in range(len(ids) - 1)
                ),
            ]
        outputs = [self._write(list(ids), params, index) for index in range(params.n)]
        return RequestOutput(
            "1", None, list(ids), reported, outputs, num_cached_tokens=0
        )

    def _report(self, scores, token, count):
        chosen = {
            token: Logprob(
                scores[token].item(),
                int((scores > scores[token]).sum()) + 1,
                self._word(token),
            )
        }
        for other in scores.topk(count).indices.tolist() if count else ():
            rank = int((scores > scores[other]).sum()) + 1
            chosen.setdefault(
                other, Logprob(scores[other].item(), rank, self._word(other))
            )
        return chosen

    def _word(self, token):
        return self._tokenizer.decode([token])

    def _write(self, ids, params, index):
        import torch

        generator = torch.Generator().manual_seed((params.seed or 0) + index)
        start, logprobs, reason = len(ids), [], "length"
        for _ in range(params.max_tokens):
            with torch.inference_mode():
                scores = torch.log_softmax(
                    self._model(torch.tensor([ids])).logits[0, -1].float(), -1
                )
            if params.temperature:
                token = torch.multinomial(
                    (scores / params.temperature).softmax(-1), 1, generator=generator
                ).item()
            else:
                token = scores.argmax().item()
            ids.append(token)
            logprobs.append(self._report(scores, token, params.logprobs or 0))
            text = self._tokenizer.decode(ids[start:], skip_special_tokens=True)
            ends = {self._tokenizer.eos_token_id, *(params.stop_token_ids or ())}
            if token in ends or any(stop in text for stop in params.stop or ()):
                reason = "stop"
                break
        text = self._tokenizer.decode(ids[start:], skip_special_tokens=True)
        for stop in params.stop or ():
            text = text.partition(stop)[0]
        kept = logprobs if params.logprobs is not None else None
        return CompletionOutput(index, text, ids[start:], None, kept, reason)


def modules():
    """Return `vllm` and its submodules, as `import` finds them."""
    package, sampling = ModuleType("vllm"), ModuleType("vllm.sampling_params")
    package.LLM, package.SamplingParams = LLM, SamplingParams
    sampling.StructuredOutputsParams = StructuredOutputsParams
    package.sampling_params = sampling
    return {"vllm": package, "vllm.sampling_params": sampling}
