# SPDX-License-Identifier: Apache-2.0
"""Random moments that can be had again: the seed is printed, and AISBX_SEED brings it back."""
import os
import random
import time


def chance(name):
    """The same for NAME each time, so that what is tested before a landing repeats; another each time with AISBX_LONG."""
    seed = os.environ.get("AISBX_SEED") or (str(time.time_ns()) if os.environ.get("AISBX_LONG") == "1" else name)
    print(f"# {name}: AISBX_SEED={seed}", flush=True)
    return random.Random(seed)
