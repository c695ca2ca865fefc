"""Whether the long commands survive faults: nothing finished is lost, nothing is counted twice.

Each time one command is run on a toy corpus and disturbed at a random moment: SIGKILL, SIGTERM, a full
disk (a small tmpfs where one can be mounted, else RLIMIT_FSIZE), or an output folder that turns
read-only. Then it is run again, undisturbed. That must end well and write what a run without a fault
writes, and each trial that was finished before must stay as it was. Linux alone. Appends one JSON record
a fault to benchmarks/results/faults.jsonl; ends with 1 where a record says what was wrong.
"""

import json
import os
import random
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from spacy_longtail.about import __version__

ROOT = Path(__file__).parents[1]
CONFIGS = ROOT / "configs"
FAULTS = ("kill", "terminate", "full", "readonly")
PLAN = "steps: 4\nseeds: 2\nsettings: {training.eval_frequency: 2}\ngrids: [{head: softmax}]\n"
TINY = {
    "training.eval_frequency": 2,
    "components.tok2vec.model.width": 16,
    "components.tok2vec.model.depth": 1,
    "components.tok2vec.model.embed_size": 100,
}
TINY_PRETRAINING = {
    "components.tok2vec.model.embed.rows": [100, 50, 50, 50],
    "components.tok2vec.model.encode.depth": 1,
    "components.ner.describe.width": 30,
}
VOLATILE = re.compile(  # of JSON: times, and what follows from them
    r"seconds|minutes|date|started|finished|place|host|pid|per_second|command|size_mb|memory|commit|dirty"
)
WORKING = re.compile(r"[\w.-]+@[\w.-]+@\d+")  # a trial's folder, named after machine and process
DROPPED_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # root may write anywhere


class Ended(NamedTuple):
    code: int
    seconds: float
    said: str


def prepare(work: Path) -> None:
    """A toy corpus, a pool of text, a plan, and a trained pipeline."""
    sys.path.insert(0, str(ROOT))
    from tests.util import toy_corpus, toy_docs

    from spacy_longtail.training.train import train_model

    corpus = toy_corpus(work / "corpus", train=toy_docs(3))
    texts = [" ".join(token.text for token in doc) for doc in toy_docs()]
    pool = [f"{text[:-1]} on day {i} ." for i in range(300) for text in texts]
    (work / "pool.txt").write_text("\n".join(pool), encoding="utf8")
    (work / "plan.yml").write_text(PLAN, encoding="utf8")
    overrides = {**TINY, "training.max_steps": 20}
    train_model(CONFIGS / "token_softmax.cfg", corpus, work / "trained", overrides=overrides)


def commands(work: Path, out: Path) -> dict[str, list[str]]:
    """What each long command is called with. work (Path): What `prepare` made. out (Path): A folder."""
    sets = [f"--set={name}={value}" for name, value in TINY.items()]
    few = [f"--set={name}={json.dumps(value)}" for name, value in TINY_PRETRAINING.items()]
    corpus, model, student = work / "corpus", work / "trained/model-best", CONFIGS / "token_softmax.cfg"
    steps, often = ["--steps", 4], ["--set", "training.eval_frequency=2"]
    folds = ["--out-of-fold", 2, "--min-mentions", 2, "--folds-output", out / "folds"]
    most = ["--set", "training.max_steps=4"]
    draws = ["--by-mentions", "NAT", "--sizes", "1,2", "--partitions", 1]
    calls: dict[str, Sequence[object]] = {
        "matrix": [work / "plan.yml", corpus, "-o", out],
        "tune": [corpus, "--head", "softmax", "--trials", 2, *steps, *sets, "-o", out],
        "curve": [corpus, "-o", out, *draws, *steps, *often],
        "recommend": [corpus, "-o", out, "--minutes", 60, "--steps", 2],
        "pretrain": [corpus, "-o", out, *steps, "--words", 20, "--evaluations", 2, *few],
        "mine": [model, work / "pool.txt", "-o", out / "next.jsonl", "--types", "NAT", "--labels", 20],
        "distil": [
            model,
            work / "pool.txt",
            "--student",
            student,
            "--gold",
            corpus,
            "-o",
            out,
            *sets,
            *most,
        ],
        "thresholds": [model, corpus, *folds, "-o", out / "model"],
    }
    return {name: [name, *map(str, call)] for name, call in calls.items()}


def run(command: list[str], *, rights: bool = True, most_bytes: int | None = None) -> subprocess.Popen:
    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    own = [] if rights or os.geteuid() else DROPPED_RIGHTS
    call = [*own, sys.executable, "-W", "ignore", "-m", "spacy_longtail", *command]
    return subprocess.Popen(
        call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit
    )


def ended(process: subprocess.Popen, start: float) -> Ended:
    said, _ = process.communicate()
    return Ended(process.returncode, time.perf_counter() - start, said)


