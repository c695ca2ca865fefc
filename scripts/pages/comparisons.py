"""docs/comparisons.md: what a user would pick instead, from the records of benchmarks/peers.py."""

import itertools
from collections.abc import Callable, Iterable, Sequence
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
FINDS = 0.1  # minimum macro F1 of systems whose costs are compared
UNFINISHED = ("span_marker", "gliner")  # stopped before their end: a sentence says so, no table
BORROWED = {  # systems of `figures.SYSTEMS` whose scores are shown, by peer
    "plain": "plain",
    "spacy": "stock",
    "light": "cnn",
    "light_large": "not mixed",
    "three": "three",
    "six": "ours",
}
BORROWED_TEXT = """\
\\* These scores are from the records of [Results](results.md), with the same sentences and seeds. Stock
spaCy had a patience of 200 updates, as in the other rows, and our systems had the steps that their
configs say. Costs were not measured in these trainings."""
F1 = {"ents_macro_f": "macro", "ents_tail_f": "tail", "ents_f": "micro"}


class Cost(NamedTuple):
    head: str
    unit: str
    value: Callable[[dict[str, Any]], float | None]  # of a record
    shown: str  # its format
    best: Callable[..., float]
    wins: str  # name of the row where a peer is ahead


COSTS = (
    Cost("minutes to train", " minutes", lambda r: r["core_minutes"], ".2f", min, "shortest training"),
    Cost(
        "words per second",
        " words per second",
        lambda r: r["words_per_core_second"],
        ",.0f",
        max,
        "fastest prediction",
    ),
    Cost("peak MiB", " MiB", lambda r: r["peak_mib"], ",.0f", min, "lowest peak memory"),
    Cost("MiB on disk", " MiB", lambda r: r["disk_mib"], ",.1f", min, "smallest model"),
    Cost("lines", "", lambda r: r["lines"], ".0f", min, "fewest lines of code"),
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
    """Return the scores on test, and for which peers and corpora they are those of Results."""
    tests: Tests = {}
    for row in rows:
        tests.setdefault((row["peer"], row["corpus"]), []).append(row["test"])
    places = itertools.product(BORROWED, CORPORA)
    results = {(peer, corpus): tests_on(BORROWED[peer], corpus) for peer, corpus in places}
    known = {place: runs for place, runs in results.items() if runs}
    tests |= known
    borrowed = set(known)
    return tests, borrowed


def score(tests: Tests, peer: str, corpus: str, name: str) -> float | None:
    """A mean over seeds, in points."""
    values = [row[name] for row in tests.get((peer, corpus), ()) if row[name] is not None]
    return 100 * mean(values) if values else None


def leaders(tests: Tests, peers: Sequence[str], corpus: str, name: str) -> tuple[float, str] | None:
    """The best of some peers on a corpus, and its score."""
    scores = [(score(tests, peer, corpus, name), peer) for peer in peers]
    known = [(value, peer) for value, peer in scores if value is not None]
    return max(known, default=None)


def ahead(tests: Tests, rows: Sequence[dict[str, Any]], named: dict[str, str]) -> str:
    """Return where a peer is ahead of all of ours: in published figures, in F1 and in costs."""
    parts = [
        _listed(
            "By their published F1, these models are ahead of our best micro F1 "
            "([protocol and caveats](#published-figures)):",
            ("model", "ahead on (published F1 against ours)"),
            _ahead_by_published(tests),
        ),
        _listed(
            "In our own measurement, a peer is ahead in F1 here:",
            ("corpus", "score", "best of the others", "our best"),
            _ahead_in_f1(tests, named),
        ),
        _listed(
            "Costs of the best system, among those with a macro F1 of at least 10:",
            ("", "best of all", "our best"),
            _ahead_in_costs(rows, named),
        ),
    ]
    return "\n\n".join(part for part in parts if part) or "No system was ahead in any measurement."


def _listed(sentence: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a sentence with a table below it, or nothing if the table would be empty."""
    return f"{sentence}\n\n{table(head, rows)}" if rows else ""


def _ahead_by_published(tests: Tests) -> list[tuple[str, str]]:
    found = []
    for published in figures():
        places = []
        for domain, value in published["f1"].items():
            best = leaders(tests, OURS, f"crossner_{domain}", "ents_f")
            if best and value > best[0]:
                places.append(f"{domain_name(domain)} ({value:.1f} against {best[0]:.1f})")
        if places and "tokens" not in published["protocol"]:
            found.append((published["title"], ", ".join(places)))
    return found


def _ahead_in_f1(tests: Tests, named: dict[str, str]) -> list[tuple[str, ...]]:
    others = [peer for peer in named if peer not in OURS]
    found = []
    for corpus, title in CORPORA.items():
        for name, short in F1.items():
            best, ours = (leaders(tests, peers, corpus, name) for peers in (others, OURS))
            if best and ours and best[0] > ours[0]:
                cells = (f"{value:.1f} ({named[peer]})" for value, peer in (best, ours))
                found.append((title, short, *cells))
    return found


def _ahead_in_costs(rows: Sequence[dict[str, Any]], named: dict[str, str]) -> list[tuple[str, ...]]:
    finding = [r for r in rows if r["test"]["ents_macro_f"] > FINDS]
    found = []
    for cost in COSTS:
        values = means(finding, cost)
        winner = cost.best(values, key=lambda peer: values[peer]) if values else OURS[0]
        if winner not in OURS:
            mine = [peer for peer in values if peer in OURS]
            peers = [winner, *([cost.best(mine, key=lambda peer: values[peer])] if mine else [])]
            cells = [f"{values[peer]:{cost.shown}}{cost.unit} ({named[peer]})" for peer in peers]
            found.append((cost.wins, *cells, *([] if mine else [""])))
    return found


def wins(tests: Tests, named: dict[str, str]) -> str:
    """The best of ours and the best of the others on each corpus, by macro and tail F1."""
    others = [peer for peer in named if peer not in OURS]
    found = []
    for corpus, title in CORPORA.items():
        cells = []
        for name in ("ents_macro_f", "ents_tail_f"):
            for peers in (OURS, others):
                best = leaders(tests, peers, corpus, name)
                cells.append(f"{best[0]:.1f} ({named[best[1]]})" if best else "")
        if any(cells):
            found.append((title, *cells))
    head = ("corpus", "macro: our best", "best of the others", "tail: our best", "best of the others")
    return table(head, found)


def scores(
    tests: Tests, borrowed: set[tuple[str, str]], named: dict[str, str], corpora: Iterable[str]
) -> str:
    """Return the table of macro and tail F1 on some corpora."""
    known = [corpus for corpus in corpora if any(key[1] == corpus for key in tests)]
    found = []
    for peer, title in named.items():
        cells = []
        for corpus in known:
            macro, tail = (score(tests, peer, corpus, name) for name in ("ents_macro_f", "ents_tail_f"))
            mark = "\\*" if (peer, corpus) in borrowed else ""
            rare = "-" if tail is None else f"{tail:.1f}"
            cells.append("" if macro is None else f"{macro:.1f} / {rare}{mark}")
        if any(cells):
            found.append((title, *cells))
    return table(("", *(CORPORA[corpus] for corpus in known)), found)


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
        crossner=scores(tests, borrowed, named, map(str.lower, CROSSNER.values())),
        larger=scores(tests, borrowed, named, LARGER.values()),
        borrowed=BORROWED_TEXT if borrowed else "",
        costs=costs(rows, named),
        published=published(tests, named),
        caveats="\n".join(f"- {row['title']}: {row['caveat']}" for row in figures()),
        missing="\n".join(f"- {name}" for name in srsly.read_yaml(PEERS / "published.yml")["missing"]),
    )
    return wrapped(text)
