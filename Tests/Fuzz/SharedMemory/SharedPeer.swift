import CPortShims
import Glibc
import Synchronization

@testable import PortTransport

/// The peer of a connection, from its first frame on; a script says what it does in the memory.
///
/// Not for use by two threads at a time, except `fire`.
final class SharedPeer: @unchecked Sendable {
    private let socket: HostileSocket
    let memory: HostileMemory
    /// Bytes of the connection that were received and not processed yet.
    private var unread: [UInt8] = []
    private let ceases = Atomic<Bool>(false)

    /// The number of the first frame in the memory.
    private let firstNumber: UInt64

    /// Greets, and switches to shared memory by the rules.
    init(_ endpoint: ChannelEndpoint, makes: Bool) {
        let socket = HostileSocket(endpoint)
        self.socket = socket
        firstNumber = makes ? 5 : 4
        socket.send(RawFrame.bytes(1, Frames.hello(features: makes ? 14 : 15)))
        require(socket.awaitFrame(1), "no Hello came")
        if makes {
            // The connection asks for memory only after some traffic.
            socket.send(RawFrame.bytes(11, [1]))
            require(socket.awaitFrame(17, flags: 0), "nobody asked for memory")
            guard let made = HostileMemory() else { fatalError("no memory") }
            memory = made
            socket.send(RawFrame.bytes(17, flags: 1, descriptors: 3, []), made.descriptors)
            require(socket.awaitFrame(17, flags: 2), "the connection did not go over")
            socket.send(RawFrame.bytes(17, flags: 2, []))
        } else {
            socket.send(RawFrame.bytes(17, flags: 0, []))
            require(socket.awaitFrame(17, flags: 1), "no memory came")
            guard let taken = HostileMemory(taking: socket.takeReceived()) else { fatalError("no memory") }
            memory = taken
            socket.send(RawFrame.bytes(17, flags: 2, []))
            require(socket.awaitFrame(17, flags: 2), "the connection did not go over")
        }
    }

    func leave() { socket.close() }

    /// Performs the actions of the script, until time runs out.
    func act(_ deeds: inout Deeds) {
        let end = monotonicNow() &+ 200_000_000
        while !deeds.isOver, monotonicNow() < end {
            let deed = deeds.next()
            switch deed & 15 {
            case 0:
                let (kind, flags, count) = (deeds.byte(), deeds.byte(), deeds.short() & 1_023)
                memory.write(RawFrame.bytes(kind, flags: flags, deeds.bytes(count)), tells: deed & 16 == 0)
            case 1, 2: memory.write(Frames.known(deeds.byte()), tells: deed & 16 == 0)
            case 3: serve()
            case 4: for _ in 0..<Int(deed >> 4) + 1 where !serve() { usleep(100) }
            case 5, 6:
                let (choice, form) = (deeds.byte(), deeds.byte())
                memory.poke(choice, memory.value(choice, form))
                if deed & 16 == 0 { tell() }
            case 7: memory.poke(deeds.byte(), UInt64(deeds.byte()) & 3)
            case 8: memory.scribble(deeds.bytes(Int(deed >> 4) + 1), at: deeds.short() << 3)
            case 9: pour(Int(deed >> 4) + 1)
            case 10: memory.abuse(doorbell: Int(deed >> 4 & 1), deeds.byte())
            case 11: memory.disturb(deed >> 4)
            case 12: usleep(UInt32(deed >> 4) * 50)
            case 13: for _ in 0..<20 where !memory.hasInput { usleep(50) }
            case 14: stir(SeededGenerator(seed: UInt64(deeds.byte())), count: 256)
            default: socket(deed >> 4)
            }
        }
    }

    /// Writes many frames, more than a ring can hold.
    ///
    /// They cancel question 0, which may be running, finished or never asked.
    private func pour(_ count: Int) {
        let cancel = RawFrame.bytes(4, [0])
        memory.write((0..<(count * 512)).flatMap { _ in cancel })
        for _ in 0..<20 where !memory.isRead { usleep(100) }
    }

    private func tell() { for doorbell in memory.doorbells { port_doorbell_ring(doorbell) } }

    /// Offers a region by the rules, which it does not use itself.
    private func offerRegion() {
        var region: UnsafeMutableRawPointer?
        let descriptor = port_region_make(Region.size, &region)
        guard descriptor >= 0 else { return }
        socket.send([1], [descriptor])
        port_close(descriptor)
        if let region { port_memory_unmap(region, Region.size) }
    }

    /// Writes a call in fragments, which lie in pieces; its opener's number is right if it is the first frame here.
    private func writePieces(_ counts: [UInt32]) {
        let total = counts.reduce(0) { $0 + UInt64($1) }
        var frames = RawFrame.bytes(
            2, flags: 0x80, withUnsafeBytes(of: total.littleEndian, Array.init) + [0, 0, 0, 1, 1, 0x78, 1, 0, 0])
        for (index, count) in counts.enumerated() {
            let number = withUnsafeBytes(of: firstNumber.littleEndian, Array.init)
            frames += RawFrame.bytes(
                255, flags: index == counts.count - 1 ? 5 : 4,
                number + withUnsafeBytes(of: count.littleEndian, Array.init))
        }
        memory.write(frames)
    }

