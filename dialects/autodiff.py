"""
The `autodiff` dialect: requests for derivatives, and the ops they leave behind.

* Requests (`fwddiff`, `revdiff`, `split`) name a function and say, argument by argument,
  how it takes part. `autodiff-forward` and `autodiff-reverse` replace them.
* Cache ops (`init`, `push`, `pop`, `free`) carry primal values from the augmented primal to
  the reverse sweep. `autodiff-lower-caches` gives them storage.
* Shadow ops (`accumulate`, `take`) are what loads and stores become in the reverse sweep.
  `autodiff-lower-shadows` turns them into loads, stores and atomics.

* Parts of the primal that upstream MLIR has no fitting op for (`compare_exchange`, `fence`,
  `constant_array`) stay until the back end.

No other survives the stage `lowered`.
"""

from xdsl.ir import Dialect

from mlirad.dialects.constants import ConstantArrayOp
from mlirad.dialects.requests import (
    Activity,
    ActivityAttr,
    FwdDiffOp,
    Request,
    RevDiffOp,
    SplitOp,
    StopGradientOp,
    activities,
)
from mlirad.dialects.storage import (
    GROWABLE,
    SIZED,
    AccumulateOp,
    CacheType,
    FreeOp,
    InitOp,
    PopOp,
    PushOp,
    TakeOp,
)
from mlirad.dialects.threads import CompareExchangeOp, FenceOp

__all__ = [
    "GROWABLE",
    "SIZED",
    "AccumulateOp",
    "Activity",
    "ActivityAttr",
    "Autodiff",
    "CacheType",
    "CompareExchangeOp",
    "ConstantArrayOp",
    "FenceOp",
    "FreeOp",
    "FwdDiffOp",
    "InitOp",
    "PopOp",
    "PushOp",
    "Request",
    "RevDiffOp",
    "SplitOp",
    "StopGradientOp",
    "TakeOp",
    "activities",
]

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
        CompareExchangeOp,
        FenceOp,
        ConstantArrayOp,
    ],
    [ActivityAttr, CacheType],
)
