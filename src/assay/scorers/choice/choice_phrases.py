"""The phrases of `choice_rules`, as data: what declares an answer in each language, and what takes its force away."""

import re


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases).replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE)


def _words(phrases: str) -> str:
    """Whole words and phrases separated by blanks; `_` stands for a blank within a phrase."""
    return r"\b(?:" + "|".join(phrases.split()).replace("_", " ") + r")\b"


_GAP = r"(?:(?!\bansw|\bis\b|(?-i:\b[A-Z]\b))[^\n.!?:;=。]){0,60}?"
_BE = rf"(?:{_words('(?:is|was) (?:must|should|has_to|can_only|will|would|to)_be')}|'s\b|[:=]|[-=]>|→|⇒|[-–—](?= ))"
_RIGHT = _words(r"correct right best final only closest chosen selected valid my our most_\w+ (?:one_)?remaining")
_NOUN = _words("option choice alternative selection pick guess response letter statement match conclusion vote one")
_LABEL = _words("final option choice letter output prediction selected? result ans correct response solution assistant")

DECLARATIONS: dict[str, re.Pattern[str]] = {
    "boxed": _any(r"\\f?boxed\s?\{"),
    "answer-tag": _any(r"<\s?(?:final_?)?(?:answer|choice|option)\s?>"),
    "answer-key": _any(
        r"[\"'](?:\w{2,9}_)?(?:answer|choice|option|letter|prediction)[\"']\s?:\s?\{?\s?(?:[\"']\w{3,9}[\"']\s?:)?"
    ),
    "declared-en": _any(
        rf"\b(?:answers?|solution)\b(?: (?:choice|option)\b)?{_GAP}{_BE}", rf"{_RIGHT} (?:and \w+ )?{_NOUN}{_GAP}{_BE}",
        rf"^\W{{0,4}}(?:{_LABEL}\s?[:=-]|(?:final |correct )?answer\W{{0,4}}$)",
        rf"\b(?:option|choice) (?:that|which)\b{_GAP}\bis\b",
    ),
    "chosen-en": _any(
        r"\b(?:i|we)(?:'d|'ll|'m|'ve)?(?: (?:would|will|must|should|have to|am|have))?(?: (?:therefore|thus|then))? "
        + _words("choos(?:e|ing) chosen? select(?:ed|ing)? pick(?:ed|ing)? go_with go_for going_with say guess opt_for"
                 " vote_for settle_on lean_towards? take conclude submit answer answer_with"),
        r"\b(?:so|therefore|thus|hence|please),? " + _words("choose select pick mark go_with"),
    ),
    "declared-zh": _any(
        r"(?:答案|正[确確]的?选?[项項]?|选项)(?:应该?|應該?|应当|就|便|只能)?(?:选择|是|为|為|选|即|:|=|】)",
        r"答案[】\]]?\s?(?=[(\[]?[A-Z][)\]]?(?:[,.。 ]|\s*$))",
        r"(?:故|应该?|應該?|所以|因此|因而|我会?|本题|就|综上|可|只能|^|[,。;…])(?:我|本题)?(?:选择?|選擇?)",
    ),
    "declared-ja": _any(r"(?:答え|解答|正解|回答|正しい(?:選択肢|もの|答え))(?:の\S{1,6})?(?:は|が|:|=)"),
    "declared-ko": _any(r"(?:정답|답안|답|올바른 (?:선택지|것))(?:은|는|이|:|=)"),
    "declared-other": _any(
        _words("""respuestas? respostas? risposta r[ée]ponses? antwort antwoord jawaban(?:nya)? cevap odpowied[źz]
    svar(?:et)?
    l[öo]sung đáp_án câu_trả_lời ответ вариант (?:opci[óo]n|alternativa)_correct?a opç[ãa]o_corret[ao]
    opzione_corretta option_correcte bon_choix bonne_option (?:richtige|korrekte)_(?:option|wahl)""")
        + r"(?:(?!\b(?:es|est|ist|is)\b)[^\n.!?:=;]){0,40}?"
        r"(?:\b(?:es|est|ist|is|é|è|är|er|lautet|adalah|ialah|to|là|будет)\b|[:=—–]|-(?= ))",
        r"(?:الإجابة|الجواب)[^\n.]{0,20}?(?:هي|هو|:)|सही (?:उत्तर|जवाब|विकल्प)|(?:правильный|верный) (?:ответ|вариант)",
        _words("doğru_cevap je_choisis je_prends ich_w[äa]hle ich_nehme elijo escojo escolho scelgo ik_kies выбираю"
               " ist_die_(?:richtige|korrekte)_antwort richtig_ist ответом_является"),
    ),
}  # fmt: skip
"""What stands before a declared letter. The rule that is recorded is the key."""

