"""Figures of docs/languages.md and docs/what_else.md: other languages and specialist domains."""

from collections.abc import Iterator
from statistics import mean

from .records import read, rows_of

SCORES = {"macro": "ents_macro_f", "tail": "ents_tail_f"}
LANGUAGES = {
    "de_smartdata": "German news and traffic reports (SmartData)",
    "de_biofid": "German texts on biodiversity (BIOfid)",
    "es_pharmaconer": "Spanish clinical cases (PharmaCoNER)",
    "fr_echr": "French court decisions (ECHR)",
    "it_linkedbooks": "Italian references (LinkedBooks)",
    "nl_globalise": "Dutch colonial archives (GLOBALISE)",
    "hu_nerkor": "Hungarian texts of many kinds (NerKor)",
    "fi_turku_one": "Finnish texts of many kinds (Turku ONE)",
}


def languages() -> Iterator[tuple[str, str]]:
    """Yield stock spaCy and the English CNN on corpora of other languages."""
    by_seed: dict[tuple[str, str, str], list[dict]] = {}
    for r in read("languages"):
        by_seed.setdefault((r["corpus"], r["method"], r["code"]), []).append(r["test"])
    runs = {key: averaged(tests) for key, tests in by_seed.items()}
    rows, gains = list[tuple[str, ...]](), list[float]()
    for (corpus, method, code), stock in runs.items():
        own = runs.get((corpus, "english CNN", code))
        if method == "stock" and own is not None:
            title = LANGUAGES[corpus]
            shown = (_scores(test, "ents_tail_f", "ents_f") for test in (stock, own))
            rows.append((title, str(len(stock["ents_per_type"])), *shown))
            gains.append(100 * (own["ents_macro_f"] - stock["ents_macro_f"]))
    titles = [*LANGUAGES.values()]
    yield "languages.rows", rows_of(sorted(rows, key=lambda row: titles.index(row[0])))
    yield "languages.better", "all" if min(gains) > 0 else str(sum(gain > 0 for gain in gains))
    yield "languages.gain", f"{mean(gains):.1f}"


def multilingual() -> Iterator[tuple[str, str]]:
    """Yield what a multilingual CNN gave, beside the English one."""
    zero: dict[tuple[bool, str, str], list[float]] = {}
    for r in read("languages_zero_shot"):
        is_english = r["corpus"].startswith("crossner")
        zero.setdefault((is_english, r["descriptions"], r["encoder"]), []).append(r["macro"])
    names = {"english": "en_longtail_cnn", "own": "multilingual trial"}
    names["taught"] = "multilingual trial, taught"
    for name, encoder in names.items():
        yield f"multilingual.zero.{name}.CrossNER", f"{mean(zero[True, 'English', encoder]):.1f}"
        for words in ("English", "native"):
            yield f"multilingual.zero.{name}.{words}", f"{mean(zero[False, words, encoder]):.1f}"
    runs = {(r["corpus"], r["method"]): r["test"] for r in read("languages") if r["seed"] == 0}
    pairs = {
        corpus: [runs[corpus, method] for method in ("english CNN", "multilingual CNN")]
        for corpus in LANGUAGES
        if (corpus, "multilingual CNN") in runs
    }
    rows = [
        (LANGUAGES[corpus], *(_scores(test, "ents_tail_f") for test in pair))
        for corpus, pair in pairs.items()
    ]
    yield "multilingual.rows", rows_of(rows)
    for i, name in enumerate(("english", "own")):
        tuned = mean(pair[i]["ents_macro_f"] for pair in pairs.values())
        yield f"multilingual.tuned.{name}", f"{100 * tuned:.1f}"


def averaged(tests: list[dict]) -> dict:
    """Return the mean of the scores of several seeds."""
    names = ("ents_macro_f", "ents_tail_f", "ents_f")
    by_type = {
        label: {key: mean(test["ents_per_type"][label][key] for test in tests) for key in "prf"}
        for label in tests[0]["ents_per_type"]
    }
    return {**{name: mean(test[name] for test in tests) for name in names}, "ents_per_type": by_type}


def _scores(test: dict, *keys: str) -> str:
    """Return macro F1 and other scores of a test part."""
    return " / ".join(f"{100 * test[name]:.1f}" for name in ("ents_macro_f", *keys))


