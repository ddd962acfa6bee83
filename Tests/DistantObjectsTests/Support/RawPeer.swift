import CPortShims
import TestSupport
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
    import Glibc
#else
    import Foundation
#endif

/// A peer that sends any bytes, also those that the protocol forbids.
final class RawPeer: @unchecked Sendable {
    // Used by one test at a time.
    private(set) var descriptor: CInt
    /// The descriptor to write to; for a socket the same as the one to read from.
    private var output: CInt

    struct Frame {
        var kind: UInt8
        var flags: UInt8
        var body: [UInt8]
    }

    init(descriptor: CInt) {
        self.descriptor = descriptor
        output = descriptor
        bound()
    }

    /// Makes a peer over two pipes.
    init(reading: CInt, writing: CInt) {
        descriptor = reading
        output = writing
        // The other end may be closed at any time.
        signal(SIGPIPE, SIG_IGN)
    }

    init(connectingTo path: String) throws {
        descriptor = socket(AF_UNIX, streamSocket, 0)
        output = descriptor
        bound()
        try #require(connect(to: path))
    }

    /// Connects its socket.
    func connect(to path: String) -> Bool {
        systemConnect(descriptor, to: path)
    }

    deinit {
        close()
    }

    /// A read or write that takes longer than `TestTimeout.wait` fails as if the peer were gone.
    private func bound() {
        var time = timeval(tv_sec: Int(TestTimeout.wait.components.seconds), tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    func close() {
        if output >= 0, output != descriptor { port_close(output) }
        if descriptor >= 0 { port_close(descriptor) }
        descriptor = -1
        output = -1
    }

    /// Shuts down its writing half.
    func finishSending() {
        if output == descriptor {
            shutdown(output, CInt(SHUT_WR))
        } else if output >= 0 {
            port_close(output)
            output = -1
        }
    }

    /// Whether the other end may still read.
    var canSend: Bool { !port_is_hung_up(output) }

    /// Received bytes that were not read.
    var unread: Int {
        var count: CInt = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 ? Int(count) : 0
    }

    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { bytes in
                output == descriptor ? systemSend(output, bytes) : write(output, bytes.baseAddress, bytes.count)
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ kind: UInt8, flags: UInt8 = 0, _ body: [UInt8]) {
        send(Self.frame(kind, flags: flags, body))
    }

    static func frame(
        _ kind: UInt8, flags: UInt8 = 0, descriptors: UInt8 = 0, _ body: [UInt8], length: UInt32? = nil
    ) -> [UInt8] {
        let length = length ?? UInt32(body.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + [kind, flags, descriptors, 0] + body
    }

    /// A correct `Hello`.
    static let hello = greeting()

    static func number(_ value: UInt64) -> [UInt8] {
        var rest = value
        var bytes: [UInt8] = []
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// Removes the number at the start of `bytes`, and returns it.
    static func takeNumber(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        guard let count = bytes.firstIndex(where: { $0 < 0x80 }).map({ $0 - bytes.startIndex + 1 }) else { return nil }
        defer { bytes.removeFirst(count) }
        return bytes.prefix(count).enumerated().reduce(0) { $0 | UInt64($1.element & 0x7F) << UInt64(7 * $1.offset) }
    }

    static func text(_ text: String) -> [UInt8] { number(UInt64(text.utf8.count)) + Array(text.utf8) }

    /// A `Hello` with these grants.
    static func greeting(
        queuedCalls: UInt64 = 1_024, runningCalls: UInt64 = 1_024, message: UInt64 = 1 << 20, features: UInt64 = 0
    ) -> [UInt8] {
        [0x44, 0x4F, 0x42, 0x4A] + number(1) + number(features) + number(queuedCalls) + number(runningCalls)
            + number(message) + text("raw")
    }

    /// A `Return` whose only value is its object in that slot, or else the integer 5.
    static func result(question: UInt64 = 0, slot: UInt64? = nil) -> [UInt8] {
        guard let slot else { return number(question) + [0, 0] + [0, 1, 5] }
        return number(question) + [1, 1] + number(slot) + [0, 0] + [0, 2, 0xD7, 0]
    }

    /// A `Call` to the root directory.
    static func call(
        question: UInt64 = 0, slot: UInt64 = 0, generation: UInt64 = 0, name: [UInt8] = [0] + text("root"),
        arguments: UInt64 = 1, references: [UInt8] = [0], shapes: [UInt8] = [0], body: [UInt8] = []
    ) -> [UInt8] {
        number(question) + number(slot) + number(generation) + name + number(arguments) + references + shapes + body
    }

    /// The next frame, or `nil` at the end.
    ///
    /// Blocks.
    func read() -> Frame? {
        guard let header = read(8) else { return nil }
        let length = (0..<4).reduce(0) { $0 | Int(header[$1]) << (8 * $1) }
        guard let body = read(length) else { return nil }
        return Frame(kind: header[4], flags: header[5], body: body)
    }

    /// The bytes of the next frame, with its header.
    func readWhole() -> [UInt8]? {
        guard let header = read(8) else { return nil }
        guard let body = read((0..<4).reduce(0) { $0 | Int(header[$1]) << (8 * $1) }) else { return nil }
        return header + body
    }

    /// Reads this many bytes.
    func skip(_ count: Int) {
        if count > 0 { _ = read(count) }
    }

    func readToEnd() -> [Frame] {
        var frames: [Frame] = []
        while let frame = read() { frames.append(frame) }
        return frames
    }

    private var isReadable: Bool { Self.awaitInput(descriptor) }

    /// Blocks until a descriptor has input, or a process that connects.
    static func awaitInput(_ descriptor: CInt) -> Bool {
        port_wait_one(descriptor, UInt32(PORT_READABLE), TestTimeout.wait.components.seconds * 1_000_000_000) > 0
    }

    private func read(_ count: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var chunk = [UInt8](repeating: 0, count: count - bytes.count)
            guard isReadable else { return nil }
            let got = systemRead(descriptor, &chunk)
            guard got > 0 else { return nil }
            bytes += chunk[..<got]
        }
        return bytes
    }
}
