// RUN: mlirad-opt %s -p "check-stage{stage=lowered}" --split-input-file --verify-diagnostics | filecheck %s

func.func @fine(%x : f64) -> f64 {
  func.return %x : f64
}

// CHECK-LABEL: @fine

// -----

// The first op that is out of place is named.

func.func @f(%x : f64, %m : memref<f64>) {
  %c = autodiff.init [] : !autodiff.cache<f64, "growable">
  %t = autodiff.take %m[] : memref<f64>
  func.return
}

// CHECK: 'autodiff.init' may not be there after the stage 'lowered'
