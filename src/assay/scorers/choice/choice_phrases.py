"""The words of `choice_rules`, as data: what declares an answer in each language, and what takes its force away.

A table holds phrases separated by blanks; `_` is a blank within one, and a phrase may be a regular expression. Phrases
of scripts that put blanks between words are whole words, those of other scripts may stand anywhere.
"""

import re

from .choice_marks import MARK, OWN


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases).replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE)


def _words(table: str) -> str:
    """One expression for all phrases of a table."""
    phrases = [phrase.replace("_", " ") for phrase in table.split()]
    spaced = [phrase for phrase in phrases if not re.search(r"[\u0600-\uffff]", phrase)]
    dense = [phrase for phrase in phrases if phrase not in spaced]
    return "(?:" + "|".join([rf"\b(?:{'|'.join(spaced)})\b"] * bool(spaced) + dense) + ")"


_ANSWER = _words("""answers? solution respuestas? respostas? risposta r[ée]ponses? antwort antwoord jawaban(?:nya)?
    cevap odpowied[źz] svar(?:et)? l[öo]sung đáp_án câu_trả_lời ответ вариант (?:opci[óo]n|alternativa)_corr?e[ct]+a
    opç[ãa]o_corret[ao] opzione_corretta option_correcte bon_choix bonne_option
    (?:richtige|korrekte)_(?:option|wahl) الإجابة الجواب उत्तर जवाब""")
_IS = _words(r"""(?:is|was) (?:must|should)(?:_\w+)?_be (?:has_to|can_only|will|would|to)_be es est ist é è är er
    lautet adalah ialah là будет هي هو""")
_SO_IS = rf"(?:{_IS}|\bto(?=\W*[{MARK}])|'s\b|[:=]|[-=]>|→|⇒|[-–—](?= ))"
_RIGHT = _words(r"correct right best final only closest chosen selected valid my our most_\w+ (?:one_)?remaining")
_OPTION = _words("option choice alternative selection pick guess response letter statement match conclusion vote one")
_LABEL = _words("final option choice letter output prediction selected? result ans correct response solution assistant")
_CHOOSE = _words("""choos(?:e|ing) chosen? select(?:ed|ing)? pick(?:ed|ing)? go_with go_for going_with say guess
    opt_for vote_for prefer settled?_on lean_towards? take conclude submit answer answer_with
    (?:change|revise)_(?:it|my_answer)_to switch_to""")
_GAP = rf"(?:(?!\bansw|{_IS})[^\n.!?:;=。{MARK}]){{0,60}}?"

