"""The index that pages use: what counts, where it lies, and what words it holds, also of a journal that grows."""

from pathlib import Path

import pytest
from made_runs import answered, judged

from assay.store.journal import Journal
from assay.view.journal_index import JournalIndex


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "records.jsonl")


def written(journal: Journal, *lines: dict) -> JournalIndex:
    for line in lines:
        journal.append(line)
    journal.flush()
    index = JournalIndex(journal.path)
    index.read_on()
    return index


def test_a_sample_has_one_row_with_its_numbers_and_tags(journal: Journal):
    index = written(
        journal,
        answered("a", "2 + 2?", "It is 4"),
        judged("a", 1.0, tags={"size": "small"}, order=7),
    )

    assert (index.ids, index.cells) == (["a"], [("sums", "model")])
    assert (
        index.small["order"][0],
        index.small["chars"][0],
        index.small["tokens_out"][0],
    ) == (7, 7, 4)
    assert index.metrics["exact"][0] == 1.0
    assert index.tag_values["size"][index.tags["size"][0]] == "small"
    assert index.outcomes[index.verdicts["exact"][0]] == "scored"


def test_a_later_line_replaces_the_earlier_and_is_the_one_that_is_found(
    journal: Journal,
):
    index = written(
        journal, answered("a", "?", "an old answer"), answered("a", "?", "a new answer")
    )

    assert index.search("old answer") == []
    assert index.search("new answer") == [0]
    assert len(index.lines_of(0)) == 1


def test_an_answer_behind_a_verdict_makes_it_outdated(journal: Journal):
    index = written(
        journal, answered("a", "?", "x"), judged("a", 1.0), answered("a", "?", "y")
    )

    assert index.outcomes[index.verdicts["exact"][0]] == ""
    assert index.metrics["exact"][0] != index.metrics["exact"][0]


def test_epochs_are_rows_and_rounds_are_lines_of_one(journal: Journal):
    lines = (
        answered("a", "?", "x", epoch=1),
        answered("a", "?", "y"),
        answered("a", "?", "z", round=1),
    )
    index = written(journal, *lines)

    assert len(index) == 2
    assert [slot for slot, _ in index.lines_of(1)] == [0, 1]


def test_a_journal_that_grows_is_read_on_from_where_it_ended(journal: Journal):
    index = written(journal, answered("a", "?", "x"))
    journal.append(judged("a", 0.5))
    journal.append(answered("b", "?", "later"))
    journal.flush()

    count = index.read_on()

    assert count == 2
    assert index.metrics["exact"][0] == 0.5
    assert index.search("later") == [1]


def test_a_line_that_is_being_written_waits_for_its_end(journal: Journal):
    index = written(journal, answered("a", "?", "x"))
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole + whole[:40])

    assert index.read_on() == 0
    assert (index.end, index.damaged) == (len(whole), 0)


def test_a_damaged_line_is_counted_and_left_out(journal: Journal):
    written(journal, answered("a", "?", "x"), answered("b", "?", "y"))
    journal.path.write_bytes(
        journal.path.read_bytes().replace(b'"text":"x"', b'"text":"!"')
    )

    index = JournalIndex(journal.path)
    index.read_on()

    assert (index.ids, index.damaged) == (["b"], 1)


@pytest.mark.parametrize(
    "words",
    ["straße", "STRASSE in", "東京", "naïve", 'say "hi"\n', "back\\slash", "tab\there"],
)
def test_words_are_found_in_any_case_and_writing(journal: Journal, words: str):
    text = 'On the Straße, a strasse in 東京: a NAÏVE man may say "hi"\nback\\slash tab\there'
    index = written(journal, answered("a", "?", text), answered("b", "?", "nothing"))

    assert index.search(words) == [0]


def test_names_of_members_and_digests_are_not_words(journal: Journal):
    index = written(journal, answered("a", "?", "x"), judged("a", 1.0))

    assert [
        index.search(words)
        for words in ("candidates", "input_tokens", "crc", "dddd", "role")
    ] == [[]] * 5


def test_text_with_a_nul_does_not_shift_what_follows(journal: Journal):
    index = written(journal, answered("a", "?", "x\0y\0z"), answered("b", "?", "found"))

    assert index.search("found") == [1]


def test_what_a_judge_was_asked_is_not_a_sample_and_is_found_by_its_key(
    journal: Journal,
):
    call = {**answered("k", "Right?", "yes", task="sums#judge"), "key": "k" * 32}
    index = written(journal, answered("a", "?", "x"), call)

    assert index.ids == ["a"]
    assert index.call("sums", "judge", "k" * 32) > 0
    assert index.call("sums", "judge", "other") == -1


@pytest.mark.parametrize("id", ["", "with\nline", "\ud800", "x" * 5000, "__proto__"])
def test_any_id_is_kept_as_it_is(journal: Journal, id: str):
    index = written(journal, answered(id, "?", "x"), judged(id, 1.0))

    assert index.ids == [id]
