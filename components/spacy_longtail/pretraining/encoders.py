"""What is pretrained: a CNN or a transformer."""

from ..describers.label_encoder import FILE as LABEL_ENCODER
from ..encoders import META, located
from ..errors import Errors
from ..hub import check_model
from ..settings import extra

CNN = "cnn"  # a new one


def is_cnn(name: str) -> bool:
    """Whether an encoder is a new CNN, or a pipeline without a transformer's label encoder."""
    folder = located(name)
    return name == CNN or ((folder / META).is_file() and not (folder / LABEL_ENCODER).is_file())


def check_transformer(name: str) -> None:
    """Refuse the name of a transformer that cannot be loaded. name (str): On the hub, or a folder."""
    with extra("transformers", "transformers"):
        from transformers import AutoConfig, AutoModel, AutoTokenizer
    check_model(name)
    try:
        for part in (AutoConfig, AutoTokenizer, AutoModel):
            part.from_pretrained(name)
    except Exception as error:  # of the hub and of what is in a folder: each its own kind
        problem = " ".join(str(error).split())
        raise ValueError(Errors.L265.format(name=name, problem=problem)) from error
