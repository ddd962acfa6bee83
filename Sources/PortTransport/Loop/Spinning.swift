internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The time during which a thread polls instead of sleeping.
///
/// It offers its processor to others now and then: where more threads poll than there are processors, the one with work
/// to do would otherwise wait for a whole time slice.
struct Spinning {
    private static let roundsBetweenYields: UInt32 = 16

    private let end: UInt64
    private var rounds: UInt32 = 0

    init(for nanoseconds: UInt64) {
        let (sum, overflow) = monotonicNow().addingReportingOverflow(nanoseconds)
        end = overflow ? .max : sum
    }

    /// To be asked after each poll that found nothing.
    mutating func goesOn() -> Bool {
        rounds &+= 1
        if rounds % Self.roundsBetweenYields == 0 { sched_yield() }
        return monotonicNow() < end
    }
}
