"""The words of `choice_rules`, as data: how a sentence leads up to an answer, declares it, and may go on.

A table holds phrases separated by blanks; `_` is a blank within one, and a phrase may be a regular expression. Phrases
of scripts that put blanks between words are whole words, those of other scripts may stand anywhere.
"""

import re

from .choice_marks import MARK, OWN


def _any(*phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(phrases).replace(" ?", r"\s*").replace(" ", r"\s+"), re.IGNORECASE | re.MULTILINE)


def _words(table: str) -> str:
    """One expression for all phrases of a table, the longest first."""
    table = re.sub(r"\s*\n\s*\|", "|", table)
    phrases = sorted((phrase.replace("_", " ") for phrase in table.split()), key=len, reverse=True)
    spaced = [phrase for phrase in phrases if not re.search(r"[\u0600-\uffff]", phrase)]
    dense = [phrase for phrase in phrases if phrase not in spaced]
    return "(?:" + "|".join([rf"\b(?:{'|'.join(spaced)})\b"] * bool(spaced) + dense) + ")"


_BEST = r"""correct right best final only closest chosen selected valid my our (?:one_)?remaining single nearest
    most_(?:likely|probable|appropriate|accurate|plausible|suitable|reasonable|logical|fitting|correct|consistent
    |comprehensive|relevant|precise|sensible|complete|direct|specific)"""
_RIGHT = _words(_BEST)
_ANSWER = _words("""answers? solution respuestas? respostas? risposta r[ée]ponses? antwort antwoord jawaban(?:nya)?
    (?:cevap|yan[ıi]t)(?:[ıi]m?)? odpowied[źz] svar(?:et)? l[öo]sung oplossing soluci[óo]n solu[çz]i?[ão]o?n?e? đáp_án
    câu_trả_lời lựa_chọn ответ вариант (?:opci[óo]n|alternativa)_(?:corr?e[ct]+a|certa) opç[ãa]o_(?:corret|cert)a
    opzione_(?:corretta|giusta) (?:option|choix)_correcte? bon_choix bonne_option (?:richtige|korrekte)_(?:option|wahl)
    juiste_optie الإجابة الجواب उत्तर जवाब विकल्प""")
_OF_IT = (
    r"(?: ?\([\w ]{1,20}\)|,? (?:therefore|thus|then|clearly|obviously|of course|not surprisingly|definitely),?"
    r"|, (?:based on|given|from|in my|as)\b[^,\n]{2,40},| (?:left|choice|option|letter|here|then|correct[ae]?|corrett?[ao]|certa|giusta|e[xs]att?a|adecuada|juste|finale?|definitiva|yang (?:benar|tepat)|saya"
    r"|akhir|đúng|chính xác|của tôi|cuối cùng"
    r"|الصحيحة|الصحيح|(?:to|for|of|among) (?:(?:this|the|your|these)(?: \w+)? )?(?:question|problem|options|choices|task|quiz|this|these|this one)\b"
    r"|(?:that|which) (?:best|fits|matches|satisfies|correctly|makes)\b(?: [\w']+){0,6}?"
    r"|(?:i|we)(?:'d|'ll| would| will)? (?:get|choose|select|pick|give|arrive at|obtain|find|reach|need|want|(?:a|we)re looking for)))*"
)
_IS = rf"\bto(?=\W*[{MARK}])|" + _words(r"""is (?:must|should|has_to|can_only|will|needs_to)(?:_\w+)?_be to_be es est ist é è är er luidt brzmi jest lautet это является adalah ialah là
    будет هي هو""") + r"|'s\b|[:=]|[-=]>|→|⇒|[-–—](?= )"
_LABEL = (
    r"(?:(?:final|my|the|correct|best|right|chosen|selected|short|overall) )*(?:final|answer|option|choice|letter|decision"
    r"|verdict|selection|pick|answer key|guess|response|conclusion|output|prediction|result|ans|solution|assistant|vote|correct)"
)
_CHOOSE = _words("""choose select pick go_with go_for going_with going_for say opt_for vote_for settle_on conclude answer
    submit answer_with lean_towards? prefer settled?_on choosing selecting picking chosen selected picked chose voting_for
    (?:change|revise)_(?:it|my_answer)_to switch_to""")
