# SPDX-License-Identifier: Apache-2.0
"""Random choices that can be had again: the seed is printed, and AISBX_SEED brings it back."""
import os
import random
import time
import zlib


def chance(name):
    """The same for NAME each time, so that what is tested before a landing repeats; another each time with AISBX_LONG."""
    seed = os.environ.get("AISBX_SEED") or (str(time.time_ns()) if os.environ.get("AISBX_LONG") == "1" else name)
    print(f"# {name}: AISBX_SEED={seed}", flush=True)
    return random.Random(seed)


def seed_of(name):
    """Likewise a number, for suites that print it themselves."""
    fresh = time.time_ns() if os.environ.get("AISBX_LONG") == "1" else zlib.crc32(name.encode())
    return int(os.environ.get("AISBX_SEED") or fresh)
