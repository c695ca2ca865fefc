"""Run commands and readers on hostile input that they must accept or refuse with an error code.

    python benchmarks/fuzz.py fuzz.jsonl --cases 400

Each case is a command line with its own files, generated from the seed and the number of the case.
About twenty cases run in one process, each for at most 20 seconds. A record of each case is
appended, and cases with a record are skipped.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import spacy
import srsly
import typer
from spacy.tokens import Span
from thinc.api import Config
from typer.main import get_command
from wasabi import table

from spacy_longtail.cli import app
from spacy_longtail.corpus.descriptions import CorpusTypes
from spacy_longtail.corpus.folder import write_corpus

SECONDS = 20
LATEST = 300  # until a process that says nothing is killed
OUT = "out"  # where a case may write
TINY = """[paths]
train = null
dev = null
[system]
seed = 0
[nlp]
lang = "en"
pipeline = ["ner"]
[components]
[components.ner]
factory = "longtail_token_ner"
[components.ner.model]
@architectures = "longtail.TokenClassifier.v1"
[components.ner.model.tok2vec]
@architectures = "spacy.HashEmbedCNN.v2"
pretrained_vectors = null
width = 8
depth = 1
embed_size = 50
window_size = 1
maxout_pieces = 2
subword_features = false
[components.ner.loss]
@losses = "longtail.Focal.v1"
gamma = 2.0
[corpora]
[corpora.plain]
@readers = "spacy.Corpus.v1"
path = ${paths.train}
gold_preproc = false
max_length = 0
limit = 0
augmenter = null
[corpora.train]
@readers = "longtail.ResampledCorpus.v1"
corpus = ${corpora.plain}
[corpora.train.repeats]
@misc = "longtail.sCR.v1"
[corpora.dev]
@readers = "spacy.Corpus.v1"
path = ${paths.dev}
gold_preproc = false
max_length = 0
limit = 0
augmenter = null
[training]
train_corpus = "corpora.train"
dev_corpus = "corpora.dev"
seed = ${system.seed}
dropout = 0.1
max_steps = 2
max_epochs = 0
patience = 0
eval_frequency = 1
[training.optimizer]
@optimizers = "Adam.v1"
learn_rate = 0.01
[training.score_weights]
ents_f = 1.0
"""
PLAN = """steps: 2
seeds: 1
config: tiny.cfg
methods:
  one: {components.ner.loss.gamma: 1.0}
