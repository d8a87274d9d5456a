"""
Requests for derivatives, part of the `autodiff` dialect: which function, and how each argument and
result takes part. See `mlirad.dialects.autodiff`.
"""

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    FlatSymbolRefAttrConstr,
    SymbolRefAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Attribute,
    SpacedOpaqueSyntaxAttribute,
    SSAValue,
)
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from mlirad.dialects.counts import expect_count


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


def activities(kinds: Sequence[Activity]) -> ArrayAttr[ActivityAttr]:
    return ArrayAttr(ActivityAttr(a) for a in kinds)


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
