import CPortShims
import Glibc

@testable import PortTransport

/// The far end of a socketpair, for a peer that follows rules only on request.
///
/// Not for use by two threads at a time.
final class HostileSocket: @unchecked Sendable {
    private(set) var descriptor: CInt
    /// Received bytes that were not processed yet.
    private(set) var unread: [UInt8] = []
    /// Received descriptors.
    private(set) var received: [CInt] = []
    private var sendsCredentials = true

    init(_ endpoint: ChannelEndpoint) {
        guard case .socket(let descriptor)? = endpoint.take() else { fatalError("not a socket") }
        self.descriptor = descriptor
    }

    deinit { close() }

    func close() {
        for descriptor in received { port_close(descriptor) }
        received = []
        if descriptor >= 0 { port_close(descriptor) }
        descriptor = -1
    }

    func shutdown(reading: Bool, writing: Bool) { _ = port_shutdown(descriptor, reading, writing) }

    /// Sends as many bytes as the kernel accepts.
    ///
    /// If it refuses the descriptors, only the bytes are sent.
    ///
    /// - Returns: The number of bytes sent.
    @discardableResult
    func send(_ bytes: [UInt8], _ descriptors: [CInt] = []) -> Int {
        let attempt = { (descriptors: [CInt]) in
            bytes.withUnsafeBytes { bytes in
                var vector = iovec(
                    iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
                return port_send(
                    self.descriptor, &vector, 1, descriptors, CInt(descriptors.count), self.sendsCredentials)
            }
        }
        var sent = attempt(descriptors)
        if sent < 0, !descriptors.isEmpty { sent = attempt([]) }
        if sent > 0 { sendsCredentials = false }
        return max(0, sent)
    }

    /// Reads the available input.
    ///
    /// - Returns: False if there is none, or the stream has ended.
    @discardableResult
    func receive(waiting nanoseconds: Int64 = 0) -> Bool {
        if nanoseconds > 0 { _ = port_wait_one(descriptor, UInt32(PORT_READABLE), nanoseconds) }
        var ancillary = port_ancillary()
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = bytes.withUnsafeMutableBytes { bytes in
            var vector = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
            return port_receive(descriptor, &vector, 1, &ancillary)
        }
        guard count > 0 else { return false }
        unread += bytes[..<count]
        withUnsafeBytes(of: ancillary.descriptors) {
            received += $0.bindMemory(to: CInt.self)[..<Int(ancillary.count)]
        }
        return true
    }

    func forget() { unread = [] }

    /// The received descriptors; the caller closes them.
    func takeReceived() -> [CInt] {
        defer { received = [] }
        return received
    }

    /// Waits for a frame of a kind and flags, and discards the frames around it.
    ///
    /// - Returns: Whether it arrived within `Bound.step`.
    func awaitFrame(_ kind: UInt8, flags: UInt8 = 0) -> Bool {
        let end = monotonicNow() &+ Bound.step
        repeat {
            if RawFrame.takeAll(from: &unread).contains(where: { $0.kind == kind && $0.flags == flags }) { return true }
            receive(waiting: 100_000_000)
        } while monotonicNow() < end
        return false
    }
}

/// A frame as raw bytes.
struct RawFrame {
    var kind: UInt8
    var flags: UInt8
    var body: [UInt8]

    /// Removes and returns the whole frames at the start of `bytes`; drops bytes that cannot begin a frame.
    static func takeAll(from bytes: inout [UInt8]) -> [RawFrame] {
        var frames: [RawFrame] = []
        var start = 0
        while bytes.count - start >= 8 {
            let length = (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
            guard length <= 73_728 else {
                bytes = []
                return frames
            }
            guard bytes.count - start >= 8 + length else { break }
            let body = bytes[(start + 8)..<(start + 8 + length)]
            frames.append(RawFrame(kind: bytes[start + 4], flags: bytes[start + 5], body: Array(body)))
            start += 8 + length
        }
        bytes.removeFirst(start)
        return frames
    }

    static func bytes(_ kind: UInt8, flags: UInt8 = 0, descriptors: Int = 0, _ body: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: body.count >> (8 * $0)) }
            + [kind, flags, UInt8(truncatingIfNeeded: descriptors), 0] + body
    }
}

/// The time limit of a step, in nanoseconds.
enum Bound {
    /// Much longer than any step takes, even on a busy machine.
    static let step: UInt64 = 30_000_000_000
}

/// Waits until the condition holds; traps after the time limit.
func waitUntil(_ sentence: String, _ condition: () -> Bool) {
    let end = monotonicNow() &+ Bound.step
    while !condition() {
        require(monotonicNow() < end, "this takes too long: \(sentence)")
        usleep(100)
    }
}

func require(_ condition: Bool, _ sentence: @autoclosure () -> String) {
    if !condition { fatalError(sentence()) }
}

/// The sockets, pipes and shared memory that this process has open.
///
/// Not counted are pollers, which are kept for the next blocking call.
func openDescriptors() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(directory) }
    var count = 0
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        var target = [CChar](repeating: 0, count: 64)
        guard readlink("/proc/self/fd/\(name)", &target, 63) > 0 else { continue }
        let link = String(decoding: target.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if ["socket:", "pipe:", "/memfd:"].contains(where: link.hasPrefix) { count += 1 }
    }
    return count
}
