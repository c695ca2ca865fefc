"""`longtail_gated_pipe`: any component or pipeline as a secondary after a gate."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Literal

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import logger, minibatch

from ...errors import Errors, Warnings
from ...sentences import sentence_lengths
from ...settings import whole
from ...types import ENTITY_SCORES, WEAK_SENTENCES
from ..base import StoppedError, UntrainedPipe, factory
from ..gate.flagging import flagged_parts
from ..label_checks import check_types
from ..neighbours import check_secondary
from ..scores.merging import check_merging
from ..scores.spans import ScoredSpan
from .flagged import (
    FlaggedPart,
    Found,
    UnusableError,
    cut_flagged,
    found_in,
    in_document,
    is_failure,
    merge_by_score,
    places_of,
    replace_within,
)
from .secondaries import OwnComponent, OwnPipeline, unfit

WHO = "longtail_gated_pipe"
_counting = Lock()  # of all such pipes, because a lock of their own could not be pickled

USAGE = (
    "sentences",  # of the documents, flagged or not
    "flagged",  # sentences
    "words",  # tokens of these
    "calls",  # sentences given to the secondary; again, where their batch has failed
    "entities",  # added to documents
    "refused",  # entities of types that the pipe may not set
    "failures",  # sentences that the secondary failed on
    "seconds",  # spent in the secondary
)


class GatedPipe(UntrainedPipe):
    """Any component or pipeline, run only on flagged sentences and merged with the primary NER.

    `usage` has the counts of USAGE since the component was loaded. Each process counts for itself.

    A sentence that the secondary fails on is logged and counted, and keeps the primary's entities.
    Errors that neither a model nor a server causes are bugs, and are raised. Nothing is trained.

    pipe (Optional[Dict[str, Any]]): A block with `factory` and its settings: a component that needs
        no training, such as an entity_ruler or spacy-llm's llm_ner. Either this or source.
    source (Optional[str]): Folder or package of a trained pipeline, of the same language. It keeps
        its own vocabulary, reads the tokens of this one, and is saved with it.
    labels (Optional[List[str]]): The types that it may set, after label_map; null is all.
    label_map (Dict[str, str]): The secondary's types by the names that they get here, such as
        "CREATIVE_WORK" to "ART"; others keep theirs.
    merge (str): "fill" adds entities only where the primary has none. "replace" believes the
        secondary alone, in the sentences that it has read, about the types that it may set. "span"
        and "token" are as for longtail_gated_ner: entities without a score are filled in.
    spans_key (str): Key in doc.spans that holds the flagged sentences.
    scores_key (Optional[str]): Key in doc.spans of scored entities: the primary's, then the merged.
    secondary_scores_key (Optional[str]): Where the secondary leaves scores, 0 to 1; null for none.
    batch_size (int): Sentences that the secondary is given at a time. Use 1 for spacy-llm, which
        sends all prompts of a batch again when one of them fails.
    max_failures (Optional[int]): Failures in a row; one more stops the run. null never stops it.
    scorer (Optional[Callable]): The scoring function.
    """

    is_secondary = True
    saved = ("secondary",)

    def __init__(
        self,
        nlp: Language,
        name: str,
        pipe: dict[str, Any] | None = None,
        source: str | None = None,
        labels: list[str] | None = None,
        label_map: dict[str, str] = {},  # noqa: B006
        merge: Literal["span", "token", "fill", "replace"] = "fill",
        spans_key: str = WEAK_SENTENCES,
        scores_key: str | None = ENTITY_SCORES,
        secondary_scores_key: str | None = ENTITY_SCORES,
        batch_size: int = 32,
        max_failures: int | None = 10,
        scorer: Callable | None = None,
    ) -> None:
        if (pipe is None) == (source is None):
            raise unfit(name, f"found {'neither' if pipe is None else 'both'} 'pipe' and 'source'")
        check_merging(merge, scores_key, WHO)
        if labels is not None:
            check_types("labels", labels, WHO)
        if max_failures is not None:
            max_failures = whole("max_failures", max_failures, "null never stops the run.")
        kind: Callable = OwnPipeline if pipe is None else OwnComponent
        self.secondary: OwnPipeline | OwnComponent = kind(nlp, source if pipe is None else pipe, name)
        self.usage: dict[str, Any] = dict.fromkeys(USAGE, 0)
        self._n_failed = 0  # sentences in a row
        super().__init__(
            nlp.vocab,
            name,
            scorer,
            labels=labels,
            label_map=dict(label_map),
            spans_key=spans_key,
            secondary_scores_key=secondary_scores_key,
            batch_size=whole("batch_size", batch_size, "32 is the default.", 1),
            max_failures=max_failures,
            merge=merge,
            scores_key=scores_key,
        )
        self._check_types(self.secondary.labels)

    def restart(self) -> None:
        """Check that the types of `cfg` match each other.

        A pipe is also loaded if its secondary lacks some of them, such as a ruler whose patterns
        have changed.
        """
        self._check_types(())

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the types that it may set; those of the secondary if `labels` is null."""
        renamed = map(self._renamed, self.secondary.labels)
        return tuple(dict.fromkeys(renamed if self.cfg["labels"] is None else self.cfg["labels"]))

    def _renamed(self, label: str) -> str:
        return self.cfg["label_map"].get(label, label)

    def _may_set(self, label: str) -> bool:
        return self.cfg["labels"] is None or label in self.cfg["labels"]

    def _check_types(self, known: Collection[str]) -> None:
        """Check that `labels` and `label_map` match each other and the secondary's types.

        known (Collection[str]): Types that the secondary knows. If empty, any type is accepted.
        """
        names = self.cfg["label_map"]
        strange = [n for n in names.values() if not n.strip() or not self._may_set(n)]
        if known:
            given = set(map(self._renamed, known))
            strange += [n for n in (*names, *(self.cfg["labels"] or ())) if n not in {*known, *given}]
        if strange:
            problem = f"'labels' or 'label_map' has {', '.join(map(repr, strange))}, its types are"
            raise unfit(
                self.name,
                f"{problem} {', '.join(known) or 'not known before it reads'}",
                "Correct 'labels' and 'label_map'.",
            )

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        pipe: dict[str, Any] | None = None,
    ) -> None:
        """Initialize the secondary, if it has to be; check the pipes before this one.

        get_examples (Callable): Training examples.
        nlp (Optional[Language]): The current pipeline.
        pipe (Optional[Dict[str, Any]]): Settings for the secondary's own `initialize`.
        """
        self.secondary.initialize(get_examples, pipe or {})
        self._check_types(self.secondary.labels)
        if nlp is not None:
            check_secondary(nlp, self, WHO)

    def predict(self, docs: Iterable[Doc]) -> list[Found]:
        """Return the secondary's entities in flagged sentences, by document; nan means no score."""
        docs = list(docs)
        places = places_of(flagged_parts(doc, self.cfg["spans_key"], self.name) for doc in docs)
        self._count(
            sentences=sum(len(sentence_lengths(doc)) for doc in docs),
            flagged=len(places),
            words=sum(place.end - place.start for place in places),
        )
        results = [Found([], []) for _ in docs]
        self.secondary.check_loaded()
        for batch in minibatch(places, self.cfg["batch_size"]):
            for place, ents in self._read(docs, batch):
                results[place.doc].entities.extend(in_document(ents, place))
                results[place.doc].parts.append((place.start, place.end))
        return results

    @contextmanager
    def memory_zone(self, mem: object = None) -> Iterator[object]:
        """Free the memory of a secondary with its own vocabulary when `nlp.memory_zone` ends."""
        with self.secondary.memory_zone():
            yield mem

    def set_annotations(self, docs: Iterable[Doc], scores: list[Found]) -> None:
        """Merge entities into doc.ents; those of other sentences stay as they are."""
        merge, key = self.cfg["merge"], self.cfg["scores_key"]
        for doc, result in zip(docs, scores, strict=True):
            before = set(doc.ents) if result.entities else set()
            if merge == "replace":
                replace_within(doc, result, self.cfg["labels"], key)
            else:
                merge_by_score(doc, result.entities, merge, key)
            if result.entities:
                self._count(entities=len(set(doc.ents) - before))

    def _read(
        self, docs: list[Doc], places: list[FlaggedPart]
    ) -> Iterator[tuple[FlaggedPart, list[ScoredSpan]]]:
        """Yield entities of a batch; after a failure, of each sentence that does not fail alone."""
        try:
            spans = self._entities(cut_flagged(docs, places))
        except Exception as error:
            if not is_failure(error):
                raise
            if len(places) == 1:
                self._fail(" ".join(f"{type(error).__name__}: {error}".split()))
            else:
                for place in places:
                    yield from self._read(docs, [place])
        else:
            with _counting:
                self._n_failed = 0
            yield from zip(places, spans, strict=True)

    def _count(self, **counts: float) -> None:
        with _counting:
            for name, n in counts.items():
                self.usage[name] += n

    def _fail(self, problem: str) -> None:
        with _counting:
            n = self._n_failed = self._n_failed + 1
        self._count(failures=1)
        logger.warning(Warnings.W062.format(who=self.name, problem=problem))
        if (limit := self.cfg["max_failures"]) is not None and n > limit:
            raise StoppedError(
                Errors.L290.format(who=self.name, n=n, limit=limit, problem=problem.rstrip("."))
            )

    def _entities(self, sentences: list[Doc]) -> list[list[ScoredSpan]]:
        self._count(calls=len(sentences))
        words = [sentence.to_array("ORTH") for sentence in sentences]
        start = time.perf_counter()
        try:
            read = self.secondary.read(sentences)
        finally:
            self._count(seconds=time.perf_counter() - start)
        if len(read) != len(words):
            raise UnusableError(f"{len(words)} sentences became {len(read)}")
        if not all(map(np.array_equal, words, (doc.to_array("ORTH") for doc in read))):
            raise UnusableError("a sentence came back with other tokens")
        key = self.cfg["secondary_scores_key"]
        rated = [found_in(doc, key) for doc in read]
        ents = [[ent._replace(label=self._renamed(ent.label)) for ent in spans] for spans in rated]
        allowed = [[ent for ent in spans if self._may_set(ent.label)] for spans in ents]
        self._count(refused=sum(map(len, ents)) - sum(map(len, allowed)))
        return allowed


make_gated_pipe = factory(WHO, "secondary")(GatedPipe)
