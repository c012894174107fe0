"""Models that see or hear, in memory: vision-language, audio-language, and speech to text.

Media are decoded here and handed to the model's own processor. Requests whose tensors have the same shapes go through
together when nothing is drawn; nothing is ever padded to a neighbour's length.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core import (
    EMPTY,
    Audio,
    Candidate,
    Image,
    Media,
    Message,
    Output,
    Prompt,
    Request,
    Text,
    Usage,
)
from ...media import decode_audio, decode_image
from ..function import failure
from .drawing import draw, prepare
from .engine import LOOSE, TOLERANCE, TokenCount
from .likelihood import Pair, Tally
from .loading import quiet
from .prompts import Renderer, plain_message
from .sampling import check_options, generator_for, is_greedy
from .text import Limits, too_long, weighed_output

BATCH = 8
EXTENDED = ("attention_mask", "token_type_ids", "mm_token_type_ids")
"""Inputs that run beside the token ids, with what stands for one more token of text."""


@dataclass(frozen=True, slots=True)
class _Counter:
    count: TokenCount


@dataclass(frozen=True, slots=True)
class Prepared:
    """Requests ready for the device, by their place; those that cannot be asked, with why."""

    requests: Sequence[Request]
    inputs: dict[int, dict[str, Any]]
    failed: dict[int, Output]


class MediaModel:
    """A model that takes pictures or sounds among the words, and writes text."""

    opening = 0
    """Tokens the model writes before its answer on its own account."""

    def __init__(
        self,
        model: Any,
        processor: Any,
        template: str | None,
        limits: Limits,
        where: str,
        settings: Mapping[str, Any] = EMPTY,
    ) -> None:
        self.model = model
        self.processor = processor
        self.limits = limits
        self.where = where
        self.renderer = Renderer(processor.tokenizer, where=where)
        self.template = template or getattr(processor, "chat_template", None) or processor.tokenizer.chat_template
        self.engine = _Counter(TokenCount(model))
        self.settings = settings
        self.keeps: bool | None = None
        """Whether the model goes on rightly from what it keeps of a prompt; `None` before that was tried."""

    def prepare_generate(self, requests: Sequence[Request]) -> Prepared:
        """Prompts as tensors, media decoded: everything that needs no device."""
        made = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            check_options(request.options, self.where)
            try:
                if "image" not in request.prompt.produces:
                    made.inputs[at] = self.inputs(request.prompt)
            except Exception as error:  # noqa: BLE001 - a picture or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
                continue
            length = self._length(made.inputs[at]) if at in made.inputs else 0
            if length >= self.limits.context:
                made.failed[at] = too_long(length, self.limits.context)
                del made.inputs[at]
        return made

    def generate(self, made: Prepared) -> list[Output]:
        """Answers, like-shaped requests together."""
        outputs = dict(made.failed)
        for at, request in enumerate(made.requests):
            if "image" in request.prompt.produces:
                outputs[at] = self._drawn(request)
        for group in _alike(made.requests, made.inputs):
            outputs.update(self._tried(group, made))
        return [outputs[at] for at in range(len(made.requests))]

    def _drawn(self, request: Request) -> Output:
        try:
            prepare(self.model, self.renderer.tokenizer)
            return draw(self.model, self.processor, self.text(request.prompt), request, self.settings)
        except Exception as error:  # noqa: BLE001 - a template that cannot be used fails its sample
            return failure(error, self.where)

    def _tried(self, group: Sequence[int], made: Prepared) -> dict[int, Output]:
        """Answers of a group; one that cannot be answered fails alone."""
        import torch

        try:
            return self._answered(group, made.requests, made.inputs)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:  # noqa: BLE001 - what a model's own code makes of one prompt is that sample's failure
            if len(group) == 1:
                return {group[0]: failure(error, self.where)}
            return {at: output for one in group for at, output in self._tried([one], made).items()}

    def _answered(
        self, group: Sequence[int], requests: Sequence[Request], inputs: Mapping[int, Any]
    ) -> dict[int, Output]:
        import torch

        first = requests[group[0]]
        joined = {
            name: torch.cat([inputs[at][name] for at in group]) if isinstance(value, torch.Tensor) else value
            for name, value in inputs[group[0]].items()
        }
        joined = _placed(joined, self.model)
        length = self._length(joined)
        draws = 1 if is_greedy(first.options) else first.options.n
        drawn = [self._draw(joined, first, index, length) for index in range(draws)]
        outputs = {}
        for place, at in enumerate(group):
            candidates = tuple(self._candidate(requests[at], rows[place]) for rows in drawn)
            if is_greedy(first.options) and first.options.n > 1:
                candidates *= first.options.n
            written = sum(len(candidate.token_ids) for candidate in candidates)
            outputs[at] = Output(candidates, usage=Usage(length, written))
        return outputs

    def _draw(self, inputs: Mapping[str, Any], request: Request, index: int, length: int) -> list[list[int]]:
        """Token ids of each row of one draw, up to and with the end token."""
        import torch

        options = request.options
        room = self.limits.max_tokens if options.max_tokens is None else options.max_tokens
        room = max(1, min(room, self.limits.context - length - self.opening))
        settings: dict[str, Any] = {"max_new_tokens": room, "do_sample": not is_greedy(options), **self.settings}
        if not is_greedy(options):
            names = ("temperature", "top_p", "top_k", "min_p")
            settings |= {name: value for name in names if (value := getattr(options, name)) is not None}
            settings.setdefault("top_k", 0)
        if options.repetition_penalty:
            settings["repetition_penalty"] = options.repetition_penalty
        if options.stop:
            settings["stopping_criteria"] = [_stopper(self.renderer.tokenizer, options.stop, length)]
        key = request.key or "\0".join([request.prompt.text, *(medium.digest for medium in request.prompt.media)])
        seed = generator_for(options, request.seed, key, request.repeat, index)
        with torch.inference_mode(), torch.random.fork_rng(), quiet():
            torch.manual_seed(seed.getrandbits(63))
            written = self.model.generate(**inputs, **settings)
        return [self._own(row, length) for row in written.tolist()]

    def _own(self, row: list[int], length: int) -> list[int]:
        """What was written: the prompt and the filling after the end token left out."""
        own = row[length:]
        ends = self._ends()
        for at, token in enumerate(own):
            if token in ends:
                return own[: at + 1]
        return own

    def _ends(self) -> set[int]:
        found = getattr(self.model.generation_config, "eos_token_id", None)
        ends = set(found) if isinstance(found, (list, tuple)) else {found}
        return {end for end in (*ends, self.renderer.tokenizer.eos_token_id) if end is not None}

    def _candidate(self, request: Request, ids: Sequence[int]) -> Candidate:
        text = self.renderer.tokenizer.decode(list(ids), skip_special_tokens=True)
        places = [at for stop in request.options.stop if (at := text.find(stop)) >= 0]
        ended = bool(places) or (bool(ids) and ids[-1] in self._ends())
        text = text[: min(places)] if places else text
        return Candidate((Text(text),), "stop" if ended else "length", (), tuple(ids))

    def prepare_likelihood(self, requests: Sequence[Request]) -> Prepared:
        """Prompts as tensors, media decoded: everything that needs no device."""
        made = Prepared(requests, {}, {})
        for at, request in enumerate(requests):
            try:
                made.inputs[at] = self.inputs(request.prompt)
            except Exception as error:  # noqa: BLE001 - a picture or a template that cannot be used fails its sample
                made.failed[at] = failure(error, self.where)
        return made

    def likelihood(self, made: Prepared) -> list[Output]:
        """Weighs continuations after prompts with media: the prompt is computed once, then what follows it."""
        return [
            made.failed[at] if at in made.failed else self._weighed(request, _placed(made.inputs[at], self.model))
            for at, request in enumerate(made.requests)
        ]

    def _weighed(self, request: Request, inputs: dict[str, Any]) -> Output:
        context = tuple(inputs["input_ids"][0].tolist())
        encode = self.renderer.tokenizer.encode
        pairs = [
            Pair((*context, *encode(text, add_special_tokens=False)), len(context))
            for text in request.prompt.continuations or ()
        ]
        longest = max(len(pair.computed) for pair in pairs)
        if longest > self.limits.context:
            return too_long(longest, self.limits.context)
        tally = Tally(pairs)
        alike: dict[tuple[int, ...], list[int]] = {}
        for row, pair in enumerate(pairs):
            alike.setdefault(pair.computed[len(context) :], []).append(row)
        first = len(context) - 1
        for more, logits in self._after(inputs, list(alike)):
            predicted = range(first, first + 1 + len(more))
            tally.add(logits, [(at - first, row, at) for row in alike[more] for at in predicted])
        return weighed_output(request, pairs, tally.results(), None)

    def _after(self, inputs: dict[str, Any], ways: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], Any]]:
        """Each way to go on after a prompt, with the logits from the prompt's last token on; the prompt computed once.

        Whether the model goes on rightly from what it keeps is tried on the first prompt where that saves anything.
        """
        import torch

        last = self._length(inputs) - 1
        if not any(ways) or self.keeps is False:
            yield from ((more, self._logits(inputs, more)[last:]) for more in ways)
            return
        with torch.inference_mode():
            out = self.model(**inputs, use_cache=True)
        for more in ways:
            logits = out.logits[0, last:]
            if more:
                try:
                    logits = torch.cat([logits, self._further(out.past_key_values, more)])
                except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
                    self.keeps = False
                if self.keeps is None:
                    whole = self._logits(inputs, more)[last:]
                    limit = TOLERANCE.get(str(whole.dtype).removeprefix("torch."), LOOSE)
                    self.keeps = bool((whole - logits).abs().max() <= limit)
                if not self.keeps:
                    logits = self._logits(inputs, more)[last:]
            yield more, logits

    def _further(self, cache: Any, more: Sequence[int]) -> Any:
        """Logits of further tokens after a prompt; what is kept of the prompt is afterwards as it was."""
        import torch

        ids = torch.tensor([list(more)], device=self.model.device)
        with torch.inference_mode():
            out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
        cache.crop(-len(more))
        return out.logits[0]

    def _logits(self, inputs: Mapping[str, Any], more: Sequence[int]) -> Any:
        import torch

        given = dict(inputs)
        if more:
            ids = given["input_ids"]
            given["input_ids"] = torch.cat([ids, torch.tensor([list(more)], device=ids.device)], 1)
            for name in EXTENDED:
                if name in given:
                    filler = given[name].new_full((1, len(more)), 1 if name == "attention_mask" else 0)
                    given[name] = torch.cat([given[name], filler], 1)
        with torch.inference_mode():
            return self.model(**given, use_cache=False).logits[0]

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        """Token ids and media tensors of one prompt."""
        pictures = [decode_image(part) for part in prompt.media if isinstance(part, Image)]
        rate = self._rate()
        sounds = [decode_audio(p, rate=rate, channels=1).samples for p in prompt.media if isinstance(p, Audio)]
        given: dict[str, Any] = {"text": [self.text(prompt)], "return_tensors": "pt"}
        if pictures:
            given["images"] = pictures
        if sounds:
            given |= {"audio": sounds, "sampling_rate": rate}
        return dict(self.processor(**given))

    def text(self, prompt: Prompt) -> str:
        """The prompt as text, with the processor's own mark where each medium stands."""
        if prompt.is_chat and self.template:
            messages = [_listed(message) for message in prompt.messages if message.parts is not None]
            rendered: str = self.processor.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, chat_template=self.template
            )
            return rendered
        marked = replace(prompt, messages=tuple(self._marked(message) for message in prompt.messages))
        return self.renderer.text(marked)

    def _marked(self, message: Message) -> Message:
        if message.parts is None:
            return message
        parts = (Text(self._mark(part)) if isinstance(part, Media) else part for part in message.parts)
        return Message(message.role, tuple(parts))

    def _mark(self, part: Any) -> str:
        found = getattr(self.processor, f"{part.kind}_token", None)
        return str(found if isinstance(found, str) else f"<{part.kind}>")

    def _rate(self) -> int:
        return int(getattr(getattr(self.processor, "feature_extractor", None), "sampling_rate", 16000))

    def _length(self, inputs: Mapping[str, Any]) -> int:
        return int(inputs["input_ids"].shape[1])


