"""Random numbers of a candidate that is drawn in this process: text, images and audio alike.

`assay.core.seeds_of` has the rule for what they depend on.
"""

import hashlib
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..core import KeyMaker, Request

_TORCH = threading.RLock()


def generator_for(request: Request, candidate: int) -> random.Random:
    """Random numbers of one candidate's own; the same in every run and batch, however many are asked for."""
    made_of = f"{request.draw or _of_no_sample(request)}/{candidate}"
    digest = hashlib.sha256(made_of.encode("utf-8", "surrogatepass")).digest()
    return random.Random(int.from_bytes(digest[:8], "big"))


def _of_no_sample(request: Request) -> str:
    """For a request outside the samples of a run, as of a judge: its prompt stands for the sample."""
    seed = request.options.seed if request.seed is None else request.seed
    return f"{seed}/{request.repeat}/{KeyMaker({}).key(Request(request.prompt))}"


@contextmanager
def torch_draws(request: Request, candidate: int) -> Iterator[None]:
    """Torch's own random numbers are those of one candidate, for as long as it is drawn.

    They belong to the process, so one candidate is drawn at a time, whatever model and thread it is for.
    """
    import torch

    with _TORCH, torch.random.fork_rng():
        torch.manual_seed(generator_for(request, candidate).getrandbits(63))
        yield
