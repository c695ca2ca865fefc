"""Messages of errors and warnings, by stable code: what is wrong, where, and what to do."""

SHIPPED_CONFIGS = (
    "Name a config file. `longtail init-config NAME -o config.cfg` writes one of the package's."
)

START = (  # how to correct the setting 'pretrained'
    "Set 'pretrained' to a pipeline that `pretrain` wrote, with the same encoder, width and "
    "'describe', or to null."
)


class Errors:
    # Several rooms
    L001 = "[L001] '{name}' must be {rule}, found {value!r}. {fix}"
    L002 = "[L002] {who} cannot train with {loss}: {reason}. {fix}"
    L203 = (
        "[L203] '{setting}' of {who} names types that the data does not have: {unknown}. The data has "
        "{known}. Correct the setting or, if max_epochs = -1, give the component a 'counts_corpus'."
    )
    L209 = "[L209] {who} cannot use this model: {problem}. {fix}"
    L251 = (
        "[L251] 'thresholds' of {who} need entity scores, but scores_key is null. Set scores_key = "
        '"entity_scores", or thresholds = null.'
    )
    L265 = (
        "[L265] {name!r} cannot be loaded: {problem} Name a model on the Hugging Face hub, or a local "
        "folder, which also works offline."
    )
    L271 = (
        "[L271] The label descriptions of {who} have {problem}. Correct "
        "[initialize.components.NAME.descriptions] in the config, or 'descriptions' in types.json."
    )
    L274 = "[L274] {who} cannot start from {path}: {problem}. {fix}"
    L402 = "[L402] {path} does not exist. {fix}"
    L403 = "[L403] {path} has no sentences. {fix}"
    L405 = (
        "[L405] {path} cannot be used for a report: {problem}. Write it with `python -m spacy_longtail "
        "{command}`."
    )
    L410 = (
        "[L410] The report needs an evaluation of the {role} {name!r}, found {found}. Evaluate that "
        "model, or name others with --baseline and --ours."
    )
    L420 = "[L420] --{name} would be ignored: {problem}. Omit it."
    L432 = "[L432] {path} cannot be read or written: {problem}. Check the disk and the permissions."
    L437 = "[L437] {path} would be replaced, but {problem}. Name another output, or move it away."
    L487 = "[L487] There is nothing to compare: {problem} {fix}"
    L513 = "[L513] The soft targets cannot be used for training: {problem}. {fix}"
    L800 = (
        "[L800] The label encoder of {name!r} needs the word embeddings of that encoder, which the "
        "pipeline does not have. Load the pipeline with its tok2vec, or install {name!r}."
    )
    L801 = (
        "[L801] {who} has descriptions of the types {unknown}, which the training data does not have "
        "and [longtail] labels does not declare. Add them to 'labels' in types.json (or to labels of "
        "[longtail] in the config), or delete their descriptions."
    )
    L802 = (
        "[L802] {who} cannot tell the types {first} and {other} apart: {text!r} and {as_text!r} have "
        "the same vector. Describe one of them in other words that its encoder knows, which for an "
        "English encoder are English."
    )
    L803 = (
        "[L803] {path}{place}: {problem}. Lists of names are files names/TYPE.txt with one name per "
        'line, or a file names.jsonl with lines such as {{"label": "HERB", "pattern": "lemon balm"}}. '
        "Put them beside the corpus and convert it again, or name them with --paths.names."
    )
    L820 = (
        "[L820] max_pieces = {wanted} exceeds the context window of {name!r}: it holds {known} subwords "
        "besides special ones. Set max_pieces = {known} or less, or null."
    )

    # Corpora
    L101 = (
        "[L101] {policy} found no entity in the {n_units} units of its corpus. Check the path of the "
        "training corpus and its annotation."
    )
    L401 = "[L401] {path}:{line}: {problem}. {fix}"
    L404 = "[L404] {path} cannot be a .spacy file: {problem}. {fix}"
    L419 = (
        "[L419] {corpus} has free-text types, one per mention, which only `pretrain` can use. Name a "
        "corpus that declares its types."
    )
    L421 = (
        "[L421] The format of {path} cannot be detected: {problem}. Name it with --format (for a pool, "
        "--pool-format), one of {known}."
    )
    L428 = (
        "[L428] There is no tokenizer for the language {lang!r}: {problem}. Use a code of "
        "https://spacy.io/usage/models#languages, xx, or --tokens characters."
    )
    L430 = "[L430] {path} does not describe a corpus: {problem}. {fix}"
    L440 = "[L440] The corpus cannot be split in this way: {problem}. {fix}"
    L548 = "[L548] {part!r} cannot be the name of a part. Use a plain name such as train, dev or test."
    L550 = "[L550] {label!r} cannot be the name of a type{where}: {problem}. Correct it."
    L581 = "[L581] --{option} {given!r} cannot be used: {problem}."
    L700 = (
        "[L700] {source} was not {converted}: {problem}. Correct the source or the options, or pass "
        "--allow to {convert} it anyway."
    )
    L745 = (
        "[L745] The document that starts with {text!r} has {n} numbers of soft targets, but its "
        "{tokens} tokens and {tags} tags need {wanted}. Leave the tokens as `distil` wrote them, or run "
        "`distil` again."
    )
    L830 = (
        "[L830] {source}: {n} of {total} texts are given several times with {how} annotation, "
        "such as {example}. Keep one annotation of each text. --duplicates first takes the first one, "
        "--duplicates keep makes a document of each."
    )
    L831 = "[L831] {path} is {format}, which `convert` does not read. {fix}"

    # Readers and augmenters
    L105 = (
        "[L105] 'corpus' yields other units than when its {n} units were counted. Wrap a reader that "
        "yields the same units in the same order each time: without shuffling, augmenter or random "
        "limit."
    )
    L108 = (
        "[L108] {outer} cannot wrap {inner}, which {what}. Wrap them in the opposite order, or remove "
        "one of them. Give an augmenter to the outer reader."
    )
    L109 = (
        "[L109] [training] dev_corpus = {name!r} is read through {found}, which changes the data. Use "
        "spacy.Corpus.v1 alone for development data."
    )
    L115 = (
        "[L115] {who} found {problem} in its 'corpus'. Check the path of the corpus, its entities and "
        "the settings."
    )
    L116 = (
        "[L116] {path} cannot be used as a thesaurus: {problem}. Write lines of word TAB synonym TAB "
        "synonym, in UTF-8."
    )
    L117 = (
        "[L117] longtail.synonym_replacement.v1 without a 'thesaurus' needs WordNet, found {found}. "
        "Run: pip install nltk && python -m nltk.downloader wordnet. Or set 'thesaurus' to a file."
    )
    L120 = "[L120] {who} cannot sample the corpus: {problem}. Check its path and its annotation."

    # Losses, heads, layers, models
    L221 = (
        "[L221] The saved weights of {who} cannot be loaded: {problem}. Copy the pipeline from its "
        "source again, with the config that it was trained with."
    )
    L230 = (
        "[L230] 'queries' of {who} must have a query for at least one type, found {found!r}. Write a "
        'block [components.ner.queries] with lines such as PER = "Find persons.". A type must not '
        "contain : or = nor start with @ # ; or [. A query must be one line without ${{."
    )
    L240 = (
        "[L240] {who} needs its word vectors: {problem}. Set [initialize] vectors in the config, or "
        "--paths.vectors, to the folder that `spacy init vectors` wrote."
    )
    L241 = "[L241] {who} cannot use its encoder: {problem}. {fix}"
    L292 = (
        "[L292] {who}: {problem}. Set the URL to a running server that has this model, and "
        "key_variable to the environment variable with its key, or to null."
    )
    L720 = (
        "[L720] There is no pipeline {source}. Name a folder with a pipeline, an installed package, or "
        "en_longtail_cnn. Wheels of other encoders are in assets/encoders of this package's "
        "repository: pip install --no-deps assets/encoders/NAME-VERSION-py3-none-any.whl."
    )
    L890 = (
        "[L890] {name} {version} is installed, but this version of spacy-longtail needs {major}.x. Run: "
        "pip install '{name}=={major}.*'"
    )

    # Pipes and scorers
    L004 = (
        "[L004] {who} needs corpus counts for {weights}, but got no 'counts_corpus'. Add to the config: "
        "[initialize.components.{name}] counts_corpus = ${{corpora.plain}}."
    )
    L007 = (
        "[L007] The loss of {who} is {loss} after a batch of {n_rows} rows. Lower the learning rate or "
        "the class weights."
    )
    L205 = (
        "[L205] {who} cannot learn which sentences to flag: {problem}. Check 'rare_labels', "
        "'auto_share' and the corpus, and put a sentencizer before the gate and into "
        "annotating_components."
    )
    L206 = (
        "[L206] {label!r} cannot be added to {who}, because its types come from {source}. Add the type "
        "there, and initialize the component again."
    )
    L207 = (
        "[L207] merge = '{merge}' of {who} needs a primary NER before it that writes entity scores to "
        "doc.spans['{key}']. Set scores_key = \"{key}\" there, or use merge = 'fill'."
    )
    L210 = "[L210] {who} needs {needs} before it, found {found}. {fix}"
    L212 = (
        "[L212] The labels given to {who} are {found}, but its own are {own}. Write the labels file "
        "again with `spacy init labels`, or remove it."
    )
    L215 = (
        "[L215] {who} found no entity to train on. Check the corpus and the settings 'labels' and "
        "'include'."
    )
    L218 = (
        "[L218] The saved {who} has {saved}, but its config has {found}. These settings are fixed in a "
        "trained component: remove the override, or train the component again."
    )
    L232 = (
        "[L232] {who} has no query for the types {unknown}. Add queries with the setting 'queries' or "
        "with add_query, or remove the types with longtail.RelabelledCorpus.v1."
    )
    L250 = (
        "[L250] {other!r} comes after {name!r} in [nlp] pipeline and {problem}. Move {other!r} before "
        "{name!r}."
    )
    L254 = (
        "[L254] {who} found no doc.spans['{key}'], so no gate has processed the document. Enable the "
        "gate before it, or disable {who} as well."
    )
    L272 = "[L272] 'describe' of {who}, {describe}, returns {problem}. {fix}"
    L285 = "[L285] {who} cannot use its secondary: {problem}. {fix}"
    L290 = (
        "[L290] {who} stops: its secondary failed on {n} sentences in a row, and max_failures = "
        "{limit}. The last error: {problem}. Repair the secondary, raise max_failures, or disable "
        "{who!r}."
    )
    L296 = (
        "[L296] {path} cannot be loaded as a GLiNER model: {problem}. Name a model on the Hugging Face "
        "hub such as urchade/gliner_medium-v2.1, or a folder that GLiNER.save_pretrained wrote."
    )
    L301 = (
        "[L301] 'tail' of longtail.ner_scorer.v1 names types that 'labels' does not have: {unknown}. "
        "'labels' has {known}. Correct one of the two settings."
    )
    L303 = (
        "[L303] {who} cannot {what}, because its members were trained separately. Put it into "
        "[training] frozen_components, or train new members and run `ensemble` again."
    )
    L810 = (
        "[L810] {who} found no probabilities of {wanted} on a document{found}. Set "
        "write_probabilities = true in an enabled longtail_token_ner or longtail_ner (instead of a "
        "stock ner) before it. Or add {who} to this pipeline again without source, which sets it."
    )
    L811 = (
        "[L811] {who} found probabilities of {n} tokens on a document of {tokens} tokens. Move the "
        "component that merges or splits tokens after {who}, or before the NER."
    )
    L812 = (
        "[L812] {who} looks for the types {unknown}, but its primary knows only {known}. Correct "
        "'rare_labels', or name another component as 'primary'."
    )
    L813 = (
        "[L813] {who!r} listens to {upstream!r}, which {state}. It would use the vectors of {other!r} "
        "instead and predict wrong entities. Enable {upstream!r} after {other!r} and before {who!r}, "
        "disable {who!r} as well, or call nlp.replace_listeners before removing {upstream!r}."
    )
    L814 = (
        "[L814] {who!r} cannot be loaded with {path}: {problem}. Copy the pipeline from its source "
        "again, or correct the file."
    )
    L821 = (
        "[L821] {setting} would average some weights of {who!r}, but not those of its torch layer, "
        "which comes from another package. Set use_averages = false and weight_mix = 1, or use "
        "longtail.Transformer.v1."
    )
    L822 = (
        "[L822] The encoder of {who} does not see the query and the sentence together: word {n} has "
        "the same vector for every query. Use a transformer or longtail.BiLSTM.v1."
    )
    L823 = (
        "[L823] The query {query!r} is too long: it takes {n} of the {limit} {unit} of the encoder's "
        "context window, and a sentence needs at least {room}. Shorten the query."
    )
    L824 = (
        "[L824] longtail.RichEmbed.v1 has no features to embed words with. Give it attrs with their "
        "rows, include_static_vectors = true, or subwords."
    )
    L870 = (
        "[L870] {loss} has class weights that were not resolved yet, or that set_labels has removed. "
        "Initialize the component with a 'counts_corpus', or train it with a loss without class "
        "weights."
    )
    L871 = (
        "[L871] longtail.one_of.v1 has no augmenter to choose from. Give it at least one, in a config "
        "as a block below [corpora.train.augmenter.*]."
    )

    # Training and pretraining
    L408 = (
        "[L408] {path} cannot be loaded as a pipeline: {problem} Copy it again, install the packages "
        "that it was trained with, or name its code with --code."
    )
    L417 = (
        "[L417] {path} is damaged: {problem}. `train` writes this file beside the model. Copy it again, "
        "or delete it to evaluate the model without it."
    )
    L438 = (
        "[L438] {path} cannot be trained: {problem} Correct the setting in the config, or the option "
        "that overrides it."
    )
    L450 = "[L450] {path} cannot be audited: {problem}. {fix}"
    L495 = "[L495] {path} cannot be {role}: {problem}. {fix}."
    L496 = "[L496] The pretraining in {path} cannot be resumed: {problem}. {fix}."
    L515 = (
        "[L515] --gpu-id {gpu_id} cannot be used: {problem}. Run: pip install 'spacy-longtail[gpu]'. Or "
        "omit --gpu-id to use the CPU."
    )

    # Evaluation and output
    L255 = (
        "[L255] {path} has no component with entity scores and no gate, so there is no threshold to "
        "choose. It has {found}. Train a component of this package with scores_key, or a gate."
    )
    L411 = "[L411] {path} cannot be compared with {other}: {problem}. Evaluate both on the same data."
    L414 = (
        "[L414] {model} has no evaluation for its model card: {problem}. Run `evaluate` on it, with -o "
        "into that folder."
    )
    L436 = "[L436] {path} cannot be the output: {problem}. Name another {kind}."
    L840 = (
        "[L840] --map renames types of the pipeline to {unknown}, which {corpus} does not declare. It "
        "declares {known}. Correct --map."
    )
    L841 = (
        "[L841] {model} and {data} have no type in common, so that every score would be 0. The pipeline "
        "predicts {predicted}, the data has {known}. {fix}"
    )
    L842 = (
        "[L842] --in-place would change the installed package {model}. Name a folder for the new "
        "pipeline with --output."
    )

    # Studies
    L470 = "[L470] {path} cannot be used: {problem} {fix}"
    L471 = (
        "[L471] The setting {name!r} cannot be set, because {problem}. Correct the name, or choose a "
        "config with this block."
    )
    L480 = "[L480] The pipeline of {name} cannot be built: {problem} Correct the setting, or remove it."
    L483 = "[L483] The search cannot be run: {problem} {fix}"
    L563 = (
        "[L563] {path} was pretrained on {share} of the sentences of {corpus}, so its scores on the "
        "folds would measure memory. Omit --pretrained, or pretrain on other corpora."
    )
    L723 = "[L723] There is no config {name!r}. The configs are: {known}."

    # Unlabelled text
    L500 = "[L500] `mine` cannot look for rare types: {problem}. {fix}"
    L503 = (
        "[L503] No sentence of {path} can be proposed: {known} of {n} sentences are excluded or in the "
        "corpus already, and no rare type is expected in the others. Name a pool of other text."
    )
    L506 = "[L506] {path} cannot be merged: {problem}. {fix}"
    L509 = "[L509] {path} cannot be the teacher: {problem}. {fix}"
    L510 = (
        "[L510] No sentence of {path} can be pseudo-labelled: {problem}. Name other text, lower "
        "--threshold, or set scores_key in the teacher's components."
    )
    L514 = "[L514] {path} cannot become part of an ensemble: {problem}. {fix}"

    # Commands
    L213 = (
        "[L213] {name} = {value!r} of {who} has no effect, because it applies only to {where}. Remove "
        "it, or change the other setting."
    )
    L406 = "[L406] {package} is not installed. Run: pip install 'spacy-longtail[{extra}]'"
    L546 = (
        "[L546] This is a bug in spacy-longtail: {what} Please report it with the traceback above. "
        "Versions: {versions}."
    )
    L850 = (
        "[L850] {path} cannot be imported as --code: {problem}. Correct it, or name another file with "
        "--code."
    )
    L851 = (
        "[L851] The command did not finish, because {module} called {call}. Remove that call, or raise "
        "an error instead."
    )
    L852 = "[L852] The command line is wrong: {problem} See `{command} --help`."
    L853 = (
        "[L853] Out of memory{problem}. Reduce the memory that the command needs: fewer --workers or "
        "--n-process, a smaller --batch-size, [training.batcher] size or [nlp] batch_size in the "
        "config, or shorter documents."
    )
    L854 = (
        "[L854] Reading, writing or a connection failed: {problem} Free space on the disk, check the "
        "permissions of {inputs} and the network, and run the same command again."
    )
    L855 = (
        "[L855] A setting is invalid: {problem} It comes from {inputs} or from an option. Correct it "
        "there. `longtail init-config --list` lists valid configs."
    )
    L856 = (
        "[L856] A file is damaged: {problem} It is one of {inputs}, or in one of these folders. "
        "`longtail --debug` shows where it was read. Write it again with the command that made it, or "
        "copy it again."
    )
    L857 = (
        "[L857] spaCy cannot work with {inputs}: {problem} If the message names a setting, change it in "
        "the config, or with --SECTION.NAME or --set. If it names a text, correct the text and convert "
        "it again."
    )
    L858 = (
        "[L858] A text of {inputs} is too long: {problem} Cut the documents into sentences with "
        "`convert --sentences sentencizer`, or raise [nlp] max_length if there is enough memory."
    )
    L859 = (
        "[L859] {name} cannot be set, because the command trains on the corpus of its argument. Omit "
        "{name}, and give the other corpus as the argument."
    )
    L860 = (
        "[L860] use_int8 has no effect, because the pipeline has no longtail.Transformer.v1, and "
        "nothing else predicts in int8. Load a pipeline with that encoder, or omit use_int8."
    )


