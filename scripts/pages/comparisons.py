"""docs/comparisons.md: what a user would pick instead, from the records of benchmarks/peers.py."""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

import srsly

from .figures import fill, wrapped
from .figures import tests as tests_on
from .records import RECORDS, read, table
from .results import CROSSNER, LARGER

TEXT = Path(__file__).with_name("comparisons.md")
PEERS = RECORDS.parent / "peers"
CORPORA = {corpus.lower(): name for name, corpus in {**CROSSNER, **LARGER}.items()}
OURS = ("light", "light_large", "three", "six")
SEEDS = (0, 1, 2)
FINDS = 0.1  # macro F1; what finds less is ahead in no cost
UNFINISHED = ("span_marker", "gliner")  # stopped before their end: a sentence says so, no table
# peers whose trainings of the same protocol are in knowledge.jsonl, by their method there
BORROWED = {
    "spacy": "ner",
    "light": "pretrained",
    "light_large": "pretrained, not mixed",
    "three": "pretrained, three layers",
    "six": "pretrained, six layers",
    "spacy_sm": "ner, en_core_web_sm",
}
BORROWED_TEXT = """\
\\* from `benchmarks/results/knowledge.jsonl`: the same sentences and seeds. Stock spaCy had the patience
of 200 updates that it has here, and ours had their numbers of steps. Costs were not measured there."""
F1 = {"ents_macro_f": "macro", "ents_tail_f": "tail", "ents_f": "micro"}


class Cost(NamedTuple):
    head: str
    unit: str
    value: Callable[[dict[str, Any]], float | None]  # of a record
    shown: str  # its format
    best: Callable[..., float]
    wins: str  # what the best one is said to have


COSTS = (
    Cost(
        "minutes to train", " minutes", lambda r: r["core_minutes"], ".2f", min, "the shortest training"
    ),
    Cost(
        "words a second",
        " words a second",
        lambda r: r["words_per_core_second"],
        ",.0f",
        max,
        "the fastest prediction",
    ),
    Cost("peak MiB", " MiB", lambda r: r["peak_mib"], ",.0f", min, "the least memory"),
    Cost("MiB on disk", " MiB", lambda r: r["disk_mib"], ",.1f", min, "the smallest model"),
    Cost("lines", "", lambda r: r["lines"], ".0f", min, "the fewest lines of code"),
)

Tests = dict[tuple[str, str], list[dict[str, Any]]]  # scores on test by peer and corpus


def titles() -> dict[str, str]:
    """The peers in the order of peers.yml, and those of a hub."""
    sections = srsly.read_yaml(PEERS / "peers.yml")
    peers = {name: row["title"] for key in ("peers", "hub") for name, row in sections[key].items()}
    return {"plain": "plain transformer", **peers}


def measured() -> list[dict[str, Any]]:
    """Records of whole corpora."""
    rows = read("peers") if (RECORDS / "peers.jsonl").is_file() else []
    return [row for row in rows if not row["limit"] and row["peer"] not in UNFINISHED]


def tests_of(rows: Sequence[dict[str, Any]]) -> tuple[Tests, set[tuple[str, str]]]:
    """Scores on test, and for which peers and corpora they are those of knowledge.jsonl."""
    tests: Tests = {}
    for row in rows:
        tests.setdefault((row["peer"], row["corpus"]), []).append(row["test"])
    names = {method: peer for peer, method in BORROWED.items()}
    known: Tests = {}
    for row in read("knowledge"):
        if row["method"] in names and row["seed"] in SEEDS:
            known.setdefault((names[row["method"]], row["corpus"].lower()), []).append(row["test"])
    borrowed = {key for key, runs in known.items() if len(runs) > len(tests.get(key, ()))}
    tests |= {key: known[key] for key in borrowed}
    for corpus in CORPORA:
        if runs := tests_on("plain", corpus):
            tests["plain", corpus] = runs
            borrowed.add(("plain", corpus))
    return tests, borrowed


def score(tests: Tests, peer: str, corpus: str, name: str) -> float | None:
    """A mean over seeds, in points."""
    rows = tests.get((peer, corpus))
    return 100 * mean(row[name] for row in rows) if rows else None


def leaders(tests: Tests, peers: Sequence[str], corpus: str, name: str) -> tuple[float, str] | None:
    """The best of some peers on a corpus, and its score."""
    scores = [(score(tests, peer, corpus, name), peer) for peer in peers]
    known = [(value, peer) for value, peer in scores if value is not None]
    return max(known, default=None)


