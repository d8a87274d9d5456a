// RUN: mlirad-opt %s -p autodiff-forward --split-input-file --verify-diagnostics | filecheck %s

// Product rule: one tangent term per active operand.
func.func @square(%x : f64) -> f64 {
  %y = arith.mulf %x, %x : f64
  func.return %y : f64
}
func.func @dsquare(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @square(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}

// CHECK-LABEL: func.func private @fwddiff_square_d
// CHECK-SAME:    (%[[X:.*]]: f64, %[[DX:.*]]: f64)
// CHECK-NEXT:  %[[Y:.*]] = arith.mulf %[[X]], %[[X]]
// CHECK-NEXT:  %[[A:.*]] = arith.mulf %[[X]], %[[DX]]
// CHECK-NEXT:  %[[B:.*]] = arith.mulf %[[X]], %[[DX]]
// CHECK-NEXT:  %[[DY:.*]] = arith.addf %[[A]], %[[B]]
// CHECK-NEXT:  func.return %[[Y]], %[[DY]]
// CHECK-LABEL: func.func @dsquare
// CHECK:       func.call @fwddiff_square_d
// CHECK-NOT:   autodiff.

// -----

// A `const` argument has no shadow and multiplies nothing.
func.func @scale(%x : f64, %c : f64) -> f64 {
  %y = arith.mulf %x, %c : f64
  func.return %y : f64
}
func.func @dscale(%x : f64, %dx : f64, %c : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @scale(%x, %dx, %c) [#autodiff<activity dup>, #autodiff<activity const>] -> [#autodiff<activity dup>] : (f64, f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}

// CHECK-LABEL:   func.func private @fwddiff_scale_dc
// CHECK-COUNT-2: arith.mulf
// CHECK-NOT:     arith.mulf
// CHECK:         func.return

// -----

// An active op without a rule is an error that says what to do.
func.func private @mystery(f64) -> f64
func.func @f(%x : f64) -> f64 {
  %y = func.call @mystery(%x) : (f64) -> f64
  func.return %y : f64
}
func.func @df(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @f(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}

// CHECK: the call of @mystery is active but has no derivative rule
// CHECK: hold the arguments it depends on fixed (Const)
