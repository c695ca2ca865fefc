"""F1 and speed of a strong secondary that reads only a fraction of the sentences.

    python benchmarks/budgets.py training/cnn/model-best training/bert/model-best corpus/gmb_subset

`longtail_posterior_gate` flags the sentences in which the primary expects most rare mentions, up
to a budget; its initial threshold is set on dev. The secondary adds rare types in these sentences
or replaces the entities of the primary. Speed is that of the fastest of three passes in one
process, in which the systems alternate.
"""

import time
from itertools import product
from pathlib import Path
from typing import Annotated

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from spacy_longtail.corpus.descriptions import CorpusTypes, read_types
from spacy_longtail.corpus.folder import load_docs
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.scorers import make_ner_scorer

RESULTS = Path(__file__).parent / "results" / "budgets.jsonl"
BUDGETS = (0.01, 0.03, 0.1, 1.0)
MERGES = ("fill", "replace")
PASSES = 3


def behind(primary: Path, secondary: Path, budget: float, merge: str, tail: list[str]) -> Language:
    """Return the primary with a posterior gate for rare types and the secondary after it."""
    nlp = spacy.load(primary)
    if "sentencizer" not in nlp.pipe_names:
        nlp.add_pipe("sentencizer", last=True)
    flagger = {"rare_labels": tail, "budget": budget}
    nlp.add_pipe("longtail_posterior_gate", name="flagger", config=flagger)
    rescue = {"source": str(secondary), "merge": merge, "labels": tail if merge == "fill" else None}
    nlp.add_pipe("longtail_gated_pipe", name="rescue", config=rescue)
    return nlp


def start_on(nlp: Language, docs: list[Doc]) -> None:
    """Initialize the gate with the scores of dev."""
    gate = nlp.get_pipe("flagger")
    with nlp.select_pipes(disable=["flagger", "rescue"]):
        read = list(nlp.pipe(blank(nlp, docs)))
    gate.cfg["start"] = sorted(gate.predict(read).sum(axis=1).tolist())
    gate.restart()


def blank(nlp: Language, docs: list[Doc]) -> list[Doc]:
    """Return the documents without annotation."""
    rows = (([t.text for t in doc], [bool(t.whitespace_) for t in doc]) for doc in docs)
    return [Doc(nlp.vocab, words=words, spaces=spaces) for words, spaces in rows]


def scored(nlp: Language, docs: list[Doc], types: CorpusTypes) -> dict[str, float]:
    read = nlp.pipe(blank(nlp, docs))
    scores = make_ner_scorer(types.labels, types.tail)(
        [Example(p, g) for p, g in zip(read, docs, strict=True)]
    )
    return {name: round(scores[f"ents_{name}"], 6) for name in ("macro_f", "tail_f", "f")}


def speed(systems: dict[str, Language], docs: list[Doc]) -> dict[str, float]:
    """Return the words per second of each system, from alternating passes."""
    n = sum(map(len, docs))
    fastest = dict.fromkeys(systems, 0.0)
    for _, (name, nlp) in product(range(PASSES), systems.items()):
        own = blank(nlp, docs)
        start = time.perf_counter()
        for _ in nlp.pipe(own):
            pass
        fastest[name] = max(fastest[name], n / (time.perf_counter() - start))
    return {name: round(found, 1) for name, found in fastest.items()}


def main(
    primary: Annotated[Path, typer.Argument(help="A trained pipeline whose NER gives scores.")],
    secondary: Annotated[Path, typer.Argument(help="A stronger trained pipeline.")],
    corpus: Annotated[Path, typer.Argument(help="The converted corpus that both were trained on.")],
    seed: Annotated[int, typer.Option(help="Random seed of both models, for the record.")] = 0,
    n_timed: Annotated[
        int, typer.Option(help="Number of test documents for the measurement of speed.")
    ] = 500,
) -> None:
    """Score the primary, the secondary, and both together by budget."""
    types = read_types(corpus)
    vocab = spacy.blank(types.lang)
    dev, test = (load_docs(part_path(corpus, part), vocab) for part in ("dev", "test"))
    systems = {"primary": spacy.load(primary), "secondary": spacy.load(secondary)}
    found: dict[str, dict] = {}
    for name, nlp in systems.items():
        found[name] = {"dev": scored(nlp, dev, types), "test": scored(nlp, test, types)}
    for merge, budget in product(MERGES, BUDGETS):
        nlp = behind(primary, secondary, budget, merge, types.tail)
        start_on(nlp, dev)
        name = f"{merge} {budget:g}"
        found[name] = {"dev": scored(nlp, dev, types)}
        nlp.get_pipe("flagger").restart()
        usage = nlp.get_pipe("rescue").usage
        usage.update(dict.fromkeys(usage, 0))
        found[name] |= {"test": scored(nlp, test, types)}
        found[name]["share"] = round(usage["flagged"] / usage["sentences"], 6)
        systems[name] = nlp
        typer.echo(f"{name}: {found[name]}")
    rates = speed(systems, test[:n_timed])
    for name, own in found.items():
        record = {"corpus": corpus.name, "system": name, "seed": seed, **own}
        record |= {"words_per_second": rates[name]}
        srsly.write_jsonl(RESULTS, [record], append=True, append_new_line=False)
        typer.echo(record)


if __name__ == "__main__":
    typer.run(main)
