"""The words by which an answer is read, by language. Each stands for a class of one letter:

a  the answer     o  an option     g  right, best        i  is            c  takes         v  fits
f  says nothing   k  concludes     r  gives a reason     l  compares      p  limits        w  would, then
n  denies         x  is not, but   s  supposes, doubts   h  reports       q  contrasts     y  corrects     j  joins
z  declines       m  option's letter   t  option's text  b  box, tag, key  d  a number   u  a word that is not here

An answer becomes a string of classes: "So the answer is (B)." is `kfaim.`; a sentence, a question, a line and a
paragraph end with `.?|¶`. The grammar over it is in `choice_rules`. In the table `_` is a blank.
"""

import re

from .choice_marks import DENSE, MARK, OWN, TEXT

_TABLE = """
[en] a: answer ans answer_key solution verdict conclusion my_choice my_pick my_guess result_: output_: label_: dr
     what_remains o: option choice letter statement one selection response g: correct right true appropriate best
     final only closest selected valid remaining single actual accurate consistent most ✅ ✓ ✔ i: is be are 's must_be
     should_be has_to_be can_only_be will_be turns_out_to_be seems_to_be appears_to_be points_to corresponds_to shows
     contains has seems leads_us_to c: choose select pick guess go_with go_for going_with going_for 'd_say would_say
     vote_for settle_on answer_with chose lean_towards leaves leaves_us_with leaving change_it_to i_mean prefer
     settling_on i_take 'll_take left_with mark stick_with end_up_with lean_toward makes my_answer_to going_to_answer
     i_meant am_choosing 'm_choosing v: fits matches works remains holds wins best_describes meets satisfies
     is_consistent_with f: the a an i we my our your you it this that these those there here 'd 'll 'm 've 're s l
     will must should have can am please let me now again okay ok well sure yes good overall indeed no_doubt confident
     think believe find see get know conclude determined certain clear means implies indicates suggests gives follows
     leads_to question problem explanation reasoning step in_conclusion in_summary in_short in_the_end in_fact
     in_this_case on_balance to_conclude short that's_why which_means without_a_doubt in_my_view based_on as_a_result
     to_this_question to_the_question summary the_letter_of description passage text information evidence analysis
     context data if_i_had_to if_i_have_to assistant by_elimination switching changing k: so therefore thus hence
     shows_that means_that confirms_that w: would then q: but however yet still instead rather though y: wait actually
     hold_on correction corrected oops sorry scratch_that i_take_that_back i_made_a_mistake i_was_wrong i_misread
     correct_my changed_my_mind hmm correct_myself no_, reconsider double_check second_thought on_reflection
     closer_inspection edit revised my_mistake recheck upon_reflection r: because since due_to which given as reason
     who where l: although even_though even_if while whereas unlike instead_of rather_than contrary_to from between
     among out_of of_these of_the over p: in on at for under with within when during of to about only_if only_when
     n: not no never neither nor cannot none wrong incorrect false nothing anything_but except worst least ruled_out
     unlikely hardly so_is as_is disagree s: if unless suppose assume assuming whether were provided_that might may
     could say perhaps maybe possibly either depending would_have otherwise consider should_the had_the supposing
     imagine hypothetically should_you provided_the had_we h: student people some someone many others author teacher
     friend user often usually common mistake was previous earlier initially your_answer test_takers tempting
     according_to at_first_glance probability i_thought previously hypothesis example commonly j: and or plus also
     and/or as_well_as but_also z: i_cannot i_can't i'm_sorry unfortunately i_don't_know i_don't_have i_won't
     i_will_not i_refuse impossible_to cannot_be_determined as_an_ai unable not_able need_more not_enough
     inappropriate i_lack can't_say apologize i_must_decline i_do_not_have u: ❌ ✗ ✘ thought statements
[es] a: respuesta o: opción letra g: mejor adecuada i: es está c: elijo opto_por f: la el lo mi yo que creo pues
     k: por_lo_tanto entonces así_que q: pero sino y: espera corrección p: en n: ni s: si sería h: muchos j: y o u
[pt] a: resposta gabarito escolha o: opção g: correta certa i: é seja c: escolho f: minha eu k: portanto assim então
     q: mas sim n: não s: se seria h: muitos alunos j: e ou
[it] a: risposta o: opzione g: corretta giusta i: è c: scelgo f: mia che penso k: quindi pertanto q: ma n: non
[fr] a: réponse o: proposition choix g: bonne bon juste i: est c'est il_s'agit_de c: choisis réponds f: le les je
     pense k: donc q: mais y: attends pardon non_, r: car qui n: pas ne n fausse s: serait h: beaucoup élèves j: et
[de] a: antwort lösung o: wahl g: richtig korrekt beste i: ist lautet ist_also c: wähle nehme entscheide_mich_für
     v: stimmt f: die das der meine ich denke dass k: daher deshalb somit q: aber sondern y: warte korrektur nein_,
     moment_, n: nicht falsch s: wenn falls wäre vielleicht h: viele j: und oder
[nl] a: antwoord o: optie g: goede juist i: luidt c: kies f: het de mijn ik k: dus daarom
[sv] a: svar svaret o: alternativ g: rätt rätta i: är er c: väljer f: den det min jag k: därför
[ru] a: ответ ответом o: вариант g: правильный правильным верный верен верным i: это является будет c: выбираю f: мой
     я думаю считаю что k: поэтому значит следовательно итак q: но а y: подождите исправление r: потому n: не неверный
     неверен неправильный s: если возможно h: многие подумать j: и или
[uk] a: відповідь o: варіант g: правильна правильний i: це c: обираю
[pl] a: odpowiedź odpowiedź_to o: opcja g: poprawna prawidłowa i: jest brzmi c: wybieram f: moja k: więc
[tr] a: cevap cevabım yanıt o: seçenek seçeneği şıkkı şıkkıdır g: doğru c: seçiyorum f: dır dir k: bu_nedenle
[vi] a: đáp_án câu_trả_lời o: phương_án lựa_chọn g: đúng chính_xác i: là c: chọn f: tôi k: vậy do_đó
[id] a: jawaban jawabannya o: opsi g: benar tepat yang_benar yang_tepat i: adalah ialah c: memilih f: saya k: jadi
[ar] a: الإجابة الجواب o: الخيار g: الصحيح صحيح i: هي هو c: أختار f: فإن k: لذلك إذن q: بل
[hi] a: उत्तर जवाब o: विकल्प g: सही i: है f: मेरा k: इसलिए अतः
[zh] a: 答案 答 o: 选项 選項 项 g: 正确 最佳 符合题意 最终 符合要求 i: 是 为 应为 应该是 就是 即 c: 选 選 應選 选择
     f: 我 会 认为 的 本题 这道题 题目 题 可知 应该 应 就 可以 那么 则 吧 了 下列 说法 只能 此题 k: 所以 因此 故 综上
     q: 但 但是 而是 其实 y: 不对 等等 等一下 更正 纠正 说错 r: 因为 由于 因 n: 不 错 错误 不是 没 无 s: 如果 假如
     假设 若 可能 也许 h: 有人 很多 许多 同学 学生 容易 j: 和 或 或者 与 还是 z: 无法 無法 不能 抱歉 对不起 不知道
[ja] a: 答え 解答 正解 回答 正しくは 最も適切なの 正しいの o: 選択肢 g: 正しい 最も適切 i: は が v: を選 f: の です
     である だ と思います 私 ここで k: したがって よって q: しかし ですが ましたが y: 訂正 いや r: から n: ない 違 誤
     間違 x: ではなく s: もし h: 多く 最初 j: と か
[ko] a: 정답 답 o: 보기 선택지 번 g: 올바른 옳은 맞 최종 i: 은 는 이 가 v: 을선택 를선택 f: 입니다 이다 이고 저 제
     k: 따라서 그러므로 q: 지만 y: 잠깐 정정 n: 아니 아닙니다 않 틀 x: 가아니라 s: 만약 h: 많은 학생 j: 또는 와 과
"""
_SIGNS = {
    **dict.fromkeys(":=|", ":"),
    **dict.fromkeys("–—…", "-"),
    **dict.fromkeys("&+/", "j"),
    '"': '"',
}
_TOKEN = re.compile(
    rf"(?i)(?P<end>\s*\n\s*|[!?。।]+[\"')」]*|;(?!\s*[(\[]?[{MARK}]\W*(?:$|\n))|(?<![^°\w][a-z])(?<!^[a-z])\."
    r"[\"')\]_$\\]*(?=\s|$|<)|\.[$\\\]]+(?=\s|$)|\.(?=\s{1,4}(?-i:[A-Z][a-z])))|(?P<b>\\f?boxed|<\s?(?:final_?)?(?:answer|choice|option)\s?>"
    r"|[\"'](?:\w{2,9}_)?(?:answer|choice|option|letter|prediction)[\"']\s?:)"
    rf"|(?P<m>[{MARK}]{OWN}*)|(?P<t>[{TEXT}]{OWN}*)|(?P<n>[a-z]{{2,7}}n't\b)|'(?:s|d|ll|m|ve|re)\b|and/or"
    rf"|(?P<k>[-=]>|[→⇒])|[{DENSE}]|(?P<d>\d+(?:[.,]\d+)*)|(?:(?![{DENSE}_])[^\W\d][\u0900-\u0963\u0966-\u0dff]*)+"
    rf"|(?P<sign>[,،、;:=–—…&+/|✅✓✔❌✗✘]|\.\.\.+(?=\s*[{MARK}])|\.\.+(?=\.)|\s-\s|\((?!\s?[{MARK}])|(?<=[{MARK}]\s)\("
    rf'|(?<![{MARK}{TEXT}{OWN}])"(?!\s?\$?(?:an? |the )?[{MARK}{TEXT}]))'
)
_HEADING = re.compile("(?<![^.?|¶])([^m:.?|¶]*(?:a|g[fgou]*o|og)[fiw:]*)([|¶]+)")