DECLARATIONS: dict[str, tuple[str, ...]] = {
    "boxed": (r"\\f?boxed\s?\{?[{\s]{0,2}(?:option|choice|answer)?",),
    "answer-tag": (r"<\s?(?:final_?)?(?:answer|choice|option)\s?>",),
    "answer-key": (
        r"[\"'](?:\w{2,9}_)?(?:answer|choice|option|letter|prediction)[\"']\s?:\s?\{?\s?(?:[\"']\w{3,9}[\"']\s?:)?",
    ),
    "declared": (
        rf"{_ANSWER}{_OF_IT} ?(?:{_IS})", rf"{_RIGHT} (?:and \w+ )?(?:answer|option|choice|alternative|selection|pick|guess"
        rf"|response|letter|statement|match|conclusion|one)\b{_OF_IT} ?(?:{_IS}|would be\b)",
        rf"^\W{{0,4}}(?:{_LABEL}\s?[:=-]|ans\.|(?:final |correct )?answer[^\w{MARK}]{{0,4}}$)",
        r"\b(?:what (?:remains|is left)|(?:option|choice|statement) (?:that|which) (?:is|best|fits|matches|satisfies)"
        r"(?: [\w']+){1,6}?) is\b|\b(?:that|which|this) leaves\b(?: us with| only)?",
        r"(?:答案|正[确確]的?选?[项項]?|选项)(?:应该?|應該?|应当|就|便|只能)?(?:选择|是|为|為|选|選|即|:|=|】)",
        rf"答案[】\]]?(?=\s*[{MARK}][\s{OWN}]*(?:[,.。]|$))",
        r"(?:答え|解答|正解|回答|正しい(?:選択肢|もの|答え))(?:の\S{1,6})?(?:は|が|:|=)",
        r"(?:정답|답안|답|올바른 (?:선택지|것))(?:은|는|이|:|=)",
        _words("""doğru_cevap (?:правильный|верный)_(?:ответ|вариант) (?:правильным_|верным_)?ответом_является richtig_ist
    ist_die_(?:richtige|korrekte)_antwort (?:सही_)?(?:उत्तर|विकल्प|जवाब)"""),
    ),
    "chosen": (
        r"\b(?:i|we)(?:'d|'ll|'m|'ve)?(?: (?:would|will|must|should|have to|am going to|am|have))?"
        rf"(?: (?:therefore|thus|then|now))? {_CHOOSE}",
        r"\b(?:choose|select|pick|mark|go with|tick)\b",
        _words("""je_choisis je_prends j'opte_pour ich_w[äa]hle ich_nehme ich_entscheide_mich_für elijo escojo selecciono opt[oe]_p[oe]r me_quedo_con escolho marco fico_com
    scelgo seleziono ik_kies jag_väljer wybieram выбираю (?:tôi_)?chọn (?:saya_)?(?:memilih|pilih)"""),
        r"选择?|選擇?",
    ),
}  # fmt: skip
"""What stands before a declared letter. The rule that is recorded is the key."""
_VERDICT = (
    rf"(?:(?:option|choice|answer|letter|statement|选项|答案|選択肢) ?){{0,2}}[\"'(\[]{{0,2}}(?P<cue>)(?P<mark>[{MARK}])(?:[)\]\"',.:\s{OWN}]*+(?:"
    r"(?:is|must be|has to be)(?: (?:indeed|clearly|therefore|thus|definitely|the|my|our|only|most|one|obviously))*"
    r" (?:correct|right|best|appropriate|accurate|answer|choice|true|consistent|valid|left|(?:option|one) that (?:fits|matches|works))\b"
    r"|it is\b(?=\W*$)|(?:as )?the (?:correct|right|best) (?:answer|option|choice)|(?:best )?(?:fits|describes|matches|works|remains|makes sense|satisfies)\b"
    r"|es (?:la )?(?:respuesta )?correct[ao]|est (?:la (?:bonne )?r[ée]ponse|correct)|ist (?:die )?(?:richtig|korrekt)"
    r"|[ée] a (?:resposta )?corret[ao]|è (?:la )?(?:risposta )?corrett[ao]|です。?$|입니다\.?$|が正解|が正しい"
    r"|[가이은는] (?:정답(?!이 아)|맞)|を選|를 선택"
    r"|(?:选项|項|项)?(?:是|才是|为|就是)?(?:正[确確](?!吗|的?[?吗])|符合题意|对的)))(?: (?:answer|option|choice|one))?"
)
"""An option called right. It counts where nothing is declared and only one option is called so."""
_CONTRAST = "(?<!anything.)but however yet still nevertheless instead rather aber pero mais mas ma но 但是? 而是 不过 其实 实际上 しかし 하지만"
CORRECTION = _any(
    r"(?:^|[.!?\n]\s?)(?:hmm+|actually|no|however)\b|\bactually,|[,–—-]\s?no,", _words(r"""wait hold_on scratch_that
    correct(?:ion|ed) on_(?:second|further)_(?:thou?ghts?|reflection|look) oops sorry my_mistake
    let_me_(?:re\w+|correct|fix|double) upon_\w+ i_made_an? i_was_(?:wrong|mistaken)
    changed?_(?:my_mind|it|my_answer) revis\w+ i_take_that_back (?:to|must|should)_correct (?:edit|update)(?=:)
    correct_(?:my|myself|that|this) after_re\w+ no,_\w+ on_reflection i_mis\w+ espere? correcci[óo]n perd[óo]n
    attend(?:ez|s) pardon warte korrektur corrijo aspetta correzione подожди\w* стоп исправ\w* desculp\w*
    mi_correggo je_me_corrige 不对 不對 等等 等一下 更正 纠正 重新 修正 说错 搞错 待って 訂正 いや 아니요 잠깐 정정"""),
)  # fmt: skip
CONTRAST = _any(CORRECTION.pattern, _words(_CONTRAST))
BREAK = _any(CORRECTION.pattern, r"[;→⇒…]|[-=]>|#{2,}|\.\.\.|[,–—-] and\b|, which\b|\bi\.e\.|" + _words(f"""so(?!_(?:is|are|was)) therefore thus hence
    consequently accordingly meaning donc daher deshalb also folglich somit portanto quindi dunque поэтому значит
    следовательно 所以 因此 因而 故 可知 可见 于是 したがって よって だから 따라서 그러므로 그래서 {_CONTRAST}"""))
