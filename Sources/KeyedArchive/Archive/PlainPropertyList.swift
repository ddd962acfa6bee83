#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A property list that need not be an archive, checked once and read in place.
package struct PlainPropertyList: Sendable {
    /// A value; those inside of a container are named by number.
    package enum Content {
        case null
        case bool(Bool)
        case integer(Int128)
        case float(bits: UInt32)
        case double(bits: UInt64)
        /// Nil if the string has unpaired surrogates.
        case string(String?)
        case data(Data)
        case array(count: Int)
        case dictionary(count: Int)
        /// A date or a UID.
        case other
    }

    private let table: PlistTable

    /// Opens a property list in binary form or XML.
    ///
    /// - Throws: `ArchiveError` if the bytes are not one, or break a rule of the format.
    package init(_ bytes: [UInt8], limits: ArchiveLimits) throws {
        let owner = ArchiveBytes(bytes)
        table = try PlistTable.open(owner, try ArchiveFormat.detect(owner.bytes, limits: limits), limits: limits)
    }

    /// The number of the outermost value.
    package var top: Int { table.top }

    /// The content of the value with a number.
    package func content(_ number: Int) -> Content {
        let node = table.node(number)
        switch node.kind {
        case .null, .invalid: return .null
        case .isFalse: return .bool(false)
        case .isTrue: return .bool(true)
        case .integer: return .integer(table.integer(node))
        case .real:
            let bits = table.unsigned(node.start, node.count)
            return node.count == 4 ? .float(bits: UInt32(truncatingIfNeeded: bits)) : .double(bits: bits)
        case .ascii, .utf8, .utf16: return .string(table.string(node))
        case .data: return .data(Data(table.bytes(node)))
        case .array: return .array(count: node.count)
        case .dictionary: return .dictionary(count: node.count)
        case .date, .uid: return .other
        }
    }

    /// The number of the element of an array, or of the value of a dictionary's entry.
    package func element(_ container: Int, _ index: Int) -> Int {
        let node = table.node(container)
        return node.kind == .dictionary ? table.value(node, index) : table.reference(node, index)
    }

    /// The key of a dictionary's entry; nil if it has unpaired surrogates.
    package func key(_ dictionary: Int, _ index: Int) -> String? {
        table.string(table.node(table.reference(table.node(dictionary), index)))
    }

    /// Whether the outermost value is a dictionary with a key.
    package func hasKey(_ key: StaticString) -> Bool {
        let node = table.node(table.top)
        guard node.kind == .dictionary else { return false }
        return (0..<node.count).contains { table.isString(table.reference(node, $0), key) }
    }
}

/// Makes a property list that need not be an archive; values are made before the container they are in.
package struct PlainPropertyListBuilder: ~Copyable {
    private var builder: PlistBuilder
    private let limits: ArchiveLimits

    package init(limits: ArchiveLimits) {
        builder = PlistBuilder(limits: limits)
        self.limits = limits
    }

    deinit { builder.deallocate() }

    // Each returns the number of the value, and throws `ArchiveError.limit` if the property list becomes too large.

    package mutating func bool(_ value: Bool) throws -> UInt32 { try builder.bool(value) }
    package mutating func integer(_ value: Int128) throws -> UInt32 { try builder.integer(wide: value) }
    package mutating func float(bits: UInt32) throws -> UInt32 { try builder.float(bits: bits) }
    package mutating func double(bits: UInt64) throws -> UInt32 { try builder.double(bits: bits) }
    package mutating func data(_ value: [UInt8]) throws -> UInt32 { try value.withUnsafeBytes { try builder.data($0) } }

    /// Adds a string, whose UTF-8 is valid.
    package mutating func string(_ utf8: [UInt8]) throws -> UInt32 {
        try utf8.withUnsafeBytes { try builder.string(utf8: $0) }
    }

    package mutating func array(_ elements: [UInt32]) throws -> UInt32 { try builder.array(elements) }

    /// Adds a dictionary of alternating keys and values.
    package mutating func dictionary(inTurn content: [UInt32]) throws -> UInt32 {
        try builder.dictionary(inTurn: content[...])
    }

    /// Completes the property list, and passes its bytes to `receiver`, piece by piece.
    ///
    /// - Parameter isXML: Whether it is written as XML, else in binary form.
    /// - Throws: What `receiver` throws, and `ArchiveError.limit` if the property list becomes too large.
    package mutating func finish(
        top: UInt32, isXML: Bool, to receiver: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let pieces = try builder.finish(top: top)
        guard isXML else { return try pieces.write(to: receiver) }
        try XMLPlistWriter.write(pieces.inOnePiece(), limits: limits, to: receiver)
    }
}
