"""`assay completion`: print a script that completes commands, options, names and files in bash, zsh or fish.

The script calls `assay completion words` for each word, so that it completes the names
of this installation.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module

from ..core import AssayError
from .arguments import Parser, ParserReady, parsers_only

BASH = """\
# assay for bash: eval "$(assay completion bash)", in ~/.bashrc to keep it
_assay() {
    local word="${COMP_WORDS[COMP_CWORD]}" line
    COMPREPLY=()
    while IFS= read -r line; do
        if [ "$line" = "--files--" ]; then
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$word")
            compopt -o filenames 2>/dev/null
        else
            COMPREPLY+=("$line")
        fi
    done < <(assay completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _assay assay
"""
ZSH = """\
# assay for zsh: eval "$(assay completion zsh)", in ~/.zshrc after compinit to keep it
_assay() {
    local -a answers
    answers=("${(@f)$(assay completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if (( ${answers[(Ie)--files--]} )); then
        _files
    fi
    answers=("${(@)answers:#(--files--|)}")
    compadd -- $answers
}
compdef _assay assay
"""
FISH = """\
# assay for fish: assay completion fish | source, in ~/.config/fish/config.fish to keep it
function __assay_words
    set -l before (commandline -opc)
    for answer in (assay completion words -- $before[2..-1] (commandline -ct) 2>/dev/null)
        if test "$answer" = --files--
            __fish_complete_path (commandline -ct)
        else
            echo $answer
        end
    end
end
complete -c assay -f -a '(__assay_words)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}
FILES = "--files--"
"""Placeholder in the list of completions. For it, the shell script adds file names."""
NAMES_AFTER = {
    "--scorer": "scorers",
    "--scorers": "scorers",
    "--template": "templates",
    "--model": "models",
    "--models": "models",
    "-M": "models",
    "--judge": "models",
    "--judges": "models",
    "--tasks": "tasks",
    "--datasets": "tasks",
    "-t": "tasks",
}
"""For an option, the kind of registered names that complete its value."""
KINDS_OF_VERB = {
    "run": ("tasks",),
    "parity": ("tasks",),
    "check": ("tasks",),
    "show": (
        "tasks",
        "models",
        "scorers",
        "datasets",
        "templates",
        "summarizers",
    ),
}
"""For a command, the kinds of registered names that complete its arguments."""


def command(arguments: Sequence[str]) -> int:
    """Print the completion script of a shell. With `words`, print the words that complete a command."""
    if arguments and arguments[0] == "words":
        typed = list(arguments[1:])
        if typed and typed[0] == "--":
            typed = typed[1:]
        sys.stdout.writelines(f"{word}\n" for word in complete(typed))
        return 0
    p = Parser(
        prog="assay completion",
        description="Print a script that completes verbs, options, files, and the names of tasks,\n"
        "models and scorers.\n"
        '  bash: eval "$(assay completion bash)"\n'
        '  zsh:  eval "$(assay completion zsh)"\n'
        "  fish: assay completion fish | source",
    )
    p.add_argument("shell", choices=tuple(SCRIPTS))
    options = p.parse(arguments)
    sys.stdout.write(SCRIPTS[options.shell])
    return 0


def complete(typed: Sequence[str]) -> list[str]:
    """Return the completions of the last word of a command. For `--files--`, the shell adds file names."""
    *before, current = typed or [""]
    words = _words(before, current)
    return sorted({word for word in words if word.startswith(current) or word == FILES})


def _words(
    before: Sequence[str],
    current: str,
) -> Iterable[str]:
    """Return all words that may follow the words `before`. Options are included if `current` begins with a dash."""
    from .main import ALIASES, VERBS

    if not before:
        return [*VERBS, *ALIASES]
    verb = ALIASES.get(before[0], before[0])
    if verb not in VERBS:
        return [FILES]
    actions = _actions(verb)
    if current.startswith("-"):
        return [name for action in actions for name in action.option_strings]
    after_option = _after_option(before, actions)
    if after_option is not None:
        return after_option
    words = [FILES]
    for kind in KINDS_OF_VERB.get(verb, ()):
        words += _names(kind)
    for action in actions:
        if not action.option_strings:
            words += map(str, action.choices or ())
    if verb == "ls":
        from ..registry import ALL

        words += ALL
    return words


def _after_option(
    before: Sequence[str],
    actions: Sequence[argparse.Action],
) -> list[str] | None:
    """Return the possible values for the current word if an option precedes it, otherwise None."""
    option = before[-1]
    for action in actions:
        if option not in action.option_strings or action.nargs == 0:
            continue
        if action.choices:
            return [str(choice) for choice in action.choices]
        kind = NAMES_AFTER.get(option)
        if kind:
            return [FILES, *_names(kind)]
        return [FILES]
    return None


def _names(kind: str) -> list[str]:
    """Return the registered names of a kind."""
    from ..registry import ALL

    return list(ALL[kind].names())


def _actions(verb: str) -> Sequence[argparse.Action]:
    """Return the options and arguments of a command; an empty list if the command passes them to another program."""
    try:
        with parsers_only():
            import_module(f".{verb}", __package__).command([])
    except ParserReady as built:
        return built.parser._actions
    except (AssayError, SystemExit):
        return ()
    return ()