DOMAINS = {
    "dimb_re": "diet and microbiome",
    "legal_indian": "Indian court judgments",
    "pico_breast": "breast cancer trials",
}
DONORS = {"bionlp13cg": "cancer genetics (BioNLP)", "gmb_subset": "news (GMB)"}  # that are no targets
EARLIER = {  # with lists
    "gmb_full": "news (GMB), 600 sentences",
    "bionlp13cg": "cancer genetics (BioNLP), 200 sentences",
    "wnut17": "messages (WNUT-17), 600 sentences",
}
FEW = {"few": 15, "rare": 30}  # at most so many training mentions
LONG = "1,000 steps"  # of methods whose names end with it
SPECIALIST = {  # methods in the records
    "stock": "stock",
    "plain": f"plain transformer, {LONG}",
    "cnn": "CNN",
    "three": f"three layers, {LONG}",
    "six": f"six layers, {LONG}",
}
TITLES = {  # of methods in the records
    "stock": "stock spaCy",
    "plain transformer": "plain transformer",
    f"plain transformer, {LONG}": f"plain transformer, {LONG}",
    "CNN": "our CNN",
    "three layers": "ours, three layers",
    "six layers": "ours, six layers",
    f"three layers, {LONG}": f"ours, three layers, {LONG}",
    f"six layers, {LONG}": f"ours, six layers, {LONG}",
}
ENSEMBLE = ("CNN", "six layers", "ensemble")


def specialist() -> Iterator[tuple[str, str]]:
    """Yield scores on specialist corpora, and what lists of names add."""
    by_seed = _by_seed("domains")
    runs = {key: averaged([*tests.values()]) for key, tests in by_seed.items()}
    first = {key: tests[0] for key, tests in by_seed.items()}  # beside what has this seed alone
    shots = {
        (
            r["corpus"],
            r["encoder"],
            "examples" if r["examples"] else r.get("descriptions", "declared"),
        ): r["macro"]
        for r in read("zero_shot")
    }
    zero = {key[:2]: macro for key, macro in shots.items() if key[2] == "declared"}
    for way, encoder in (("examples", "cnn"), ("paraphrases", "cnn"), ("paraphrases", "trf")):
        name = f"en_longtail_{encoder}"
        changes = [shots[corpus, name, way] - zero[corpus, name] for corpus in DOMAINS]
        yield f"{way}.change.{encoder}", f"{mean(changes):+.1f}".replace("-", "−")
    ruled = list[tuple[str, ...]]()
    ways = {"without": "without a ruler", "before": "before the CNN", "after": "after the CNN"}
    wrong, right = read("ruler")
    scores = ("macro", "tail", "micro")
    for way, title in ways.items():
        cells = (" / ".join(f"{r[way][name]:.1f}" for name in scores) for r in (wrong, right))
        ruled.append((title, *cells))
    yield "ruler.rows", rows_of(ruled)
    numbers = (str(len(runs[corpus, "CNN"]["ents_per_type"])) for corpus in DOMAINS)
    rows = list[tuple[str, ...]]([("types", "", *numbers)])
    for encoder, name in (
        ("cnn", "our CNN, without training"),
        ("trf", "ours, six layers, without training"),
    ):
        shots = (f"{zero[corpus, f'en_longtail_{encoder}']:.1f}" for corpus in DOMAINS)
        rows.append((name, "", *shots))
    for method, name in TITLES.items():
        n_seeds = min(len(by_seed[corpus, method]) for corpus in DOMAINS)
        cells = (_scores(runs[corpus, method], "ents_tail_f") for corpus in DOMAINS)
        rows.append((name, str(n_seeds), *cells))
    yield "domains.rows", rows_of(rows)
    yield from _by_size()
    yield from _longer(runs, by_seed)
    yield from _taught(first)
    yield from _donors(by_seed)
    yield from _masked(first)
    own, cnn = (
        [100 * first[corpus, method]["ents_macro_f"] for corpus in DOMAINS]
        for method in ("own free-text types", "CNN")
    )
    together = {r["corpus"]: r for r in read("domains_ensemble")}
    ensemble = []
    for corpus, r in together.items():
        cells = (f"{r[name]['macro']:.1f} / {r[name]['tail']:.1f}" for name in ENSEMBLE)
        ensemble.append((DOMAINS[corpus], *cells))
    yield "ensemble.rows", rows_of(ensemble)
    yield "own.changes", _changes(own, cnn)
    both = [r["ensemble"]["macro"] for r in together.values()]
    better = [max(r["CNN"]["macro"], r["six layers"]["macro"]) for r in together.values()]
    yield "ensemble.gains", _changes(both, better)
    for key in SCORES:
        means = {
            name: 100 * mean(runs[corpus, method][SCORES[key]] for corpus in DOMAINS)
            for name, method in SPECIALIST.items()
            if all((corpus, method) in runs for corpus in DOMAINS)
        }
        for name, value in means.items():
            yield f"domains.{name}.{key}", f"{value:.1f}"
            yield f"domains.{name} - stock.{key}", f"{value - means['stock']:.1f}"
        yield f"domains.six - plain.{key}", f"{means['six'] - means['plain']:.1f}"
    yield from _rare_types(runs)
    lists: dict[tuple[str, str], list[dict]] = {}
    for r in read("names"):
        lists.setdefault((r["corpus"], r["method"]), []).append(r["test"])
    rows, gains = [], dict[str, list[list[float]]]()
    for corpus in sorted({corpus for corpus, _ in lists}):
        name, _, coverage = corpus.rpartition("_")
        pair = [lists[corpus, method] for method in ("CNN", "CNN with lists")]
        means = [{k: mean(t[k] for t in tests) for k in SCORES.values()} for tests in pair]
        rows.append(
            (
                DOMAINS[name],
                f"{coverage} %",
                str(len(pair[0])),
                *(_scores(scores, "ents_tail_f") for scores in means),
            )
        )
        change = [100 * (means[1][k] - means[0][k]) for k in ("ents_macro_f", "ents_tail_f")]
        gains.setdefault(coverage, []).append(change)
    yield "lists.rows", rows_of(rows)
    for r in read("names_decisions"):
        p = "p < 0.001" if r["p"] < 0.001 else f"p = {r['p']:.2g}"
        interval = f"{r['difference']:+.1f} ({r['low']:+.1f} to {r['high']:+.1f}, {p})"
        yield f"lists.decision.{r['corpus']}", interval.replace("-", "−")
    few = {(r["corpus"], r["method"]): 100 * r["test"]["ents_macro_f"] for r in read("names_100")}
    pairs = ([few[f"{c}_30", name] for c in DOMAINS] for name in ("CNN with lists", "CNN"))
    yield "lists.100.changes", _changes(*pairs)
    yield from _lists_for_six(by_seed)
    yield from _weak_names()
    yield from _contrast()
    yield from _lists_elsewhere()
    yield "lists.gain.macro", f"{mean(gain[0] for gain in gains['30']):.1f}"
    yield "lists.gain.tail", f"{mean(gain[1] for gain in gains['30']):.1f}"
    yield "lists.gain.60.macro", f"{mean(gain[0] for gain in gains['60']):.1f}"


