"""`longtail_ner`: spaCy's transition-based NER, trained on any loss of p(gold)."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline._parser_internals.stateclass import StateClass
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.pipeline.ner import DEFAULT_NER_MODEL, EntityRecognizer
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer
from thinc.types import Floats2d

from ...corpus.counts import count_docs
from ...corpus.examples import keep_types
from ...corpus.labels import check_label, declared_types
from ...errors import Errors
from ...layers.listeners import check_listened, encoders_of
from ...layers.serving import use_faster_blas
from ...losses import GoldLoss, Loss, check_loss
from ...types import Overrides
from ..base import check_finite, check_head_rate, factory, with_head_rate
from ..label_checks import check_annotated, check_known, check_types, warn_without_mention
from ..saved import SavedCurves, Thresholds, Weights, bad_cfg, read_cfg, unknown_types
from ..scores.probabilities import SETTING, write_probabilities
from ..scores.spans import ScoredSpan, add_scores
from ..scores.thresholding import CALIBRATION, check_judging, judge
from ..weighting import resolve_classes
from .actions import (
    action_weights,
    beginnings,
    columns_of,
    mask_unlearnt,
    reads_one_token,
    scored_entities,
    split_least_cost,
)

WHO = "longtail_ner"

# of cfg, beside what Parser keeps there; each is null by default
SETTINGS = ("include", "scores_key", "class_values", CALIBRATION, "thresholds", "abstain_key", SETTING)
DROPPED = ("min_action_freq", "learn_tokens", "given_labels")  # of cfg, but no settings


@factory(WHO, "ner", model=DEFAULT_NER_MODEL)
def make_longtail_ner(
    nlp: Language,
    name: str,
    model: Model,
    moves: TransitionSystem | None = None,
    update_with_oracle_cut_size: int = 100,
    incorrect_spans_key: str | None = None,
    beam_width: Literal[1] = 1,
    loss: Loss | None = None,
    include: list[str] | None = None,
    scores_key: str | None = None,
    thresholds: dict[str, float] | None = None,
    abstain_key: str | None = None,
    head_rate: float = 1.0,
    write_probabilities: bool = False,
    scorer: Callable | None = None,
) -> "LongtailNER":
    """Create a component that replaces `ner` and can train with any loss of p(gold).

    model (Model): As for `ner`: spacy.TransitionBasedParser.v2.
    moves, update_with_oracle_cut_size, incorrect_spans_key: As for `ner`.
    beam_width (int): Always 1, since the update of a beam bypasses the loss.
    loss (Optional[Loss]): A loss of p(gold); null trains exactly as `ner` does.
    include (Optional[List[str]]): Types to learn and predict, all others are O; null is all.
    scores_key (Optional[str]): Key in doc.spans for the entities with their scores; null for none.
    thresholds (Optional[Dict[str, float]]): Minimum score of an entity by type; null is none. The
        command `thresholds` finds them.
    abstain_key (Optional[str]): Key in doc.spans for entities below the threshold; null drops them.
    head_rate (float): Learning rate of everything outside the encoder, as a multiple of the
        optimizer's: 10 or so where the encoder is pretrained and its rate is low; 1 is the same.
    write_probabilities (bool): Write the probability that a mention of each type begins at each
        token to doc.user_data["entity_probabilities"]. A longtail_posterior_gate after it sets
        this.
    scorer (Optional[Callable]): The scoring function.
    """
    if include is not None:
        check_types("include", include, WHO)
    return LongtailNER(
        nlp.vocab,
        model,
        name,
        moves,
        loss=loss,
        include=include,
        head_rate=check_head_rate(head_rate),
        update_with_oracle_cut_size=update_with_oracle_cut_size,
        incorrect_spans_key=incorrect_spans_key,
        scorer=scorer,
        write_probabilities=write_probabilities,
        **check_judging(thresholds, abstain_key, scores_key, WHO),
    )


def check_gold_loss(loss: Loss) -> GoldLoss:
    """Return the formula of a loss that can train on actions.

    RAISES (ValueError): If it is no function of p(gold), or has class weights by tag (L002).
    """
    fix = "Use longtail.Focal.v1 or another loss of p(gold), or longtail_token_ner."
    formula = check_loss(loss, (GoldLoss,), WHO, "a loss of p(gold)", fix)
    if loss.class_weights is not None and loss.class_weights.unit != "type":
        reason, fix = "its class weights are by tag, and actions have no tags", 'Set unit = "type".'
        raise ValueError(Errors.L002.format(who=WHO, loss=loss, reason=reason, fix=fix))
    return formula


class LongtailNER(EntityRecognizer):
    """spaCy's EntityRecognizer with a loss of p(gold) instead of cross-entropy.

    Each row of spaCy's own gradient, p - q, is multiplied by u(x), x the probability of the
    least-cost actions (docs/methods.md, "Transition-based NER"). The loss column shows the loss
    summed over states in nats; without a loss the summed squared gradient, as stock `ner` does.
    """

    learnt: ClassVar = {
        "include": list[str] | None,
        "scores_key": str | None,
        "class_values": Weights,
        CALIBRATION: SavedCurves,
        "thresholds": Thresholds,
        "abstain_key": str | None,
        SETTING: bool | None,
        "update_with_oracle_cut_size": int,
        "incorrect_spans_key": str | None,
        "beam_width": Literal[1],
        "moves": object,
    }
    required: ClassVar = ()  # a stock `ner` saves fewer

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = WHO,
        moves: TransitionSystem | None = None,
        *,
        loss: Loss | None = None,
        head_rate: float = 1.0,
        **settings: Any,
    ) -> None:
        # Parser keeps its settings in cfg; pickling passes cfg back as keyword arguments
        own_settings = {key: settings.pop(key, None) for key in SETTINGS}
        kept = {key: value for key, value in settings.items() if key not in DROPPED}
        super().__init__(vocab, model, name, moves, **kept)
        wants = [key for key in ("scores_key", SETTING) if own_settings[key]]
        if wants and not reads_one_token(model):
            problem = f"{wants[0]} takes action probabilities, which are those of 3 state features"
            fix = f"Set extra_state_tokens = false, or leave {wants[0]} out."
            raise ValueError(Errors.L209.format(who=name, problem=problem, fix=fix))
        self.loss = loss
        self.formula = None if loss is None else check_gold_loss(loss)
        self.head_rate = head_rate
        self.cfg.update(own_settings)

    def _kept(self, examples: Iterable[Example]) -> Iterable[Example]:
        include = self.cfg["include"]
        return examples if include is None else [keep_types(eg, set(include)) for eg in examples]

    def add_label(self, label: str) -> int:
        """Add a type, as for `ner`, and to `include`: otherwise it would never be learnt."""
        added: int = super().add_label(check_label(label))
        include = self.cfg["include"]
        if added and include is not None and label not in include:
            self.cfg["include"] = [*include, label]
        return added

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: dict[str, dict[str, int]] | None = None,
        counts_corpus: Callable | None = None,
    ) -> None:
        """Initialize the model and resolve the loss's class weights.

        get_examples (Callable): Training examples.
        nlp (Optional[Language]): The current pipeline.
        labels (Optional[dict]): As for `ner`: the output of `init labels`.
        counts_corpus (Optional[Callable]): A reader of the untouched training data, for class
            weights and labels; null finds the labels in the training examples.
        """
        seen = get_examples if counts_corpus is None else partial(counts_corpus, nlp)
        include = self.cfg["include"]
        if labels is None:
            mentioned = {*count_docs(eg.reference for eg in seen()).labels}
        else:
            mentioned = {t for by_type in labels.values() for t in by_type if t}
        if include is not None:
            check_known("include", include, {*mentioned, *declared_types(nlp)}, WHO)
            if labels is not None:
                kept = {*include, ""}
                labels = {a: {t: n for t, n in by.items() if t in kept} for a, by in labels.items()}
        for label in warn_without_mention(nlp, mentioned, include, self.name, is_described=False):
            super().add_label(label)
        super().initialize(lambda: self._kept(seen()), nlp=nlp, labels=labels)
        check_known("thresholds", self.cfg["thresholds"] or (), self.labels, WHO)
        self.cfg[CALIBRATION] = None
        self.cfg["class_values"] = resolve_classes(
            self.loss, self.labels, "BILU", counts_corpus, nlp, WHO, self.name
        )

    def update(self, examples: Iterable[Example], **settings: Any) -> dict[str, float]:
        """Learn from a batch, as for `ner`, of the included types only."""
        examples = list(self._kept(examples))
        check_annotated(examples, self.labels, self.name)
        return super().update(examples, **settings)

    def finish_update(self, sgd: Optimizer | None) -> None:
        encoder = self.model.get_ref("tok2vec").layers[0]  # the parser's own projection comes after it
        super().finish_update(with_head_rate(sgd, encoder, self.head_rate))

    def get_batch_loss(
        self,
        states: list[StateClass],
        golds: list[object],
        scores: Floats2d,
        losses: dict[str, float] | None,
    ) -> np.ndarray:
        """Return spaCy's gradient with each row times u(x) of the loss, (n_states, n_moves)."""
        if self.loss is None or self.formula is None:
            return super().get_batch_loss(states, golds, scores, losses)
        d_scores = super().get_batch_loss(states, golds, scores, None)
        q, log_x = split_least_cost(np.asarray(scores), d_scores)
        columns, by_class = columns_of(self.moves), self.cfg["class_values"]
        weight = np.where(q[:, columns["O"]] > 0.5, 1.0, self.loss.entity_factor).astype(log_x.dtype)
        if by_class is None and self.loss.class_weights is not None:
            raise ValueError(Errors.L870.format(loss=self.loss))
        if by_class is not None:
            weight *= q @ action_weights(columns, by_class)
        f, u = self.formula.of_gold(log_x)
        loss = float((f * weight).sum())
        check_finite(self.name, len(f), loss)
        if losses is not None:
            losses[self.name] = losses.get(self.name, 0.0) + loss
        d_scores *= (u * weight)[:, None]  # in place: stays float32 in C order
        return d_scores

    def from_bytes(self, bytes_data: bytes, exclude: Iterable[str] = ()) -> "LongtailNER":
        util.from_bytes(bytes_data, {"cfg": partial(read_cfg, pipe=self)}, exclude)
        super().from_bytes(bytes_data, exclude=exclude)
        return self._loaded("")

    def from_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> "LongtailNER":
        check: Callable = partial(read_cfg, pipe=self)
        util.from_disk(path, {"cfg": check}, exclude)
        super().from_disk(path, exclude=exclude)
        return self._loaded(Path(path) / "cfg")

    def _loaded(self, source: Path | str) -> "LongtailNER":
        """Check the loaded settings against the loaded types. Argument as for `read_cfg`."""
        if problem := unknown_types(self.cfg, self.labels):
            raise bad_cfg(source, self, problem)
        mask_unlearnt(self.model)
        use_faster_blas(self.model.get_ref("tok2vec"), *encoders_of(self))
        return self

    def set_annotations(self, docs: Doc | Iterable[Doc], states: list[StateClass]) -> None:
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        check_listened(self, docs)
        given = [{(ent.start, ent.end) for ent in doc.ents} for doc in docs]
        super().set_annotations(docs, states)
        if self.cfg["scores_key"] is not None:
            for doc, spans in zip(docs, self._scored(docs, given), strict=True):
                kept = judge(doc, spans, self.cfg, self.name)
                if dropped := {s.place[:2] for s in spans} - {s.place[:2] for s in kept}:
                    ents = [ent for ent in doc.ents if (ent.start, ent.end) not in dropped]
                    doc.set_ents(ents, outside=[doc[a:b] for a, b in dropped], default="unmodified")
                add_scores(doc, self.cfg["scores_key"], kept)
        if self.cfg[SETTING]:
            tags = [f"B-{label}" for label in self.labels]
            rows = beginnings(self.model, columns_of(self.moves), docs, list(self.labels))
            for doc, p in zip(docs, np.split(rows, np.cumsum([*map(len, docs)])[:-1]), strict=True):
                write_probabilities(doc, self.name, tags, p)

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        """Return the entities that this pipe would add, before calibration and thresholds."""
        given = [{(ent.start, ent.end) for ent in doc.ents} for doc in docs]
        copies = [doc.copy() for doc in docs]
        super().set_annotations(copies, self.predict(copies))
        return self._scored(copies, given)

    def _scored(self, docs: list[Doc], given: list[set[tuple[int, int]]]) -> list[list[ScoredSpan]]:
        """Return the scored entities of each document, without those it had before."""
        pairs = zip(docs, given, strict=True)
        ents = [[ent for ent in doc.ents if (ent.start, ent.end) not in places] for doc, places in pairs]
        return scored_entities(self.model, columns_of(self.moves), docs, ents)


