#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ArchivedValue {
    fileprivate init(_ leaf: PlistLeaf) {
        switch leaf {
        case .string(let text): self = .string(text)
        case .brokenString(let units): self = .brokenString(units)
        case .data(let data): self = .data(data)
        }
    }
}

extension PlistTable {
    /// Bytes, lent or copied; see `Data.init(lending:owner:)`.
    private func data(_ node: PlistNode, lends: Bool) -> ArchivedValue {
        lends ? .data(Data(lending: bytes(node), owner: owner)) : ArchivedValue(leaf(node))
    }

    /// Any node as a value; a shared or deeply nested container as its number among the shared values.
    ///
    /// Recursion goes at most `deepestInline` levels deep.
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
        case .data: return data(node, lends: lends)
        case .ascii, .utf8, .utf16:
            if node.count == 5 && isString(number, "$null") { return .null }
            return ArchivedValue(leaf(node))
        case .uid: return .reference(Int(truncatingIfNeeded: uid(node) ?? .max))
        case .array, .dictionary:
            if let shared = sharedNumbers.isEmpty ? nil : sharedNumbers[number] { return .shared(shared) }
            return container(node, lends: lends)
        }
    }

    /// A container as a value, even if it is shared.
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

    /// A dictionary's key, for which `$null` is an ordinary string.
    private func key(_ number: Int) -> ArchivedValue {
        let node = node(number)
        guard let text = string(node) else { return .brokenString(units(node)) }
        return .string(text)
    }
}
