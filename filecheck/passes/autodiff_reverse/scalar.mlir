// RUN: mlirad-opt %s -p autodiff-reverse --split-input-file --verify-diagnostics | filecheck %s

// Product rule: each operand gets the seed times the other one.
func.func @product(%x : f64, %y : f64) -> f64 {
  %z = arith.mulf %x, %y : f64
  func.return %z : f64
}
func.func @dproduct(%x : f64, %y : f64, %s : f64) -> (f64, f64, f64) {
  %z, %xs, %ys = autodiff.revdiff @product(%x, %y, %s) [#autodiff<activity active>, #autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64, f64) -> (f64, f64, f64)
  func.return %z, %xs, %ys : f64, f64, f64
}

// CHECK-LABEL: func.func private @reverse_product_aa
// CHECK-SAME:    (%x: f64, %y: f64, %[[S:.*]]: f64)
// CHECK-NEXT:  %[[XS:.*]] = arith.mulf %y, %[[S]]
// CHECK-NEXT:  %[[YS:.*]] = arith.mulf %x, %[[S]]
// CHECK-NEXT:  func.return %[[XS]], %[[YS]]

// -----

// A `const` argument multiplies, but is not differentiated.
func.func @scale(%x : f64, %c : f64) -> f64 {
  %y = arith.mulf %x, %c : f64
  func.return %y : f64
}
func.func @dscale(%x : f64, %c : f64, %s : f64) -> (f64, f64) {
  %y, %xs = autodiff.revdiff @scale(%x, %c, %s) [#autodiff<activity active>, #autodiff<activity const>] -> [#autodiff<activity active>] : (f64, f64, f64) -> (f64, f64)
  func.return %y, %xs : f64, f64
}

// CHECK-LABEL: func.func private @reverse_scale_ac
// CHECK:       arith.mulf %c,
// CHECK-NOT:   arith.mulf
// CHECK:       func.return

// -----

// A number used twice gets the sum of both cotangents; exp's own result is kept for its rule.
func.func @shared(%x : f64) -> f64 {
  %e = math.exp %x : f64
  %y = arith.addf %e, %x : f64
  func.return %y : f64
}
func.func @dshared(%x : f64, %s : f64) -> (f64, f64) {
  %y, %xs = autodiff.revdiff @shared(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %y, %xs : f64, f64
}

// CHECK-LABEL: func.func private @augmented_shared_a
// CHECK:       autodiff.push %e
// CHECK-LABEL: func.func private @reverse_shared_a
// CHECK-SAME:    (%x: f64, %[[S:.*]]: f64, %[[C:.*]]: !autodiff.cache
// CHECK-NOT:   math.exp
// CHECK:       %[[E:.*]] = autodiff.pop %[[C]]
// CHECK-NEXT:  %[[A:.*]] = arith.mulf %[[E]], %[[S]]
// CHECK-NEXT:  arith.addf %[[S]], %[[A]]

// -----

// An active op without a rule is an error that says what to do.
func.func private @mystery(f64) -> f64
func.func @f(%x : f64) -> f64 {
  %y = func.call @mystery(%x) : (f64) -> f64
  func.return %y : f64
}
func.func @df(%x : f64, %s : f64) -> (f64, f64) {
  %y, %xs = autodiff.revdiff @f(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %y, %xs : f64, f64
}

// CHECK: the call of @mystery is active but has no derivative rule
// CHECK: hold the arguments it depends on fixed (Const)

// -----

// So is an active value that is stored into an array given as `const`.
func.func @out(%x : f64, %work : memref<?xf64>, %i : index) -> f64 {
  memref.store %x, %work[%i] : memref<?xf64>
  %y = memref.load %work[%i] : memref<?xf64>
  func.return %y : f64
}
func.func @dout(%x : f64, %work : memref<?xf64>, %i : index, %s : f64) -> (f64, f64) {
  %y, %xs = autodiff.revdiff @out(%x, %work, %i, %s) [#autodiff<activity active>, #autodiff<activity const>, #autodiff<activity const>] -> [#autodiff<activity active>] : (f64, memref<?xf64>, index, f64) -> (f64, f64)
  func.return %y, %xs : f64, f64
}

// CHECK: active values are stored into 'work', which 'out' is given as Const
// CHECK: annotate 'work' Duplicated or Dual instead