def _by_seed(name: str) -> dict[tuple[str, str], dict[int, dict]]:
    """Return the scores on test by corpus and method, of the seeds that all corpora have."""
    found: dict[tuple[str, str], dict[int, dict]] = {}
    for r in read(name):
        found.setdefault((r["corpus"], r["method"]), {})[r["seed"]] = r["test"]
    methods = {method for _, method in found}
    seeds = {m: set.intersection(*(set(found.get((c, m), ())) for c in DOMAINS)) for m in methods}
    return {
        (corpus, method): {seed: tests[seed] for seed in seeds[method]}
        for (corpus, method), tests in found.items()
        if seeds[method]
    }


def _by_size() -> Iterator[tuple[str, str]]:
    """Yield scores after training on 100 and on 600 sentences, and how far they are above stock."""
    for size in (100, 600):
        by_seed = _by_seed(f"domains_{size}")
        runs = {key: averaged([*tests.values()]) for key, tests in by_seed.items()}
        methods = [name for name in TITLES if all((corpus, name) in runs for corpus in DOMAINS)]
        rows = list[tuple[str, ...]]()
        for method in methods:
            n_seeds = min(len(by_seed[corpus, method]) for corpus in DOMAINS)
            cells = (_scores(runs[corpus, method], "ents_tail_f") for corpus in DOMAINS)
            rows.append((TITLES[method], str(n_seeds), *cells))
            gains = {
                key: mean(
                    100 * (runs[corpus, method][name] - runs[corpus, "stock"][name])
                    for corpus in DOMAINS
                )
                for key, name in SCORES.items()
            }
            for key, gain in gains.items():
                yield f"domains.{size}.{method} - stock.{key}", f"{gain:.1f}"
        yield f"domains.{size}.rows", rows_of(rows)


