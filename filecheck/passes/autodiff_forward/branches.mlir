// RUN: mlirad-opt %s -p autodiff-forward --split-input-file | filecheck %s

// Both branches yield value and tangent; a branch that yields a constant has tangent zero.
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
func.func @drelu(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @relu(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}

// CHECK-LABEL: func.func private @fwddiff_relu_d
// CHECK:       scf.if %p -> (f64, f64)
// CHECK:         %[[B:.*]] = math.sqrt %x
// CHECK:         %[[DB:.*]] = arith.mulf %{{.*}}, %dx
// CHECK-NEXT:    scf.yield %[[B]], %[[DB]]
// CHECK-NEXT:  } else {
// CHECK-NEXT:    %[[NONE:.*]] = arith.constant 0.0
// CHECK-NEXT:    scf.yield %zero, %[[NONE]]

// -----

// A while loop carries tangents through its condition.
func.func @until(%x : f64) -> f64 {
  %limit = arith.constant 5.0 : f64
  %r = scf.while (%a = %x) : (f64) -> f64 {
    %p = arith.cmpf olt, %a, %limit : f64
    scf.condition(%p) %a : f64
  } do {
  ^bb0(%b : f64):
    %c = math.exp %b : f64
    scf.yield %c : f64
  }
  func.return %r : f64
}
func.func @duntil(%x : f64, %dx : f64) -> (f64, f64) {
  %y, %dy = autodiff.fwddiff @until(%x, %dx) [#autodiff<activity dup>] -> [#autodiff<activity dup>] : (f64, f64) -> (f64, f64)
  func.return %y, %dy : f64, f64
}

// CHECK-LABEL: func.func private @fwddiff_until_d
// CHECK:       scf.while (%[[A:.*]] = %x, %[[DA:.*]] = %dx)
// CHECK:         scf.condition(%p) %[[A]], %[[DA]]
// CHECK:       ^bb0(%[[B:.*]]: f64, %[[DB:.*]]: f64):
// CHECK-NEXT:    %[[C:.*]] = math.exp %[[B]]
// CHECK-NEXT:    %[[DC:.*]] = arith.mulf %[[C]], %[[DB]]
// CHECK-NEXT:    scf.yield %[[C]], %[[DC]]
