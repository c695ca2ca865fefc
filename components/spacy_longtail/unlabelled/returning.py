"""Merging of labelled proposals into a corpus, without losses and repetitions."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import srsly
from spacy.language import Language
from spacy.tokens import Doc

from ..corpus.cutting import cut
from ..corpus.folder import (
    PARTS,
    CorpusTypes,
    part_path,
    read_types,
    replacing_parts,
    stream_docs,
    write_part,
    write_types,
)
from ..corpus.formats.context import Context, Events, check_losses
from ..corpus.formats.sources import find_parts
from ..corpus.formats.tasks import Task, prodigy_task
from ..corpus.likeness import exact_key, text_key
from ..corpus.splits import ALL
from ..errors import Errors
from ..output.writing import coded_io, write_file
from ..sentences import by_punctuation, has_boundaries
from .known import MIN_WORDS, KnownSentences, known_in_corpus, parts_in_corpus
from .proposals import ID, MINED, READ, SHARE, Entities, entities_digest, entities_of, proposal_id
from .scan import RANDOM
from .units import sentences_of

CONFLICTS = "conflicts.jsonl"  # in the corpus
PROBLEM = "mine_problem"  # key of user_data: why a sentence is a conflict


@dataclass
class Merged:
    """Result of a merge."""

    parts: Counter[str] = field(default_factory=Counter)  # sentences added, by part
    mentions: Counter[str] = field(default_factory=Counter)  # added, by type
    n_known: int = 0  # sentences that the corpus has with the same annotation
    n_repeated: int = 0  # repetitions in the file with the same annotation
    replaced: set[str] = field(default_factory=set)  # ids of sentences whose annotation was corrected
    n_unchanged: int = 0  # sentences in the file with just the entities that the pipeline predicted
    n_read: int = 0  # sentences in the file
    conflicts: list[tuple[Doc, str]] = field(default_factory=list)  # with another annotation: not added
    new_types: list[str] = field(default_factory=list)
    events: Events = field(default_factory=Events)


def merge_labels(
    corpus: Path,
    labelled: Path,
    random_to: str,
    unchanged: bool = False,
    *,
    replace: bool = False,
    format: str | None = None,
    allow: bool = False,
    **options: object,
) -> Merged:
    """Add labelled proposals to a corpus: mined sentences to train, the random sample to any part.

    A sentence that has two annotations, or another one than in the corpus, is a conflict, and so is
    one that would bring a sentence, or a group of documents, to a second part. Conflicts are not
    added, but written to conflicts.jsonl in the corpus, in Prodigy's format. That file can be
    edited and merged itself.

    corpus (Path): Folder of a converted corpus; changed in place.
    labelled (Path): File that the annotation tool exported.
    random_to (str): Part for the random sample.
    unchanged (bool): Whether to accept a file in which no annotation was changed.
    replace (bool): Whether a sentence that an earlier merge added gets the new annotation.
    format (Optional[str]): Name of the format; null detects it.
    allow (bool): Whether more than a twentieth of the annotations may be lost.
    **options (object): Options of the format, such as offsets="utf-16".
    RETURNS (Merged): The counts and the conflicts.
    RAISES (ValueError): If the corpus is not split, the file has other sentences than `mine`
        proposed, or nobody changed it.
    """
    types = read_types(corpus)
    if part_path(corpus, ALL).exists() and not part_path(corpus, "train").exists():
        problem = f"{corpus} is not split into {', '.join(PARTS)}"  # a new train would hide the rest
        raise ValueError(Errors.L506.format(path=labelled, problem=problem, fix="Run `split` first."))
    nlp = types.blank()
    merged = Merged()
    context = Context(nlp, merged.events)
    parts = find_parts(labelled, PARTS, format, options).parts.values()
    docs = [doc for part in parts for doc in part.read(context)]
    for doc in docs:
        doc.user_data.pop(PROBLEM, None)  # of an earlier merge
    if not allow:
        happened = [(merged.events, next(iter(parts)).misaligned)]
        check_losses(labelled, happened, command="merge", done="merged")
    _check_proposed(docs, labelled, unchanged)
    merged.n_read = len(docs)
    merged.n_unchanged = sum(map(_is_unchanged, docs))
    new = _sort_in(docs, corpus, nlp, labelled, random_to, replace, merged)
    merged.new_types = sorted(set(merged.mentions) - set(types.labels))
    _write(corpus, nlp, new, types, merged, labelled)
    return merged


def _sort_in(
    docs: list[Doc],
    corpus: Path,
    nlp: Language,
    labelled: Path,
    random_to: str,
    replace: bool,
    merged: Merged,
) -> dict[str, list[Doc]]:
    """Choose the part of each new sentence. Count known sentences and conflicts in `merged`."""
    inside, drawn = known_in_corpus(corpus, nlp, labelled), KnownSentences()
    # part and entities of the sentences that earlier merges added, by id
    earlier: dict[str, tuple[str, Entities]] = {}

    def docs_of_corpus() -> Iterator[Doc]:
        for part, own in parts_in_corpus(corpus, nlp, labelled):
            for doc in own:
                if ID in doc.user_data:
                    earlier[doc.user_data[ID]] = part, entities_of(doc)
                yield doc

    known, in_any_case = _known(docs_of_corpus())
    if random_to != "train":  # what is also in a mined text must not come to train
        drawn.add_docs((doc for doc in docs if doc.user_data[SHARE] == RANDOM), nlp)
    # the random sample is placed first, so that its groups do not come to train, either
    docs.sort(key=lambda doc: doc.user_data[SHARE] != RANDOM)
    rows = [(doc, exact_key(doc.text), (text_key(doc.text), entities_of(doc))) for doc in docs]
    versions: dict[int, set[Entities]] = {}
    for _, key, (_, ents) in rows:
        versions.setdefault(key, set()).add(ents)
    new: dict[str, list[Doc]] = {}
    seen: set[tuple[int, Entities]] = set()
    for doc, key, pair in rows:
        own_id, part = doc.user_data[ID], random_to if doc.user_data[SHARE] == RANDOM else "train"
        is_known = known.get(key) == pair[1] or (key not in known and pair in in_any_case)
        if is_correction := replace and own_id in earlier:
            part, entities = earlier[own_id]
            is_known = entities == pair[1]
        if is_known:
            merged.n_known += 1
        elif key in known and not is_correction:
            merged.conflicts.append((doc, "the corpus has it with another annotation"))
        elif pair in seen:
            merged.n_repeated += 1
        elif len(versions[key]) > 1:
            merged.conflicts.append((doc, "the file has it with two annotations"))
        elif doc.text not in inside and inside.tokens_in(doc).any():
            merged.conflicts.append((doc, "it contains a sentence of the corpus"))
        elif part == "train" and drawn.tokens_in(doc).any():
            merged.conflicts.append((doc, f"it shares a sentence with the random sample in {random_to}"))
        elif others := inside.other_parts(doc, part):
            merged.conflicts.append((doc, f"its {inside.group_by} is in {', '.join(others)}"))
        else:
            new.setdefault(part, []).append(doc)
            if is_correction:
                merged.replaced.add(own_id)
            else:
                merged.parts[part] += 1
            inside.add_group(doc, part)
            merged.mentions.update(ent.label_ for ent in doc.ents)
        seen.add(pair)
    return new


def _check_proposed(docs: list[Doc], path: Path, unchanged: bool) -> None:
    """Refuse sentences that were not proposed, and a file with only the pipeline's predictions."""
    for doc in docs:
        share = doc.user_data.get(SHARE)
        if share not in (MINED, RANDOM) or doc.user_data.get(ID) != proposal_id(share, doc.text):
            problem = f"{doc.text[:60]!r} was not proposed, or its text was changed"
            fix = "Export the sentences that `mine` proposed with all their fields."
            raise ValueError(Errors.L506.format(path=path, problem=problem, fix=fix))
    if not unchanged and all(map(_is_unchanged, docs)):
        problem = f"all {len(docs)} sentences only have the entities that the pipeline predicted"
        fix = "Label the file first, or pass --unchanged if all predictions are right."
        raise ValueError(Errors.L506.format(path=path, problem=problem, fix=fix))


