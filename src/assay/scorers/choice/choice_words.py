"""The words by which an answer is read, by language. Each stands for a class of one letter:

a  the answer     o  an option     g  right, best        i  is            c  takes         v  fits
f  says nothing   k  concludes     r  gives a reason     l  compares      p  limits        w  would, then
n  denies         x  is not, but   s  supposes, doubts   h  reports       q  contrasts     y  corrects     j  joins

A sentence becomes a string of classes: "So the answer is (B)" is `kfaim`, with `m` for an option's letter, `b` for a
box, tag or key of an answer, `d` for a number and `u` for a word that is not here. The grammar over these strings is
in `choice_rules`. In the table `_` is a blank.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .choice_marks import DENSE, MARK, OWN

_TABLE = """
[en] a: answer ans answer_key solution verdict vote conclusion dr my_choice my_pick my_guess my_selection my_response
     what_remains next_step next_best_step result_: output_: label_: decision_: o: option options choice choices
     letter alternative statement one selection response best_match g: correct right true appropriate best final only
     closest chosen selected valid remaining single nearest actual accurate consistent most_likely most_appropriate
     most_accurate most_plausible most_suitable most_reasonable most_fitting most_consistent i: is be are 's must_be
     should_be has_to_be can_only_be will_be turns_out_to_be seems_to_be appears_to_be points_to corresponds_to shows
     show contains has called c: choose select pick guess go_with go_for going_with going_for 'd_say would_say
     end_up_with left_with opt_for vote_for settle_on settled_on answer_with 'd_answer would_answer i_answer chose
     lean_towards leaves leaves_only leaves_us_with leaving leaving_only gives_us change_it_to change_my_answer_to
     i_mean switching_my_answer_to i_meant going_to_answer 'd_answer_with selecting choosing prefer
     changing_my_answer_to picking i_get settling_on i'm_going_with i_take 'll_take i_mark 'll_mark v: fits matches
     works remains survives holds wins is_consistent_with best_fits best_describes best_matches meets satisfies f: the
     a an i we my our your you it this that these those there here 'd 'll 'm 've 're s l will must should have can am
     please let me us now again alright okay ok well sure yes great good overall indeed of_course no_doubt confident
     think believe find see get know conclude concluded determined decided certain convinced clear evident obvious
     means implies indicates suggests confirms proves tells gives makes follows leads_to question problem explanation
     reasoning assistant step in_conclusion in_summary in_short in_the_end in_fact in_this_case on_balance to_sum_up
     to_conclude short for_this_reason for_these_reasons that's_why unsurprisingly not_surprisingly if_i_had_to_guess
     if_i_had_to_choose if_i_have_to_choose which_means without_a_doubt without_doubt without_any_doubt
     without_question in_my_view in_my_opinion based_on as_a_result to_this_question to_the_question summary
     would_choose the_letter_of it_is_not_difficult_to_see most description passage text information evidence analysis
     context data as_written as_stated as_worded everything if_i_had_to_pick if_i_had_to_pick_one k: so therefore thus
     hence q: but however yet still instead nevertheless rather though y: wait actually hold_on correction corrected
     on_second_thought on_reflection on_further_reflection oops sorry scratch_that strike_that i_take_that_back
     my_mistake i_made_a_mistake i_was_wrong i_misread correct_my let_me_reconsider let_me_recheck let_me_correct
     let_me_double_check changed_my_mind hmm or_rather upon_reflection edit update revised correct_myself
     on_closer_inspection no_, just_kidding r: because since due_to which given as reason who where bc l: although
     even_though even_if while whereas despite unlike instead_of rather_than regardless_of contrary_to from between
     among out_of of_these of_the of_those over though_many though_some n: not no never neither nor cannot none wrong
     incorrect false nothing anything_but except worst least ruled_out unlikely incorrectly wrongly hardly nearly
     so_is as_is disagree p: in on at for under with within when during of to about only_if only_when
     we_were_looking_for we_are_looking_for s: if unless suppose supposing assume assuming imagine pretend whether
     were provided_that provided_the might may could say perhaps maybe possibly either depending would_have
     hypothetically otherwise consider should_the had_the had_it had_we should_you h: students student people some
     someone many others everyone author tutor teacher friend colleague user often commonly usually common typical
     popular mistake trap naive careless was previous previously earlier initially originally hypothesis your_answer
     beginners test_takers version edition candidates tempting according_to few at_first_glance at_first_sight
     opposite scenario probability initial_thoughts they_say example w: would then j: and or plus also and/or
     as_well_as but_also