"""Where a new clause begins: what stands before it is not said of what follows."""
LEAD = _any(
    rf"(?:[{MARK}][.:)]{{1,2}}{OWN}*\s)?(?:[^\w\"{MARK}{OWN}]|" + _words(rf"""the an so a(?=\s+\Z) therefore thus hence then(?=,) and finally overall okay ok well sure
    yes great now also ultimately clearly obviously definitely certainly actually indeed again lastly again
    consequently accordingly as_a_result in_(?:conclusion|summary|short|sum|the_end|fact|brief|this_case|total)
    on_balance all_in_all to_(?:sum_up|conclude|summari[sz]e) for_(?:this|these|that)_reasons? because_of_this
    {_BEST} actual please you_should let's let_us
    step_\d+ not_surprisingly unsurprisingly it_is_(?:not_)?(?:difficult|hard|easy)_to_see (?:there_is_)?no_doubt conclusion summary result verdict explanation reasoning solution answer(?=:) tl dr response output assistant myself that(?:_is|_was|'s)_(?:wrong|incorrect|not_right) scratch_that,? (?:that|this|here|which)_is (?:the_)?letter_of defensible inst pick your(?=\s+\Z) yo eu io ik я ich_denke,?
    (?:great|good|nice)_question of_course undoubtedly after_\w+_the_\w+ without_(?:an?y?_)?doubt
    (?:i|we)(?:'m|_am|'d|'ve|_have|_are)?(?:_(?:\w+ly|can|would|must|quite|pretty|very|still|now|then|therefore))*_(?:think|believe|conclude|concluded?|say|find|get|see|know|confident|sure|certain|convinced|determined?|deduced?|infer
    |decided?|arrived?_at)(?:_it(?=_is))? that it(?:_is|'s)_(?:\w+_)?(?:clear|evident|obvious|certain|apparent|safe_to_say) it_follows
    (?:this|that|which|these|it|everything|all_of_this)(?:_\w+ly)?_(?:means?|impl(?:y|ies)|shows?|indicates?|suggests?
    |tells?_us|confirms?|proves?|gives(?:_us)?|makes|leads?_(?:me|us_)?to(?:_the_conclusion)?) (?:my|the)_conclusion_is
    question the_following is_that
    la el mi nuestra notre unsere nossa nostra ma mia minha o die meine das het mijn den det mitt min moja moje correct[ae] corrett[ao] corret[ao] giusta richtige korrekte
    endgültige beste bonne juste exacte finale? definitiva acertada adecuada juiste goede correcte rätta? riktige? korrekta por_(?:lo_)?tanto por_eso entonces así_que luego
    en_conclusi[óo]n par_conséquent ainsi alors c'est_pourquoi l ich_denke,?_dass je_pense_que creo_que acho_que
    penso_che demnach folglich logo assim então pertanto perciò dus daarom därför så мой правильный верный правильным верным итак
    таким_образом окончательный я_думаю,?_что doğru bu_nedenle dolayısıyla prawidłowa poprawna właściwa ostateczna zatem więc dlatego vậy
    do_đó vì_vậy jadi oleh_karena_itu ist_die il_est_clair_que
    综上(?:所述)? 最终 最后 正[确確] 標準 标准 題目 下列 以下 说法 叙述 中 我们?(?:认为|觉得|的)? 本题 此题 该题 这(?:道|个)?题 题目 参考 得出 由此 那么
    则 而 显然 的 就 可以 可 会 只能 应该? 應該? 请 答 所以 因此 因而 故 综合 可知 最佳 唯一
    つまり ゆえに 以上より 正しい 最終的な この問題の 私の 최종 올바른 이_문제의 제 저는 सही इसलिए अतः मेरा
    """) + "|'s?)*+"
)  # fmt: skip
"""All that may stand between the beginning of a clause and its declaration."""
OPENER = _any(r"\W*(?:" + _words(r"""since because given based_on after considering comparing using applying having taking
    putting rounding combining examining weighing judging looking_(?:at|closely|back) due_to owing_to taken_together overall
    from_(?:the|this|these|what|that|our|here|all) by_(?:elimination|process|definition|comparing|applying|using|looking|the)
    in_(?:the_(?:end|context)|this|light|view|other_words|my) as_(?:a_result|we|shown|stated|seen|noted|such|described)
    of_(?:the|these|all|those) among out_of on_(?:the_whole|this_basis|these_grounds) all_things all_told once now_that
    for_(?:this|these) to_(?:answer|recap) with_(?:this|that|these|all)_(?:\w+_)?(?:in_mind|information|evidence|said|reasoning)
    according_to_(?:the|this)_(?:\w+_)?(?:passage|text|figure|graph|table|chart|image|picture|data|law|rule|theorem|formula)
    como dado puesto_que ya_que según_el tras puisque comme étant vu selon_le d'après après da weil nach aufgrund
    basierend poiché siccome dato visto dopo já_que após com_base так_как поскольку исходя после учитывая
    though although while whereas unlike despite even""") + ")")
