"""`assay view`: show runs in the browser. `--bundle` writes them to a folder that any web server can serve."""

import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from ..core import UsageError
from .arguments import Parser

USUAL = "runs"


def command(arguments: Sequence[str]) -> int:
    """Serve the viewer until Ctrl-C."""
    p = Parser(
        prog="assay view",
        description="Open runs in the browser: the list of runs, each run with its samples and media,\n"
        "comparisons, and the progress of runs. Only this machine can connect, and only\n"
        "with the printed link.",
    )
    p.add_argument(
        "folder",
        nargs="?",
        default=None,
        help="a run folder, results of another tool, or a folder of either (default: runs)",
    )
    p.add_argument(
        "--port",
        type=int,
        default=None,
        help="default: 7557, or a free one",
    )
    p.add_argument(
        "--no_browser",
        action="store_true",
        help="print the link, but open no browser",
    )
    p.add_argument(
        "--origin",
        default=None,
        metavar="URL",
        help="the address that people use, if behind a proxy",
    )
    p.add_argument(
        "--bundle",
        default=None,
        metavar="DIR",
        help="write a static folder instead of serving",
    )
    options = p.parse(arguments)
    folder = _folder(options.folder)
    if options.bundle is not None:
        from ..view.saved_pages import write_bundle

        count, size = write_bundle(folder, Path(options.bundle).expanduser())
        runs = "1 run" if count == 1 else f"{count} runs"
        sys.stdout.write(
            f"{options.bundle}: {runs}, {size / 1e3:,.1f} kB; any file host serves it\n"
        )
        return 0
    return serve(folder, options.port, options.origin, opens=not options.no_browser)


def serve(
    folder: Path,
    port: int | None,
    origin: str | None,
    *,
    opens: bool,
) -> int:
    """Serve the viewer until it is interrupted. Print and open the link when the server is ready."""
    from ..view.view_server import ViewerServer, bind, make_app

    app = make_app(folder, origin)
    listener = bind(port)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def link() -> str:
        return f"{origin.rstrip('/') if origin else address}/#token={app.new_token()}"

    def announce() -> None:
        first = link()
        sys.stdout.write(f"assay view {folder}\n  {first}\n")
        if sys.stdin is not None and sys.stdin.isatty():
            sys.stdout.write(
                "  Enter: another link, for another browser; Ctrl-C: end\n"
            )
            threading.Thread(
                target=_more_links,
                args=(link,),
                daemon=True,
            ).start()
        sys.stdout.flush()
        if opens:
            threading.Thread(
                target=_open,
                args=(first,),
                daemon=True,
            ).start()

    try:
        ViewerServer(app, announce).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    return 0


def _folder(name: str | None) -> Path:
    if name is None and not Path(USUAL).is_dir():
        raise UsageError(
            "there is no folder `runs` here", fix="name one: assay view FOLDER"
        )
    return Path(name or USUAL).expanduser().absolute()


def _more_links(link: Callable[[], str]) -> None:
    for _ in sys.stdin:
        sys.stdout.write(f"  {link()}\n")
        sys.stdout.flush()


def _open(link: str) -> None:
    try:
        if not webbrowser.open(link):
            sys.stderr.write(
                "assay: no browser was found here; open the link above in one\n"
            )
    except webbrowser.Error:
        sys.stderr.write(
            "assay: no browser was found here; open the link above in one\n"
        )
