"""The words of `choice_rules`, as data: how a sentence leads up to an answer, declares it, and may go on.

In a pattern `_` is a blank and a new line is nothing. A table has phrases between blanks; those of scripts that put
blanks between words are whole words, those of other scripts may stand anywhere.
"""

import re

from .choice_marks import MARK, OWN


def _any(*patterns: str) -> re.Pattern[str]:
    joined = re.sub(r"\n\s*", "", "|".join(patterns)).replace("_?", r"\s*").replace("_", r"\s+")
    return re.compile(joined, re.IGNORECASE | re.MULTILINE)


def _words(table: str) -> str:
    """One expression for all phrases of a table, the longest first."""
    phrases = sorted(re.sub(r"\s+\|", "|", table).split(), key=len, reverse=True)
    dense = [phrase for phrase in phrases if re.search(r"[\u0600-\u1cff\u2e80-\uffff]", phrase)]
    return rf"(?:\b(?:{'|'.join(one for one in phrases if one not in dense)})\b{''.join('|' + one for one in dense)})"


_BEST = r"""correct true appropriate right best final only closest chosen selected valid my our (?:one_)?remaining
    single nearest actual
    most_(?:likely|probable|appropriate|accurate|plausible|suitable|reasonable|logical|fitting|relevant|precise)"""
_ANSWER = _words("""answers? solution respuestas? respostas? risposta r[ée]ponses? antwort antwoord jawaban(?:nya)?
    đáp_án (?:cevap|cevab|yan[ıi]t)[ıi]?m? odpowied[źz] відповідь варіант alternativ svar(?:et)? l[öo]sung soluci[óo]n
    câu_trả_lời lựa_chọn ответ вариант (?:op[cç][ióãa]+n?o?|opzione|option|alternativa)_(?:corr?e[ct]+[ae]|certa|giusta)
    bon_choix bonne_option elecci[óo]n escolha scelta gabarito juiste_optie (?:richtige|korrekte)_(?:option|wahl)
    الإجابة الجواب الخيار (?:सही_)?(?:उत्तर|विकल्प|जवाब)""")
_OF_IT = r"""(?:_?\([\w\s]{1,20}\)|,?_(?:therefore|thus|then|clearly|obviously|of_course|not_surprisingly|definitely),?
    |,_(?:based_on|given|from|in_my|as)\b[^,\n]{2,40},|_(?:left|choice|option|letter|here|correct[ae]?|corrett?[ao]
    |certa|giusta|e[xs]att?a|juste|finale?|definitiva|yang_(?:benar|tepat)|saya|akhir|đúng|chính_xác|của_tôi|الصحيحة
    |الصحيح|(?:to|for|of|among)_(?:(?:this|the|your)(?:_\w+)?_)?(?:question|problem|options|choices|quiz|riddle|these
    |this(?:_one)?)|(?:that|which)_(?:best|fits|matches|works|makes)\b(?:_[\w']+){0,6}?|most_consistent_with(?:_\w+){1,4}?|(?:i|we)(?:'d|_would)?_(?:get
    |choose|pick|give|find|reach|(?:a|we)re_looking_for)))*"""
_IS = rf"(?:\bto(?=\W*[{MARK}])|'s\b|[:=]|[-=]>|→|⇒|[-–—](?=\s)|" + _words(r"""is
    (?:must|should|has_to|can_only|will)(?:_\w+)?_be to_be turns_out_to_be
    would_(?:therefore|thus|then|indeed)_be sia sea seja es est ist é è är er luidt brzmi jest lautet это
    является adalah ialah là будет هي هو""") + ")"
