"""Checks of a config against a corpus: what `spacy train` would find out late, or not at all."""

import io
import math
import warnings
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path

from spacy.language import Language
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.util import load_config, resolve_dot_names
from thinc.api import Config

from ...corpus.statistics.records import Statistics
from ...readers.base import check_dev_corpus
from ...types import Overrides
from ..train import check_trainable, load_filled, message_of
from .data import Check, Results, check_data, count_corpus, run_check

NERS = ("ner", "beam_ner", "longtail_ner", "longtail_token_ner", "longtail_gated_ner")
TYPE_SETTINGS = ("include", "labels", "weak_labels")  # of a component: lists of types
N_READ = 100  # examples, since a reader may be endless
N_UPDATE = 8  # examples


def debug_corpus(
    corpus: Path, config: Path | None = None, *, overrides: Overrides | None = None, update: bool = False
) -> Iterator[Check]:
    """Check a corpus and, if there is one, a config for it.

    corpus (Path): A folder that `convert` wrote.
    config (Optional[Path]): A config of any factories, filled in from the corpus as by `train`.
    overrides (Optional[Overrides]): Config values by dotted name.
    update (bool): Whether to initialize the pipeline of the config and make one update.
    YIELDS (Check): Level (info, good, warn, fail), section and text, section by section; of a config
        that `train` would refuse only the first problem.
    """
    counted = count_corpus(corpus)
    yield from check_data(counted)
    if config is None:
        return
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            given = load_filled(config, corpus, overrides)
            nlp = check_trainable(given, config)
    except ValueError as error:
        yield Check("fail", "Config", str(error))
        return
    filled = nlp.config.interpolate()
    yield Check("good", "Config", f"{config} builds: {', '.join(nlp.pipe_names)}.")
    yield from (Check("warn", "Config", str(warning.message)) for warning in caught)
    yield from run_check(_declared(config, filled, counted.statistics), "Config")
    yield from run_check(_readers(filled, nlp), "Readers")
    yield from run_check(_dev(nlp), "Readers", "The dev corpus is read as it is.")
    yield from run_check(_components(given, filled, nlp, counted.statistics), "Components")
    yield from run_check(_scores(filled), "Scores")
    if update:
        yield from run_check(_update(given, filled), "Update")


def _read(config: Config, kind: str, nlp: Language, n: int) -> list[Example]:
    """The first examples of train_corpus or dev_corpus. What a reader prints is not shown."""
    with redirect_stdout(io.StringIO()):
        (reader,) = resolve_dot_names(config, [config["training"][kind]])
        return list(islice(reader(nlp), n))


def _declared(path: Path, config: Config, statistics: Statistics) -> Results:
    """`train` fills [longtail] in from the corpus, `spacy train` does not."""
    written = load_config(path, interpolate=False).get("longtail", {})
    used = config.get("longtail", {})
    for key, own in (("labels", statistics.labels), ("tail", statistics.tail)):
        if written.get(key) is not None and set(written[key]) != set(own):
            text = f"[longtail] {key} = {written[key]} is not the corpus's {own}"
            fix = "`python -m spacy_longtail train` fills that in, `spacy train` does not"
            yield "warn", f"{text}. {fix}."
        if unknown := set(used.get(key) or ()) - set(statistics.labels):
            yield "fail", f"[longtail] {key} names types that the corpus lacks: {_listed(unknown)}."


def _readers(config: Config, nlp: Language) -> Results:
    for kind in ("train_corpus", "dev_corpus"):
        name = config["training"][kind]
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                examples = _read(config, kind, nlp, N_READ)
        except Exception as error:  # any reader, any error
            yield "fail", f"{name} cannot be read: {message_of(error)}"
            continue
        yield from (("warn", str(warning.message)) for warning in caught)
        more = " or more" if len(examples) == N_READ else ""
        yield "good" if examples else "fail", f"{name} yields {len(examples)} examples{more}."


def _dev(nlp: Language) -> Results:
    try:
        check_dev_corpus(nlp)
    except ValueError as error:
        yield "fail", str(error)


def _components(given: Config, config: Config, nlp: Language, statistics: Statistics) -> Results:
    """The types that each component is to learn, against what training has."""
    factories = {name: nlp.get_pipe_meta(name).factory for name in nlp.pipe_names}
    mentions = {t: own.mentions for t, own in statistics.parts["train"].types.items()}
    for name, factory in factories.items():
        block, training = config["components"][name], config["training"]
        lists = {key: block[key] for key in TYPE_SETTINGS if isinstance(block.get(key), list)}
        if factory in NERS and "source" in given["components"][name]:
            labels = getattr(nlp.get_pipe(name), "labels", ())
            if name in training["frozen_components"]:
                yield "info", f"{name} comes from a source and is frozen: it learns nothing."
            elif strange := [t for t, n in mentions.items() if n and t not in labels]:
                text = f"{name} comes from a source that does not know the types {_listed(strange)}"
                yield "warn", f"{text}, and will not learn them. Add them there with add_label."
            else:
                yield "info", f"{name} comes from a source and goes on to learn {_listed(labels)}."
        elif factory in NERS and not lists:
            yield "info", f"{name} ({factory}) learns all types."
        for key, labels in lists.items():
            yield "info", f"{name} ({factory}): {key} = {_listed(labels)}."
            if absent := [t for t in labels if not mentions.get(t)]:
                text = f"{key} names types without a training mention: {_listed(absent)}"
                yield "fail", f"{name}: {text}."
        settings = config["initialize"]["components"].get(name, {})
        is_told = {"labels", "counts_corpus"} & settings.keys()
        if factory in NERS and training["max_epochs"] == -1 and not is_told:
            text = f"{name} sees 100 examples before a streamed training and may miss rare types. Give"
            where = f"labels or, if it takes one, counts_corpus in [initialize.components.{name}]"
            yield "fail", f"{text} it {where}."


def _scores(config: Config) -> Results:
    weights = config["training"]["score_weights"]
    total = sum(weight or 0.0 for weight in weights.values())
    if not total:
        yield "fail", "No score has a weight above 0 in [training.score_weights]: any model is the best."
        return
    shares = (f"{100 * weight / total:.3g} % {name}" for name, weight in weights.items() if weight)
    yield "good", f"Checkpoints are chosen by {', '.join(shares)}."


def _update(given: Config, config: Config) -> Results:
    """Initialize as `spacy train` does, and train one batch."""
    losses = dict[str, float]()
    try:
        with redirect_stdout(io.StringIO()):
            nlp = init_nlp(given)
        batch = _read(config, "train_corpus", nlp, N_UPDATE)
        frozen, annotating = (
            config["training"][f"{kind}_components"] for kind in ("frozen", "annotating")
        )
        nlp.update(batch, losses=losses, exclude=frozen, annotates=annotating)
    except Exception as error:  # any component, any error
        yield "fail", f"The first update fails: {message_of(error)}"
        return
    shown = ", ".join(f"{name} {loss:.4g}" for name, loss in losses.items())
    if all(math.isfinite(loss) for loss in losses.values()):
        yield "good", f"One update of {len(batch)} examples has finite losses: {shown}."
    else:
        yield "fail", f"The first update has no finite loss: {shown}. Lower weights or learning rate."


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
