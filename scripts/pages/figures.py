"""Figures that stand in sentences of README and docs, each computed from the records by its name.

A template of `scripts/pages/` names one as `{{rare.ours}}`. `fill` puts the figures in.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import mean, stdev

from . import advice, decisions, domains, serving, zero_shot
from .records import points, read, rows_of

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
WEASEL = "<!-- WEASEL"
NAME = re.compile(r"\{\{(.+?)\}\}", flags=re.DOTALL)
CORPORA = ("AI", "literature", "music", "politics", "science")
END = ("knowledge_transformer_converged", "softmax")  # the plain transformer, trained to its end
SYSTEMS = {  # records and method of each system; the first record with rows of a corpus counts
    "stock": (("knowledge", "ner"), ("small", "stock")),
    "crf": (("knowledge", "crf"),),
    "plain": (
        ("crossner", "plain transformer"),
        ("small", "plain transformer"),
        END,
    ),
    "cnn": (("crossner", "CNN"), ("small", "CNN"), ("larger", "CNN")),
    "not mixed": (("larger", "CNN, not mixed"),),
    "three": (("crossner", "three layers"),),
    "ours": (("crossner", "six layers"),),
}
ON_CROSSNER = ("stock", "crf", "plain", "cnn", "three", "ours")
LARGE = {"gmb": "GMB", "bionlp13cg": "BioNLP", "wnut17": "WNUT-17", "field_notes": "Field Notes"}
SCORES = {"macro": "ents_macro_f", "tail": "ents_tail_f", "micro": "ents_f"}
FEW = 15  # training mentions
GENERAL = ("person", "location", "country", "organisation", "event", "misc")


class RareType:
    """A rare type of CrossNER: its training mentions, whether donors know it, and F1 by system."""

    def __init__(self, corpus: str, name: str, mentions: int, overlap: str) -> None:
        self.corpus, self.name, self.mentions, self.overlap = corpus, name, mentions, overlap
        self.f = {
            system: 100 * mean(test["ents_per_type"][name]["f"] for test in tests(system, corpus))
            for system in ON_CROSSNER
        }


@cache
def records_of(name: str) -> list[dict]:
    return read(name)


def tests(system: str, corpus: str) -> list[dict]:
    """The scores on test of a system, one seed each."""
    for name, method in SYSTEMS[system]:
        own = [r for r in records_of(name) if (r["corpus"], r["method"]) == (corpus.lower(), method)]
        if own:
            break
    return [_with_tail(r["test"], corpus) for r in sorted(own, key=lambda r: r["seed"])]


def _with_tail(test: dict, corpus: str) -> dict:
    """The scores with the tail F1 of the same rare types, or null if there are none."""
    rare = [r["tail"] for r in records_of("training_mentions") if r["corpus"] == corpus.lower()]
    if not rare:
        return test
    f = [test["ents_per_type"][label]["f"] for label in rare[0]]
    return test | {"ents_tail_f": mean(f) if f else None}


@cache
def rare_types() -> list[RareType]:
    """The types with at most 30 training mentions, rarest first."""
    mentions = {r["corpus"]: r["mentions"] for r in records_of("training_mentions")}
    types = [
        RareType(r["corpus"], r["type"], mentions[r["corpus"]][r["type"]], r["overlap"])
        for r in records_of("type_overlap")
    ]
    return sorted(types, key=lambda t: (t.mentions, t.corpus, t.name))


def score(system: str, corpus: str, key: str) -> float:
    """The mean over seeds, in points."""
    return 100 * mean(test[SCORES[key]] for test in tests(system, corpus))


def _mean_at_end(rare: RareType) -> float:
    """Return the F1 of a rare type with the plain transformer that was trained to its end."""
    runs = [r for r in records_of(END[0]) if (r["corpus"], r["method"]) == (rare.corpus, END[1])]
    return 100 * mean(r["test"]["ents_per_type"][rare.name]["f"] for r in runs)


def _rare() -> Iterator[tuple[str, str]]:
    types = rare_types()
    groups = {
        "rare": types,
        "few": [t for t in types if t.mentions <= FEW],
        **{kind: [t for t in types if t.overlap == kind] for kind in ("name", "open", "near")},
        "unnamed": [t for t in types if t.overlap != "name"],
        "general": [t for t in types if t.name in GENERAL],
        "special": [t for t in types if t.name not in GENERAL],
        "few special": [t for t in types if t.name not in GENERAL and t.mentions <= FEW],
    }
    ended = [_mean_at_end(t) for t in groups["few special"]]
    yield "few special.plain to its end", f"{mean(ended):.1f}"
    for group, own in groups.items():
        yield f"{group}.n", str(len(own))
        for system in ON_CROSSNER:
            yield f"{group}.{system}", f"{mean(t.f[system] for t in own):.1f}"
            yield f"{group}.{system} round", f"{mean(t.f[system] for t in own):.0f}"
    names = [(c, t) for c in CORPORA for t in tests("cnn", f"crossner_{c}")[0]["ents_per_type"]]
    f = {
        system: [
            mean(t["ents_per_type"][name]["f"] for t in tests(system, f"crossner_{corpus}"))
            for corpus, name in names
        ]
        for system in ("cnn", "stock")
    }
    higher = sum(own > other for own, other in zip(f["cnn"], f["stock"], strict=True))
    yield "types.cnn over stock", "All" if higher == len(names) else str(higher)
    for system in ("cnn", "ours"):
        for other in ("stock", "plain"):
            higher = sum(t.f[system] > t.f[other] for t in types)
            yield f"rare.{system} over {other}", str(higher)
            yield f"rare.{other} over {system}", str(len(types) - higher or "none")
    yield "few.named", str(sum(t.overlap == "name" for t in groups["few"]))
    steps = [mean(t.f[system] for t in types) for system in ("stock", "plain", "ours")]
    yield "rare.plain - stock", f"{steps[1] - steps[0]:.1f}"
    yield "rare.ours - plain", f"{steps[2] - steps[1]:.1f}"


def _corpora() -> Iterator[tuple[str, str]]:
    means: dict[tuple[str, str], list[float]] = {}
    for name in CORPORA:
        corpus = f"crossner_{name.lower()}"
        for system in ON_CROSSNER:
            for key in SCORES:
                value = score(system, corpus, key)
                means.setdefault((system, key), []).append(value)
                yield f"{name}.{system}.{key}", f"{value:.1f}"
        for system in ("cnn", "ours"):
            for key in ("macro", "tail"):
                values = [means[s, key][-1] for s in (system, "stock")]
                yield f"{name}.{system} - stock.{key}", f"{values[0] - values[1]:+.1f}"
    for (system, key), values in means.items():
        yield f"mean.{system}.{key}", f"{mean(values):.1f}"
    for key in ("macro", "tail"):
        gains = [a - b for a, b in zip(means["cnn", key], means["stock", key], strict=True)]
        yield f"least gain.{key}", f"{min(gains):.0f}"
        yield f"greatest gain.{key}", f"{max(gains):.0f}"
        for system in ("crf", "cnn", "three", "ours"):
            for other in ("stock", "plain", "cnn", "three"):
                value = mean(means[system, key]) - mean(means[other, key])
                yield f"mean.{system} - {other}.{key}", f"{value:.1f}"


def _larger() -> Iterator[tuple[str, str]]:
    for corpus in LARGE:
        for system in ("stock", "crf", "cnn", "not mixed"):
            own = tests(system, corpus)
            for key in SCORES if own else ():
                if own[0][SCORES[key]] is None:  # no rare type
                    continue
                value = 100 * mean(test[SCORES[key]] for test in own)
                yield f"{corpus}.{system}.{key}", f"{value:.1f}"
                gain = value - score("stock", corpus, key)
                yield f"{corpus}.{system} - stock.{key}", f"{gain:+.1f}"


def _zero_shot() -> Iterator[tuple[str, str]]:
    rows = [r for r in records_of("broad_encoder") if r["kind"].startswith("zero-shot of")]
    names = {"six": "en_longtail_trf 1.1.0", "three": "en_longtail_trf_small 1.1.0"}
    for name, encoder in (names | {"cnn": "en_longtail_cnn"}).items():
        own = [r for r in rows if (r["encoder"], r["part"]) == (encoder, "test")]
        for key in SCORES:
            yield f"zero.{name}.{key}", f"{mean(r[key] for r in own):.1f}"
        micro = [r["micro"] for r in own]
        yield f"zero.{name}.range", f"{min(micro):.0f} to {max(micro):.0f}"
        yield f"zero.{name}.politics", next(str(r["macro"]) for r in own if "politics" in r["corpus"])
    yield from zero_shot.parts()


def _mining() -> Iterator[tuple[str, str]]:
    rows = [
        r
        for r in records_of("mining_rounds")
        if (r["corpus"], r["config"]) == ("gmb_full", "configs/pretrained_cnn.cfg")
    ]
    last = max(r["round"] for r in rows)
    rounds = {("mining.before", "mine", 0), ("mining", "mine", last), ("random", "random", last)}
    for name, strategy, number in rounds:
        own = [r for r in rows if (r["strategy"], r["round"]) == (strategy, number)]
        tails = [f"{100 * r['tail']:.1f}" for r in sorted(own, key=lambda r: r["seed"])]
        yield f"{name}.tail", f"{100 * mean(r['tail'] for r in own):.1f}"
        yield f"{name}.tail by seed", " and ".join(tails)


def _claims() -> Iterator[tuple[str, str]]:
    """The shipped recipe on few sentences of politics."""
    rows = [
        r for r in records_of("claims") if r["plan"] == "claims_few" and r["method"] == "descriptions"
    ]
    for n in (20, 50):
        macros = [r["test"]["macro"] for r in rows if r["sentences"] == n]
        yield f"claims.{n}", f"{mean(macros):.1f} ± {stdev(macros):.1f}"

    def score(domain: str, method: str, part: str, key: str) -> float:
        place = ("claims", f"crossner_{domain}", method)
        own = (r for r in records_of("claims") if (r["plan"], r["corpus"], r["method"]) == place)
        return mean(r[part][key] for r in own)

    for key in ("macro", "tail"):
        for name, method in (("recipe", "plain"), ("with sCR", "sCR")):
            yield f"claims.{name}.{key}", f"{score('politics', method, 'test', key):.1f}"
        for part in ("dev", "test"):
            gains = [
                score(domain, "sCR", part, key) - score(domain, "plain", part, key)
                for domain in ("ai", "literature", "music", "science")
            ]
            span = f"{min(gains):+.1f} to {max(gains):+.1f}"
            yield f"claims.sCR elsewhere.{part}.{key}", span.replace("-", "−")


def _recipe() -> Iterator[tuple[str, str]]:
    """Yield rows of the plain transformer with and without our recipe's settings, and of ours."""
    systems = {
        "400 steps": ("crossner", "plain transformer"),
        "400 steps, with our two settings": ("plain_transformer", "2e-4, decay and mix"),
        "to its end": END,
    }
    systems = {f"plain transformer, {title}": own for title, own in systems.items()}
    systems |= {"ours, six layers, 400 steps": ("crossner", "six layers")}
    rows = []
    for title, (name, method) in systems.items():
        by_corpus: dict[str, list[float]] = {f"crossner_{c.lower()}": [] for c in CORPORA}
        for r in records_of(name):
            if r["method"] == method and r["corpus"] in by_corpus:
                by_corpus[r["corpus"]].append(r["test"]["ents_macro_f"])
        rows.append((title, *map(points, by_corpus.values())))
    yield "recipe.rows", rows_of(rows)
    for name, system in (("400", systems["plain transformer, 400 steps"]), ("end", END)):
        tails: dict[str, list[float]] = {}
        for r in records_of(system[0]):
            if r["method"] == system[1] and r["corpus"].startswith("crossner_"):
                tails.setdefault(r["corpus"], []).append(
                    _with_tail(r["test"], r["corpus"])["ents_tail_f"]
                )
        yield f"plain.{name}.tail", f"{100 * mean(map(mean, tails.values())):.1f}"
    names = {
        "gmb_600": "GMB, 600 sentences",
        "bionlp_200": "BioNLP 2013 CG, 200 sentences",
        "field_notes": "Field Notes",
    }
    runs: dict[tuple[str, str], list[dict]] = {}
    for r in records_of("small"):
        runs.setdefault((r["corpus"], r["method"]), []).append(r["test"])
    methods = {"stock": "stock", "plain transformer": "plain transformer", "CNN": "our CNN"}
    methods |= {f"{n} layers": f"ours, {n} layers" for n in ("three", "six")}
    rows = []
    for method, name in methods.items():
        own = [runs.get((corpus, method)) for corpus in names]
        for key, score in (("ents_macro_f", "macro"), ("ents_tail_f", "tail")):
            cells = (points([t[key] for t in tests]) if tests else "-" for tests in own)
            rows.append((name, score, *cells))
    for (corpus, method), tests in runs.items():
        for key, score in (("ents_macro_f", "macro"), ("ents_tail_f", "tail")):
            yield f"small.{corpus}.{method}.{score}", f"{100 * mean(t[key] for t in tests):.1f}"
    yield "small.corpora", " | ".join(names.values())
    yield "small.rows", rows_of(rows)


