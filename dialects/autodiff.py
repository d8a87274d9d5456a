"""
The `autodiff` dialect: requests for derivatives, and the ops they leave behind.

* Requests (`fwddiff`, `revdiff`, `split`) name a function and say, argument by argument,
  how it takes part. `autodiff-forward` and `autodiff-reverse` replace them.
* Cache ops (`init`, `push`, `pop`, `free`) carry primal values from the augmented primal to
  the reverse sweep. `autodiff-lower-caches` gives them storage.
* Shadow ops (`accumulate`, `take`) are what loads and stores become in the reverse sweep.
  `autodiff-lower-shadows` turns them into loads, stores and atomics.

None of them survives the stage `lowered`.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    IndexType,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    Dialect,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
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
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum


class Activity(StrEnum):
    """How one argument or result takes part in a derivative request."""

    CONST = "const"
    """Held fixed: carries no shadow."""
    DUP = "dup"
    """Carried as a (primal, shadow) pair."""
    ACTIVE = "active"
    """A scalar whose cotangent is returned (arguments) or passed in (results)."""


@irdl_attr_definition
class ActivityAttr(EnumAttribute[Activity], SpacedOpaqueSyntaxAttribute):
    name = "autodiff.activity"


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


def activities(kinds: Sequence[Activity]) -> ArrayAttr[ActivityAttr]:
    return ArrayAttr(ActivityAttr(a) for a in kinds)


def expect_count(what: str, expected: int, got: int) -> None:
    if got != expected:
        raise VerifyException(f"expected {expected} {what}, but got {got}")


class Request(IRDLOperation):
    """What `fwddiff` and `revdiff` have in common."""

    callee = prop_def(FlatSymbolRefAttrConstr)
    activity = prop_def(ArrayAttr[ActivityAttr])
    ret_activity = prop_def(ArrayAttr[ActivityAttr])
    inputs = var_operand_def()
    outputs = var_result_def()

    assembly_format = (
        "$callee `(` $inputs `)` $activity `->` $ret_activity attr-dict `:` "
        "functional-type($inputs, $outputs)"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        inputs: Sequence[SSAValue],
        activity: Sequence[Activity],
        ret_activity: Sequence[Activity],
        result_types: Sequence[Attribute],
    ):
        if isinstance(callee, str):
            callee = SymbolRefAttr(callee)
        super().__init__(
            operands=[inputs],
            result_types=[result_types],
            properties={
                "callee": callee,
                "activity": activities(activity),
                "ret_activity": activities(ret_activity),
            },
        )

    def count(self, kind: Activity) -> int:
        """How many arguments have this activity."""
        return sum(a.data is kind for a in self.activity)

    def count_results(self, kind: Activity) -> int:
        """How many results have this activity."""
        return sum(a.data is kind for a in self.ret_activity)


@irdl_op_definition
class FwdDiffOp(Request):
    """
    Forward-mode derivative of `callee` at `inputs`.

    `inputs` interleaves each `dup` argument with its tangent. The results are the primal
    results, each `dup` one followed by its tangent. Shadows of memrefs are overwritten
    wherever their primal is.

    Example:

    ```mlir
    %y, %dy = autodiff.fwddiff @f(%x, %dx) [#autodiff<activity dup>]
      -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
    ```
    """

    name = "autodiff.fwddiff"

    def verify_(self) -> None:
        if self.count(Activity.ACTIVE) or self.count_results(Activity.ACTIVE):
            raise VerifyException("'active' is for reverse mode; forward mode has 'dup'")
        primals, shadows = len(self.activity), self.count(Activity.DUP)
        expect_count(
            f"inputs ({primals} primals and {shadows} tangents)",
            primals + shadows,
            len(self.inputs),
        )
        results, tangents = len(self.ret_activity), self.count_results(Activity.DUP)
        expect_count(
            f"results ({results} primals and {tangents} tangents)",
            results + tangents,
            len(self.outputs),
        )


@irdl_op_definition
class RevDiffOp(Request):
    """
    Reverse-mode derivative of `callee` at `inputs`.

    `inputs` interleaves each `dup` argument (a memref) with its shadow, and ends with one
    seed per `active` result. The results are the primal results, then the cotangents of the
    `active` arguments. On entry a shadow holds the seed of the final contents, on exit the
    cotangent of the initial contents; primal memrefs end as the primal leaves them.

    Example:

    ```mlir
    %y, %x_ct = autodiff.revdiff @f(%x, %y_ct) [#autodiff<activity active>]
      -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
    ```
    """

    name = "autodiff.revdiff"

    def verify_(self) -> None:
        if self.count_results(Activity.DUP):
            raise VerifyException("a result is 'active' or 'const' in reverse mode")
        primals, shadows = len(self.activity), self.count(Activity.DUP)
        seeds = self.count_results(Activity.ACTIVE)
        expect_count(
            f"inputs ({primals} primals, {shadows} shadows and {seeds} seeds)",
            primals + shadows + seeds,
            len(self.inputs),
        )
        results, cotangents = len(self.ret_activity), self.count(Activity.ACTIVE)
        expect_count(
            f"results ({results} primals and {cotangents} cotangents)",
            results + cotangents,
            len(self.outputs),
        )


@irdl_op_definition
class SplitOp(IRDLOperation):
    """
    Asks for the two halves of reverse mode as functions, for a caller that keeps the caches.

    Afterwards `augmented` has the primal's arguments and returns its results followed by the
    caches; `reverse` takes the arguments interleaved with shadows, the seeds and the caches,
    and returns the cotangents of the `active` arguments. `reverse` reads no array but the
    caches and shadows, so the primal arrays may change in between; it frees the caches.

    Example:

    ```mlir
    autodiff.split @f into @f_augmented, @f_reverse [#autodiff<activity dup>] -> []
    ```
    """

    name = "autodiff.split"

    callee = prop_def(FlatSymbolRefAttrConstr)
    augmented = prop_def(FlatSymbolRefAttrConstr)
    reverse = prop_def(FlatSymbolRefAttrConstr)
    activity = prop_def(ArrayAttr[ActivityAttr])
    ret_activity = prop_def(ArrayAttr[ActivityAttr])

    assembly_format = (
        "$callee `into` $augmented `,` $reverse $activity `->` $ret_activity attr-dict"
    )

    def __init__(
        self,
        callee: str,
        augmented: str,
        reverse: str,
        activity: Sequence[Activity],
        ret_activity: Sequence[Activity],
    ):
        super().__init__(
            properties={
                "callee": SymbolRefAttr(callee),
                "augmented": SymbolRefAttr(augmented),
                "reverse": SymbolRefAttr(reverse),
                "activity": activities(activity),
                "ret_activity": activities(ret_activity),
            },
        )


@irdl_op_definition
class StopGradientOp(IRDLOperation):
    """The operand, held fixed: its derivative is zero in both modes."""

    name = "autodiff.stop_gradient"

    T: ClassVar = VarConstraint("T", AnyAttr())
    value = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value], result_types=[value.type])


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
    """`result = shadow[indices]; shadow[indices] = 0`: what a store becomes in reverse."""

    name = "autodiff.take"

    T: ClassVar = VarConstraint("T", AnyAttr())
    shadow = operand_def(MemRefType.constr(T))
    indices = var_operand_def(IndexType())
    value = result_def(T)

    assembly_format = "$shadow `[` $indices `]` attr-dict `:` type($shadow)"

    def __init__(self, shadow: SSAValue, indices: Sequence[SSAValue]):
        assert isinstance(shadow.type, MemRefType)
        super().__init__(operands=[shadow, indices], result_types=[shadow.type.element_type])


Autodiff = Dialect(
    "autodiff",
    [
        FwdDiffOp,
        RevDiffOp,
        SplitOp,
        StopGradientOp,
        InitOp,
        PushOp,
        PopOp,
        FreeOp,
        AccumulateOp,
        TakeOp,
    ],
    [ActivityAttr, CacheType],
)
