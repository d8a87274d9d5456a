"""
Caches and shadows, part of the `autodiff` dialect: what the reverse sweep keeps and where it adds.
See `mlirad.dialects.autodiff`.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    ParamAttrConstraint,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    result_def,
    var_operand_def,
)

from mlirad.dialects.counts import expect_count


@irdl_attr_definition
class CacheType(ParametrizedAttribute, TypeAttribute):
    """
    A store of primal values of one type, filled by the augmented primal.

    `storage` is `"growable"` (a stack: pops mirror pushes) or `"sized"` (an array indexed by
    iteration). A cache handed to a kernel holds one such store per thread.
    """

    name = "autodiff.cache"
    element_type: Attribute = param_def()
    storage: StringAttr = param_def()


GROWABLE, SIZED = StringAttr("growable"), StringAttr("sized")


@irdl_op_definition
class InitOp(IRDLOperation):
    """
    An empty cache.

    `threads` says for how many threads of a launch. A sized cache has room for the product
    of `counts` values per thread.

    Example:

    ```mlir
    %c = autodiff.init [%n] : !autodiff.cache<f64, "sized">
    ```
    """

    name = "autodiff.init"

    threads = opt_operand_def(IndexType())
    counts = var_operand_def(IndexType())
    cache = result_def(CacheType)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "(`threads` `(` $threads^ `)`)? `[` $counts `]` attr-dict `:` type($cache)"

    def __init__(
        self,
        cache: CacheType,
        threads: SSAValue | None = None,
        counts: Sequence[SSAValue] = (),
    ):
        super().__init__(operands=[threads, counts], result_types=[cache])


@irdl_op_definition
class PushOp(IRDLOperation):
    """
    Keeps `value` for the reverse sweep.

    `indices` are the iteration numbers of the loops around the push, outermost first, and
    `counts` how often each of them runs; `thread` is the linear number of the thread in a
    kernel. A sized cache is addressed by them, a growable one ignores indices and counts.
    """

    name = "autodiff.push"

    T: ClassVar = VarConstraint("T", AnyAttr())
    cache = operand_def(ParamAttrConstraint(CacheType, (T, AnyAttr())))
    value = operand_def(T)
    thread = opt_operand_def(IndexType())
    indices = var_operand_def(IndexType())
    counts = var_operand_def(IndexType())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$value `,` $cache (`thread` `(` $thread^ `)`)? `[` $indices `]` `of` `[` $counts `]` "
        "attr-dict `:` type($cache)"
    )

    def __init__(
        self,
        value: SSAValue,
        cache: SSAValue,
        thread: SSAValue | None = None,
        indices: Sequence[SSAValue] = (),
        counts: Sequence[SSAValue] = (),
    ):
        super().__init__(operands=[cache, value, thread, indices, counts])

    def verify_(self) -> None:
        expect_count("counts, one per index", len(self.indices), len(self.counts))


@irdl_op_definition
class PopOp(IRDLOperation):
    """Returns what the mirror-image `autodiff.push` kept; operands as there."""

    name = "autodiff.pop"

    T: ClassVar = VarConstraint("T", AnyAttr())
    cache = operand_def(ParamAttrConstraint(CacheType, (T, AnyAttr())))
    thread = opt_operand_def(IndexType())
    indices = var_operand_def(IndexType())
    counts = var_operand_def(IndexType())
    value = result_def(T)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$cache (`thread` `(` $thread^ `)`)? `[` $indices `]` `of` `[` $counts `]` attr-dict "
        "`:` type($cache)"
    )

    def __init__(
        self,
        cache: SSAValue,
        thread: SSAValue | None = None,
        indices: Sequence[SSAValue] = (),
        counts: Sequence[SSAValue] = (),
    ):
        assert isinstance(cache.type, CacheType)
        super().__init__(
            operands=[cache, thread, indices, counts],
            result_types=[cache.type.element_type],
        )


@irdl_op_definition
class FreeOp(IRDLOperation):
    """Ends the life of a cache. `threads` as for `autodiff.init`."""

    name = "autodiff.free"

    cache = operand_def(CacheType)
    threads = opt_operand_def(IndexType())

    assembly_format = "$cache (`threads` `(` $threads^ `)`)? attr-dict `:` type($cache)"

    def __init__(self, cache: SSAValue, threads: SSAValue | None = None):
        super().__init__(operands=[cache, threads])


@irdl_op_definition
class AccumulateOp(IRDLOperation):
    """
    `shadow[indices] += value`: what a load becomes in the reverse sweep.

    Inside a kernel the addition is atomic, unless `exclusive` says that no other thread adds
    to the same element.
    """

    name = "autodiff.accumulate"

    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    shadow = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    exclusive = opt_prop_def(UnitAttr)

    assembly_format = (
        "$value `,` $shadow `[` $indices `]` (`exclusive` $exclusive^)? attr-dict `:` type($shadow)"
    )

    def __init__(self, value: SSAValue, shadow: SSAValue, indices: Sequence[SSAValue]):
        super().__init__(operands=[value, shadow, indices])


@irdl_op_definition
class TakeOp(IRDLOperation):
    """
    `result = shadow[indices]; shadow[indices] = 0`: what a store becomes in reverse.

    Inside a kernel this is one exchange, so that of several threads that stored to the element a
    single one gets its cotangent, unless `exclusive` says that no other thread touches it.
    """

    name = "autodiff.take"

    T: ClassVar = VarConstraint("T", AnyAttr())
    shadow = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    exclusive = opt_prop_def(UnitAttr)
    value = result_def(T)

    assembly_format = (
        "$shadow `[` $indices `]` (`exclusive` $exclusive^)? attr-dict `:` type($shadow)"
    )

    def __init__(self, shadow: SSAValue, indices: Sequence[SSAValue]):
        assert isinstance(shadow.type, MemRefType)
        super().__init__(operands=[shadow, indices], result_types=[shadow.type.element_type])
