"""Checks of a config against a corpus: what `spacy train` would find out late, or not at all."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from spacy.util import load_config, load_model_from_config

from ...corpus.statistics.records import Statistics
from ...errors import SHIPPED_CONFIGS, Errors
from ...types import Overrides
from ..limits import check_written
from ..train import filled_in, message_of
from .checks import BuiltConfig, Check, Level, Said, check, listed
from .run_checks import check_dev, check_products, check_readers, check_scores, check_update

NERS = ("ner", "beam_ner", "longtail_ner", "longtail_token_ner", "longtail_gated_ner")
TYPE_SETTINGS = ("include", "labels", "weak_labels")  # of a component: lists of types


def check_config(
    path: Path, corpus: Path, found: Statistics, overrides: Overrides | None = None, update: bool = False
) -> Iterator[Check]:
    """Everything that can be said of a config before a training.

    path (Path): The config. corpus (Path): A folder that `convert` wrote.
    found (Statistics): Of the corpus.
    overrides (Optional[Overrides]): Config values by dotted name, as in a training.
    update (bool): Whether to initialize the pipeline and make one update.
    YIELDS (Check): What was found; only the first problem where the config does not build.
    """
    if not path.is_file():
        raise ValueError(Errors.L402.format(path=path, fix=SHIPPED_CONFIGS))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            given = load_config(path, overrides=filled_in(path, corpus, overrides), interpolate=False)
            check_written(given)
            built = BuiltConfig(path, given, load_model_from_config(given, auto_fill=True), found)
    except Exception as error:  # a config can name any function, and each fails in its own way
        yield Check("fail", "Config", f"{path} does not build: {message_of(error)}")
        return
    yield Check("good", "Config", f"{path} builds: {', '.join(built.nlp.pipe_names)}.")
    yield from (Check("warn", "Config", str(warning.message)) for warning in caught)
    for checked in CONFIG_CHECKS:
        yield from checked(built)
    if update:
        yield from check_update(built)


@check("Config")
def check_declared(built: BuiltConfig) -> Said:
    """`train` fills [longtail] in from the corpus, `spacy train` does not."""
    written = load_config(built.path, interpolate=False).get("longtail", {})
    used = built.config.get("longtail", {})
    for key, own in (("labels", built.found.labels), ("tail", built.found.tail)):
        if written.get(key) is not None and set(written[key]) != set(own):
            text = f"[longtail] {key} = {written[key]} is not the corpus's {own}"
            fix = "`python -m spacy_longtail train` fills that in, `spacy train` does not"
            yield "warn", f"{text}. {fix}."
        unknown = set(used.get(key) or ()) - set(built.found.labels)
        if unknown:
            yield "fail", f"[longtail] {key} names types that the corpus lacks: {listed(unknown)}."


@check("Components")
def check_components(built: BuiltConfig) -> Said:
    """The types that each component is to learn, against what training has."""
    names = [n for n in built.nlp.pipe_names if built.nlp.get_pipe_meta(n).factory in NERS]
    if not names:
        yield "fail", f"No component labels entities, found {', '.join(built.nlp.pipe_names) or 'none'}."
    mentions = {t: own.mentions for t, own in built.found.parts["train"].types.items()}
    for name in built.nlp.pipe_names:
        block = built.config["components"][name]
        lists = {key: block[key] for key in TYPE_SETTINGS if isinstance(block.get(key), list)}
        factory = built.nlp.get_pipe_meta(name).factory
        if name in names and "source" in built.given["components"][name]:
            yield _of_source(built, name, [t for t, n in mentions.items() if n])
        elif name in names and not lists:
            yield "info", f"{name} ({factory}) learns all types."
        for key, labels in lists.items():
            yield "info", f"{name} ({factory}): {key} = {listed(labels)}."
            absent = [t for t in labels if not mentions.get(t)]
            if absent:
                yield "fail", f"{name}: {key} names types without a training mention: {listed(absent)}."


def _of_source(built: BuiltConfig, name: str, types: list[str]) -> tuple[Level, str]:
    """What a trained component learns, which spaCy does not initialize again.

    types (List[str]): Those with a training mention.
    """
    if name in built.training["frozen_components"]:
        return "info", f"{name} comes from a source and is frozen: it learns nothing."
    own = getattr(built.nlp.get_pipe(name), "labels", ())
    if strange := [t for t in types if t not in own]:
        text = f"{name} comes from a source that does not know the types {listed(strange)}"
        return "warn", f"{text}, and will not learn them. Add them there with add_label."
    return "info", f"{name} comes from a source and goes on to learn {listed(own)}."


@check("Components")
def check_streaming(built: BuiltConfig) -> Said:
    """With max_epochs = -1 spaCy shows 100 examples to each component before the training."""
    if built.training["max_epochs"] != -1:
        return
    if not built.training["max_steps"]:
        yield "fail", "max_epochs = -1 with max_steps = 0 never ends. Set max_steps."
    own = built.config["initialize"]["components"]
    for name in built.nlp.pipe_names:
        if built.nlp.get_pipe_meta(name).factory not in NERS:
            continue
        settings = own.get(name, {})
        if not {"labels", "counts_corpus"} & settings.keys():
            text = f"{name} sees 100 examples before training and may miss rare types. Give it"
            fix = f"labels or, if it takes one, counts_corpus in [initialize.components.{name}]"
            yield "fail", f"{text} {fix}."
        labels = settings.get("labels")
        path = labels.get("path") if isinstance(labels, dict) else None
        if path and not Path(path).exists():
            yield "fail", f"{name} is to read its labels from {path}, which does not exist."


CONFIG_CHECKS: tuple[Callable[[BuiltConfig], Iterator[Check]], ...] = (
    check_declared,
    check_readers,
    check_dev,
    check_components,
    check_streaming,
    check_scores,
    check_products,
)