def _budgets() -> Iterator[tuple[str, str]]:
    rows = [r for r in records_of("budgets") if r["corpus"] == "gmb_subset"]
    for name in ("primary", "secondary", "replace 0.1"):
        tails = [r["test"]["tail_f"] for r in rows if r["system"] == name]
        yield f"budget.{name}", f"{100 * mean(tails):.1f}"


def _advice() -> Iterator[tuple[str, str]]:
    rows = records_of("advice")
    yield "advice.n", str(len(rows))
    yield "advice.corpora", str(len({r["corpus"] for r in rows}))
    yield "advice.better", str(sum(r["gain"] > 0 for r in rows))
    yield "advice.gain", f"{100 * mean(r['gain'] for r in rows):.1f}"
    yield "advice.regret", f"{100 * mean(r['regret'] for r in rows):.1f}"
    yield "advice.most regret", f"{100 * max(r['regret'] for r in rows):.1f}"
    yield "advice in short", advice.in_short()
    yield "advice_30.rows", rows_of(advice.within_30_minutes())


def _speed() -> Iterator[tuple[str, str]]:
    names = {"stock": "stock CNN ner", "cnn": "our CNN", "three": "ours, three layers"}
    names |= {"three int8": "ours, three layers int8", "six": "ours, six layers"}
    names |= {"six int8": "ours, six layers int8", "blas": "stock CNN ner, NumPy's BLAS"}
    names |= {"stock six": "stock transformer ner, six layers"}
    for r in records_of("serving"):
        for name, of in names.items():
            if r["name"] == of and r.get("threads"):
                yield f"words.{name}.{r['threads']}", f"{r['words_per_second']:,}"
                yield f"times.{name}.{r['threads']}", f"{r['times_stock']:.1f}"
            elif r["name"] == of and r.get("part") == "serving":
                yield f"memory.{name}", f"{r['peak_mib']:,}"
                yield f"p50.{name}", str(r["p50_ms"])
    for n in (1, 2):
        words = {
            r["name"]: r["words_per_second"] for r in records_of("serving") if r.get("threads") == n
        }
        yield f"times.cnn over blas.{n}", f"{words[names['cnn']] / words[names['blas']]:.1f}"


