"""The sandbox of templates: what no template reaches, makes or changes."""

import os
import time
from pathlib import Path

import pytest

from assay.core import AssayError, Image, Message, Sample, TemplateError, Text
from assay.rendering import PlainSandbox, limits
from assay.templates import build_template

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    """A sample with everything a row can bring: a file, bytes, messages, nested values."""
    picture = tmp_path / "picture.png"
    picture.write_bytes(PNG)
    row = {
        "question": "Which?",
        "options": ["x", "y"],
        "meta": {"a": {"b": 1}},
        "path": picture,
        "raw": PNG,
        "n": 3,
    }
    return Sample(
        "s1",
        (Message("user", (Text("Hi"),)),),
        "B",
        ("x", "y"),
        row,
        (Image(picture), Image(PNG)),
        {"t": "u"},
    )


ESCAPES = [
    "{{ ''.__class__ }}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''['__class__'] }}",
    "{{ ''|attr('__class__') }}",
    "{{ ''|attr('\\x5f\\x5fclass\\x5f\\x5f') }}",
    "{{ [''] | map(attribute='__class__') | list }}",
    "{{ [''] | groupby('__class__') }}",
    "{{ ['', 'a'] | sort(attribute='__class__') }}",
    "{{ [''] | sum(attribute='__class__', start='') }}",
    "{{ [''] | map('attr', '__class__') | list }}",
    "{{ '{0.__class__.__mro__}'.format('') }}",
    "{{ '{x.__class__}'.format_map({'x': 1}) }}",
    "{{ ('{0.__class__}' | attr('format'))('') }}",
    "{{ ['{0.__class__}'] | map('format', 1) | list }}{{ ''.__init__ }}",
    "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
    "{{ cycler('a').__init__.__globals__ }}",
    "{{ joiner.__init__.__globals__ }}",
    "{{ namespace.__init__.__globals__ }}",
    "{{ namespace(x=1).__class__ }}",
    "{{ range.__globals__ }}",
    "{{ dict.__base__.__subclasses__() }}",
    "{{ dict.fromkeys([1]) }}",
    "{{ dict.mro() }}",
    "{{ lipsum.__globals__ }}",
    "{{ self.__init__.__globals__ }}",
    "{{ self._TemplateReference__context }}",
    "{% macro m() %}{% endmacro %}{{ m.__globals__ }}",
    "{% macro m() %}{% endmacro %}{{ m._func.__globals__ }}",
    "{% for x in [1] %}{{ loop.__class__ }}{% endfor %}",
    "{% for x in [1] %}{{ loop._iterator }}{% endfor %}",
    "{% set x = sample.media[0].source %}{{ x }}",
    "{{ (sample.media[0].source.parent / '../x').write_text('owned') }}",
    "{{ sample.media[0].source.read_text() }}",
    "{{ sample.media[0].source.unlink() }}",
    "{{ sample.media[0].data() }}",
    "{{ sample.media[0].hold() }}",
    "{{ sample.media[0].fault('x') }}",
    "{{ sample.media[1]._bytes }}",
    "{{ path.unlink() }}",
    "{{ path.parent }}",
    "{{ sample.path.write_text('x') }}",
    "{{ sample.fields.path.write_text('x') }}",
    "{{ raw.decode() }}",
    "{{ raw.hex() }}",
    "{{ question.encode() }}",
    "{{ question.translate({}) }}",
    "{{ question.maketrans('a', 'b') }}",
    "{{ options.append('z') }}",
    "{{ options.sort() }}",
    "{{ options.clear() }}",
    "{{ options.__iadd__(['z']) }}",
    "{{ meta.update({'x': 1}) }}",
    "{{ meta.pop('a') }}",
    "{{ meta.setdefault('z', 1) }}",
    "{{ meta.clear() }}",
    "{{ meta.__class__ }}",
    "{{ sample.named('other') }}",
    "{{ input[0].parts }}",
    "{{ input[0].__class__ }}",
    "{{ n.__class__ }}",
    "{{ n.real.__class__ }}",
    "{{ n.to_bytes(1, 'big') }}",
    "{{ (1.5).fromhex('1') }}",
    "{{ True.__class__ }}",
    "{{ none.__class__ }}",
    "{{ (options | map('upper')).gi_frame.f_globals }}",
    "{{ (options | map('upper')).gi_code }}",
    "{{ (x for x in options) }}",
    "{{ options.__getitem__(0).__class__ }}",
    "{{ undefined_name.__class__ }}",
    "{{ ''.join.__self__.__class__ }}",
    "{{ ''.format.__self__ }}",
    "{{ ''.format.__wrapped__.__self__ }}",
    "{{ ''.format.__globals__ }}",
    "{{ caller.__globals__ }}",
    "{{ varargs }}",
    "{{ (1, 2)._fields }}",
    "{{ get_flashed_messages.__globals__ }}",
    "{{ config }}",
    "{{ request.application.__globals__ }}",
    "{% include '/etc/passwd' %}",
    "{% import 'os' as os %}{{ os }}",
    "{% extends '/etc/passwd' %}",
    "{% from 'os' import popen %}{{ popen }}",
    "{% do options.append(1) %}",
    "{% debug %}",
    "{{ environment }}",
    "{{ context }}",
    "{{ __builtins__ }}",
    "{{ [].__class__.__base__ }}",
    "{{ ({}.items()).mapping }}",
    "{{ ({}.items()).__class__ }}",
    "{{ question | safe | attr('__html__') }}",
    "{{ (question | safe).__html__() }}",
    "{{ (question | safe).__class__ }}",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_a_template_that_reaches_out_is_refused_and_changes_nothing(
    text, sample, tmp_path
):
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}

    with pytest.raises(AssayError) as caught:
        build_template(text)(sample)

    assert "root:" not in str(caught.value)
    assert {
        name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)
    } == before
    assert not (tmp_path.parent / "x").exists()
    assert sample.fields["options"] == ["x", "y"] and sample.fields["meta"] == {
        "a": {"b": 1}
    }


