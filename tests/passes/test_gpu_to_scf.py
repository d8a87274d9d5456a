"""Kernels as loops do what the grid does, and what cannot run as loops is refused."""

from __future__ import annotations

import numpy as np
import pytest

from mlirad.errors import UnsupportedError
from mlirad.passes.check_stage import check
from mlirad.passes.gpu_to_scf import GpuToScfPass
from tests.passes.interpreter import parse, run

IDS = "\n".join(
    f'%{kind}{axis} = "gpu.{op}"() <{{dimension = #gpu<dim {axis}>}}> : () -> index'
    for kind, op in [("b", "block_id"), ("t", "thread_id"), ("d", "block_dim"), ("g", "grid_dim")]
    for axis in "xyz"
)
SIZES = "%gx, %gy, %gz, %bx, %by, %bz"
MODULE = """
builtin.module attributes {gpu.container_module} {
  "gpu.module"() <{sym_name = "kernels"}> ({
    func.func private @lgamma(f64) -> f64 attributes {mlirad.pure}
    "gpu.func"() <{function_type = (memref<?xindex>, memref<f64>) -> (), kernel}> ({
    ^bb0(%x : memref<?xindex>, %n : memref<f64>):
      BODY
      "gpu.return"() : () -> ()
    }) {sym_name = "k", FACTS} : () -> ()
  }) : () -> ()
  func.func private @lgamma(f64) -> f64 attributes {mlirad.pure}
  func.func @k(ARGS, %x : memref<?xindex>, %n : memref<f64>) attributes {mlirad.entry} {
    "gpu.launch_func"(SIZES, %x, %n) <{kernel = @kernels::@k,
      operandSegmentSizes = array<i32: 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 2, 0>}>
      : (index, index, index, index, index, index, memref<?xindex>, memref<f64>) -> ()
    func.return
  }
}
"""
FACTS = "mlirad.alias = array<i64: 0, 1>, mlirad.unaligned = array<i64: 1>"
# every thread appends a number made of all its ids: their order and values are both seen
APPEND = f"""
{IDS}
%seven = arith.constant 7 : index
%i0 = arith.constant 0 : index
%r0 = arith.constant 0 : index
FOLD
%count = memref.load %n[] : memref<f64>
%one = arith.constant 1.0 : f64
%slot64 = arith.fptosi %count : f64 to i64
%slot = arith.index_cast %slot64 : i64 to index
memref.store %r12, %x[%slot] : memref<?xindex>
%more = arith.addf %count, %one : f64
memref.store %more, %n[] : memref<f64>
"""


def module_with(body: str):
    names = [f"{kind}{axis}" for kind in "btdg" for axis in "xyz"]
    fold = "\n".join(
        f"%m{i} = arith.muli %r{i}, %seven : index\n%r{i + 1} = arith.addi %m{i}, %{n} : index"
        for i, n in enumerate(names)
    )
    arguments = ", ".join(f"{name} : index" for name in SIZES.split(", "))
    text = MODULE.replace("BODY", body.replace("FOLD", fold)).replace("FACTS", FACTS)
    return parse(text.replace("ARGS", arguments).replace("SIZES", SIZES))


def visited(module, sizes: tuple[int, ...]) -> list[int]:
    x, n = np.zeros(200, np.int64), np.zeros(())
    run(module, "k", *sizes, x, n)
    return sorted(x[: int(n)].tolist())


@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1, 1, 1), (3, 1, 1, 4, 1, 1), (2, 3, 2, 2, 2, 3), (0, 2, 1, 4, 1, 1)]
)
def test_every_thread_runs_once_with_its_ids(sizes):
    module = module_with(APPEND)
    expected = visited(module, sizes)
    GpuToScfPass().rewrite(module)
    module.verify()
    check(module, "cpu")
    assert visited(module, sizes) == expected
    assert len(expected) == np.prod(sizes)


def test_a_range_of_blocks_runs_those_blocks_only():
    module = module_with(APPEND)
    GpuToScfPass().rewrite(module)
    x, n = np.zeros(200, np.int64), np.zeros(())
    run(module, "k_blocks", 1, 4, 2, 3, 1, 5, 1, 1, x, n)
    assert n == 3 * 5


def test_facts_about_arguments_move_with_them():
    module = module_with("")
    GpuToScfPass().rewrite(module)
    kernel = next(op for op in module.ops if op.properties["sym_name"].data == "k_blocks")
    assert kernel.attributes["mlirad.alias"].get_values() == (*[-1] * 8, 0, 1)
    assert kernel.attributes["mlirad.unaligned"].get_values() == (9,)
    assert str(module).count("@lgamma") == 1


def test_lanes_are_refused():
    with pytest.raises(UnsupportedError, match=r"'gpu\.lane_id'"):
        GpuToScfPass().rewrite(module_with('%l = "gpu.lane_id"() : () -> index'))
