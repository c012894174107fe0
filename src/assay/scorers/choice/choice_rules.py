"""Which option a generated answer takes: what it declares, else what it says as a whole, else nothing.

Reasoning is removed, options are marked, and the answer becomes a string of word classes (`choice_words`). A
declaration has a lead that says nothing, a cue, an option and an end; a clause that neither supposes nor reports may
come first. The first declaration stands; a later one replaces it as a correction or a final answer. Where nothing is
declared, a leading letter, an option's text, a verdict or a last sentence that only names a letter is read, else none.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from ..reasoning import first_turn, strip_reasoning
from .choice_marks import FIRST, OWN, flatten, mark
from .choice_words import classify

# The grammar over the classes: `(?<![^.?|¶])` is where a sentence begins, `(?![^.|¶])` where it ends and does not ask.
_CLAIM = re.compile(
    r"(?=(?P<all>(?:(?P<declared>(?:a|g[fgoutd]{0,4}o|og|o(?=[fr][fpgoutdvli]{1,7}i))(?:,?(?:[fplgok][fpgoutdvlrk]{0,6}"
    r"|[fr][fpgoutvdi]{1,6}),?)?[iw:-]+|a(?=[fo]*[mt]|n)|(?<![iw])[iw]+[fg]*a(?=[fo:]*[mt])"
    r"|(?<![^.?|¶])[fg]*g:|g[fg]*o(?=[mt]))|(?P<chosen>c)|(?P<boxed>b))"
    r"[fgoaiwykb:,-]{0,12}(?:n[iwfo]*m(?:[j,][fo]*m)*,?[qf]+[io]*|m[fo]*x[,f]*)?[mt])(?![^.?|¶]{0,200}\?))"
)
_LEAD = re.compile(
    r"(?:\"|(?P<opener>.*)[,:-])?(?:[fgojwkdart]|(?<=g)u(?![^ao])|i(?=[fg]*f))*"
)
_SUPPOSED = re.compile("[sh][^.?|¶]*[.?|¶]+[^.?|¶]*$")
_TAIL = re.compile(
    r"$|[rlq]|(?:[,:ykd\"-]|[foga]+(?=$|[,r:])|j?[fo]*n[fo]*m)[^srlqw]*(?:[rlqw]|$)"
)
_AGAIN = re.compile("[,fo]*m|[.|]m(?![^.?|¶])")
_JOINED = re.compile(
    r"[,f]*j[fo,]*m(?![invg])|[,:]?[fo]*m(?![^.?|¶,j:])|jm|k[foy]*m|[^.?|¶]*[.|]m(?![^.?|¶])"
)
_ROW = re.compile("[k,.:-]*f?|[.|]?[^m.?|¶l]*j[^m.?|¶l]*")
_HEADED = re.compile("(?<![^.?|¶])[-,]?[do]*a[fo]*m[:-]")
_LEADING = re.compile(
    r"(?:[^m]*[.?|¶])?(?P<head>[oficdg:-]*)m(?!\.u[ufm]{0,2}(?![^.?|¶])|[:,-]*u{0,2},?m)(?:(?![^.|¶])|[:,-]?[rl]"
    r"|(?::(?!n)|[,-](?:[yqf]|(?![^.|¶]))|[,-]?n[fo]*m)[^sh.?|¶]*(?:r|(?![^.|¶])))"
)
_ALONE = re.compile("(?:[^m]*[.?|¶])?(?P<head>[oficd:-]*)m[^mns.?|¶]*(?:[.|¶][^m]*)?$")
_ENTRY = re.compile("(?<![^.?|¶])[do]*m(?![^.?|¶:,-])")
_TEXT = re.compile(
    "(?<![^¶])(?P<lead>[^mtnsh.?|¶]*[iv:])?[fk]*t(?:(?:,j?[fo]*n|,?j?[fo]*l)[^.?|¶t]*|,?o?m)?(?![^.|¶])"
)
_VERDICT = re.compile(
    r"(?:(?<=[.?|¶]g)|(?<=^g))m(?![^.?|¶:,-])|[mt]o?(?:[iw]+(?=[fgwj]*[ga])(?:[fgwaj]|(?<=g)u)*+o?+|r?f*g+f*[ao]"
    r"|[iw]f+o(?=f*v|[.,|¶]|$)|v|(?<=m)f?i(?![^.?|¶])|[:-]*g(?![^.?|¶,r]))(?![foi]*[pshn]|,?q|[^.?|¶]{0,200}\?)"
)
_LAST = re.compile(r"[fq]*(?:,?j?[fo]*(?:n[fo]*m|l)[^.?|¶]*)?(?:[.|]*(?:¶|$))")
_BESIDE = re.compile("(?<!,)j$|(?:^|[^nlifo])[ifo]*m[,:jfo]*$")
BEFORE_LETTER = (
    "declared",
    "chosen",
    "boxed",
    "concluded",
    "leading-text",
    "option-text",
)  # their words end there


class Extraction(NamedTuple):
    """The answer, the rule that found it or says why there is none, and the words it relied on, shortened."""

    answer: str | None
    rule: str
    outcome: Literal["scored", "unparsed", "refused"]
    evidence: str = ""


def extract_choice(
    text: str, options: Mapping[str, str], *, is_cut: bool = False
) -> Extraction:
    """The option a single-choice answer takes, the rule that found it and the outcome.

    A text of `options` may be empty where it is not known. Of an answer cut by the token limit (`is_cut`) only what it
    declared is read, or its letter where that is all it says.
    """
    options = {letter.upper(): text for letter, text in options.items()}
    if (
        len(text) < 9
        and (lone := text.strip("\n ()*.:").upper()) in options
        and not (is_cut and text[-3:-1].strip())
    ):
        return Extraction(
            lone, "lone-letter", "scored", text.strip()
        )  # as the rules would read it, only sooner
    answer = _Answer(flatten(first_turn(strip_reasoning(text))), options, is_cut)
    found = answer.declared() or answer.leading()
    if found is None and not is_cut:
        found = answer.by_text() or answer.verdict() or answer.concluded()
    if found is None and "z" in answer.classes:
        return Extraction(
            None,
            "refusal",
            "refused",
            answer.plain[answer.places[answer.classes.index("z")] :][:160],
        )
    return found or Extraction(None, "none" if answer.plain else "empty", "unparsed")


class _Answer:
    """An output, the same with its options marked, the classes of its words, and the ways to read them."""

    def __init__(self, plain: str, options: Mapping[str, str], is_cut: bool) -> None:
        self.plain, self.options, self.is_cut = plain, options, is_cut
        self.text = mark(plain, options, is_cut=is_cut)
        self.classes, self.places = classify(self.text)
        self.entries = {
            one.end() - 1: self.letter(one.end() - 1)
            for one in _ENTRY.finditer(self.classes)
        }

    def letter(self, at: int) -> str | None:
        name = chr((ord(self.text[self.places[at]]) - ord(FIRST)) % 64 + ord("A"))
        return name if name in self.options else None

    def has_text(self, at: int) -> bool:
        return OWN in self.text[self.places[at] : self.places[at] + 5]

    def around(self, start: int, end: int) -> tuple[str, str]:
        """What a sentence says before some words, and behind them."""
        before, behind = (
            self.classes[max(0, start - 400) : start],
            self.classes[end : end + 400],
        )
        return re.split("[.?|¶]", before)[-1], re.split("[.?|¶]", behind)[0]

    def is_supposed(self, start: int, end: int) -> bool:
        """Whether words say what would be, and the sentence before supposes it."""
        return "w" in self.classes[max(0, start - 3) : end] and bool(
            _SUPPOSED.search(self.classes[:start][-200:])
        )

    def took(self, name: str | None, rule: str, start: int, end: int) -> Extraction:
        stop = (
            [*self.places, len(self.plain)][end + 1]
            if rule in BEFORE_LETTER
            else self.places[end] + 40
        )
        evidence = self.plain[self.places[start] : stop]
        return Extraction(
            name,
            rule if name else "ambiguous",
            "scored" if name else "unparsed",
            evidence[:160].strip(),
        )

    def declared(self) -> Extraction | None:
        """The first declaration, or the later one that corrects it or is called final."""
        if not (claims := list(self.claims())):
            return None
        _, end, stands, is_final = claims[0]
        for start, later, claim, final in claims[1:]:
            is_better = (
                "y" in self.classes[end : start + 1]
                or stands.answer is None
                or final > is_final
            )
            if (claim.answer != stands.answer and is_better) or self.classes[
                end - 1
            ] + self.classes[later - 1] == "tm":
                end, stands, is_final = later, claim, final
        back = self.classes.find("y", end, end + 40)
        if back > 0 and (newer := self.concluded(back)):
            return newer._replace(rule="corrected")
        denial = "".join(self.around(back, back)) if back > 0 else "m"
        is_denied = re.search("n|y,?y", denial) or self.plain.startswith(
            "No", self.places[back]
        )
        if is_denied and "m" not in denial:
            return Extraction(
                None, "retracted", "unparsed", self.plain[self.places[back] :][:160]
            )
        other = next(
            (
                start
                for start, _, claim, _ in claims
                if claim.answer != stands.answer and start >= end
            ),
            None,
        )
        is_row = (
            other
            and stands is claims[0][2]
            and _ROW.fullmatch(self.classes, end, other)
        )
        return (
            stands._replace(answer=None, rule="ambiguous", outcome="unparsed")
            if is_row
            else stands
        )

    def claims(self) -> Iterator[tuple[int, int, Extraction, bool]]:
        """Start and end of what declares an answer, or holds it in a box or tag; the answer; whether it is final."""
        is_list = len(_HEADED.findall(self.classes)) > 1  # "Answer A: … Answer B: …"
        for claim in (found := list(_CLAIM.finditer(self.classes)))[:100] + found[100:][
            -100:
        ]:  # they may be endless
            start, end = claim.span("all")
            name, (head, rest) = self.letter(end - 1), self.around(start, end)
            is_boxed = (
                "b" in claim["all"]
                and not re.search("n[ifo,]*$", head)
                and not re.match("if*n", rest)
            )
            is_headed = claim["declared"] == "a" and re.match(
                "[:-]" if is_list else "[:-][fi]*n(?![fo]*m)", rest
            )
            has_text = (
                claim["all"][-1] == "m"
                and self.has_text(end - 1)
                and not re.search("[sm]", rest)
            )
            while (
                (again := _AGAIN.match(self.classes, end))
                and name
                and self.letter(again.end() - 1) == name
            ):
                end = again.end()
            name = None if _JOINED.match(self.classes, end) else name
            is_whole = name is None or has_text or _TAIL.match(self.around(end, end)[1])
            if is_boxed or (
                is_whole
                and not is_headed
                and is_led(head)
                and not self.is_supposed(start, end)
            ):
                words = self.plain[
                    max(0, self.places[start] - 12) : self.places[end - 1]
                ]
                rule = next(rule for rule in BEFORE_LETTER if claim[rule])
                answer = self.took(name, rule, start, claim.end("all") - 1)
                yield (
                    start,
                    claim.end("all"),
                    answer,
                    is_boxed or "final" in words.lower(),
                )

    def leading(self) -> Extraction | None:
        """The first sentence with an option opens with it, then its text, a reason or nothing, and begins no list."""
        found = _LEADING.match(self.classes) or _ALONE.match(self.classes)
        begin, at = found.span("head") if found else (0, 0)
        if (
            not found
            or not self.letter(at)
            or (found.re is _ALONE and not self.has_text(at))
        ):
            return None
        other, name = next(
            ((place, name) for place, name in self.entries.items() if place > at),
            (0, self.letter(at)),
        )
        is_list = name != self.letter(at) and (
            "¶" not in self.classes[at:other] or f"{self.letter(at)}{name}" == "AB"
        )
        is_part = (
            is_list
            or re.search(":[|¶]$", self.classes[:begin])
            or _JOINED.match(self.classes, at + 1)
        )
        if is_part or (self.is_cut and (begin or found.end() > at + 1)):
            return None
        corrected = self.classes.find("y", at)
        if corrected > 0 and "m" in self.classes[corrected:]:
            return self.concluded(corrected) or self.verdict()
        is_lone = not self.classes[at + 1 :].strip(".|¶")
        return self.took(
            self.letter(at), "lone-letter" if is_lone else "leading-letter", begin, at
        )

    def by_text(self) -> Extraction | None:
        """A paragraph opens with an option's text, or the output is one sentence that ends in it: "It is a dog"."""
        for found in _TEXT.finditer(self.classes):
            at, is_head = self.classes.index("t", found.start()), not found["lead"]
            is_step = re.match(r"\d+[.)]\s+\S", self.plain[self.places[at] :][:9])
            if not is_step and (is_head or not re.search("[.?|¶].", self.classes)):
                return self.took(
                    self.letter(at),
                    "leading-text" if is_head else "option-text",
                    at,
                    at,
                )
        return None

    def verdict(self) -> Extraction | None:
        """The one option that is called right, since the last correction."""
        heads = [
            (one.start(), self.around(one.start(), 0)[0].rstrip("oi"))
            for one in _VERDICT.finditer(self.classes)
        ]
        found = [at for at, head in heads if is_led(head) and not _BESIDE.search(head)]
        found = [at for at in found if at > self.classes.rfind("y")] or found
        name = (
            self.letter(found[0])
            if len({self.letter(at) for at in found}) == 1
            else None
        )
        return self.took(name, "verdict", found[0], found[0]) if name else None

    def concluded(self, start: int = 0) -> Extraction | None:
        """A last sentence with an option that says nothing but its letter: "So it must be (C)."""
        head = self.around(last := self.classes.rfind("m"), last)[0]
        begin = last - len(head)
        at = begin + len(re.sub("m[f,]*j?[fo]*(?:n[fo]*m|l.*)$", "m", head + "m")) - 1
        if last < start or at < start or not self.letter(at):
            return None
        head = head[: at - begin].rstrip("iofwcv:")
        is_led_up = (
            is_led(head)
            and not _BESIDE.search(head)
            and not self.is_supposed(begin, at)
        )
        is_end = _LAST.match(self.classes, last + 1)
        names = {name for place, name in self.entries.items() if place < at}
        is_next = self.classes[begin - 1] != "¶" or (
            self.letter(at) not in names and self.classes[begin - 2] == "m"
        )
        is_listed = (is_next and names - {self.letter(at)}) or re.search(
            "o[fi]*:.$", self.classes[:begin]
        )
        is_entry = not start and at in self.entries and is_listed
        return (
            self.took(self.letter(at), "concluded", begin, at)
            if is_led_up and is_end and not is_entry
            else None
        )


def is_led(head: str) -> bool:
    """Whether all that a sentence says before its cue only leads up to it."""
    lead = _LEAD.fullmatch(re.split("[qyk]", head)[-1])
    opener = lead["opener"] or "" if lead else "s"
    return opener[:1] == "l" or not re.search("^p(?![fo]*$)|[sh]", opener)