BOMBS = [
    "{{ 'x' * 10**9 }}",
    "{{ 10**9 * 'x' }}",
    "{{ [0] * 10**9 }}",
    "{{ 'x'.center(10**9) }}",
    "{{ 'x'.ljust(10**9) }}",
    "{{ 'x'.rjust(10**9) }}",
    "{{ 'x'.zfill(10**9) }}",
    "{{ '\t'.expandtabs(10**9) }}",
    "{{ '\t'.expandtabs(tabsize=10**9) }}",
    "{{ 'x' | center(10**9) }}",
    "{{ 'x' | center(width=10**9) }}",
    "{{ 'x' | indent(10**9, true) }}",
    "{{ 'x' | indent(width=10**9, first=true) }}",
    "{{ '%1000000000d' | format(1) }}",
    "{{ '%*d' | format(10**9, 1) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%.1000000000f' % 1 }}",
    "{{ '%(a)1000000000s' | format(a=1) }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:.1000000000f}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10**9) }}",
    "{{ '{:{w}}'.format(1, w='1000000000') }}",
    "{{ 10**(10**9) }}",
    "{{ 2**1000000000 }}",
    "{{ 1 | round(10**9, 'floor') }}",
    "{{ 1 | round(-10**9) }}",
    "{{ [1] | batch(10**9, 'x') | list }}",
    "{{ [1] | slice(10**9) | list }}",
    "{{ {'a': 1} | tojson(indent=10**9) }}",
    "{{ lipsum(10**9) }}",
    "{{ range(10**9) | list }}",
    "{% for i in range(100000) %}{% for j in range(100000) %}a{% endfor %}{% endfor %}",
    "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}",
    "{% for i in range(100000) | map('string') %}{% for j in range(99999) | map('int') %}{% endfor %}{% endfor %}",
    "{% set x = namespace(v='aaaaaaaa') %}{% for i in range(60) %}{% set x.v = x.v ~ x.v %}{% endfor %}",
    "{% set x = namespace(v='aaaaaaaa') %}{% for i in range(60) %}{% set x.v = x.v + x.v %}{% endfor %}",
    "{% set x = namespace(v=['a']) %}{% for i in range(60) %}{% set x.v = x.v + x.v %}{% endfor %}",
    "{% set x = namespace(v=['a']) %}{% for i in range(60) %}{% set x.v = [x.v, x.v] %}{% endfor %}{{ x.v }}",
    "{% set x = namespace(v=['a']) %}{% for i in range(60) %}{% set x.v = [x.v, x.v] %}{% endfor %}{{ x.v|string }}",
    "{% set x = namespace(v=['a']) %}{% for i in range(60) %}{% set x.v = [x.v, x.v] %}{% endfor %}{{ x.v|tojson }}",
    "{% set x = namespace(v='a') %}{% for i in range(60) %}{% set x.v %}{{ x.v }}{{ x.v }}{% endset %}{% endfor %}",
    "{% set x = namespace(v='aa') %}{% for i in range(60) %}{% set x.v = x.v.replace('a', x.v) %}{% endfor %}",
    "{% set x = namespace(v='aa') %}{% for i in range(60) %}{% set x.v = x.v|replace('a', x.v) %}{% endfor %}",
    "{% set x = namespace(v='aa') %}{% for i in range(60) %}{% set x.v = x.v.join(x.v) %}{% endfor %}",
    "{% set x = namespace(v='aa') %}{% for i in range(60) %}{% set x.v = x.v|join(x.v) %}{% endfor %}",
    "{% set x = namespace(v='aa') %}{% for i in range(60) %}{% set x.v = '{0}{0}'.format(x.v) %}{% endfor %}",
    "{% set x = namespace(v='aa') %}{% for i in range(60) %}{% set x.v = '%s%s' % (x.v, x.v) %}{% endfor %}",
    "{% set x = namespace(v='aa\n') %}{% for i in range(60) %}{% set x.v = x.v|indent(x.v) ~ x.v %}{% endfor %}",
    "{% set x = namespace(v=3) %}{% for i in range(60) %}{% set x.v = x.v * x.v %}{% endfor %}{{ x.v }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% for x in [1] recursive %}{{ loop([1, 1]) }}{% endfor %}",
    "{{ range(100000) | map('center', 90000) | list }}",
    "{{ range(100000) | map('center', 90000) | join }}",
    "{{ 'x'.join(range(100000) | map('center', 90000)) }}",
    "{{ 'abcdefgh ' * 1000000 | wordwrap(1, true, 'y' * 100000) }}",
    "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "{% if 1 %}" * 300 + "{% endif %}" * 300,
    "{% for x in [1] %}" * 60 + "{% endfor %}" * 60,
]