def convert_ner(nlp: Language, name: str = "ner", config: Overrides | None = None) -> LongtailNER:
    """Turn a trained stock `ner` of a pipeline into a `longtail_ner` with the same weights.

    nlp (Language): The pipeline, changed in place.
    name (str): Name of the component to convert.
    config (Optional[Mapping]): Settings of longtail_ner, such as loss, include and scores_key.
    RETURNS (LongtailNER): The new component. Its predictions are unchanged until it is trained.
    RAISES (ValueError): If the component is no stock ner (L001), or a setting names a type that it
        has not learnt (L203).
    """
    factory = nlp.get_pipe_meta(name).factory
    if factory != "ner":
        rule, fix = "a component of the factory ner", "Only a stock ner can be converted."
        raise ValueError(Errors.L001.format(name=name, rule=rule, value=factory, fix=fix))
    stock, settings = cast(EntityRecognizer, nlp.get_pipe(name)), config or {}
    for setting in ("include", "thresholds") if stock.labels else ():
        if isinstance(given := settings.get(setting), (list, tuple, dict)):  # the factory refuses others
            check_known(setting, given, stock.labels, WHO)
    trained = stock.to_bytes(exclude=["vocab"])
    # variables such as ${components.tok2vec.model.width} are resolved against the whole config
    old = dict(nlp.config.interpolate()["components"][name])
    del old["factory"]
    pipe = cast(LongtailNER, nlp.replace_pipe(name, WHO, config={**old, **settings}))
    new = {key: value for key, value in pipe.cfg.items() if key in settings}
    pipe.from_bytes(trained, exclude=["vocab"])
    pipe.cfg.update(new)
    if pipe.loss is not None and pipe.loss.class_weights and not pipe.loss.class_weights.needs_counts:
        pipe.cfg["class_values"] = resolve_classes(pipe.loss, pipe.labels, "BILU", None, nlp, WHO, name)
    return pipe
