"""Donors for the tests of `pretrain`, and a process that dies."""

from string import ascii_letters
from types import SimpleNamespace

import pytest
from spacy.training import Example

from spacy_longtail.corpus.cutting import bare
from spacy_longtail.pretraining import PretrainOptions, pretrain, run
from spacy_longtail.scorers import make_ner_scorer
from tests.util import SENTENCES, blank, corpus_of, parse

RATES = {"training.encoder_rate": 0.02, "training.head_rate": 0.02}  # of a tiny CNN
FAST = {"training.encoder_rate": 0.01, "training.head_rate": 0.01}  # of a tiny transformer
SHIPS = [
    "The [Fram|SHIP] left [Oslo|PORT] .",
    "A storm hit the [Vasa|SHIP] near [Hamina|PORT] .",
    "Maria saw nobody in [Hamina|PORT] .",
    "It was late .",
]
DEV = {
    "toy": ["[Maria|PER] sailed to [Rome|GEO] .", "[Oslo|GEO] sent help .", "Nobody came that night ."],
    "ships": ["The [Vasa|SHIP] left [Hamina|PORT] .", "A storm hit the [Fram|SHIP] near [Oslo|PORT] ."],
}


def two_donors(folder):
    return [
        corpus_of(folder / "toy", train=SENTENCES, dev=DEV["toy"]),
        corpus_of(folder / "ships", train=SHIPS, dev=DEV["ships"]),
    ]


def run_pretrain(folders, output, encoder, say=lambda text: None, exclude=(), **options):
    """A short pretraining: its pipeline and where that is, its record, and its scores by step."""
    given = {"steps": 12, "batch_size": 20, "evaluations": 3, **options}
    given["settings"] = {**RATES, **options.get("settings", {})}
    options = PretrainOptions(str(encoder), **given)
    nlp, record = pretrain(folders, output, options, exclude=list(exclude), say=say)
    return SimpleNamespace(nlp=nlp, model=output / "model", record=record, scores=record["scores"])


def killed(monkeypatch, at, saves, *arguments, **options):
    """Pretrain, and be killed at a step; a state is written after each of `saves`."""
    from spacy_longtail.pretraining.learners import Learner  # needs torch

    whole = Learner.step

    def step(self, number, batch):
        if number == at:
            raise KeyboardInterrupt
        patch.setattr(run, "SAVE_INTERVAL", -1.0 if number + 1 in saves else 1e9)
        return whole(self, number, batch)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "step", step)
        with pytest.raises(KeyboardInterrupt):
            run_pretrain(*arguments, **options)


def resumed(monkeypatch, tmp_path, folders, encoder, at, saves, **options):
    """A run that is not interrupted, the same killed at a step and resumed, and what that says."""
    straight, said = run_pretrain(folders, tmp_path / "straight", encoder, **options), []
    killed(monkeypatch, at, saves, folders, tmp_path / "killed", encoder, **options)
    again = run_pretrain(folders, tmp_path / "killed", encoder, said.append, **options)
    assert straight.scores == again.scores and straight.record["key"] == again.record["key"]
    assert [text for text in said if text.startswith("Resuming")] == [
        f"Resuming at step {step}" for step in saves[-1:]
    ]
    return straight, again


def check_scores(nlp, donors, scores):
    """A pipeline finds the types of each donor as they were scored in training."""
    for donor, score in zip(donors, scores, strict=True):
        nlp.get_pipe("ner").set_labels(donor.descriptions)
        scored = [Example(nlp(bare(doc)), doc) for doc in donor.dev]
        assert make_ner_scorer(list(donor.descriptions))(scored)["ents_f"] == score["micro"]


def tiny_xlm_roberta(folder):
    """Write an XLM-R with random weights and a SentencePiece (Unigram) tokenizer of the donors.

    The subwords are given, because a trained tokenizer differs from one process to the next.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import XLMRobertaConfig, XLMRobertaModel, XLMRobertaTokenizerFast

    words = sorted({token.text for text in (*SENTENCES, *SHIPS) for token in parse(blank(), text)})
    letters = [*ascii_letters, "."]
    pieces = [(f"\u2581{word}", -3.0) for word in words if len(word) > 1]
    pieces += [(piece, -6.0) for letter in letters for piece in (letter, f"\u2581{letter}")]
    special = [(name, 0.0) for name in ("<s>", "<pad>", "</s>", "<unk>")]
    tokenizer = Tokenizer(models.Unigram([*special, *pieces], unk_id=3))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    XLMRobertaTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
    sizes |= {"vocab_size": tokenizer.get_vocab_size(), "num_attention_heads": 2}
    torch.manual_seed(0)
    config = XLMRobertaConfig(pad_token_id=1, max_position_embeddings=300, **sizes)
    XLMRobertaModel(config).save_pretrained(folder)
    return folder
