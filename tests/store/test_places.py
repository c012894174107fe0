"""Places and the index of a cell: the same answers as dicts give, whatever is asked in which order."""

from hypothesis import given
from hypothesis import strategies as st

from assay.store import Answered, CellIndex
from assay.store.places import SEARCHES, HashTable, Places

IDS = st.one_of(
    st.sampled_from(["1", "11", "111", "1\x0011", "\0", "", "a\udcff", "é"]),
    st.text(max_size=4),
)
PLACES = st.tuples(IDS, st.integers(0, 2))


@given(st.lists(PLACES), st.lists(PLACES, max_size=2 * SEARCHES))
def test_a_place_is_found_by_its_number_and_nothing_else_is(met, asked):
    places = Places()
    expected: dict = {}
    for id, epoch in met:
        key = (id, epoch) if epoch else id
        number = places.numbers.setdefault(key, len(places.numbers))
        expected.setdefault((id, epoch), number)

    places.pack()

    assert list(places) == list(expected) and len(places) == len(expected)
    for place in [*asked, *met, *asked]:
        assert places.find(*place) == expected.get(place, -1)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300))
def test_a_table_finds_the_last_number_of_a_hash(hashes):
    table = HashTable()

    for hashed in hashes:
        table.add(hashed)

    assert all(
        table.find(hashed) == len(hashes) - 1 - hashes[::-1].index(hashed)
        for hashed in hashes
    )
    assert table.find(12345) == -1 or 12345 in hashes


HEXADECIMAL = st.text("0123456789abcdef", min_size=32, max_size=32)
KEYS = st.one_of(st.sampled_from(["k", "0" * 32, "f" * 32, "é" * 32]), HEXADECIMAL)
LINES = st.lists(
    st.one_of(
        st.tuples(st.just("output"), PLACES, st.integers(0, 2), KEYS, st.booleans()),
        st.tuples(
            st.just("score"),
            PLACES,
            st.sampled_from(["exact", "judge"]),
            st.sampled_from(["d" * 28, "", "x"]),
        ),
    ),
    max_size=40,
)


@given(LINES)
def test_the_index_of_a_task_and_model_matches_its_lines(lines):
    cell = CellIndex()
    answers: dict = {}
    scores: dict = {}
    for offset, line in enumerate(lines):
        (id, epoch) = place = line[1]
        if line[0] == "output":
            answer = Answered(line[3], offset, line[4])
            cell.add_output(id, epoch, line[2], answer)
            rounds = answers.setdefault(place, [])
            rounds.extend([None] * (line[2] + 1 - len(rounds)))
            rounds[line[2]] = Answered(line[3], offset, line[4])
            for scored in scores.values():
                if place in scored:
                    scored[place] = (
                        scored[place][0],
                        "",
                    )  # nobody has judged the new answer
        else:
            cell.add_score(line[2], id, epoch, offset, line[3])
            scores.setdefault(line[2], {})[place] = (offset, line[3])

    cell.places.pack()

    assert {place: list(cell.answers[place]) for place in cell.answers} == answers
    assert len(cell.answers) == len(answers)
    assert {name: dict(scored) for name, scored in cell.scores.items()} == scores
    assert {name: len(scored) for name, scored in cell.scores.items()} == {
        n: len(s) for n, s in scores.items()
    }
    came = {
        (a.key, a.offset)
        for rounds in answers.values()
        for a in rounds
        if a is not None and not a.failed
    }
    assert set(cell.answers.succeeded()) == came
    for key in {line[3] for line in lines if line[0] == "output"}:
        first = {
            r[0].offset
            for r in answers.values()
            if r[0] is not None and not r[0].failed and r[0].key == key
        }
        assert cell.answers.search(key) in (first or {-1})
