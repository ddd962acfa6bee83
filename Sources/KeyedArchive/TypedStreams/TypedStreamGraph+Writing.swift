extension TypedStreamGraph {
    /// Writes the archive: the bytes that were read.
    ///
    /// Each value is written by itself, in the form it had in the file.
    /// - Throws: Nothing of its own; the type allows for formats that are written otherwise.
    /// - Complexity: Linear in the size of the archive.
    public func bytes() throws -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(byteCount)
        try write { bytes += $0 }
        return bytes
    }

    /// Writes the archive in pieces, each of which is valid during the call.
    ///
    /// - Parameter receiver: Gets the pieces, in order.
    /// - Throws: What `receiver` throws.
    /// - Complexity: Linear in the size of the archive.
    public func write(to receiver: (UnsafeRawBufferPointer) throws -> Void) throws {
        var writer = TypedStreamWriter(isBigEndian: isBigEndian)
        defer { writer.deallocate() }
        var reader = reader(.copying)
        writer.noted = [systemNumber]
        writer.number(systemNumber)
        while let token = try reader.next() {
            // The writer has used up its own.
            if !reader.source.noted.isEmpty { swap(&writer.noted, &reader.source.noted) }
            write(token, reader.lastEncoding, to: &writer)
            if writer.bytes.count >= Self.piece { try writer.pass(to: receiver) }
        }
        try writer.pass(to: receiver)
    }

    private static let piece = 1 << 16

    private func write(_ token: TypedStreamToken, _ encoding: UInt8, to writer: inout TypedStreamWriter) {
        func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(rebasing: index.bytes.bytes[range])
        }
        func shared(_ string: TypedStreamSharedString) {
            writer.sharedString(bytes(string.range), number: string.number, isNew: string.isNew)
        }
        switch token {
        case .group(let type):
            writer.sharedString(bytes(type.start..<type.end), number: type.number, isNew: type.isNew)
        case .null: writer.null()
        case .byte(let byte): writer.byte(byte)
        case .number(let number): writer.number(number)
        case .float(let bits): writer.float(bits: bits)
        case .double(let bits): writer.double(bits: bits)
        case .text(let range): writer.text(bytes(range))
        case .name(let string): shared(string)
        case .bytes(let range, _): writer.raw(bytes(range))
        case .reference(let label): writer.reference(label)
        case .object: writer.new()
        case .endObject: writer.endObject()
        case .type(_, let name, let version):
            writer.new()
            shared(name)
            writer.number(version)
        case .cString(_, let text):
            writer.new()
            shared(text)
        case .endGroup, .nothing, .array, .emptyArray, .endArray, .structure, .endStructure: break
        }
    }

    /// What the archive stores in another form than archivers usually do.
    ///
    /// - Throws: Nothing for an archive that was read.
    /// - Complexity: Linear in the size of the archive.
    package func forms() throws -> TypedStreamForms {
        var forms = TypedStreamForms()
        var strings = TypedStreamStrings()
        defer { strings.deallocate() }
        var reader = reader(.copying)
        reader.source.noted = [systemNumber]
        var numberCount = 0
        var stringCount = 0
        func note(_ range: Range<Int>, _ number: Int, isNew: Bool) {
            let bytes = UnsafeRawBufferPointer(rebasing: index.bytes.bytes[range])
            let usual = strings.number(of: bytes)
            if isNew ? usual != nil : usual != number {
                forms.strings.append(.init(position: stringCount, number: isNew ? strings.count : number))
            }
            if isNew { strings.append(bytes) }
            stringCount += 1
        }
        while true {
            let token = try reader.next()
            let last = reader.source.noted.count - 1
            for (position, stored) in reader.source.noted.enumerated() {
                let value = position == last ? token : nil
                let usual = Self.usual(stored, of: value, reader.lastEncoding)
                if usual != stored { forms.numbers.append(.init(position: numberCount, stored: stored)) }
                numberCount += 1
            }
            reader.source.noted.removeAll(keepingCapacity: true)
            switch token {
            case nil: return forms
            case .group(let type): note(type.start..<type.end, type.number, isNew: type.isNew)
            case .name(let string), .type(_, let string, _), .cString(_, let string):
                note(string.range, string.number, isNew: string.isNew)
            default: break
            }
        }
    }

    /// How archivers store a number; it is that of `token`, or beside of it.
    private static func usual(
        _ stored: TypedStreamNumber?, of token: TypedStreamToken?, _ encoding: UInt8
    ) -> TypedStreamNumber? {
        switch token {
        case .number(let number)?:
            switch encoding {
            case UInt8(ascii: "f"): TypedStreamNumber(whole: Double(Float(number.value)))
            case UInt8(ascii: "d"): TypedStreamNumber(whole: Double(number.value))
            default: number.usual(encoding)
            }
        case .float(let bits)?: TypedStreamNumber(whole: Double(Float(bitPattern: bits)))
        case .double(let bits)?: TypedStreamNumber(whole: Double(bitPattern: bits))
        default: stored.map { TypedStreamNumber($0.value) }
        }
    }
}
