"""Search over the settings of one config, with Optuna."""
