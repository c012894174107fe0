"""The prompt templates of the families the testbed brings.

A message without content writes its header alone: no separator follows it, no end-of-turn token. Texts are lists of
parts where the family shows images, and plain where it does not; `rendering.in_either_form` gives a template the form
it knows. `add_generation_prompt` writes the header of whoever ended the last round.
"""

_FIRST_IS_HEAD = "{% if messages[0]['role'] | lower in ['instruction', 'system'] %}"
_LATER = "{% set messages = messages[1:] %}{% endif %}"
_ROUNDS = "{% set asker = messages[0]['role'] %}{% set writer = namespace(role='@FIRST@') %}"
_ENDS = "{% set ends = loop.last or loop.nextitem['role'] == asker %}"
_WRITER = "{% if ends %}{% set writer.role = message['role'] %}{% endif %}"
_NAMED = (
    "{% if message['role'] %}{{ message['role'].capitalize() }}@WRITER@"
    "{{ ':' if 'content' not in message or message['content'][0]['type'] == 'image' else ': ' }}{% endif %}"
).replace("@WRITER@", _WRITER)
_PART = "{{ '<image>' if part['type'] == 'image' else part['text'] if part['type'] == 'text' else '' }}"
_ASKS = "{% endfor %}{% if add_generation_prompt %}@HEADER@{% endif %}"
_ASKS_BY_NAME = _ASKS.replace("@HEADER@", "{{ writer.role.capitalize() + ':' }}")
_MARKED = "<|im_start|>"


def _head(text: str, otherwise: str = "") -> str:
    """A first message that instructs, written in its own way and left out of the rounds."""
    later = _LATER if not otherwise else _LATER.replace("{% endif %}", f"{{% else %}}{otherwise}{{% endif %}}")
    return f"{_FIRST_IS_HEAD}{text}{later}"


def _named_head(end: str) -> str:
    return _head(f"{{{{ messages[0]['role'].capitalize() + ': ' + messages[0]['content'] + '{end}' }}}}")


def _rounds(first: str) -> str:
    return f"{_ROUNDS.replace('@FIRST@', first)}{{% for message in messages %}}{_ENDS}"


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
    return _parts_by_name("\\n", "{{ '' if loop.last else ' ' }}", "{{ '\\n' if ends else ' ' }}")


def idefics2(end: str) -> str:
    """`Image:<image>`, `Question: …`, `Answer: …`: one message a line, each closed by `end`."""
    return _parts_by_name(f"{end}\\n", "", f"{{{{ '{end}\\n' }}}}")


def _parts_by_name(after_head: str, after_part: str, after_message: str) -> str:
    return (
        _named_head(after_head)
        + _rounds("Assistant")
        + _NAMED
        + "{% if 'content' in message %}{% for part in message['content'] %}"
        + f"{_PART}{after_part}{{% endfor %}}{after_message}{{% endif %}}"
        + _ASKS_BY_NAME
    )


def llava() -> str:
    """`IMAGE: <image>` and a line break, then `QUESTION: … ANSWER: …`."""
    return (
        _head("{{ messages[0]['content'] + '\\n' }}")
        + _rounds("ASSISTANT")
        + _WRITER
        + "{{ message['role'].upper() + ':' }}{% if 'content' in message %}{{ ' ' }}"
        + _images("<image>\\n")
        + _texts("''", "' '")
        + "{% endif %}"
        + _ASKS.replace("@HEADER@", "{{ writer.role.upper() + ':' }}")
    )


def llava_interleaved() -> str:
    """Turns between `<|im_start|>` and `<|im_end|>`: the images, then each text on a line of its own."""
    return (
        _head(_marked("messages[0]"))
        + _rounds("assistant")
        + _WRITER
        + f"{{{{ '{_MARKED}' + message['role'] + '\\n' }}}}{{% if 'content' in message %}}"
        + _images("<image>")
        + _texts("'\\n'", "''")
        + "{{ '<|im_end|>\\n' }}{% endif %}"
        + _ASKS.replace("@HEADER@", f"{{{{ '{_MARKED}' + writer.role + '\\n' }}}}")
    )


def qwen(default_system: str) -> str:
    """Turns between `<|im_start|>` and `<|im_end|>` after a first one that instructs."""
    return (
        _head(_marked("messages[0]"), f"{{{{ '{_MARKED}system\\n{default_system}<|im_end|>\\n' }}}}")
        + _rounds("assistant")
        + _WRITER
        + f"{{{{ '{_MARKED}' + message['role'] + '\\n' }}}}"
        + "{% if 'content' in message %}{{ message['content'] + '<|im_end|>\\n' }}{% endif %}"
        + _ASKS.replace("@HEADER@", f"{{{{ '{_MARKED}' + writer.role + '\\n' }}}}")
    )


def _marked(message: str) -> str:
    return f"{{{{ '{_MARKED}' + {message}['role'] + '\\n' + {message}['content'] + '<|im_end|>\\n' }}}}"


def mistral() -> str:
    """`Role: …`, one message a line."""
    return (
        _named_head("\\n")
        + _rounds("Assistant")
        + f"{{% if message['role'] %}}{{{{ message['role'].capitalize() + ':' }}}}{_WRITER}{{% endif %}}"
        + "{% if 'content' in message %}"
        + "{{ (' ' if message['role'] else '') + message['content'] + '\\n' }}{% endif %}"
        + _ASKS_BY_NAME
    )
