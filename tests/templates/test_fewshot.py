"""Solved examples before the question: which, in what form, and never the question itself."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.core import (
    Audio,
    Fewshot,
    Image,
    Message,
    Sample,
    TemplateError,
    Text,
    UsageError,
)
from assay.templates import BuiltTemplate, apply_fewshot, build_template
from assay.templates.pick import PICKS


def ask(number: int, **changes) -> Sample:
    return Sample(
        id=f"q{number}", input=f"{number}+{number}?", target=str(2 * number), **changes
    )


POOL = [ask(number) for number in range(8)]
LETTERS = [
    Sample(id=f"c{n}", input=f"Pick {n}", choices=("no", "yes"), target="AB"[n % 2])
    for n in range(6)
]


def shots(template, sample: Sample) -> list[str]:
    return list(template(sample).details["shots"])


def texts(prompt) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in prompt.messages]


def test_shots_are_turns_before_the_question():
    template = apply_fewshot(
        build_template(system="Add."), Fewshot(num=2, pick="first"), POOL
    )

    prompt = template(POOL[7])

    assert texts(prompt) == [
        ("system", "Add."),
        ("user", "0+0?"),
        ("assistant", "0"),
        ("user", "1+1?"),
        ("assistant", "2"),
        ("user", "7+7?"),
    ]
    assert prompt.details == {"shots": ["q0", "q1"]}


def test_shots_can_be_one_text_before_the_question():
    template = apply_fewshot(
        build_template(), Fewshot(num=2, pick="first", multiturn=False), POOL
    )

    assert texts(template(POOL[7])) == [("user", "0+0?\n0\n\n1+1?\n2\n\n7+7?")]


def test_an_answer_continues_after_a_colon():
    template = apply_fewshot(
        "Q: {{ input }}\nA:", Fewshot(num=1, pick="first", multiturn=False), POOL
    )

    assert texts(template(POOL[7])) == [("user", "Q: 0+0?\nA: 0\n\nQ: 7+7?\nA:")]


def test_shots_of_a_completion_are_always_one_text():
    completion = {"name": "completion", "prefix": "Q: ", "suffix": "\nA:"}
    template = apply_fewshot(
        build_template(completion, system="Sums."), Fewshot(num=2, pick="first"), POOL
    )

    assert (
        template(POOL[7]).text
        == "Sums.\n\nQ: 0+0?\nA: 0\n\nQ: 1+1?\nA: 2\n\nQ: 7+7?\nA:"
    )


def test_shots_in_free_roles_are_rounds_written_out_as_text():
    turns = [{"role": "question", "content": "{{ input }}"}, {"role": "answer"}]
    template = apply_fewshot(turns, Fewshot(num=1, pick="first", multiturn=False), POOL)

    assert (
        template(POOL[7]).text == "Question: 0+0?\nAnswer: 0\n\nQuestion: 7+7?\nAnswer:"
    )
    assert template(POOL[7]).role == "answer"


def test_free_roles_of_the_shots_are_mapped_too():
    turns = [{"role": "question", "content": "{{ input }}"}, {"role": "answer"}]
    base = build_template(turns, roles={"question": "user", "answer": "assistant"})

    assert apply_fewshot(base, Fewshot(num=2), POOL)(POOL[7]).is_chat


def test_the_system_text_of_a_template_comes_once_and_first():
    turns = [
        {"role": "system", "content": "Add."},
        {"role": "user", "content": "{{ input }}"},
    ]

    roles = [
        m.role
        for m in apply_fewshot(turns, Fewshot(num=2, pick="first"), POOL)(
            POOL[7]
        ).messages
    ]

    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]


def test_shots_of_choices_end_with_the_letter():
    template = apply_fewshot(
        build_template(kind="choice"), Fewshot(num=2, pick="first"), LETTERS
    )

    assert [m.text for m in template(LETTERS[5]).messages if m.role == "assistant"] == [
        "A",
        "B",
    ]


def test_shots_of_weighed_texts_end_with_the_option_and_the_continuations_stay():
    cloze = {"name": "choice_likelihood", "continuation": "text"}
    template = apply_fewshot(cloze, Fewshot(num=1, pick="first"), LETTERS)

    prompt = template(LETTERS[5])

    assert prompt.text == "Question: Pick 0\nAnswer: no\n\nQuestion: Pick 5\nAnswer:"
    assert prompt.continuations == (" no", " yes")


def test_images_of_shots_stay_before_their_questions():
    pool = [ask(n, media=(Image(bytes([n])),)) for n in range(3)]

    as_turns = apply_fewshot(build_template(), Fewshot(num=1, pick="first"), pool)(
        pool[2]
    )
    as_text = apply_fewshot(
        build_template(), Fewshot(num=1, pick="first", multiturn=False), pool
    )(pool[2])

    assert as_turns.media == as_text.media == (*pool[0].media, *pool[2].media)
    assert as_text.messages[0].parts == (
        pool[0].media[0],
        Text("0+0?\n0\n\n"),
        pool[2].media[0],
        Text("2+2?"),
    )


def test_an_answer_begun_for_the_model_is_finished_in_the_shots():
    turns = [
        {"role": "user", "content": "{{ input }}"},
        {"role": "assistant", "content": "It is"},
    ]
    template = apply_fewshot(turns, Fewshot(num=1, pick="first"), POOL)

    assert texts(template(POOL[7]))[1] == ("assistant", "It is 0")


def test_a_target_that_is_a_medium_is_an_answer():
    sound = Audio(b"RIFF")
    pool = [
        Sample(id="a", input="Say hi", target=sound),
        Sample(id="b", input="Say ho", target=sound),
    ]

    assert apply_fewshot(None, Fewshot(num=1), pool)(pool[1]).messages[1] == Message(
        "assistant", (sound,)
    )


@pytest.mark.parametrize("name", ["solved", "is_last"])
def test_a_function_may_render_its_own_solved_examples(name):
    def by_solved(sample, solved):
        return f"{sample.input} = {sample.target if solved else ''}".strip()

    def by_position(sample, is_last=True):
        return f"{sample.input} = {'' if is_last else sample.target}".strip()

    function = by_solved if name == "solved" else by_position
    template = apply_fewshot(function, Fewshot(num=2, pick="first"), POOL)

    assert texts(template(POOL[7])) == [("user", "0+0? = 0\n\n1+1? = 2\n\n7+7? =")]


def test_a_fault_in_a_solved_example_names_the_shot():
    def prompt(sample, solved):
        return sample["missing"] if solved else sample.input

    with pytest.raises(TemplateError, match="template 'prompt', sample 'q0': KeyError"):
        apply_fewshot(prompt, Fewshot(num=1, pick="first"), POOL)(POOL[7])


def test_no_shots_leave_the_template_as_it_is():
    base = build_template()

    assert apply_fewshot(base, Fewshot(num=0), []) is base


@settings(deadline=None)
@given(st.integers(0, 3), st.sampled_from(PICKS), st.integers(0, 99), st.booleans())
def test_the_question_is_never_among_its_shots(num, pick, seed, own):
    copies = [replace(sample, id=f"copy{i}") for i, sample in enumerate(POOL[:4])]
    template = apply_fewshot(
        build_template(),
        Fewshot(num=num, pick=pick, seed=seed),
        POOL + copies,
        own_data=own,
    )

    for sample in POOL:
        asked = [
            message.text
            for message in template(sample).messages
            if message.role == "user"
        ]
        assert asked.count(sample.input) == 1 and asked[-1] == sample.input
        assert len(asked) == num + 1


@settings(deadline=None)
@given(
    st.permutations(range(8)),
    st.integers(0, 99),
    st.sampled_from(["random", "sequential", "similar"]),
)
def test_the_same_seed_gives_the_same_shots_in_any_order(order, seed, pick):
    fewshot = Fewshot(num=3, pick=pick, seed=seed)
    forward = apply_fewshot(build_template(), fewshot, POOL)
    expected = {sample.id: shots(forward, sample) for sample in POOL}

    shuffled = apply_fewshot(build_template(), fewshot, POOL)

    assert {POOL[i].id: shots(shuffled, POOL[i]) for i in order} == expected


@settings(deadline=None)
@given(st.sampled_from(PICKS), st.integers(0, 99))
def test_fewer_shots_are_the_first_of_more(pick, seed):
    def picked(num):
        template = apply_fewshot(
            build_template(), Fewshot(num=num, pick=pick, seed=seed), POOL
        )
        return {sample.id: shots(template, sample) for sample in POOL}

    few, many = picked(2), picked(5)

    assert few.keys() == many.keys()
    assert all(many[name][:2] == few[name] for name in few)


def test_another_seed_gives_other_shots():
    one = apply_fewshot(build_template(), Fewshot(num=3, seed=1), POOL)
    two = apply_fewshot(build_template(), Fewshot(num=3, seed=2), POOL)

    assert [shots(one, s) for s in POOL] != [shots(two, s) for s in POOL]


def test_sequential_shots_follow_the_question_round_the_end():
    template = apply_fewshot(build_template(), Fewshot(num=2, pick="sequential"), POOL)

    assert shots(template, POOL[2]) == ["q3", "q4"]
    assert shots(template, POOL[7]) == ["q0", "q1"]


def test_similar_shots_come_most_similar_first():
    questions = {
        "sea": "How deep is the sea?",
        "cats": "Do cats like fish?",
        "cat": "Does a cat like milk?",
    }
    pool = [Sample(id=name, input=text, target="x") for name, text in questions.items()]
    template = apply_fewshot(
        build_template(), Fewshot(num=2, pick="similar", split="train"), pool
    )

    assert shots(template, Sample(id="q", input="Does my cat like water?")) == [
        "cat",
        "cats",
    ]


def test_ids_of_another_split_may_be_equal_by_chance():
    train = [Sample(id=str(n), input=f"train {n}", target="x") for n in range(3)]
    template = apply_fewshot(
        build_template(), Fewshot(num=3, pick="first", split="train"), train
    )

    assert shots(template, Sample(id="0", input="test 0")) == ["0", "1", "2"]


def test_ids_of_the_tasks_own_data_mean_the_same_sample():
    changed = Sample(id="q0", input="asked another way", target="0")

    assert "q0" not in shots(
        apply_fewshot(build_template(), Fewshot(num=7, pick="first"), POOL), changed
    )


def test_samples_judged_together_are_not_each_others_shots():
    pool = [ask(n, group="g" if n < 2 else None) for n in range(4)]

    assert shots(
        apply_fewshot(build_template(), Fewshot(num=2, pick="first"), pool), pool[0]
    ) == ["q2", "q3"]


def test_a_question_whose_copies_fill_the_pool_is_still_asked_and_the_lack_is_recorded():
    train = [ask(1), replace(ask(1), id="twin"), ask(2)]
    template = apply_fewshot(
        build_template(), Fewshot(num=2, pick="first", split="train"), train
    )

    prompt = template(replace(ask(1), id="query"))

    assert prompt.details == {"shots": ["q2"], "shots_lacking": 1}


def test_a_users_function_picks_from_a_pool_without_the_question():
    seen = []

    def longest_first(sample, pool, num, rng):
        seen.append((sample.id, [s.id for s in pool], rng.random()))
        return sorted(pool, key=lambda s: s.id, reverse=True)[:num]

    template = apply_fewshot(
        build_template(), Fewshot(num=2, pick=longest_first, seed=3), POOL
    )

    assert shots(template, POOL[7]) == ["q6", "q5"]
    assert shots(template, POOL[7]) == ["q6", "q5"]
    assert seen[0] == seen[1] and "q7" not in seen[0][1]


@pytest.mark.parametrize(
    "returned", [[], [Sample(id="alien", input="?", target="!")], POOL[:2]]
)
def test_a_users_function_must_return_samples_of_its_pool(returned):
    template = apply_fewshot(
        build_template(), Fewshot(num=1, pick=lambda *_: returned), POOL
    )

    with pytest.raises(
        TemplateError, match="must return 1 samples of the pool it was given"
    ):
        template(POOL[7])


def test_a_fault_in_a_users_function_is_blamed_on_it():
    def broken(sample, pool, num, rng):
        raise ValueError("no idea")

    with pytest.raises(
        TemplateError, match="few-shot pick 'broken', sample 'q7': ValueError: no idea"
    ):
        apply_fewshot(build_template(), Fewshot(num=1, pick=broken), POOL)(POOL[7])


def test_shots_can_share_a_column_with_the_question():
    pool = [ask(n, tags={"subject": "law" if n % 2 else "art"}) for n in range(8)]
    template = apply_fewshot(
        build_template(),
        Fewshot(num=2, pick={"name": "first", "same": "subject"}, split="dev"),
        pool,
    )

    assert shots(template, ask(50, tags={"subject": "law"})) == ["q1", "q3"]
    assert shots(template, ask(50, fields={"subject": "art"})) == ["q0", "q2"]
    with pytest.raises(
        TemplateError,
        match="sample 'q50': the pool of shots has no sample of subject 'tax'",
    ):
        template(ask(50, tags={"subject": "tax"}))


@pytest.mark.parametrize(
    ("fewshot", "pool", "fault"),
    [
        (
            Fewshot(num=8),
            POOL,
            "8 shots are wanted beside the question, but the pool has only 8 samples; fix: .* 7",
        ),
        (
            Fewshot(num=9, split="dev"),
            POOL,
            "9 shots are wanted, but the pool has only 8 samples; fix: use at most 8",
        ),
        (Fewshot(num=1), [], "1 shots are wanted, but the pool is empty"),
        (Fewshot(num=-1), POOL, "the number of shots cannot be -1; fix: use 0 or more"),
        (
            Fewshot(num=1, pick="randm"),
            POOL,
            "unknown way to pick shots 'randm'; fix: did you mean 'random'",
        ),
        (
            Fewshot(num=1, pick={"nme": "first"}),
            POOL,
            "`pick` has no 'nme'; fix: its keys are name and same",
        ),
        (
            Fewshot(num=2, split="dev", pick={"name": "first", "same": "kind"}),
            [ask(1, tags={"kind": "x"})],
            "2 shots are wanted, but the pool has only 1 samples of kind 'x'",
        ),
        (
            Fewshot(num=1, split="dev"),
            [Sample(id="bare", input="?")],
            "a sample of the pool cannot be shown solved: sample 'bare': this sample has no target",
        ),
        (
            Fewshot(num=1),
            [ask(1), ask(2, turns=("and then?",))],
            "sample 'q2' of the pool is a dialogue of 2 turns, of which a shot could show only the first and the last "
            "answer; fix: leave the shots out, or take them from rows of one question",
        ),
    ],
)
def test_settings_that_cannot_work_are_refused_before_the_run(fewshot, pool, fault):
    with pytest.raises(UsageError, match=f"^fewshot: {fault}"):
        apply_fewshot(build_template(), fewshot, pool)


def test_a_dialogue_may_have_shots_of_one_question_each():
    template = apply_fewshot(
        build_template(), Fewshot(num=1, split="dev", pick="first"), POOL
    )

    assert texts(template(ask(9, turns=("and then?",)))) == [
        ("user", "0+0?"),
        ("assistant", "0"),
        ("user", "9+9?"),
    ]


def test_the_source_tells_settings_and_pools_apart():
    made = [
        apply_fewshot(build_template(), fewshot, pool).source
        for fewshot, pool in [
            (Fewshot(num=1), POOL),
            (Fewshot(num=2), POOL),
            (Fewshot(num=1, seed=1), POOL),
            (Fewshot(num=1), POOL[1:]),
            (Fewshot(num=1, multiturn=False), POOL),
        ]
    ]

    assert len(set(made)) == len(made)


def test_a_template_that_leads_a_dialogue_still_does_with_shots():
    class Host:
        def prompt(self, sample):
            return sample.input

        def next(self, sample, turns):
            return None

    base = build_template(Host())

    assert isinstance(base, BuiltTemplate)
    assert (
        apply_fewshot(base, Fewshot(num=1), POOL).next_turn
        == base.next_turn
        is not None
    )


PLANETS = ("Mars", "Venus", "Jupiter")


def largest(
    id: str, choices=PLANETS, text="Which is the largest?", **changes
) -> Sample:
    return Sample(
        id=id,
        input=text,
        choices=choices,
        target="ABC"[list(choices).index("Jupiter")],
        **changes,
    )


@pytest.mark.parametrize(
    "twin",
    [
        largest("t", PLANETS[::-1]),
        largest("t", text="Which is the largest? "),
        largest("t", text="Which  is the\nlargest?"),
        largest("t", PLANETS[::-1], text="Which is the largest? "),
    ],
    ids=["options reordered", "a trailing blank", "other blanks", "both"],
)
def test_a_question_of_another_file_is_not_a_shot_for_its_equal(twin):
    pool = [twin, *LETTERS[:2]]
    template = apply_fewshot(
        build_template(kind="choice"),
        Fewshot(num=2, pick="first", source="other.jsonl"),
        pool,
    )

    assert shots(template, largest("q")) == ["c0", "c1"]


def test_the_same_words_over_other_options_are_another_question():
    pool = [
        largest("t", ("Earth", "Jupiter")),
        largest("u", PLANETS[::-1], text="Which is the largest planet?"),
    ]
    template = apply_fewshot(
        build_template(kind="choice"),
        Fewshot(num=2, pick="first", source="other.jsonl"),
        pool,
    )

    assert shots(template, largest("q")) == ["t", "u"]


def test_questions_that_lack_shots_are_counted_in_a_note():
    pool = [largest("t", PLANETS[::-1]), *LETTERS[:1]]
    template = apply_fewshot(
        build_template(kind="choice"),
        Fewshot(num=2, pick="first", source="other.jsonl"),
        pool,
    )

    template(LETTERS[5])
    before = list(template.notes())
    template(largest("q"))
    template(largest("q"))

    said = "1 sample got fewer than 2 examples, because the rest of the pool repeats its question"
    assert (before, list(template.notes())) == ([], [said])