_NOT_BUT = rf"(?:no_es|não_é|non_è|n'est_pas|ليست)(?=\W*[{MARK}]\W*(?:sino|e_sim|bensì|بل)\b)"
_OPTION = "(?:answer|option|choice|alternative|selection|pick|guess|response|letter|statement|match|fit|conclusion|one)"
DECLARATIONS: dict[str, str] = {
    "boxed": r"\\f?boxed\s?\{?[{\s]{0,2}(?:option|choice|answer)?",
    "answer-tag": r"<\s?(?:final\x5f?)?(?:answer|choice|option)\s?>",
    "answer-key": r"""["'](?:\w{2,9}\x5f)?(?:answer|choice|option|letter
        |prediction)["']\s?:\s?\{?\s?(?:["']\w{3,9}["']\s?:)?""",
    "declared": rf"""{_ANSWER}{_OF_IT}_?(?:{_IS}|would_be\b|{_NOT_BUT})
        |{_words(_BEST)}_(?:and_\w+_)?{_OPTION}\b{_OF_IT}_?(?:{_IS}|would_be\b)|^\W{{0,4}}(?:(?:(?:final|my|the|correct
        |best|right|chosen|short)_)*(?:final|answer(?:_key)?|ans|decision|vote|verdict|summary|output|prediction|result
        |solution|assistant|correct|tl;dr|{_OPTION})\s?[:=-]|ans\.|(?:final_)?answer[^\w{MARK}]{{0,4}}$)|\b(?:one_(?:you
        |we)_(?:want|need)|what_(?:remains|is_left)(?:_and_\w+_\w+)?|(?:option|choice|statement|one)_(?:that|which)_(?:is
        |should|best|fits|matches|works|satisfies)(?:_[\w']+){{0,6}}?)_is\b|\b(?:that|which|this)_(?:leaves|gives_us)\b(?:_with|_us_with|_only)?
        |(?:答案|正[确確]的?选?[项項]?|选项)(?:应该?|應該?|应当|就|便|只能)?(?:选择|是|为|為|选|選|即|:|=|】)
        |答案[】\]]?(?=\s*[{MARK}][\s{OWN}]*(?:[,.。]|$))|(?:정답|답안|답|올바른_(?:선택지|것)|옳은_것)(?:은|는|이|:|=)
        |正しくは|最も適切なのは|(?:答え|解答|正解|回答|正しい(?:選択肢|もの|答え))(?:の\S{{1,6}})?(?:は|が|:|=|】)
        |(?:सही_)?(?:उत्तर|विकल्प|जवाब)|"""
    + _words("""doğru_cevap (?:правильный|верный)_(?:ответ|вариант) ответом_является
        (?:c'est|il_s'agit_de)_(?:donc_)?la_réponse ist_antwort doğru_seçenek верен_вариант richtig_ist
        (?:ist|lautet)_die_(?:richtige_|korrekte_)?antwort
        (?:ответ|cevap|antwort|réponse|respuesta)(?=\\s\\W?[{MARK}])"""),
    "chosen": r"""\b(?:i|we)(?:'d|'ll|'m|'ve)?(?:_(?:would|will|must|should|have_to|am_going_to|am|are|have|thus|now
        |hereby))*_"""
    + _words("""choose select pick go_(?:with|for) going_(?:with|for) say guess vote take end_up_with left_with opt_for
        vote_for settled?_on conclude answer submit answer_with choosing chosen? selected picked chose lean_towards?
        (?:change|revise)_(?:it|my_answer)_to
        (?:switch|switching)_(?:my_answer_)?to""")
    + r"|\b(?:choose|select|pick|mark|go_with|tick)\b|选择?|選擇?|" + _words("""je_choisis je_prends j'opte_pour
        ich_nehme ich_entscheide_mich_für je_dirais ich_w[äa]hle elijo escojo selecciono opt[oe]_p[oe]r escolho marco
        scelgo ik_kies(?:_voor)? wybieram jag_väljer выбираю обираю أختار chọn memilih"""),
}  # fmt: skip
"""What stands before a declared letter. The rule that is recorded is the key."""
_VERDICT = rf"""(?:(?:option|choice|answer|letter|statement|antwort|الخيار|opci[óo]n|opção|opzione|alternativa|optie
    |вариант|odpowiedź|选项|答案|選択肢)_?){{0,2}}["'(\[]{{0,2}}(?P<cue>)(?P<mark>[{MARK}])[)\]"',.:\s{OWN}]*+(?:(?:is
    |must_be|has_to_be|(?:seems|appears)(?:_to_be)?|would_be(?=_the_best|_my))(?:_(?:indeed|clearly|the|my|our|final
    |only|most|one))*_(?:correct|right|best|appropriate|accurate|answer|choice|true|consistent|left
    |{_OPTION}_that_\w+)\b|it_is\b(?=\W*$|\.)|is(?=[.!]?\s*$)|correct\b(?=\W*$)|(?:as_)?the_(?:correct|right
    |best)_{_OPTION}|(?:best_)?(?:fits|describes|matches|works|remains|survives|holds|wins)\b|(?:es|está
    |jest)_(?:la_)?(?:respuesta_)?(?:corr?ec?t[ao]|poprawna)|stimmt|верен|is_juist|صحيح|[–—-]_(?:правильный
    |верный)_ответ|est_(?:la_(?:bonne_)?r[ée]ponse|correct)|ist_(?:die_)?(?:richtig|korrekt)
    |[éè]_(?:l?a_)?(?:r[ei]sposta_)?corr?ett?[ao]|です。?$|입니다\.?$|が正解|が正しい|だと思います|라고_생각
    |번?[가이은는]_(?:정답(?!이_아)|맞)|を選|를_선택|(?:选项|項|项)?(?:是|才是|为|就是)?(?:正[确確](?!吗|的?[?吗])
    |符合题意|对的))"""