def _over_plain() -> Iterator[tuple[str, str]]:
    """Yield the differences from the plain transformer on CrossNER, with their intervals."""
    systems = {"CNN": "cnn", "three layers": "three", "six layers": "six"}
    records = [r for r in records_of("crossner_decisions") if r["method"] in systems]
    for r in records:
        corpus = r["corpus"].removeprefix("crossner_").replace("ai", "AI")
        value, low, high = (100 * r[key] for key in ("value", "low", "high"))
        yield (
            f"{corpus}.over.{systems[r['method']]}.{r['score']}",
            f"{value:+.1f} ({low:.1f}–{high:.1f})",
        )
    shown = [r["outcome"] for r in records if r["score"] != "micro"]
    yield "over.shown", str(len(shown))
    yield "over.significant", str(shown.count("better"))


def _sizes() -> Iterator[tuple[str, str]]:
    """Training on train and dev dealt again; means over seeds."""
    names = {"stock": "stock", "our CNN": "cnn", "ours, three layers": "three"}
    scores: dict[tuple[str, str, str, str], list[float]] = {}
    for r in records_of("training_sizes"):
        if r["setting"] != "pooled":
            continue
        for key in ("macro", "tail"):
            place = (r["setting"], r["corpus"], names[r["method"]], key)
            scores.setdefault(place, []).append(r["test"][f"ents_{key}_f"])
    for place, values in scores.items():
        yield ".".join(place), f"{mean(values):.1f}"


