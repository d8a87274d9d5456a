// RUN: mlirad-opt %s -p forward-stores --split-input-file | filecheck %s

// Arrays of different classes do not overlap: the store to %y keeps what is known of %x.

func.func @apart(%x : memref<?xf64>, %y : memref<?xf64>, %i : index) -> f64 attributes {mlirad.alias = array<i64: 0, 1, -1>} {
  %a = memref.load %x[%i] : memref<?xf64>
  memref.store %a, %y[%i] : memref<?xf64>
  %b = memref.load %x[%i] : memref<?xf64>
  func.return %b : f64
}

// CHECK-LABEL: @apart
// CHECK:         func.return %a

// -----

// Without the attribute they may.

func.func @unknown(%x : memref<?xf64>, %y : memref<?xf64>, %i : index, %j : index) -> f64 {
  %a = memref.load %x[%i] : memref<?xf64>
  memref.store %a, %y[%j] : memref<?xf64>
  %b = memref.load %x[%i] : memref<?xf64>
  func.return %b : f64
}

// CHECK-LABEL: @unknown
// CHECK:         func.return %b

// -----

// x[i] and x[i + 1] are different cells, x[i] and x[j] may be the same.

func.func @cells(%x : memref<?xf64>, %i : index, %j : index, %v : f64) -> (f64, f64) {
  %one = arith.constant 1 : index
  %next = arith.addi %i, %one : index
  %a = memref.load %x[%i] : memref<?xf64>
  memref.store %v, %x[%next] : memref<?xf64>
  %b = memref.load %x[%i] : memref<?xf64>
  memref.store %b, %x[%j] : memref<?xf64>
  %c = memref.load %x[%i] : memref<?xf64>
  func.return %b, %c : f64, f64
}

// CHECK-LABEL: @cells
// CHECK:         func.return %a, %c

// -----

// A store that is overwritten before anything reads it is dead; one that is read is not.

func.func @dead(%x : memref<f64>, %v : f64, %w : f64) -> f64 {
  memref.store %v, %x[] : memref<f64>
  memref.store %w, %x[] : memref<f64>
  %cached = autodiff.init [] : !autodiff.cache<f64, "growable">
  %r = func.call @reads() : () -> f64
  memref.store %v, %x[] : memref<f64>
  func.return %r : f64
}
func.func private @reads() -> f64

// CHECK-LABEL: @dead
// CHECK-NEXT:    memref.store %w
// CHECK-NEXT:    autodiff.init
// CHECK-NEXT:    %r = func.call @reads
// CHECK-NEXT:    memref.store %v

// -----

// Into a loop goes what the loop does not write.

func.func @loop(%x : memref<?xf64>, %y : memref<?xf64>, %n : index) attributes {mlirad.alias = array<i64: 0, 1, -1>} {
  %zero = arith.constant 0 : index
  %a = memref.load %x[%zero] : memref<?xf64>
  %b = memref.load %y[%zero] : memref<?xf64>
  scf.for %i = %zero to %n step %n {
    %c = memref.load %x[%zero] : memref<?xf64>
    %d = memref.load %y[%zero] : memref<?xf64>
    %e = arith.addf %c, %d : f64
    memref.store %e, %y[%i] : memref<?xf64>
  }
  func.return
}

// CHECK-LABEL: @loop
// CHECK:         scf.for
// CHECK-NEXT:      %d = memref.load %y
// CHECK-NEXT:      arith.addf %a, %d : f64

// -----

// A branch or loop between two stores may read the first.

func.func @read_inside(%x : memref<f64>, %v : f64, %w : f64, %c : i1) -> f64 {
  memref.store %v, %x[] : memref<f64>
  %r = scf.if %c -> (f64) {
    %a = func.call @reads() : () -> f64
    scf.yield %a : f64
  } else {
    scf.yield %v : f64
  }
  memref.store %w, %x[] : memref<f64>
  func.return %r : f64
}
func.func private @reads() -> f64

// CHECK-LABEL: @read_inside
// CHECK-NEXT:    memref.store %v
// CHECK:         memref.store %w
