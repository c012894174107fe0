"""`ulmeval.smp.ulm`: images as base64 and back, and small changes to them."""

from ....kits.smp.images import *  # noqa: F403
from ....kits.smp.images import concat_images as concat_images_ulmeval  # noqa: F401
from ....kits.smp.machine import apiok as apiok
from ....kits.smp.machine import gpt_key_set as gpt_key_set
from ....kits.smp.texts import build_option_str as build_option_str