VERDICT = _any(
    r"(?<![\w.])(?:(?:option|choice|answer|letter)s? )?[(\[\"']{0,3}(?P<letter>[A-Z])(?![A-Za-z0-9'])[)\]\"']{0,3}"
    r"(?P<text>[.:)]?\s?(?:(?!(?-i:\b[A-Z]\b))[^\n.!?;]){0,120}?)[,)]?\s?\b(?:is|must be|has to be)\b"
    r"(?: (?:indeed|clearly|therefore|thus|definitely|the|my|our|only|most|one|obviously))*"
    r" \b(?:correct|right|best|appropriate|accurate|answer|choice|pick)\b(?: (?:answer|option|choice|one|response))?",
    r"(?P<cjk>[A-Z])(?:(?-i: it is)\b|\W?\s?(?:选项|項|项)?(?:是|才是|为|就是)?(?:正[确確](?!吗|的?[?吗])|符合题意"
    r"|对的)|が正解|が正しい"
    r"|です。?$|[가이은는] (?:정답|맞)|입니다\.?$|es (?:la )?(?:respuesta )?correct[ao]\b"
    r"|est (?:la (?:bonne )?r[ée]ponse|correct)"
    r"|ist (?:die )?(?:richtig|korrekt)|[ée] a (?:resposta )?corret[ao]\b|è (?:la )?(?:risposta )?corrett[ao]\b)",
)
"""An option called right. It counts where nothing is declared and only one option is called so."""
BREAK = _any(
    r"[,:]|[-=]>|→|⇒|…|#{2,}|(?<!anything.)\bbut\b|所以|因此|因而|故|但|而是|可知|应|したがって|よって|따라서",
    _words("""however so(?!_(?:is|are|was)) therefore thus hence consequently yet still we_get we_find donc daher
    deshalb also portanto quindi
    поэтому значит aber pero mais mas ma но"""),
)
"""Where a new clause begins: what was denied, supposed or said by others before it is not said of what follows."""
TURN = _any(BREAK.pattern, _words("then which leaving this that it i.e"))
"""Where the last clause of a sentence may begin."""
CONCLUSION = _any(
    r"(?:(?:" + _words("""so thus therefore hence finally overall in_conclusion actually instead no yes okay well and
    but then wait hmm
    sorry definitely correction clearly i_meant? rather""")
    + r"|所以|因此|综上(?:所述)?|故|应该?|那么|而是|我觉得|我认为)[,:;.\s-]{0,3}){0,3}"
    r"(?:(?:i think|i believe|i meant?|i(?: am|'m) \w+ confident)\b)?"
    r"(?:\s?\b(?:it|that|this|which|the one|everything)\b)?"
    r"(?:\s?(?:" + _words("is was (?:must|should|has_to|would)_be corresponds_to matches points_to"
                          " leaves(?:_us_with|_only)? leaving(?:_only)? means only say")
    + r"|i\.e|'s|[就应]?该?是|选))?[,:;.\s]{0,2}"
)  # fmt: skip
"""What may stand before the letter in a last clause that has nothing else: "So it must be C"."""
CORRECTION = _any(
    _words(r"""wait hold_on scratch_that correct(?:ion|ed) on_(?:second|further)_(?:thou?ghts?|reflection|look) oops
    sorry
    my_mistake let_me_(?:re\w+|correct|fix|double) upon_\w+ i_made_an? i_was_(?:wrong|mistaken) changed?_my_mind
    revis\w+ i_take_that_back (?:edit|update)(?=:) correct_(?:myself|that|this) after_re\w+ no,_\w+ on_reflection
    i_mis\w+ espera correcci[óo]n perd[óo]n attend(?:ez|s) pardon warte korrektur corrijo aspetta correzione
    подожди\w* стоп исправ\w* espere desculp\w* mi_correggo je_me_corrige"""),
    r"(?:^|[.!?\n]\s?)(?:hmm+|actually|no|however)\b|\bactually,|不对|不對|等等|等一下|更正|纠正|重新|修正|说错|搞错"
    r"|待って|訂正"
    r"|いや|아니요|잠깐|정정",
)
WITHDRAWN = _any(
    r"(?:that|this|it)(?:'s| is| was| can't be| cannot be)(?: not)? (?:right|correct|quite right|wrong|incorrect)\b"
    r"|n't (?:right|correct)\b|scratch that|my mistake|take that back|不对|不對|错了|有误"
)
DENIED = _any(
    _words(r"""not(?!_difficult|_hard|_surprising|_only) never neither nor cannot without(?!_a_doubt|_doubt|_question)
    avoid
    wrong incorrect false worst least no(?!_doubt|_other|_question) unlikely doubtful improbable weder noch ni ни
    except exclud\w+ rul(?:es?|ed)_out i_doubt eliminat\w+ reject\w* instead_of rather_than unlike than anything_but
    nunca
    incorrect[ao] pas jamais fausse mauvaise incorrecte nicht kein\w* falsche?\w* não errad[ao] non sbagliat[ao]
    не неправильн\w* неверн\w* niet nie bukan salah değil yanlış không sai fout\w* verkeerde inte ikke"""),
    r"n't\b|不|别选|错|勿|没有|并非|排除|誤|間違|틀린|오답|아닌|ليس|خاطئة|गलत",
)
DENIED_AFTER = _any(
    r"[)\]\"'.,*}\s]{0,4}(?:(?:is|are|was|(?:would|can|could|may|might) be|seems|looks)(?: \w+ly| also)? (?:not|wrong"
    r"|incorrect|false|ruled|eliminated|excluded|tempting|a |the wrong)|isn't|wasn't|can't|cannot|can be"
    r"|(?:选项|项)?(?:不(?!是)|错|是错)"
    r"|では(?:ない|ありません|なく)|じゃな|[은는이가] 아[니닙]|no es|n'est pas"
    r"|ist (?:nicht|falsch)|não é|non è|не |değil|नहीं)"
)
SUPPOSED = _any(
    _words("""if(?!_i_had_to) suppos(?:e|ing|ed) assum(?:e|ing|ed) unless imagine whether hypothetically provided_that
    were
    in_case si wenn se если eğer jeśli nếu jika"""),
    r"^\W{0,3}(?:had|should)\b|如果|假如|假设|倘若|若|要是|是否|もし|만약|إذا|अगर|यदि",
)
SUPPOSED_AFTER = _any(
    r"[)\]\"'*,\s]{0,4}(?:(?:if|unless|only if|provided|assuming|were|had|when|in case|si|wenn|se|если)\b"
    r"|的话|吗|か\?|\?)"
)
ATTRIBUTED = _any(
    _words(r"""students? people many some(?:one|body)? others? most_\w+s everyone beginners? learners novices
    candidates key
    colleagues? friends? teacher textbook he she they you one_(?:might|may|could|would) author forum website user
    classmates? neighbou?r mistak\w+ errors? traps? pitfall misconception distractors? tempt\w+ commonly often
    frequently usually typically (?<!second.)(?<!further.)thought initially at_first
    first_(?:instinct|guess|thought|impression) previous\w* earlier (?:other|another|next)_questions? question_\d+
    example misread\w* might may could maybe perhaps seems? appears? second[-_]best naive\w* intuitively
    originally last_(?:year|time) similar guess(?:es|ed|ing)_\w+ estudiantes muchos algunos beaucoup certains
    élèves viele manche einige schüler muitos alguns alunos molti alcuni studenti многие некоторые студенты veel
    sommige errore erreur fehler erro ошибк\w* spesso souvent oft häufig frecuente\w* часто"""),
    "有人|很多|许多|有些|同学|学生|考生|容易|误[选以认]|似乎|起初|一开始|原以为|可能|也许|上一?题|例题|人は|一見"
    "|많은|학생|처음",
)
FRAME = _any(
    r"(?:it|this|that|the|there|he|she|we|these|those|i see|i think)\b[^,;:\n]{0,80}(?<![\w'])(?:is|are|was|were|be"
    r"|shows?"
    r"|will|by|takes?|has|have|contains?|called|'s)(?: (?:an?|the|most likely|clearly|probably|about))*\s+",
    r"[\w ]{0,24}[是为叫有][一二三]?[只个条头位名张]?|\w?\s?=\s?|答:?|(?:it|this|he|she)\s*",
)
"""What may stand before an option's text that ends an answer of one sentence."""
REFUSAL = _any(
    r"\b(?:i|we)(?:'m| am| are)? (?:\w+ )?" + _words("""cannot can_not can't could(?:n't|_not) won't will_not unable_to
    lack not_able_to not_comfortable
    do(?:n't|_not)_(?:know|have) must_decline have_to_decline refuse decline"""),
    r"\b(?:unable|impossible|inappropriate)(?: for me)? to (?:answer|assist|help|determine|identify|tell|choose|say)",
    r"\b(?:cannot|can't|can not|could not) (?:be (?:answer|determin|decid|identif)\w*|say)|\bi'?m (?:just )?an ai\b",
    r"\bas an? (?:ai|artificial|(?:large )?language model|assistant)\b|\bi apologi[sz]e\b",
    r"\bi(?:'m| am) (?:so |very )?sorry\b|^\W{0,3}(?:sorry|unfortunately)\b",
    r"\b(?:(?:no|not) (?:enough|sufficient)|insufficient) information",
    r"(?:无法|不能|没法|無法|难以|拒绝)[^。\n]{0,16}(?:回答|判断|确定|確定|作答|提供|给出|选择|帮助|识别|看到|解答"
    r"|讨论)"
    r"|抱歉|对不起|對不起|不知道|不清楚|信息不足|\bneed (?:more|additional|further) (?:context|information)",
)
LONE = re.compile(
    r"(?:[^\w]|\\[a-z]+)*(?:(?:option|choice|letter|answer|选项|选择?|答)\W{0,4})?(?P<letter>[a-z])"
    r"(?:\W{1,3}(?P=letter)){0,60}(?:\s?(?:选项|项|吧|です|입니다))?[\W_]*",
    re.IGNORECASE,
)
SKIP = re.compile(
    r"(?:[\s:=,>…–—-]|\.\.\.|\b(?:the|option|choice|letter|answer|alternative|most|likely|probably|clearly|definitely"
    r"|therefore|thus|indeed|simply|actually|obviously|it|is|i think|be|number|la|die|opci[óo]n|opção|opzione"
    r"|вариант|буква|lettre|(?:a )?letra|r[ée]ponse|respuesta|r[ei]sposta|antwort|ответ)\b|选项?|選項|选择|是|为){0,6}",
    re.IGNORECASE,
)
SEVERAL = re.compile(r"(?:both|either|all of|any of|an? (?:combination|mix)|among|between|one of)\b|都|以上", re.I)
JOIN = re.compile(
    r"[)\]\"'.}$】\s]{0,4}(?:\([^()\n]{1,60}\)\s?)?(?P<sep>[,;/&+|、]|\b(?:and|or|plus|and/or|as well as|y|o|und|oder"
    r"|et|ou|e|и|или)\b|和|或者?|与|及|以及|跟|と|か|または|및|또는|[와과])?\s{0,4}"
    r"(?:(?:and|or|also|und|oder|possibly|maybe)\s{1,2}){0,2}(?:(?:option|choice"
    r"|选项)\s?)?(?:\\f?boxed)?[(\[\"'【{$]{0,3}"
    r"(?P<letter>[A-Za-z])(?![A-Za-z0-9'\u00c0-\u04ff])(?P<after>[^\n]{0,24})"
)
LEADING = re.compile(
    r"[ \t>#\-•✓✔✅\"'(\[【]{0,6}(?:(?:option|choice|选项) ?)?(?P<letter>[a-z])(?P<mark>[ \t]?[.:)\]】、,–—-]{1,3}"
    r"|[ \t]*(?=\n)|,?(?=[ \t]+(?:because|since|as|due|rather than|not)\b)|(?=(?:选项|项)?[,。因]))",
    re.IGNORECASE,
)
OPENER = re.compile(
    r"\W*(?:the|this|that|it|an?|because|since|as|in|explanation|reason\w*|if|we|by|there|these|they|when|here|its|to"
    r"|for|based"
    r"|using|given|from|my|although|while|other|option|both|all|only|what|not|many|some|most|students|people|do|don't"
    r"|be|one"
    r"|selecting|choosing|picking|[a-j])\b|\W*[\u3040-\uffff]",
    re.IGNORECASE,
)
CONNECTIVES = _any(
    r"\W{0,9}(?:(?:so|therefore|thus|hence|overall|i think|the|my|best|correct|right|final|that)\W{1,9}){0,6}"
)
