"""What is pretrained: the package's CNN with a described head, or a transformer."""

from pathlib import Path

from spacy.language import Language
from spacy.util import load_config, load_model_from_config, registry
from thinc.api import Config, Optimizer

from ...corpus.folder import CorpusTypes
from ...corpus.tokenizers import tokenizer_config
from ...errors import Errors
from ...hub import check_model
from ...settings import unused
from ...training.limits import check_paths, check_training
from ...training.loading import check_beginning
from ...training.train import check_known, message_of
from ...types import Overrides
from ..trials.compose import apply

HERE = Path(__file__).parent
WHAT = "The encoder"  # of which L438 speaks
CNN = "cnn"
READ = {  # settings of blocks that a pretraining uses, and what has the others
    "training": (
        ("dropout", "optimizer"),
        "`train`; this command has --steps, --words, --seed and --evaluations",
    ),
    "initialize": (("vectors",), "`train`"),
}


def read_encoder(types: CorpusTypes, clusters: str | None, steps: int, settings: Overrides) -> Config:
    """The config of a pretraining.

    types (CorpusTypes): Of a donor: its language and tokens.
    clusters (Optional[str]): As for longtail.RichEmbed.v1.
    steps (int): Of the training, for the learning rate.
    settings (Overrides): Config values by dotted name; they win.
    RETURNS (Config): Not interpolated.
    RAISES (ValueError): L213, L471; L402 for vectors that are not there, L438 for a language that is not
        the donors'.
    """
    lang = types.lang
    own: dict[str, object] = {
        "nlp.lang": lang,
        **{f"nlp.{name}": value for name, value in tokenizer_config(lang, types.tokens).items()},
        "training.optimizer.learn_rate.total_steps": steps,
        "components.tok2vec.model.embed.clusters": clusters,
    }
    config = load_config(HERE / f"{CNN}.cfg", interpolate=False)
    apply(config, {**own, **settings})
    for block, (read, where) in READ.items():
        for setting, value in config[block].items():
            if setting not in read:
                raise unused(f"{block}.{setting}", value, "`pretrain`", where)
    try:
        check_paths(config)
    except ValueError as error:
        raise ValueError(Errors.L438.format(path=WHAT, problem=error)) from error
    check_beginning(config)
    if (found := config["nlp"]["lang"]) != lang:
        problem = f"nlp.lang = {found!r}, but the donors have the language {lang!r}."
        raise ValueError(Errors.L438.format(path=WHAT, problem=problem))
    return config


def check_transformer(name: str) -> None:
    """Whether there is a transformer of a name. RAISES (ValueError): L265, L406."""
    try:
        from transformers import AutoConfig, AutoModel, AutoTokenizer
    except ImportError as error:
        raise ValueError(Errors.L406.format(package="transformers", extra="transformers")) from error
    check_model(name)
    try:
        for part in (AutoConfig, AutoTokenizer, AutoModel):
            part.from_pretrained(name)
    except Exception as error:  # of the hub and of what is in a folder: each its own kind
        problem = " ".join(str(error).split())
        raise ValueError(Errors.L265.format(name=name, problem=problem)) from error


def build_pipeline(config: Config) -> tuple[Language, Optimizer, float]:
    """The pipeline of a pretraining, not initialized; its optimizer and its dropout.

    RAISES (ValueError): L438.
    """
    try:
        nlp = load_model_from_config(config, auto_fill=True)
        check_known(config, nlp.config)
        written = config.interpolate()["training"]
        training = registry.resolve({"training": written})["training"]
        check_training(training, written.get("batcher", {}))
        if not isinstance(training["optimizer"], Optimizer):
            raise ValueError(f"training.optimizer must be an optimizer, found {training['optimizer']!r}")
        return nlp, training["optimizer"], float(training["dropout"])
    except Exception as error:  # a config can name any function, and each fails in its own way
        message = Errors.L438.format(path=WHAT, problem=message_of(error))
        raise ValueError(message) from error
