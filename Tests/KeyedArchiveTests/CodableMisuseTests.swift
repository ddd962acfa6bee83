import Foundation
import Testing

@testable import KeyedArchive

@Suite("Containers used in unusual ways")
struct CodableMisuseTests {
    /// A text that asks for a container of another kind after it was read, and catches the error.
    struct Curious: Codable, Equatable {
        var text: String

        init(_ text: String) { self.text = text }

        init(from decoder: any Decoder) throws {
            text = try decoder.singleValueContainer().decode(String.self)
            if text.hasPrefix("list") { _ = try? decoder.unkeyedContainer() }
            if text.hasPrefix("keys") { _ = try? decoder.container(keyedBy: AnyCodingKey.self) }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(text)
        }
    }

    struct Pair: Codable, Equatable {
        var first: Curious
        var second: Curious
    }

    @Test("A container that a value is not leaves the values after it as they are", arguments: CodableDoor.allCases)
    func otherKind(_ door: CodableDoor) throws {
        for kind in ["list", "keys"] {
            let list = ["a", kind, "b", kind + " last"].map(Curious.init)
            #expect(try door.pass(list, as: [Curious].self) == list)
            let pair = Pair(first: Curious(kind), second: Curious("after"))
            #expect(try door.pass(pair, as: Pair.self) == pair)
            #expect(try door.pass(["k": Curious(kind)], as: [String: Curious].self) == ["k": Curious(kind)])
        }
    }

    /// A use of a container while something in it is written.
    enum Use: CaseIterable { case keyed, keyedList, list, superEncoder, outer, finished }

