"""Cut a text where the model's turn ends."""

import re

# <|im_end|>, </s>, <end_of_turn>
_END_TOKEN = (
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|eom_id|return)\|>"
    r"|</s>|<eos>|<end_of_turn>|<\|im_start\|>"
)
# "\n## Question 2:", "\n**User**:", "\n问题："
_NEXT_QUESTION = (
    r"\n[^\S\n]{0,8}(?:#{1,6} ?)?(?:\*\*)?"
    r"(?:Questions?|Q|Problem|User|Human|问题|题目|问|用户)"
    r" ?\d{0,4} ?(?:\*\*)? ?[:：]"
)
_TURN_END = re.compile(f"{_END_TOKEN}|{_NEXT_QUESTION}", re.IGNORECASE)


def first_turn(text: str) -> str:
    """Return the text up to an end-of-turn token, or up to a next question that a base model has invented."""
    if "<" not in text and "\n" not in text:
        return text
    begin = len(text) - len(text.lstrip())
    for end in _TURN_END.finditer(text):
        if end.start() > begin:
            return text[: end.start()]
    return text
