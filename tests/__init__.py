"""Set before the first import: a variable that torch reads, and no garbage of modules."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many processes as cores: pytest -n auto
gc.disable()  # tests/conftest.py enables it