@contextmanager
def disk() -> Iterator[tuple[Path, bool]]:
    """A folder, and whether it is a disk of its own, whose size can be set."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        call = ["mount", "-t", "tmpfs", "-o", "size=512m", "tmpfs", name]
        mounted = False
        with suppress(FileNotFoundError):
            mounted = not subprocess.run(call, capture_output=True).returncode
        try:
            yield Path(name), mounted
        finally:
            if mounted:
                subprocess.run(["umount", "--lazy", name], check=True)


def resize(place: Path, kb: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={kb}k", str(place)], check=True)


def may_write(folder: Path, may: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        if path.is_dir():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | stat.S_IWUSR if may else mode & ~0o222)


def plain(value: object, out: Path) -> object:
    """JSON without what differs from run to run."""
    if isinstance(value, dict):
        return {k: plain(v, out) for k, v in value.items() if not VOLATILE.search(str(k))}
    if isinstance(value, list):
        return [plain(v, out) for v in value]
    return WORKING.sub("WORK", value.replace(str(out), "OUT")) if isinstance(value, str) else value


def written(out: Path) -> dict[str, list[str]]:
    """What a command wrote: the JSON of each file, in an order that says nothing."""
    found = {}
    for path in sorted(out.rglob("*.json*")):
        parts = path.relative_to(out).parts
        if "work" in parts or path.name == "run.json":
            continue
        text = path.read_text(encoding="utf8")
        rows = text.splitlines() if path.suffix == ".jsonl" else [text]
        found["/".join(parts)] = sorted(
            json.dumps(plain(json.loads(row), out), sort_keys=True) for row in rows if row.strip()
        )
    return found


def finished(out: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in out.rglob("trials/*/record.json")}


def twice(out: Path) -> list[str]:
    """Keys that a ledger holds more than once, or that are not those of its folders."""
    wrong = []
    for path in out.rglob("trials.jsonl"):
        counts = Counter(json.loads(line)["key"] for line in path.read_text("utf8").splitlines())
        folders = {folder.parent.name for folder in (path.parent / "trials").glob("*/record.json")}
        wrong += [key for key, n in counts.items() if n > 1]
        wrong += sorted(folders ^ set(counts))
    return wrong


def disturb(command: list[str], out: Path, fault: str, after: float, kb: int, is_disk: bool) -> Ended:
    """Run a command, and do it harm. after (float): Seconds. kb (int): What a full disk holds."""
    start = time.perf_counter()
    if fault == "full" and is_disk:
        resize(out.parent, kb)
    limit = kb * 1024 if fault == "full" and not is_disk else None
    process = run(command, rights=fault != "readonly", most_bytes=limit)
    if fault != "full":
        with suppress(subprocess.TimeoutExpired):
            process.wait(after)
        if fault == "readonly":
            may_write(out, False)
        elif process.poll() is None:
            process.send_signal(signal.SIGKILL if fault == "kill" else signal.SIGTERM)
    found = ended(process, start)
    may_write(out, True)
    if fault == "full" and is_disk:
        resize(out.parent, 512 * 1024)
    return found


def main(
    times: Annotated[int, typer.Option(min=1, help="Faults.")] = 50,
    seconds: Annotated[float, typer.Option(help="Begin no fault after so many.")] = float("inf"),
    seed: Annotated[int, typer.Option(help="Fixes commands, faults and moments.")] = 0,
    only: Annotated[str, typer.Option(help="Commands, separated by commas.")] = "",
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = Path(__file__).parent
    / "results"
    / "faults.jsonl",
) -> None:
    """Disturb commands, and append a record of each fault."""
    rng, start, n_wrong = random.Random(seed), time.perf_counter(), 0
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        work = Path(name)
        prepare(work)
        names = only.split(",") if only else list(commands(work, work))
        pairs = [(command, fault) for fault in FAULTS for command in names]
        rng.shuffle(pairs)
        undisturbed: dict[str, tuple[float, int, dict[str, list[str]]]] = {}
        for i in range(times):
            own, fault = pairs[i % len(pairs)]
            if time.perf_counter() - start > seconds:
                break
            if own not in undisturbed:
                with disk() as (place, _):
                    out = place / "out"
                    out.mkdir()
                    begun = time.perf_counter()
                    done = ended(run(commands(work, out)[own]), begun)
                    if done.code:
                        typer.echo(done.said[-2000:])
                        raise SystemExit(f"{own} fails by itself")
                    kb = sum(p.stat().st_size for p in out.rglob("*") if p.is_file()) // 1024
                    undisturbed[own] = done.seconds, kb, written(out)
            took, kb, expected = undisturbed[own]
            with disk() as (place, is_disk):
                out = place / "out"
                out.mkdir()
                command = commands(work, out)[own]
                after, room = rng.uniform(0.1, 1.0) * took, rng.randint(4, max(5, 3 * kb // 4))
                harmed = disturb(command, out, fault, after, room, is_disk)
                before = finished(out)
                again = ended(run(command), time.perf_counter())
                found = written(out) if not again.code else {}
                lost = [
                    str(p) for p, data in before.items() if not p.is_file() or p.read_bytes() != data
                ]
                differ = sorted(n for n in {*found, *expected} if found.get(n) != expected.get(n))
                counted_twice = twice(out)
                record = {
                    "name": "faults",
                    "command": own,
                    "fault": fault,
                    "disk": is_disk,
                    "after_seconds": round(after, 1) if fault != "full" else None,
                    "room_kb": room if fault == "full" else None,
                    "exit": harmed.code,
                    "traceback": "Traceback" in harmed.said,
                    "finished_before": len(before),
                    "exit_again": again.code,
                    "said_again": again.said[-500:] if again.code else "",
                    "lost": lost,
                    "twice": counted_twice,
                    "differ": differ if not again.code else [],
                    "seed": seed,
                    "spacy_longtail": __version__,
                }
            n_wrong += bool(record["exit_again"] or lost or record["twice"] or record["differ"])
            typer.echo(json.dumps(record))
            with results.open("a", encoding="utf8") as file:
                file.write(json.dumps(record) + "\n")
    typer.echo(f"{n_wrong} wrong")
    raise SystemExit(int(n_wrong > 0))


if __name__ == "__main__":
    typer.run(main)
