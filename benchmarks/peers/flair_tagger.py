"""flair's SequenceTagger: a CRF over a fine-tuned transformer, with the defaults of `fine_tune`."""

import flair
from flair.data import Corpus, Dictionary, Sentence
from flair.embeddings import TransformerWordEmbeddings
from flair.models import SequenceTagger
from flair.trainers import ModelTrainer
from flair.trainers.plugins import TrainerPlugin, TrainingInterrupt
from protocol import entities_of, run


class Patience(TrainerPlugin):
    """Stops training when the score on dev has not improved for some epochs."""

    def __init__(self, patience):
        super().__init__()
        self.patience, self.n_worse = patience, 0

    @TrainerPlugin.hook
    def after_evaluation(self, current_model_is_best, **_):
        self.n_worse = 0 if current_model_is_best else self.n_worse + 1
        if self.n_worse >= self.patience:
            raise TrainingInterrupt("no improvement on dev")


def annotated(sentences):
    rows = []
    for words, tags in sentences:
        row = Sentence(words)
        for start, end, label, _ in entities_of(tags):
            row[start:end].add_label("ner", label)
        rows.append(row)
    return rows


def train(task):
    flair.set_seed(task.seed)
    corpus = Corpus(annotated(task.round), annotated(task.dev), sample_missing_splits=False)
    types = Dictionary(add_unk=False)
    types.span_labels = True
    for label in task.types:
        types.add_item(label)
    tagger = SequenceTagger(
        embeddings=TransformerWordEmbeddings(task.encoder, layers="-1", fine_tune=True),
        tag_dictionary=types,
        tag_type="ner",
        use_crf=True,
        use_rnn=False,
        reproject_embeddings=False,
    )
    ModelTrainer(tagger, corpus).fine_tune(
        task.folder / "training",
        max_epochs=task.rounds,
        main_evaluation_metric=("macro avg", "f1-score"),
        use_final_model_for_eval=False,
        save_final_model=False,
        plugins=[Patience(task.patience)],
    )
    best = task.folder / "training" / "best-model.pt"
    model = task.folder / "model"
    model.mkdir()
    return SequenceTagger.load(best.rename(model / best.name)), model


def predict(tagger, sentences):
    rows = [Sentence(words) for words in sentences]
    tagger.predict(rows)
    return [
        [(s.tokens[0].idx - 1, s.tokens[-1].idx, s.tag, s.score) for s in row.get_spans("ner")]
        for row in rows
    ]


run(train, predict)
