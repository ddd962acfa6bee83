import Glibc

@testable import PortTransport

/// The raw end of a memory link.
struct RawEnd {
    let end: MemoryLink.End

    init(_ endpoint: ChannelEndpoint) {
        guard case .memory(let end)? = endpoint.take() else { fatalError("not a memory link") }
        self.end = end
    }

    /// - Returns: The number of bytes written.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard !bytes.isEmpty else { return 0 }
        var vector = iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
        return max(0, end.write(&vector, 1))
    }

    func read() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            var vector = iovec(iov_base: buffer.baseAddress, iov_len: buffer.count)
            count = max(0, end.read(&vector, 1))
        }
    }
}
