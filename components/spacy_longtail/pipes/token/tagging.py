"""Base class of the components that label tokens: types, prediction and saving."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ...chains.tags import Scheme, TagCodec
from ...corpus.labels import check_label
from ...describers import Describer, HashedDescriptions, as_describer
from ...describers.label_encoder import DATA
from ...errors import Errors
from ...heads import Head, HeadName
from ...heads.outputs import forget_outputs, output_of
from ...layers.listeners import check_listened, nodes_of
from ...losses import Loss
from ...output.amounts import number
from ...types import Block, TwoTaskState
from ..base import EntityScorer, LongtailPipe
from ..saved import SavedCurves, Thresholds, Weights, bad_cfg
from ..scores.probabilities import SETTING, write_probabilities
from ..scores.spans import ScoredSpan
from ..scores.thresholding import CALIBRATION
from .describing import check_described
from .token_model import TokenModel
from .type_table import TypeTable

HASH_EMBED_CNN: Block = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "pretrained_vectors": None,
    "width": 96,
    "depth": 4,
    "embed_size": 2000,
    "window_size": 1,
    "maxout_pieces": 3,
    "subword_features": True,
}
DEFAULT_TOKEN_MODEL: Block = {
    "@architectures": "longtail.TokenClassifier.v1",
    "nO": None,
    "tok2vec": HASH_EMBED_CNN,
}
SETTINGS: Block = {"head": "softmax", "scheme": "BIO", "warmup": 0, SETTING: False}


class Predictions(NamedTuple):
    """Entities of each document, and the tag probabilities of its tokens if they are written."""

    entities: list[list[ScoredSpan]]
    probabilities: list[Floats2d] | None = None  # (n_tokens, n_tags) of each document


class TokenTagger(EntityScorer, LongtailPipe):
    """Base class of components whose model gives outputs per token.

    `cfg` has the settings, `tokens` the results of training, and `state` the state of training.
    """

    learnt: ClassVar = {  # the types of saved values that no constructor declares
        "head": HeadName,
        "scheme": Scheme,
        "types": list[str],
        "class_values": Weights,
        "state": dict[str, int | list[float]],
        "descriptions": dict[str, str],
        "unseen": list[str],
        "thresholds": Thresholds,
        "reads_documents": bool,
        CALIBRATION: SavedCurves,
    }
    saved = (DATA,)
    required = ("head", "scheme", "types")

    def __init__(
        self,
        nlp: Language,
        model: Model,
        name: str,
        *,
        loss: Loss,
        scorer: Callable | None,
        head_rate: float = 1.0,
        describe: Callable | None = None,
        **settings: object,
    ) -> None:
        cfg = {**SETTINGS, **settings}
        self.loss = loss
        self.tokens = TokenModel(model, cfg["head"], loss, cfg["scheme"])
        self.token_models = [self.tokens]  # those whose outputs the types must fit
        self.state = TwoTaskState()
        super().__init__(nlp.vocab, self.tokens.model, name, scorer, head_rate, **cfg)
        self.describe = as_describer(describe)
        self._share_layers(nlp)

    def _share_layers(self, nlp: Language | None) -> None:
        """Let the describer use weights of the pipeline, or of this component's own encoder."""
        if self.describe is not None:
            self.describe.share([*self.model.walk(), *(() if nlp is None else nodes_of(nlp))])

    @property
    def labels(self) -> tuple[str, ...]:
        return self.types.labels

    @property
    def types(self) -> TypeTable:
        """Return the types with their descriptions."""
        return self.tokens.types

    @property
    def codec(self) -> TagCodec:
        """Return the tags and their order."""
        return self.tokens.codec

    @property
    def head(self) -> Head:
        """Return the head that reads the model's outputs."""
        return self.tokens.head

    @property
    def is_described(self) -> bool:
        """Return whether the weights of types come from descriptions."""
        return self.tokens.is_described

    @property
    def describer(self) -> Describer:
        """Return the describer to save with the component: one without data if it has none."""
        return self.describe or HashedDescriptions()

    def marginals(self, docs: list[Doc]) -> Floats2d:
        """Return the probabilities of `codec.tags` at each token, shape (n_tokens, n_tags).

        docs (List[Doc]): Documents, whatever entities they have. A listener reads the vectors that
            they have now.
        """
        return self.tokens.marginals(docs)

    def add_label(self, label: str, description: str | None = None) -> int:
        """Add a type, before training or after. The weights of other types do not change.

        label (str): The type.
        description (Optional[str]): Description of the type, for a model of
            longtail.DescribedTypes.v1, which may find it without a mention to learn from; null
            takes the words of its name.
        RETURNS (int): 0 if the type is there already, else 1.
        """
        check_label(label)
        check_described(self.model, self.name, description=description)
        is_new = self.tokens.add_type(label, description, self.describe, self.name)
        if is_new and self.cfg.get("include") is not None:
            self.cfg["include"] = [*self.cfg["include"], label]
        return int(is_new)

    def set_labels(self, labels: Mapping[str, str] | Iterable[str]) -> None:
        """Find other types, by their descriptions. Thresholds and weights of single types are lost.

        labels (Mapping[str, str] | Iterable[str]): Descriptions by type, or the names of the types
            if these describe them.
        RAISES (ValueError): If the model is not trained, or two types have one description.
        """
        check_described(self.model, self.name, labels=labels)
        self.tokens.replace_types(labels, self.describe, self.name)
        include = None if self.cfg.get("include") is None else list(self.labels)
        self.cfg.update({"include": include, "thresholds": None, CALIBRATION: None})

    def predict(self, docs: Iterable[Doc]) -> Predictions:
        """Find the entities of each document, with their scores where scores_key is set."""
        docs = list(docs)
        if not any(map(len, docs)):
            return Predictions([[] for _ in docs])
        check_listened(self, docs)
        found = Predictions([], [] if self.cfg[SETTING] else None)
        for part in self.tokens.slices(docs):
            outputs = self.model.predict(part)
            with_scores = self.cfg["scores_key"] is not None
            found.entities.extend(self.tokens.entities(part, outputs, with_scores))
            if found.probabilities is not None:
                p = self.tokens.marginals(part, outputs)
                found.probabilities.extend(np.split(p, np.cumsum([*map(len, part)])[:-1]))
        return found

    def candidates(self, docs: list[Doc]) -> list[list[ScoredSpan]]:
        return self.predict(docs).entities

    def set_annotations(self, docs: Iterable[Doc], scores: Predictions) -> None:
        """Write the entities, and their scores and the tokens' probabilities if these are set."""
        docs = list(docs)
        super().set_annotations(docs, scores.entities)
        if scores.probabilities is not None:
            for doc, p in zip(docs, scores.probabilities, strict=True):
                write_probabilities(doc, self.name, self.codec.tags, p)

    def saved_cfg(self) -> Block:
        """Return the settings, the types and other results of training, and its state."""
        return {
            **self.cfg,
            "class_values": self.tokens.class_values,
            "state": self.state._asdict(),
            **self.types.to_cfg(),
        }

    def load_cfg(self, saved: Block, exclude: Iterable[str]) -> None:
        """Take over saved settings and types, which may differ in number from those before."""
        built = self.cfg["head"]
        if saved.get("head", built) != built:
            raise ValueError(Errors.L218.format(who=self.name, saved=saved["head"], found=built))
        table = TypeTable.from_cfg(saved)
        known = {"class_values", "state", *table.to_cfg()}
        self.cfg.update({key: value for key, value in saved.items() if key not in known})
        self.state = TwoTaskState(**saved.get("state", {}))
        self.tokens.scheme = self.cfg["scheme"]
        self.tokens.class_values = saved.get("class_values")
        self.tokens.use(table)
        if "model" not in exclude:  # its weights are loaded next
            forget_outputs(self.model)

    def settle(self, source: Path | str, exclude: Iterable[str]) -> None:
        """Refuse loaded types that need another number of outputs than the loaded weights have."""
        super().settle(source, exclude)
        for tokens in () if "cfg" in exclude else self.token_models:
            output, n_needed = output_of(tokens.model), len(tokens.head.outputs)
            if output.has_param("W") and (n_known := output.get_dim("nO")) != n_needed:
                problem = (
                    f"'types' has {', '.join(tokens.types.labels) or 'no type'}, which takes "
                    f"{number(n_needed, 'output')} with the head and loss of the config, but the saved "
                    f"weights have {n_known}. To add a type, load the pipeline as it was saved and call "
                    "add_label"
                )
                raise bad_cfg(source, self, problem)
