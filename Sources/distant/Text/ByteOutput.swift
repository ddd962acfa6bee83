#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Collects bytes for a file or terminal into large writes.
///
/// After an error nothing more is written; `check` and `flush` throw it.
final class ByteOutput {
    /// Thrown if more than the limit would be written.
    struct TooLong: Error {}

    /// Nil if the bytes stay in memory.
    private let descriptor: CInt?
    private let name: String
    private var buffer: [UInt8] = []
    private var written = 0
    private var failure: (any Error)?
    /// The most bytes that may be written in total.
    var limit = Int.max

    private static let block = 1 << 16

    /// The bytes that stay in memory; `flush` completes them.
    private(set) var memory: [UInt8] = []

    /// - Parameter descriptor: Where to write; nil to keep the bytes in `memory`.
    init(descriptor: CInt?, named name: String) {
        self.descriptor = descriptor
        self.name = name
        buffer.reserveCapacity(Self.block)
    }

    func append(_ byte: UInt8) {
        buffer.append(byte)
        if buffer.count >= Self.block { send() }
    }

    func append(_ text: String) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.block { send() }
    }

    func append(_ text: StaticString) {
        buffer.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        if buffer.count >= Self.block { send() }
    }

    func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

    func append(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count < Self.block else {
            // Large content is written in place, without a copy.
            send()
            return send(bytes)
        }
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.block { send() }
    }

    /// Throws if an error has occurred so far.
    func check() throws {
        if let failure { throw failure }
    }

    /// Writes the remaining bytes.
    func flush() throws {
        send()
        try check()
    }

    private func send() {
        buffer.withUnsafeBytes { send($0) }
        buffer.removeAll(keepingCapacity: buffer.capacity <= 2 * Self.block)
    }

    private func send(_ bytes: UnsafeRawBufferPointer) {
        written += bytes.count
        if written > limit && failure == nil { failure = TooLong() }
        guard failure == nil else { return }
        guard let descriptor else { return memory.append(contentsOf: bytes) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process has made the shared descriptor non-blocking.
                var interest = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&interest, 1, -1)
            } else if errno != EINTR {
                failure = FileError(name, cannotBe: "written", errno: errno)
                return
            }
        }
    }
}