def ahead(tests: Tests, rows: Sequence[dict[str, Any]], named: dict[str, str]) -> str:
    """Where a peer is ahead of all of ours: published figures, F1, costs."""
    others = [peer for peer in named if peer not in OURS]
    lines = []
    for published in figures():
        places = []
        for domain, value in published["f1"].items():
            best = leaders(tests, OURS, f"crossner_{domain}", "ents_f")
            if best and value > best[0]:
                places.append(f"{domain_name(domain)} ({value:.1f} against {best[0]:.1f})")
        if places and "tokens" not in published["protocol"]:
            lines.append(
                f"- **{published['title']} is ahead of our best micro F1, by its published F1,** on "
                f"{', '.join(places)}. [Protocol and caveats](#published-figures)."
            )
    for corpus, title in CORPORA.items():
        places = []
        for name, short in F1.items():
            best, ours = (leaders(tests, peers, corpus, name) for peers in (others, OURS))
            if best and ours and best[0] > ours[0]:
                places.append(
                    f"{short} F1 {best[0]:.1f} by {named[best[1]]}, our best {ours[0]:.1f} by "
                    f"{named[ours[1]]}"
                )
        if places:
            lines.append(f"- **{title}:** {'; '.join(places)}.")
    finding = [r for r in rows if r["test"]["ents_macro_f"] > FINDS]
    for cost in COSTS:
        values = means(finding, cost)
        if values and (winner := cost.best(values, key=lambda peer: values[peer])) not in OURS:
            mine = [peer for peer in values if peer in OURS]
            title = named[winner][0].upper() + named[winner][1:]
            text = f"- **{title} has {cost.wins}**: {values[winner]:{cost.shown}}{cost.unit}"
            if mine:
                best = cost.best(mine, key=lambda peer: values[peer])
                text += f", and ours {values[best]:{cost.shown}} ({named[best]})"
            lines.append(text + ".")
    return "\n".join(lines) or "- On nothing that was measured."


def wins(tests: Tests, named: dict[str, str]) -> str:
    """The best of ours and the best of the others on each corpus, by macro and tail F1."""
    others = [peer for peer in named if peer not in OURS]
    found = []
    for corpus, title in CORPORA.items():
        cells = []
        for name in ("ents_macro_f", "ents_tail_f"):
            for peers in (OURS, others):
                best = leaders(tests, peers, corpus, name)
                cells.append(f"{best[0]:.1f} {named[best[1]]}" if best else "")
        if any(cells):
            found.append((title, *cells))
    head = ("corpus", "macro: our best", "best of the others", "tail: our best", "best of the others")
    return table(head, found)


def scores(tests: Tests, borrowed: set[tuple[str, str]], named: dict[str, str]) -> str:
    corpora = [corpus for corpus in CORPORA if any(key[1] == corpus for key in tests)]
    found = []
    for peer, title in named.items():
        if not any(key[0] == peer for key in tests):
            continue
        cells = []
        for corpus in corpora:
            macro, tail = (score(tests, peer, corpus, name) for name in ("ents_macro_f", "ents_tail_f"))
            mark = "\\*" if (peer, corpus) in borrowed else ""
            cells.append("" if macro is None else f"{macro:.1f} / {tail:.1f}{mark}")
        found.append((title, *cells))
    return table(("", *(CORPORA[corpus] for corpus in corpora)), found)


def means(rows: Sequence[dict[str, Any]], cost: Cost) -> dict[str, float]:
    """What each peer costs in the mean of its records, where all of them have it."""
    values: dict[str, list[float | None]] = {}
    for row in rows:
        values.setdefault(row["peer"], []).append(cost.value(row))
    return {peer: mean(v) for peer, v in values.items() if None not in v}


def costs(rows: Sequence[dict[str, Any]], named: dict[str, str]) -> str:
    of_all = [(cost, means(rows, cost)) for cost in COSTS]
    found = []
    for peer, title in named.items():
        runs = [row for row in rows if row["peer"] == peer]
        if runs:
            cells = [f"{v[peer]:{cost.shown}}" if peer in v else "" for cost, v in of_all]
            found.append((title, str(len(runs)), *cells))
    return table(("", "runs", *(cost.head for cost in COSTS)), found)


def figures() -> list[dict[str, Any]]:
    return [row for name, row in srsly.read_yaml(PEERS / "published.yml").items() if name != "missing"]


def domain_name(domain: str) -> str:
    return CORPORA[f"crossner_{domain}"]


def published(tests: Tests, named: dict[str, str]) -> str:
    domains = [corpus.split("_")[1] for corpus in CORPORA if corpus.startswith("crossner_")]
    found = [
        (
            f"[{row['title']}]({row['source']})",
            row["protocol"],
            *(f"{row['f1'][d]:.1f}" if d in row["f1"] else "" for d in domains),
        )
        for row in figures()
    ]
    for peer in OURS:
        values = [score(tests, peer, f"crossner_{domain}", "ents_f") for domain in domains]
        if any(value is not None for value in values):
            cells = ["" if value is None else f"{value:.1f}" for value in values]
            found.append((named[peer], "trained, micro F1", *cells))
    return table(("", "protocol", *map(domain_name, domains)), found)


def render() -> str:
    """The page: the text of comparisons.md beside this module, with its tables."""
    named, rows = titles(), measured()
    tests, borrowed = tests_of(rows)
    text = fill(TEXT.read_text(encoding="utf8")).format(
        ahead=ahead(tests, rows, named),
        wins=wins(tests, named),
        scores=scores(tests, borrowed, named),
        borrowed=BORROWED_TEXT if borrowed else "",
        costs=costs(rows, named),
        published=published(tests, named),
        caveats="\n".join(f"- {row['title']}: {row['caveat']}" for row in figures()),
        missing="\n".join(f"- {name}" for name in srsly.read_yaml(PEERS / "published.yml")["missing"]),
    )
    return wrapped(text)
