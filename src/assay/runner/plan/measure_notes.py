"""Notes on how a task is measured: the measure for multiple choice, and a scorer or
normalizer that fits the targets.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...core import Audio, BadSample, Sample, Task
from ...datasets.choices import LETTERS
from ..options import RunOptions
from ..tasks.measure import is_plain
from .planned_task import PlannedTask

ROWS_LOOKED_AT = 200
MOST_ROWS = 100_000
"""Maximum number of rows to search for samples of the same group that `--limit` leaves out."""
MOST = 0.5
"""Advice is given if more than this fraction of the targets has the same form, for example a number."""
DEFAULTS = frozenset({"exact_match", "includes"})
"""The scorers that are used for rows with targets if the task names none."""
COMPARES_TEXT = frozenset({"exact_match", "includes", "f1", "bleu", "rouge"})
# "… 48 / 2 = 24 clips.\n#### 24"
_MARKED_NUMBER = re.compile(r".*####\s*-?[$\d][\d.,]*\s*", re.DOTALL)
# "12", "1,234", "$5.50", "-3", "50%", "1/2"
_NUMBER = re.compile(
    r"\s*[-−]?[$€£]?\s?\d[\d.,]*(?:\s?%|/\d+)?\s*|\s*[-−]?\d{1,3}( \d{3})+\s*"
)
# "1000" may be written as "1,000", "5.5" as "5.50", "50%" as "50 %"
_MANY_SPELLINGS = re.compile(r"\d{4}|\d[^\d\s]|[$€£]")
# "We get $x=\boxed{5}$.", "\frac12", "$2\pi$"
_MEDIA_FILE = re.compile(
    r"\S+\.(?:png|jpe?g|webp|gif|bmp|tiff?|wav|mp3|flac|ogg|m4a|mp4)", re.IGNORECASE
)
_FORMULA = re.compile(r".*(?:\\boxed|\\[dt]?frac|\\sqrt|\\pi|\$[^$]+\$).*", re.DOTALL)
_YES_OR_NO = re.compile(r"\s*(?:yes|no)\s*\.?\s*", re.IGNORECASE)
_LETTER = re.compile(r"\s*\(?[A-J]\)?\s*")
# option1, choice_2, ending0, sol1, distractor3, "Incorrect Answer 1"
NUMBERED_OPTION = re.compile(
    r"(?:option|choice|opt|ending|sol|distractor|(?:in)?correct.answer|answer)[ _-]?\d{1,2}",
    re.IGNORECASE,
)
"""Matches the name of a column that holds one of several options, such as `option_1`."""
# img, image_1, picture, "photo 2", audio_file, speech_path
MEDIA_COLUMN = re.compile(
    r"(?P<kind>image|img|picture|photo|audio|speech|sound|wav|recording|video)s?"
    r"(?:[ _-]?(?:\d{1,2}|path|file|url|bytes|base64))?",
    re.IGNORECASE,
)
"""Matches names of columns that probably contain a medium or a path to one, such as `image_path`."""
KIND_OF = {
    "image": "image",
    "img": "image",
    "picture": "image",
    "photo": "image",
    "video": "video",
}
CONTEXT_COLUMNS = (
    "context",
    "passage",
    "article",
    "document",
    "paragraph",
    "story",
    "background",
    "premise",
    "hypothesis",
    "instruction",
    "input",
    "table",
    "code",
)
"""Columns, such as `context`, that usually belong to the question, although prompts without a template omit them."""
_CJK = re.compile(r".*[\u3040-\u30ff\u3400-\u9fff].*", re.DOTALL)
_KANA = re.compile(r".*[\u3040-\u30ff].*", re.DOTALL)
# Cyrillic, Arabic, Hindi, Chinese, Korean …
_NOT_LATIN = re.compile(r".*[\u0370-\u1dff\u2c00-\ud7af].*", re.DOTALL)
SCRIPT_OPTIONS = (
    ("rouge", "words", "ascii", _NOT_LATIN, "cjk"),
    ("bleu", "tokenize", "13a", _KANA, "ja-mecab"),
    ("bleu", "tokenize", "13a", _CJK, "zh"),
    ("f1", "tokens", "words", _CJK, "cjk"),
)
"""Scorers that by default find no words in some scripts.

