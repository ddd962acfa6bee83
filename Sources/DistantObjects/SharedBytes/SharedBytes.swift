import PortTransport

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Bytes that another process of the same machine reads where they are, without a copy.
///
/// `Connection.withBlob` makes them, or this type itself does, without a connection: of an array, of a `Data`, or of a file.
/// Those are copied once when they are sent. A method takes them as an argument or returns them, also within structures and arrays:
///
/// ```swift
/// let image = try connection.withBlob(byteCount: size) { memory in render(into: memory) }
/// try await screen.show(image)
///
/// func show(_ image: SharedBytes) { image.withUnsafeBytes { draw($0) } }
/// ```
///
/// They lie in memory that both processes have mapped, if the connection shares memory; else they are sent as a `Data` is, and
/// the receiver has them in memory of its own. Either way the receiver keeps the memory until its last `SharedBytes` of it is
/// gone, also when the connection has ended before. As long as one of the two processes has some, the sender's memory is not
/// used for anything else. So do not keep them for long: copy what you keep.
///
/// In archives and messages they are the same value as a `Data`. A peer may send a `Data` or an array of `UInt8` where a method
/// takes `SharedBytes`, and the other way round.
///
/// - Important: **The process that sent them can change them at any time**, also while you read them. An honest one does not,
///   and no other process can. What comes from a process that you do not trust has to be copied first, and checked only then:
///   `Data(bytes)` or `[UInt8](bytes)`. Within `withUnsafeBytes` read each byte once; a second look may find another value. For
///   this reason they are no collection: much of the standard library relies on it that bytes stay as they are, as when it
///   makes a string of them.
public struct SharedBytes: @unchecked Sendable {  // The memory is only read through it.
    enum Memory {
        /// Memory of this process.
        case data(Data)
        case array([UInt8])
        case file(MappedFile)
        case block(MessageBlock)
        /// Memory that this process has made for the peer.
        case made(MadeBlob)
        /// Memory that the peer has made.
        case taken(TakenBlob)
    }

    let memory: Memory
    /// The place of the bytes in it.
    let range: Range<Int>

    init(_ memory: Memory, _ range: Range<Int>) {
        self.memory = memory
        self.range = range
    }

    /// Bytes in memory of this process.
    ///
    /// When they are sent, they are copied into memory that both processes have mapped, if the connection has some for them,
    /// else into the message.
    ///
    /// - Complexity: O(1)
    public init(_ bytes: Data) { self.init(.data(bytes), 0..<bytes.count) }

    /// Bytes in memory of this process; sent as those of a `Data`.
    ///
    /// - Complexity: O(1)
    public init(_ bytes: [UInt8]) { self.init(.array(bytes), 0..<bytes.count) }

    /// The bytes of a file, which is mapped and not read.
    ///
    /// Only the parts that are used are read from the disk. When the bytes are sent, they are copied as those of a `Data`.
    ///
    /// - Important: If a process shortens the file meanwhile, reading the bytes that are gone ends this process with `SIGBUS`, as
    ///   with all mapped files. Changes to the file may show in the bytes.
    /// - Parameter path: The path of a regular file.
    /// - Throws: `ConnectionError.transport` if the file cannot be opened or mapped.
    public init(mappingFile path: String) throws {
        do throws(TransportError) {
            let file = try MappedFile(path)
            self.init(.file(file), 0..<file.bytes.count)
        } catch {
            throw ConnectionError(.transport, error.message, context: path, underlying: error)
        }
    }

    /// The number of bytes.
    public var count: Int { range.count }

    /// Whether there are no bytes.
    public var isEmpty: Bool { range.isEmpty }

    /// Whether they lie in memory that both processes have mapped.
    ///
    /// If not, nothing can change them, unless they are those of a mapped file.
    public var isShared: Bool {
        switch memory {
        case .data, .array, .file, .block: false
        case .made, .taken: true
        }
    }

    /// Calls the closure with the bytes, where they are.
    ///
    /// The memory may be used until the closure returns, and only be read.
    ///
    /// - Parameter body: Gets the bytes, which a hostile sender may change meanwhile.
    /// - Returns: What the closure returns.
    /// - Throws: What the closure throws.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(memory) {} }
        switch memory {
        case .data(let data):
            // Foundation's function has no typed errors.
            let outcome = data.withUnsafeBytes { bytes in
                Swift.Result { () throws(Failure) in try body(UnsafeRawBufferPointer(rebasing: bytes[range])) }
            }
            return try outcome.get()
        case .array(let array):
            let outcome = array.withUnsafeBytes { bytes in
                Swift.Result { () throws(Failure) in try body(UnsafeRawBufferPointer(rebasing: bytes[range])) }
            }
            return try outcome.get()
        case .file(let file): return try body(UnsafeRawBufferPointer(rebasing: file.bytes[range]))
        case .block(let block): return try body(UnsafeRawBufferPointer(rebasing: block.bytes[range]))
        case .made(let blob): return try body(UnsafeRawBufferPointer(rebasing: blob.region.memory.bytes[range]))
        case .taken(let blob): return try body(UnsafeRawBufferPointer(rebasing: blob.region.memory.bytes[range]))
        }
    }

    /// The byte at a position.
    ///
    /// - Precondition: The position is at least 0 and less than `count`.
    public subscript(position: Int) -> UInt8 {
        precondition(position >= 0 && position < count, "there is no byte at that position")
        return withUnsafeBytes { $0[position] }
    }

    /// A part of the bytes, which is not copied and keeps the memory of all.
    ///
    /// Its first byte has the position 0.
    ///
    /// - Precondition: The range lies in `0..<count`.
    public subscript(range: Range<Int>) -> SharedBytes {
        precondition(range.lowerBound >= 0 && range.upperBound <= count, "the range is not within the bytes")
        let start = self.range.lowerBound
        return SharedBytes(memory, start + range.lowerBound..<start + range.upperBound)
    }
}

extension SharedBytes: CustomStringConvertible {
    /// The number of bytes, without their values.
    public var description: String { "SharedBytes(\(count) bytes)" }
}

extension Data {
    /// A copy of the bytes.
    ///
    /// Takes O(*n*) time.
    public init(_ bytes: SharedBytes) { self = bytes.withUnsafeBytes { Data($0) } }
}

extension [UInt8] {
    /// A copy of the bytes.
    ///
    /// Takes O(*n*) time.
    public init(_ bytes: SharedBytes) { self = bytes.withUnsafeBytes { [UInt8]($0) } }
}
