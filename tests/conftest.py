"""Hypothesis for the whole suite: a property fails for what it finds, never for a loaded machine."""

from hypothesis import HealthCheck, settings

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