[es] a: respuesta respuestas solución o: opción alternativa letra elección g: correcta correcto mejor i: es está sea
     c: elijo escojo selecciono opto_por marco f: la el lo mi yo que por_tanto por_lo_tanto entonces así_que por_eso
     creo pues luego en_conclusión q: pero sino y: espera espere corrección perdón r: porque ya_que n: incorrecta
     incorrecto ni s: si sería h: muchos estudiantes algunos j: y o u l: aunque p: en
[pt] a: resposta gabarito o: opção g: correta certa i: é seja c: escolho f: minha eu portanto assim logo então q: mas
     sim y: desculpe corrijo não_, r: pois porque n: não errada incorreta s: se seria h: muitos alunos j: e ou
[it] a: risposta o: opzione scelta g: corretta giusta esatta finale i: è sia c: scelgo f: mia io che quindi dunque
     pertanto penso q: ma y: aspetta r: perché poiché n: non sbagliata né h: molti studenti
[fr] a: réponse réponses o: lettre proposition choix g: correcte bonne bon juste i: est c'est il_s'agit_de c: choisis
     prends dirais opte_pour réponds f: le les ma je donc alors ainsi par_conséquent pense q: mais pourtant cependant
     y: attends attendez pardon non_, r: car qui parce_que puisque n: pas ne n fausse incorrecte h: beaucoup élèves
     j: et s: serait
[de] a: antwort lösung o: buchstabe möglichkeit wahl g: richtig richtige korrekt korrekte beste i: ist lautet ist_also
     v: stimmt c: wähle nehme entscheide_mich_für f: die das der meine ich denke dass daher deshalb somit folglich
     demnach q: aber sondern y: warte moment_, korrektur nein_, r: weil denn n: nicht kein keine falsch s: wenn falls
     wäre vielleicht h: viele j: und oder
[nl] a: antwoord o: optie g: juiste goede correcte juist i: luidt c: kies f: het de mijn ik dus daarom n: niet geen
     fout onjuist r: omdat h: veel mensen j: en
[sv] a: svar svaret o: alternativ g: rätt rätta korrekta i: är er c: väljer f: den det min jag därför n: inte fel
     h: många j: och eller
[ru] a: ответ ответом o: вариант буква g: правильный правильным правильно верный верен верно i: это является будет
     c: выбираю f: мой я поэтому значит следовательно итак таким_образом думаю считаю что q: но а y: подождите подожди
     стоп исправление r: потому так_как поскольку n: не нет неверный неверно неверен неправильный s: если возможно
     h: многие студенты подумать j: и или
[uk] a: відповідь o: варіант g: правильна правильний i: це c: обираю n: неправильний h: багато j: і або
[pl] a: odpowiedź odpowiedź_to o: opcja g: poprawna prawidłowa i: jest brzmi c: wybieram f: moja więc n: nie błędna
     j: lub albo
[tr] a: cevap cevabım yanıt o: seçenek seçeneği şıkkı şıkkıdır g: doğru c: seçiyorum f: bu_nedenle dır dir n: değil
     değildir yanlış yanlıştır h: birçok j: veya ya_da ve
[vi] a: đáp_án câu_trả_lời o: phương_án lựa_chọn g: đúng chính_xác i: là c: chọn f: vậy do_đó tôi n: không_phải
     không_phải_là không sai h: nhiều j: hoặc hay và
[id] a: jawaban jawabannya o: opsi g: benar tepat yang_benar yang_tepat i: adalah ialah c: memilih f: jadi saya
     n: bukan salah h: banyak j: atau dan
[ar] a: الإجابة الجواب o: الخيار g: الصحيحة الصحيح صحيح i: هي هو c: أختار f: لذلك فإن إذن q: بل أما n: ليست ليس غير
     خطأ j: أو
[hi] a: उत्तर जवाब o: विकल्प g: सही i: है f: इसलिए अतः मेरा n: नहीं गलत s: अगर h: कई j: या और
[zh] a: 答案 正确答案 正確答案 答 题目的答案 o: 选项 選項 项 g: 正确 最佳 符合题意 对的 最终 最后 i: 是 为 為 即 应是
     应为 应该是 就是 c: 选 選 故选 应选 應選 选择 应选择 f: 我 会 们 认为 觉得 的 本题 这道题 此题 该题 题目 题 综上
     综上所述 所以 因此 故 可知 可见 显然 应该 应 就 可以 那么 则 吧 了 标准 参考 下列 以下 说法 只能 解析 q: 但 但是
     而是 不过 其实 y: 不对 等等 等一下 更正 纠正 修正 说错 搞错 r: 因为 由于 因 n: 不 错 错误 不是 非 没 无 s: 如果
     假如 假设 若 要是 可能 也许 或许 是否 h: 有人 很多 许多 同学 学生 考生 有些 听说 容易 j: 和 或 或者 与 及 以及
     还是