class Warnings:
    # Corpora
    W030 = "[LW030] {path}: {problem}."
    W040 = "[LW040] Check the split: {problem}."
    W195 = (
        "[LW195] {path}: {names} is not read. Parts are called train, dev (or valid, validation) and "
        "test."
    )

    # Readers and augmenters
    W012 = (
        "[LW012] {who} {problem}. A model learns a type from its mentions. Without any, only a "
        "pretrained encoder that reads descriptions can find it."
    )
    W015 = (
        "[LW015] Text categories or span groups of some documents are lost, because sentences were "
        "taken from them or an augmenter rewrote them."
    )

    # Losses, heads, layers, models
    W106 = (
        "[LW106] {who!r} gets its word vectors from another component, which has not processed the "
        "text, so it predicts from zeros. Enable that component before {who!r}, or use "
        "nlp.replace_listeners."
    )

    W211 = (
        "[LW211] {describer} is saved without its data, because the encoder {source!r} is not at hand. "
        "The pipeline predicts, but it cannot get other types without that encoder. Install it, or "
        "copy it back, and save the pipeline again."
    )

    # Pipes and scorers
    W002 = (
        "[LW002] The types {types}, {problem}. Set longtail.labels and longtail.tail in the config to "
        "the types that you look for: one without a mention yet may stay, and counts 0 until the data "
        "has one."
    )
    W003 = (
        "[LW003] {n} of {total} documents have no entity annotation at all (not even O) and are not "
        "scored."
    )
    W006 = (
        "[LW006] {who} was not initialized with the types {found}, so their entities count as not "
        "annotated. Add them with add_label or add_query, or initialize the component again."
    )
    W062 = (
        "[LW062] The secondary of {who} failed on a sentence, which keeps the entities of the primary: "
        "{problem}"
    )
    W080 = (
        "[LW080] The types of {who} overlap with those of other components: {problem}. Exclude them "
        "from the primary with its setting 'include'."
    )
    W107 = (
        "[LW107] {who!r} learns from documents without sentence boundaries, each as one sentence, "
        "{where}. Put a component that sets boundaries before it and into annotating_components."
    )
    W114 = "[LW114] {name!r}: {earlier} is now {today}. Version 0.4 will not accept {earlier}."
    W180 = (
        "[LW180] The training data has no mention of the types {types}. {who} keeps them as declared, "
        "and {how} until it is trained on mentions of them."
    )
    W181 = (
        "[LW181] {who} has no names, because 'labels' asks for {asked} and the training data has only "
        "{known}. Set 'labels' to types of the data, with the package's configs by "
        "--longtail.tail '[\"{first}\"]', or to null for all types."
    )

    # Training and pretraining
    W050 = (
        "[LW050] {n} tokens annotated as {types} were not judged, because the model of their fold was "
        "not trained on that type. A type needs mentions in at least two folds."
    )
    W103 = (
        "[LW103] {path} was pretrained on {share} of the dev and test sentences of {corpus}, so scores "
        "on them partly measure memory. Evaluate on other text, or pretrain with --exclude {corpus}."
    )
    W206 = (
        "[LW206] {encoder} knows {share} of the letters of {corpus} and cannot use the others. Compare "
        "it with configs/baseline.cfg, or pretrain an encoder on donors of this language."
    )

    # Evaluation and output
    W034 = (
        "[LW034] {folder} contains {names}, left by a run that was killed or is still running. Delete "
        "it if no run is active."
    )
    W082 = "[LW082] {name!r} keeps {keeps}: {problem}."
    W199 = (
        "[LW199] {model} predicts types that {data} does not have, {predicted}, so that its entities "
        "count as wrong. {fix}"
    )
    W200 = "[LW200] --map {name}={value} has no effect: the pipeline predicts no {name}."

    # Studies
    W092 = (
        "[LW092] Trials are compared by macro F1 on dev, but the config chooses checkpoints by {found}. "
        "Use longtail.ner_scorer.v1, with ents_macro_f = 1.0 and ents_f = 0.0 in "
        "[training.score_weights]."
    )
    W097 = "[LW097] {path} is not a valid record of this trial, so the trial is run again."
    W208 = (
        "[LW208] {path} has {n} of other versions of spacy-longtail, spaCy or their dependencies, or "
        "with other --code. They are run again, and the old results are kept."
    )
    W212 = (
        "[LW212] {n} ended in an earlier run without --keep-models, so there is no pipeline of them. To "
        "keep all pipelines, name a new --output."
    )
    W209 = (
        "[LW209] {path}: names of one character or of punctuation alone would be found far too often. "
        "They are skipped ({n}). The first one is {first}."
    )
    W213 = (
        "[LW213] {path}: no name was read from {names}. A list is a text file TYPE.txt in this folder, "
        "with one name per line."
    )
    W214 = (
        "[LW214] The config names the lists {own}, and {corpus} has other lists. Those in {used} are "
        "used. To use the lists of the corpus, set names = null in [paths]; to use others, pass "
        "--paths.names."
    )

    # Unlabelled text
    W113 = (
        "[LW113] {n} of {total} entities predicted in {path} have no score ({types}). Their tokens "
        "count as not annotated. Set scores_key, or secondary_scores_key of a longtail_gated_pipe."
    )
    W198 = (
        "[LW198] {pipeline} cannot predict {types}, so no sentence is proposed for them. Use an encoder "
        "such as en_longtail_trf, which finds types by their descriptions."
    )

    # Commands
    W086 = (
        "[LW086] Thresholds are chosen on test, so scores on test no longer show how good the pipeline "
        "is. Use --part dev."
    )
