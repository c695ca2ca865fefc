"""Check that a change has no effect on short trainings and on the output of commands.

    python benchmarks/unchanged.py before
    python benchmarks/unchanged.py after --against before

It runs ten trainings of 50 steps, with every head, reader and kind of component, and compares what
the commands print and write about two of them on a fixed part. Times, versions and checksums of
code are masked.
"""

import difflib
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import srsly
import typer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CONFIGS = {
    "ner": "baseline",
    "longtail_ner": "focal",
    "softmax": "token_softmax",
    "crf": "token_crf",
    "two_task": "token_two_task",
    "resampled": "resampled_mom",
    "undersampled": "undersampled",
    "gate": "config",
    "mrc": "bilstm_mrc",
    "transformer": "bert_crf",
}
VOLATILE = (
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?", "<time>"),
    (r'"(seconds|speed|words_per_second)": ?[^,}\n]+', r'"\1": <volatile>'),
    (r"[\d,]+ words/s|(\s*[^\n]*%\|[^\n]*\n| {20,}\n)+", "<speed>"),
    (r"\b[0-9a-f]{12,64}\b", "<digest>"),
    (r"\d+(\.\d+)? (seconds|minutes|words per second|s\b)", "<duration>"),
)


def longtail(*args: object) -> str:
    """Return what a command prints on both streams, followed by its exit status."""
    command = [sys.executable, "-m", "spacy_longtail", *map(str, args)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160", "NO_COLOR": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return f"{done.stdout}\n{done.stderr}\nexit status {done.returncode}\n"


def masked(text: str, folder: Path) -> str:
    for name in (str(folder.resolve()), str(folder), folder.name):
        text = text.replace(name, "<folder>")
    text = text.replace(str(ROOT), "<root>")
    for pattern, name in VOLATILE:
        text = re.sub(pattern, name, text)
    return text


def trainings(corpus: Path, folder: Path) -> dict[str, str]:
    from tests.util import tiny_bert

    found = {}
    bert = tiny_bert(folder / "bert")
    for name, config in CONFIGS.items():
        output = folder / name
        settings = ["--training.max_steps", 50, "--training.eval_frequency", 50]
        if name == "transformer":
            settings += ["--paths.transformer", bert]
        elif name == "gate":
            settings += ["--paths.pretrained", "en_longtail_cnn"]
        path = folder / f"{config}.cfg"
        longtail("init-config", config, "-o", path)
        said = longtail("train", path, corpus, output, *settings)
        if not (output / "model-best").is_dir():
            sys.exit(f"{name}: {said}")
        scores = srsly.read_json(output / "model-best" / "meta.json")["performance"]
        found[f"training {name}"] = srsly.json_dumps(scores, indent=1, sort_keys=True)
        print(name, scores.get("ents_macro_f"), flush=True)
    return found


def commands(corpus: Path, folder: Path) -> dict[str, str]:
    metrics = folder / "metrics"
    metrics.mkdir()
    found = {}
    written = {"stats.json": ("stats", corpus, "-o", metrics / "stats.json")}
    for name in ("ner", "crf"):
        for part, target in (("test", metrics), ("dev", metrics / "dev")):
            target.mkdir(exist_ok=True)
            model = folder / name / "model-best"
            file = target / f"{name}.json"
            command = ("evaluate", model, corpus, "-o", file, "--part", part, "--name", name)
            written[f"{part} {name}.json"] = command
    gated = folder / "gate" / "model-best"
    page = ("evaluate", metrics, "--report", folder / "report.html", "--baseline", "ner")
    written |= {
        "report": (*page, "--ours", "crf"),
        "report as JSON": (*page, "--json"),
        "card": (*page, "--card", folder / "crf" / "model-best"),
        "thresholds": ("thresholds", gated, corpus, "-o", folder / "thresholds"),
        "audit": ("audit", corpus),
        "stats in words": ("stats", corpus),
    }
    for name, command in written.items():
        found[f"command {name}"] = longtail(*command)
    files = [
        *metrics.rglob("*.json"),
        *folder.glob("report.*"),
        folder / "crf" / "model-best" / "README.md",
    ]
    for file in files:
        found[f"file {file.relative_to(folder)}"] = file.read_text(encoding="utf8")
    return found


def main(
    folder: Path, corpus: Path = ROOT / "corpus" / "field_notes", against: Path | None = None
) -> None:
    """Train, run the commands, store the results in FOLDER, and compare them with AGAINST."""
    folder.mkdir(parents=True)
    found = trainings(corpus, folder) | commands(corpus, folder)
    found = {name: masked(text, folder) for name, text in found.items()}
    srsly.write_json(folder / "unchanged.json", found)
    digests = {name: sha256(text.encode()).hexdigest()[:16] for name, text in found.items()}
    print(srsly.json_dumps(digests, indent=1))
    if against is None:
        return
    before = {
        name: masked(text, against) for name, text in srsly.read_json(against / "unchanged.json").items()
    }
    differing = 0
    for name in sorted(before | found):
        lines = [texts.get(name, "").splitlines() for texts in (before, found)]
        changes = list(difflib.unified_diff(*lines, "before", "after", n=0, lineterm=""))
        if changes:
            differing += 1
            print(f"== {name}", *[line[:300] for line in changes[:20]], sep="\n")
    print(f"{len(found)} compared, {differing} differ")
    sys.exit(bool(differing))


if __name__ == "__main__":
    typer.run(main)
