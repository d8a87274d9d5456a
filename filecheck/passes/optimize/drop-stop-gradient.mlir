// RUN: mlirad-opt %s -p drop-stop-gradient | filecheck %s

// After differentiation, holding a number fixed means nothing.
func.func @f(%x : f64) -> f64 {
  %s = autodiff.stop_gradient %x : f64
  %y = arith.mulf %s, %x : f64
  func.return %y : f64
}

// CHECK-LABEL: func.func @f
// CHECK-NEXT:  %y = arith.mulf %x, %x : f64
