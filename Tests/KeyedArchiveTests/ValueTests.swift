import Testing

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Values")
struct ValueTests {
    @Test("Every kind of value comes back as it was")
    func everything() throws {
        let value = Everything()
        #expect(try roundTrip(value) == value)
    }

    @Test("Int64.min is -2^63")
    func smallest() throws {
        #expect(try roundTrip(Int64.min) == .min)
    }
}
