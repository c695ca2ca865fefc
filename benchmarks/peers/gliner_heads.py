"""GLiNER with randomly initialized heads on the encoder and the defaults of `create_training_args`.

Rounds are compared by the loss on dev, the only score that its Trainer computes.
"""

from gliner import GLiNER, GLiNERConfig
from gliner.training import Trainer
from protocol import entities_of, in_words, run
from transformers import EarlyStoppingCallback, set_seed


def rows(sentences):
    return [
        {
            "tokenized_text": words,
            "ner": [[start, end - 1, label] for start, end, label, _ in entities_of(tags)],
        }
        for words, tags in sentences
    ]


def train(task):
    set_seed(task.seed)
    model = GLiNER.from_config(GLiNERConfig(model_name=task.encoder))
    arguments = model.create_training_args(
        task.folder / "training",
        max_steps=-1,
        num_train_epochs=task.rounds,
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
        dataloader_num_workers=0,
        seed=task.seed,
        use_cpu=True,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=rows(task.round),
        eval_dataset=rows(task.dev),
        data_collator=model._create_data_collator(),
        callbacks=[EarlyStoppingCallback(task.patience)],
    )
    trainer.train()
    model.save_pretrained(task.folder / "model")
    return (model, task.types), task.folder / "model"


def predict(loaded, sentences):
    model, types = loaded
    texts = [" ".join(words) for words in sentences]
    return [
        in_words(words, [(e["start"], e["end"], e["label"], e["score"]) for e in entities])
        for words, entities in zip(sentences, model.inference(texts, types), strict=True)
    ]


run(train, predict)
