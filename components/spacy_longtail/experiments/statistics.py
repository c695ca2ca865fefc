"""Statistics of a converted corpus, and what each resampling policy would make of it."""

from pathlib import Path
from typing import Any

import spacy

from ..corpora import PARTS, load_docs, read_types
from ..counts import CorpusCounts, count_doc
from ..repeats import nsCRD, sC, sCR, sCRD
from ..types import Repeats, SentenceCounts

POLICIES: dict[str, Repeats] = {"sC": sC(), "sCR": sCR(), "sCRD": sCRD(), "nsCRD": nsCRD()}


def corpus_statistics(corpus: Path) -> dict[str, Any]:
    """Counts by part and type, and the size factor of every policy on the training part.

    corpus (Path): A folder that `convert` wrote.
    RETURNS (Dict[str, Any]): JSON data: corpus, labels, tail, parts, policies, unseen (the share of
        each type's test mentions whose case-folded surface does not occur in training with that type).
    RAISES (ValueError): L402, L403, L404.
    """
    types = read_types(corpus)
    nlp = spacy.blank("xx")
    parts: dict[str, Any] = {}
    surfaces: dict[str, list[tuple[str, str]]] = {}
    policies: dict[str, Any] = {}
    for part in PARTS:
        docs = load_docs(corpus / f"{part}.spacy", nlp)
        counts = CorpusCounts()
        kinds = []
        for doc in docs:
            sents = [s.as_doc() for s in doc.sents] if doc.has_annotation("SENT_START") else [doc]
            for sent in sents:
                kinds.append(count_doc(sent))
                counts.add(kinds[-1])
        surfaces[part] = [(e.label_, e.text.casefold()) for doc in docs for e in doc.ents]
        parts[part] = {"documents": len(docs), **_described(counts, types.labels)}
        if part == "train":
            policies = {name: _applied(policy, counts, kinds) for name, policy in POLICIES.items()}
    seen = set(surfaces["train"])
    unseen = {}
    for label in types.labels:
        found = [s for s in surfaces["test"] if s[0] == label]
        unseen[label] = sum(s not in seen for s in found) / len(found) if found else None
    return {
        "corpus": corpus.name,
        "labels": types.labels,
        "tail": types.tail,
        "parts": parts,
        "policies": policies,
        "unseen": unseen,
    }


def _described(counts: CorpusCounts, labels: list[str]) -> dict[str, Any]:
    rareness = counts.rareness()
    return {
        "sentences": counts.n_units,
        "entity_sentences": counts.n_entity_units,
        "tokens": counts.n_tokens,
        "entity_tokens": counts.n_entity_tokens,
        "types": {
            t: {
                "mentions": counts.mentions[t],
                "tokens": counts.tokens[t],
                "sentences": counts.units[t],
                "rareness": rareness.get(t),
            }
            for t in labels
        },
    }


def _applied(policy: Repeats, before: CorpusCounts, kinds: list[SentenceCounts]) -> dict[str, Any]:
    copies = policy.fit(before)
    after = CorpusCounts()
    for kind in kinds:
        after.add(kind, copies(kind))
    return {
        "sentences": after.n_units / before.n_units,
        "tokens": after.n_tokens / before.n_tokens,
        "types": {t: after.tokens[t] / n for t, n in before.tokens.items() if n},
    }
