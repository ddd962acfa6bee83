import DistantObjects
import Foundation
import PortTransport
import Testing

@Suite("The limits that the documents name")
struct DocumentedLimitTests {
    /// The defaults that the comments of a type of limits name, by property: numbers of bytes, elements or seconds.
    private static func defaults(in file: String) throws -> [String: Int] {
        var defaults: [String: Int] = [:]
        var last: Int?
        for line in try DocumentedCode.text(of: file).split(separator: "\n") {
            if let match = line.firstMatch(of: #/\/// Default:? (?<number>[\d,]+)(?<unit> Mi)?/#) {
                let number = match.number.filter(\.isNumber)
                last = Int(number).map { match.unit == nil ? $0 : $0 << 20 }
            } else if let match = line.firstMatch(of: #/public var (?<name>\w+)/#) {
                defaults[String(match.name)] = last
                last = nil
            }
        }
        return defaults
    }

    private static func values(of limits: Any) -> [String: Int] {
        var values: [String: Int] = [:]
        for (label, value) in Mirror(reflecting: limits).children {
            // That default depends on the machine.
            guard let label, label != "sharedBytes" else { continue }
            values[label] = value as? Int ?? (value as? Duration).map { Int($0 / .seconds(1)) }
        }
        return values
    }

    @Test("The comment of each limit names its default")
    func comments() throws {
        let limits = try Self.defaults(in: "Sources/DistantObjects/Settings/ConnectionLimits.swift")
        #expect(limits == Self.values(of: Connection.Limits()))
        let archive = try Self.defaults(in: "Sources/KeyedArchive/Bytes/ArchiveLimits.swift")
        #expect(archive == Self.values(of: Connection.Limits().archive))
        // What many programs rely on.
        #expect(limits["unreadAnswers"] == 16 << 20 && limits["answerPatience"] == 10)
    }

    @Test("The protocol's description names what this implementation leaves unsent")
    func unsentInDocumentedLimit() throws {
        let path = try #require(DocumentedCode.documents["WireProtocol.md"])
        let text = try DocumentedCode.text(of: path).split { $0.isWhitespace }.joined(separator: " ")
        let channel = ChannelConfiguration()
        let limits = Connection.Limits()
        for sentence in [
            "while \(channel.unsentFrames >> 20) MiB of whole frames are unsent",
            "when more than \(channel.mostUnsentFrames >> 20) MiB of whole frames other than answers are unsent",
            "have more than \(channel.unsentMessages >> 20) MiB, unless it is the only one",
            "while more than \(limits.unreadAnswers >> 20) MiB of its answers are unsent",
            "starts such calls again at \(limits.unreadAnswers >> 21) MiB",
            "If for \(Int(limits.answerPatience / .seconds(1))) seconds the peer reads no byte of an answer",
            "up to \(4 * limits.unreadAnswers >> 20) MiB plus one message",
        ] {
            #expect(text.contains(sentence), "“\(sentence)” is not there")
        }
    }
}
