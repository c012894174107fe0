"""Cases for the kits' `smp`: calls of ours, the same for upstream's module and for assay's.

Only the standard library: this runs in upstream's environment too.
"""

import contextlib
import io
import os
import tempfile

TEXTS = [
    "",
    "a",
    "cat. dog",
    "Yes, it is.",
    "3,000 cats!",
    "a/b-c_d",
    "no...",
    "1.5 (x)",
    "你好, world",
    "A. B",
    "x " * 40 + ". . .",
]
CALLS = {
    "listinstr": [(["a", "b"], "xbx"), (["a"], "x"), ([], "x"), (["", "z"], "x")],
    "cn_string": [("abc",), ("你",), ("",), ("a中b",)],
    "splitlen": [("a/b/c",), ("abc",), ("",), ("a-b", "-")],
    "istype": [("7", int), ("7.5", float), ("7.5", int), ("abc", int), ("[1, 2]", list), (7, int), ("True", bool),
               ("None", int), ("", int), (None, int), (" 7", int), ("'a'", str), ("a", str)],
    "toliststr": [("['a', 'b']",), ("abc",), (["a", 1],), ("[1, 2]",), ("[]",), ("[",), ("['x']",), ("a]",),
                  ("[('a', 1)]",)],
    "process_punctuation": [(text,) for text in TEXTS],
    "version_cmp": [("1.0", "1.0.0"), ("1.2", "1.10", "lt"), ("2.0rc1", "2.0", "lt"), ("1.0", "1.1", "ge")],
    "build_option_str": [({"A": "cat", "B": "dog"},), ({"A": "cat", "B": float("nan")},), ({},), ({"A": ""},)],
    "md5": [("abc",), ("",), ("你好",)],
    "get_file_extension": [("a.b.xlsx",), ("abc",), ("",)],
    "get_intermediate_file_path": [("x/m_d.xlsx", "_acc"), ("m_d.xlsx", "_judge"), ("m_d.tsv", "_tmp"),
                                   ("m.d.xlsx", "_rating"), ("m_d.xlsx", "_score", "csv"), ("m_d.json", "_fine"),
                                   ("m_d.xlsx", "_gpt_processed")],
    "get_pred_file_path": [("w", "m", "d"), ("w", "m", "d", False)],
    "get_pred_file_format": [()],
    "get_eval_file_format": [()],
    "parse_file": [("words",), (".",), ("",), ("nowhere.png",)],
    "gpt_key_set": [()],
    "get_rank_and_world_size": [()],
    "modelscope_flag_set": [()],
    "decode_img_omni": [(("root", "short", "a.png"),), (("root", "['a', 'b']", "a.png"),)],
}  # fmt: skip


def outcomes(smp):
    """What each call gives, as plain data; an error by its kind."""
    found = {}
    for name, calls in CALLS.items():
        function = getattr(smp, name, None)
        if function is not None:
            for arguments in calls:
                found[f"{name}{arguments!r}"] = outcome(function, *arguments)
    found.update(of_files(smp))
    found.update(of_texts(smp))
    return found


def outcome(function, *arguments):
    """A result, or the kind of error."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return plain(function(*arguments))
        except Exception as error:
            return f"raises {type(error).__name__}"


def plain(value):
    """Tuples as lists, dictionaries of any kind as plain ones."""
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    return value


def of_files(smp):
    """Calls that look at files."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            os.makedirs("d/e")
            for name, text in {
                "a.txt": "x\ny\n\n",
                "d/b.txt": "z",
                "d/e/c.tsv": 'index\tq\n1\t"a"\n',
                "d/x.png": "no",
            }.items():
                with open(name, "w") as file:
                    file.write(text)
            calls = {
                "md5 of a file": lambda: smp.md5("a.txt"),
                "file_size": lambda: [
                    smp.file_size("a.txt", unit) for unit in ("GB", "MB", "KB")
                ],
                "read_ok": lambda: [smp.read_ok("d/x.png"), smp.read_ok("nowhere.png")],
                "parse_file text": lambda: smp.parse_file("a.txt"),
                "parse_file image": lambda: smp.parse_file("d/x.png"),
                "parse_file folder": lambda: smp.parse_file("d"),
                "parse_file tsv": lambda: smp.parse_file("d/e/c.tsv"),
                "dump json": lambda: (
                    smp.dump({"a": [1, "你"]}, "o.json"),
                    text_of("o.json"),
                )[1],
                "dump load jsonl": lambda: (
                    smp.dump([{"a": 1}, {"b": None}], "o.jsonl"),
                    smp.load("o.jsonl"),
                )[1],
                "load json": lambda: smp.load("o.json"),
                "load unknown": lambda: smp.load("a.txt"),
                "dump load pkl": lambda: (
                    smp.dump({"k": (1, 2)}, "o.pkl"),
                    smp.load("o.pkl"),
                )[1],
                "load tsv": lambda: smp.load("d/e/c.tsv").to_dict("list"),
            }
            return {name: outcome(call) for name, call in calls.items()}
        finally:
            os.chdir(before)


def text_of(path):
    """What a file holds."""
    with open(path, encoding="utf-8") as file:
        return file.read()


def of_texts(smp):
    """Calls with more than one step."""
    numbers = [len(smp.timestr(kind)) for kind in ("second", "minute", "hour", "day")]
    return {
        "timestr lengths": numbers,
        "timestr other": outcome(smp.timestr, "year"),
        "extract_json_objects": outcome(
            lambda: list(smp.extract_json_objects('x {"a": 1} y {b} {"c": {"d": 2}} {'))
        ),
        "extract none": outcome(lambda: list(smp.extract_json_objects("no braces"))),
        "d2df": outcome(lambda: smp.d2df({"a": 1, "b": "x"}).to_dict("list")),
    }
