// RUN: mlirad-opt %s -p inline-calls --split-input-file --verify-diagnostics | filecheck %s

// Calls of functions with a body go, those of declarations stay; what nothing names is removed.

func.func @f(%x : f64) -> f64 {
  %y = func.call @g(%x) : (f64) -> f64
  func.return %y : f64
}
func.func private @g(%x : f64) -> f64 {
  %y = arith.addf %x, %x : f64
  %z = func.call @lgamma(%y) : (f64) -> f64
  func.return %z : f64
}
func.func private @lgamma(f64) -> f64 attributes {mlirad.pure}
func.func private @unused(f64) -> f64

// CHECK-LABEL: func.func @f(%x: f64)
// CHECK-NEXT:    %y = arith.addf %x, %x : f64
// CHECK-NEXT:    %z = func.call @lgamma(%y) : (f64) -> f64
// CHECK-NEXT:    func.return %z : f64
// CHECK-NOT:   @g
// CHECK:       func.func private @lgamma
// CHECK-NOT:   @unused

// -----

// Where there are entries, only they are callable from outside.

func.func @f(%x : f64) -> f64 attributes {mlirad.entry} {
  func.return %x : f64
}
func.func @not_called(%x : f64) -> f64 {
  func.return %x : f64
}

// CHECK-LABEL: func.func @f
// CHECK-NOT:   @not_called

// -----

func.func @even(%x : i64) -> i64 {
  %y = func.call @odd(%x) : (i64) -> i64
  func.return %y : i64
}
func.func private @odd(%x : i64) -> i64 {
  %y = func.call @even(%x) : (i64) -> i64
  func.return %y : i64
}

// CHECK: recursive call: 'even' -> 'odd' -> 'even'
// CHECK: write the recursion as a loop