"""How a clause before a comma may begin, if the sentence is to declare an answer."""
CONCEDES = _any(r"\W*(?:though|although|while|whereas|unlike|despite|even)\b|\W*不是")
IDLE = _any(_words(r"""if unless suppos\w+ assum\w+ imagin\w+ pretend\w* whether hypothe\w+ naive\w* careless\w*
    first_(?:glance|sight|look) alternat\w+ scenario reversed? opposite last previous earlier next old version
    (?:an)?other(?!_(?:options?|choices?|answers?|three|two|ones|alternatives?)) different
    (?:wrong|incorrect|faulty|flawed|usual|popular|common)_(?!and|but|as|because|since|for|in|so)\w+ students? people candidates beginners? mistak\w+ misread\w* si wenn se если
    如果 假如 假设 倘若 若 要是 是否 有人 很多 许多 有些 同学 学生 考生 容易 误 可能 也许 或许 大概 似乎 说 以为 上一?题 例题
    もし 人は 一見 かもしれ たぶん 만약 많은 학생 아마 إذا अगर यदि शायद"""))
"""What supposes, doubts or reports: no clause with it declares an answer."""
REPORTED = _any(_words(r"""students? people candidates beginners? others? some(?:one|body)? many most everyone he she you
    (?:my|a|the)_(?:\w+_)?(?:friend|colleague|teacher|neighbou?r|brother|sister|tutor|author|classmate|user)""")
    + r"[^.]{0,40}\b(?:sa(?:y|id)|th(?:ink|ought)|believe|argue|reason|claim|answer|ch[oe]+se|pick|insist|conclude|guess)"
    + r"|\b(?:mistake|careless|naive|trap|misread)|(?:有人|同学|学生|考生)")  # fmt: skip
