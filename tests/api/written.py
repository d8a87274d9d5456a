"""Programs whose IR is written by hand, so that the frontend has no part in a test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, gpu, memref, scf
from xdsl.parser import Parser

from mlirad.frontend.types import Array, NoneType, Type
from mlirad.program import Lowered, Program


@dataclass(eq=False)
class WrittenProgram(Program):
    """A program over one-dimensional arrays of floats, all contiguous or all strided."""

    name: str
    parameters: tuple[str, ...]
    text: str
    result: Type = NoneType()  # noqa: RUF009
    is_kernel: bool = False

    def lower(self, types: Sequence[Type], alias: Sequence[int]) -> Lowered:
        text = self.text
        if not all(x.contiguous for x in types if isinstance(x, Array)):
            text = text.replace("memref<?xf64>", "memref<?xf64, strided<[?], offset: ?>>")
        context = Context()
        for dialect in (
            *(builtin.Builtin, func.Func, arith.Arith),
            *(memref.MemRef, scf.Scf, gpu.GPU),
        ):
            context.load_dialect(dialect)
        return Lowered(Parser(context, text).parse_module(), self.name, self.result, tuple(types))

    def fingerprint(self) -> bytes:
        return self.text.encode()

    def verify(self, args: Sequence[Any]) -> None:
        pass


SCALE = WrittenProgram(
    "scale",
    ("x", "a", "n"),
    """
func.func @scale(%x : memref<?xf64>, %a : f64, %n : i64) attributes {mlirad.entry} {
  %zero = arith.constant 0 : index
  %v = memref.load %x[%zero] : memref<?xf64>
  %w = arith.mulf %v, %a : f64
  memref.store %w, %x[%zero] : memref<?xf64>
  func.return
}
""",
)
"""`x[0] *= a`."""

PRODUCT = """
func.func @product(%x : f64, %y : f64) -> (f64, i64) attributes {mlirad.entry} {
  %z = arith.mulf %x, %y : f64
  %k = arith.constant 7 : i64
  func.return %z, %k : f64, i64
}
"""
"""`return x * y, 7`."""

FILL = WrittenProgram(
    "fill",
    ("x",),
    """
builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    "gpu.func"() <{function_type = (memref<?xf64>) -> (), kernel}> ({
    ^bb0(%x : memref<?xf64>):
      %i = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
      %one = arith.constant 1.0 : f64
      memref.store %one, %x[%i] : memref<?xf64>
      "gpu.return"() : () -> ()
    }) {sym_name = "fill"} : () -> ()
  }) : () -> ()
  func.func @fill(%gx : index, %gy : index, %gz : index, %bx : index, %by : index, %bz : index,
                  %x : memref<?xf64>) attributes {mlirad.entry} {
    "gpu.launch_func"(%gx, %gy, %gz, %bx, %by, %bz, %x) <{kernel = @kernels::@fill,
      operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0>}>
      : (index, index, index, index, index, index, memref<?xf64>) -> ()
    func.return
  }
}
""",
    is_kernel=True,
)
"""A kernel: `x[threadIdx.x] = 1.0`."""

GLOBAL = replace(
    FILL,
    text=FILL.text.replace(
        "memref.store %one, %x[%i]",
        """%b = "gpu.block_id"() <{dimension = #gpu<dim x>}> : () -> index
      %n = "gpu.block_dim"() <{dimension = #gpu<dim x>}> : () -> index
      %s = arith.muli %b, %n : index
      %p = arith.addi %s, %i : index
      memref.store %one, %x[%p]""",
    ),
)
"""A kernel without a guard: `x[grid(1)] = 1.0`."""

SQUARE = replace(
    FILL,
    name="square",
    text=FILL.text.replace("fill", "square").replace(
        "memref.store %one,",
        """%v = memref.load %x[%i] : memref<?xf64>
      %w = arith.mulf %v, %v : f64
      memref.store %w,""",
    ),
)
"""A kernel: `x[threadIdx.x] *= x[threadIdx.x]`."""
