"""Candidates that start from pretrained encoders: which encoders to try on a corpus, and how."""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from wasabi import msg

from ...corpus.folder import PARTS, read_types
from ...corpus.names import NAMES
from ...corpus.parts import part_path
from ...encoders import TRANSFORMERS, check_encoder, installed_transformers, located, shipped_encoder
from ...errors import Errors
from ...training.pretrained import MAX_SEEN, MIN_KNOWN_LETTERS, seen_share, share_of_letters
from ...types import Overrides
from ..configs.compose import OPTIONAL, known_choices, read_base
from ..configs.recipes import read_recipes
from .candidates import Candidate

# Number of training sentences. With fewer, the largest transformer won on seven of ten measured
# corpora, so it is tried first; with more, unmixed weights may be better, and are tried as well.
LARGE_CORPUS = 1000
CONFIG = "config.cfg"  # in a pipeline's folder
DESCRIBED = "longtail.DescribedTypes.v1"  # in the config of a pretrained encoder
TORCH = '"longtail.Transformer.v1"'  # in the config of a transformer
OPTIMIZER = "training.optimizer"
SCHEDULE = ("training.max_steps", "training.eval_frequency")  # of a recipe


def find_pretrained(corpus: Path, say: Callable[[str], None] = msg.info) -> list[str]:
    """Return the encoders to try by default: the package's CNN and installed transformers.

    An encoder must know half of the corpus's letters. The English transformers are tried only on
    English corpora, because in other languages they added nothing to stock spaCy.

    corpus (Path): Folder of a converted corpus.
    say (Callable): Receives a message for each encoder that is not tried.
    RETURNS (List[str]): Names of encoders that were not pretrained on this corpus.
    """
    lang = read_types(corpus).lang
    shipped, transformers = shipped_encoder(lang), installed_transformers(lang)
    is_foreign = not shipped.startswith(f"{lang}_")
    if not is_foreign and not (transformers and find_spec("torch") and find_spec("transformers")):
        say(
            "No transformer is tried. To try one, install the extra 'transformers' and one of the "
            "encoders of docs/zero_shot.md"
        )
        transformers = []
    encoders = []
    for name in (shipped, *transformers):
        if (known := share_of_letters(name, corpus)) < MIN_KNOWN_LETTERS:
            say(f"{name} is not tried: it knows only {100 * known:.0f} % of the letters of these texts")
        elif (share := _seen(name, corpus)) > MAX_SEEN:
            say(f"{name} is not tried: it was pretrained on {100 * share:.0f} % of these sentences")
        else:
            encoders.append(name)
            if is_foreign:
                say(f"{name} is tried, although it was pretrained on another language than {lang!r}")
    return encoders


def needs_torch(pretrained: str) -> bool:
    """Return whether the tok2vec of an encoder is a transformer.

    pretrained (str): Name of an installed encoder, or a folder that `pretrain` wrote.
    """
    config = located(pretrained) / CONFIG
    return config.is_file() and TORCH in config.read_text(encoding="utf8")


def pretrained_candidates(corpus: Path, pretrained: Sequence[str], n_sentences: int) -> list[Candidate]:
    """Return the methods that start from pretrained encoders, in the order in which they are tried.

    corpus (Path): Folder of a converted corpus.
    pretrained (Sequence[str]): Names of installed encoders, or folders that `pretrain` wrote.
    n_sentences (int): Number of training sentences.
    RETURNS (List[Candidate]): One or more methods for each encoder.
    RAISES (ValueError): If an encoder cannot be used, or was pretrained on this corpus.
    """
    is_large = n_sentences >= LARGE_CORPUS
    ordered = list(pretrained)
    if not is_large and [needs_torch(encoder) for encoder in ordered[:2]] == [False, True]:
        ordered[:2] = ordered[1::-1]  # the largest transformer, then the CNN
    recipes, candidates = read_recipes(), list[Candidate]()
    others = [encoder for encoder in ordered if encoder not in TRANSFORMERS]
    names = {own: f"pretrained_{n}" if n > 1 else "pretrained" for n, own in enumerate(others, 1)}
    for encoder in ordered:
        name = names.get(encoder, encoder)
        recipe, start = _recipe_of(encoder, corpus)
        settings_by_choice = {name: start}
        if recipe == "pretrained_cnn":
            mixed = {**start, OPTIMIZER: recipes[recipe].settings[OPTIMIZER]}
            settings_by_choice = {name: start, f"{name}_mixed": mixed} if is_large else {name: mixed}
            if (corpus / NAMES).is_file():
                lists = recipes["listed_names"].settings
                own = {**start, OPTIONAL: {}, **lists, "paths.pretrained": encoder}
                settings_by_choice = {f"{name}_lists": own, **settings_by_choice}
        candidates += [
            Candidate(
                choices={**recipes[recipe].choices, "encoder": choice},
                settings={key: value for key, value in settings.items() if key not in SCHEDULE},
                schedule={key: settings[key] for key in SCHEDULE if key in settings},
                why=f"{encoder} was pretrained on the entities of other corpora, so it may know some "
                "of the types already.",
            )
            for choice, settings in settings_by_choice.items()
        ]
    return candidates


def _seen(pretrained: str, corpus: Path) -> float:
    """Return the fraction of a corpus's sentences on which an encoder was pretrained."""
    return seen_share(Path(pretrained), [part_path(corpus, part) for part in PARTS])


def _recipe_of(pretrained: str, corpus: Path) -> tuple[str, Overrides]:
    """Return the name of the recipe that starts from an encoder, and the settings for its axis."""
    folder = check_encoder(pretrained)
    if (share := _seen(pretrained, corpus)) > MAX_SEEN:
        raise ValueError(
            Errors.L563.format(path=pretrained, share=f"{100 * share:.0f} %", corpus=corpus)
        )
    config = read_base(folder / CONFIG)
    names = config.get("nlp", {}).get("pipeline", [])
    if "tok2vec" not in names or DESCRIBED not in config.to_str(interpolate=False):
        raise ValueError(
            Errors.L274.format(
                who="recommend",
                path=pretrained,
                problem="it needs tok2vec and a head that reads label descriptions, "
                f"found {', '.join(names)}",
                fix="With --pretrained, name a pipeline that `pretrain` wrote.",
            )
        )
    start = {**known_choices()["encoder"]["pretrained"], "paths.pretrained": pretrained}
    if not needs_torch(pretrained):
        return "pretrained_cnn", start
    own = read_recipes()["transformer"].settings
    return "transformer", {**start, OPTIONAL: {}, **own, "paths.pretrained": pretrained}
