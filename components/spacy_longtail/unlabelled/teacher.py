"""A teacher: a pipeline that says how sure it is of what it reads."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc, Span
from thinc.types import Floats1d, Floats2d, Ints1d

from ..errors import Errors
from ..heads import SOFT_HEADS
from ..pipes.gazetteer import TrainingGazetteer
from ..pipes.scores.spans import read_scores, scored_spans
from ..pipes.secondary.gated_ner import GatedNER
from ..pipes.secondary.gated_pipe import GatedPipe
from ..pipes.secondary.gliner_ner import GLiNERNER
from ..pipes.secondary.secondaries import OwnComponent, OwnPipeline
from ..pipes.token.ensemble_ner import EnsembleNER
from ..pipes.token.ner import TokenNER
from ..pipes.token.tagging import TokenTagger
from ..pipes.upstream import own_rows
from ..types import ENTITY_SCORES
from .silver import Mention, Selection, Sentence
from .units import sentences_of, text_key

DOUBTS = "silver_doubts"  # doc.spans key of entities that the teacher's own thresholds keep out
NOT_ONE = "is not one longtail_token_ner with a softmax or CRF head"
SCORED = {"doc.ents", "doc.spans"}  # what components assign that may give scores, if they say it
# factories of spaCy and spacy-llm whose entities have no scores
SCORELESS = frozenset(("ner", "beam_ner", "entity_ruler", "span_ruler", "llm_ner"))


@dataclass
class Pass:
    """What a pass over a pool has seen, and what of it may be silver."""

    selection: Selection
    n_texts: int = 0
    n_sentences: int = 0
    n_known: int = 0  # that stand in the gold corpus
    n_scored: int = 0  # mentions with a score
    unscored: Counter[str] = field(default_factory=Counter)  # mentions without one, by type
    unknown: Counter[str] = field(default_factory=Counter)  # mentions of types that are not declared

    def as_data(self) -> dict[str, Any]:
        """As `passes.State` has it."""
        counts = [self.n_texts, self.n_sentences, self.n_known, self.n_scored]
        types = {"unknown": dict(self.unknown), "unscored": dict(self.unscored)}
        return {"counts": counts, **types, **self.selection.as_data()}

    def take(self, data: dict[str, Any]) -> None:
        """As `passes.State` has it."""
        self.n_texts, self.n_sentences, self.n_known, self.n_scored = data["counts"]
        self.unknown, self.unscored = Counter(data["unknown"]), Counter(data["unscored"])
        self.selection.take(data)


@dataclass(frozen=True)
class Teacher:
    """A pipeline that says how sure it is.

    nlp (Language): The pipeline. labels (Sequence[str]): The declared types.
    keys (Sequence[str]): Of doc.spans with its scores. doubts (Sequence[str]): Of doc.spans with
        entities that its thresholds keep out. taggers (Sequence[TokenTagger]): Components that give each
        token a distribution over tags.
    """

    nlp: Language
    labels: tuple[str, ...]
    keys: tuple[str, ...]
    doubts: tuple[str, ...]
    taggers: tuple[TokenTagger, ...]

    @classmethod
    def of(cls, nlp: Language, path: Path | str, labels: Sequence[str], corpus: Path) -> "Teacher":
        """A loaded pipeline as a teacher; it is made to write its scores.

        path (Path | str): Of the pipeline. corpus (Path): Whose types the labels are.
        RAISES (ValueError): L509 without scores, L511 without a type in common.
        """
        keys = make_scoring(nlp, path)
        doubts = []
        for _, pipe in nlp.pipeline:
            cfg = getattr(pipe, "cfg", {})
            if cfg.get("thresholds"):
                cfg["abstain_key"] = cfg["abstain_key"] or DOUBTS
                doubts.append(cfg["abstain_key"])
        known = own_types(nlp)
        if not set(known) & set(labels):
            names = {"found": ", ".join(known) or "none", "known": ", ".join(labels)}
            raise ValueError(Errors.L511.format(path=path, corpus=corpus, **names))
        return cls(nlp, tuple(labels), keys, tuple(doubts), tuple(_taggers(nlp)))

    @property
    def lacking(self) -> list[str]:
        """The declared types that the teacher cannot read."""
        known = own_types(self.nlp)
        return [label for label in self.labels if label not in known]

    @property
    def unscored(self) -> list[str]:
        """Names of the components whose entities may have no score; all, if these are not known."""
        found = [n for n, p in _named_readers(self.nlp) if isinstance(p, GatedPipe) or not _key(p)]
        return found or self.nlp.pipe_names

    @property
    def soft_tags(self) -> list[str]:
        """Names of the columns of soft targets: the teacher's tags of declared types.

        RAISES (ValueError): L513.
        """
        codec = soft_tagger(self.nlp).codec
        columns = codec.columns(self.labels)
        return [tag for tag, own in zip(codec.tags, columns, strict=True) if own]

    def read(self, docs: list[Doc], threshold: float, soft: bool) -> Iterator[list[Sentence]]:
        """The sentences of each document that the pipeline has processed.

        threshold (float): Least probability of O. soft (bool): Whether the soft targets are wanted.
        """
        outside, log_p = self._marginals(docs, soft)
        at = 0
        for doc in docs:
            rows = slice(at, at + len(doc))
            at += len(doc)
            own = None if log_p is None else log_p[rows]
            yield list(self._sentences(doc, outside[rows] >= threshold, own))

    def _marginals(self, docs: list[Doc], soft: bool) -> tuple[Floats1d, Floats2d | None]:
        """The probability of each token to be in no entity of a declared type, the least of all
        taggers'; 1 without any. And the log probabilities of the soft targets.
        """
        outside, log_p = np.ones(sum(map(len, docs))), None
        for tagger in self.taggers:
            with own_rows(self.nlp, tagger, docs):
                p = tagger.marginals(docs)
            declared = tagger.codec.columns(self.labels) > 0
            own = p[:, 0] + p[:, ~declared].sum(axis=1)
            outside = np.minimum(outside, own)
            if soft:
                rows = np.concatenate([own[:, None], p[:, declared][:, 1:]], axis=1)
                with np.errstate(divide="ignore"):  # of what is impossible
                    log_p = np.log(rows).astype("float16")
        return outside, log_p

    def _sentences(self, doc: Doc, sure: Ints1d, log_p: Floats2d | None) -> Iterator[Sentence]:
        """What stands between the bounds; entities across them are not annotated."""
        scores = {place: s.score for key in self.keys for place, s in read_scores(doc, key).items()}
        sure = sure.copy()
        for ent in doc.ents:
            if ent.label_ in self.labels:
                sure[ent.start : ent.end] = False
        for span in (s for key in self.doubts for s in scored_spans(doc, key)):
            sure[span.start : span.end] = False
        for a, b in sentences_of(doc):
            if a == b:
                continue
            yield Sentence(
                [token.text for token in doc[a:b]],
                [bool(token.whitespace_) for token in doc[a:b]],
                [
                    Mention(e.start - a, e.end - a, e.label_, scores.get((e.start, e.end, e.label_)))
                    for e in doc.ents
                    if e.label_ in self.labels and a <= e.start and e.end <= b
                ],
                sure[a:b],
                None if log_p is None else log_p[a:b].copy(),
            )


def _place(ent: Span) -> tuple[int, int, str]:
    return ent.start, ent.end, ent.label_


def make_scoring(nlp: Language, path: Path | str) -> tuple[str, ...]:
    """Let a pipeline write the scores of its entities. RETURNS: The keys in doc.spans.

    RAISES (ValueError): L509 where no component can give any: nothing need be read to know that.
    """
    scoreless = scoreless_secondaries(nlp)
    for _, pipe in nlp.pipeline:
        cfg = getattr(pipe, "cfg", {})
        if isinstance(pipe, TokenNER | EnsembleNER | GLiNERNER):
            cfg["scores_key"] = cfg["scores_key"] or ENTITY_SCORES
    own = [(name, key) for name, pipe in _named_readers(nlp) if (key := _key(pipe))]
    if all(name in scoreless for name, _ in own):  # such a one hands on what others give
        names = ", ".join(nlp.pipe_names) or "none"
        raise ValueError(Errors.L509.format(path=path, found=names))
    return tuple(dict.fromkeys(key for _, key in own))


def scoreless_secondaries(nlp: Language) -> list[str]:
    """Names of the `longtail_gated_pipe`s whose secondary is known to give no scores."""
    return [name for name, pipe in nlp.pipeline if isinstance(pipe, GatedPipe) and _is_scoreless(pipe)]


def _is_scoreless(pipe: GatedPipe) -> bool:
    """Whether no component of the secondary can give scores; one that says nothing of it may."""
    wanted, own = pipe.cfg["secondary_scores_key"], pipe.secondary
    found: list[tuple[str, Any]] = []
    if isinstance(own, OwnComponent):
        found = [(own.factory, own.component)]
    elif isinstance(own, OwnPipeline):
        metas = ((own.nlp.get_pipe_meta(name), pipe) for name, pipe in own.nlp.pipeline)
        found = [(m.factory, p) for m, p in metas if not m.assigns or {*m.assigns} & SCORED]
    return not wanted or all(name in SCORELESS or _key(p, wanted) != wanted for name, p in found)


def _key(pipe: Any, usual: str | None = None) -> str | None:
    """Where a component writes its scores. usual (Optional[str]): Of one without such a setting."""
    key: str | None = getattr(pipe, "cfg", {}).get("scores_key", usual)
    return key


def soft_tagger(nlp: Language) -> TokenTagger:
    """The component whose marginals are soft targets.

    RAISES (ValueError): L513.
    """
    found = only_tagger(nlp)
    if found is None:
        problem = f"{', '.join(nlp.pipe_names)} {NOT_ONE}"
        raise ValueError(Errors.L513.format(problem=problem, fix="Leave --soft out."))
    return found


def only_tagger(nlp: Language) -> TokenTagger | None:
    """The component in whose marginals is all that the pipeline reads; null where there is none.

    A gazetteer of training names does not count: the component has learnt from these names.
    """
    found = [tagger for tagger in _taggers(nlp) if tagger.cfg["head"] in SOFT_HEADS]
    readers = [pipe for pipe in _readers(nlp) if not isinstance(pipe, TrainingGazetteer)]
    return found[0] if found and len(readers) == 1 else None


def own_types(nlp: Language) -> list[str]:
    """The types that the components read which write entities."""
    return list(dict.fromkeys(label for p in _readers(nlp) for label in getattr(p, "labels", ())))


def _readers(nlp: Language) -> list[Any]:
    return [pipe for _, pipe in _named_readers(nlp)]


def _named_readers(nlp: Language) -> list[tuple[str, Any]]:
    return [row for row in nlp.pipeline if "doc.ents" in nlp.get_pipe_meta(row[0]).assigns]


def _taggers(nlp: Language) -> list[TokenTagger]:
    """Those that read every sentence: a secondary reads what its gate flags."""
    return [p for _, p in nlp.pipeline if isinstance(p, TokenTagger) and not isinstance(p, GatedNER)]


def annotate(
    teacher: Teacher,
    batches: Iterable[list[Doc]],
    known: Collection[int],
    seen: Pass,
    soft: bool,
    every: Callable[[], None] = lambda: None,
) -> Pass:
    """Let a teacher read a pool, and keep what it is sure of.

    batches (Iterable[List[Doc]]): What the teacher's pipeline has processed, in the order of the pool.
    known (Collection[int]): Keys of the sentences of the gold corpus.
    seen (Pass): Where to begin; it is changed. soft (bool): Whether sentences keep soft targets.
    every (Callable): Called after each batch.
    """
    selection = seen.selection
    for batch in batches:
        before = seen.n_sentences, seen.n_known
        unscored: Counter[str] = Counter()
        n_scored = 0
        try:
            for sentences in teacher.read(batch, selection.policy.threshold, soft):
                for sentence in sentences:
                    key = text_key(sentence.text)
                    seen.n_sentences += 1
                    if key in known:
                        seen.n_known += 1
                        continue
                    selection.add(sentence, key)
                    without = [m.label for m in sentence.mentions if m.score is None]
                    unscored.update(without)
                    n_scored += len(sentence.mentions) - len(without)
        except BaseException:  # an interrupted batch is read again, and counted then
            seen.n_sentences, seen.n_known = before
            raise
        read = (ent.label_ for doc in batch for ent in doc.ents)
        seen.unknown.update(label for label in read if label not in teacher.labels)
        seen.unscored += unscored
        seen.n_scored += n_scored
        seen.n_texts += len(batch)
        every()
    return seen
