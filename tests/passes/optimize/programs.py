"""Random functions over two arrays and a local one: arithmetic, memory, loops, calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

SIZE = 5
HEADER = """
func.func private @helper(%a : f64, %b : f64, %m : memref<?xf64>, %i : index) -> f64 {
  %v = memref.load %m[%i] : memref<?xf64>
  %p = arith.mulf %a, %v : f64
  memref.store %b, %m[%i] : memref<?xf64>
  func.return %p : f64
}
"""
CONSTANTS = "".join(f"%c{k} = arith.constant {k} : index\n" for k in range(SIZE))


NESTED = ("if", "for", "while")
KINDS = ["float", "index", "compare", "call", "select", "dim", *NESTED]


@dataclass
class Writer:
    """Text of a function under construction, with the values in scope by type."""

    random: Random
    kinds: list[str]
    """Kinds of statements in this program besides loads and stores."""
    memories: list[str]
    lines: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=lambda: ["%s", "%t"])
    indices: list[str] = field(default_factory=lambda: [f"%c{k}" for k in range(SIZE)])
    bools: list[str] = field(default_factory=lambda: ["%flag"])
    count: int = 0

    def pick(self, values: list[str]) -> str:
        return self.random.choice(values[-8:])

    def new(self, text: str, values: list[str]) -> None:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"{name} = {text}")
        values.append(name)

    def cell(self) -> str:
        memory = self.random.choice(self.memories)
        size = SIZE if memory == "%z" else "?"
        index = self.random.choice(["%c0", "%c0", "%c1", *self.indices[-2:]])
        return f"{memory}[{index}] : memref<{size}xf64>"

    def statement(self, depth: int) -> None:
        kinds = [k for k in self.kinds if depth or k not in NESTED]
        kind = self.random.choice([*kinds, *["load", "store"] * 2])
        f, i = self.pick(self.floats), self.pick(self.indices)
        g, j = self.pick(self.floats), self.pick(self.indices)
        match kind:
            case "float":
                op = self.random.choice(["addf", "mulf", "subf"])
                self.new(f"arith.{op} {f}, {g} : f64", self.floats)
            case "index":
                op = self.random.choice(["addi", "muli", "subi", "andi", "maxsi"])
                self.new(f"arith.{op} {i}, {j} : index", self.indices)
                self.new(f"arith.remui {self.indices.pop()}, %size : index", self.indices)
            case "compare":
                op = self.random.choice(["slt", "eq", "ne", "uge"])
                self.new(f"arith.cmpi {op}, {i}, {j} : index", self.bools)
            case "load":
                self.new(f"memref.load {self.cell()}", self.floats)
            case "store":
                self.lines.append(f"memref.store {f}, {self.cell()}")
            case "call":
                self.new(
                    f"func.call @helper({f}, {g}, %y, {i}) : "
                    "(f64, f64, memref<?xf64>, index) -> f64",
                    self.floats,
                )
            case "select":
                self.new(f"arith.select {self.pick(self.bools)}, {f}, {g} : f64", self.floats)
            case "dim":
                self.new("memref.dim %x, %c0 : memref<?xf64>", self.indices)
                self.new(f"arith.subi {self.indices.pop()}, %c1 : index", self.indices)
            case "if":
                self.branch(depth)
            case "while":
                self.while_loop(depth)
            case _:
                self.loop(depth)

    def body(self, depth: int, *arguments: str) -> tuple[str, str]:
        """A nested block; returns two float values at its end."""
        saved = (len(self.floats), len(self.indices), len(self.bools))
        self.floats += arguments
        for _ in range(self.random.randint(1, 5)):
            self.statement(depth - 1)
        values = (self.pick(self.floats), self.pick(self.floats))
        for scope, length in zip((self.floats, self.indices, self.bools), saved, strict=True):
            del scope[length:]
        return values

    def branch(self, depth: int) -> None:
        self.count += 1
        name = f"%r{self.count}"
        self.lines.append(f"{name}:2 = scf.if {self.pick(self.bools)} -> (f64, f64) {{")
        a, b = self.body(depth)
        self.lines += [f"scf.yield {a}, {b} : f64, f64", "} else {"]
        a, b = self.body(depth)
        self.lines += [f"scf.yield {a}, {b} : f64, f64", "}"]
        self.floats += [f"{name}#0", f"{name}#1"]

    def while_loop(self, depth: int) -> None:
        """Counts up to an index; carries one float."""
        self.count += 1
        k = self.count
        start, stop = self.pick(self.floats), self.pick(self.indices)
        self.lines += [
            f"%r{k}:2 = scf.while (%n{k} = %c0, %a{k} = {start}) : (index, f64) -> (index, f64) {{",
            f"%go{k} = arith.cmpi slt, %n{k}, {stop} : index",
            f"scf.condition(%go{k}) %n{k}, %a{k} : index, f64",
            f"}} do {{ ^bb0(%i{k} : index, %b{k} : f64):",
        ]
        self.indices.append(f"%i{k}")
        a, _ = self.body(depth, f"%b{k}")
        self.indices.remove(f"%i{k}")
        self.lines += [f"%next{k} = arith.addi %i{k}, %c1 : index"]
        self.lines += [f"scf.yield %next{k}, {a} : index, f64", "}"]
        self.floats.append(f"%r{k}#1")

    def loop(self, depth: int) -> None:
        self.count += 1
        k = self.count
        first, second = self.pick(self.floats), self.pick(self.floats)
        bounds = f"{self.pick(self.indices)} to {self.pick(self.indices)} step %c1"
        self.lines.append(
            f"%r{k}:2 = scf.for %i{k} = {bounds} "
            f"iter_args(%a{k} = {first}, %b{k} = {second}) -> (f64, f64) {{"
        )
        self.indices.append(f"%i{k}")
        a, b = self.body(depth, f"%a{k}", f"%b{k}")
        self.indices.remove(f"%i{k}")
        self.lines += [f"scf.yield {a}, {b} : f64, f64", "}"]
        self.floats += [f"%r{k}#0", f"%r{k}#1"]


def program(seed: int, overlap: bool) -> str:
    """Text of a module with a function `@f(x, y, s, t, flag)`; `overlap`: x may be y."""
    random = Random(seed)
    # few kinds at a time: programs that do little but that often find more
    kinds = random.sample(KINDS, random.randint(0, 4))
    memories = random.sample(["%x", "%y", "%z"], random.randint(2, 3))
    writer = Writer(random, kinds, memories)
    for _ in range(random.randint(8, 20)):
        writer.statement(2)
    classes = "0, 0" if overlap else "0, 1"
    results = writer.floats[-8:]
    types = ", ".join(["f64"] * len(results))
    return (
        HEADER
        + "func.func @f(%x : memref<?xf64>, %y : memref<?xf64>, %s : f64, %t : f64, %flag : i1) "
        + f"-> ({types}) attributes {{mlirad.alias = array<i64: {classes}, -1, -1, -1>}} {{\n"
        + CONSTANTS
        + f"%size = arith.constant {SIZE} : index\n"
        + f"%z = memref.alloca() : memref<{SIZE}xf64>\n"
        + "\n".join(writer.lines)
        + f"\nfunc.return {', '.join(results)} : {types}\n}}"
    )
