// RUN: mlirad-opt %s -p autodiff-annotate-memory | filecheck %s

func.func @roots(%a : memref<?xf64>, %b : memref<?xf64>, %c : memref<?xf64>, %i : index, %p : i1) -> f64 attributes {mlirad.alias = array<i64: 0, 0, 2, -1, -1>} {
  %m = memref.alloc(%i) : memref<?xf64>
  %e = scf.if %p -> (memref<?xf64>) {
    scf.yield %b : memref<?xf64>
  } else {
    scf.yield %m : memref<?xf64>
  }
  %x = memref.load %a[%i] : memref<?xf64>
  %y = memref.load %c[%i] : memref<?xf64>
  memref.store %x, %e[%i] : memref<?xf64>
  func.return %y : f64
}

// %a and %b may overlap, so the store into %e may write what is loaded from %a.
// CHECK: %x = memref.load %a[%i] {autodiff.roots = ["arguments of class 0"], autodiff.written}
// CHECK: %y = memref.load %c[%i] {autodiff.roots = ["arguments of class 2"]}
// CHECK: memref.store %x, %e[%i] {autodiff.roots = ["%m", "arguments of class 0"]}
