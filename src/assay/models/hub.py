"""Small files of a model that lies on the hub."""

from pathlib import Path


def hub_file(name: str, file: str, revision: str | None = None) -> Path:
    """A file as it lies in the cache, fetched if it does not; its folder is named after the commit.

    Asked for once before: where no hub can be reached, its own library goes on for half a minute, aloud.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url, try_to_load_from_cache

    if not isinstance(try_to_load_from_cache(name, file, revision=revision), str):
        get_hf_file_metadata(hf_hub_url(name, file, revision=revision))
    return Path(hf_hub_download(name, file, revision=revision))