@pytest.mark.parametrize(
    "most", [500_000, pytest.param(limits.MAX_CHARACTERS, marks=pytest.mark.costly)]
)
def test_a_template_that_runs_away_is_refused_in_one_line(most, sample, monkeypatch):
    monkeypatch.setattr(limits, "MAX_CHARACTERS", most)
    wrong = []
    for text in BOMBS:
        started = time.process_time()
        try:
            build_template(text)(sample)
            wrong.append(f"{text[:80]} is not refused")
        except AssayError as error:
            wrong += (
                [f"{text[:80]} is refused in several lines"]
                if "\n" in str(error)
                else []
            )
        seconds = time.process_time() - started
        wrong += (
            [f"{text[:80]} takes {seconds:.1f} s"] if seconds > 60 else []
        )  # without a bound it would be for ever

    assert wrong == []


ORDINARY = {
    "{{ question | upper | replace('W', 'w') }}": "wHICH?",
    "{{ question.strip('?').lower().split('i')[0] }}": "wh",
    "{{ '%s of %03d' | format(question, n) }}": "Which? of 003",
    "{{ '{:>4}|{q}'.format(n, q=question) }}": "   3|Which?",
    "{{ options | join(', ') }} {{ ', '.join(options) }}": "x, y x, y",
    "{{ options | map('upper') | join }}": "XY",
    "{{ meta.a.b + 1 }} {{ meta['a']['b'] * 2 }} {{ 2 ** 10 }}": "2 2 1024",
    "{% for k, v in meta.items() %}{{ k }}={{ v }}{% endfor %}": "a={'b': 1}",
    "{% for o in options %}{{ loop.index }}/{{ loop.length }}{{ o }}{{ loop.last }} {% endfor %}": (
        "1/2xFalse 2/2yTrue "
    ),
    "{% set ns = namespace(k=0) %}{% for o in options %}{% set ns.k = ns.k + 1 %}{% endfor %}{{ ns.k }}": "2",
    "{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(question) }}": "<Which?>",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}a{% endcall %}": "<a>",
    "{{ choices }} {{ letters }} {{ target }}": "('x', 'y') ('A', 'B') B",
    "{{ sample.id }} {{ sample['question'] }} {{ sample.tags.t }} {{ sample.fields.n }}": "s1 Which? u 3",
    "{{ input[0].role }}: {{ input[0].text }}": "user: Hi",
    "{{ {'a': [1, none]} | tojson }} {{ 2.55 | round(1) }}": '{"a": [1, null]} 2.5',
    "{{ 'ab' * 3 }} {{ n ~ 'x' }}": "ababab 3x",
    "{{ [{'k': 1}, {'k': 2}] | sum(attribute='k') }}": "3",
    "{% for g in [{'k': 1}] | groupby('k') %}{{ g.grouper }}{{ g.list | length }}{% endfor %}": "11",
    "{{ raw }}": "[8 bytes]",
    "{{ cycler('a', 'b').next() }}{% set j = joiner(',') %}{{ j() }}{{ j() }}": "a,",
    "{% block b %}x{% endblock %}{{ self.b() }}": "xx",
    "{{ 'a\nb' | indent(2) }}": "a\n  b",
}