DECLARATIONS: dict[str, tuple[str, ...]] = {
    "boxed": (r"\\f?boxed\s?\{?[{\s]{0,2}(?:option|choice|answer)?",),
    "answer-tag": (r"<\s?(?:final_?)?(?:answer|choice|option)\s?>",),
    "answer-key": (
        r"[\"'](?:\w{2,9}_)?(?:answer|choice|option|letter|prediction)[\"']\s?:\s?\{?\s?(?:[\"']\w{3,9}[\"']\s?:)?",
    ),
    "declared": (
        rf"{_ANSWER}(?: (?:choice|option)\b)?{_GAP}{_SO_IS}", rf"{_RIGHT} (?:(?:and )?\w+ )?{_OPTION}{_GAP}{_SO_IS}",
        rf"^\W{{0,4}}(?:{_LABEL}\s?[:=-]|(?:final |correct )?answer[^\w{MARK}]{{0,4}}$)",
        rf"\b(?:what (?:remains|is left)|(?:option|choice|statement) (?:that|which))\b{_GAP}\bis\b",
        r"\b(?:that|which) leaves\b|\b(?:option|choice|statement) (?:that|which) is \w+ is\b",
        r"(?:答案|正[确確]的?选?[项項]?|选项)(?:应该?|應該?|应当|就|便|只能)?(?:选择|是|为|為|选|選|即|:|=|】)",
        rf"答案[】\]]?(?=\s*[{MARK}][\s{OWN}]*(?:[,.。]|$))",
        r"(?:答え|解答|正解|回答|正しい(?:選択肢|もの|答え))(?:の\S{1,6})?(?:は|が|:|=)",
        r"(?:정답|답안|답|올바른 (?:선택지|것))(?:은|는|이|:|=)",
        _words("""doğru_cevap (?:правильный|верный)_(?:ответ|вариант) ответом_является richtig_ist
    ist_die_(?:richtige|korrekte)_antwort (?:सही_)?(?:उत्तर|विकल्प|जवाब)"""),
    ),
    "chosen": (
        r"\b(?:i|we)(?:'d|'ll|'m|'ve)?(?: (?:would|will|must|should|have to|am going to|am|have))?(?: (?:therefore"
        r"|thus|then"
        r"|now))? "
        + _CHOOSE,
        r"(?:^|\b(?:so|therefore|thus|hence|please|you should"
        r"|let's),? )" + _words("choose select pick mark go_with tick"),
        _words("je_choisis je_prends ich_w[äa]hle ich_nehme elijo escojo escolho scelgo ik_kies выбираю"),
        r"(?:故|应该?|應該?|所以|因此|因而|我会?|本题|就|综上|可|只能|^|[,。;…])(?:我|本题)?(?:选择?|選擇?)",
    ),
}  # fmt: skip
"""What stands before a declared letter. The rule that is recorded is the key."""
_VERDICT = (
    rf"(?:^|(?<=[^\w\s{MARK}])|(?<=[\u3040-\uffff])|\b(?:options?|choice|answer|letter|that|so|hence|thus|therefore"
    rf"|think"
    rf"|believe|say|is|only|but|and|then|clearly|statement|the|because|sure"
    rf"|makes?))(?P<cue>)(?=[^\w{MARK}]{{0,6}}[{MARK}]"
    rf"[)\]\"',.:\s{OWN}]*+(?:(?:is|must be|has to be|would be(?= the best))(?: (?:indeed|clearly|therefore|thus"
    rf"|definitely"
    r"|the|my|our|only|most|one|obviously))* (?:correct|right|best|appropriate|accurate|answer|choice|pick|consistent"
    r"|true"
    r"|(?:option|one) that (?:fits|matches|works))\b|it is\b(?=\W*$)|(?:as )?the (?:correct|right|best) (?:answer"
    r"|option|choice)|best (?:fits|describes|matches)"
    r"|es (?:la )?(?:respuesta )?correct[ao]|est (?:la (?:bonne )?r[ée]ponse|correct)|ist (?:die )?(?:richtig|korrekt)"
    r"|[ée] a (?:resposta )?corret[ao]|è (?:la )?(?:risposta )?corrett[ao]|です。?$|입니다\.?$|が正解|が正しい"
    r"|[가이은는] (?:정답(?!이 아)|맞)|を選|를 선택|(?:选项|項|项)?(?:是|才是|为|就是)?(?:正[确確](?!吗|的?[?吗])"
    r"|符合题意"
    r"|对的)))"
)
"""An option called right. It counts where nothing is declared and only one option is called so."""
_BREAK = r"[,:]|[-=]>|→|⇒|…|#{2,}|(?<!anything.)\bbut\b|" + _words("""however so(?!_(?:is|are|was)) therefore thus
    hence consequently yet still we_get we_find donc daher deshalb also portanto quindi поэтому значит aber pero
    mais mas ma но 所以 因此 因而 故 但 而是 可知 应 したがって よって 따라서""")
