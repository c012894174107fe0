"""Media: decode them within limits, check them without decoding, and create them from arrays."""

from .audio import DecodedAudio, decode_audio
from .checks import check_media, described
from .encode import audio_from, image_from
from .images import decode_image, to_rgb
from .media_headers import DEFAULT_LIMITS, Facts, Limits
from .metadata import without_metadata
from .prompt_media import fitted
from .video import VideoFacts, decode_frames, inspect_video

__all__ = [
    "DEFAULT_LIMITS",
    "Facts",
    "Limits",
    "DecodedAudio",
    "VideoFacts",
    "audio_from",
    "check_media",
    "decode_audio",
    "decode_frames",
    "decode_image",
    "described",
    "fitted",
    "image_from",
    "inspect_video",
    "to_rgb",
    "without_metadata",
]