settings: {training.eval_frequency: 1}
"""
SOURCES = {
    "columns.iob": "Ann\tB-PER\nleft\tO\n\nOslo\tB-GEO\nslept\tO\n",
    "prodigy.jsonl": '{"text": "Ann left Oslo", "spans": [{"start": 0, "end": 3, "label": "PER"}]}\n',
    "doccano.jsonl": '{"text": "Ann left Oslo", "label": [[0, 3, "PER"], [9, 13, "GEO"]]}\n',
    "studio.json": '[{"data": {"text": "Ann left"}, "annotations": [{"result": [{"type": "labels", '
    '"value": {"start": 0, "end": 3, "labels": ["PER"]}}]}]}]\n',
    "kaggle.csv": "Sentence #,Word,POS,Tag\nSentence: 1,Ann,NN,B-per\n,left,VB,O\n",
    "article.txt": "# Title\n\n[Ann|PER] left [Oslo|GEO].\n",
    "brat.txt": "Ann left Oslo\n",
}
BESIDE = {
    "brat.txt": ("brat.ann", "T1\tPER 0 3\tAnn\nT2\tGEO 9 13\tOslo\n"),
    "article.txt": ("corpus.json", '{"labels": ["PER", "GEO"], "lang": "en"}'),
}
VALUES = [
    *(
        "",
        " ",
        "-1",
        "0",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1" * 40,
        "null",
        "true",
        "[]",
        "{}",
        "a\nb",
        "\u2028",
    ),
    *(
        "..",
        "../x",
        "/",
        ".",
        "${nope.x}",
        "@x",
        "\ufeff",
        "ÅÄÖ",
        "0x10",
        "2**31",
        "''",
        '"',
        "[[[[",
        "%s",
    ),
]
PATHS = [
    *("", ".", "..", "nowhere", "a" * 300, "/dev/null", "/proc/self/mem", "/proc/1/environ", "-"),
    *("a/" * 200, "nowhere\0x", "shared", "notes.txt", "shared/corpus/train.spacy", "\udcff"),
]
DEEP = 100_000


class Case(NamedTuple):
    kind: str
    arguments: list[str]


def change(text: str, rng: random.Random) -> bytes:
    """Return a text with an error in it."""
    i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    kinds: list[Callable[[], bytes]] = [
        lambda: text[:i].encode(),
        lambda: (text[:i] + text[j:]).encode(),
        lambda: (text[:i] + rng.choice(VALUES) + text[j:]).encode(),
        lambda: (text[:i] + "\0" + text[i:]).encode(),
        lambda: text.encode("utf-16"),
        lambda: b"\xef\xbb\xbf" + text.encode(),
        lambda: text.encode()[:i] + bytes([rng.randrange(128, 256)]) + text.encode()[i:],
        lambda: (text[:i] + rng.choice("[{(") * DEEP + text[i:]).encode(),
        lambda: (text[:i] + "[" * DEEP + "]" * DEEP + text[i:]).encode(),
        lambda: b"",
        lambda: b" \n\t\n" * 50,
        lambda: (text * 300).encode(),
        lambda: text.replace("\n", "\r\n").encode(),
        lambda: text.replace(
            "PER", rng.choice(["P\\nR", " ", "\\u0000", "P" * 5000, "é", "P|R", "-"])
        ).encode(),
        lambda: rng.randbytes(rng.randrange(200)),
        lambda: _number_changed(text, rng).encode(),
    ]
    return rng.choice(kinds)()


def _number_changed(text: str, rng: random.Random) -> str:
    places = [i for i, char in enumerate(text) if char.isdigit()]
    if not places:
        return text + rng.choice(VALUES)
    i = rng.choice(places)
    return text[:i] + rng.choice(VALUES) + text[i + 1 :]


def _changed_line(text: str, rng: random.Random) -> str:
    """Return the text of a config or plan with the value of one line replaced."""
    lines = text.splitlines()
    i = rng.choice([i for i, line in enumerate(lines) if "=" in line or ":" in line])
    sign = " = " if " = " in lines[i] else ": "
    name = lines[i].partition(sign)[0]
    value = rng.choice(
        [*VALUES, '"x"', "[1, 2]", '{"a": 1}', "-5", "0.0", "9" * 30, "1.5", "*a", "&a [*a]"]
    )
    lines[i] = f"{name}{sign}{value}"
    return "\n".join(lines) + "\n"


def _source(rng: random.Random, folder: Path) -> Case:
    name = rng.choice(list(SOURCES))
    place = folder / "source" / name
    place.parent.mkdir()
    files = {name: SOURCES[name]} | dict([BESIDE[name]] if name in BESIDE else [])
    hit = rng.choice(list(files))
    for own, text in files.items():
        (place.parent / own).write_bytes(change(text, rng) if own == hit else text.encode())
    more = ["--misaligned", "expand"] if rng.random() < 0.2 else []
    return Case(f"convert {name}", ["convert", f"source/{name}", OUT, *more])


def _record(rng: random.Random, folder: Path) -> Case:
    """Break a file of a corpus, a pipeline or metrics, and return a command that reads it."""
    kind = rng.choice(
        ["types.json", "train.spacy", "meta.json", "config.cfg", "cfg", "model", "strings.json"]
    )
    is_corpus = kind in ("types.json", "train.spacy")
    name = "corpus" if is_corpus else "model"
    shutil.copytree(folder / "shared" / name, folder / name)
    path = next((folder / name).rglob(kind))
    data = path.read_bytes()
    try:
        path.write_bytes(change(data.decode(), rng))
    except UnicodeDecodeError:
        i = rng.randrange(len(data))
        path.write_bytes(rng.choice([data[:i], data[:i] + bytes([data[i] ^ 255]) + data[i + 1 :], b""]))
    corpus, model = ("corpus", "shared/model") if is_corpus else ("shared/corpus", "model")
    calls = {
        "stats": ["stats", corpus],
        "audit": ["audit", corpus],
        "split": ["split", corpus, OUT, "--parts", "train=0.5,dev=0.5"],
        "train": ["train", "tiny.cfg", corpus, OUT],
        "matrix": ["matrix", "plan.yml", corpus, "-o", OUT, "--dry-run"],
        "mine": ["mine", model, "pool.txt", "-o", f"{OUT}.jsonl", "--corpus", corpus],
    }
    models = {
        "evaluate": ["evaluate", model, corpus, "-o", f"{OUT}.json"],
        "mine": ["mine", model, "pool.txt", "-o", f"{OUT}.jsonl", "--types", "GEO"],
        "thresholds": ["thresholds", model, corpus, "-o", OUT],
    }
    chosen = rng.choice(list((calls if is_corpus else models).items()))
    return Case(f"{chosen[0]}, broken {kind}", chosen[1])


def _config(rng: random.Random, folder: Path) -> Case:
    text = TINY if rng.random() < 0.3 else _changed_line(TINY, rng)
    hit = change(text, rng) if rng.random() < 0.3 else _changed_line(text, rng).encode()
    (folder / "tiny.cfg").write_bytes(hit)
    command = rng.choice(["train", "audit", "matrix"])
    arguments = {
        "train": ["train", "tiny.cfg", "shared/corpus", OUT],
        "audit": ["audit", "shared/corpus", "--config", "tiny.cfg"],
        "matrix": ["matrix", "plan.yml", "shared/corpus", "-o", OUT, "--dry-run"],
    }
    return Case(f"{command}, hostile config", arguments[command])


def _plan(rng: random.Random, folder: Path) -> Case:
    hit = change(PLAN, rng) if rng.random() < 0.5 else _changed_line(PLAN, rng).encode()
    (folder / "plan.yml").write_bytes(hit)
    place = ["matrix", "plan.yml", "shared/corpus", "-o", OUT, "--dry-run"]
    if rng.random() < 0.5:
        place += ["--sizes", rng.choice(["2", *VALUES])]
    return Case("matrix, hostile plan", place)


def _options(rng: random.Random, folder: Path) -> Case:
    """Return any command with hostile arguments or option values."""
    commands = get_command(app).commands  # type: ignore[attr-defined]
    name = rng.choice(sorted(commands))
    params = commands[name].params
    usual = {
        **dict.fromkeys(("corpus", "donors", "source", "gold"), "shared/corpus"),
        **dict.fromkeys(("model", "pipeline", "teacher", "base", "encoder"), "shared/model"),
        **dict.fromkeys(("pool", "texts", "labelled"), "pool.txt"),
        **dict.fromkeys(("target", "output"), OUT),
        **{"config": "tiny.cfg", "student": "tiny.cfg", "plan": "plan.yml", "metrics": "shared"},
    }
    arguments = [name]
    positional = [param for param in params if not param.opts[0].startswith("-")]
    hit = rng.choice(params)
    for param in positional:
        arguments.append(rng.choice(PATHS) if param is hit else usual.get(str(param.name), "nowhere"))
    for param in params:
        is_needed = param.required and param not in positional
        if param in positional or not (param is hit or is_needed or param.name == "output"):
            continue
        value = usual.get(str(param.name), "1")
        if param is hit:
            value = rng.choice(
                [*VALUES, *PATHS, "training.optimizer.learn_rate=-1", "a.b=" + "[" * DEEP]
            )
        is_flag = getattr(param, "is_flag", False)
        arguments += [max(param.opts, key=len)] if is_flag else [max(param.opts, key=len), value]
    for option, value in (("--dry-run", None), ("--steps", "1"), ("--minutes", "0.01")):
        if any(option in param.opts for param in params) and option not in arguments:
            arguments += [option, *([] if value is None else [value])]
    if rng.random() < 0.1:
        arguments.append(
            rng.choice(["--gpu_id", "--max_steps", "--training.max_steps", "--nope", "extra"])
        )
    return Case(f"{name}, hostile {hit.name}", arguments)


def _metrics(rng: random.Random, folder: Path) -> Case:
    """Break an evaluation or statistics, and return a command that reads it."""
    shutil.copytree(folder / "shared" / "metrics", folder / "metrics")
    path = rng.choice(sorted((folder / "metrics").glob("*.json")))
    path.write_bytes(change(path.read_text(), rng))
    command = ["evaluate", "metrics", "--report", f"{OUT}.html"]
    command += rng.choice([[], ["--card", "shared/model"]])
    return Case(f"{command[0]}, broken {path.name}", command)


def _beside(rng: random.Random, folder: Path) -> Case:
    """Break a small file, such as an export of labels or records, and return its command."""
    label = SOURCES["prodigy.jsonl"].replace("}\n", ', "answer": "accept"}\n')
    record = '{"key": "abc", "status": "done", "method": "one", "corpus": "corpus", "seed": 0}\n'
    kinds = {
        "labels.jsonl": (label, ["merge", "shared/corpus", "labels.jsonl", "--unchanged"]),
        "training/trials/abc/record.json": (record, ["matrix", "plan.yml", "nowhere", "-o", "training"]),
        "corpus.json": ('{"labels": ["PER"], "lang": "en"}', ["convert", "columns.iob", f"{OUT}/x"]),
    }
    name, (text, arguments) = rng.choice(list(kinds.items()))
    (folder / "columns.iob").write_text(SOURCES["columns.iob"])
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(change(text, rng))
    return Case(f"{arguments[0]}, broken {name}", arguments)


KINDS = (_source, _source, _record, _config, _plan, _options, _options, _metrics, _beside)


def make_shared(folder: Path) -> None:
    """Make the corpus and the pipeline that the cases read."""
    nlp = spacy.blank("en")
    names = ("Ann", "Ida", "Jon", "Eva")
    texts = [f"{name} {rest} ." for name in names for rest in ("left Oslo", "sank", "came", "slept")]
    docs = []
    for text in texts:
        doc = nlp(text)
        doc.ents = [Span(doc, 0, 1, label=("PER", "GEO")[len(docs) % 2])]
        for token in doc:
            token.is_sent_start = token.i == 0
        docs.append(doc)
    types = CorpusTypes(["PER", "GEO"], ["GEO"], "en", "words")
    write_corpus(folder / "corpus", {"train": docs, "dev": docs[:6], "test": docs[:6]}, types)
    config = Config().from_str(TINY, interpolate=False)["components"]["ner"]
    settings = {name: value for name, value in config.items() if name != "factory"}
    nlp.add_pipe("longtail_token_ner", name="ner", config={**settings, "scores_key": "entity_scores"})
    examples = [spacy.training.Example(doc.copy(), doc) for doc in docs]
    nlp.initialize(lambda: examples)
    nlp.to_disk(folder / "model")
    model, corpus, metrics = (str(folder / name) for name in ("model", "corpus", "metrics"))
    for arguments in (
        ["stats", corpus, "-o", f"{metrics}/stats.json"],
        ["evaluate", model, corpus, "-o", f"{metrics}/one.json", "--name", "one"],
    ):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            app(arguments)


def make_case(number: int, seed: int, folder: Path, shared: Path) -> Case:
    """Make a case in a folder of its own, which depends only on its number and the seed."""
    rng = random.Random(f"{seed} {number}")
    folder.mkdir()
    shutil.copytree(shared, folder / "shared")
    (folder / "tiny.cfg").write_text(TINY)
    (folder / "plan.yml").write_text(PLAN)
    (folder / "pool.txt").write_text("Ann left Oslo .\nIda came .\n")
    (folder / "notes.txt").write_text("my own")
    return rng.choice(KINDS)(rng, folder)


class Endless(BaseException):
    """Error of a case that exceeds its time limit."""


def run_case(case: Case, folder: Path) -> dict[str, object]:
    """Run a case in this process and return its outcome."""

    def late(*_: object) -> None:
        raise Endless

    before, place = _tree(folder), Path.cwd()
    said, code, trace = io.StringIO(), 0, ""
    handler = signal.signal(signal.SIGPROF, late)
    os.chdir(folder)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of this process, however busy the machine is
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(said),
            warnings.catch_warnings(),
        ):
            app(case.arguments)
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 0
    except Endless:
        code = -1
    except BaseException:
        code, trace = -2, traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
        os.chdir(place)
    strange = sorted(
        path
        for path, data in _tree(folder).items()
        if before.get(path) != data and not _is_own(path, case.arguments)
    )
    text = said.getvalue()
    ended = "accepted" if code in (0, 1) else "refused" if code == 2 and "[L" in text else "traceback"
    ended = "traceback" if "[L546]" in text else ended
    ended = "endless" if code == -1 else "wrote outside" if strange else ended
    return {"ended": ended, "code": code, "said": (trace or text)[-500:], "strange": strange[:5]}


OWN = (OUT, "training", "review.jsonl", "report.", "next", "to_label", "tmp")
CHANGED = ("shared/model/", "shared/corpus/")  # by `thresholds`, `card` and `merge`


def _is_own(path: str, arguments: list[str]) -> bool:
    """Return whether a command may write to a path: one of its arguments, or a usual output."""
    given = tuple(f"{argument.rstrip('/')}/" for argument in arguments if argument)
    return path.startswith((*OWN, *CHANGED)) or f"{path}/".startswith(given)


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): (p.stat().st_size, p.stat().st_mtime_ns) for p in files}


def run_cases(
    numbers: list[int], seed: int, without: tuple[str, ...] = ()
) -> Iterator[dict[str, object]]:
    """Run cases in this process.

    without (Tuple[str, ...]): How kinds of cases begin that are left out.
    YIELDS (Dict): A record of each, and before it its number alone.
    """
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        work = Path(name)
        make_shared(work / "shared")
        os.environ["TMPDIR"] = name
        tempfile.tempdir = None
        for number in numbers:
            yield {"case": number}
            folder = work / str(number)
            case = make_case(number, seed, folder, work / "shared")
            shown = [text if len(text) < 80 else f"{text[:80]}..." for text in case.arguments]
            if without and case.kind.startswith(without):
                continue
            found = run_case(case, folder)
            shutil.rmtree(folder, ignore_errors=True)
            yield {"case": number, "seed": seed, "kind": case.kind, "arguments": shown, **found}


def main(
    output: Annotated[Path, typer.Argument(help="JSON lines file; an existing run is resumed.")],
    cases: Annotated[int, typer.Option(min=1, help="Number of cases.")] = 400,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the cases.")] = 0,
    batch: Annotated[int, typer.Option(min=1, help="Number of cases per process.")] = 20,
    only: Annotated[
        str | None, typer.Option(hidden=True, help="Numbers of cases to run in this process.")
    ] = None,
) -> None:
    """Run the cases without a record, and print the outcomes of all."""
    if only is not None:
        for record in run_cases([int(n) for n in only.split(",")], seed):
            sys.__stdout__.write(json.dumps(record) + "\n")
            sys.__stdout__.flush()
        return
    done = list(srsly.read_jsonl(output)) if output.is_file() else []
    known = {record["case"] for record in done if record["seed"] == seed}
    left = [n for n in range(cases) if n not in known]
    while left:
        for record in _in_a_process(left[:batch], seed):
            with output.open("a", encoding="utf8") as file:
                file.write(json.dumps(record) + "\n")
            done.append(record)
            left.remove(record["case"])
    print_table([record for record in done if record["seed"] == seed])


def _in_a_process(numbers: list[int], seed: int) -> Iterator[dict[str, object]]:
    """Yield the records of a batch, which ends with a case that kills its process or hangs."""
    command = [sys.executable, __file__, "-", "--seed", str(seed), "--only", ",".join(map(str, numbers))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    last: dict[str, object] = {"case": numbers[0]}
    while line := _next_line(process):
        last = json.loads(line)
        if "ended" in last:
            yield last
    code = process.wait()
    if "ended" not in last:
        ended = "endless" if code == -signal.SIGKILL else "traceback"
        said = f"the process ended with {code}"
        yield {"case": last["case"], "seed": seed, "kind": "process", "ended": ended, "said": said}


def _next_line(process: subprocess.Popen[str]) -> str:
    """Return the next line of a process, which is killed if that takes too long."""
    assert process.stdout is not None
    watch = threading.Timer(LATEST, process.kill)
    watch.start()
    try:
        return process.stdout.readline()
    finally:
        watch.cancel()


def print_table(records: list[dict[str, object]]) -> None:
    """Print the number of outcomes by kind of case, and the faults."""
    ends = ("accepted", "refused", "traceback", "endless", "wrote outside")
    counts: dict[str, Counter[str]] = {}
    for record in records:
        name = str(record["kind"]).partition(",")[0]
        counts.setdefault(name, Counter())[str(record["ended"])] += 1
    rows = [(name, *(own[end] for end in ends)) for name, own in sorted(counts.items())]
    total = Counter(str(record["ended"]) for record in records)
    rows.append(("all", *(total[end] for end in ends)))
    print(table(rows, header=("", *ends), divider=True, aligns=tuple("lrrrrr")))
    for record in records:
        if record["ended"] not in ends[:2]:
            print(record["case"], record["ended"], record["kind"], record.get("said"))


if __name__ == "__main__":
    typer.run(main)
