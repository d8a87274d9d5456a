"""
Random programs in Python source: loops, branches, in-place updates, index arithmetic.

All values stay bounded, divisions and roots away from zero. Programs take two arrays of length
`SIZE` that may overlap, an array of indices, a number and a count; they return a number.
"""

from __future__ import annotations

import random

SIZE = 5
DEPTH = 3

HEADER = """
def program(a, b, idx, x, n):
    s0 = x
    s1 = 0.5
    s2 = a[0] * 0.3
    k = 0
"""

KERNEL_HEADER = """
def program(a, b, idx, x, n):
    g = grid(1)
    if g >= n:
        return
    s0 = x
    s1 = 0.5 + g * 0.1
    s2 = a[g % 5] * 0.3
    k = g
"""


class Generator:
    """Writes one program; the same seed gives the same source."""

    def __init__(self, seed: int):
        self.choice = random.Random(seed)
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.names = 0
        self.budget = self.choice.choice((5, 10, 20))
        """Statements that may still be written, beyond what the syntax needs."""

    def function(self) -> str:
        self.lines = [HEADER]
        self.block(1, 4 + self.choice.randrange(4))
        self.add(1, "return s0 * s1 + s2")
        return "\n".join(self.lines) + "\n"

    def kernel(self) -> str:
        self.lines = [KERNEL_HEADER]
        self.block(1, 3 + self.choice.randrange(3))
        self.add(1, f"a[{self.index()}] = s0 * s1 + s2 * 0.5")
        return "\n".join(self.lines) + "\n"

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def pick(self, *options: str) -> str:
        return self.choice.choice(options)

    def block(self, depth: int, length: int) -> None:
        for number in range(length):
            if number and self.budget <= 0:
                return
            self.budget -= 1
            self.statement(depth)

    def statement(self, depth: int) -> None:
        kind = self.choice.random()
        if kind < 0.3 or depth > DEPTH or self.budget <= 0:
            self.assignment(depth)
        elif kind < 0.55:
            self.store(depth)
        elif kind < 0.7:
            self.branch(depth)
        elif kind < 0.88:
            self.loop(depth)
        else:
            self.while_loop(depth)

    def assignment(self, depth: int) -> None:
        target = self.pick("s0", "s1", "s2")
        if self.choice.random() < 0.25:
            self.add(depth, f"k = {self.whole()}")
        elif self.choice.random() < 0.3:
            self.add(depth, f"{target} {self.pick('+', '-', '*')}= {self.bounded()} * 0.5")
            self.add(depth, f"{target} = math.sin({target})")
        else:
            self.add(depth, f"{target} = {self.bounded()}")

    def whole(self) -> str:
        """An int of moderate size, of either sign."""
        return self.pick("(k + 1) % 9", "k * 2 % 7 - 3", "idx[k % 5]", "k // 2 - n")

    def store(self, depth: int) -> None:
        place = self.place()
        if self.choice.random() < 0.3:
            self.add(depth, f"{place} {self.pick('*=', '-=')} {self.bounded()} * 0.5")
            self.add(depth, f"{place} = math.tanh({place})")
        else:
            self.add(depth, f"{place} = {self.bounded()}")

    def branch(self, depth: int) -> None:
        self.add(depth, f"if {self.condition()}:")
        self.block(depth + 1, 1 + self.choice.randrange(2))
        self.jump(depth + 1)
        if self.choice.random() < 0.6:
            self.add(depth, "else:")
            self.block(depth + 1, 1 + self.choice.randrange(2))

    def jump(self, depth: int) -> None:
        if self.loops and self.choice.random() < 0.25:
            self.add(depth, self.pick("break", "continue"))

    def loop(self, depth: int) -> None:
        counter = f"i{self.names}"
        self.names += 1
        self.add(depth, f"for {counter} in range({self.choice.choice(self.ranges())}):")
        self.loops.append(counter)
        self.block(depth + 1, 1 + self.choice.randrange(3))
        self.loops.pop()
        if self.choice.random() < 0.15:
            self.add(depth, "else:")
            self.assignment(depth + 1)

    def ranges(self) -> list[str]:
        """Arguments of `range` that give a handful of iterations."""
        known = ["n", "0, n + 1", "n, -1, -2", "1, 6, 2", "k % 3", "4, 0, -1"]
        return known + [f"{outer} % 4" for outer in self.loops]

    def while_loop(self, depth: int) -> None:
        counter = f"w{self.names}"
        self.names += 1
        self.add(depth, f"{counter} = 0")
        self.add(depth, f"while {counter} < {self.pick('2', '3', 'n')} and ({self.condition()}):")
        self.add(depth + 1, f"{counter} += 1")
        self.loops.append(counter)
        self.block(depth + 1, 1 + self.choice.randrange(2))
        self.loops.pop()

    def condition(self) -> str:
        left = self.pick("s0", "s1", "s2", self.place(), self.place())
        simple = f"{left} {self.pick('<', '>')} {self.pick('0.137', '-0.211', '0.419', 's1 * 0.7')}"
        whole = f"{self.integer()} % 2 == {self.pick('0', '1')}"
        return self.pick(simple, simple, whole, f"{whole} or {simple}", f"not ({simple})")

    def integer(self) -> str:
        entry = f"idx[{self.pick('1', '3', 'k % 5')}]"
        return self.choice.choice(["k", "n", "2", entry, *self.loops])

    def index(self) -> str:
        plain = f"({self.integer()} {self.pick('+', '-', '*')} {self.integer()}) % 5"
        cast = "int(abs(s0) * 3.3) % 5"
        return self.pick(plain, plain, plain, self.pick("0", "-1", "3"), "idx[k % 5]", cast)

    def place(self) -> str:
        """An element of an array."""
        return f"{self.pick('a', 'b')}[{self.index()}]"

    def leaf(self) -> str:
        return self.pick("s0", "s1", "s2", "x", self.place(), self.place(), "0.7", "-1.3")

    def bounded(self, level: int = 0) -> str:
        """An expression with values of moderate size."""
        if level > 1:
            return self.leaf()
        p, q = self.bounded(level + 1), self.bounded(level + 1)
        return self.pick(
            f"math.sin({p} + {q})",
            f"math.cos({p} * {q})",
            f"math.tanh({p} - {q})",
            f"({p} * 0.6 - {q} * 0.5)",
            f"{p} / (2.5 + math.cos({q}))",
            f"math.sqrt(1.5 + math.sin({p}))",
            f"math.exp(-({p} * {p}))",
            f"max({p}, {q}) * 0.9",
            f"min({p}, {q}, 0.83)",
            f"math.sin({p}) ** 2",
            f"({p} if {self.pick('s0', 's2')} > 0.05 else {q}) * 0.8",
            f"abs({p}) * 0.7",
        )