    private func socket(_ way: UInt8) {
        switch way {
        case 0: socket.send([0])
        case 1: socket.send(RawFrame.bytes(17, flags: 2, []))
        case 2: socket.shutdown(reading: false, writing: true)
        case 3: socket.shutdown(reading: true, writing: false)
        case 4: socket.send([1], memory.descriptors.filter { $0 >= 0 })
        case 5: socket.close()
        case 6, 7: offerRegion()
        case 8: socket.send([0])
        case 9: writePieces([100_000, 1, 1 << 20, 30_000])
        case 10: writePieces([UInt32](repeating: 9, count: 6))
        case 11:
            // Takes a region of the connection, as far as the connection can tell.
            socket.receive()
            for descriptor in socket.takeReceived() { port_close(descriptor) }
            memory.answer(2)
        case 12: memory.answer(1)
        case 13: memory.takePieces(1)
        default: break
        }
    }

    /// Overwrites words at random, and rings the doorbell.
    private func stir(_ random: SeededGenerator, count: Int) {
        var random = random
        for _ in 0..<count {
            let choice = UInt8(truncatingIfNeeded: random.next())
            memory.poke(choice, memory.value(choice, UInt8(truncatingIfNeeded: random.next())))
            if random.below(16) == 0 { tell() }
        }
    }

    /// Overwrites words and bytes until `cease`, while everything else continues.
    func fire(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        while !ceases.load(ordering: .relaxed) {
            if random.below(4) == 0 {
                memory.scribble([UInt8(truncatingIfNeeded: random.next())], at: random.below(HostileMemory.size))
            }
            stir(SeededGenerator(seed: random.next()), count: 1 + random.below(8))
            memory.disturb(UInt8(truncatingIfNeeded: random.next()))
            // Lets the other threads run, too.
            usleep(UInt32(random.below(200)))
        }
    }

    func cease() { ceases.store(true, ordering: .relaxed) }

    /// Answers the received frames; false if there are none.
    @discardableResult
    private func serve() -> Bool {
        unread += memory.read()
        let frames = RawFrame.takeAll(from: &unread)
        let answers = frames.reduce(into: [UInt8]()) { $0 += Frames.answer(to: $1) ?? [] }
        memory.write(answers)
        return !frames.isEmpty
    }
}

/// Frames that follow the rules, for the beginning of a connection.
enum Frames {
    static func hello(features: UInt8) -> [UInt8] {
        // 200 calls, and messages of up to a mebibyte.
        [0x44, 0x4F, 0x42, 0x4A, 1, features, 0xC8, 1, 0xC8, 1, 0x80, 0x80, 0x40, 1, 0x78]
    }

    /// The answer that the rules require for a frame of the connection.
    static func answer(to frame: RawFrame) -> [UInt8]? {
        var body = frame.body[...]
        switch frame.kind {
        case 2 where frame.flags & 1 == 0:
            if frame.flags & 0x80 != 0 { body = body.dropFirst(8) }
            // The number 5; a caller that expects another type gets an error.
            return RawFrame.bytes(3, number(&body) + [0, 0, 0, 1, 5])
        case 2: return RawFrame.bytes(7, flags: 2, [1])
        case 10, 11: return RawFrame.bytes(12, frame.body)
        case 255 where body.count > 8: return RawFrame.bytes(7, flags: 1, varint(body.count - 8))
        default: return nil
        }
    }

    /// One of the frames that the peer may send at the beginning.
    static func known(_ choice: UInt8) -> [UInt8] {
        let question = choice >> 4
        return switch choice & 15 {
        case 0: call(question, slot: 0, "root", [0, 1, 0x80])
        case 1: call(question, slot: 1, "echo", [0, 1, 5])
        case 2: call(question, slot: 1, "wait", [0, 0])
        case 3: call(question, slot: 1, "think", [0, 1, 3])
        case 4: call(nil, slot: 1, "note", [0, 1, 5])
        case 5: RawFrame.bytes(4, [question])
        case 6: RawFrame.bytes(10, [question])
        case 7: RawFrame.bytes(11, [question])
        case 8: RawFrame.bytes(6, [question, 1, 1, 0])
        case 9: RawFrame.bytes(7, flags: question & 3, [1])
        case 10: RawFrame.bytes(3, [question, 0, 0, 0, 1, 5])
        case 11: RawFrame.bytes(3, flags: 2, [question, 0, 0, 0, 0])
        case 12: RawFrame.bytes(16, [3, 0, 0])
        case 13: RawFrame.bytes(2, flags: 0x80, [4, 0, 0, 0, 0, 0, 0, 0] + callBody(question, slot: 1, "echo", []))
        case 14: RawFrame.bytes(255, flags: 1, [question, 0, 0, 0, 0, 0, 0, 0, 0, 1, 5, 0])
        default: RawFrame.bytes(12, [question])
        }
    }

    private static func call(_ question: UInt8?, slot: UInt8, _ name: String, _ body: [UInt8]) -> [UInt8] {
        RawFrame.bytes(2, flags: question == nil ? 1 : 0, callBody(question, slot: slot, name, body))
    }

    private static func callBody(_ question: UInt8?, slot: UInt8, _ name: String, _ body: [UInt8]) -> [UInt8] {
        (question.map { [$0] } ?? []) + [slot, 0, 1, UInt8(name.utf8.count)] + Array(name.utf8) + [1, 0, 0] + body
    }

    private static func number(_ body: inout ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        while let byte = body.popFirst() {
            bytes.append(byte)
            if byte < 0x80 { break }
        }
        return bytes
    }

    private static func varint(_ value: Int) -> [UInt8] {
        var (rest, bytes) = (value, [UInt8]())
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
