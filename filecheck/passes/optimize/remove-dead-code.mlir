// RUN: mlirad-opt %s -p remove-dead-code --split-input-file | filecheck %s

// The loop carries %b only for itself; %r#0 is needed.

func.func @carried(%x : f64, %n : index) -> f64 {
  %zero = arith.constant 0 : index
  %r, %s = scf.for %i = %zero to %n step %n iter_args(%a = %x, %b = %x) -> (f64, f64) {
    %c = arith.addf %a, %x : f64
    %d = arith.mulf %b, %b : f64
    scf.yield %c, %d : f64, f64
  }
  func.return %r : f64
}

// CHECK-LABEL: @carried
// CHECK:         %r = scf.for %i = %zero to %n step %n iter_args(%a = %x) -> (f64) {
// CHECK-NEXT:      %c = arith.addf %a, %x : f64
// CHECK-NEXT:      scf.yield %c : f64

// -----

// Local memory that nothing reads goes with the stores to it; what is read stays.

func.func @memory(%x : f64) -> f64 {
  %a = memref.alloc() : memref<f64>
  %b = memref.alloc() : memref<f64>
  memref.store %x, %a[] : memref<f64>
  memref.store %x, %b[] : memref<f64>
  %r = memref.load %b[] : memref<f64>
  memref.dealloc %a : memref<f64>
  memref.dealloc %b : memref<f64>
  func.return %r : f64
}

// CHECK-LABEL: @memory
// CHECK-NOT:     %a
// CHECK:         memref.store %x, %b
// CHECK:         memref.dealloc %b

// -----

// Caches and shadows are effects.

func.func @effects(%x : f64, %s : memref<f64>) {
  %c = autodiff.init [] : !autodiff.cache<f64, "growable">
  autodiff.push %x, %c [] of [] : !autodiff.cache<f64, "growable">
  %p = autodiff.pop %c [] of [] : !autodiff.cache<f64, "growable">
  %t = autodiff.take %s[] : memref<f64>
  func.return
}

// CHECK-LABEL: @effects
// CHECK:         autodiff.push
// CHECK:         autodiff.pop
// CHECK:         autodiff.take