def _longer(
    runs: dict[tuple[str, str], dict], by_seed: dict[tuple[str, str], dict[int, dict]]
) -> Iterator[tuple[str, str]]:
    """Yield what 1,000 steps instead of 400 bring the transformers, with the same seeds."""
    for name in ("plain transformer", "three layers", "six layers"):
        short, long, stock = (
            mean(100 * runs[corpus, method]["ents_macro_f"] for corpus in DOMAINS)
            for method in (name, f"{name}, {LONG}", "stock")
        )
        changes = [
            100 * (by_seed[corpus, f"{name}, {LONG}"][seed]["ents_macro_f"] - test["ents_macro_f"])
            for corpus in DOMAINS
            for seed, test in by_seed[corpus, name].items()
        ]
        yield f"domains.long.{name}", f"{mean(changes):.1f}"
        yield f"domains.short.{name}.macro", f"{short:.1f}"
        yield f"domains.long.{name} - stock", f"{long - stock:.1f}"


def _donors(by_seed: dict[tuple[str, str], dict[int, dict]]) -> Iterator[tuple[str, str]]:
    """Yield what one more donor changes after training, by how near it is to the target."""
    own = {
        corpus: [100 * test["ents_macro_f"] for test in by_seed[corpus, "CNN"].values()]
        for corpus in DOMAINS
    }
    rows, changes = list[tuple[str, ...]](), list[float]()
    for r in sorted(read("nearest_donors"), key=lambda r: (r["target"], -r["types_alike"])):
        change = r["test"]["macro"] - mean(own[r["target"]])
        changes.append(change)
        cells = (f"{r['types_alike']:.2f}", f"{r['words_known']:.2f}", f"{change:+.1f}")
        donor = DONORS.get(r["donor"]) or DOMAINS[r["donor"]]
        rows.append((DOMAINS[r["target"]], donor, *(cell.replace("-", "−") for cell in cells)))
    yield "donors.rows", rows_of(rows)
    for name, value in (("least", min(changes)), ("most", max(changes)), ("mean", mean(changes))):
        yield f"donors.{name}", f"{value:+.1f}".replace("-", "−")
    yield "donors.spread", f"{max(max(scores) - min(scores) for scores in own.values()):.1f}"


def _masked(runs: dict[tuple[str, str], dict]) -> Iterator[tuple[str, str]]:
    """Yield what masked-language training on unlabelled text changes, without and with labels."""
    found = {(r["corpus"], r["encoder"]): r for r in read("masked_language")}
    (six,) = (r for (_, encoder), r in found.items() if encoder == "en_longtail_trf")
    three = [found[corpus, "en_longtail_trf_small"] for corpus in DOMAINS]
    shots = [[r[f"zero_shot_{when}"]["macro"] for r in three] for when in ("after", "before")]
    alone = [100 * runs[corpus, f"three layers, {LONG}"]["ents_macro_f"] for corpus in DOMAINS]
    yield "masked.three.shots", _changes(*shots)
    yield "masked.three", _changes([r["test"]["macro"] for r in three], alone)
    yield "masked.three.texts", "{}, {} and {}".format(*(f"{r['texts']:,}" for r in three))
    yield "masked.six.shots", _changes(*[[six[f"zero_shot_{w}"]["macro"]] for w in ("after", "before")])


def _taught(runs: dict[tuple[str, str], dict]) -> Iterator[tuple[str, str]]:
    """Yield macro F1 of six layers that a teacher's annotation of unlabelled text was added for."""
    for r in read("self_training"):
        alone, name = runs[r["corpus"], f"six layers, {LONG}"], f"taught.{r['corpus']}"
        yield f"{name}.alone", f"{100 * alone['ents_macro_f']:.1f}"
        yield f"{name}.student", f"{r['scores']['six layers, taught']['test']['macro']:.1f}"
        yield f"{name}.teacher", f"{r['scores'][r['teacher']]['test']['macro']:.1f}"
        yield f"{name}.texts", f"{r['texts']:,}"


