// RUN: mlirad-opt %s -p autodiff-annotate-activity{arguments=0} --split-input-file | filecheck %s

// The loop carries %x into its result, so its body is active; %k only scales by a constant
// argument, and %unused reaches no result.
func.func @powers(%x : f64, %c : f64, %n : index) -> f64 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %init = arith.constant 1.0 : f64
  %k = arith.mulf %c, %c : f64
  %unused = arith.mulf %x, %x : f64
  %r = scf.for %i = %zero to %n step %one iter_args(%acc = %init) -> (f64) {
    %a = arith.mulf %acc, %x : f64
    %b = arith.mulf %a, %k : f64
    scf.yield %b : f64
  }
  func.return %r : f64
}

// CHECK:      %k = arith.mulf %c, %c : f64
// CHECK-NEXT: %unused = arith.mulf %x, %x : f64
// CHECK-NEXT: %r = scf.for
// CHECK-NEXT:   %a = arith.mulf %acc, %x {autodiff.active} : f64
// CHECK-NEXT:   %b = arith.mulf %a, %k {autodiff.active} : f64

// -----

// Through memory: what is stored into an array that is read for the result is active; an array
// that no result is read from is not.
func.func @memory(%x : f64, %work : memref<?xf64>, %log : memref<?xf64>, %i : index) -> f64 attributes {mlirad.alias = array<i64: -1, 0, 1, -1>} {
  memref.store %x, %work[%i] : memref<?xf64>
  memref.store %x, %log[%i] : memref<?xf64>
  %y = memref.load %work[%i] : memref<?xf64>
  func.return %y : f64
}

// CHECK-LABEL: @memory
// CHECK:      memref.store %x, %work[%i] {autodiff.active}
// CHECK-NEXT: memref.store %x, %log[%i] :
// CHECK-NEXT: memref.load %work[%i] {autodiff.active}

// -----

// Without alias classes the two arrays may be the same memory.
func.func @may_alias(%x : f64, %work : memref<?xf64>, %log : memref<?xf64>, %i : index) -> f64 {
  memref.store %x, %log[%i] : memref<?xf64>
  %y = memref.load %work[%i] : memref<?xf64>
  func.return %y : f64
}

// CHECK-LABEL: @may_alias
// CHECK:      memref.store %x, %log[%i] {autodiff.active}

// -----

// A number held fixed is not active.
func.func @stopped(%x : f64) -> f64 {
  %s = autodiff.stop_gradient %x : f64
  %y = arith.mulf %s, %s : f64
  func.return %y : f64
}

// CHECK-LABEL: @stopped
// CHECK-NOT:   autodiff.active
