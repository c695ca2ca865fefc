"""What holds before the first import: of torch, which reads the variable, and of modules, no garbage."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many processes as cores: pytest -n auto
gc.disable()  # tests/conftest.py enables it