BREAK = _any(_BREAK)
"""Where a new clause begins: what was denied, supposed or said by others before it is not said of what follows."""
_SKIP = (
    r"(?:[\s:=,>…–—-]|\.\.\.|"
    + _words("""the option choice letter answer alternative most likely probably clearly definitely therefore thus
    indeed simply actually obviously it is i_think be number la die opci[óo]n opção opzione буква вариант lettre
    letra r[ée]ponse respuesta r[ei]sposta antwort ответ donc also a(?=\\W) 选项? 選項 选择 是 为""")
    + "){0,6}"
)
_CONCLUDED = (
    rf"(?:\A|[\n!?。;]|(?<!\d)\.\s|{_BREAK}|" + _words("then which leaving this that it i.e") + r")\s*(?=(?P<cue>(?:"
    + _words("""so(?!_(?:is|are|was)) thus therefore hence finally overall in_conclusion actually instead no yes
    okay well and but then wait hmm sorry definitely correction clearly i_meant? rather 所以 因此 综上(?:所述)? 故
    应该? 那么 而是 我觉得 我认为""")
    + r"[,:;.\s-]{0,3}){0,3}(?:(?:i think|i believe|i meant?|i(?: am|'m) \w+ confident)\b)?"
    r"(?:\s?\b(?:it|that|this|which|the one|everything)\b)?(?:\s?(?:" + _words("""is was
    (?:must|should|has_to|would)_be corresponds_to matches points_to leaves(?:_us_with|_only)? leaving(?:_only)?
    means only say""")
    + rf"|i\.e|'s|[就应]?该?是|选))?){_SKIP}[^\w{MARK}]{{0,9}}[{MARK}]"
    rf"(?:[\s.!)\]}}\"'。$】*|{OWN}]*+\Z|[)\]{OWN}]*\s?,? (?:not|rather than|instead of) ))"
)  # fmt: skip
"""A last clause that has nothing but its letter: "So it must be C"."""
CORRECTION = _any(
    r"(?:^|[.!?\n]\s?)(?:hmm+|actually|no|however)\b|\bactually,|[,–—-]\s?no,", _words(r"""wait hold_on scratch_that
    correct(?:ion|ed) on_(?:second|further)_(?:thou?ghts?|reflection|look) oops sorry my_mistake
    let_me_(?:re\w+|correct|fix|double) upon_\w+ i_made_an? i_was_(?:wrong|mistaken)
    changed?_(?:my_mind|it|my_answer) revis\w+ i_take_that_back (?:to|must|should)_correct (?:edit|update)(?=:)
    correct_(?:my|myself|that|this) after_re\w+ no,_\w+ on_reflection i_mis\w+ espere? correcci[óo]n perd[óo]n
    attend(?:ez|s) pardon warte korrektur corrijo aspetta correzione подожди\w* стоп исправ\w* desculp\w*
    mi_correggo je_me_corrige 不对 不對 等等 等一下 更正 纠正 重新 修正 说错 搞错 待って 訂正 いや 아니요 잠깐 정정"""),
)  # fmt: skip
WITHDRAWN = _any(
    r"(?:that|this|it)(?:'s| is| was)(?: not (?:quite )?(?:right|correct)| wrong| incorrect)\b|n't (?:right|correct)\b"
    r"|(?:can't|cannot) be (?:right|correct)|scratch that|my mistake|take that back|不对|不對|错了|有误"
)
DENIED = _any(
    r"n't\b", _words(r"""not(?!_difficult|_hard|_surprising|_only) never neither nor cannot avoid wrong incorrect
    false without(?!_(?:any?_|a_)?(?:doubt|question)) worst least no(?!_doubt|_other|_question) unlikely doubtful
    improbable weder noch except exclud\w+ rul(?:es?|ed)_out i_doubt eliminat\w+ reject\w* instead_of rather_than
    unlike than anything_but ni ни nunca incorrect[ao] pas jamais fausse mauvaise incorrecte nicht kein\w*
    falsche?\w* não errad[ao] non sbagliat[ao] не неправильн\w* неверн\w* niet nie bukan salah değil yanlış không
    sai fout\w* verkeerde inte ikke 不 别选 错 勿 没有 并非 排除 誤 間違 틀린 오답 아닌 ليس خاطئة गलत"""),
)  # fmt: skip
UNDONE = _any(
    rf"(?<=[{MARK}])[)\]\"'\s{OWN}]*+(?:选项|项)?(?:不(?!是)|错|是错|では(?:ない|ありません|なく)|じゃな"
    rf"|[은는이가] 아[니닙]"
    rf"|नहीं)|(?:[)\]\"']?{OWN}++)?[)\]\"'.,*}}\s]*+(?:(?:is|are|was|(?:would|can|could|may|might) be|seems|looks)"
    r"(?: \w+ly| also)? (?:not|wrong|incorrect|false|ruled|eliminated|excluded|tempting|a |the wrong)|isn't|wasn't"
    r"|can't"
    r"|cannot|can be|no es|n'est pas|ist (?:nicht|falsch)|não é|non è|не |değil)",
    rf"[)\]\"'*,\s{OWN}]*+(?:(?:if|unless|only if|provided|assuming|were|had|when|in case|si|wenn|se|если)\b|的话|吗"
    rf"|か\?|\?)",
)
"""What follows an answer that is denied or only supposed."""
SUPPOSED = _any(
    r"^\W{0,3}(?:had|should|were|say|let|consider)\b", _words(r"""(?:for|expect|want)_the_(?:\w+_)?answer_to_be
    if(?!_i_had_to) unless imagine suppos(?:e|ing|ed) assum(?:e|ing|ed) whether hypothe\w+ assumption scenario
    provided_that in_case depend(?:s|ing) si wenn se если eğer jeśli nếu jika 如果 假如 假设 倘若 若 要是 是否 もし
    만약 إذا अगर यदि"""),
)  # fmt: skip
_OTHERS = _words(r"""students? people many some(?:one|body)? others? most_\w+s everyone beginners? learners novices
    candidates key(?!:) colleagues? friends? teacher textbook he she they you(?!_should) author forum website
    user classmates? (?<!this.)(?<!which.)one_(?:might|may|could|would) neighbou?r mistak\w+ errors? traps? pitfall
    misconception commonly distractors? tempt\w+ often frequently usually typically (?<!second.)(?<!further.)thought
    initially at_first first_(?:instinct|guess|thought|impression) previous\w* earlier
    (?:other|another|next)_questions? question_\d+ example misread\w* might may could maybe perhaps seems? appears?
    second[-_]best naive\w* intuitively originally similar last_(?:year|time) guess(?:es|ed|ing)_\w+ estudiantes
    muchos algunos beaucoup certains élèves viele manche einige schüler muitos alguns alunos molti alcuni studenti
    многие некоторые студенты veel sommige errore erreur fehler erro ошибк\w* spesso souvent oft häufig frecuente\w*
    часто 有人 很多 许多 有些 同学 学生 考生 容易 误[选以认] 似乎 起初 一开始 原以为 可能 也许 上一?题 例题 人は
    一見 많은 학생 처음 quiz[áa]s? tal_vez podr[íi]a ser[íi]a peut-être pourrait serait vielleicht könnte wäre
    möglicherweise talvez poderia seria forse potrebbe sarebbe misschien zou возможно может наверное belki olabilir
    może có_thể có_lẽ mungkin ربما शायद 아마 かもしれ たぶん 或许 大概 恐怕""")