def _lists_for_six(by_seed: dict[tuple[str, str], dict[int, dict]]) -> Iterator[tuple[str, str]]:
    """Yield scores of six layers with lists that have 30 % of the names, after 1,000 steps."""
    keys = ("ents_macro_f", "ents_tail_f")
    with_lists: dict[str, dict[int, dict]] = {}
    for r in read("names"):
        if r["method"] == f"six layers with lists, {LONG}":
            with_lists.setdefault(r["corpus"].removesuffix("_30"), {})[r["seed"]] = r["test"]
    seeds = set.intersection(*map(set, with_lists.values()))  # the same for all corpora
    rows, gains = list[tuple[str, ...]](), list[list[float]]()
    for corpus, title in DOMAINS.items():
        own, alone, stock = (
            averaged([tests[seed] for seed in seeds])
            for tests in (
                with_lists[corpus],
                by_seed[corpus, f"six layers, {LONG}"],
                by_seed[corpus, "stock"],
            )
        )
        rows.append((title, *(_scores(test, "ents_tail_f") for test in (alone, own))))
        gains.append([100 * (own[key] - other[key]) for other in (alone, stock) for key in keys])
    yield "lists.six.rows", rows_of(rows)
    yield "lists.six.seeds", ("one seed", "two seeds", "three seeds")[len(seeds) - 1]
    for i, what in enumerate(("gain.macro", "gain.tail", "above.macro", "above.tail")):
        yield f"lists.six.{what}", f"{mean(own[i] for own in gains):.1f}"


def _weak_names() -> Iterator[tuple[str, str]]:
    """Yield what sentences that lists of names annotate add to the CNN that sees the lists."""
    with_lists = {
        (r["corpus"], r["seed"]): 100 * r["test"]["ents_macro_f"]
        for r in [*read("names"), *read("weak_names")]
        if r["method"] == "CNN with lists"
    }
    own, alone = ([with_lists[f"{c}_30{end}", 0] for c in DOMAINS] for end in ("_weak", ""))
    yield "weak.changes", _changes(own, alone)


def _contrast() -> Iterator[tuple[str, str]]:
    """Yield what contrast between similar types changes without examples, on dev."""
    found = {(r["corpus"], r["encoder"], r["contrast"]): r["macro"] for r in read("contrast")}
    for encoder in ("cnn", "trf"):
        name = f"en_longtail_{encoder}"
        changes = [found[corpus, name, 0.25] - found[corpus, name, 0.0] for corpus in DOMAINS]
        yield f"contrast.change.{encoder}", f"{mean(changes):+.1f}".replace("-", "−")


def _lists_elsewhere() -> Iterator[tuple[str, str]]:
    """Yield scores with lists on corpora whose types the encoder knows better."""
    runs: dict[tuple[str, str], list[dict]] = {}
    for r in read("names_earlier"):
        runs.setdefault((r["corpus"], r["method"]), []).append(r)
    rows = [
        (
            title,
            *(
                _scores(averaged([r[part] for r in runs[f"{corpus}_30", name]]), *keys)
                for part, keys in (("dev", ()), ("test", ("ents_tail_f",)))
                for name in ("CNN", "CNN with lists")
            ),
        )
        for corpus, title in EARLIER.items()
    ]
    yield "lists.earlier.rows", rows_of(rows)


def _changes(after: list[float], before: list[float]) -> str:
    """Return the changes of several scores, in words."""
    changes = [f"{a - b:+.1f}".replace("-", "−") for a, b in zip(after, before, strict=True)]
    return " and ".join([*filter(None, [", ".join(changes[:-1])]), changes[-1]])


def _rare_types(runs: dict[tuple[str, str], dict]) -> Iterator[tuple[str, str]]:
    """Yield the mean F1 of rare types on all specialist corpora, of stock spaCy and of ours."""
    mentions = {r["corpus"]: r["mentions"] for r in read("training_mentions")}
    for group, most in FEW.items():
        types = [(c, name) for c in DOMAINS for name, n in mentions[c].items() if n <= most]
        yield f"domains.{group}.n", str(len(types))
        tables = {
            name: [runs[corpus, method]["ents_per_type"][label] for corpus, label in types]
            for name, method in SPECIALIST.items()
        }
        for method, own in tables.items():
            name = f"domains.{group}.{method}"
            yield name, f"{100 * mean(t['f'] for t in own):.1f}"
            yield f"{name}.precision", f"{100 * mean(t['p'] for t in own):.0f}"
            yield f"{name}.recall", f"{100 * mean(t['r'] for t in own):.0f}"
            ahead = sum(t["f"] > other["f"] for t, other in zip(own, tables["stock"], strict=True))
            yield f"{name}.ahead", str(ahead)
        for corpus in DOMAINS:
            yield f"domains.{group}.{corpus}.n", str(sum(c == corpus for c, _ in types))
