"""Load a multimodal processor without torchvision, by leaving out its video processor.

In transformers, only video processors need torchvision. Images and audio clips work
without it.
"""

import inspect
from collections.abc import Mapping
from typing import Any

VIDEO_PART = "video_processor"
AUTO_CLASSES = {
    "tokenizer": "AutoTokenizer",
    "image_processor": "AutoImageProcessor",
    "feature_extractor": "AutoFeatureExtractor",
}
"""For each part of a processor except its video processor, the transformers class that loads it."""


def load_without_video(
    folder: str,
    options: Mapping[str, Any],
) -> Any:
    """Load the model's processor with `None` as its video processor."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder, **options)
    own_class = transformers.PROCESSOR_MAPPING[type(config)]

    class Processor(own_class):  # type: ignore[misc, valid-type]
        def check_argument_for_proper_class(self, name: str, argument: object) -> None:
            if name != VIDEO_PART:
                super().check_argument_for_proper_class(name, argument)

    settings, _ = own_class.get_processor_dict(folder, **options)
    accepted = inspect.signature(own_class.__init__).parameters
    arguments = {name: settings[name] for name in accepted if name in settings}
    for name in own_class.get_attributes():
        if name == VIDEO_PART:
            arguments[name] = None
        else:
            auto_class = getattr(transformers, AUTO_CLASSES[name])
            arguments[name] = auto_class.from_pretrained(folder, **options)
    return Processor(**arguments)
