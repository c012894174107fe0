"""The prompt templates of the families the testbed brings.

A message without content writes its header alone: no separator follows it, no end-of-turn token. Texts are lists of
parts where the family shows images, and plain where it does not; `rendering.in_either_form` gives a template the form
it knows. `add_generation_prompt` writes the header of whoever ended the last round.
"""

_FIRST_IS_HEAD = "{% if messages[0]['role'] | lower in ['instruction', 'system'] %}"
_LATER = "{% set messages = messages[1:] %}{% endif %}"
_WRITER = "{% if ends %}{% set writer.role = message['role'] %}{% endif %}"
_NAMED = (
    "{% if message['role'] %}{{ message['role'].capitalize() }}@WRITER@"
    "{{ ':' if 'content' not in message or message['content'][0]['type'] == 'image' else ': ' }}{% endif %}"
).replace("@WRITER@", _WRITER)
_PART = "{{ '<image>' if part['type'] == 'image' else part['text'] if part['type'] == 'text' else '' }}"
_BY_NAME = "{{ writer.role.capitalize() + ':' }}"
_MARKED_HEADER = "{{ '<|im_start|>' + @SPEAKER@ + '\\n' }}"
_MARKED_HEAD = "{{ '<|im_start|>' + messages[0]['role'] + '\\n' + messages[0]['content'] + '<|im_end|>\\n' }}"


def _template(head: str, first: str, header: str, body: str, asks: str) -> str:
    """A head, then turns: a header each and, where something is said, a body; at the end the header of who writes.

    `first` is the role that writes as long as nobody has ended a round.
    """
    return (
        f"{head}{{% set asker = messages[0]['role'] %}}{{% set writer = namespace(role='{first}') %}}"
        "{% for message in messages %}{% set ends = loop.last or loop.nextitem['role'] == asker %}"
        f"{header}{{% if 'content' in message %}}{body}{{% endif %}}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{asks}{{% endif %}}"
    )


def _head(text: str, otherwise: str = "") -> str:
    """A first message that instructs, written in its own way and left out of the rounds."""
    later = (
        _LATER
        if not otherwise
        else _LATER.replace("{% endif %}", f"{{% else %}}{otherwise}{{% endif %}}")
    )
    return f"{_FIRST_IS_HEAD}{text}{later}"


def _named_head(end: str) -> str:
    return _head(
        f"{{{{ messages[0]['role'].capitalize() + ': ' + messages[0]['content'] + '{end}' }}}}"
    )


def _marked(head: str, body: str) -> str:
    """Turns between `<|im_start|>` and `<|im_end|>`."""
    header, asks = (
        _MARKED_HEADER.replace("@SPEAKER@", who)
        for who in ("message['role']", "writer.role")
    )
    return _template(head, "assistant", f"{_WRITER}{header}", body, asks)


def _texts(between: str, after: str) -> str:
    """Each text of a message; those of whoever writes are marked as generated."""
    piece = f"{{{{ {between} + part['text'] + {after} }}}}"
    return (
        "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}"
        f"{{% if message['role'] == writer.role %}}{{% generation %}}{piece}{{% endgeneration %}}"
        f"{{% else %}}{piece}{{% endif %}}{{% endfor %}}"
    )


def _images(text: str) -> str:
    return (
        "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}"
        f"{{{{ '{text}' }}}}{{% endfor %}}"
    )


def idefics() -> str:
    """`Image:<image> Question: … Answer: …`, one round a line."""
    return _parts_by_name(
        "\\n", "{{ '' if loop.last else ' ' }}", "{{ '\\n' if ends else ' ' }}"
    )


def idefics2(end: str) -> str:
    """`Image:<image>`, `Question: …`, `Answer: …`: one message a line, each closed by `end`."""
    return _parts_by_name(f"{end}\\n", "", f"{{{{ '{end}\\n' }}}}")


def _parts_by_name(after_head: str, after_part: str, after_message: str) -> str:
    body = f"{{% for part in message['content'] %}}{_PART}{after_part}{{% endfor %}}{after_message}"
    return _template(_named_head(after_head), "Assistant", _NAMED, body, _BY_NAME)


def llava() -> str:
    """`IMAGE: <image>` and a line break, then `QUESTION: … ANSWER: …`."""
    header = f"{_WRITER}{{{{ message['role'].upper() + ':' }}}}"
    body = "{{ ' ' }}" + _images("<image>\\n") + _texts("''", "' '")
    head = _head("{{ messages[0]['content'] + '\\n' }}")
    return _template(head, "ASSISTANT", header, body, "{{ writer.role.upper() + ':' }}")


def llava_interleaved() -> str:
    """Turns between `<|im_start|>` and `<|im_end|>`: the images, then each text on a line of its own."""
    return _marked(
        _head(_MARKED_HEAD),
        _images("<image>") + _texts("'\\n'", "''") + "{{ '<|im_end|>\\n' }}",
    )


def qwen(default_system: str) -> str:
    """Turns between `<|im_start|>` and `<|im_end|>` after a first one that instructs."""
    default = f"{{{{ '<|im_start|>system\\n{default_system}<|im_end|>\\n' }}}}"
    return _marked(
        _head(_MARKED_HEAD, default), "{{ message['content'] + '<|im_end|>\\n' }}"
    )


def mistral() -> str:
    """`Role: …`, one message a line."""
    header = f"{{% if message['role'] %}}{{{{ message['role'].capitalize() + ':' }}}}{_WRITER}{{% endif %}}"
    body = "{{ (' ' if message['role'] else '') + message['content'] + '\\n' }}"
    return _template(_named_head("\\n"), "Assistant", header, body, _BY_NAME)