class SpeechModel(MediaModel):
    """Speech to text: one sound in, its words out; the words of the prompt are not shown to the model."""

    opening = 4
    """Start, language, task and whether there are time stamps."""

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        sounds = [part for part in prompt.media if isinstance(part, Audio)]
        if len(sounds) != 1:
            raise ValueError(f"a speech model takes one sound, this prompt has {len(sounds)}")
        rate = self._rate()
        sound = decode_audio(sounds[0], rate=rate, channels=1)
        extractor = self.processor.feature_extractor
        given: dict[str, Any] = {"sampling_rate": rate, "return_tensors": "pt"}
        if sound.seconds > float(getattr(extractor, "chunk_length", None) or sound.seconds):
            # Longer than the model hears at once: it goes on by its own time stamps.
            given |= {"truncation": False, "padding": "longest", "return_attention_mask": True}
            return {**extractor(sound.samples, **given), "return_timestamps": True}
        return dict(extractor(sound.samples, **given))

    def _own(self, row: list[int], length: int) -> list[int]:
        return super()._own(row, 0)

    def _length(self, inputs: Mapping[str, Any]) -> int:
        return 0


def _alike(requests: Sequence[Request], inputs: Mapping[int, Any]) -> Iterator[list[int]]:
    """Requests that can go through together: the same options and shapes, and nothing to draw or to stop at."""
    groups: dict[Any, list[int]] = {}
    for at, made in inputs.items():
        options = requests[at].options
        alone = at if not is_greedy(options) or options.stop else -1
        shapes = tuple((name, tuple(getattr(value, "shape", (str(value),)))) for name, value in sorted(made.items()))
        groups.setdefault((options, alone, shapes), []).append(at)
    for group in groups.values():
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def _listed(message: Message) -> dict[str, Any]:
    """A message with its content as a list of parts, as templates of models that see or hear expect it."""
    made = plain_message(message)
    if isinstance(made["content"], str):
        made["content"] = [{"type": "text", "text": made["content"]}]
    return made


def _placed(made: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """Tensors on the model's device, media in its precision; what is no tensor stays."""
    import torch

    placed: dict[str, Any] = {}
    for name, value in made.items():
        if isinstance(value, torch.Tensor):
            value = value.to(model.device)
            value = value.to(model.dtype) if value.is_floating_point() else value
        placed[name] = value
    return placed


def _stopper(tokenizer: Any, stops: Sequence[str], length: int) -> Callable[..., Any]:
    """Ends generation when a stop string was written."""
    from transformers import StoppingCriteria

    class _AtString(StoppingCriteria):  # type: ignore[misc]
        def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
            import torch

            texts = [tokenizer.decode(row[length:], skip_special_tokens=True) for row in input_ids.tolist()]
            done = [any(stop in text for stop in stops) for text in texts]
            return torch.tensor(done, device=input_ids.device)

    made: Callable[..., Any] = _AtString()
    return made
