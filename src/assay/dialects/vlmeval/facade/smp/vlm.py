"""`vlmeval.smp.vlm`: images as base64 and back, and small changes to them."""

from ....kits.smp.images import concat_images as concat_images_vlmeval
from ....kits.smp.images import (
    decode_base64_to_image,
    decode_base64_to_image_file,
    encode_image_file_to_base64,
    encode_image_to_base64,
    isimg,
    mmqa_display,
    read_ok,
    rescale_img,
    resize_image_by_factor,
)
from ....kits.smp.machine import apiok, gpt_key_set
from ....kits.smp.texts import build_option_str

__all__ = [
    "apiok",
    "build_option_str",
    "concat_images_vlmeval",
    "decode_base64_to_image",
    "decode_base64_to_image_file",
    "encode_image_file_to_base64",
    "encode_image_to_base64",
    "gpt_key_set",
    "isimg",
    "mmqa_display",
    "read_ok",
    "rescale_img",
    "resize_image_by_factor",
]
