"""`testbed.utils.fingerprint`: stores samples under keys, each with a digest that detects changes."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ..shapes import Record

_OTHERS = ("xxh32", "xxh64", "xxh3_64", "xxh128", "xxh3_128")


class Hasher:
    """Computes the digest of Python objects incrementally. Methods `xxh…` need the package xxhash."""

    algorithms_available: ClassVar[set[str]] = {*hashlib.algorithms_available, *_OTHERS}

    def __init__(self, method: str) -> None:
        self.method = method
        self.m = self.new(method)

    @classmethod
    def new(cls, method: str) -> Any:
        """Create an empty digest for a hash method, such as `sha256`."""
        if method not in cls.algorithms_available:
            raise ValueError(
                f"unknown hash method {method!r}: {', '.join(sorted(cls.algorithms_available))}"
            )
        if method in hashlib.algorithms_available:
            return hashlib.new(method, usedforsecurity=False)
        import xxhash  # type: ignore[import-not-found]

        return getattr(xxhash, method)()

    @classmethod
    def hash_bytes(
        cls,
        value: bytes | list[bytes],
        method: str,
    ) -> str:
        """Return the digest of a byte string, or of several byte strings joined together."""
        digest = cls.new(method)
        for piece in [value] if isinstance(value, bytes) else value:
            digest.update(piece)
        return str(digest.hexdigest())

    @classmethod
    def hash(cls, value: object, method: str) -> str:
        """Return the digest of an object that can be pickled."""
        import dill

        return cls.hash_bytes(dill.dumps(value), method)

    def update(self, value: object) -> None:
        """Add one object to the digest."""
        self.m.update(f"=={type(value)}==".encode())
        self.m.update(self.hash(value, self.method).encode())

    def hexdigest(self) -> str:
        """Return the digest of all objects added so far."""
        return str(self.m.hexdigest())


class Fingerprint:
    """A dictionary of samples, each stored with the digest of `encode_fn(sample)`."""

    def __init__(self, encode_fn: Callable[[Any], Any]) -> None:
        self.hash_values: Record = {}
        self.hash_method = "xxh3_64"
        self.encode_fn = encode_fn

    def __getitem__(self, key: str) -> Any:
        return self.hash_values[key]

    def __contains__(self, key: str) -> bool:
        return key in self.hash_values

    def __delitem__(self, key: str) -> None:
        del self.hash_values[key]

    def update(self, key: str, sample: object) -> None:
        """Store a sample with its digest."""
        self.hash_values[key] = {"fingerprint": self._of(sample), "sample": sample}

    def validate(
        self,
        key: str,
        sample: object = None,
    ) -> bool:
        """Return True if `sample` still has the digest stored for its key.

        Without a sample, check the stored sample.
        """
        entry = self.hash_values[key]
        return bool(
            entry["fingerprint"]
            == self._of(entry["sample"] if sample is None else sample)
        )

    def to_dict(self) -> Record:
        """Return all samples with their digests, by key."""
        return self.hash_values

    def load_from_dict(self, dct: object) -> None:
        """Load the result of `to_dict`."""
        if not isinstance(dct, dict):
            raise TypeError(
                f"expected a dictionary of fingerprints, not {type(dct).__name__}"
            )
        for key, value in dct.items():
            if not isinstance(key, str) or not isinstance(value, Mapping):
                raise TypeError(f"the entry {key!r} must be a text with a dictionary")
            if set(value) != {"fingerprint", "sample"}:
                raise ValueError(
                    f"the entry {key!r} must have `fingerprint` and `sample`"
                )
        self.hash_values = dct

    def _of(self, sample: object) -> str:
        return Hasher.hash(self.encode_fn(sample), self.hash_method)
