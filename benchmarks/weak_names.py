"""Annotate unlabelled sentences by lists of names, and add them to the training part of a corpus.

    python benchmarks/names.py SOURCES corpus/names --name dimb_re --coverage 0.3
    python benchmarks/languages.py SOURCES corpus/domains --language en --train 300 \\
        --name dimb_re --pool corpus/pools
    python benchmarks/weak_names.py corpus/names/dimb_re_30 corpus/pools/dimb_re.txt corpus/weak
    longtail matrix benchmarks/names.yml corpus/weak/* -o training/weak

The names that the lists contain are mentions of the sentences, and the annotation of all other
tokens is missing. A name whose occurrences in the training part are mostly not annotated with the
type of its list is not used, and where lists of two types have a name, its tokens are missing too.
Each pool has one sentence per line, with spaces between its tokens.
"""

import random
from collections import Counter
from collections.abc import Iterable
from itertools import chain, repeat
from pathlib import Path
from typing import Annotated

import spacy
import typer
from spacy.matcher import PhraseMatcher
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from spacy_longtail.corpus.folder import load_docs, read_types, write_corpus
from spacy_longtail.corpus.names import NAMES, matcher_of, read_names, words_by
from spacy_longtail.corpus.parts import part_path
from spacy_longtail.unlabelled.distil import copies_for

Name = tuple[str, str]  # type, and text in lower case


def name_of(span: Span) -> Name:
    return span.label_, span.text.lower()


def untrusted(docs: Iterable[Doc], matcher: PhraseMatcher) -> set[Name]:
    """Return the names that documents annotate with their type in less than half of all places."""
    right, seen = Counter[Name](), Counter[Name]()
    for doc in docs:
        mentions = {(ent.start, ent.end, ent.label_) for ent in doc.ents}
        for span in matcher(doc, as_spans=True):
            seen[name_of(span)] += 1
            right[name_of(span)] += (span.start, span.end, span.label_) in mentions
    return {name for name, n in seen.items() if 2 * right[name] < n}


def annotated(doc: Doc, matcher: PhraseMatcher, unused: set[Name]) -> bool:
    """Write the names in a document as its entities, and return whether there are any."""
    found = [span for span in matcher(doc, as_spans=True) if name_of(span) not in unused]
    types: dict[tuple[int, int], set[str]] = {}
    for span in found:
        types.setdefault((span.start, span.end), set()).add(span.label_)
    kept = [span for span in filter_spans(found) if len(types[span.start, span.end]) == 1]
    doc.set_ents(kept, default="missing")
    return bool(kept)


def main(
    corpus: Annotated[Path, typer.Argument(exists=True, help="Converted corpus with lists.")],
    pool: Annotated[Path, typer.Argument(exists=True, help="Unlabelled sentences.")],
    output: Annotated[Path, typer.Argument(help="Folder for the new corpora.")],
    max_sentences: Annotated[int, typer.Option(help="Maximum number of sentences to add.")] = 1000,
) -> None:
    """Write a corpus that has the sentences as well."""
    nlp, types = spacy.blank("en"), read_types(corpus)
    matcher = matcher_of(nlp.vocab, read_names(corpus / NAMES, words_by(nlp)))
    parts = {part: load_docs(part_path(corpus, part), nlp) for part in ("train", "dev", "test")}
    known = {" ".join(token.text for token in doc) for docs in parts.values() for doc in docs}
    unused = untrusted(parts["train"], matcher)
    texts = [line for line in pool.read_text(encoding="utf8").splitlines() if line.strip()]
    random.Random(0).shuffle(texts)
    weak = list[Doc]()
    for text in texts:
        if len(weak) < max_sentences and text not in known:
            doc = Doc(nlp.vocab, words=text.split())
            if annotated(doc, matcher, unused):
                weak.append(doc)
    copies = copies_for(sum(map(len, parts["train"])), sum(map(len, weak)))
    gold = chain.from_iterable(repeat(parts["train"], copies))
    target = output / f"{corpus.name}_weak"
    write_corpus(target, {**parts, "train": chain(gold, weak)}, types, corpus)
    n = sum(len(doc.ents) for doc in weak)
    print(f"{target}: {len(weak)} sentences, {n} mentions, {len(unused)} names unused, {copies} copies")


if __name__ == "__main__":
    typer.run(main)
