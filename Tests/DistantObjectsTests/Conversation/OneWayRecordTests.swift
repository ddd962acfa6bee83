import TestSupport
import Testing

@testable import DistantObjects
@testable import PortTransport

@Suite("The record of one-way messages")
struct OneWayRecordTests {
    private let lost = ConnectionError(.noSuchMessage, "lost")
    /// Of a message that has run, which is not counted.
    private let failed = ConnectionError(.methodFailed, "failed")

    /// A record of so many messages, all of which are under way.
    private func record(of count: UInt64) -> OneWayRecord {
        var record = OneWayRecord()
        for number in 1...count { record.sent(number, underWay: Int(number)) }
        return record
    }

    @Test("However many messages are under way, each can fail once", arguments: [100, 4_097, 100_000] as [UInt64])
    func underWay(count: UInt64) {
        var record = record(of: count)
        // Every third, from the end.
        for start in 0..<3 as Range<UInt64> {
            for number in stride(from: count - start, to: 0, by: -3) {
                let isFirst = record.failed(number, lost)
                let isSecond = record.failed(number, lost)
                guard isFirst, !isSecond else {
                    Issue.record("\(number) of \(count): \(isFirst) and \(isSecond)")
                    return
                }
            }
        }
        #expect(record.losses.count == Int(count))
    }

    @Test("The window follows the number of messages under way, and has a bound")
    func windowInOneWayRecord() {
        var record = OneWayRecord()
        var number: UInt64 = 0
        func send(_ count: UInt64, underWay: Int) -> UInt64 {
            for _ in 0..<count {
                number += 1
                record.sent(number, underWay: underWay)
            }
            return record.window
        }
        #expect(record.window == 0)
        // The credit that a connection has by default.
        #expect(send(20_000, underWay: 1_024) == 4_096)
        #expect(send(1, underWay: 1_025) == 8_192)
        #expect(send(20_000, underWay: 5_000) == 32_768)
        #expect(send(20_000, underWay: .max) == OneWayRecord.largestWindow)
        #expect(OneWayRecord.largestWindow == 8 * 512 << 10)
    }

    @Test("A late failure of each message that is older than the window is counted once, and no more than there are")
    func lateInOneWayRecord() {
        var record = OneWayRecord()
        for number: UInt64 in 1...10_000 { record.sent(number, underWay: 1) }
        let older = 10_000 - record.window
        for number in 1...older {
            let isFirst = record.failed(number, lost)
            let isSecond = record.failed(number, lost)
            #expect(isFirst && !isSecond, "\(number)")
        }
        // The record does not know any more that this one has failed, but that all have.
        let isAgain = record.failed(1, lost)
        #expect(!isAgain)
        let isWithinWindow = record.failed(older + 1, lost)
        #expect(isWithinWindow)
        #expect(record.losses.count == Int(older) + 1)
    }

    @Test("At the end each message is lost that is not written, or that the peer has not taken")
    func endsInOneWayRecord() {
        var unwritten = record(of: 50_000)
        _ = unwritten.failed(20_000, lost)
        unwritten.ended(.closedHere) { $0 <= 10_000 }
        #expect(unwritten.losses.count == 40_000)
        unwritten.ended(.closedHere) { _ in false }
        #expect(unwritten.losses.count == 50_000)
        var notTaken = record(of: 50_000)
        notTaken.notTaken(after: 10_000)
        #expect(notTaken.losses.count == 40_000)
    }

    @Test("Among other frames, at random, it knows the messages in its window")
    func randomInOneWayRecord() {
        let seed = TestSeed.next()
        var random = SeededGenerator(seed: seed)
        var record = OneWayRecord()
        var sent: Set<UInt64> = []
        var (last, before): (UInt64, UInt64) = (0, 1)
        for round in 0..<60 {
            for _ in 0..<random.below(2_000) {
                // Now and then more other frames than the window has.
                let isFar = random.below(2_000) == 0
                last += 1 + UInt64(random.below(3) == 0 ? random.below(isFar ? 40_000 : 70) : 0)
                record.sent(last, underWay: 1 + round * 100)
                sent.insert(last)
            }
            guard last > 0 else { continue }
            let oldest = record.oldest
            #expect(oldest >= before, "seed \(seed): what was forgotten stays so")
            before = oldest
            var copy = record
            let known = (oldest...last).filter { copy.failed($0, failed) }
            #expect(known == sent.filter { $0 >= oldest }.sorted(), "seed \(seed)")
            for _ in 0..<random.below(50) {
                let number = oldest + UInt64(random.below(Int(last - oldest) + 1))
                let hasFailed = record.failed(number, lost)
                #expect(hasFailed == (sent.remove(number) != nil), "seed \(seed)")
            }
        }
        #expect(record.window > OneWayRecord.firstWindow && before > 1, "seed \(seed)")
    }

    @Test("A failure is reported once, however many messages came after it, and a second report is a violation")
    func reports() throws {
        var limits = ConnectionLimits()
        limits.runningCalls = 6_000
        let (client, server) = try StateSide.pair(limits: limits)
        for _ in 0..<6_000 { #expect(try client.offer()) }
        #expect(try !client.offer())
        try server.receive(client.takeFrames())
        server.endOneWay(try #require(server.start()), lost)
        let reports = server.takeFrames().filter { $0.kind == .failed }
        #expect(reports.count == 1)
        try client.receive(reports)
        #expect(client.state.questions.oneWays.losses.count == 1)
        #expect(throws: ProtocolViolation.self) { try client.receive(reports) }
        #expect(client.state.questions.oneWays.losses.count == 1)
    }

    @Test("A peer that grants more credit than is used is taken at its word only up to a bound")
    func creditInOneWayRecord() throws {
        let client = StateSide(isInitiator: true)
        client.state.session.writeHello(isInitiator: true, sharesMemory: false)
        try client.receive(StateFrame(.hello, bytes: RawPeer.greeting(runningCalls: 1 << 40, features: 4)))
        #expect(client.state.session.handshake.grants.runningCalls == 1 << 20)
    }
}

extension StateFrame {
    fileprivate init(_ kind: FrameKind, bytes: [UInt8]) {
        self.init(kind)
        self.bytes = bytes
    }
}