ATTRIBUTED = _any(r"\w\W{0,3}\"(?:the\b|(?=answer|correct))|(?<!我)说(?!明)", _OTHERS)
REPORTED = _any(r"\b(?:that|where|case|says?|said|claims?|thinks?|believes?|told|whom)\W*(?:(?:the|my|its|their) )?\Z")
OWN_VIEW = _any(
    _words(r"""i we us me this so follows clear\w* evident obvious certain confident sure conclu\w+ means? implies
    shows? indicates? suggests? know doubt see""")
)
"""Who may say that the answer is B: whoever writes, or the facts."""
FRAME = _any(
    r"(?:it|this|that|the|there|he|she|we|these|those|i see|i think)\b[^,;:\n]{0,80}(?<![\w'])(?:is|are|was|were|be"
    r"|shows?"
    r"|will|by|takes?|has|have|contains?|called|'s)(?: (?:an?|the|most likely|clearly|probably|about))*\s+",
    r"[\w ]{0,24}[是为叫有][一二三]?[只个条头位名张]?|\w?\s?=\s?|答:?|(?:it|this|he|she)\s*",
)
"""What may stand before an option's text that ends an answer of one sentence."""
REFUSAL = _any(
    r"\b(?:i|we)(?:'m| am| are)? (?:\w+ )?" + _words("""cannot can_not can't could(?:n't|_not) won't will_not
    unable_to lack not_able_to not_comfortable do(?:n't|_not)_(?:know|have) must_decline have_to_decline refuse
    decline"""),
    r"\b(?:unable|impossible|inappropriate)(?: for me)? to (?:answer|assist|help|determine|identify|tell|choose|say)",
    r"\b(?:cannot|can't|can not|could not) (?:be (?:answer|determin|decid|identif)\w*|say)|\bi'?m (?:just )?an ai\b",
    r"\bas an? (?:ai|artificial|(?:large )?language model|assistant)\b|\bi apologi[sz]e\b|\bi(?:'m"
    r"| am) (?:\w+ )?sorry\b",
    r"^\W{0,3}(?:sorry|unfortunately)\b|\b(?:(?:no|not) (?:enough|sufficient)|insufficient) information",
    r"(?:无法|不能|没法|無法|难以|拒绝)[^。\n]{0,16}(?:回答|判断|确定|確定|作答|提供|给出|选择|帮助|识别|看到|解答"
    r"|讨论)",
    r"抱歉|对不起|對不起|不知道|不清楚|信息不足|\bneed (?:more|additional|further) (?:context|information)",
)  # fmt: skip
_OPENER = _words(r"""the sorry wait no oops hmm actually this that it an? because since as in explanation reason\w*
    if we by there these they when here its to for based using given from my although while other option both all
    only what not many some most students people do don't be one selecting choosing picking [\u3040-\uffff]""")
