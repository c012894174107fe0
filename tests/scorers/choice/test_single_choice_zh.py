"""Choices read from spoken Chinese."""

import pytest

from assay.core import Audio, Candidate, Message, Outcome, Output, Sample
from assay.scorers.choice.single_choice_zh import SingleChoiceZh, read_choice

WRONG = "下列说法错误的是哪一项？"


@pytest.mark.parametrize(
    ("answer", "letter", "rule"),
    [
        ("A不对，所以应该选B", "B", "conclusion"),
        ("综上所述，答案为A。", "A", "conclusion"),
        ("因此选择（C）", "C", "conclusion"),
        ("答案是C。", "C", "declared"),
        ("正确答案应该是B选项", "B", "declared"),
        ("我觉得选d", "D", "declared"),
        ("不选A，选C", "C", "declared"),
        ("我选择A，哦不对，答案是C", "C", "declared"),
        ("答案不是A，而是B", "B", "declared"),
        ("这道题选 Ａ", "A", "declared"),
        ("首先A选项错误，B选项也错误，C选项是对的", "C", "verdict"),
        ("选项B最合适", "B", "verdict"),
        ("B", "B", "alone"),
        ("B。", "B", "alone"),
        ("B. 北京", "B", "opening"),
        ("B，因为A不对", "B", "opening"),
    ],
)
def test_the_last_claim_of_an_answer_decides(answer, letter, rule):
    assert read_choice(answer)[:2] == (letter, rule)


@pytest.mark.parametrize(
    "answer",
    [
        "B是错误的",
        "A和B都可以",
        "应该选择A或者B",
        "Apple and Banana",
        "不知道",
        "",
        "答案不是A",
        "A不正确",
    ],
)
def test_no_letter_is_invented(answer):
    assert read_choice(answer, "下列说法正确的是").letter is None


@pytest.mark.parametrize(
    ("answer", "letter"),
    [
        ("B是错误的", "B"),
        ("错误的说法是D", "D"),
        ("A正确，C不正确", "C"),
        ("答案是A", "A"),
        ("所以不符合的是B", "B"),
    ],
)
def test_a_question_for_the_wrong_statement_inverts_the_verdict(answer, letter):
    assert read_choice(answer, WRONG).letter == letter


def test_the_only_letter_counts_with_cushion():
    assert read_choice("我想大概就B那个吧").letter is None
    assert read_choice("我想大概就B那个吧", cushion=True)[:2] == ("B", "cushion")
    assert read_choice("A那个或B那个", cushion=True).letter is None


def test_the_score_says_whether_an_option_was_read_and_whether_it_is_right():
    right = SingleChoiceZh()(Sample(id="a", target="B"), Output.of("答案是B"))
    wrong = SingleChoiceZh()(Sample(id="a", target="B"), Output.of("答案是C"))
    unread = SingleChoiceZh()(Sample(id="a", target="B"), Output.of("不知道"))

    assert right.value == {"correct": 1.0, "cover": 1.0}
    assert wrong.value == {"correct": 0.0, "cover": 1.0}
    assert (unread.value, unread.outcome) == (
        {"correct": 0.0, "cover": 0.0},
        Outcome.UNPARSED,
    )


def test_a_spoken_question_is_read_from_its_column():
    heard = (Message("user", (Audio(b"RIFF"),)),)
    sample = Sample(id="a", input=heard, target="B", fields={"query": WRONG})

    score = SingleChoiceZh()(sample, Output.of("B是错误的"))

    assert score.value == {"correct": 1.0, "cover": 1.0}


def test_a_target_outside_the_letters_is_a_fault_of_the_data():
    assert (
        SingleChoiceZh()(Sample(id="a", target="E"), Output.of("E")).outcome
        is Outcome.DATA_ERROR
    )


def test_silence_cut_by_the_limit_is_truncated():
    score = SingleChoiceZh()(
        Sample(id="a", target="A"), Output((Candidate((), "length"),))
    )

    assert score.outcome is Outcome.TRUNCATED


@pytest.mark.parametrize(
    "question",
    [
        "哪个选项的内容不符合题意？",
        "以下不属于哺乳动物的是",
        "下面哪种动物不是哺乳动物",
        "错误的一项是（）",
    ],
)
def test_ways_to_ask_for_the_wrong_one(question):
    assert read_choice("B不符合", question).letter == "B"


def test_a_plain_question_does_not_ask_for_the_wrong_one():
    assert read_choice("B不符合", "哪个选项符合题意？").letter is None


@pytest.mark.parametrize(
    ("piece", "letter"),
    [
        ("选 ", None),
        ("所以", None),
        ("答案是", None),
        ("A项", None),
        (" ", None),
        ("选A或B。", None),
    ],
)
def test_a_megabyte_of_cues_is_read_to_its_end(piece, letter):
    text = piece * (1_000_000 // len(piece))

    assert read_choice(text, text).letter is letter
    assert read_choice(text + "。答案是C", text).letter == "C"