GOES_ON = _any(r"[^\w.!\n]*(?:at|about|only|when|for|in|as|too|also|if|unless|enough|to)\b|[^.!\n]*\?")
"""What makes the verdict on an option one of several."""
CORRECTION = _any(r"(?:^|[.!?\n]\s?)(?:hmm+|actually|no(?!_es)|however)\b|\bactually,|[,–—-]\s?no,", _words(r"""wait
    hold_on correct(?:ion|ed) on_(?:second|further)_(?:thou?ghts?|reflection|look) oops sorry
    let_me_(?:re\w+|correct|double) (?:scratch|strike)_that moment(?=,) or_rather just_kidding upon_\w+
    i_(?:made_an?|mis\w+|was_(?:wrong|mistaken)|take_that_back) my_mistake revis\w+ on_reflection
    changed?_(?:my_mind|it|my_answer) (?:to|must|should)_correct (?:edit|update)(?=:) correct_(?:my|myself|that|this)
    after_re\w+ no,_\w+ espere? correcci[óo]n perd[óo]n attend(?:ez|s) pardon warte korrektur corrijo aspetta correzione
    подожди\w* стоп исправ\w* desculp\w* 不对 不對 等等 等一下 更正 纠正 重新 修正 说错 搞错 待って 訂正 いや 아니요
    잠깐 정정"""))
WITHDRAWN = _any(r"""(?:that|this|it)(?:'s|_is|_was)_(?:not_(?:quite_)?(?:right|correct)|wrong|incorrect)\b|n't_(?:right
    |correct)\b|(?:can't|cannot)_be_(?:right|correct)|contradicts|stimmt_nicht|(?:scratch|strike)_that|kidding
    |my_mistake|take_that_back|不对|不對|错了|有误""")
_CONTRAST = """(?<!anything.)but however yet still instead(?!_of) aber pero mais mas ma но بل 但是? 而是 不过 改 其实
    实际上 しかし ですが ましたが 지만"""