@pytest.mark.parametrize("text", ORDINARY)
def test_what_templates_are_written_with_works(text, sample):
    prompt = build_template(text)(sample)

    assert prompt.messages[0].text == ORDINARY[text]


def test_a_medium_in_a_text_becomes_a_part_at_its_position(sample):
    prompt = build_template("First {{ sample.media[0] }} then {{ sample.media[1] }}.")(
        sample
    )

    assert prompt.messages[0].parts == (
        Text("First "),
        sample.media[0],
        Text(" then "),
        sample.media[1],
        Text("."),
    )


def test_media_shown_by_messages_come_once(sample):
    prompt = build_template(
        [{"role": "user", "content": "{{ sample.media[1] }} what?"}]
    )(sample)

    assert prompt.messages[0].parts == (sample.media[1], Text(" what?"))


def test_a_path_rendered_from_a_sample_is_its_medium_and_no_file(sample):
    content = [{"type": "image", "image": "{{ sample.media[0] }}"}]
    prompt = build_template([{"role": "user", "content": content}])(sample)

    assert prompt.messages[0].parts == (sample.media[0],)


def test_a_medium_where_only_words_can_stand_is_the_word_for_it(sample):
    built = build_template({"prompt": "Q", "answer": "see {{ sample.media[0] }}"})

    assert built.answer(sample) == "see [image]"


def test_a_long_row_is_not_a_runaway():
    row = {"text": "word " * 400_000}

    built = build_template(
        "{{ text | trim }}\n{% for w in text.split() %}{% endfor %}end"
    )
    prompt = built(Sample("a", "", fields=row))

    assert prompt.messages[0].text.endswith("end")


def test_the_error_names_the_template_and_the_limit(sample):
    with pytest.raises(TemplateError) as caught:
        build_template("{{ 'x' * 10**9 }}", where="quiz.yaml, key `template`")(sample)

    assert str(caught.value) == (
        "quiz.yaml, key `template`, sample 's1': the template produces too much: more than 20,000,000 characters, "
        "or as many steps; fix: write less, or write the template as a Python function"
    )


def test_the_globals_of_a_template_are_a_plain_dictionary_of_its_own():
    sandbox = PlainSandbox()

    template = sandbox.from_string("{{ range(n)|sum }}", globals={"n": 4})

    assert type(template.globals) is dict  # Jinja copies them for every rendering
    assert "n" not in sandbox.globals
    assert template.render() == "6"
