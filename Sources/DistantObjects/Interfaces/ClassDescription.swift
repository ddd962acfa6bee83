/// A class whose objects can be called: its name, and the messages it lists.
public struct ClassDescription: Hashable, Sendable {
    /// The class's name without its module.
    public let name: String
    /// The messages, in the order of their names.
    public let messages: [MessageDescription]

    init(_ name: String, _ messages: [MessageDescription]) {
        self.name = name
        self.messages = messages.sorted { $0.name < $1.name }
    }

    /// The message of that name.
    func message(_ name: String) -> MessageDescription? { index(of: name).map { messages[$0] } }

    /// The position of the message of that name.
    ///
    /// Searches half of the rest at each step.
    func index(of name: String) -> Int? {
        var range = messages.indices
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if messages[middle].name == name { return middle }
            if messages[middle].name < name {
                range = middle + 1..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return nil
    }
}

// The form on the wire is under “Classes of references” in WireProtocol.md.
extension ClassDescription {
    /// The bytes of the description; `nil` if it is longer than what a message may carry, or one of its names is.
    var definition: [UInt8]? {
        var names = [name]
        for message in messages {
            names += [message.name, message.result.name]
            for argument in message.arguments { names.append(argument.name) }
        }
        guard names.allSatisfy({ $0.utf8.count <= ProtocolLimits.nameBytes }) else { return nil }
        var buffer = PrefixBuffer()
        buffer.append(name)
        buffer.append(messages.count)
        for message in messages {
            var entry = PrefixBuffer()
            entry.append(message.name)
            entry.append(message.arguments.count)
            for type in message.arguments + [message.result] {
                entry.append(byte: type.kind.rawValue)
                entry.append(type.name)
            }
            buffer.append(entry.bytes.count)
            buffer.append(contentsOf: entry.bytes)
        }
        guard buffer.count <= ProtocolLimits.descriptionBytes else { return nil }
        return Array(buffer.bytes)
    }

    /// Reads a description that a peer has sent.
    ///
    /// - Throws: If it is damaged. What a later version adds behind each part is skipped.
    init(definition: [UInt8]) throws(ProtocolViolation) {
        let limit = ProtocolLimits.nameBytes
        // Copied, because `withUnsafeBytes` takes no closure with a typed error.
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: definition.count, alignment: 1)
        defer { bytes.deallocate() }
        bytes.copyBytes(from: definition)
        var reader = WireReader(UnsafeRawBufferPointer(bytes))
        let name = try reader.text(limit: limit)
        let count = try reader.count(minimum: 5)
        var messages: [MessageDescription] = []
        messages.reserveCapacity(count)
        for _ in 0..<count {
            var entry = WireReader(try reader.raw(reader.count(minimum: 1)))
            let message = try entry.text(limit: limit)
            let arguments = try entry.count(minimum: 2)
            var types: [TypeDescription] = []
            types.reserveCapacity(arguments + 1)
            for _ in 0...arguments {
                let kind = TypeDescription.Kind(rawValue: try entry.byte())
                types.append(TypeDescription(kind, try entry.text(limit: limit)))
            }
            let result = types.removeLast()
            messages.append(MessageDescription(message, types, result))
        }
        self.init(name, messages)
    }
}