    @Test(
        "A container that is used while a value in it is written ends the archive with an error",
        arguments: Use.allCases)
    func insideInCodableMisuse(_ use: Use) throws {
        let value = Written { encoder in
            var container = encoder.container(keyedBy: AnyCodingKey.self)
            switch use {
            case .keyed:
                var nested = container.nestedContainer(keyedBy: AnyCodingKey.self, forKey: "n")
                let kept = nested
                try nested.encode(
                    Self.writing {
                        var kept = kept; try kept.encode(1, forKey: "late")
                    }, forKey: "v")
            case .keyedList:
                var nested = container.nestedUnkeyedContainer(forKey: "n")
                let kept = nested
                try nested.encode(
                    Self.writing {
                        var kept = kept; try kept.encode(1)
                    })
            case .list:
                var list = container.nestedUnkeyedContainer(forKey: "l")
                var nested = list.nestedUnkeyedContainer()
                let kept = nested
                try nested.encode(
                    Self.writing {
                        var kept = kept; try kept.encode(1)
                    })
            case .superEncoder:
                var keyed = container.superEncoder(forKey: "s").container(keyedBy: AnyCodingKey.self)
                let kept = keyed
                try keyed.encode(
                    Self.writing {
                        var kept = kept; try kept.encode(1, forKey: "late")
                    }, forKey: "v")
            case .outer:
                let kept = container
                try container.encode(
                    Self.writing {
                        var kept = kept; try kept.encode(1, forKey: "late")
                    }, forKey: "v")
            case .finished:
                // The value around the nested container is complete.
                var nested: (any UnkeyedEncodingContainer)?
                try container.encode(
                    Written { encoder in
                        var list = encoder.unkeyedContainer()
                        nested = list.nestedUnkeyedContainer()
                    }, forKey: "v")
                _ = try? nested?.encode(1)
            }
            try container.encode(2, forKey: "z")
        }
        let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(value, format: .compact) }
        #expect(error?.code == .misuse)
    }

    /// A value that does something while it is written, and catches the error.
    private static func writing(_ body: @escaping () throws -> Void) -> Written {
        Written { encoder in
            var container = encoder.container(keyedBy: AnyCodingKey.self)
            try container.encode(1, forKey: "in")
            _ = try? body()
            _ = try? container.encode(2, forKey: "in2")
        }
    }

    @Test("Containers of two kinds end the archive with an error, whatever is written to them", arguments: 0..<4)
    func twoKinds(order: Int) throws {
        let value = Written { encoder in
            var outer = encoder.unkeyedContainer()
            let encoder = order < 2 ? outer.superEncoder() : encoder
            if order % 2 == 0 {
                var keyed = encoder.container(keyedBy: AnyCodingKey.self)
                var list = encoder.unkeyedContainer()
                for _ in 0..<3 { _ = try? list.encode(1) }
                var nested = list.nestedUnkeyedContainer()
                _ = try? nested.encode("x")
                _ = try? keyed.encode("late", forKey: "late")
            } else {
                var list = encoder.unkeyedContainer()
                var keyed = encoder.container(keyedBy: AnyCodingKey.self)
                for _ in 0..<3 { _ = try? keyed.encode("x", forKey: "k") }
                var nested = keyed.nestedContainer(keyedBy: AnyCodingKey.self, forKey: "n")
                _ = try? nested.encode("x", forKey: "k")
                _ = try? list.encode(1)
            }
        }
        let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(value, format: .compact) }
        #expect(error?.code == .misuse)
    }

    /// An object that writes a key of its own while one of its values is written.
    final class Impatient: ObjectCoding {
        init() {}
        init(coder: ObjectDecoder) throws {}

        func encode(with coder: ObjectEncoder) throws {
            try coder.encode(
                Written { encoder in
                    var container = encoder.container(keyedBy: AnyCodingKey.self)
                    _ = try? coder.encode(1, forKey: "late")
                    try container.encode(2, forKey: "x")
                }, forKey: "v")
        }
    }

    @Test("An object that writes a key inside of one of its values ends the archive with an error")
    func besideValue() throws {
        let error = #expect(throws: ArchiveError.self) { try KeyedArchiver.archive(Impatient(), format: .compact) }
        #expect(error?.code == .misuse)
    }

    @Test("A container that is kept beyond its archive does not disturb the next one")
    func nextArchive() throws {
        final class Kept { var container: (any UnkeyedEncodingContainer)? }
        let kept = Kept()
        let encoder = ObjectEncoder()
        try encoder.encodeTop(
            Written { encoder in
                var container = encoder.unkeyedContainer()
                kept.container = container.nestedUnkeyedContainer()
            })
        try encoder.finish()
        encoder.reset()
        #expect(throws: (any Error).self) { try kept.container?.encode(CodableClass()) }
        try encoder.encodeTop([1, 2])
        #expect(throws: (any Error).self) { try kept.container?.encode(CodableClass()) }
        try encoder.finish()
        #expect(encoder.objectCount == 0 && encoder.shapes.isEmpty)
        var bytes: [UInt8] = []
        encoder.forEachSegment { bytes += $0 }
        let owner = ArchiveBytes(bytes)
        let decoder = try ObjectDecoder(bytes: owner.bytes, owner: owner, shapes: [], handsOutSlices: false)
        #expect(try decoder.decodeTop([Int].self) == [1, 2])
    }

    final class CodableClass: Codable { var x = 1 }

    // MARK: Many keys

    private static let manyKeys = 3_000

    struct ManyKeys: Codable, Equatable {
        var values: [String: Int]
        var data: [String: Data]

        init() {
            values = [:]
            data = [:]
            for index in 0..<manyKeys { values["key \(index)"] = index &* 7 }
            data["first"] = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            data["second"] = Data([1, 2, 3])
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyCodingKey.self)
            values = [:]
            data = [:]
            for key in container.allKeys {
                if let number = try? container.decode(Int.self, forKey: key) {
                    values[key.stringValue] = number
                } else {
                    data[key.stringValue] = try container.decode(Data.self, forKey: key)
                }
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: AnyCodingKey.self)
            try container.encode(data["first"], forKey: "first")
            for (key, value) in values { try container.encode(value, forKey: AnyCodingKey(stringValue: key)) }
            try container.encode(data["second"], forKey: "second")
        }
    }

    @Test("A value may have any number of keys", arguments: CodableDoor.ours)
    func manyKeysInCodableMisuse(_ door: CodableDoor) throws {
        let value = ManyKeys()
        #expect(try door.pass(value, as: ManyKeys.self) == value)
        #expect(try door.pass([value, value], as: [ManyKeys].self) == [value, value])
    }

    final class ManyFields: ObjectCoding {
        let partner: ManyFields?
        let numbers: [Int]

        init(partner: ManyFields?) {
            self.partner = partner
            numbers = Array(0..<manyKeys)
        }

        init(coder: ObjectDecoder) throws {
            numbers = try (0..<manyKeys).map { try coder.decode(Int.self, forKey: "n\($0)") }
            partner = try coder.decode(ManyFields?.self, forKey: "partner")
            let conditional = try coder.decode(ManyFields?.self, forKey: "conditional")
            guard conditional === partner else { throw OwnError() }
        }

        func encode(with coder: ObjectEncoder) throws {
            for number in numbers.dropLast() { try coder.encode(number, forKey: "n\(number)") }
            try coder.encodeConditional(partner, forKey: "conditional")
            try coder.encode(manyKeys - 1, forKey: "n\(manyKeys - 1)")
            try coder.encode(partner, forKey: "partner")
        }
    }

    @Test("An object may have any number of keys", arguments: [ArchiveFormat.compact, .binary, .xml])
    func manyFields(_ format: ArchiveFormat) throws {
        let object = ManyFields(partner: ManyFields(partner: nil))
        let back = try KeyedUnarchiver.unarchive(
            ManyFields.self, from: try KeyedArchiver.archive(object, format: format) as [UInt8])
        #expect(back.numbers == object.numbers && back.partner?.numbers == object.numbers)
        #expect(back.partner?.partner == nil)
    }

    @Test("A key may be called $null", arguments: CodableDoor.ours)
    func null(_ door: CodableDoor) throws {
        struct Named: Codable, Equatable {
            var x = 5
            var y = "z"
            enum CodingKeys: String, CodingKey { case x = "$null", y }
        }
        #expect(try door.pass(Named(), as: Named.self) == Named())
        #expect(try door.pass([Named()], as: [Named].self) == [Named()])
        #expect(try door.pass(["$null": Named()], as: [String: Named].self) == ["$null": Named()])
    }
}
