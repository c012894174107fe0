"""Random numbers for text, images and audio generated in this process, seeded per candidate.

`assay.core.seeds_of` derives each seed from the request.
"""

import hashlib
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..core import KeyMaker, Request

_TORCH = threading.RLock()


def generator_for(request: Request, candidate: int) -> random.Random:
    """Return the random number generator for one candidate.

    Its numbers are the same in every run and batch, and for every number of candidates.
    """
    key = request.draw or _key_without_sample(request)
    text = f"{key}/{candidate}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    seed = int.from_bytes(digest[:8], "big")
    return random.Random(seed)


def _key_without_sample(request: Request) -> str:
    """Return the key for seeding a request without a sample, such as a judge's. The key is made from the prompt."""
    if request.seed is None:
        seed = request.options.seed
    else:
        seed = request.seed
    return f"{seed}/{request.repeat}/{KeyMaker({}).key(Request(request.prompt))}"


@contextmanager
def torch_draws(request: Request, candidate: int) -> Iterator[None]:
    """Seed torch's global generator for one candidate, and restore it afterwards.

    The generator is shared by the process, so candidates are generated one at a time, across all models and threads.
    """
    import torch

    with _TORCH, torch.random.fork_rng():
        torch.manual_seed(generator_for(request, candidate).getrandbits(63))
        yield
