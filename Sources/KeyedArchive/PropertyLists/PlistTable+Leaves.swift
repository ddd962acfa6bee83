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

    /// A string; nil if it has unpaired surrogates.
    func string(_ node: PlistNode) -> String? {
        guard isShared(node) else { return freshString(node) }
        guard case .string(let text) = sharedLeaf(node) else { return nil }
        return text
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

    /// A shared string or shared bytes, made once.
    private func sharedLeaf(_ node: PlistNode) -> PlistLeaf {
        leaves.withLock { leaves in
            if let known = leaves[node.start] { return known }
            let leaf = freshLeaf(node)
            leaves[node.start] = leaf
            return leaf
        }
    }

    /// A string or bytes; the same instance each time if it is shared.
    func leaf(_ node: PlistNode) -> PlistLeaf { isShared(node) ? sharedLeaf(node) : freshLeaf(node) }

    /// A new string or new bytes.
    private func freshLeaf(_ node: PlistNode) -> PlistLeaf {
        if node.kind == .data { return .data(Data(bytes(node))) }
        guard let text = freshString(node) else { return .brokenString(units(node)) }
        return .string(text)
    }

    /// Whether a string equals the given ASCII text.
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
}
