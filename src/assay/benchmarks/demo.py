"""Demo sets: one small set for each thing a model can hear, say, see or draw, so that every modality has a real number.

One row of each: `{"audio": "clips/01.flac", "target": "The train to the coast leaves early.", "voice": "slt"}`;
`{"text": "The moon was bright above the quiet lake."}`; `{"image": "pictures/01.png", "target": "PLATFORM 9", …}`;
`{"prompt": "Draw the digit 7.", "target": "7"}`; `{"prompt": "Draw a sign that says \\"OPEN DAILY\\".", "target": …}`

Own sentences and images, made by `tools/make_demo_data.py`: the clips are spoken by synthesisers (Flite's voices and
eSpeak's), the images drawn with Pillow; licence CC0. A smoke test, not a measure of ability: the intervals say how
little 6 to 12 rows are.

Protocol: the medium alone, without an instruction. Transcripts are compared after Whisper's English normalizer. Speech
and signs are judged by a recogniser that is given: `--judge asr=moonshine`, `--judge ocr=rapidocr`; its name belongs to
the number. Text read in images is compared without case and blanks. Each digit is drawn ten times.
"""

from ..core import DataSource, Spec, Task
from ..templates import Question

FOLDER = "benchmarks/data/demo"
NORMALIZE = {"normalize": "whisper-en"}


def _task(name: str, **more: object) -> Task:
    task = Task(
        name=f"demo_{name}",
        dataset=DataSource(package=f"{FOLDER}/{name}.jsonl"),
        template=Question(),
        licence="CC0",
        data_hint=f"rows like those of {name}.jsonl in the package",
    )
    return task.but(**more)


demo_asr = _task(
    "asr",
    scorers=(Spec("wer", NORMALIZE),),
    tags=("voice",),
    needs=frozenset({"audio"}),
    description="speech in: ten spoken sentences to write down",
)
demo_tts = _task(
    "tts",
    columns={"input": "text", "target": "text"},
    scorers=(Spec("spoken_wer", NORMALIZE),),
    produces=("audio",),
    description="speech out: eight sentences to say, heard by a given recogniser (--judge asr=MODEL)",
)
demo_ocr = _task(
    "ocr",
    scorers=("read_text",),
    tags=("style",),
    needs=frozenset({"image"}),
    description="image in: twelve short texts to read, plain, small, blurred, turned, pale or noisy",
)
demo_digits = _task(
    "digits",
    scorers=("digit_accuracy",),
    produces=("image",),
    epochs=10,
    description="image out: each digit drawn ten times, judged by a classifier of digits",
)
demo_signs = _task(
    "signs",
    scorers=("rendered_text",),
    produces=("image",),
    description="image out: six signs to letter, read by a given recogniser (--judge ocr=MODEL)",
)
