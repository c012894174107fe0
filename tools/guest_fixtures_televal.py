"""Runs the inputs of tests/dialects/televal/reference_cases.py through a checkout of TELEVAL and keeps what it gave.

Usage: python tools/guest_fixtures_televal.py CHECKOUT ERA      (ERA is newest or seed; in TELEVAL's own environment)

Writes tests/dialects/televal/upstream/ERA.json. Packages that only weights need (torchaudio's codecs, kaldifeat,
onnxruntime) are replaced by stand-ins that do the same on plain WAV files.
"""

import importlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import sys
import tempfile
import time
import types
from pathlib import Path

HERE = Path(__file__).resolve().parents[1] / "tests" / "dialects" / "televal"


def stand_ins() -> None:
    """Replace modules that TELEVAL imports but no case needs; soundfile reads and writes sounds."""
    import numpy as np
    import soundfile
    import torch
    import transformers  # looks for real packages, so it comes before the stand-ins

    transformers.logging.set_verbosity_error()
    torchaudio = types.ModuleType("torchaudio")

    def load(source):
        samples, rate = soundfile.read(source, dtype="float32", always_2d=True)
        return torch.from_numpy(np.ascontiguousarray(samples.T)), rate

    def save(path, waveform, rate, **_):
        soundfile.write(path, waveform.numpy().T, rate, subtype="PCM_16")

    torchaudio.load, torchaudio.save = load, save
    torchaudio.transforms = types.SimpleNamespace()
    torchaudio.__spec__ = importlib.machinery.ModuleSpec("torchaudio", None)
    sys.modules["torchaudio"] = torchaudio
    for name in ("kaldifeat", "onnxruntime"):
        try:
            importlib.import_module(name)
        except ImportError:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__spec__ = importlib.machinery.ModuleSpec(name, None)


def upstream_side(cases, checkout: Path, era: str, folder: Path):
    """TELEVAL's own code; a user's files lie beside it in its packages, the registry is the user's."""

    class Upstream(cases.Side):
        def stage(self, mode, task, save_dir, **options):
            self._open_packages()
            stages = self.module("src.task")
            stages.registry = self.module("src.registry").Registry(
                [self.folder / "registry"]
            )
            if era == "seed":
                options.pop("keep_meta_info", None)
            stages.Pipeline.create(
                mode=mode, task=task, save_dir=save_dir, **options
            ).run()

        def table(self, save_dir):
            spec = importlib.util.spec_from_file_location(
                "save_csv", checkout / "tools" / "save_csv.py"
            )
            script = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(script)
            sys.argv = ["save_csv.py", "--root_dir", save_dir]
            script.main()
            return (self.folder / save_dir / "results.csv").read_text(encoding="utf-8")

        def _open_packages(self):
            for name in ("src", "src.models", "src.evaluator", "src.summarizer"):
                package = self.module(name)
                own = str(self.folder / name.replace(".", "/"))
                if own not in package.__path__:
                    package.__path__.append(own)

    return Upstream(importlib.import_module, era, folder)


def main() -> int:
    checkout, era = Path(sys.argv[1]).resolve(), sys.argv[2]
    logging.disable(logging.CRITICAL)
    time.sleep = lambda seconds: None
    sys.path.insert(0, str(checkout))
    stand_ins()
    sys.path.insert(0, str(HERE))
    cases = importlib.import_module("reference_cases")
    families = {
        **cases.FAMILIES,
        "pipeline": importlib.import_module("reference_project").pipeline,
    }
    given = {}
    for family, made in families.items():
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            side = upstream_side(cases, checkout, era, Path(folder))
            given |= {
                f"{family}.{name}": cases.outcome(thunk, side.folder)
                for name, thunk in made(side)
            }
            os.chdir(before)
    file = HERE / "upstream" / f"{era}.json"
    file.parent.mkdir(exist_ok=True)
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in given.items()
    )
    file.write_text("{\n" + lines + "\n}\n", encoding="utf-8")
    print(f"{len(given)} cases: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