def _extended() -> Iterator[tuple[str, str]]:
    """F1 of the types that `extended` adds to a trained pipeline; means over types and seeds."""
    scores: dict[str, list[float]] = {}
    for r in records_of("extended"):
        if r["part"] == "test":
            scores.setdefault(r["method"], []).append(mean(t["f"] for t in r["types"].values()))
    yield "extended.new", f"{mean(scores['secondary over the pretrained CNN']):.1f}"
    yield "extended.old", f"{mean(scores['gate and secondary from scratch']):.1f}"


def _costs() -> Iterator[tuple[str, str]]:
    names = {"baseline": "stock `ner`", "pretrained_cnn": "our CNN", "transformer": "ours, three layers"}
    rows = []
    for config, name in names.items():
        records = [r for r in records_of("costs") if r.get("config") == f"configs/{config}.cfg"]
        first, last, *_ = (r for r in records if "cpu_s" in r)
        per_step = (last["cpu_s"] - first["cpu_s"]) / (last["steps"] - first["steps"])
        cells = (f"{first['cpu_s']:.0f}", f"{100 * per_step:.0f}")
        rows.append((name, *cells, f"{last['peak_mib']:,}", str(last["disk_mib"])))
        yield f"memory of training.{config}", f"{last['peak_mib']:,}"
    yield "training costs", rows_of(rows)
    to_the_end = [
        (
            f"{r['sentences']:,} sentences of {r['corpus'].upper()}",
            str(r["steps"]),
            str(max(r["curve"], key=lambda point: point[1])[0]),
            f"{r['minutes']:.1f}",
        )
        for r in records_of("costs")
        if "minutes" in r
    ]
    yield "trainings to the end", rows_of(to_the_end)
    sizes = [(r["installed"], f"{r['mib']:,} MiB") for r in records_of("costs") if "installed" in r]
    yield "installed", rows_of([(f"installed by `pip install {n}`", size) for n, size in sizes])
    yield from zip(("installed.light", "installed.torch"), (size for _, size in sizes), strict=True)
    yield from serving.parts()
    (block,) = (r for r in records_of("first_block") if r["name"] == "the blocks of README.md")
    yield "first block", str(block["cpu_s"])
    (whole,) = (r for r in records_of("first_block") if r["name"] == "weasel run all")
    yield "run all", f"{whole['wall_s'] / 60:.0f}"