def _is_unchanged(doc: Doc) -> bool:
    """Return whether a sentence has just the entities that the pipeline predicted."""
    return doc.user_data.get(READ) == entities_digest(doc)


def _known(docs: Iterable[Doc]) -> tuple[dict[int, Entities], set[tuple[int, Entities]]]:
    """Return the annotation of each document and each sentence of a corpus.

    RETURNS (Tuple[dict, set]): The entities by the exact text, since "May" can be a name while
        "may" is not, and the pairs of case-folded text and entities.
    """
    known: dict[int, Entities] = {}
    in_any_case: set[tuple[int, Entities]] = set()
    for doc in docs:
        (parsed,) = by_punctuation([doc])
        min_tokens = MIN_WORDS if has_boundaries(doc) else 1
        for piece in itertools.chain(_sentences(parsed, min_tokens), _sentences(doc), [doc]):
            known[exact_key(piece.text)] = entities_of(piece)
            in_any_case.add((text_key(piece.text), entities_of(piece)))
    return known, in_any_case


def _sentences(doc: Doc, min_tokens: int = 1) -> Iterator[Doc]:
    """Return the sentences of a document that have at least so many tokens, as documents."""
    return cut(doc, [(start, end) for start, end in sentences_of(doc) if end - start >= min_tokens])