"""How a remark behind a leading letter begins; a name does not: "J. Smith"."""
LEADING = _any(
    rf"(?:[^\w{MARK}]|\\[a-z]+)*+(?:(?:option|choice|letter|answer|it's|it is|it has to be|that's|选项|选择?|答)"
    rf"[^\w{MARK}]{{0,4}})?(?P<mark>[{MARK}])[)\]\"'】]{{0,3}}(?:[\s.,]{{1,3}}(?P=mark)){{0,60}}(?:"
    rf"(?P<own>[.:),–—-]{{1,2}}{OWN}+|{OWN}++(?![)\]]?[^\S\n]*\w))"
    rf"|(?P<bare>(?:\s?(?:选项|项|吧|です|입니다))?[^\w\n{MARK}]*(?:\n[^\w{MARK}]*)?(?:\Z|(?<=\n)|(?<=\n\s)))"
    r"|(?P<reason>[,.:–—-]?\s{0,3}(?:because|since|as|due|rather than|not)\b|(?:选项|项)?(?:,(?=[\u3040-\uffff])|。"
    r"|因))"
    rf"|(?P<remark>[:\]】、]|(?<=[)\]】])\s|\)|[.–—-]\W*(?:{_OPENER}|{_OTHERS})|,\W*(?:as|the|this|it)\b))"
)
OTHER_ENTRY = _any(
    rf"(?:^[^\w\n{MARK}]{{0,6}}(?:option )?|[\s,;(\[。?])[\"'(\[]?(?P<mark>[{MARK}])[\"']?\s?"
    rf"(?:\.\)|[):\]、](?=\s?[^\s.,;!?)])|\.(?=\s?\w|{OWN})|\s?[-=]\s)"
)
NO_FRAME = _any(rf"[{MARK}]|(?!\A)[.;!?]\s")
MARKED_FIRST = _any(rf"[^\w{MARK}]*[{MARK}]")
LINE_MARK = _any(rf"^[^\w\n{MARK}]{{0,6}}(?P<mark>[{MARK}])[^\w\n{MARK}]{{0,6}}$")
SENTENCE_END = _any(r"\n|[!?。;।]|(?<!\b[A-Za-z])\.(?=[\"')]?(?:\s|$))|\.(?=\s{1,4}(?-i:[A-Z])[a-z])")
CONCEDES = _any(r"\W*(?:though|although|while|whereas|unlike|despite|even)\b")
TEXT_JOINED = _any(r"\s*(?:,|/|\bor\b|\band\b|或|和)\s*(?:or\b|and\b)?\s*")
BESIDE = _any(rf"[^.!?。\n{MARK}]*\Z|[^\S\n]*[^\w\n{MARK}]*(?:(?:the|and|or|so|和|或)[^\w\n{MARK}]*){{0,3}}")
NO_CONCLUSION = _any(r"\b(?:(?:wrong|incorrect|false|not)\b[^.!]{0,40}\?|(?:each|options|choices)\b[^.!]{0,30}:)$")
CONNECTIVES = _any(
    r"\W{0,9}(?:(?:so|therefore|thus|hence|overall|i think|the|my|best|correct|right|final|that)\W{1,9}){0,6}"
)
SKIP, OPEN = _any(_SKIP), _any(r"[\s\"'(\[{<$\\【「『]{0,9}")
RULES = {rule: _any(f"(?P<cue>{'|'.join(ways)})") for rule, ways in DECLARATIONS.items()}
RULES |= {"verdict": _any(_VERDICT), "concluded": _any(_CONCLUDED)}