CONTRAST = _any(CORRECTION.pattern, _words(_CONTRAST))
BREAK = _any(CORRECTION.pattern, r"[;→⇒…]|[-=]>|#{2,}|\.\.\.|[,–—-]_and\b|,_which\b|\bi\.e\.", _words(f"""
    leaving(?:_only|_us_with)? {_CONTRAST} so(?!_(?:is|are|was)) therefore thus hence consequently accordingly makes
    leaves(?:_only|_us_with)? donc daher deshalb also folglich somit portanto quindi dunque поэтому значит следовательно
    所以 因此 因而 故 可知 可见 于是 したがって よって だから 따라서 그러므로 그래서"""))
"""Where a new clause begins: what stands before it is not said of what follows."""
LEAD = _any(rf"""(?:[{MARK}][.:)]{{1,2}}{OWN}*\s(?=\w))?(?:[^\w"{MARK}{OWN}]|'s?|""" + _words(rf"""{_BEST} the an
    a(?=\s+\Z) and so therefore thus hence then here i_disagree(?=:) finally overall alright okay ok well sure yes great
    if_i_had_to_(?:guess|choose|pick) now also ultimately clearly obviously definitely certainly actually
    indeed again consequently as_a_result
    in_(?:conclusion|summary|short|sum|the_end|fact) in_this_case on_balance all_in_all to_(?:sum_up|conclude)
    for_(?:this|these)_reasons? please you_should let's let_me that's_why step_\d+ (?:not_|un)surprisingly
    it_is_(?:not_)?(?:difficult|hard|easy)_to_see (?:there_is_)?no_doubt conclusion summary result verdict
    there_is_(?:only_)?one explanation reasoning solution answer(?=:) l tl dr response output assistant myself
    scratch_that,? (?:good|great)_question of_course undoubtedly after_\w+_the_\w+ after_checking
    without_(?:an?y?_)?doubt (?:the_)?letter_of inst is_that your that(?:_is|_was|'s)_(?:wrong|incorrect|not_right)
    here's (?:that|this|here|which)_is that it_follows (?:my|the)_conclusion_is
    (?:i|we)(?:'m|_am|'d|'ve|_have|_are)?(?:_(?:\w+ly|can|would|must|quite|pretty|very|still|now|then))*_(?:think|believe|concluded?|say|find|get|see|know|confident|sure|certain|convinced|determined?|decided?)(?:_it(?=_is))?
    it(?:_is|'s)_(?:\w+_)?(?:clear|evident|obvious|certain|safe_to_say)
    (?:this|that|which|it|everything)(?:_\w+ly)?_(?:means|implies|shows|indicates|suggests|tells_us|confirms|proves|gives(?:_us)?|makes|leads_(?:me_|us_)?to(?:_the_conclusion)?)
    la el mi nuestra ma mia minha o die meine das het mijn den det mitt min moja correct[ae] corr?ett?[ao] giusta
    richtige korrekte endgültige beste bonne juste exacte finale? definitiva juiste goede correcte rätta? riktige?
    korrekta yo eu io ik я por_(?:lo_)?tanto por_eso entonces así_que luego en_conclusi[óo]n par_conséquent ainsi alors
    ich_denke,?(?:_dass)? je_pense_que creo_que acho_que (?:я_)?(?:думаю|считаю),?_что 私は penso_che demnach logo assim
    então pertanto perciò dus daarom därför мой итак верны[йм] правильны[йм] таким_образом doğru bu_nedenle prawidłowa
    poprawna właściwa zatem więc vậy do_đó jadi tôi saya 综上(?:所述)? 最[终后] 正[确確] 標準 标准 題目 下列 以下 说法
    中 我们?(?:认为|觉得|的)? [本此该]题 这(?:道|个)?题 题目 参考 得出 由此 那么 则 而 显然 的 就 可以? 会 只能 应该?
    應該? 请 答 所以 因此 故 综合 可知 最佳 唯一 つまり ゆえに 以上より 正しい 最終的な この問題の 私の 최종 올바른 제
    저는 सही इसलिए अतः मेरा ここでは لذلك فإن إذن правильн[аи]й?""") + ")*+")
