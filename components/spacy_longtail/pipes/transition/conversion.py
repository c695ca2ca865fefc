"""A trained stock `ner` as a `longtail_ner`."""

from typing import cast

from spacy.language import Language
from spacy.pipeline.ner import EntityRecognizer

from ...errors import Errors
from ...types import Overrides
from .ner import WHO, LongtailNER


def convert_ner(nlp: Language, name: str = "ner", config: Overrides | None = None) -> LongtailNER:
    """Turn a trained stock `ner` of a pipeline into a `longtail_ner` with the same weights.

    nlp (Language): The pipeline; changed in place.
    name (str): The component to convert.
    config (Optional[Mapping]): Settings of longtail_ner, such as loss, include and scores_key; those
        that are named take the place of a converted longtail_ner's own.
    RETURNS (LongtailNER): The new component; predictions are unchanged until it is trained on.
    """
    factory = nlp.get_pipe_meta(name).factory
    if factory not in ("ner", WHO):
        rule, fix = "an ner or a longtail_ner", "Only a transition-based NER can be converted."
        raise ValueError(Errors.L001.format(name=name, rule=rule, value=factory, fix=fix))
    trained = cast(EntityRecognizer, nlp.get_pipe(name)).to_bytes(exclude=["vocab"])
    unset = ("factory", "@factories")
    # variables such as ${components.tok2vec.model.width} are resolved against the whole config
    resolved = nlp.config.interpolate()["components"][name]
    old = {k: v for k, v in resolved.items() if k not in unset}
    pipe = cast(LongtailNER, nlp.replace_pipe(name, WHO, config={**old, **(config or {})}))
    new_cfg = dict(pipe.cfg)
    pipe.from_bytes(trained, exclude=["vocab"])
    own = {"include", "scores_key", *(config or {})}
    pipe.cfg.update({k: value for k, value in new_cfg.items() if k in own})
    return pipe