[ja] a: 答え 解答 正解 回答 正しいの 正しくは 最も適切なの o: 選択肢 g: 正しい i: は が f: の です である だ でしょう
     だと思います と思います したがって よって 私 ここで v: を選 x: ではなく q: しかし ですが ましたが y: 待って 訂正
     いや r: なぜなら から n: ない 違 誤 間違 s: もし かもしれ h: 多く 最初 j: と か または
[ko] a: 정답 옳은것 답 답안 o: 보기 선택지 번 g: 올바른 옳은 맞 최종 i: 은 는 이 가 f: 입니다 이다 이며 이고 따라서
     그러므로 저 제 v: 을선택 를선택 x: 가아니라 이아니라 q: 지만 y: 아니요 잠깐 정정 r: 왜냐하면 n: 아니 아닙니다 않
     틀 s: 만약 h: 많은 학생 j: 및 또는 와 과
"""
_SIGNS = {**dict.fromkeys(":=|", ":"), **dict.fromkeys("–—…", "-"), **dict.fromkeys("&+/", "j"), '"': '"'}
_SIGNS |= {**dict.fromkeys("✅✓✔", "g"), **dict.fromkeys("❌✗✘", "u")}
_TOKEN = re.compile(
    r"(?i)(?P<b>\\f?boxed|<\s?(?:final_?)?(?:answer|choice|option)\s?>|[\"'](?:\w{2,9}_)?(?:answer|choice|option|letter"
    rf"|prediction)[\"']\s?:)|(?P<m>[{MARK}]{OWN}*)|(?P<n>[a-z]{{2,7}}n't\b)|'(?:s|d|ll|m|ve|re)\b|and/or|(?P<k>[-=]>|[→⇒])"
    rf"|[{DENSE}]|(?P<d>\d+(?:[.,]\d+)*)|(?:(?![{DENSE}_])[^\W\d][\u0900-\u0dff]*)+|(?P<sign>[,،、;:=–—…&+/|✅✓✔❌✗✘]"
    rf'|\.\.+|\s-\s|\((?!\s?[{MARK}])|(?<=[{MARK}]\s)\(|(?<![{MARK}{OWN}])"(?!\s?[{MARK}]))'
)
_SENTENCE_END = re.compile(
    rf"\s*\n|[!?。।]+[\"')」]*|;(?!\s*[(\[]?[{MARK}]\W*(?:$|\n))|(?<![^°\w][A-Za-z])(?<!^[A-Za-z])\."
    r"[\"')\]_$\\]*(?=\s|$|<)|\.(?=\s{1,4}[A-Z][a-z])"
)
_HEADING = re.compile("^[^m:]*(?:a|g[fgou]*o|og)[fiw:]*$")


class Sentence(NamedTuple):
    """The classes of a sentence's words, where each word begins, where the sentence ends, and whether it asks."""

    classes: str
    places: tuple[int, ...]
    end: int
    asks: bool


def sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text with marks."""
    start = 0
    for end in (*_SENTENCE_END.finditer(text), None):
        stop = end.start() if end else len(text)
        tokens = list(_TOKEN.finditer(text, start, stop))
        classes, places, at = "", [], 0
        while at < len(tokens):
            name, length = _class_of(tokens, at)
            classes += name
            places.append(tokens[at].start())
            at += length
        if end and "\n" in end[0] and _HEADING.search(classes):
            continue  # a heading: what it announces stands below
        if classes:
            yield Sentence(classes, tuple(places), stop, bool(end and end[0].startswith("?")))
        start = end.end() if end else stop


def _class_of(tokens: list[re.Match[str]], at: int) -> tuple[str, int]:
    """The class of the words at a place, and how many they are."""
    word, kind = tokens[at][0].lower(), tokens[at].lastgroup
    if kind:
        return (_SIGNS.get(word.strip(), "-" if word[0] in ". " else ",") if kind == "sign" else kind), 1
    for phrase, name in _LEXICON.get(word, ()):
        if [token[0].lower() for token in tokens[at : at + len(phrase)]] == phrase:
            return name, len(phrase)
    return "f" if word.endswith("ly") else "u", 1


def _lexicon() -> dict[str, list[tuple[list[str], str]]]:
    """The phrases by their first word, the longest first; of two classes of a word the first in the table counts."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    name = ""
    for entry in _TABLE.split():
        if entry.endswith(":") and len(entry) == 2:
            name = entry[0]
        elif entry[0] != "[" and (words := [match[0] for match in _TOKEN.finditer(entry.replace("_", " "))]):
            found.setdefault(words[0], []).append((words, name))
    return {word: sorted(phrases, key=lambda phrase: -len(phrase[0])) for word, phrases in found.items()}


_LEXICON = _lexicon()
