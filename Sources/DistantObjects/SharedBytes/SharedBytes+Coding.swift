public import KeyedArchive

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The coder of a message, which knows where the message goes.
protocol BlobSender: AnyObject {
    /// Whether the receiver of the message finds the bytes in memory that it has mapped.
    func mayMention(_ bytes: SharedBytes) -> Bool
    /// Copies bytes into memory that the receiver has mapped.
    ///
    /// - Returns: nil if there is none for them.
    func share(_ bytes: SharedBytes) -> SharedBytes?
}

/// Bytes as an object of a message's table.
final class SharedBlob: _ExternalByteObject, Sendable {
    let bytes: SharedBytes

    init(_ bytes: SharedBytes) { self.bytes = bytes }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { try body($0) }
    }
}

extension SharedBytes: _ExternalByteCodable {
    /// Fewer bytes are copied: to mention them would cost as much.
    private static let worthwhile = 4 << 10

    /// What is written into a message or an archive.
    @_documentation(visibility: internal)
    public func _externalBytes(for owner: AnyObject?) -> _ExternalBytes {
        let blob = SharedBlob(self)
        guard count >= Self.worthwhile, let sender = owner as? any BlobSender else { return .bytes(blob) }
        if isShared, sender.mayMention(self) { return .place(blob) }
        guard let shared = sender.share(self) else { return .bytes(blob) }
        return .place(SharedBlob(shared))
    }

    /// The bytes that an object of a message's table stands for.
    ///
    /// - Throws: `ConnectionError.wrongArgument` if it is another object.
    @_documentation(visibility: internal)
    public static func _value(ofExternal object: AnyObject) throws -> SharedBytes {
        guard let blob = object as? SharedBlob else {
            throw ConnectionError(.wrongArgument, "expected bytes, found an object", context: "SharedBytes")
        }
        return blob.bytes
    }

    /// Encodes the bytes as a `Data`.
    ///
    /// - Throws: What the encoder throws.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(self))
    }

    /// Decodes the bytes from a `Data`.
    ///
    /// - Throws: What the decoder throws.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(Data.self))
    }
}