Each entry has the scorer, option, default value, pattern of the targets in question,
and a better value.
"""
_MARKS = re.compile(r"[A-Z]|[.,;:!?\"“”…-](?:\s|$)")


def measure_notes(
    planned: PlannedTask,
    task: Task,
    run: RunOptions,
) -> Iterator[str]:
    """Yield a note on how the model is asked multiple-choice questions, and on how `--measure` can change it."""
    if (
        not is_plain(task)
        or run.measure is not None
        or planned.samples.kind != "choice"
    ):
        return
    abilities = planned.model.abilities
    if not abilities.likelihood or "likelihood" in abilities.unsure:
        return
    model = planned.model_name
    if planned.measure:
        why = "no chat template" if abilities.chat is False else "likelihoods"
        way = f"measured by {planned.measure}, since {model} has {why}"
        other = "--measure letter asks it to write a letter"
    else:
        way = f"{model} is asked to write a letter"
        if abilities.chat:
            way += ", since it has a chat template"
        other = "--measure letter_likelihood compares the likelihoods of the letters"
    yield f"{task.name}: {way}; {other}"


def context_notes(planned: PlannedTask) -> Iterator[str]:
    """Yield a note on columns such as `context` that prompts without a template leave out."""
    task = planned.task
    if task.template is not None or task.to_sample is not None:
        return
    sample = planned.first_sample()
    prompt = planned.first_prompt()
    if sample is None or prompt is None:
        return
    yield from _numbering_note(planned, sample)
    text = "\n".join(message.text for message in prompt.messages)

    def is_left_out(name: str) -> bool:
        value = sample.fields.get(name)
        if not isinstance(value, str) or not value.strip():
            return False
        return value not in text and value != sample.target

    options = [name for name in sample.fields if NUMBERED_OPTION.fullmatch(str(name))]
    unseen_options = [name for name in options if is_left_out(name)]
    if len(unseen_options) > 1:
        columns = ",".join(unseen_options)
        yield (
            f"{task.name}: the model is not shown the columns {', '.join(unseen_options)}; "
            f"--columns 'choices={columns}' makes them options"
        )
    if not prompt.media:
        yield from _media_notes(task.name, sample)
    left_out = [name for name in CONTEXT_COLUMNS if is_left_out(name)]
    if left_out:
        columns = "column" if len(left_out) == 1 else "columns"
        names = ", ".join(left_out)
        yield (
            f"{task.name}: the model is not shown the {columns} {names}; "
            f"a template shows one as {{{{ {left_out[0]} }}}}"
        )


def _numbering_note(planned: PlannedTask, sample: Sample) -> Iterator[str]:
    """Yield a note on how numbered options such as option1 and option2 relate to the
    right answer: counted from 0 or 1.
    """
    columns = planned.samples.head.columns
    if columns is None or not columns.is_numbered or columns.target is None:
        return
    gold = str(sample.fields.get(columns.target)).strip()
    letter = sample.target
    if not gold.isdecimal() or not isinstance(letter, str) or gold in sample.choices:
        return
    start = int(gold) - LETTERS.index(letter)
    if start == 0:
        other = "number from 1"
    else:
        other = "index from 0"
    yield (
        f"{planned.task.name}: the column {columns.target} counts the options from {start} "
        f"({gold} is {sample.choices[int(gold) - start]!r}); "
        f"--columns answer={other.partition(' ')[0]} reads it as {other}"
    )


def _media_notes(
    task: str,
    sample: Sample,
) -> Iterator[str]:
    """Yield a note for each kind of media that some columns of a row seem to
    contain, although the prompt has none.
    """
    columns: dict[str, list[str]] = {}
    for name, cell in sample.fields.items():
        match = MEDIA_COLUMN.fullmatch(str(name))
        is_words = isinstance(cell, str) and len(cell.split()) != 1
        is_medium = cell and isinstance(cell, (str, bytes, Mapping, list))
        if match and is_medium and not is_words and cell != sample.target:
            kind = KIND_OF.get(match["kind"].lower(), "audio")
            columns.setdefault(kind, []).append(str(name))
    for kind, names in columns.items():
        yield (
            f"{task}: the model is not sent the columns {', '.join(names)}; "
            f"--columns '{kind}={','.join(names)}' sends them as {kind}"
        )


def scorer_notes(
    samples: Iterable[Sample | BadSample],
    scorers: Sequence[tuple[str, Any]],
) -> Iterator[str]:
    """Yield advice on data or scorers, for example if options are file names or targets are numbers."""
    looked_at = islice(samples, ROWS_LOOKED_AT)
    rows = [row for row in looked_at if isinstance(row, Sample)]
    file_name = _file_among_options(rows)
    if file_name:
        yield (
            f"options such as {file_name!r} are names of files, and only the names are sent: put the files into a "
            "column `images` in order, and name them in the options: 'image 1', 'image 2'"
        )
    lettered = _letter_among_options(rows)
    if lettered and any(name == "choice" for name, _ in scorers):
        yield (
            f"options such as {lettered!r} are letters themselves: an answer {lettered!r} is read as the letter that "
            "the prompt shows before an option"
        )
    targets = [str(row.targets[0]) for row in rows if row.targets]
    if not targets:
        return
    yield from _word_notes(targets, scorers)
    literal = [name for name, _ in scorers if name in COMPARES_TEXT]
    advice = None
    if literal and _share(targets, _MARKED_NUMBER) > MOST:
        advice = (
            "targets end in a number after ####",
            "--scorer number reads the number",
        )
    elif {name for name, _ in scorers} == DEFAULTS:
        advice = _advice_for(targets)
    if advice is not None:
        form, scorer_option = advice
        compare = "compares" if len(literal) == 1 else "compare"
        names = " and ".join(literal)
        yield f"{form}, and {names} {compare} the whole text: {scorer_option}"
        return
    fitting = _normalizer_for(targets)
    for name, scorer in scorers:
        is_bare = getattr(scorer, "normalize", None) == "none"
        is_rate = getattr(scorer, "measures_transcripts", False)
        if is_bare and is_rate and _has_marks(targets):
            yield (
                f"{name} counts case and punctuation as errors: "
                f"--scorer {name}:normalize={fitting} leaves them out"
            )
    if literal and _are_transcripts(rows, targets):
        yield (
            "targets look like transcripts of the recordings: "
            f"--scorer wer:normalize={fitting} counts word errors"
        )


def _file_among_options(rows: Sequence[Sample]) -> str:
    """Return an option if all options are file names of media that the rows do not
    contain; otherwise an empty text.
    """
    if any(row.media for row in rows):
        return ""
    options = [option for row in rows for option in row.choices]
    if not options or not all(map(_MEDIA_FILE.fullmatch, options)):
        return ""
    return options[0]


def _word_notes(
    targets: Sequence[str], scorers: Sequence[tuple[str, Any]]
) -> Iterator[str]:
    """Yield notes on word-based scorers that cannot split the targets into words.

    This happens if targets are in a script other than Latin, or consist of punctuation and articles only.
    """
    from ...scorers.text.normalize_text import squad_words

    options = dict(scorers)
    noted = set()
    for name, option, default, pattern, fitting in SCRIPT_OPTIONS:
        is_default = getattr(options.get(name), option, None) == default
        if is_default and name not in noted and _share(targets, pattern) > MOST:
            noted.add(name)
            yield (
                f"{name} splits words as in English, and targets are in another script: "
                f"--scorer {name}:{option}={fitting} finds their words"
            )
    wordless = [target for target in targets if target and not squad_words(target)]
    names = " and ".join(sorted({"f1", "quasi_exact"} & options.keys()))
    if wordless and names:
        yield (
            f"targets such as {wordless[0]!r} have no words without articles and punctuation: as in SQuAD, {names} "
            "give 1 to every answer without words"
        )


def group_notes(planned: PlannedTask) -> Iterator[str]:
    """Yield a note if `--limit` leaves some groups incomplete."""
    limit = planned.run.limit
    if limit is None:
        return
    chosen = _group_sizes(planned.view())
    if not chosen:
        return
    whole = _group_sizes(islice(planned.samples, MOST_ROWS))
    incomplete = [group for group, size in chosen.items() if size < whole[group]]
    if incomplete:
        yield (
            f"{planned.task.name}: --limit {limit} takes only a part of {len(incomplete)} of {len(chosen)} groups, "
            f"such as {incomplete[0]!r}: values over groups are not those of whole groups"
        )


def _group_sizes(samples: Iterable[Sample | BadSample]) -> Counter[str]:
    groups = (row.group for row in samples if isinstance(row, Sample))
    return Counter(group for group in groups if group is not None)


def _letter_among_options(rows: Sequence[Sample]) -> str:
    """Return an option whose text is the letter of another option; empty if there is none."""
    for row in rows:
        letters = LETTERS[: len(row.choices)]
        for letter, option in zip(letters, row.choices, strict=False):
            if len(option) == 1 and option in letters and option != letter:
                return option
    return ""


def _advice_for(targets: Sequence[str]) -> tuple[str, str] | None:
    """Return the form of most targets, such as numbers, and a scorer that fits it; None for plain text."""
    if _share(targets, _FORMULA) > MOST:
        return "targets are formulas", "--scorer math compares their values"
    may_differ = any(map(_MANY_SPELLINGS.search, targets))
    if may_differ and _share(targets, _NUMBER) > MOST:
        return "targets are numbers", "--scorer number compares their values"
    if _share(targets, _YES_OR_NO) == 1:
        return "targets are yes or no", "--scorer yes_no reads which of them is said"
    if _share(targets, _LETTER) == 1:
        last = max(target.strip(" ()") for target in targets)
        letters = LETTERS[: LETTERS.index(last) + 1]
        return (
            "targets are letters",
            f"--scorer choice:letters={letters} reads the chosen letter",
        )
    return None


def _share(
    targets: Sequence[str],
    pattern: re.Pattern[str],
) -> float:
    return sum(bool(pattern.fullmatch(target)) for target in targets) / len(targets)


def _has_marks(targets: Sequence[str]) -> bool:
    """Return True if most targets contain punctuation or capital letters."""
    marked = [target for target in targets if _MARKS.search(target)]
    return len(marked) / len(targets) > MOST


def _are_transcripts(
    rows: Sequence[Sample],
    targets: Sequence[str],
) -> bool:
    """Return True if each question is a recording without text and most targets are sentences."""
    for row in rows:
        has_audio = any(isinstance(medium, Audio) for medium in row.media)
        if not has_audio or row.input:
            return False
    sentences = [target for target in targets if len(target.split()) >= 3]
    share = len(sentences) / len(targets)
    return share > MOST


def _normalizer_for(targets: Sequence[str]) -> str:
    """Return the normalizer for the language of the targets, recognised by their script."""
    from ...scorers.speech.speech_normalize import HAN

    is_han = any(re.search(HAN, target) for target in targets)
    return "zh" if is_han else "whisper-en"