"""All that may stand between the beginning of a clause and its declaration."""
CONCEDES = _any(r"""\W*(?:though|although|while|whereas|unlike|despite|even|aunque|bien_que|obwohl|embora|sebbene|хотя
    |(?:and_)?(?:not|neither|nor|no_es|non_è|ce_n'est_pas|nicht)|ليس)\b|\W*不是""")
OPENER = _any(r"\W*" + _words(r"""instead_of regarding as_for since because given based_on after considering comparing
    using applying having taking putting eliminating ruling_out rounding combining examining weighing judging
    looking_(?:at|closely|back) due_to taken_together overall once from_(?:the|this|these|what|that|our|here|all)
    by_(?:elimination|process|definition|comparing|applying|using|the)
    in_(?:the_(?:end|context)|this|light|view|other_words|my_(?:view|opinion|judge?ment))
    as_(?:asked|the_(?:passage|text|figure|table|graph)|a_result|it_stands|we|shown|stated|seen|noted|such)
    of_(?:the|these|all|those) among between all_things under_the(?:se)? contrary_to rather_than po?[ae]?r_\w+ taken
    if_i_ha(?:d|ve)_to out_of on_(?:the_whole|this_basis|closer_\w+)
    as_it_is_worded now_that for_(?:this|these) to_(?:answer|recap)
    with_(?:this|these)(?=,) with_(?:this|that|these|all)_(?:\w+_)?(?:in_mind|information|evidence|said)
    according_to_(?:the|this)_(?:\w+_)?(?:text|passage|figure|graph|table|chart|image|data|law|rule|theorem|formula)
    como dado puesto_que ya_que según_el tras puisque comme étant vu selon_le d'après après da weil nach aufgrund poiché
    siccome dato visto dopo já_que após так_как поскольку исходя после учитывая"""), r".*[\u3040-\ud7ff].*[,、]\s*\Z")
"""How a clause before a comma may begin, if the sentence is to declare an answer."""
IDLE = _any(_words(r"""if(?!_i_ha) unless suppos\w+ assum\w+ imagin\w+ pretend\w* whether hypothe\w+ naive\w*
    careless\w* alternat\w+ scenario first_(?:glance|sight|look) reversed? opposite last previous earlier next old
    version different students? people mistak\w+ (?:an)?other(?!_(?:options?|choices?|answers?|three|two|ones))
    misread\w* beginners? si wenn se если
    (?:wrong|incorrect|faulty|flawed|usual|popular|common)_(?!and|but|as|because|since|for|in|so)\w+ 如果 假如 假设 倘若
    若 要是 是否 有人 很多 许多 有些 同学 学生 考生 容易 误 可能 也许 或许 大概 似乎 说 以为 上一?题 例题 もし 人は 一見
    かもしれ たぶん 만약 많은 학생 아마 إذا अगर यदि शायद"""))
"""What supposes, doubts or reports: no clause with it declares an answer."""
REPORTED = _any(_words(r"""students? people beginners? others? some(?:one|body)? many most everyone he she you
    (?:my|a|the)_(?:\w+_)?(?:friend|colleague|teacher|neighbou?r|brother|sister|tutor|author|classmate|user)""") + r"""
    [^.]{0,40}\b(?:sa(?:y|id)|th(?:ink|ought)|believe|argue|reason|claim|answer|ch[oe]+se|pick|insist|conclude|guess)
    |\b(?:mistake|careless|naive|trap|misread|ignor)|有人|同学|学生|考生""")
