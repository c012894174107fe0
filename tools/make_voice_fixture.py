"""Makes the fixture of speaker similarity from the voices Resemblyzer hears (needs resemblyzer, torch and librosa).

    python tools/make_voice_fixture.py

Six signals that anyone can make anew, three seconds each, are embedded by its shipped checkpoint; the fixture keeps
the embeddings of each pair, so that the cosine can be checked without it.
"""

from importlib.metadata import version
from itertools import combinations_with_replacement

import numpy as np
from fixture_files import called, write
from resemblyzer import VoiceEncoder

RATE, SECONDS = 16_000, 3
PITCHES = (95, 140, 220, 330)


def main() -> None:
    """One fixture file."""
    encoder = VoiceEncoder("cpu", verbose=False)
    voices = [encoder.embed_utterance(sound.astype(np.float32)) for sound in signals()]
    plain = [[round(float(number), 6) for number in voice] for voice in voices]
    pairs = combinations_with_replacement(range(len(voices)), 2)
    write(
        "speaker_similarity@resemblyzer",
        "Resemblyzer's embeddings of tones, voices of harmonics and noise, by their inner products",
        f"resemblyzer {version('resemblyzer')}, called by tools/make_voice_fixture.py",
        [
            called(round(float(voices[one] @ voices[two]), 6), plain[one], plain[two])
            for one, two in pairs
        ],
        function="scorers.speech.recordings:cosine",
        tolerance=1e-5,
    )


def signals() -> list[np.ndarray]:
    """Return a tone, noise, and trembling harmonics of four pitches."""
    time = np.arange(RATE * SECONDS) / RATE
    noise = np.random.RandomState(0).randn(RATE * SECONDS) * 0.05
    tone = (
        0.3 * np.sin(2 * np.pi * 220 * time) * (1 + 0.5 * np.sin(2 * np.pi * 3 * time))
    )
    trembling = [
        2 * np.pi * pitch * time + np.sin(2 * np.pi * 5 * time) for pitch in PITCHES
    ]
    voices = [
        sum(0.2 / n * np.sin(n * phase) for n in range(1, 12)) for phase in trembling
    ]
    return [tone, noise, *voices]


if __name__ == "__main__":
    main()
