// RUN: mlirad-opt %s -p simplify --split-input-file | filecheck %s

// A known condition leaves one branch.

func.func @branch(%x : f64) -> f64 {
  %two = arith.constant 2 : i64
  %three = arith.constant 3 : i64
  %less = arith.cmpi slt, %two, %three : i64
  %r = scf.if %less -> (f64) {
    %a = arith.addf %x, %x : f64
    scf.yield %a : f64
  } else {
    %b = arith.mulf %x, %x : f64
    scf.yield %b : f64
  }
  func.return %r : f64
}

// CHECK-LABEL: @branch
// CHECK-NEXT:    %a = arith.addf %x, %x : f64
// CHECK-NEXT:    func.return %a

// -----

// Loops that run never or once are no loops.

func.func @trips(%x : f64) -> (f64, f64) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %never = scf.for %i = %one to %zero step %one iter_args(%a = %x) -> (f64) {
    %b = arith.mulf %a, %a : f64
    scf.yield %b : f64
  }
  %once = scf.for %i = %zero to %one step %one iter_args(%a = %x) -> (f64) {
    %b = arith.mulf %a, %a : f64
    scf.yield %b : f64
  }
  func.return %never, %once : f64, f64
}

// CHECK-LABEL: @trips
// CHECK-NEXT:    %b = arith.mulf %x, %x : f64
// CHECK-NEXT:    func.return %x, %b

// -----

// A variable that the loop hands on unchanged is not carried.

func.func @unchanged(%x : f64, %y : f64, %n : index) -> (f64, f64) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r, %s = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %y) -> (f64, f64) {
    %c = arith.mulf %a, %b : f64
    scf.yield %c, %b : f64, f64
  }
  func.return %r, %s : f64, f64
}

// CHECK-LABEL: @unchanged
// CHECK:         %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (f64) {
// CHECK-NEXT:      %c = arith.mulf %a, %y : f64
// CHECK-NEXT:      scf.yield %c : f64
// CHECK:         func.return %r, %y

// -----

// Float arithmetic stays: 0 * inf, -0.0 + 0.0 and nan - nan are not what algebra says.

func.func @floats(%x : f64) -> (f64, f64, f64) {
  %zero = arith.constant 0.0 : f64
  %a = arith.mulf %x, %zero : f64
  %b = arith.addf %x, %zero : f64
  %c = arith.subf %x, %x : f64
  func.return %a, %b, %c : f64, f64, f64
}

// CHECK-LABEL: @floats
// CHECK:         arith.mulf
// CHECK-NEXT:    arith.addf
// CHECK-NEXT:    arith.subf
