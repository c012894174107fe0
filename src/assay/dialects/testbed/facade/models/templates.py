"""The prompt templates of the families the testbed brings, for content in either form.

A message without content writes its header alone: no separator follows it, no end-of-turn token.
"""

_HEAD = (
    "{%- if messages[0]['role']|lower in ['instruction', 'system'] -%}"
    "@HEAD@{%- set messages = messages[1:] -%}"
    "{%- endif -%}"
)
_TEXTS = (
    "{%- macro words(content) -%}"
    "{%- if content is string -%}{{ content }}"
    "{%- elif content is mapping -%}{{ content['text'] }}"
    "{%- else -%}{{ content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join('@BETWEEN@') }}"
    "{%- endif -%}{%- endmacro -%}"
)
_PIECES = (
    "{%- macro pieces(content) -%}"
    "{%- if content is string -%}{{ content }}"
    "{%- elif content is mapping -%}{{ content['text'] }}"
    "{%- else -%}{%- for piece in content -%}"
    "{{ '<image>' if piece['type'] == 'image' else piece['text'] }}{{ '' if loop.last else ' ' }}"
    "{%- endfor -%}{%- endif -%}{%- endmacro -%}"
)
_IMAGES = (
    "{%- macro images(content) -%}"
    "{%- if content is not string and content is not mapping -%}"
    "{%- for piece in content | selectattr('type', 'equalto', 'image') -%}@IMAGE@{%- endfor -%}"
    "{%- endif -%}{%- endmacro -%}"
)


def idefics(end_of_round: str) -> str:
    """`Image:<image> Question: … Answer: …`, one round a line."""
    head = "{{ messages[0]['role']|capitalize + '\\n' + words(messages[0]['content']) + '\\n' }}"
    return (
        _TEXTS.replace("@BETWEEN@", " ")
        + _PIECES
        + _HEAD.replace("@HEAD@", head)
        + "{%- set first_role = messages[0]['role'] -%}"
        "{%- for message in messages -%}"
        "{%- if message['role'] -%}{{ message['role']|capitalize + ':' }}{%- endif -%}"
        "{%- if 'content' in message -%}"
        "{%- set said = pieces(message['content']) -%}"
        "{{ '' if not message['role'] or said.startswith('<image>') else ' ' }}{{ said }}"
        "{%- set ends = loop.last or loop.nextitem['role'] == first_role -%}"
        f"{{{{ '{end_of_round}' if ends else ' ' }}}}"
        "{%- endif -%}{%- endfor -%}"
    )


def llava() -> str:
    """`IMAGE: <image>` and a line break, then `QUESTION: … ANSWER: …`."""
    return (
        _TEXTS.replace("@BETWEEN@", " ")
        + _IMAGES.replace("@IMAGE@", "{{ '<image>\\n' }}")
        + _HEAD.replace("@HEAD@", "{{ words(messages[0]['content']) + '\\n' }}")
        + "{%- for message in messages -%}"
        "{%- if message['role'] -%}{{ message['role']|upper + ':' }}{%- endif -%}"
        "{%- if 'content' in message -%}"
        "{%- set said = words(message['content']) -%}"
        "{{ ' ' if message['role'] else '' }}{{ images(message['content']) }}{{ said + ' ' if said else '' }}"
        "{%- endif -%}{%- endfor -%}"
    )


def marked(default_system: str = "", *, with_images: bool = False) -> str:
    """Turns between `<|im_start|>` and `<|im_end|>`, as Qwen and LLaVA-interleave have them."""
    start, end = "<|im_start|>", "<|im_end|>\\n"
    otherwise = ""
    if default_system:
        otherwise = f"{{%- else -%}}{{{{ '{start}system\\n{default_system}{end}' }}}}"
    role = "instruction" if with_images else "system"
    head = f"{{{{ '{start}{role}\\n' + words(messages[0]['content']) + '{end}' }}}}"
    images = "{{ images(message['content']) }}" if with_images else ""
    return (
        _TEXTS.replace("@BETWEEN@", "\\n")
        + _IMAGES.replace("@IMAGE@", "<image>{{ '\\n' if loop.last else '' }}")
        + _HEAD.replace("@HEAD@", head).replace("{%- endif -%}", f"{otherwise}{{%- endif -%}}")
        + "{%- for message in messages -%}"
        f"{{{{ '{start}' + message['role'] + '\\n' }}}}"
        "{%- if 'content' in message -%}"
        f"{images}{{{{ words(message['content']) }}}}{{{{ '{end}' }}}}"
        "{%- endif -%}{%- endfor -%}"
    )


def mistral() -> str:
    """`Role: …`, one message a line."""
    return (
        _TEXTS.replace("@BETWEEN@", " ")
        + _HEAD.replace("@HEAD@", "{{ 'Instruction: ' + words(messages[0]['content']) + '\\n' }}")
        + "{%- for message in messages -%}"
        "{%- if message['role'] -%}{{ message['role']|capitalize + ':' }}{%- endif -%}"
        "{%- if 'content' in message -%}"
        "{{ (' ' if message['role'] else '') + words(message['content']) + '\\n' }}"
        "{%- endif -%}{%- endfor -%}"
    )