"""What others say; only what is said against it counts."""
_CLOSE = rf"[)\]\"'}}$*】》」』>|{OWN}]*+"
ENDS = _any(rf"""[.:]?{OWN}*[)\]]|[.:]?{_CLOSE}(?:\s*(?:\Z|[\n.!。।]|[,،:;(–—…<\\【\[{{&-]|$)|_?(?:because|since|due_to
    |which|as_(?:it|the|this|an?)|given|based_on|not|rather_than|instead_of|and_(?:\w+ly_)?not|over|here(?=\W|\Z)|among
    |with_the|on_(?:the|my|your)_answer|(?:to|for)_(?:this|the)_question|i_(?:think|believe)|is_(?:the_)?(?:correct
    |right|best|answer)|et_non|korrekt|richtig|qui_convient|y_no|und_nicht|e_non|pues|porque|car|weil|perché|потому
    |а_не)\b|\s?(?:选项|项|吧|了|因|而[不非]|です|である|だ|でしょう|となり|입니다|이다|번|이며|이고|है|şıkk
    |seçene))""")
"""What may stand behind a declared option."""
REASON = _any(_words("because since as due_to which given though although even_though"))
IF = _any(_words("""(?<!even.)if unless provided assuming supposing according_to supposedly allegedly
    (?:they|people|some)_say or_so only_(?:if|when|for) si wenn se если eğer jika nếu 如果 的话"""))
REPORTS_BACK = _any(r"""\W*(?:(?:at_least|or)\W*)?(?:(?:that|this|such|it)(?:'s|_is|_was|_would_be)_(?:what|how|not
    |wrong|incorrect|false|only_if|the_(?:\w+_)?(?:view|mistake|trap)|a_(?:common|typical))|or_so_|so_(?:say|said|goes
    |think))""")
_SKIP = r"(?:[\s:=,>…–—{}-]|\.\.\.|" + _words("""the option choice letter answer alternative most likely probably
    clearly definitely therefore thus indeed simply actually obviously it is i_think be number
    in_my_(?:view|opinion) la die opci[óo]n opção
    opzione буква вариант lettre letra r[ée]ponse respuesta r[ei]sposta antwort ответ donc also a(?=\\W) 选项? 選項 选择
    是 为""")
_SKIP += rf"|\([\w\s]{{1,12}}\)|(?:not|nicht|не)_\W?[{MARK}]{_CLOSE},?_(?:but|sondern|а)\b|[{MARK}]{_CLOSE}"
_SKIP += r"(?:,?_(?:sino|e_sim|bensì|بل)\b|ではなく[,、]?|[가이]_아니라)){0,6}"
A_MARK, MARKED, CLAUSE = _any(f"[{MARK}]"), _any(rf"[^\w{MARK}]*[{MARK}]"), _any(r"[,、:–—]|،|\s(?=(?:the|my)\s)")
SKIP, OPEN = _any(_SKIP), _any(r"[\s\"'(\[{<$\\【「『]{0,9}")
_CONCLUDED = r"""(?:\A|(?<=[\s>→⇒…,:\u3040-\ud7ff]))(?=[^\s=>→⇒…,:为-])(?!(?<=so\s)is\b
    |(?<=no\s)es\b)(?<!\d[.)]\s)(?<!strike\s)(?P<cue>(?:(?:it|that|this|the_one
    |everything)\b_?)?(?:""" + _words("""is (?:must|should|has_to|would)_be corresponds_to matches points_to only es é è
    c'est il_s'agit_de это i_meant? say""") + rf"""|'s|[就应]?该?是|选
    |(?<![{MARK}];\s))){_SKIP}[^\w{MARK};.!?+]{{0,9}}(?P<mark>[{MARK}])(?:[\s.,!)\]}}"'。$】*|{OWN}]*+\Z
    |[)\]{OWN}]*\s?,?[^\S\n]+(?:not|rather_than|instead_of)_)"""
"""A last clause that has nothing but its letter: "So it must be C"."""
NO_CONCLUSION = _any(rf"""\?\s*\Z|[{MARK}](?:[.:)]*{OWN}+|[)\]])*+,?_?(?:and|or|plus|und|oder|y|o|et|ou|和
    |或)?[^\S\n]*\Z|^[^\w\n{MARK}]*[{MARK}][^\n]*\n[^\w\n{MARK}]*\Z""")
