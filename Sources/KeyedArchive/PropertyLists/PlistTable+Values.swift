import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension PlistTable {
    func bytes(_ node: PlistNode) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + node.start, count: node.kind == .utf16 ? 2 * node.count : node.count)
    }

    /// An integer of any size; all but those of 8 and 16 bytes are unsigned.
    func integer(_ node: PlistNode) -> Int128 {
        switch node.count {
        case 8: return Int128(Int64(bitPattern: unsigned(node.start, 8)))
        case 16:
            return Int128(bitPattern: UInt128(unsigned(node.start, 8)) << 64 | UInt128(unsigned(node.start + 8, 8)))
        default: return Int128(unsigned(node.start, node.count))
        }
    }

    /// The number a UID holds; nil if it needs more than 64 bits.
    @inline(__always)
    func uid(_ node: PlistNode) -> UInt64? {
        if node.count <= 8 { return unsigned(node.start, node.count) }
        var position = node.start
        while position < node.start + node.count - 8 {
            guard base.load(fromByteOffset: position, as: UInt8.self) == 0 else { return nil }
            position += 1
        }
        return unsigned(position, 8)
    }

    /// The units of a UTF-16 string.
    func units(_ node: PlistNode) -> [UInt16] {
        [UInt16](unsafeUninitializedCapacity: node.count) { target, initialized in
            for index in 0..<node.count {
                target[index] = UInt16(
                    bigEndian: base.loadUnaligned(fromByteOffset: node.start + 2 * index, as: UInt16.self))
            }
            initialized = node.count
        }
    }

    /// A string; nil if it has surrogates that are no pairs.
    func string(_ node: PlistNode) -> String? {
        if isShared(node) {
            guard case .string(let text) = sharedLeaf(node) else { return nil }
            return text
        }
        return freshString(node)
    }

    private func freshString(_ node: PlistNode) -> String? {
        switch node.kind {
        case .utf16: String(validating: units(node), as: UTF16.self)
        default: String(decoding: bytes(node), as: UTF8.self)
        }
    }

    @inline(__always)
    private func isShared(_ node: PlistNode) -> Bool {
        node.count >= Self.smallestShared && !sharedLeaves.isEmpty && sharedLeaves.contains(node.start)
    }

    /// A string or bytes that stand at several places, made once.
    private func sharedLeaf(_ node: PlistNode) -> ArchivedValue {
        leaves.withLock { leaves in
            if let known = leaves[node.start] { return known }
            let value = leaf(node)
            leaves[node.start] = value
            return value
        }
    }

    /// A string or bytes of its own.
    private func leaf(_ node: PlistNode) -> ArchivedValue {
        if node.kind == .data { return .data(Data(bytes(node))) }
        guard let text = freshString(node) else { return .brokenString(units(node)) }
        return .string(text)
    }

    /// Whether a string is the one given, which is ASCII.
    func isString(_ number: Int, _ text: StaticString) -> Bool {
        let node = node(number)
        guard node.kind == .ascii || node.kind == .utf8 else {
            return node.kind == .utf16 && node.count == text.utf8CodeUnitCount && string(node) == "\(text)"
        }
        guard node.count == text.utf8CodeUnitCount else { return false }
        let bytes = bytes(node)
        for index in 0..<node.count where bytes[index] != text.utf8Start[index] { return false }
        return true
    }

    /// Bytes, which are lent, see `Data.init(lending:owner:)`, or copied.
    private func data(_ node: PlistNode, lends: Bool) -> Data {
        if lends { return Data(lending: bytes(node), owner: owner) }
        guard isShared(node), case .data(let data) = sharedLeaf(node) else { return Data(bytes(node)) }
        return data
    }

    /// Any node as a value; containers that are shared or nested deep as their number among those.
    ///
    /// The nesting that recursion follows is at most `deepestInline`.
    ///
    /// - Parameter lends: Whether `Data` is lent; see `Data.init(lending:owner:)`.
    func value(_ number: Int, lends: Bool) -> ArchivedValue {
        let node = node(number)
        switch node.kind {
        case .invalid, .null: return .null
        case .isFalse: return .bool(false)
        case .isTrue: return .bool(true)
        case .integer: return .whole(integer(node))
        case .real:
            return node.count == 4
                ? .float(bits: UInt32(truncatingIfNeeded: unsigned(node.start, 4)))
                : .double(bits: unsigned(node.start, 8))
        case .date: return .date(bits: unsigned(node.start, 8))
        case .data: return .data(data(node, lends: lends))
        case .ascii, .utf8, .utf16:
            if node.count == 5 && isString(number, "$null") { return .null }
            return isShared(node) ? sharedLeaf(node) : leaf(node)
        case .uid: return .reference(Int(truncatingIfNeeded: uid(node) ?? .max))
        case .array, .dictionary:
            if let shared = sharedNumbers.isEmpty ? nil : sharedNumbers[number] { return .shared(shared) }
            return container(node, lends: lends)
        }
    }

    /// A container as a value, also if it is shared.
    func container(_ node: PlistNode, lends: Bool) -> ArchivedValue {
        if node.kind == .array {
            var elements: [ArchivedValue] = []
            elements.reserveCapacity(node.count)
            for index in 0..<node.count { elements.append(value(reference(node, index), lends: lends)) }
            return .list(elements)
        }
        var pairs: [ArchivedValue.Pair] = []
        pairs.reserveCapacity(node.count)
        for index in 0..<node.count {
            pairs.append(.init(key(reference(node, index)), value(value(node, index), lends: lends)))
        }
        return .map(pairs)
    }

    /// A key of a dictionary, for which the name of nil is a name like others.
    private func key(_ number: Int) -> ArchivedValue {
        let node = node(number)
        guard let text = string(node) else { return .brokenString(units(node)) }
        return .string(text)
    }
}
