"""SpanMarker, trained as in its README, with the defaults of TrainingArguments.

Rounds are compared by the loss on dev, because its F1 would load a script from a hub.
"""

from datasets import Dataset
from protocol import run
from span_marker import SpanMarkerModel, Trainer
from span_marker.model_card import ModelCardCallback
from transformers import EarlyStoppingCallback, TrainingArguments, set_seed


def dataset(sentences, ids):
    tags = [[ids[tag] for tag in sentence.tags] for sentence in sentences]
    return Dataset.from_dict({"tokens": [s.words for s in sentences], "ner_tags": tags})


def train(task):
    set_seed(task.seed)
    ids = {tag: i for i, tag in enumerate(task.tags)}
    model = SpanMarkerModel.from_pretrained(
        task.encoder, labels=task.tags, model_max_length=256, entity_max_length=8
    )
    arguments = TrainingArguments(
        task.folder / "training",
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        num_train_epochs=task.rounds,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        seed=task.seed,
        use_cpu=True,
        report_to="none",
    )
    trainer = Trainer(
        model,
        arguments,
        train_dataset=dataset(task.round, ids),
        eval_dataset=dataset(task.dev, ids),
        callbacks=[EarlyStoppingCallback(task.patience)],
    )
    trainer.compute_metrics = None
    trainer.remove_callback(ModelCardCallback)  # it computes F1
    trainer.train()
    trainer.save_model(task.folder / "model")
    return SpanMarkerModel.from_pretrained(task.folder / "model"), task.folder / "model"


def predict(model, sentences):
    return [
        [(e["word_start_index"], e["word_end_index"], e["label"], e["score"]) for e in entities]
        for entities in model.predict(sentences)
    ]


run(train, predict)
