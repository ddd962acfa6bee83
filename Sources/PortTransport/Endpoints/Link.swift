internal import CPortShims

#if canImport(Glibc)
    internal import Glibc
#else
    internal import Darwin
#endif

/// The two directions of bytes that a channel uses.
enum Link: Sendable {
    case socket(CInt)
    case streams(input: Stream, output: Stream)
    case memory(MemoryLink.End)

    /// One end of a pipe, or a socket that is used in one direction.
    struct Stream: Sendable {
        let descriptor: CInt
        let isSocket: Bool
        /// Others share the open description and must not find it non-blocking.
        ///
        /// So each call asks first whether it would wait, and writes no more than a writable pipe is sure to accept.
        let isShared: Bool
    }

    /// The bytes that a writable pipe accepts without waiting, by POSIX.
    private static let pipeGrain = 4_096

    var inputDescriptor: CInt {
        switch self {
        case .socket(let descriptor): descriptor
        case .streams(let input, _): input.descriptor
        case .memory: -1
        }
    }

    /// The descriptor that is read if it is a socket; nil if it is not.
    var inputSocket: CInt? {
        switch self {
        case .socket(let descriptor): descriptor
        case .streams(let input, _): input.isSocket ? input.descriptor : nil
        case .memory: nil
        }
    }

    var outputDescriptor: CInt {
        switch self {
        case .socket(let descriptor): descriptor
        case .streams(_, let output): output.descriptor
        case .memory: -1
        }
    }

    /// Receives into `vectors` without waiting.
    ///
    /// Returns the bytes, 0 at the end of the input, or minus an `errno`.
    func receive(
        _ vectors: UnsafePointer<iovec>, _ count: Int, _ ancillary: UnsafeMutablePointer<port_ancillary>?
    ) -> Int {
        switch self {
        case .socket(let descriptor):
            return result(port_receive(descriptor, vectors, CInt(count), ancillary))
        case .streams(let input, _):
            if input.isSocket { return result(port_receive(input.descriptor, vectors, CInt(count), ancillary)) }
            if input.isShared, port_wait_one(input.descriptor, UInt32(PORT_READABLE), 0) == 0 {
                return -Int(EAGAIN)
            }
            return result(port_read(input.descriptor, vectors, CInt(count)))
        case .memory(let end):
            return end.read(vectors, count)
        }
    }

    /// Writes without waiting.
    ///
    /// Returns the bytes or minus an `errno`.
    func send(
        _ vectors: UnsafeMutablePointer<iovec>, _ count: Int, _ descriptors: [CInt], withCredentials: Bool
    ) -> Int {
        switch self {
        case .socket(let descriptor):
            return descriptors.withUnsafeBufferPointer { numbers in
                result(
                    port_send(
                        descriptor, vectors, CInt(count), numbers.baseAddress, CInt(numbers.count), withCredentials))
            }
        case .streams(_, let output):
            if output.isSocket { return sendShared(vectors, count, output.descriptor) }
            let blocked = LoopThread.current != nil
            guard output.isShared else { return result(port_write(output.descriptor, vectors, CInt(count), blocked)) }
            guard port_wait_one(output.descriptor, UInt32(PORT_WRITABLE), 0) != 0 else { return -Int(EAGAIN) }
            vectors[0].iov_len = min(vectors[0].iov_len, Self.pipeGrain)
            return result(port_write(output.descriptor, vectors, 1, blocked))
        case .memory(let end):
            return end.write(vectors, count)
        }
    }

    private func sendShared(_ vectors: UnsafeMutablePointer<iovec>, _ count: Int, _ socket: CInt) -> Int {
        #if canImport(Darwin)
            // The call would wait in spite of its flag, so there must be room for all of it.
            guard port_wait_one(socket, UInt32(PORT_WRITABLE), 0) != 0 else { return -Int(EAGAIN) }
            vectors[0].iov_len = min(vectors[0].iov_len, 2_048)
            return result(port_send(socket, vectors, 1, nil, 0, false))
        #else
            return result(port_send(socket, vectors, CInt(count), nil, 0, false))
        #endif
    }

    /// Whether a read may return fewer bytes than there are, as on a shared description whose mode is unknown.
    var mayReadShort: Bool {
        if case .streams(let input, _) = self { return input.isShared }
        return false
    }

    private func result(_ count: Int) -> Int { count < 0 ? -Int(errno) : count }

    /// Ends both directions and wakes the threads that wait for them; the descriptors stay open.
    func shutdown() {
        switch self {
        case .socket(let descriptor): _ = port_shutdown(descriptor, true, true)
        case .streams(let input, let output):
            if input.isSocket { _ = port_shutdown(input.descriptor, true, false) }
            if output.isSocket { _ = port_shutdown(output.descriptor, false, true) }
        case .memory(let end): end.close()
        }
    }

    /// Ends the output after the bytes that were written.
    ///
    /// False if that needs the output's descriptor to be closed.
    func finishOutput() -> Bool {
        switch self {
        case .socket(let descriptor): _ = port_shutdown(descriptor, false, true)
        case .streams(_, let output):
            guard output.isSocket else { return false }
            _ = port_shutdown(output.descriptor, false, true)
        case .memory(let end): end.finishWriting()
        }
        return true
    }

    func close(alsoOutput: Bool = true) {
        switch self {
        case .socket(let descriptor): port_close_socket(descriptor)
        case .streams(let input, let output):
            if input.isSocket { port_close_socket(input.descriptor) } else { port_close(input.descriptor) }
            if alsoOutput { port_close(output.descriptor) }
        case .memory(let end): end.close()
        }
    }
}
