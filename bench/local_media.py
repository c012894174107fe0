"""Prefix sharing of models that see, beside a plain way: the prompt once with its cache, then its options as a batch.

python bench/local_media.py                     a tiny model with random weights
python bench/local_media.py --size smolvlm      one of the size of SmolVLM-256M, with images of 256 pixels
python bench/local_media.py --size smolvlm --device cuda --rows 64

Prints CPU seconds on a CPU and seconds on a GPU.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).parents[1] / "tests/models"
QUESTION = "What can be seen here, and which of these answers is the best one? "
OPTIONS = {
    "letters": ("A", "B", "C", "D"),
    "words": tuple(f"a picture of thing number {number}" for number in range(4)),
}
SIZES = {
    "tiny": {
        "vision": {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
                   "num_attention_heads": 2, "image_size": 28, "patch_size": 14},
        "text": {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
                 "num_attention_heads": 4, "num_key_value_heads": 2},
        "scale": 2,
        "tokens": 1,
    },
    "smolvlm": {
        "vision": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
                   "num_attention_heads": 12, "image_size": 256, "patch_size": 16},
        "text": {"vocab_size": 49280, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
                 "num_attention_heads": 9, "num_key_value_heads": 3},
        "scale": 4,
        "tokens": 16,
    },
}  # fmt: skip


def make_folder(size, folder):
    """Save a model of this size with random weights."""
    import transformers as known

    sys.path.insert(0, str(TESTS))
    from local_transformers.conftest import make_model, make_tokenizer

    tiles = [
        f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)
    ]
    marks = (
        "<image>",
        "<fake_token_around_image>",
        "<end_of_utterance>",
        "<global-img>",
    )
    tokenizer = make_tokenizer(*marks, *tiles)
    shape = SIZES[size]
    text = {"model_type": "llama", "max_position_embeddings": 8192, "pad_token_id": 0}
    config = known.Idefics3Config(
        vision_config=shape["vision"],
        text_config={**text, **shape["text"]},
        scale_factor=shape["scale"],
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    pixels = {"longest_edge": shape["vision"]["image_size"]}
    images = known.Idefics3ImageProcessorPil(size=pixels, max_image_size=pixels)
    processor = known.Idefics3Processor(
        images, tokenizer, image_seq_len=shape["tokens"]
    )
    make_model(known.Idefics3ForConditionalGeneration, config).save_pretrained(folder)
    processor.save_pretrained(folder)


def picture(seed):
    import numpy as np
    from PIL import Image as pillow

    from assay.core import Image

    pixels = np.random.default_rng(seed).integers(0, 255, (96, 128, 3), dtype=np.uint8)
    return Image(pillow.fromarray(pixels))


def requests_of(rows, header, options):
    """One question about an image of its own for each row, after `header` images that all rows share."""
    from assay.core import GenerateOptions, Message, Prompt, Request

    shared = []
    for number in range(header):
        shared += [picture(900 + number), f"Example {number}: it is a thing. "]
    requests = []
    for row in range(rows):
        message = Message.of("", *shared, picture(row), f"{QUESTION}{row}")
        prompt = Prompt((message,), continuations=options)
        requests.append(Request(prompt, GenerateOptions(max_tokens=16)))
    return requests


def weigh_simply(model, requests):
    """Return log-probabilities: compute the prompt once with its cache, then all options as one batch."""
    import torch

    from assay.models.local_transformers.media_prompts import move_to_model

    loaded = model._ready()
    network = loaded.model
    prepared = loaded.prepare_likelihood(requests)
    sums = []
    for index in range(len(requests)):
        inputs = move_to_model(prepared.inputs[index], network)
        options = [pair.tokens[pair.start :] for pair in prepared.pairs[index]]
        with torch.inference_mode():
            out = network(**inputs, use_cache=True, logits_to_keep=1)
            first = torch.log_softmax(out.logits[0, -1].float(), -1)
            values = [float(first[option[0]]) for option in options]
            longest = max(map(len, options)) - 1
            if longest:
                cache = out.past_key_values
                cache.batch_repeat_interleave(len(options))
                lines = [
                    [*option[:-1], *[0] * (longest + 1 - len(option))]
                    for option in options
                ]
                ids = torch.tensor(lines, device=network.device)
                logits = network(input_ids=ids, past_key_values=cache).logits
                logprobs = torch.log_softmax(logits.float(), -1)
                for line, option in enumerate(options):
                    for position, token in enumerate(option[1:]):
                        values[line] += float(logprobs[line, position, token])
        sums += values
    return sums


def seconds_of(device, action):
    """Return the time of an action, and what it returned."""
    import torch

    clock = time.perf_counter if device == "cuda" else time.process_time
    start = clock()
    value = action()
    if device == "cuda":
        torch.cuda.synchronize()
    return clock() - start, value


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--rows", type=int, default=8)
    arguments = parser.parse_args()
    import torch

    from assay.models.local_transformers import LocalTransformers

    torch.set_num_threads(1)
    device = arguments.device
    with tempfile.TemporaryDirectory() as folder:
        make_folder(arguments.size, folder)
        settings = {"device": device, "dtype": "float32", "max_tokens": 16}
        shared, plain, simple = (
            LocalTransformers(folder, **settings) for _ in range(3)
        )
        for model in (shared, plain, simple):
            model._ready()
        for model in (plain, simple):
            model._loaded.plain_because = "measured"
            model._loaded.model.get_decoder().set_attn_implementation("sdpa")
        for model in (shared, plain):
            model.generate(requests_of(1, 0, None))
        for header in (0, 3):
            for name, options in OPTIONS.items():
                requests = requests_of(arguments.rows, header, options)
                shared._loaded.engine.forget()
                one, outputs = seconds_of(
                    device, lambda r=requests: shared.likelihood(r)
                )
                other, sums = seconds_of(
                    device, lambda r=requests: weigh_simply(simple, r)
                )
                values = [
                    value.logprob for output in outputs for value in output.likelihoods
                ]
                apart = max(abs(a - b) for a, b in zip(values, sums, strict=True))
                print(
                    f"{name}, {header} shared images: shared {one:.2f}, simple {other:.2f}, apart {apart:.2g}"
                )
            requests = requests_of(arguments.rows, header, None)
            shared._loaded.engine.forget()
            one, texts = seconds_of(device, lambda r=requests: shared.generate(r))
            other, own = seconds_of(device, lambda r=requests: plain.generate(r))
            same = sum(a.text == b.text for a, b in zip(texts, own, strict=True))
            print(
                f"16 tokens, {header} shared images: shared {one:.2f}, generate {other:.2f}, {same} texts equal"
            )


if __name__ == "__main__":
    main()
