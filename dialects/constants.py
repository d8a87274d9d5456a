"""Arrays whose contents are known while compiling, part of the `autodiff` dialect."""

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, TensorType
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class ConstantArrayOp(IRDLOperation):
    """
    An array with contents that nothing writes. Needs no symbol, unlike upstream's `memref.global`,
    so that kernels and functions can be copied, moved and inlined with it.

    Example:

    ```mlir
    %w = autodiff.constant_array dense<[0.25, 0.5, 0.25]> : tensor<3xf64> : memref<3xf64>
    ```
    """

    name = "autodiff.constant_array"

    contents = prop_def(DenseIntOrFPElementsAttr)
    array = result_def(MemRefType)

    traits = traits_def(Pure())
    assembly_format = "$contents attr-dict `:` type($array)"

    def __init__(self, contents: Sequence[int] | Sequence[float], type: MemRefType):
        shape = TensorType(type.element_type, type.get_shape())
        dense = DenseIntOrFPElementsAttr.from_list(shape, contents)
        super().__init__(properties={"contents": dense}, result_types=[type])

    def verify_(self) -> None:
        held, type = self.contents.type, self.array.type
        if held.get_shape() != type.get_shape() or held.element_type != type.element_type:
            raise VerifyException("contents and array differ in shape or element type")
