"""`python -m tests.random.fuzz COUNT [FIRST]`: checks random programs, prints the failing seeds."""

import sys
import tempfile
import time
from pathlib import Path

from tests.random.check import check


def main() -> int:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    failed: list[int] = []
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            try:
                check(seed, Path(folder))
            except AssertionError as error:
                failed.append(seed)
                print(error, flush=True)
    print(f"{count - len(failed)} passed, {len(failed)} failed {failed}")
    print(f"{(time.perf_counter() - start) / count:.2f} s per program")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
