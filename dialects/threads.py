"""
What threads of different blocks do to each other, part of the `autodiff` dialect: upstream's
`memref.generic_atomic_rmw` and `gpu` fences, which xDSL lacks. They stay until the back end.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect


@irdl_op_definition
class CompareExchangeOp(IRDLOperation):
    """
    If the element holds `expected`, it becomes `desired`, as one step. Gives the old element.

    Example:

    ```mlir
    %old = autodiff.compare_exchange %expected, %desired, %m[%i] : i64, memref<?xi64>
    ```
    """

    name = "autodiff.compare_exchange"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType))
    expected = operand_def(T)
    desired = operand_def(T)
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType())
    old = result_def(T)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$expected `,` $desired `,` $memref `[` $indices `]` attr-dict "
        "`:` type($old) `,` type($memref)"
    )

    def __init__(
        self, expected: SSAValue, desired: SSAValue, memory: SSAValue, indices: Sequence[SSAValue]
    ):
        super().__init__(
            operands=[expected, desired, memory, indices], result_types=[expected.type]
        )


@irdl_op_definition
class FenceOp(IRDLOperation):
    """
    What the thread wrote before is seen before what it writes after: by the threads of its
    block, of the device, or of the whole system.

    Example:

    ```mlir
    autodiff.fence "device"
    ```
    """

    name = "autodiff.fence"

    scope = prop_def(StringAttr)

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$scope attr-dict"

    def __init__(self, scope: str):
        super().__init__(properties={"scope": StringAttr(scope)})