"""What others say; only what is said against it counts."""
_CLOSE = rf"[)\]\"'}}$*】》」』>|{OWN}]*+"
ENDS = _any(
    rf"(?P<closed>[.:]?{_CLOSE})(?P<rest>\s*(?:\Z|\n|[.!。।]|[,:;(–—…<\\【\[&-]|\{{|$)| ?(?:because|since|as (?:it|the|this|they|an?)|due to"
    r"|which|given|based on|not|rather than|instead of|and (?:\w+ly )?not|over|here(?=\W|\Z)|on (?:the|my|your) answer|with the|(?:to|for) (?:this|the) question|among|i (?:think|believe|guess)|indeed|it is|is (?:the )?(?:correct|right|best|answer)|et non|y no|und nicht|e non|ed? non"
    r"|pues|porque|car|weil|perché|потому|а не)\b"
    r"|\s?(?:选项|项|吧|了|因|而[不非]|です|である|だ|でしょう|となり|입니다|이다|번|이며|है|şıkk|seçene|。))"
)
"""What may stand behind a declared option."""
REASON = _any(_words("because since as due_to which given"))
IF = _any(_words("""if unless provided assuming supposing according_to supposedly allegedly (?:they|people|some)_say or_so
    only_(?:if|when|for) si wenn se если eğer jika nếu 如果 的话"""))
