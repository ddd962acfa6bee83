import Foundation

/// Something that a `Codable` type can rely on: what it writes, and what it sees when it reads that.
struct CodableBehaviour: Sendable, CustomStringConvertible {
    /// A sentence.
    let description: String
    let write: @Sendable (any Encoder) throws -> Void
    let read: @Sendable (any Decoder) throws -> [String]
    /// What every coder shows.
    let expected: [String]
    /// Coders that show something else.
    var differs: [Difference] = []

    struct Difference: Sendable {
        let doors: Set<CodableDoor>
        let expected: [String]
        /// Why, and where that is documented.
        let reason: String
    }

    /// Coders that end the program.
    var traps: Set<CodableDoor> = []

    /// What a coder shows.
    func expectation(_ door: CodableDoor) -> [String] {
        differs.first { $0.doors.contains(door) }?.expected ?? expected
    }

    func observe(_ door: CodableDoor) -> [String] {
        do {
            return try Observed.body.withValue(read) { try door.pass(Written(write), as: Observed.self).seen }
        } catch {
            return ["thrown: \(describe(error))"]
        }
    }
}

/// An error of a type's own code.
struct OwnError: Error {}

/// A value whose encoding writes a part and then fails.
struct Failing: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        try container.encode("part")
        throw OwnError()
    }
}

/// An integer or a text, of which the integer is tried first.
enum IntegerOrText: Decodable, CustomStringConvertible {
    case integer(Int)
    case text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do { self = .integer(try container.decode(Int.self)) } catch DecodingError.typeMismatch {
            self = .text(try container.decode(String.self))
        }
    }

    var description: String {
        switch self {
        case .integer(let number): "integer \(number)"
        case .text(let text): "text \(text)"
        }
    }
}

extension CodableBehaviour {
    static let all: [CodableBehaviour] = decoding + lists + encoding + forms
}