def _write(
    corpus: Path,
    nlp: Language,
    new: dict[str, list[Doc]],
    types: CorpusTypes,
    merged: Merged,
    labelled: Path,
) -> None:
    """Write the parts with new sentences, new types, and the conflicts."""
    tasks = [_conflict(doc, why) for doc, why in merged.conflicts]
    path = corpus / CONFLICTS
    is_itself = path.exists() and path.samefile(labelled)  # then only what is left or ignored stays
    with coded_io(path):
        before = path.read_text(encoding="utf8").splitlines() if path.exists() else []
    if is_itself:
        rows = [line for line in before if line.strip()]  # an editor may leave an empty line
        before = [row for row in rows if srsly.json_loads(row).get("answer") == "ignore"]
    with replacing_parts(corpus, new) as folder:
        for part, docs in new.items():
            own = part_path(corpus, part)
            old = stream_docs(own, nlp.vocab) if own.exists() else iter(())
            # if the part is a folder of files, each new file has as many documents as the first one
            first = sorted(own.rglob("*.spacy"))[0] if own.is_dir() else None
            n_docs = None if first is None else sum(1 for _ in stream_docs(first, nlp.vocab))
            kept = (doc for doc in old if doc.user_data.get(ID) not in merged.replaced)
            write_part(folder, part, itertools.chain(kept, docs), n_docs)
        if merged.new_types:
            labels, tail = [*types.labels, *merged.new_types], [*types.tail, *merged.new_types]
            write_types(folder, types._replace(labels=labels, tail=tail))
    if tasks or is_itself:  # without repetitions if a file is merged again
        lines = dict.fromkeys([*before, *map(srsly.json_dumps, tasks)])
        write_file(path, "".join(f"{line}\n" for line in lines))


def _conflict(doc: Doc, why: str) -> Task:
    """Return a conflict as a task of Prodigy, with its metadata and the reason.

    The checksum of the predictions (READ) is left out: whoever edits and merges the file has read
    the sentence, even if the predictions turn out to be right.
    """
    about: Task = {
        key: value
        for key, value in doc.user_data.items()
        if isinstance(key, str) and isinstance(value, str | int | float) and key != READ
    }
    return prodigy_task(doc, 0, len(doc), {**about, PROBLEM: why})
