import Foundation
import Testing

@testable import KeyedArchive

@Suite("Errors of Codable types")
struct CodableErrorTests {
    struct Outer: Codable { var list: [Inner] }
    struct Inner: Codable { var values: [String: Leaf] }
    struct Leaf: Codable { var x = 1 }

    private static let sample = Outer(list: [Inner(values: [:]), Inner(values: ["k": Leaf()])])

    @Test(
        "The outermost call throws an ArchiveError with the whole path",
        arguments: [ArchiveFormat.compact, .binary, .xml])
    func outermost(_ format: ArchiveFormat) throws {
        struct Wrong: Decodable { var list: [InnerWrong] }
        struct InnerWrong: Decodable { var values: [String: LeafWrong] }
        struct LeafWrong: Decodable { var x: String }
        struct Missing: Decodable { var list: [InnerMissing] }
        struct InnerMissing: Decodable { var values: [String: LeafMissing] }
        struct LeafMissing: Decodable { var y: String }
        let bytes = try KeyedArchiver.archive(Self.sample, format: format)
        var error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Wrong.self, from: bytes) }
        #expect(error?.description == "root.list[1].values.k.x: expected String, found Int")
        #expect(error?.code == .typeMismatch)
        error = #expect(throws: ArchiveError.self) { try KeyedUnarchiver.unarchive(Missing.self, from: bytes) }
        #expect(error?.description == "root.list[1].values.k.y: no value for this key")
        #expect(error?.code == .missingKey)
    }

    enum Way: CaseIterable { case own, corrupt, decoding, again, other }

    struct Throwing: Decodable {
        @TaskLocal static var way = Way.own

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: AnyCodingKey.self)
            switch Self.way {
            case .own: throw OwnError()
            case .corrupt:
                throw DecodingError.dataCorruptedError(forKey: "x", in: container, debugDescription: "own text")
            case .decoding:
                do { _ = try container.decode(String.self, forKey: "x") } catch let error as DecodingError {
                    throw error
                }
            case .again:
                do { _ = try container.decode(String.self, forKey: "x") } catch { throw OwnError() }
            case .other: _ = try JSONDecoder().decode(Leaf.self, from: Data(#"{"x": ""}"#.utf8))
            }
        }
    }

    @Test("An error of a type's own code keeps the path through the types around it", arguments: Way.allCases)
    func ownErrors(_ way: Way) throws {
        struct Through: Decodable { var list: [InnerThrough] }
        struct InnerThrough: Decodable {
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: AnyCodingKey.self)
                _ = try container.decode([String: Throwing].self, forKey: "values")
            }
        }
        let bytes = try KeyedArchiver.archive(Self.sample)
        let error = #expect(throws: ArchiveError.self) {
            try Throwing.$way.withValue(way) { try KeyedUnarchiver.unarchive(Through.self, from: bytes) }
        }
        let path = "root.list[1].values.k"
        switch way {
        case .own, .again:
            #expect(error?.code == .thrownByType && error?.path == path && error?.underlying is OwnError)
        case .corrupt: #expect(error?.code == .thrownByType && error?.description == "\(path).x: own text")
        case .decoding: #expect(error?.description == "\(path).x: expected String, found Int")
        case .other: #expect(error?.code == .thrownByType && error?.path == path && error?.underlying is DecodingError)
        }
    }

    @Test("The error for a missing key names the type's own key, and that of a bound the bound")
    func detailsInCodableError() throws {
        struct Details: Decodable {
            enum Key: String, CodingKey { case x, y }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Key.self)
                let missing = #expect(throws: DecodingError.self) { try container.decode(Int.self, forKey: .y) }
                guard case .keyNotFound(let key, let context) = missing else { throw OwnError() }
                #expect(key as? Key == .y && context.codingPath.isEmpty)
                let wrong = #expect(throws: DecodingError.self) { try container.decode(Bool.self, forKey: .x) }
                guard case .typeMismatch(let type, let place) = wrong else { throw OwnError() }
                #expect(type == Bool.self && place.codingPath.first as? Key == .x)
                #expect(place.debugDescription == "expected Bool, found String")
                let limit = #expect(throws: DecodingError.self) { try container.decode(String.self, forKey: .x) }
                guard case .dataCorrupted(let bound) = limit else { throw OwnError() }
                #expect((bound.underlyingError as? ArchiveError)?.code == .limit)
            }
        }
        let bytes = try KeyedArchiver.archive(["x": String(repeating: "long", count: 100)])
        var limits = ArchiveLimits()
        limits.string = 100
        _ = try KeyedUnarchiver.unarchive(Details.self, from: bytes, limits: limits)
    }

    @Test("What cannot be encoded is an EncodingError, and the archive goes on without it")
    func encodingErrors() throws {
        struct Long: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: AnyCodingKey.self)
                let text = String(repeating: "x", count: 200)
                let error = #expect(throws: EncodingError.self) {
                    try container.encode(["a": [text]], forKey: "long")
                }
                guard case .invalidValue(let value, let context) = error else { throw OwnError() }
                #expect(value as? [String: [String]] == ["a": [text]])
                #expect(context.codingPath.map(\.stringValue) == ["Index 0", "long", "a", "Index 0"])
                #expect((context.underlyingError as? ArchiveError)?.code == .limit)
                try container.encode("short", forKey: "long")
            }
        }
        var limits = ArchiveLimits()
        limits.string = 100
        let bytes = try KeyedArchiver.archive([Long()], limits: limits)
        #expect(try KeyedUnarchiver.unarchive([[String: String]].self, from: bytes) == [["long": "short"]])
    }

    @Test("An error of a type's own code while it is encoded keeps its path, and ends the archive if nobody catches it")
    func uncaughtEncoding() throws {
        let value = ["a": [Written { _ in }, Written { _ in throw OwnError() }]]
        let archiver = KeyedArchiver()
        let error = #expect(throws: ArchiveError.self) {
            try archiver.encode(Written { encoder in try value.encode(to: encoder) }, forKey: "v")
        }
        #expect(error?.path == "v.a[1]" && error?.underlying is OwnError)
        #expect(throws: ArchiveError.self) { try archiver.finish() }
    }

    @Test("A nested container that is kept after its message is read throws")
    func keptContainer() throws {
        final class Kept: @unchecked Sendable {
            var containers: [any UnkeyedDecodingContainer] = []
        }
        struct Keeping: Decodable {
            @TaskLocal static var kept: Kept?
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: AnyCodingKey.self)
                Self.kept?.containers.append(try container.nestedUnkeyedContainer(forKey: "list"))
                Self.kept?.containers.append(try container.superDecoder(forKey: "list").unkeyedContainer())
            }
        }
        let encoder = ObjectEncoder()
        try encoder.encodeTop(["list": [1, 2]])
        try encoder.finish()
        var bytes: [UInt8] = []
        encoder.forEachSegment { bytes += $0 }
        let kept = Kept()
        let decoder = ObjectDecoder()
        try bytes.withUnsafeBytes { archive in
            try decoder.load(bytes: archive)
            _ = try Keeping.$kept.withValue(kept) { try decoder.decodeTop(Keeping.self) }
            decoder.unload()
        }
        for var container in kept.containers {
            #expect(throws: DecodingError.self) { try container.decode(Int.self) }
        }
    }

    @Test("A container that cannot be opened cannot be opened at the next attempt either")
    func damagedContainers() throws {
        struct Twice: Decodable {
            init(from decoder: any Decoder) throws {
                let first = try? decoder.container(keyedBy: AnyCodingKey.self).allKeys.map(\.stringValue)
                let second = try? decoder.container(keyedBy: AnyCodingKey.self).allKeys.map(\.stringValue)
                #expect(first == second)
                let count = try? decoder.unkeyedContainer().count
                let again = try? decoder.unkeyedContainer().count
                #expect(count == again)
                if first == nil, count == nil { throw OwnError() }
            }
        }
        let bytes: [UInt8] = try KeyedArchiver.archive([["a": 1, "b": 2], ["long key": 3], [:]], format: .compact)
        var refused = 0
        for index in bytes.indices {
            for value in UInt8.min...UInt8.max {
                var damaged = bytes
                damaged[index] = value
                if (try? KeyedUnarchiver.unarchive([Twice].self, from: damaged)) == nil { refused += 1 }
            }
        }
        #expect(refused > 0 && refused < 256 * bytes.count)
    }

    @Test("The caller's userInfo reaches every type", arguments: [ArchiveFormat.compact, .binary, .xml])
    func userInfo(_ format: ArchiveFormat) throws {
        struct Informed: Codable {
            static let key = CodingUserInfoKey(rawValue: "key")
            var seen: String
            init() { seen = "" }
            init(from decoder: any Decoder) throws {
                let written = try decoder.singleValueContainer().decode(String.self)
                seen = "\(written) \(Self.key.flatMap { decoder.userInfo[$0] as? String } ?? "none")"
            }
            func encode(to encoder: any Encoder) throws {
                try (Self.key.flatMap { encoder.userInfo[$0] as? String } ?? "none").encode(to: encoder)
            }
        }
        let key = try #require(Informed.key)
        let archiver = KeyedArchiver(format: format)
        archiver.userInfo[key] = "out"
        try archiver.encode(["a": [Informed()]], forKey: "v")
        let unarchiver = try KeyedUnarchiver(archiver.finish() as [UInt8])
        #expect(try unarchiver.decode([String: [Informed]].self, forKey: "v")["a"]?[0].seen == "out none")
        unarchiver.userInfo[key] = "in"
        #expect(try unarchiver.decode([String: [Informed]].self, forKey: "v")["a"]?[0].seen == "out in")
    }
}
