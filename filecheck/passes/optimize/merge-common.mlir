// RUN: mlirad-opt %s -p merge-common --split-input-file | filecheck %s

// Equal ops are merged, also into branches; commuted operands are equal.

func.func @merge(%x : f64, %y : f64, %c : i1) -> f64 {
  %a = arith.mulf %x, %y : f64
  %b = arith.mulf %y, %x : f64
  %r = scf.if %c -> (f64) {
    %d = arith.mulf %x, %y : f64
    scf.yield %d : f64
  } else {
    %e = arith.divf %x, %y : f64
    scf.yield %e : f64
  }
  %f = arith.divf %x, %y : f64
  %s = arith.addf %b, %f : f64
  %t = arith.addf %s, %r : f64
  func.return %t : f64
}

// CHECK-LABEL: @merge
// CHECK-NEXT:    %a = arith.mulf %x, %y : f64
// CHECK-NEXT:    %r = scf.if %c -> (f64) {
// CHECK-NEXT:      scf.yield %a : f64
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %e = arith.divf %x, %y : f64
// CHECK-NEXT:      scf.yield %e : f64
// CHECK-NEXT:    }
// CHECK-NEXT:    %f = arith.divf %x, %y : f64
// CHECK-NEXT:    %s = arith.addf %a, %f : f64

// -----

// Pure calls are merged; other calls and loads are not this pass's business.

func.func @calls(%x : f64, %m : memref<f64>) -> (f64, f64, f64, f64, f64, f64) {
  %a = func.call @lgamma(%x) : (f64) -> f64
  %b = func.call @lgamma(%x) : (f64) -> f64
  %c = func.call @random(%x) : (f64) -> f64
  %d = func.call @random(%x) : (f64) -> f64
  %e = memref.load %m[] : memref<f64>
  %f = memref.load %m[] : memref<f64>
  func.return %a, %b, %c, %d, %e, %f : f64, f64, f64, f64, f64, f64
}
func.func private @lgamma(f64) -> f64 attributes {mlirad.pure}
func.func private @random(f64) -> f64

// CHECK-LABEL:   @calls
// CHECK-COUNT-1:   call @lgamma
// CHECK-COUNT-2:   call @random
// CHECK:           func.return %a, %a, %c, %d, %e, %f
