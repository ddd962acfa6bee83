/// What the values in the JSON of a typedstream have to be.
extension JSONDocument {
    /// Checks that an object has no members but these, each once at most.
    func expectOnly(_ names: [StaticString], in node: Int) throws {
        guard case .object = kind(node) else { return }
        var count = 0
        var key = node + 1
        while key < next(node) {
            count += 1
            let isKnown = names.contains { isKey(key, $0) }
            guard isKnown, count <= names.count else {
                let name = String(decoding: (string(key) ?? []).prefix(40), as: UTF8.self)
                let expected = names.map { "“\($0)”" }.joined(separator: ", ")
                throw problem("expected \(expected) once each, found \(PlainText.quoted(name))", at: key + 1)
            }
            key = next(key + 1)
        }
    }

    /// A text: a string, or bytes in hexadecimal.
    ///
    /// - Parameters:
    ///   - value: The text; nil is an error.
    ///   - node: The value that it belongs to.
    func typedStreamText(_ value: Int?, _ node: Int) throws -> [UInt8] {
        guard let value else { throw problem("expected a text", at: node) }
        if let hex = member(value, "hex") {
            try expectOnly(["hex"], in: value)
            return try self.hex(hex)
        }
        guard let text = string(value) else { throw problem("expected a text", at: value) }
        return text
    }

    /// The bytes of a type string, each of which is a character.
    func latin1(_ text: [UInt8], _ node: Int) throws -> [UInt8] {
        try String(decoding: text, as: UTF8.self).unicodeScalars.map {
            guard let byte = UInt8(exactly: $0.value) else {
                throw problem("expected characters up to U+00FF, each of which is a byte", at: node)
            }
            return byte
        }
    }

    /// The bits of a floating-point number.
    func bits(_ node: Int, _ name: StaticString, digits: Int) throws -> UInt64 {
        guard let text = member(node, name).flatMap(string), text.count == digits,
            let bits = UInt64(String(decoding: text, as: UTF8.self), radix: 16)
        else { throw problem("expected {\"\(name)\": \(digits) hexadecimal digits}", at: node) }
        try expectOnly([name], in: node)
        return bits
    }
}
