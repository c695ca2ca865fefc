"""Formats that are recognised but not read, and what converts them."""

from pathlib import Path

from ...errors import Errors
from .text import unzipped

# name, suffixes, possible beginnings of the file, advice
FOREIGN: tuple[tuple[str, tuple[str, ...], tuple[str, ...], str], ...] = (
    (
        "Parquet",
        (".parquet",),
        (),
        "Write JSON with pandas: pandas.read_parquet(PATH).to_json('train.jsonl', orient='records',"
        " lines=True).",
    ),
    (
        "WebAnno TSV",
        (),
        ("#FORMAT=WebAnno",),
        "Export UIMA CAS XMI from INCEpTION or WebAnno instead, which convert reads.",
    ),
    (
        "UIMA CAS JSON",
        (".json",),
        ('{"%TYPES"', '"%FEATURE_STRUCTURES"'),
        "Export UIMA CAS XMI instead, which convert reads, or write it with the Python package"
        " dkpro-cassis: load_cas_from_json(file).to_xmi('a.xmi').",
    ),
    (
        "Rasa's NLU format",
        (".yml", ".yaml", ".md"),
        ("nlu:", "## intent"),
        "Write JSON with Rasa, which convert reads: rasa data convert nlu -f json --data PATH --out"
        " train.json.",
    ),
    (
        "GATE XML",
        (".xml",),
        ("<GateDocument",),
        "Load it with the Python package gatenlp, Document.load(PATH, fmt='gatexml'), and write one JSON"
        " object per document: text, spans.",
    ),
    (
        "tagtog's ann.json",
        (),
        ('{"annotatable"', '{"anncomplete"'),
        "It holds no text: write one JSON object per document with the text of its .plain.html file and"
        " spans.",
    ),
    ("a ZIP archive", (".zip",), (), "Unpack it, and name the folder."),
    ("an Excel file", (".xlsx", ".xls"), (), "Save it as CSV."),
    (
        "a pickle",
        (".pkl", ".pickle"),
        (),
        "Write JSON: a list of [text, {'entities': [[start, end, type], ...]}] as spaCy 2 was trained"
        " on is read.",
    ),
)


def check_foreign(path: Path, head: str) -> None:
    """Refuse a file of a known format that no reader reads, naming what converts it.

    path (Path): The file.
    head (str): Its first characters.
    RAISES (ValueError): L831.
    """
    # JSON is compared without its white space
    compact = "".join(head[:400].split(" ")).replace("\n", "") if head.lstrip()[:1] == "{" else head
    for name, suffixes, beginnings, advice in FOREIGN:
        is_named = not suffixes or unzipped(path).suffix.lower() in suffixes
        if is_named and (not beginnings or any(begin in compact[:400] for begin in beginnings)):
            raise ValueError(Errors.L831.format(path=path, format=name, fix=advice))
