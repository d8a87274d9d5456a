// RUN: mlirad-opt %s -p autodiff-reverse --split-input-file --verify-diagnostics | filecheck %s

// A loop runs down, and carries the cotangents of its iteration argument and of %x, which its
// body takes from outside.
func.func @power(%x : f64, %n : index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %one) -> (f64) {
    %b = arith.mulf %a, %x : f64
    scf.yield %b : f64
  }
  func.return %r : f64
}
func.func @dpower(%x : f64, %n : index, %s : f64) -> (f64, f64) {
  %y, %ct = autodiff.revdiff @power(%x, %n, %s) [#autodiff<activity active>, #autodiff<activity const>] -> [#autodiff<activity active>] : (f64, index, f64) -> (f64, f64)
  func.return %y, %ct : f64, f64
}

// CHECK-LABEL: func.func private @reverse_power_ac
// CHECK:       scf.for %{{.*}} iter_args(%[[A:.*]] = %dr, %[[X:.*]] = %{{.*}}) -> (f64, f64)
// CHECK:         %[[LAST:.*]] = arith.subi
// CHECK-NEXT:    %[[K:.*]] = arith.subi %[[LAST]]
// CHECK:         %[[KEPT:.*]] = autodiff.pop %{{.*}}[%[[K]]]
// CHECK:         arith.mulf %x, %[[A]]
// CHECK:         arith.mulf %[[KEPT]], %[[A]]
// CHECK:         scf.yield

// -----

// The condition of a branch was decided by floats: it is kept, not decided anew.
func.func @relu(%x : f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %p = arith.cmpf ogt, %x, %zero : f64
  %r = scf.if %p -> (f64) {
    %b = math.sqrt %x : f64
    scf.yield %b : f64
  } else {
    scf.yield %zero : f64
  }
  func.return %r : f64
}
func.func @drelu(%x : f64, %s : f64) -> (f64, f64) {
  %y, %ct = autodiff.revdiff @relu(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %y, %ct : f64, f64
}

// CHECK-LABEL: func.func private @reverse_relu_a
// CHECK:       %[[P:.*]] = autodiff.pop %{{.*}} : !autodiff.cache<i1, "growable">
// CHECK-NOT:   arith.cmpf
// CHECK:       scf.if %[[P]] -> (f64)

// -----

// A while loop counts its iterations; in reverse it is a counted loop.
func.func @until(%x : f64) -> f64 {
  %limit = arith.constant 5.0 : f64
  %r = scf.while (%a = %x) : (f64) -> f64 {
    %p = arith.cmpf olt, %a, %limit : f64
    scf.condition(%p) %a : f64
  } do {
  ^bb0(%b : f64):
    %c = arith.mulf %b, %b : f64
    scf.yield %c : f64
  }
  func.return %r : f64
}
func.func @duntil(%x : f64, %s : f64) -> (f64, f64) {
  %y, %ct = autodiff.revdiff @until(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %y, %ct : f64, f64
}

// CHECK-LABEL: func.func private @augmented_until_a
// CHECK:       %{{.*}}, %[[N:.*]] = scf.while (%{{.*}} = %x, %{{.*}}) : (f64, index) -> (f64, index)
// CHECK:       autodiff.push %[[N]], %{{.*}} : !autodiff.cache<index, "growable">
// CHECK-LABEL: func.func private @reverse_until_a
// CHECK:       %[[N:.*]] = autodiff.pop %{{.*}} : !autodiff.cache<index, "growable">
// CHECK-NOT:   scf.while
// CHECK:       scf.for %{{.*}} = %{{.*}} to %[[N]]

// -----

// The bits of an active number have no derivative.
func.func @bits(%x : f64) -> f64 {
  %b = arith.bitcast %x : f64 to i64
  %y = arith.bitcast %b : i64 to f64
  func.return %y : f64
}
func.func @dbits(%x : f64, %s : f64) -> (f64, f64) {
  %y, %ct = autodiff.revdiff @bits(%x, %s) [#autodiff<activity active>] -> [#autodiff<activity active>] : (f64, f64) -> (f64, f64)
  func.return %y, %ct : f64, f64
}

// CHECK: the bits of an active number have no derivative
