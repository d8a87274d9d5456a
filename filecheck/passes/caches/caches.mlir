// RUN: mlirad-opt %s -p autodiff-forward-caches --split-input-file | filecheck %s --check-prefix=FORWARD
// RUN: mlirad-opt %s -p autodiff-plan-caches --split-input-file | filecheck %s --check-prefix=PLAN
// RUN: mlirad-opt %s -p autodiff-plan-caches,autodiff-lower-caches --split-input-file | filecheck %s --check-prefix=LOWER

// Both sweeps ended up in one block: the kept value is used directly.
func.func @direct(%x : f64) -> f64 {
  %c = autodiff.init [] : !autodiff.cache<f64, "growable">
  autodiff.push %x, %c [] of [] : !autodiff.cache<f64, "growable">
  %y = autodiff.pop %c [] of [] : !autodiff.cache<f64, "growable">
  autodiff.free %c : !autodiff.cache<f64, "growable">
  func.return %y : f64
}

// FORWARD-LABEL: func.func @direct
// FORWARD-NEXT:  func.return %x

// -----

// The number of pushes is known at the start: one array, indexed by iteration.
func.func @counted(%x : f64, %n : index) {
  %c = autodiff.init [] : !autodiff.cache<f64, "growable">
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    autodiff.push %x, %c [%i] of [%n] : !autodiff.cache<f64, "growable">
  }
  autodiff.free %c : !autodiff.cache<f64, "growable">
  func.return
}

// PLAN-LABEL: func.func @counted
// PLAN:       %[[N:.*]] = arith.maxsi %n
// PLAN:       %[[C:.*]] = autodiff.init[%[[N]]] : !autodiff.cache<f64, "sized">
// PLAN:       autodiff.push %x, %[[C]]

// LOWER-LABEL: func.func @counted
// LOWER:       %[[C:.*]] = memref.alloc(%{{.*}}) : memref<?xf64>
// LOWER:       memref.store %x, %[[C]]
// LOWER:       memref.dealloc %[[C]]

// -----

// The inner count rises evenly with the outer iteration: n * (n - 1) / 2 values, without gaps.
func.func @even(%x : f64, %n : index) {
  %c = autodiff.init [] : !autodiff.cache<f64, "growable">
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      autodiff.push %x, %c [%i, %j] of [%n, %i] : !autodiff.cache<f64, "growable">
    }
  }
  autodiff.free %c : !autodiff.cache<f64, "growable">
  func.return
}

// PLAN-LABEL: func.func @even
// PLAN:       %[[C:.*]] = autodiff.init[%{{.*}}] : !autodiff.cache<f64, "sized">
// PLAN:       %[[K:[0-9]+]] = arith.addi %{{[0-9]+}}, %j : index
// PLAN:       autodiff.push %x, %[[C]][%[[K]]] of[%{{.*}}]

// -----

// The inner count depends on the outer iteration, but not evenly: a stack.
func.func @uneven(%x : f64, %n : index) {
  %c = autodiff.init [] : !autodiff.cache<f64, "growable">
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %q = arith.muli %i, %i : index
    scf.for %j = %c0 to %q step %c1 {
      autodiff.push %x, %c [%i, %j] of [%n, %q] : !autodiff.cache<f64, "growable">
    }
  }
  autodiff.free %c : !autodiff.cache<f64, "growable">
  func.return
}

// PLAN-LABEL: func.func @uneven
// PLAN:       autodiff.init[] : !autodiff.cache<f64, "growable">

// LOWER-LABEL: func.func private @mlirad_stack_free
// LOWER-LABEL: func.func @uneven
// LOWER:       %[[S:.*]] = func.call @mlirad_stack_new()
// LOWER:       func.call @mlirad_stack_push_f64(%[[S]], %x)
// LOWER:       func.call @mlirad_stack_free(%[[S]])
// LOWER-NOT:   autodiff.
