import DistantObjects
import TestSupport
import Testing

/// The frames that `WireExchange.md` shows byte by byte, in their order.
private struct Exchange {
    struct Frame {
        var speaker: String
        var bytes: [UInt8]
    }

    private(set) var frames: [Frame] = []

    /// A line has the sender, if a frame begins there; then bytes in hexadecimal; and after two spaces their meaning.
    init() throws {
        for line in try Article.exchange.text().split(separator: "\n") where line.hasPrefix("    ") {
            let speaker = line.dropFirst(4).prefix(8).filter { $0 != " " }
            if !speaker.isEmpty { frames.append(Frame(speaker: speaker, bytes: [])) }
            for word in line.dropFirst(12).split(separator: " ", omittingEmptySubsequences: false) {
                guard word.count == 2, let byte = UInt8(word, radix: 16) else { break }
                frames[frames.count - 1].bytes.append(byte)
            }
        }
    }

    /// Plays one side: sends its bytes, and reads the other side's.
    ///
    /// - Returns: The differences from the article.
    func play(_ side: String, by raw: RawPeer) -> String? {
        for (index, frame) in frames.enumerated() {
            if frame.speaker == side {
                raw.send(frame.bytes)
                continue
            }
            let read = raw.readWhole()
            guard read == frame.bytes else {
                raw.close()
                let bytes = read?.map { String($0, radix: 16) }.joined(separator: " ") ?? "nothing"
                return "frame \(index + 1), of the \(frame.speaker), is \(bytes)"
            }
        }
        raw.finishSending()
        return raw.readWhole() == nil ? nil : "there is a further frame"
    }
}

private struct Person: Codable {
    var name: String
    var age: Int
}

private final class People: Vendable {
    static var messages: MessageTable<People> { Message("add", People.add) }

    func add(_ person: Person) -> Int { person.name == "Ada" && person.age == 36 ? 1 : 0 }
}

@Suite("The exchange that an article shows byte by byte", .bounded())
struct ExchangeTests {
    private func configuration(_ name: String) -> Connection.Configuration {
        var configuration = Connection.Configuration()
        configuration.handshakeTimeout = TestTimeout.wait
        configuration.lookupTimeout = nil
        // On a busy machine a look-up takes longer, and then asks the peer what it has vended.
        configuration.lookupPatience = TestTimeout.wait
        configuration.sharesMemory = false
        configuration.programName = name
        return configuration
    }

    /// Connects a connection to a peer that plays the other side.
    ///
    /// - Parameters:
    ///   - side: The side that the peer plays.
    ///   - use: Makes the connection at its end, and uses it.
    private func meet(
        _ side: String, over transport: RawPeerConnection.Transport,
        _ use: ((reading: CInt, writing: CInt)) async throws -> Void
    ) async throws {
        let exchange = try Exchange()
        let (raw, end) = try RawPeerConnection.ends(transport)
        async let played = onThread { exchange.play(side, by: raw) }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await use(end)) } catch { outcome = .failure(error) }
        let difference = try await played
        #expect(difference == nil)
        try outcome.get()
    }

    @Test(
        "A connection as the worker sends the bytes that the article shows",
        arguments: RawPeerConnection.Transport.allCases)
    func worker(over transport: RawPeerConnection.Transport) async throws {
        try await meet("tool", over: transport) { end in
            let connection = try await RawPeerConnection.adopt(end, isInitiator: false, configuration("worker"))
            connection.vend(People())
            let outcome = await connection.ended
            if case .closedByPeer = outcome { return }
            Issue.record("\(outcome)")
        }
    }

    @Test(
        "A connection as the tool sends the bytes that the article shows",
        arguments: RawPeerConnection.Transport.allCases)
    func toolInExchange(over transport: RawPeerConnection.Transport) async throws {
        try await meet("worker", over: transport) { end in
            let connection = try await RawPeerConnection.adopt(end, isInitiator: true, configuration("tool"))
            let count: Int = try await connection.root.add(Person(name: "Ada", age: 36))
            #expect(count == 1)
            // The root is released before the connection says goodbye.
            while connection.statistics.framesOut < 4, !connection.isEnded { await Task.yield() }
            await connection.close()
        }
    }
}
