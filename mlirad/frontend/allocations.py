"""Arrays made inside functions (`np.zeros`…) and private to a thread (`local.array`)."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Sequence
from typing import Any, TypeGuard, cast

import numpy as np
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, i64
from xdsl.ir import SSAValue

from mlirad.dialects.autodiff import ConstantArrayOp
from mlirad.frontend.builder import Value
from mlirad.frontend.ir_types import memref_type
from mlirad.frontend.iterables import Iterables
from mlirad.frontend.operands import ArrayRef, Operand, Origin, Static, TupleValue, spell
from mlirad.frontend.types import (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Array,
    Scalar,
)

AnyArray = np.ndarray[Any, np.dtype[Any]]
SPACES = {"local.array": 5, "shared.array": 3}
"""The memory spaces of arrays that belong to a thread, and to a block."""

LARGEST_CONSTANT = 64 * 1024
"""Bytes of an array that is part of the code; as much constant memory has a GPU."""

SIGNED, UNSIGNED = (INT8, INT16, INT32, INT64), (UINT8, UINT16, UINT32, UINT64)
SCALARS = {
    **{str(scalar): scalar for scalar in (*SIGNED, *UNSIGNED, FLOAT32, FLOAT64)},
    "bool": BOOL,
}

MAKERS: dict[Any, tuple[str, bool]] = {
    np.zeros: ("zeros", False),
    np.empty: ("empty", False),
    np.ones: ("ones", False),
    np.full: ("full", False),
    np.zeros_like: ("zeros", True),
    np.empty_like: ("empty", True),
    np.ones_like: ("ones", True),
    np.full_like: ("full", True),
}
"""Functions of numpy that make an array: what is in it, and whether it is like another."""


def maker(found: object) -> Any:
    """`found`, if it is a function of numpy that makes an array."""
    return found if isinstance(found, Hashable) and found in MAKERS else None


def scalar_of(found: object) -> Scalar | None:
    """The element type that a dtype means: of numpy, numba, or Python."""
    if type(found).__module__.partition(".")[0] == "numba":
        return SCALARS.get(str(found).replace("boolean", "bool"))
    try:
        dtype = np.dtype(cast("Any", found))
    except TypeError:
        return None
    return SCALARS.get(dtype.name) if dtype.isnative else None


def is_array(found: object) -> TypeGuard[AnyArray]:
    return isinstance(found, np.ndarray)


class Allocations(Iterables):
    """Evaluates calls that make an array."""

    def named(self, node: ast.Call, names: Sequence[str]) -> dict[str, ast.expr]:
        """The arguments of a call by name; more or other ones are refused."""
        function = ast.unparse(node.func)
        if len(node.args) > len(names):
            what = f"'{function}' takes {', '.join(names)} here, but got {len(node.args)} arguments"
            raise self.unsupported(node, what, "leave the others out")
        found = dict(zip(names, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in names or keyword.arg in found:
                what = f"'{function}' has no argument '{keyword.arg}' here"
                raise self.unsupported(node, what, f"it takes {', '.join(names)}")
            found[keyword.arg] = keyword.value
        return found

    def element(self, node: ast.expr | None, call: ast.Call, default: Scalar) -> Scalar:
        """The element type that a `dtype` argument names."""
        if node is None:
            return default
        operand = self.expression(node)
        found = scalar_of(operand.object) if isinstance(operand, Static) else None
        if found is None:
            what = f"'{ast.unparse(node)}' is no element type that is compiled"
            way_out = (
                "give one of numpy's ints, bool_, float32 or float64; for complex numbers make two "
                "arrays"
            )
            raise self.typing_error(call, what, way_out)
        return found

    def fixed_array(self, path: str, node: ast.Call) -> ArrayRef:
        """
        `local.array(shape, dtype)`: memory of the thread; `shared.array`: of its block.

        Any contents at first. One piece of memory for each place in the source, as on a GPU.
        """
        given = self.named(node, ("shape", "dtype"))
        if "shape" not in given or "dtype" not in given:
            raise self.typing_error(node, f"'{path}' takes a shape and a dtype")
        sizes = self.literal_shape(given["shape"], node)
        if path == "shared.array" and sizes == [0]:
            what = "shared memory whose size the launch decides is not compiled"
            raise self.unsupported(node, what, "give shared.array a literal shape")
        element = self.element(given["dtype"], node, FLOAT64)
        self.locate(node)
        origin = Origin(False, id(node))
        if (known := self.origins.get(origin)) is None:
            with self.at_entry():
                known = self.placed(sizes, element, SPACES[path], origin)
            self.origins[origin] = known
        return known

    def literal_shape(self, shape: ast.expr, node: ast.Call) -> list[int]:
        operand = self.expression(shape)
        elements = operand.elements if isinstance(operand, TupleValue) else (operand,)
        sizes: list[int] = []
        for element in elements:
            size = element.constant if isinstance(element, Value) else None
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                what = f"the shape '{ast.unparse(shape)}' is not known while compiling"
                way_out = "use literals, or globals that are ints or tuples of ints"
                raise self.typing_error(node, what, way_out)
            sizes.append(size)
        return sizes

    def placed(self, sizes: Sequence[int], element: Scalar, space: int, origin: Origin) -> ArrayRef:
        """Memory in its own space, from then on used like any other."""
        type_ = Array(element, len(sizes))
        general = memref_type(type_)
        fixed = MemRefType(general.element_type, sizes)
        own = MemRefType(general.element_type, sizes, memory_space=IntegerAttr(space, i64))
        ssa = self.op(memref.AllocaOp.build(operands=[[], []], result_types=[own]))
        ssa = self.op(memref.MemorySpaceCastOp(ssa, fixed))
        ssa = self.op(memref.CastOp.get(ssa, general))
        for axis, size in enumerate(sizes):
            self.sizes[ssa, axis] = self.index_constant(size)
        return ArrayRef(ssa, type_, None, origin)

    def constant_array(self, node: ast.Call) -> ArrayRef:
        """`const.array_like(array)`: a global array as it is now, read only."""
        given = self.named(node, ("ary",))
        operand = self.expression(given["ary"]) if "ary" in given else None
        found = operand.object if isinstance(operand, Static) else None
        if not is_array(found):
            what = "'const.array_like' takes an array that is known while compiling"
            raise self.typing_error(node, what, "give it a global numpy array")
        element = scalar_of(found.dtype)
        if element is None or found.ndim == 0:
            what = f"a constant array cannot be of dtype {found.dtype} and {found.ndim} dimensions"
            raise self.typing_error(node, what, "use an array of ints, float32 or float64")
        if found.nbytes > LARGEST_CONSTANT:
            what = f"a constant array of {found.nbytes} bytes is larger than {LARGEST_CONSTANT}"
            raise self.unsupported(node, what, "pass it as an argument")
        self.locate(node)
        with self.at_entry():
            return self.known_array(found, element, Origin(False, id(node)))

    def known_array(self, array: AnyArray, element: Scalar, origin: Origin) -> ArrayRef:
        type_ = Array(element, array.ndim, writable=False)
        general = memref_type(type_)
        fixed = MemRefType(general.element_type, array.shape)
        flat = array.ravel()
        if element.kind != "f":  # as IR without signs holds them
            flat = flat.view(f"i{flat.itemsize}")
        ssa = self.op(ConstantArrayOp(flat.tolist(), fixed))
        ssa = self.op(memref.CastOp.get(ssa, general))
        for axis, size in enumerate(array.shape):
            self.sizes[ssa, axis] = self.index_constant(size)
        self.origins[origin] = ArrayRef(ssa, type_, None, origin)
        return self.origins[origin]

    # Arrays of a function

    def made_array(self, function: Any, node: ast.Call) -> ArrayRef:
        """`np.zeros(shape, dtype)` and its like."""
        kind, like = MAKERS[function]
        if self.device:
            what = f"'{ast.unparse(node.func)}' is not compiled in kernels and what they call"
            way_out = "use local.array(shape, dtype), or pass a work array"
            raise self.unsupported(node, what, way_out)
        names = ["shape", "dtype"] if not like else ["a", "dtype"]
        if kind == "full":
            names.insert(1, "fill_value")
        given = self.named(node, names)
        missing = [name for name in names if name not in given and name != "dtype"]
        if missing:
            raise self.typing_error(node, f"'{ast.unparse(node.func)}' needs '{missing[0]}'")
        first = self.expression(given[names[0]])
        fill = self.value(given["fill_value"]) if kind == "full" else None
        default = FLOAT64 if fill is None else fill.type
        if like:
            if not isinstance(first, ArrayRef):
                raise self.typing_error(
                    node, f"an array is needed here, but this is {spell(first)}"
                )
            default = first.type.scalar
            sizes = [self.size(first, axis) for axis in range(first.type.ndim)]
        else:
            sizes = self.shape_sizes(first, node)
        element = self.element(given.get("dtype"), node, default)
        self.locate(node)
        array = self.allocate(sizes, element, Origin(False, id(node)))
        if kind in ("ones", "full"):
            self.update(array, fill or self.constant(1), node)
        return array

    def shape_sizes(self, shape: Operand, node: ast.AST) -> list[SSAValue]:
        elements = shape.elements if isinstance(shape, TupleValue) else (shape,)
        return [self.index(self.as_value(element, node), node) for element in elements]

    def allocate(self, sizes: Sequence[SSAValue], element: Scalar, origin: Origin) -> ArrayRef:
        """New memory, all zeros; it lives as long as the block it is made in."""
        type_ = Array(element, len(sizes))
        ssa = self.op(memref.AllocOp(list(sizes), [], memref_type(type_)))
        for axis, size in enumerate(sizes):
            self.sizes[ssa, axis] = size
        self.origins[origin] = ArrayRef(ssa, type_, None, origin)
        return self.origins[origin]

    def copied(self, source: ArrayRef, node: ast.AST) -> ArrayRef:
        if self.device:
            what = "an array is copied onto itself, or onto one that may overlap it"
            way_out = "copy element by element in a 'for' loop, in the order that you mean"
            raise self.unsupported(node, what, way_out)
        sizes = [self.size(source, axis) for axis in range(source.type.ndim)]
        copy = self.allocate(sizes, source.type.scalar, Origin(False, (id(node), "copy")))
        self.update(copy, source, node)
        return copy
