import CFloor
import DistantObjects

/// The interface that the benchmarks call.
struct BenchInterface: Interface {
    let null = Signature<Int64, Int64>("null")
}

extension BenchServer: Implements {
    typealias I = BenchInterface
}

/// Forty optional signatures, so that it fits any object.
struct WideInterface: Interface {
    let m0 = Signature<Int, Int>("m0", since: 1), m1 = Signature<Int, Int>("m1", since: 1)
    let m2 = Signature<Int, Int>("m2", since: 1), m3 = Signature<Int, Int>("m3", since: 1)
    let m4 = Signature<Int, Int>("m4", since: 1), m5 = Signature<Int, Int>("m5", since: 1)
    let m6 = Signature<Int, Int>("m6", since: 1), m7 = Signature<Int, Int>("m7", since: 1)
    let m8 = Signature<Int, Int>("m8", since: 1), m9 = Signature<Int, Int>("m9", since: 1)
    let m10 = Signature<Int, Int>("m10", since: 1), m11 = Signature<Int, Int>("m11", since: 1)
    let m12 = Signature<Int, Int>("m12", since: 1), m13 = Signature<Int, Int>("m13", since: 1)
    let m14 = Signature<Int, Int>("m14", since: 1), m15 = Signature<Int, Int>("m15", since: 1)
    let m16 = Signature<Int, Int>("m16", since: 1), m17 = Signature<Int, Int>("m17", since: 1)
    let m18 = Signature<Int, Int>("m18", since: 1), m19 = Signature<Int, Int>("m19", since: 1)
    let m20 = Signature<Int, Int>("m20", since: 1), m21 = Signature<Int, Int>("m21", since: 1)
    let m22 = Signature<Int, Int>("m22", since: 1), m23 = Signature<Int, Int>("m23", since: 1)
    let m24 = Signature<Int, Int>("m24", since: 1), m25 = Signature<Int, Int>("m25", since: 1)
    let m26 = Signature<Int, Int>("m26", since: 1), m27 = Signature<Int, Int>("m27", since: 1)
    let m28 = Signature<Int, Int>("m28", since: 1), m29 = Signature<Int, Int>("m29", since: 1)
    let m30 = Signature<Int, Int>("m30", since: 1), m31 = Signature<Int, Int>("m31", since: 1)
    let m32 = Signature<Int, Int>("m32", since: 1), m33 = Signature<Int, Int>("m33", since: 1)
    let m34 = Signature<Int, Int>("m34", since: 1), m35 = Signature<Int, Int>("m35", since: 1)
    let m36 = Signature<Int, Int>("m36", since: 1), m37 = Signature<Int, Int>("m37", since: 1)
    let m38 = Signature<Int, Int>("m38", since: 1), m39 = Signature<Int, Int>("m39", since: 1)
}

struct MiddleInterface: Extending {
    typealias Base = WideInterface
    let n = Signature<Int, Int>("n", since: 1)
}

/// Inherits the forty signatures over two levels.
struct DeepInterface: Extending {
    typealias Base = MiddleInterface
    let o = Signature<Int, Int>("o", since: 1)
}

/// The cost of naming a message of a remote, without sending it.
enum MessageNaming {
    /// Nanoseconds for each message.
    static func sample(count: Int) throws -> Double {
        let remote = try Remote<DeepInterface>(DistantObject(standingFor: Caller()))
        let start = floorNow()
        for _ in 0..<count {
            keep(remote.m39)
        }
        return Double(floorNow() - start) / Double(count)
    }

    @inline(never)
    private static func keep<Value>(_ value: borrowing Value) {}
}