def classify(text: str) -> tuple[str, list[int]]:
    """The classes of the words of a text with marks, and where each word begins; a heading ends with a colon."""
    tokens, classes, places, at = list(_TOKEN.finditer(text)), "", [], 0
    while at < len(tokens):
        name, length = _class_of(tokens, at)
        classes += name
        places.append(tokens[at].start())
        at += length
    return _HEADING.sub(lambda found: found[1] + ":" * len(found[2]), classes), places


def _class_of(tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    """The class of the words at a place, and how many they are."""
    word, kind = tokens[at][0].lower(), tokens[at].lastgroup
    for phrase, name in (
        _LEXICON.get(word) or (_LEXICON.get(word[:-1]) if len(word) > 5 else None) or ()
    ):
        if [token[0].lower() for token in tokens[at + 1 : at + len(phrase)]] == phrase[
            1:
        ]:
            return name, len(phrase)
    if kind == "end":
        return "?" if word[0] == "?" else "¶" if word.count(
            "\n"
        ) > 1 else "|" if "\n" in word else ".", 1
    if kind:
        return (
            _SIGNS.get(word.strip(), "-" if word[0] in ". " else ",")
            if kind == "sign"
            else kind
        ), 1
    return "f" if word.endswith("ly") else "u", 1


def _lexicon() -> dict[str, list[tuple[list[str], str]]]:
    """The phrases by their first word, the longest first; of two classes of a word the first in the table counts."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    name = ""
    for entry in _TABLE.split():
        if entry.endswith(":") and len(entry) == 2:
            name = entry[0]
        elif entry[0] != "[" and (
            words := [match[0] for match in _TOKEN.finditer(entry.replace("_", " "))]
        ):
            found.setdefault(words[0], []).append((words, name))
    return {
        word: sorted(phrases, key=lambda phrase: -len(phrase[0]))
        for word, phrases in found.items()
    }


_LEXICON = _lexicon()
