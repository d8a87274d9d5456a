"""
Random programs with more of the language, and host functions that launch several kernels.

On top of `Generator`: helpers with early returns and stores, returns from inside loops, swaps,
negative indices, neighbours, index arrays that are written, chained comparisons, float `%`, tuples,
loops that change their own bounds or never end by themselves, strides, atomic additions.
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

PAIRS = """
def pair(p, q, k):
    if k % 2 == 0:
        return math.sin(p + q), p * 0.5
    return q * 0.7, math.cos(p * q + k)

def sum2(both):
    p, q = both
    return p * 0.6 - q * 0.3
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
        self.device = False
        """Whether kernels call what is written."""
        self.arrays: list[str] = []
        """Names of windows and local arrays, of one dimension and at least one element."""

    def function(self) -> str:
        self.lines = []
        self.write_helpers()
        self.returns = True
        self.add(0, HEADER)
        self.block(1, 4 + self.choice.randrange(4))
        self.add(1, "return s0 * s1 + s2")
        return "\n".join(self.lines) + "\n"

    def kernel(self) -> str:
        self.lines, self.device = [], True
        self.write_helpers()
        self.write_kernel("program", 4)
        return "\n".join(self.lines) + "\n"

    def host(self) -> str:
        """Kernels and a function that launches them, and does nothing else to the arrays."""
        self.lines, self.device = [], True
        self.write_helpers()
        kernels = 1 + self.choice.randrange(3)
        for number in range(kernels):
            self.write_kernel(f"step{number}", 2)
        self.add(0, HOST)
        for _ in range(2):
            self.launches(1, kernels)
        return "\n".join(self.lines) + "\n"

    def write_helpers(self) -> None:
        self.add(0, PAIRS)
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
        sizes = self.pick("2, 2", "1, 3", "2, 3", "n, 2", "3, n % 2 + 1")
        launch = f"{name}[{sizes}]({arrays}, idx, {number}, {self.pick('n', 'k % 4', '2')})"
        kind = self.choice.random()
        if kind < 0.45 or depth > 2:
            self.add(depth, launch)
        elif kind < 0.7:
            counter = self.counter()
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
        if self.choice.random() > 0.4 or self.budget <= 0:
            super().statement(depth)
            return
        self.choice.choice(
            (
                *(self.swap, self.rotate, self.store_index, self.call_helper, self.leave),
                *(self.neighbours, self.chain, self.cast, self.call_pair, self.shrinking_loop),
                *(self.after_loop, self.endless, self.add_atomically, self.stride),
                *(self.window, self.window, self.local_array, self.whole_window, self.matrix),
                *(self.swapped_arrays, self.chosen_array, self.loop_over_elements),
            )
        )(depth)

    def swap(self, depth: int) -> None:
        p, q = f"a[{self.index()}]", f"{self.pick('a', 'b')}[{self.index()}]"
        self.add(depth, f"{p}, {q} = {q}, {p}")

    def rotate(self, depth: int) -> None:
        self.add(depth, self.pick("s0, s1 = s1, s0 * 0.5", "s0, (s1, s2) = s2, (s0, s1 * 0.7)"))

    def store_index(self, depth: int) -> None:
        self.add(depth, f"idx[{self.integer()} % 5] = ({self.integer()} + 1) % 5")

    def call_helper(self, depth: int) -> None:
        if not self.helpers:
            return self.cast(depth)
        name = f"helper{self.choice.randrange(self.helpers)}"
        arrays = self.pick("a, b", "b, a", "a, a")
        call = f"{name}({arrays}, idx, {self.bounded(1)}, {self.integer()} % 4)"
        target = self.pick("s0", "s1", "s2")
        self.add(depth, self.pick(f"{target} = {call}", f"{target} = {call} + {target} * {call}"))

    def leave(self, depth: int) -> None:
        if depth == 1 or not (self.returns or self.threads):
            return self.rotate(depth)
        self.add(depth, f"if {self.condition()}:")
        self.add(depth + 1, f"return {self.bounded(1)}" if self.returns else "return")

    def neighbours(self, depth: int) -> None:
        counter, array = self.counter(), self.pick("a", "b")
        bounds = self.pick(f"len({array})", f"1, {array}.shape[0]", "n - 2, len(a) - 1")
        self.add(depth, f"for {counter} in range({bounds}):")
        factor = self.pick("0.5", "s1", "x")
        self.add(
            depth + 1,
            f"{array}[{counter}] = math.sin({array}[{counter} - 1] * {factor}"
            f" + {array}[-{counter} % 5])",
        )

    def chain(self, depth: int) -> None:
        self.add(depth, f"if -0.337 < {self.leaf()} < 0.419 <= {self.leaf()} + 1.0:")
        self.block(depth + 1, 1)
        self.add(depth, f"elif {self.condition()}:")
        self.block(depth + 1, 1)

    def cast(self, depth: int) -> None:
        number = self.pick(f"float({self.integer()} % 3)", f"int({self.leaf()} * 2.3)")
        self.add(depth, f"s2 = math.cos(s0 + {self.integer()}) * {number}")

    def call_pair(self, depth: int) -> None:
        targets = self.pick("s0, s1", "s2, s0", f"a[{self.index()}], s1", "s1, b[k % 5]")
        call = f"pair({self.bounded(1)}, {self.leaf()}, {self.integer()})"
        self.add(depth, self.pick(f"{targets} = {call}", f"s1 = {call}[1]", f"s0 = sum2({call})"))

    def shrinking_loop(self, depth: int) -> None:
        """The bound changes inside, which Python does not look at."""
        counter, bound = self.counter(), self.named("t")
        self.add(depth, f"{bound} = {self.integer()} % 5")
        self.add(depth, f"for {counter} in range({self.pick('', '-1, ')}{bound}):")
        self.add(depth + 1, f"{bound} = {bound} * 2 - {counter}")
        self.body(depth, counter)
        self.add(depth, f"s1 = math.cos(s1 + {bound} % 4)")

    def after_loop(self, depth: int) -> None:
        counter = self.counter()
        self.add(depth, f"{counter} = n")
        self.loop_over(depth, counter)
        self.add(depth, f"k = ({counter} + {self.integer()}) % 6 - 2")

    def endless(self, depth: int) -> None:
        counter = self.counter()
        self.add(depth, f"{counter} = {self.pick('0', '-2', 'k % 3')}")
        self.add(depth, "while True:")
        self.add(depth + 1, f"{counter} += 1")
        self.add(depth + 1, f"if {counter} > {self.pick('3', 'n')} or {self.condition()}:")
        self.add(depth + 2, "break")
        self.body(depth, counter)

    def add_atomically(self, depth: int) -> None:
        if not self.threads:
            return self.swap(depth)
        place = f"{self.pick('a', 'b')}, {self.index()}"
        self.add(depth, f"gpu.atomic.add({place}, {self.bounded(1)} * 0.5)")

    def stride(self, depth: int) -> None:
        if not self.threads:
            return self.shrinking_loop(depth)
        counter = self.counter()
        self.add(depth, f"for {counter} in range(g, 5, gpu.gridsize(1)):")
        self.body(depth, counter)

    def whole_array(self) -> str:
        """An array of five elements."""
        return self.pick("a", "b", "a", "b", "a[::-1]", "b[::-1]")

    def named(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names - 1}"

    def window(self, depth: int) -> None:
        name, array = self.named("v"), self.choice.choice(["a", "b", *self.arrays])
        bounds = ["1:4", "::-1", "::2", "1::2", "-2:", f"{self.integer()} % 4:"]
        bounds += [f":{self.integer()} % 4 + 1", "4:0:-2", f"::{self.integer()} % 3 + 1"]
        if array not in ("a", "b"):
            bounds = ["::-1", "::2", ":1", "-2:"]  # not empty, however short it is
        self.add(depth, f"{name} = {array}[{self.choice.choice(bounds)}]")
        self.arrays.append(name)

    def local_array(self, depth: int) -> None:
        name = self.named("w")
        if self.device:
            self.add(depth, f"{name} = gpu.local.array({self.pick('1', '3', '5')}, np.float64)")
            self.add(depth, f"{name}[:] = {self.bounded(1)}")
        else:
            self.add(depth, f"{name} = np.zeros({self.pick('2', '5', 'n + 1', 'k % 3 + 1')})")
        self.arrays.append(name)

    def whole_window(self, depth: int) -> None:
        target, source = self.pick("a", "b"), self.pick("a", "b")
        copies = [f"{target}[1:4] = {source}[{self.pick('0:3', '2:5', '3:0:-1')}]"]
        copies.append(f"{target}[::2] = {source}[1:4]")
        if self.device:  # where copies between arrays that may overlap are refused
            copies = []
        change = self.pick(
            *copies,
            f"{target}[{self.integer()} % 5:] = {self.bounded(1)}",
            f"{target}[{self.integer()} % 3::2] *= {self.pick('0.7', '-0.6', 's1 * 0.3')}",
        )
        self.add(depth, change)
        if "s1" in change:
            self.add(depth, "s1 = math.sin(s1)")

    def matrix(self, depth: int) -> None:
        if self.device:
            return self.local_array(depth)
        name, row = self.named("m"), self.named("r")
        self.add(depth, f"{name} = np.zeros(({self.pick('2, 3', '3, 2', 'n + 1, 2')}))")
        self.add(depth, f"{name}[{self.integer()} % 2, 1] = {self.bounded(1)}")
        self.add(depth, f"{name}[{self.integer()} % 2] = {self.bounded(1)}")
        taken = self.pick(f"{name}[{self.integer()} % 2]", f"{name}[:, 1]", f"{name}.T[0]")
        self.add(depth, f"{row} = {taken}")
        self.arrays.append(row)

    def swapped_arrays(self, depth: int) -> None:
        p, q, counter = self.named("p"), self.named("q"), self.counter()
        self.add(depth, f"{p}, {q} = {self.whole_array()}, {self.whole_array()}")
        self.add(depth, f"for {counter} in range({self.pick('3', 'n', 'k % 4')}):")
        change = f"{p}[{counter} % 5] = math.sin({q}[{self.index()}] * {self.bounded(1)})"
        swap = f"{p}, {q} = {q}, {p}"
        lines = [change, swap] if self.choice.random() < 0.5 else [swap, change]
        if self.choice.random() < 0.4:
            lines[lines.index(swap)] = f"if {self.condition()}:\n{'    ' * (depth + 2)}{swap}"
        for line in lines:
            self.add(depth + 1, line)
        self.arrays += [p, q]

    def chosen_array(self, depth: int) -> None:
        name = self.named("c")
        choices = [self.whole_array(), self.pick("a[1:3]", "b[::2]", self.whole_array())]
        self.choice.shuffle(choices)
        if self.choice.random() < 0.5:
            self.add(depth, f"{name} = {choices[0]}")
            self.add(depth, f"if {self.condition()}:")
            self.add(depth + 1, f"{name} = {choices[1]}")
        else:
            self.add(depth, f"{name} = {choices[0]} if {self.condition()} else {choices[1]}")
        self.add(depth, f"{name}[{self.integer()} % len({name})] = {self.bounded(1)}")
        self.arrays.append(name)

    def loop_over_elements(self, depth: int) -> None:
        counter, value = self.counter(), self.named("e")
        array = self.choice.choice([self.whole_array(), *self.arrays])
        other = self.choice.choice([self.whole_array(), "b[1:4]", "a[::2]"])
        head = self.pick(
            f"for {value} in {array}:",
            f"for {value} in {array}:",
            f"for {counter}, {value} in enumerate({array}):",
            f"for {value}, s1 in zip({array}, {other}):",
            f"for {value} in reversed({array}):",
            f"for {value} in (s0, x, 0.5):",
        )
        self.add(depth, head)
        self.add(depth + 1, f"s0 = math.sin(s0 * {value} + {self.bounded(1)})")
        if "enumerate" in head:
            self.loops.append(counter)
        self.block(depth + 1, 1)
        if "enumerate" in head:
            self.loops.pop()

    def block(self, depth: int, length: int) -> None:
        known = list(self.arrays)
        super().block(depth, length)
        self.arrays = known

    def place(self) -> str:
        if not self.arrays or self.choice.random() > 0.5:
            return super().place()
        name = self.choice.choice(self.arrays)
        return f"{name}[{self.pick('0', '-1', f'{self.integer()} % len({name})')}]"

    def counter(self) -> str:
        self.names += 1
        return f"i{self.names - 1}"

    def loop_over(self, depth: int, counter: str) -> None:
        self.add(depth, f"for {counter} in range({self.choice.choice(self.ranges())}):")
        self.body(depth, counter)

    def body(self, depth: int, counter: str) -> None:
        self.loops.append(counter)
        self.block(depth + 1, 1 + self.choice.randrange(2))
        self.loops.pop()

    def ranges(self) -> list[str]:
        more = ["0, 5, k % 2 + 1", "3, -3, -(k % 3) - 1", "n, 0, -n - 1", "-3, 7, n + 1"]
        outer = [f"{i}, n" for i in self.loops] + [f"4, {i}, -1" for i in self.loops]
        return super().ranges() + more + outer + [f"{i} % 4 + 2, {i} % 3, -2" for i in self.loops]

    def whole(self) -> str:
        more = ("4 // (k % 3 + 1) - 3", "-k % 5", "k % -3", "(k - 7) // 2", "min(k, n) - 1")
        return self.pick(super().whole(), *more, "abs(k) % 4", "(k << 1) & 7", "k ^ n")

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
