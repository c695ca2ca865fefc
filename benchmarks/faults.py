"""Whether the long commands survive faults: nothing finished is lost, nothing is counted twice.

Each time one command is run on a toy corpus and disturbed at a random moment: SIGKILL, SIGTERM, a full
disk (a small tmpfs where one can be mounted, else RLIMIT_FSIZE), an output folder that turns read-only,
a clock that jumps (libfaketime), or, for commands with a study, a PostgreSQL server that closes its
connections, or that is stopped at once and comes back (pgserver, psycopg). Then it is run again,
undisturbed. That must end well and write what a run without a fault writes, and each trial that was
finished before must stay as it was. A fault may end a command with a message, not with a traceback.
Linux alone. Appends one JSON record a fault to benchmarks/results/faults.jsonl, and goes on where that
ends; ends with 1 where a record says what was wrong.
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
from typing import Annotated, Any, NamedTuple

import srsly
import typer

from spacy_longtail.about import __version__
from spacy_longtail.output.writing import NEW

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.project.postgresql import Server  # noqa: E402
from tests.project.postgresql import server as own_server  # noqa: E402
from tests.util import toy_corpus, toy_docs  # noqa: E402

CONFIGS = ROOT / "configs"
FAULTS = ("kill", "terminate", "full", "readonly", "clock", "database")
STUDIES = {"matrix", "tune", "curve", "recommend"}  # commands that have a database
JUMPS = (-400 * 24 * 3600, -3600, -61, 61, 3600, 400 * 24 * 3600)  # of the clock, in seconds
EVERY = "training.eval_frequency="
STOPPED = {-signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL}
ENDS = {0, 2, 130} | STOPPED  # exit codes of what is disturbed
AWAY = 3  # seconds that a database server is away, at most
PLAN = "steps: 4\nseeds: 2\nsettings: {training.eval_frequency: 2}\ngrids: [{head: softmax}]\n"
TINY = {
    "training.eval_frequency": 2,
    "components.tok2vec.model.width": 16,
    "components.tok2vec.model.depth": 1,
    "components.tok2vec.model.embed_size": 100,
}
VOLATILE = re.compile(  # of JSON: times, and what follows from them
    r"seconds|minutes|date|started|finished|place|host|pid|per_second|command|size_mb|speed|memory|commit|dirty|^number$"
)
# a trial's folder, named after machine and process, in that of all
WORKING = re.compile(r"(?:work/)?[\w.-]+@[\w.-]+@\d+")
ATTEMPT = re.compile(r"(tune-[0-9a-f]{16})-\d+")  # a trial: those that were disturbed count
PLACE = re.compile(r"[\w/.~-]*faults-\w{8}")  # our temporary folder
COLOUR = re.compile(r"\x1b\[[\d;]*m")
DROPPED_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]  # root may write anywhere


class Ended(NamedTuple):
    code: int
    seconds: float
    said: str


class Undisturbed(NamedTuple):
    """What a command does without a fault. kb (int): Size of all that it writes."""

    seconds: float
    kb: int
    written: dict[str, list[str]]


def faketime() -> str:
    """RETURNS (str): The library that fakes the time, or nothing."""
    with suppress(ImportError):
        import libfaketime

        folder = Path(libfaketime.__file__).parent
        return next(map(str, folder.rglob("libfaketime.so.1")), "")
    return ""


def prepare(work: Path) -> None:
    """A toy corpus, a pool of text, a plan, and a trained pipeline."""
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
    sets = [f"--set={name}={value}" for name, value in TINY.items() if name + "=" != EVERY]
    corpus, model, student = work / "corpus", work / "trained/model-best", CONFIGS / "token_softmax.cfg"
    steps, often, always = ["--steps", 4], ["--set", EVERY + "2"], ["--set", EVERY + "1"]
    mom = ["--head", "softmax", "--loss", "MoM"]
    folds = ["--out-of-fold", 2, "--min-mentions", 2, "--folds-output", out / "folds"]
    silver = ["--student", student, "--threshold", 0.05, "--set", "training.max_steps=4"]
    draws = ["--sizes", "2,4", "--partitions", 1]
    calls: dict[str, Sequence[object]] = {
        "matrix": [work / "plan.yml", corpus, "-o", out],
        "tune": [corpus, *mom, "--trials", 2, *steps, *sets, *always, "-o", out],
        "curve": [corpus, "-o", out, *draws, *steps, *often],
        "recommend": [corpus, "-o", out, "--minutes", 60, "--folds", 3, "--steps", 2, *always],
        "pretrain": [corpus, "-o", out, *steps, "--words", 20, "--evaluations", 2],
        "mine": [model, work / "pool.txt", "-o", out / "next.jsonl", "--types", "NAT", "--labels", 20],
        "distil": [model, work / "pool.txt", "--gold", corpus, "-o", out, *silver, *sets, *often],
        "thresholds": [model, corpus, *folds, "-o", out / "model"],
    }
    return {name: [name, *map(str, call)] for name, call in calls.items()}


def run(
    command: list[str],
    *,
    rights: bool = True,
    most_bytes: int | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.Popen:
    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    own = [] if rights or os.geteuid() else DROPPED_RIGHTS
    call = [*own, sys.executable, "-W", "ignore", "-m", "spacy_longtail", *command]
    return subprocess.Popen(
        call,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=limit,
        env={**os.environ, **(environment or {})},
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
    if isinstance(value, str):
        return ATTEMPT.sub(r"\1", WORKING.sub("TRIAL", value.replace(str(out), "OUT")))
    return value


def shown(said: str) -> str:
    """The last line of what a command said, without colours and without where this machine has it."""
    lines = [line for line in COLOUR.sub("", said).splitlines() if line.strip()]
    return PLACE.sub("PLACE", WORKING.sub("TRIAL", lines[-1].strip())) if lines else ""


def written(out: Path) -> dict[str, list[str]]:
    """What a command wrote: the JSON of each file, in an order that says nothing."""
    found = {}
    for path in sorted(out.rglob("*.json*")):
        parts = path.relative_to(out).parts
        # a training that was stopped keeps what it had, and says so; of one that was killed, the next
        # one names what is left (LW034)
        left = any(part.endswith(".stopped") or part.startswith(NEW) for part in parts)
        if left or "work" in parts or path.name == "run.json":
            continue
        text = path.read_text(encoding="utf8")
        rows = text.splitlines() if path.suffix == ".jsonl" else [text]
        found[ATTEMPT.sub(r"\1", "/".join(parts))] = sorted(
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


class Case:
    """One fault: a command, what is done to it, and when. rng (random.Random): Draws all else."""

    def __init__(
        self, command: str, fault: str, undisturbed: Undisturbed, rng: random.Random, name: str
    ) -> None:
        self.command, self.fault, self.usual, self.rng = command, fault, undisturbed, rng
        self.name = name  # of its database
        self.after = rng.uniform(0.1, 1.0) * undisturbed.seconds
        self.kb = rng.randint(4, max(5, 3 * undisturbed.kb // 4))  # what a full disk holds
        self.jump = rng.choice(JUMPS)
        self.away = rng.choice([None, rng.uniform(0, AWAY)])  # null closes connections

    def said(self) -> dict[str, Any]:
        """What is done, for the record."""
        after = None if self.fault == "full" else round(self.after, 1)
        own = {"full": self.kb, "clock": self.jump, "database": self.away}
        return {"after_seconds": after, "size": own.get(self.fault)}

    def disturb(self, process: subprocess.Popen, out: Path, clock: Path, server: Server | None) -> None:
        """Do harm to a running command."""
        with suppress(subprocess.TimeoutExpired):
            process.wait(self.after)
        if self.fault == "readonly":
            may_write(out, False)
        elif self.fault == "clock":
            clock.write_text(f"{self.jump:+d}", encoding="utf8")
        elif self.fault == "database" and server is not None:
            if self.away is None:
                server.close_connections(self.name)
            else:
                server.stop()
                time.sleep(self.away)
                server.start()
        elif process.poll() is None:
            process.send_signal(signal.SIGKILL if self.fault == "kill" else signal.SIGTERM)

    def harmed(
        self, command: list[str], out: Path, is_disk: bool, work: Path, server: Server | None
    ) -> Ended:
        """Run a command, and do it harm."""
        start, clock = time.perf_counter(), work / "clock"
        limit, full = None, self.fault == "full"
        environment = {}
        if full and is_disk:
            resize(out.parent, self.kb)
        elif full:
            limit = self.kb * 1024
        if self.fault == "clock":
            clock.write_text("+0", encoding="utf8")
            environment = {
                "LD_PRELOAD": faketime(),
                "FAKETIME_TIMESTAMP_FILE": str(clock),
                "FAKETIME_NO_CACHE": "1",
                "DONT_FAKE_MONOTONIC": "1",
                "NO_FAKE_STAT": "1",
            }
        rights = self.fault != "readonly"
        process = run(command, rights=rights, most_bytes=limit, environment=environment)
        if not full:
            self.disturb(process, out, clock, server)
        found = ended(process, start)
        may_write(out, True)
        if full and is_disk:
            resize(out.parent, 512 * 1024)
        return found

    def record(self, work: Path, server: Server | None) -> dict[str, Any]:
        """Run the command with the fault, and again without. RETURNS (Dict): What was found."""
        with disk() as (place, is_disk):
            out = place / "out"
            out.mkdir()
            command = commands(work, out)[self.command]
            if self.fault == "database" and server is not None:
                command += ["--storage", server.database(self.name)]
            harmed = self.harmed(command, out, is_disk, work, server)
            before = finished(out)
            again = ended(run(command), time.perf_counter()) if harmed.code else harmed
            found = written(out) if not again.code else {}
            expected = self.usual.written
            lost = [
                str(p.relative_to(out))
                for p, data in before.items()
                if not p.is_file() or p.read_bytes() != data
            ]
            differ = sorted(n for n in {*found, *expected} if found.get(n) != expected.get(n))
            return {
                "command": self.command,
                "fault": self.fault,
                **self.said(),
                "disk": is_disk,
                "exit": harmed.code,
                "traceback": "Traceback" in harmed.said,
                "said": shown(harmed.said) if harmed.code > 0 else "",
                "finished_before": len(before),
                "exit_again": again.code,
                "said_again": shown(again.said) if again.code else "",
                "seconds": [round(harmed.seconds, 1), round(again.seconds, 1)],
                "lost": lost,
                "twice": twice(out),
                "differ": differ if not again.code else [],
            }


def undisturbed(work: Path, command: str) -> Undisturbed:
    """Run a command without any fault. RAISES (SystemExit): If it fails by itself."""
    with disk() as (place, _):
        out = place / "out"
        out.mkdir()
        done = ended(run(commands(work, out)[command]), time.perf_counter())
        if done.code:
            typer.echo(done.said[-2000:])
            raise SystemExit(f"{command} fails by itself")
        kb = sum(p.stat().st_size for p in out.rglob("*") if p.is_file()) // 1024
        return Undisturbed(done.seconds, kb, written(out))


def is_wrong(record: dict[str, Any]) -> bool:
    """Whether a fault cost anything, or was answered with a traceback."""
    names = ("traceback", "exit_again", "lost", "twice", "differ")
    return record["exit"] not in ENDS or any(record[name] for name in names)


def main(
    times: Annotated[int, typer.Option(min=1, help="Faults of each command.")] = 50,
    seconds: Annotated[float, typer.Option(help="Begin no fault after so many.")] = float("inf"),
    seed: Annotated[int, typer.Option(help="Fixes faults and moments.")] = 0,
    only: Annotated[str, typer.Option(help="Commands, separated by commas.")] = "",
    results: Annotated[Path, typer.Option(help="JSONL to append to.")] = Path(__file__).parent
    / "results"
    / "faults.jsonl",
) -> None:
    """Disturb commands, and append a record of each fault."""
    start, n_wrong = time.perf_counter(), 0
    rows = list(srsly.read_jsonl(results)) if results.exists() else []
    done = {(row["command"], row["number"]) for row in rows if row["seed"] == seed}
    with tempfile.TemporaryDirectory(prefix="faults-") as name, own_server() as server:
        work = Path(name)
        prepare(work)
        possible = [f for f in FAULTS if f != "clock" or faketime()]
        if server is None or "clock" not in possible:
            typer.echo("Left out: faults of clock or database, whose packages are not installed.")
        usual: dict[str, Undisturbed] = {}
        for number in range(times):
            for command in only.split(",") if only else commands(work, work):
                if (command, number) in done or time.perf_counter() - start > seconds:
                    continue
                own = [f for f in possible if f != "database" or (server and command in STUDIES)]
                if command not in usual:
                    usual[command] = undisturbed(work, command)
                rng = random.Random(f"{seed} {command} {number}")
                case = Case(command, own[number % len(own)], usual[command], rng, f"{command}_{number}")
                found = {"name": "faults", "number": number, **case.record(work, server)}
                found |= {"seed": seed, "spacy_longtail": __version__}
                n_wrong += is_wrong(found)
                typer.echo(json.dumps(found))
                with results.open("a", encoding="utf8") as file:
                    file.write(json.dumps(found) + "\n")
    typer.echo(f"{n_wrong} wrong")
    raise SystemExit(int(n_wrong > 0))


if __name__ == "__main__":
    typer.run(main)
