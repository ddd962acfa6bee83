import DistantObjects
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// What specifies the protocol.
enum Article: Sendable {
    case wireProtocol, exchange, frames

    private var files: [String] {
        switch self {
        case .wireProtocol: ["WireProtocol", "WireFeatures"].map { "DistantObjects/DistantObjects.docc/\($0).md" }
        case .exchange: ["DistantObjects/DistantObjects.docc/WireExchange.md"]
        case .frames: ["PortTransport/PortTransport.docc/Frames.md"]
        }
    }

    func text() throws -> String {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")
        return try files.map { try String(contentsOf: sources.appending(path: $0), encoding: .utf8) }.joined()
    }

    /// Whether it contains the words, regardless of line breaks.
    func says(_ words: String) throws -> Bool {
        try text().split { $0.isWhitespace }.joined(separator: " ").contains(words)
    }
}

/// A check of the implementation against an article: a quoted rule, and code that tests it with a peer.
struct Check: Sendable, CustomTestStringConvertible {
    let name: String
    let article: Article
    /// The quoted words of the article.
    let rule: String
    let run: @Sendable () async throws -> Void

    var testDescription: String { name }

    static let all = Attack.all.map(Check.init) + beginnings + messages + endings + sharing + regions + blobs + states

    init(
        _ name: String, _ rule: String, of article: Article = .wireProtocol,
        _ run: @escaping @Sendable () async throws -> Void
    ) {
        (self.name, self.article, self.rule, self.run) = (name, article, rule, run)
    }

    /// Checks that the attack ends its own connection with the reason, and no other connection.
    init(_ attack: Attack) {
        self.init(attack.name, attack.rule, of: attack.article) { try await attack.run() }
    }

    /// Sends a Hello and the bytes to a listener, and returns the frames that come back.
    ///
    /// - Parameters:
    ///   - ends: Whether the peer ends its stream after the bytes, as it may after its `Goodbye`.
    ///   - count: The number of frames to read; nil to read to the end.
    static func exchange(
        greeting: [UInt8] = RawPeer.hello, _ bytes: [UInt8], ends: Bool = false, count: Int? = nil
    ) async throws -> [RawPeer.Frame] {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for await connection in listener { connection.vend(Directory()) }
        }
        let raw = try RawPeer(connectingTo: place.socket)
        let frames = try await onThread { () -> [RawPeer.Frame] in
            raw.send(1, greeting)
            guard raw.read()?.kind == 1 else { return [] }
            raw.send(bytes)
            if ends { raw.finishSending() }
            guard let count else { return raw.readToEnd() }
            return (0..<count).compactMap { _ in raw.read() }
        }
        raw.close()
        listener.close()
        await serving.value
        return frames
    }
}

extension Attack {
    func run() async throws {
        let place = try TemporaryFolder()
        let listener = try Listener(at: .path(place.socket), configuration: .patient)
        let serving = Task {
            for await connection in listener {
                connection.vend(Directory())
                Task {
                    _ = await connection.ended
                    #expect(connection.statistics.isAtRest)
                }
            }
        }
        let good = try await Connection.open(.path(place.socket), configuration: .patient)
        let directory = try await good.root
        let before: Int = try await directory.echo(1)
        #expect(before == 1)

        let raw = try RawPeer(connectingTo: place.socket)
        let frames = try await onThread { () -> [RawPeer.Frame] in
            if greets {
                raw.send(1, RawPeer.greeting(features: features))
                _ = raw.read()
            }
            raw.send(bytes)
            if ends { raw.finishSending() }
            return raw.readToEnd()
        }
        let goodbye = try #require(frames.last)
        #expect(goodbye.kind == 16)
        var body = goodbye.body[...]
        _ = RawPeer.takeNumber(&body)
        #expect(RawPeer.takeNumber(&body) == reason, "\(String(decoding: goodbye.body, as: UTF8.self))")
        let after: Int = try await directory.echo(2)
        #expect(after == 2)
        await good.close()
        listener.close()
        await serving.value
    }
}
