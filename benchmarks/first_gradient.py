"""
How long the first gradient of a trivial kernel takes in a fresh process: without and with the
cache of machine code, and how long a call takes once it is compiled.

    python benchmarks/first_gradient.py [ROUNDS]

Prints medians over processes. `import` is `import mlirad` and numpy, `first` the first gradient
after it, `call` one forward and backward call on 1000 elements.
"""

import os
import statistics
import subprocess
import sys
import tempfile

from mlirad.gpu import grid

CHILD = """
import time
start = time.perf_counter()
import numpy as np
import mlirad as ad
from mlirad import gpu
imported = time.perf_counter()
from benchmarks.first_gradient import square
kernel = ad.kernel(square)
x, dx = np.array([2.0, 2.0]), np.array([0.0, 1.0])
ad.autodiff(ad.Reverse, kernel[1, 2], ad.Duplicated(x, dx))
first = time.perf_counter()
assert dx.tolist() == [0.0, 4.0]
derived = ad.reverse(kernel, ad.Duplicated)
x, dx = np.ones(1000), np.ones(1000)
derived[8, 128](x, dx)
begin = time.perf_counter()
for _ in range(1000):
    derived[8, 128](x, dx)
print(imported - start, first - imported, (time.perf_counter() - begin) / 1000)
"""


def square(x):
    i = grid(1)
    if i < x.shape[0]:
        x[i] = x[i] * x[i]


def measure(cache: str) -> list[float]:
    """Seconds in one fresh process: import, first gradient, steady call."""
    environment = {**os.environ, "MLIRAD_CACHE_DIR": cache}
    run = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True, env=environment
    )
    return [float(word) for word in run.stdout.split()]


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    cold: list[list[float]] = []
    warm: list[list[float]] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(measure(cache))
            warm.append(measure(cache))
    print("process        import     first      call")
    for name, samples in (("cold", cold), ("cached", warm)):
        imported, first, call = (statistics.median(column) for column in zip(*samples, strict=True))
        print(f"{name:<10} {imported:8.3f} s {first:7.3f} s {call * 1e6:6.1f} us")


if __name__ == "__main__":
    main()
