import DistantObjects
import TestSupport
import Testing

/// A value that is read by trying one form after another, as many `Codable` types are.
private enum Form: Codable, Equatable {
    case number(Int)
    case text(String)
    case list([Form])
    case named([String: Form])
    case nothing

    init(from decoder: any Decoder) throws {
        if let keyed = try? decoder.container(keyedBy: Name.self), !keyed.allKeys.isEmpty {
            self = .named(
                try .init(
                    uniqueKeysWithValues: keyed.allKeys.map {
                        ($0.stringValue, try keyed.decode(Form.self, forKey: $0))
                    }))
            return
        }
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .nothing
            return
        }
        do { self = .number(try container.decode(Int.self)) } catch DecodingError.typeMismatch {
            do { self = .text(try container.decode(String.self)) } catch DecodingError.typeMismatch {
                self = .list(try container.decode([Form].self))
            }
        }
    }

    func encode(to encoder: any Encoder) throws {
        switch self {
        case .number(let number): try number.encode(to: encoder)
        case .text(let text): try text.encode(to: encoder)
        case .list(let list): try list.encode(to: encoder)
        case .named(let values):
            var keyed = encoder.container(keyedBy: Name.self)
            for (name, value) in values { try keyed.encode(value, forKey: Name(stringValue: name)) }
        case .nothing:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        }
    }

    /// A value that follows from the generator's seed.
    static func random(_ generator: inout SeededGenerator, depth: Int = 4) -> Form {
        switch Int.random(in: 0..<(depth > 0 ? 5 : 3), using: &generator) {
        case 0: .number(Int.random(in: .min ... .max, using: &generator))
        case 1: .text(String(UInt64.random(in: 0 ... .max, using: &generator), radix: 36))
        case 2: .nothing
        case 3: .list((0..<Int.random(in: 0..<5, using: &generator)).map { _ in random(&generator, depth: depth - 1) })
        default:
            .named(
                .init(
                    uniqueKeysWithValues: (0..<Int.random(in: 1..<5, using: &generator)).map {
                        ("key \($0)", random(&generator, depth: depth - 1))
                    }))
        }
    }
}

private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

private struct Refusal: Error, Codable, Equatable {
    let form: Form
}

private final class Mirror: Vendable {
    static var messages: MessageTable<Mirror> {
        Message("mirror", Mirror.mirror)
        Message("refuse", Mirror.refuse)
        Message("number", Mirror.number)
    }

    func mirror(_ form: Form) -> Form { form }
    func refuse(_ form: Form) throws { throw Refusal(form: form) }
    func number(_ number: Int) -> Int { number }
}

@Suite("Types that try one form after another", .bounded())
struct TriedFormTests {
    @Test("Arguments, results and errors of such types are what was sent")
    func formsInTriedForm() async throws {
        var configuration = Connection.Configuration.patient
        configuration.errorTypes = [Refusal.self]
        let (client, server) = try await Connection.pair(first: configuration, second: configuration)
        server.vend(Mirror())
        let root = try await client.root
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let form = Form.random(&generator)
            let back: Form = try await root.mirror(form)
            #expect(back == form, "seed \(seed)")
            await #expect(throws: Refusal(form: form), "seed \(seed)") { try await root.refuse(form) }
        }
        // A message whose argument is no such form is refused, and the next one goes through.
        await expectCode(.wrongArgument) { let _: Int = try await root.number(Form.text("7")) }
        let number: Int = try await root.number(Form.number(7))
        #expect(number == 7)
        await client.close()
        _ = await server.ended
        #expect(client.statistics.isAtRest && server.statistics.isAtRest)
    }
}