REPORTS_BACK = _any(
    r"\W*(?:(?:at least|or)\W*)?(?:(?:(?:that|this|such|it)(?:'s| is| was| would be) (?:what|how|the (?:\w+ )?(?:view|mistake|trap)"
    r"|not|wrong|incorrect|false|a (?:common|typical|\w+ly wrong)|only if))|or so |so (?:say|said|claims?|goes|thinks?)\b)"
)
_SKIP = (
    r"(?:[\s:=,>…–—{}-]|\.\.\.|"
    + _words("""the option choice letter answer alternative most likely probably clearly definitely therefore thus
    indeed simply actually obviously it is i_think be number la die opci[óo]n opção opzione буква вариант lettre
    letra r[ée]ponse respuesta r[ei]sposta antwort ответ donc also a(?=\\W) 选项? 選項 选择 是 为""")
    + rf"|\([\w ]{{1,12}}\)|not \W?[{MARK}]{_CLOSE},? but){{0,6}}"
)
_CONCLUDED = (
    r"(?:\A|(?<=[\s>→⇒…,:\u3040-\uffff]))(?=[^\s=>→⇒…,:为-])(?!(?<=so\s)is\b)(?<!\d[.)]\s)(?P<cue>(?:(?:it|that|this|the one|everything)\b ?)?(?:"
    + _words("""is (?:must|should|has_to|would)_be corresponds_to matches points_to leaves(?:_us_with|_only)? leaving(?:_only)?
    only i_meant? say""") + rf"|'s|[就应]?该?是|选)?){_SKIP}[^\w{MARK};.!?+]{{0,9}}(?P<mark>[{MARK}])"
    rf"(?:[\s.,!)\]}}\"'。$】*|{OWN}]*+\Z|[)\]{OWN}]*\s?,? (?:not|rather than|instead of) )"
)  # fmt: skip
"""A last clause that has nothing but its letter: "So it must be C"."""
WITHDRAWN = _any(
    r"(?:that|this|it)(?:'s| is| was)(?: not (?:quite )?(?:right|correct)| wrong| incorrect)\b|n't (?:right|correct)\b"
    r"|(?:can't|cannot) be (?:right|correct)|scratch that|my mistake|take that back|不对|不對|错了|有误"
)
FRAME = _any(
    r"(?:it|this|that|the|there|he|she|we|these|those|i see|i think)\b[^,;:\n]{0,80}(?<![\w'])(?:is|are|was|were|be|shows?"
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
    only what not many some most students people do don't be one selecting choosing picking beginners i
    [\u3040-\uffff]""")
"""How a remark behind a leading letter begins; a name does not: "J. Smith"."""
LEADING = _any(
    rf"(?:[^\w{MARK}]|\\[a-z]+)*+(?:(?:option|choice|letter|answer|it's|it is|it has to be|that's|选项|选择?|答)"
    rf"[^\w{MARK}]{{0,4}})?(?P<mark>[{MARK}])[)\]\"'】]{{0,3}}(?:[\s.,]{{1,3}}(?P=mark)){{0,60}}(?:"
    rf"(?P<own>[.:),–—-]{{1,2}}{OWN}+|{OWN}++(?![)\]]?[^\S\n]*\w))"
    rf"|(?P<bare>(?:\s?(?:选项|项|吧|です|입니다))?[^\w\n{MARK}]*(?:\n[^\w{MARK}]*)?(?:\Z|(?<=\n)|(?<=\n\s)))"
    r"|(?P<reason>[,.:–—-]?\s{0,3}(?:because|since|as|due|rather than|not)\b|(?:选项|项)?(?:,(?=[\u3040-\uffff])|。|因))"
    rf"|(?P<remark>[:\]】、]|(?<=[)\]】])\s|\)|[.–—-]\W*{_OPENER}|,\W*(?:as|the|this|it|i)\b))"
)
OTHER_ENTRY = _any(
    rf"(?:^[^\w\n{MARK}]{{0,6}}(?:option )?|[\s,;(\[。?])[\"'(\[]?(?P<mark>[{MARK}])[\"']?\s?"
    rf"(?:\.\)|[):\]、](?=\s?[^\s.,;!?)])|\.(?=\s?\w|{OWN})|\s?[-=]\s)"
)
GOES_ON = _any(r"\W*(?:about|only|when|for|in|as|too|also|if|unless|enough|to)\b")
UNDONE = _any(
    rf"[)\]\"'.,*}}\s{OWN}]*+(?:(?:is|are|was|(?:would|can|could|may|might) be|seems|looks)(?: \w+ly| also)? (?:not|wrong"
    r"|incorrect|false|ruled|eliminated|excluded|tempting|a |the wrong)|isn't|wasn't|can't|cannot|can be|if\b|unless\b|\?"
    r"|no es|n'est pas|ist (?:nicht|falsch)|não é|non è|не |değil|选?项?(?:不|错|是错))"
)
NO_FRAME = _any(rf"[{MARK}]|(?!\A)[.;!?]\s")
MARKED_FIRST = _any(rf"[^\w{MARK}]*[{MARK}]")
LINE_MARK = _any(rf"^[^\w\n{MARK}]{{0,6}}(?P<mark>[{MARK}])[^\w\n{MARK}]{{0,6}}$")
SENTENCE_END = _any(
    r"\n|[!?。;।][\"')]?|(?<!\b[A-Za-z])\.[\"')\]_$\\]*(?=\s|$)|\.(?=\s{1,4}(?-i:[A-Z])[a-z])"
    r"|(?<=[\d$}\]_])\s*(?=(?-i:The|So|Thus|Therefore) )"
)
TEXT_JOINED = _any(r"\s*(?:,|/|\bor\b|\band\b|或|和)\s*(?:or\b|and\b)?\s*")
BESIDE = _any(rf"[^.!?。\n{MARK}]*\Z|[^\S\n]*[^\w\n{MARK}]*(?:(?:the|and|or|so|和|或)[^\w\n{MARK}]*){{0,3}}")
SKIP, OPEN = _any(_SKIP), _any(r"[\s\"'(\[{<$\\【「『]{0,9}")
RULES = {rule: _any(f"(?P<cue>{'|'.join(ways)})") for rule, ways in DECLARATIONS.items()}
RULES |= {"verdict": _any(_VERDICT), "concluded": _any(_CONCLUDED)}