def _audit() -> Iterator[tuple[str, str]]:
    """Planted errors of annotation that `audit` found, one seed a column."""
    seeds = [(r, r["all"]["first"], r["rare"]["first"]) for r in records_of("audit")]
    last = [max(first, key=int) for _, first, _ in seeds]
    firsts = [first for _, first, _ in seeds]
    last_rare = [max(first, key=int) for _, _, first in seeds]
    n = seeds[0][0]["all"]["errors"]
    rows = {
        "planted errors": [str(r["all"]["errors"]) for r, *_ in seeds],
        "suspected errors": last,
        f"share of planted errors among the first {n}": [
            _percent(f[str(n)]["precision"]) for f in firsts
        ],
        f"planted errors found by reviewing the first {2 * n}": [
            _percent(f[str(2 * n)]["recall"]) for f in firsts
        ],
        "planted errors found by reviewing all suspected errors": [
            _percent(first[k]["recall"]) for first, k in zip(firsts, last, strict=True)
        ],
        "suspected errors of a rare type": last_rare,
        "planted errors of a rare type": [str(r["rare"]["errors"]) for r, *_ in seeds],
        "planted errors of a rare type found": [
            _percent(rare[k]["recall"]) for (_, _, rare), k in zip(seeds, last_rare, strict=True)
        ],
    }
    yield "audit", rows_of([(name, *cells) for name, cells in rows.items()])


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _decisions() -> Iterator[tuple[str, str]]:
    """What the simulation says of the rule of decision."""
    cells = decisions.tested_cells()
    alarms = [own["shown"] for own in cells if own["difference"] == 0]
    covered = [own["covered"] for own in cells]
    yield "decisions.by documents", decisions.by_documents()
    yield "decisions.by rule", decisions.by_rule()
    yield "decisions.cells", str(len(alarms))
    yield "decisions.alarms", f"{100 * mean(alarms):.1f}"
    yield "decisions.most alarms", f"{100 * max(alarms):.1f}"
    yield "decisions.covered", f"{100 * mean(covered):.1f}"
    yield "decisions.least covered", f"{100 * min(covered):.1f}"
    yield "decisions.most covered", f"{100 * max(covered):.1f}"
    by_score: dict[str, list[float]] = {}
    for own in cells:
        by_score.setdefault(own["score"], []).append(100 * own["covered"])
    yield (
        "decisions.by score",
        " to ".join(f"{end(map(mean, by_score.values())):.1f}" for end in (min, max)),
    )
    six = [own["shown"] for own in cells if (own["documents"], own["difference"]) == (6, 0)]
    yield "decisions.six", f"{100 * max(six):.1f}"
    yield "decisions.narrowest", f"{decisions.narrowest():.0f}"
    within = sum(0.93 <= share <= 0.97 for share in covered)
    yield "decisions.within", f"{100 * within / len(covered):.0f} %"


