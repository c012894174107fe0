"""The app without a server: as files of a folder, or as one file with everything in it.

In one file the modules become functions of one inline script, and the page allows only this script and its
style, by digest. No build tool is needed, because imports in the app are single lines of one form.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from .plain_json import json_bytes

APP = Path(__file__).parent / "app"
ALL = "all.js"
"""The file with all modules of the app as one script."""
TRUSTED = "require-trusted-types-for 'script'; trusted-types 'none'"
FOLDER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; "
    f"connect-src 'self'; base-uri 'none'; form-action 'none'; {TRUSTED}"
)
_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(
    r"^export ((?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE
)


def assets() -> dict[str, bytes]:
    """Return the files next to the page. Modules are joined, because browsers fetch only a few files at once."""
    return {
        ALL: inline_script().encode(),
        **{
            path.name: path.read_bytes()
            for path in sorted(APP.iterdir())
            if path.suffix in (".css", ".svg")
        },
    }


def folder_page() -> str:
    """Return the page of a bundle.

    It reads files instead of asking a server, and shows instructions if it is opened as a file.
    """
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{FOLDER_POLICY}">\n'
        '<meta name="assay-bundle" content="1">'
    )
    return _page().replace("<title>", f"{head}\n<title>")


def single_page(documents: Mapping[str, Any], title: str) -> str:
    """Return one file with everything: the documents as data, the modules as one script."""
    style = (APP / "style.css").read_text("utf-8")
    script = inline_script()
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data: blob:; "
        f"media-src data: blob:; connect-src 'none'; base-uri 'none'; form-action 'none'; {TRUSTED}"
    )
    drawing = base64.b64encode((APP / "icon.svg").read_bytes()).decode("ascii")
    icon = f'<link rel="icon" href="data:image/svg+xml;base64,{drawing}">'
    # `<` never stands in the data, so that no text of a model can end the element that holds it.
    data = (
        json_bytes(documents)
        .decode("utf-8")
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
    )
    page = _page()
    page = page.replace(
        '<link rel="icon" href="app/icon.svg" type="image/svg+xml">', icon
    )
    page = page.replace(
        '<link rel="stylesheet" href="app/style.css">', f"<style>{style}</style>"
    )
    page = page.replace(f'<script type="module" src="app/{ALL}"></script>\n', "")
    page = page.replace("<title>assay</title>", f"<title>{escape(title)}</title>")
    meta = f'<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = page.replace('<meta charset="utf-8">', meta)
    inner = f'<script type="application/json" id="assay-data">{data}</script>\n<script type="module">{script}</script>'
    return page.replace("</body>", f"{inner}\n</body>")


@cache
def inline_script() -> str:
    """Return the modules of the app as one script.

    Each module is a function. They come in the order in which they import each other.
    """
    texts = {path.stem: path.read_text("utf-8") for path in APP.glob("*.js")}
    done: list[str] = []
    pieces: list[str] = []

    def add(name: str) -> None:
        if name in done:
            return
        for _, other in _IMPORT.findall(texts[name]):
            add(other)
        done.append(name)
        text = texts[name]
        exports = ", ".join(export for _, export in _EXPORT.findall(text))
        body = _IMPORT.sub(lambda m: f"const {{{m[1]}}} = module_{m[2]};", text)
        body = _EXPORT.sub(r"\1", body)
        pieces.append(
            f"const module_{name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"
        )

    add("main")
    return "\n".join(pieces).replace("</script", "<\\/script")


def _page() -> str:
    """Return the HTML of the page that loads the viewer's scripts."""
    return (APP / "index.html").read_text("utf-8")


def _digest(text: str) -> str:
    """Return the source expression that lets a content security policy accept this script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
