import Testing

@testable import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Values")
struct ValueTests {
    @Test("Every kind of value round-trips")
    func everythingInValue() throws {
        let value = Everything()
        #expect(try roundTrip(value) == value)
    }

    @Test("Int64.min is -2^63")
    func smallest() throws {
        #expect(try roundTrip(Int64.min) == .min)
    }
}

@Suite("How values are coded is remembered by type")
struct MetatypeCacheTests {
    private final class Thing {}

    private func list<T: Decodable>(of type: T.Type) -> any Decodable.Type { [T].self }

    @Test("Both of any two types are found")
    func pairsInMetatypeCache() {
        var types: [any Decodable.Type] = [Int.self]
        while types.count < 100 {
            let last: any Decodable.Type = types[types.count - 1]
            types.append(list(of: last))
        }
        let things = (Thing(), Thing())
        for (index, first) in types.enumerated() {
            for second in types[(index + 1)...] {
                var cache = MetatypeCache()
                defer { cache.deallocate() }
                cache.remember(things.0, for: first)
                cache.remember(things.1, for: second)
                #expect(cache.find(first)?.takeUnretainedValue() === things.0)
                #expect(cache.find(second)?.takeUnretainedValue() === things.1)
            }
        }
    }
}