PARTS: tuple[Callable[[], Iterable[tuple[str, str]]], ...] = (
    _rare,
    _corpora,
    _larger,
    _zero_shot,
    _mining,
    _claims,
    _budgets,
    _advice,
    _speed,
    _over_plain,
    _sizes,
    _extended,
    _costs,
    _audit,
    _decisions,
    _recipe,
    domains.languages,
    domains.multilingual,
    domains.specialist,
)


@cache
def figures() -> dict[str, str]:
    """Every figure by its name."""
    return {name: value for part in PARTS for name, value in part()}


def fill(text: str) -> str:
    """Put figures in the place of their names, and wrap what they change; an unknown name fails."""
    return "\n\n".join(_filled(block) for block in text.split("\n\n"))


def _filled(block: str) -> str:
    filled = NAME.sub(lambda match: figures()[" ".join(match[1].split())], block)
    return filled if filled == block else wrapped(filled)


def wrapped(text: str) -> str:
    """Wrap paragraphs and list items at 100 characters; tables, blocks and headings stay."""
    return "\n\n".join(map(_wrapped_block, text.split("\n\n")))


def _wrapped_block(block: str) -> str:
    if re.match(r"[|#`<!]", block):
        return block
    return "\n".join(
        textwrap.fill(
            " ".join(item.split()),
            width=100,
            subsequent_indent="  " if item.startswith("- ") else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for item in re.split(r"\n(?=- )", block)
    )


def page(name: str) -> Callable[[], str]:
    """A function that writes a page of a template beside this module."""
    return lambda: fill((HERE / f"{name}.md").read_text(encoding="utf8"))


def readme() -> str:
    """README.md: its template, then what weasel wrote."""
    text = README.read_text(encoding="utf8")
    return page("README")() + text[text.index(WEASEL) :]