FRAME = _any(rf"""(?:(?:it|this|that|the|there|he|she|we|these|i_see|i_think)\b[^,;:.!?\n{MARK}]{{0,80}}(?:'s
    |(?<![\w'])(?:is|are|was|were|be|shows?|will|by|takes?|has|contains?|called))(?:_(?:an?|the|most_likely|clearly
    |probably|about))*\s|[\w\s]{{0,24}}[是为叫有][一二三]?[只个条头位名张]?|\w?\s?=\s?|答:?|(?:it|this|he|she)\s)\s*""")
"""What may stand before an option's text that ends an answer of one sentence."""
TEXT_ENDS = _any(r"""(?:[^\S\n]|["')])*(?:\((?:option_|choice_)?\(?[A-Z]\)\W*|,_option_[A-Z]\b
    |_?[–—-]_that's_[A-Z]\b)?(?:(?P<line>[.!。]?\s?\n|\Z)|[.!。](?!\w)\s*|,_(?:not|rather)\b[^.\n]*\.?\Z)""",
    r"(?<=yes)(?P<said>,)|(?<=no),|(?<=true),|(?<=false),|(?<=[是否]),")  # fmt: skip
REFUSAL = _any(r"\b(?:i|we)(?:'m|_am|_are)?_(?:\w+_)?" + _words("""cannot can_not can't could(?:n't|_not) won't will_not
    lack unable_to not_able_to not_comfortable do(?:n't|_not)_(?:know|have) (?:must|have_to)_decline refuse decline
    sorry apologi[sz]e"""), r"""\b(?:unable|impossible|inappropriate)(?:_for_me)?_to_(?:answer|assist|help|determine
    |identify|tell|choose|say)|\b(?:cannot|can't|can_not|could_not)_(?:be_(?:answer|determin|decid|identif)\w*|say)
    |\bi(?:'m|_am)_(?:just_)?an_ai\b|\bas_an?_(?:ai|artificial|(?:large_)?language_model|assistant)\b|^\W{0,3}(?:sorry
    |unfortunately)\b|\b(?:not?_(?:enough|sufficient)|insufficient)_information|\bneed_(?:more|further)_(?:context
    |information)|(?:无法|不能|没法|無法|难以|拒绝)[^。\n]{0,16}(?:回答|判断|确定|確定|作答|提供|给出|选择|帮助|识别
    |看到|解答|讨论)|抱歉|对不起|對不起|不知道|不清楚|信息不足""")
_REMARK = _words(r"""the this that it an? in if we there these they my i option choice both all only what not many some
    most sorry wait no oops hmm actually students people be do don't one were beginners [\u3040-\ud7ff]""")
"""How a remark behind a leading letter begins; a name does not: "J. Smith"."""
LEADING = _any(rf"""(?:[^\w{MARK}]|\\[a-z]+)*+(?:(?:i_(?:think|believe|guess|would_say)_)?(?:option|choice|letter|answer
    |it's|it_is|it_has_to_be|that's|选项|选择?
    |答)[^\w{MARK}]{{0,4}})?(?P<mark>[{MARK}])[)\]"'】]{{0,3}}(?:[\s.,]{{1,3}}(?P=mark)){{0,60}}(?!["'.,*}}\s{OWN}]*(?:(?:is(?!_what)
    |are|was|be|isn't|wasn't|can't|cannot|can|would|could|may|might|seems|looks|if|unless|no_es|n'est|ist|não|non|не
    |değil)\b|\?.|选?项?(?:不|错|是错)))(?:(?P<own>[.:),–—-]{{1,2}}{OWN}+|{OWN}++(?![)\]]?[^\S\n]*\w))
    |(?P<bare>(?:\s?(?:选项|项|吧|です|입니다))?[^\w\n{MARK}]*(?:\n[^\w{MARK}]*)?(?:\Z|(?<=\n)|(?<=\n\s)))
    |(?P<reason>[,.:–—-]?\s{{0,3}}(?:because|since|as|due|rather_than|(?:and_)?not|never|obviously|clearly|definitely
    |of_course|for_sure|i_think|i_believe)\b|(?:选项|项)?(?:,(?=[\u3040-\ud7ff])|。|因))|(?P<remark>[:\]】、]
    |(?<=[)\]】])\s|\)|\s?[.–—-]\W*(?:{_REMARK}|[{MARK}](?!\.)|\d)|\s?[.–—]\s+(?-i:[A-Z])[a-z]+,?_(?!wrote|sa(?:id|ys)
    |argued|was|has|et\b|and)[a-z({MARK}]|,\W*(?:as|the|this|it|i)\b))""")
