"""What a model said outside its reasoning: scorers and judges read the answer, not the thoughts that led to it."""

import re

_NAMES = r"think(?:ing)?|thoughts?|reasoning|reflection|scratch_?pad|analysis|inner_monologue|seed:think|rationale|cot"
_TAG = re.compile(
    rf"<\s?(?P<close>/)?\s?(?:{_NAMES})\s?>|\[(?P<close2>/)?(?:THINK|think)\]|◁(?P<close3>/)?think▷"
    r"|<\|(?:begin_of_thought|START_THINKING)\|>|(?P<close4><\|(?:end_of_thought|END_THINKING)\|>)"
    r"|<\|channel\|>\s?(?:analysis|commentary)\s?(?:<\|message\|>)?"
    r"|(?P<final><\|channel\|>\s?final\s?(?:<\|message\|>)?|<\s?(?:final_?)?answer\s?>)",
    re.IGNORECASE,
)

_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|eom_id|return)\|>|</s>|<eos>|<end_of_turn>|<\|im_start\|>|\n[^\S\n]{0,8}"
    r"(?:#{1,6} ?)?(?:\*\*)?(?:Questions?|Q|Problem|User|Human|问题|题目|问|用户) ?\d{0,4} ?(?:\*\*)? ?[:：]",
    re.IGNORECASE,
)


def strip_reasoning(text: str) -> str:
    """What the model said outside its reasoning block; nothing of a block that never closes.

    A closing tag alone drops all before it, since chat templates often open the block in the prompt.
    An answer tag or a final channel ends a block that was left open.
    """
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    spoken: list[str] = []
    start, inside = 0, False
    for tag in _TAG.finditer(text):
        if tag["final"]:
            if not inside:
                spoken.append(text[start : tag.start()])
            start, inside = (
                (tag.start() if "answer" in tag[0].lower() else tag.end()),
                False,
            )
        elif tag["close"] or tag["close2"] or tag["close3"] or tag["close4"]:
            if not inside:
                spoken.clear()
            start, inside = tag.end(), False
        elif not inside:
            spoken.append(text[start : tag.start()])
            inside = True
    if not inside:
        spoken.append(text[start:])
    return "\n".join(spoken)


def first_turn(text: str) -> str:
    """The text up to an end-of-turn token or to a next question a base model went on to invent."""
    if "<" not in text and "\n" not in text:
        return text
    begin = len(text) - len(text.lstrip())
    end = next(
        (end.start() for end in _TURN_END.finditer(text) if end.start() > begin), None
    )
    return text if end is None else text[:end]
