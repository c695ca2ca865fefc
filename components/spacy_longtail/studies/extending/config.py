"""The config that trains a gate and a secondary NER beside the components of a trained pipeline."""

from itertools import count
from pathlib import Path
from typing import NamedTuple, cast

from spacy.language import Language
from spacy.pipeline.tok2vec import Tok2Vec
from thinc.api import Config

from ...errors import Errors
from ...training.loading import load_pipeline
from ...types import WEAK_SENTENCES
from ..trials.recipes import make_config, read_recipes

BOUNDARIES = ("doc.sents", "token.is_sent_start")


class Added(NamedTuple):
    """The components beside those of the pipeline, by their names in it; null for one that is not."""

    secondary: str
    gate: str | None
    spans_key: str | None  # in doc.spans, of the gate's sentences
    sentencizer: str | None
    encoder: str | None

    @property
    def names(self) -> list[str]:
        """In the order of the pipeline."""
        return [n for n in (self.sentencizer, self.encoder, self.gate, self.secondary) if n]


def extended_config(
    base: str, nlp: Language, *, gated: bool, pretrained: Path | None
) -> tuple[Config, Added]:
    """The recipe `extended` for any pipeline: every component of it is sourced and frozen.

    base (str): What `spacy.load` takes. nlp (Language): That pipeline.
    gated (bool): Whether a gate is trained; without one the secondary reads every sentence.
    pretrained (Optional[Path]): A pipeline that `pretrain` wrote, for the encoder of both.
    RETURNS (Tuple[Config, Added]): Not interpolated; the names of what is new.
    """
    config = make_config(read_recipes()["extended"])
    own = nlp.config.interpolate()["nlp"]
    added = _names(nlp, gated=gated, pretrained=pretrained is not None)
    blocks = config["components"]
    secondary, gate = blocks["weak_ner"], blocks["gate"]
    secondary["spans_key"] = gate["spans_key"] = added.spans_key
    config["paths"] = {**config["paths"], "base": base}
    if pretrained is not None:
        config["paths"]["pretrained"] = str(pretrained)
        _share(config, str(added.encoder), pretrained)
    parts = {
        added.sentencizer: blocks["sentencizer"],
        added.encoder: {"source": "${paths.pretrained}", "component": "tok2vec"},
        added.gate: gate,
        added.secondary: secondary,
    }
    config["components"] = {name: {"source": "${paths.base}"} for name in nlp.component_names}
    config["components"] |= {name: parts[name] for name in added.names}
    config["nlp"] |= {
        "lang": nlp.lang,
        "pipeline": [*nlp.component_names, *added.names],
        "disabled": list(nlp.disabled),
        "tokenizer": own["tokenizer"],
        "batch_size": own["batch_size"],
    }
    setters = [added.sentencizer] if added.sentencizer else boundary_components(nlp)
    config["training"] |= {
        "frozen_components": list(nlp.component_names),
        "annotating_components": setters if gated else [],
    }
    given = config["initialize"]["components"]
    usual = {added.gate: "gate", added.secondary: "weak_ner"}
    config["initialize"]["components"] = {name: given[usual[name]] for name in usual if name}
    config["initialize"]["before_init"] = {  # what components of the pipeline were trained on
        "@callbacks": "spacy.copy_from_base_model.v1",
        "tokenizer": "${paths.base}",
        "vocab": "${paths.base}",
    }
    if not gated:
        weights = config["training"]["score_weights"]
        for name in [name for name in weights if name.startswith("weak_sents")]:
            weights[name] = None
    return config, added


def boundary_components(nlp: Language) -> list[str]:
    """The component that sets sentence boundaries, after all that it may listen to; [] for none."""
    setters = [n for n in nlp.pipe_names if {*BOUNDARIES} & {*nlp.get_pipe_meta(n).assigns}]
    if not setters:
        return []
    return list(nlp.pipe_names[: nlp.pipe_names.index(setters[0]) + 1])


def _share(config: Config, encoder: str, pretrained: Path) -> None:
    """Let gate and secondary listen to a pretrained encoder, and the secondary know types in words."""
    source = load_pipeline(pretrained)
    if "tok2vec" not in source.pipe_names or "ner" not in source.pipe_names:
        found = ", ".join(source.pipe_names) or "none"
        raise ValueError(Errors.L524.format(path=pretrained, found=found))
    width = cast(Tok2Vec, source.get_pipe("tok2vec")).model.get_dim("nO")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": width, "upstream": encoder}
    config["components"]["gate"]["model"]["tok2vec"] = dict(listener)
    config["components"]["weak_ner"]["model"] = {
        "@architectures": "longtail.DescribedTypes.v1",
        "tok2vec": listener,
        "width": 256,
        "residual": True,
    }
    config["longtail"]["descriptions"] = {}
    config["initialize"]["components"]["weak_ner"] |= {
        "descriptions": "${longtail.descriptions}",
        "pretrained": "${paths.pretrained}",
    }


def _names(nlp: Language, *, gated: bool, pretrained: bool) -> Added:
    """Names that the pipeline has not given yet: it may have been extended before."""
    is_new = {
        "sentencizer": gated and not boundary_components(nlp),
        "rare_tok2vec": pretrained,
        "gate": gated,
        "weak_ner": True,
    }
    wanted = [name for name, yes in is_new.items() if yes]
    n = next(i for i in count(1) if not {_numbered(name, i) for name in wanted} & {*nlp.component_names})
    sentencizer, encoder, gate, _ = (_numbered(name, n) if yes else None for name, yes in is_new.items())
    spans_key = _numbered(WEAK_SENTENCES, n) if gated else None
    return Added(_numbered("weak_ner", n), gate, spans_key, sentencizer, encoder)


def _numbered(name: str, n: int) -> str:
    return name if n == 1 else f"{name}_{n}"