WITH_TEXT = _any(rf"[^\w{MARK}]*(?P<mark>[{MARK}])[.:)]{{1,2}}{OWN}+")
DENIES = _any(_words(r"""not no nor never neither \w+n't cannot wrong incorrect false less worse unlikely
    except but however nein nicht kein\w* non pas ne nunca nem não не нет 不 没 错 非 ない 違 아니 않 틀 ليس नहीं"""))
_AND = _words(r"""and/or and or plus as_well_as but_also
    i_also_(?:choose|pick|select|think|say|take) y o u und oder et ou e of en lub albo i veya ya_da
    ve hoặc hay và atau dan и или 和 或者? 与 及 以及 跟 还是 とか? か または それとも および 및 또는 아니면 이나 [와과]
    أو या और""")
_TO = r"_?(?:(?:and|or|also|und|oder|possibly|maybe|perhaps)\b_?)*(?:(?:option|choice|选项)_?)?(?:\\f?boxed)?"
_TO += r"[(\[\"'{}$\s【]*"
JOINED = _any(rf"""[)\]"'.}}{{$:\s(】{OWN}]*+(?:(?:,\s*)?{_AND}|[/&+|、]){_TO}(?P<strong>[{MARK}])
    |(?:[)\]"'}}$:(】{OWN}]|\.(?!\s(?![{MARK}]\W*$))|[^\S\n])*+[,;]?(?!\s*\n){_TO}(?P<weak>[{MARK}])(?:[^\w\n{MARK}]*+(?:(?:and|or|和
    |或)[^\w\n{MARK}]*+)?[{MARK}])*+(?=[)\]"'}}\s.】{OWN}]*+(?:$|[,;/&+|、。!?)\n<]|(?:and|or|both)\b|都
    |are\b(?!_(?:wrong|incorrect|not|false))))|(?:[.:)\]][^\n]*\n[^\w\n{MARK}]{{0,6}}(?:option_)?
    |(?:[.:)\]、]+[^\S\n]?(?!not\b|never\b)\w[^\s.:,!?{MARK}]{{0,20}}
    |[.:)\]、]*[^\S\n]*{OWN}+)[^\S\n]*)(?P<next>[{MARK}])(?:[.:)、]|{OWN})""")
"""What joins an option to another: "A and B", "A, B", a list."""
LINE_MARK = _any(rf"^[^\w\n{MARK}]{{0,6}}(?:option_)?(?P<mark>[{MARK}])[^\w\n{MARK}]{{0,6}}$")
SENTENCE_END = _any(r"""\n|[!?。;।]["')]?|(?<!\b[A-Za-z])\.["')\]\x5f$\\]*(?=\s|$)|\.(?=\s{1,4}(?-i:[A-Z])[a-z])
    |(?<=[\d$}\]\x5f])\s*(?=(?-i:The|So|Thus|Therefore)\s)""")
BESIDE = _any(rf"[^.!?。\n{MARK}]*\Z|[^\S\n]*[^\w\n{MARK}]*(?:(?:the|and|or|so|和|或)[^\w\n{MARK}]*){{0,3}}")
RULES = {rule: _any(f"(?P<cue>{cue})") for rule, cue in DECLARATIONS.items()}
RULES |= {"verdict": _any(_VERDICT), "concluded": _any(_CONCLUDED)}
