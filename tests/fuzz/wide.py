"""
Random programs with more of the language, and host functions that launch several kernels.

On top of `Generator`: helpers with early returns and stores, returns from inside loops, swaps,
negative indices, neighbours, index arrays that are written, chained comparisons, float `%`.
"""

from __future__ import annotations

from tests.fuzz.generator import HEADER, KERNEL_HEADER, Generator

HELPER = """
def helper{number}(a, b, idx, x, n):
    s0 = x
    s1 = 0.25
    s2 = b[n % 5] * 0.4
    k = n
    if x > 0.9:
        return s2 - 0.1
"""

HOST = """
def program(a, b, idx, x, n):
    k = 0
"""


class WideGenerator(Generator):
    """Writes one module: helpers, kernels `step0`…, and a `program`."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.helpers = 0
        self.returns = False
        self.threads = False

    def function(self) -> str:
        self.lines = []
        self.write_helpers()
        self.returns = True
        self.add(0, HEADER)
        self.block(1, 4 + self.choice.randrange(4))
        self.add(1, "return s0 * s1 + s2")
        return "\n".join(self.lines) + "\n"

    def kernel(self) -> str:
        self.lines = []
        self.write_helpers()
        self.write_kernel("program", 4)
        return "\n".join(self.lines) + "\n"

    def host(self) -> str:
        """Kernels and a function that launches them, and does nothing else to the arrays."""
        self.lines = []
        self.write_helpers()
        kernels = 1 + self.choice.randrange(3)
        for number in range(kernels):
            self.write_kernel(f"step{number}", 2)
        self.add(0, HOST)
        for _ in range(2):
            self.launches(1, kernels)
        return "\n".join(self.lines) + "\n"

    def write_helpers(self) -> None:
        for number in range(self.choice.randrange(3)):
            self.returns = True
            self.add(0, HELPER.format(number=number))
            self.block(2 if number else 1, 2)
            self.add(1, "return s0 * 0.5 + s1 * s2")
            self.helpers = number + 1
        self.returns = False

    def write_kernel(self, name: str, length: int) -> None:
        self.returns, self.threads = False, True
        self.add(0, KERNEL_HEADER.replace("program", name))
        self.block(1, 1 + self.choice.randrange(length))
        self.add(1, f"a[{self.index()}] = s0 * s1 + s2 * 0.5")
        self.threads = False

    def launches(self, depth: int, kernels: int) -> None:
        name = f"step{self.choice.randrange(kernels)}"
        arrays = self.pick("a, b", "b, a", "a, a", "b, b", "a, b")
        number = self.pick("x", "0.3", "x * 0.5 + k", "math.sin(x)")
        launch = f"{name}[2, 2]({arrays}, idx, {number}, {self.pick('n', 'k % 4', '2')})"
        kind = self.choice.random()
        if kind < 0.45 or depth > 2:
            self.add(depth, launch)
        elif kind < 0.7:
            counter = f"i{self.names}"
            self.names += 1
            self.add(depth, f"for {counter} in range({self.pick('n', '2', 'k % 3', '3, 0, -2')}):")
            self.launches(depth + 1, kernels)
            self.add(depth + 1, f"k = k + {counter}")
        elif kind < 0.85:
            self.add(depth, f"if {self.pick('x > 0.1', 'k % 2 == 0', 'idx[k % 5] < 3')}:")
            self.launches(depth + 1, kernels)
            self.add(depth, "else:")
            self.launches(depth + 1, kernels)
        else:
            self.add(depth, launch)
            self.launches(depth, kernels)

    def statement(self, depth: int) -> None:
        if self.choice.random() > 0.3:
            super().statement(depth)
            return
        kind = self.choice.randrange(8)
        if kind == 0:
            p, q = f"a[{self.index()}]", f"{self.pick('a', 'b')}[{self.index()}]"
            self.add(depth, f"{p}, {q} = {q}, {p}")
        elif kind == 1:
            self.add(depth, "s0, s1 = s1, s0 * 0.5")
        elif kind == 2:
            self.add(depth, f"idx[{self.integer()} % 5] = ({self.integer()} + 1) % 5")
        elif kind == 3 and self.helpers:
            name = f"helper{self.choice.randrange(self.helpers)}"
            arrays = self.pick("a, b", "b, a", "a, a")
            call = f"{name}({arrays}, idx, {self.bounded(1)}, {self.integer()} % 4)"
            self.add(depth, f"{self.pick('s0', 's1', 's2')} = {call}")
        elif kind == 4 and (self.returns or self.threads) and depth > 1:
            self.add(depth, f"if {self.condition()}:")
            self.add(depth + 1, f"return {self.bounded(1)}" if self.returns else "return")
        elif kind == 5:
            counter = f"i{self.names}"
            self.names += 1
            array = self.pick("a", "b")
            bounds = self.pick(f"len({array})", f"1, {array}.shape[0]", "n - 2, len(a) - 1")
            self.add(depth, f"for {counter} in range({bounds}):")
            factor = self.pick("0.5", "s1", "x")
            self.add(
                depth + 1,
                f"{array}[{counter}] = math.sin({array}[{counter} - 1] * {factor}"
                f" + {array}[-{counter} % 5])",
            )
        elif kind == 6:
            self.add(depth, f"if -0.337 < {self.leaf()} < 0.419 <= {self.leaf()} + 1.0:")
            self.block(depth + 1, 1)
            self.add(depth, f"elif {self.condition()}:")
            self.block(depth + 1, 1)
        else:
            self.add(depth, f"s2 = math.cos(s0 + {self.integer()}) * float({self.integer()} % 3)")

    def index(self) -> str:
        if self.choice.random() > 0.3:
            return super().index()
        return self.pick(
            f"-({self.integer()} % 5) - 1",
            f"{self.integer()} % 5 - 1",
            f"idx[{self.integer()} % 5] - 2",
        )

    def bounded(self, level: int = 0) -> str:
        if level > 1 or self.choice.random() > 0.25:
            return super().bounded(level)
        p, q = self.bounded(level + 1), self.bounded(level + 1)
        return self.pick(
            f"math.log(1.7 + math.sin({p}))",
            f"math.atan2({p}, 1.3 + math.cos({q}))",
            f"math.hypot({p}, 0.7) * 0.5",
            f"math.pow(1.5 + math.sin({p}), {q} * 0.2)",
            f"math.atan({p} - {q})",
            f"({p} * 1.7) % 0.73",
            f"math.tanh({p}) ** 3",
        )
