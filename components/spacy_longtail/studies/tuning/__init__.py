"""The search over settings of one method, with Optuna."""
