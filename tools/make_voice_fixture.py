"""Makes the fixture of speaker similarity from the voices Resemblyzer hears (needs resemblyzer, torch and librosa).

    python tools/make_voice_fixture.py

Two signals that anyone can make anew, three seconds each, are embedded by its shipped checkpoint; the fixture keeps the
embeddings, so that the cosine can be checked without it.
"""

from importlib.metadata import version

import numpy as np
from fixture_files import called, write
from resemblyzer import VoiceEncoder

RATE, SECONDS = 16_000, 3


def main() -> None:
    """One fixture file."""
    time = np.arange(RATE * SECONDS) / RATE
    tone = (0.3 * np.sin(2 * np.pi * 220 * time) * (1 + 0.5 * np.sin(2 * np.pi * 3 * time))).astype(np.float32)
    noise = (np.random.RandomState(0).randn(RATE * SECONDS) * 0.05).astype(np.float32)
    encoder = VoiceEncoder("cpu", verbose=False)
    voices = [encoder.embed_utterance(sound) for sound in (tone, noise)]
    plain = [[round(float(number), 6) for number in voice] for voice in voices]
    write(
        "speaker_similarity@resemblyzer",
        "Resemblyzer's embeddings of a tone and of noise, compared as it compares them: their inner product",
        f"resemblyzer {version('resemblyzer')}, called by tools/make_voice_fixture.py",
        [called(round(float(voices[0] @ voices[1]), 6), *plain), called(1.0, plain[0], plain[0])],
        function="scorers.speaker_similarity:cosine",
        tolerance=1e-5,
    )


if __name__ == "__main__":
    main()
