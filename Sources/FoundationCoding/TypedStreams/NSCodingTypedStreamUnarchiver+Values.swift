public import Foundation
import KeyedArchive

extension NSCodingTypedStreamUnarchiver {
    // MARK: Steps and errors

    /// Runs a step of decoding unless an earlier one failed; returns `none` after an error.
    func perform<T>(_ none: T, _ step: () throws -> T) -> T {
        guard failure == nil else { return none }
        do {
            let result = try step()
            return failure == nil ? result : none
        } catch {
            fail(error)
            return none
        }
    }

    /// Keeps the first error, with the path to the value being decoded and the byte.
    func fail(_ error: any Error) {
        guard failure == nil else { return }
        let known =
            (error as? ArchiveError)
            ?? ArchiveError(.thrownByType, "the class's own code threw \(Swift.type(of: error))", underlying: error)
        let frame = frames[frames.count - 1]
        let owner = frame.place.map { " of \(Self.printable(frame.ancestry?.name ?? "an object")) #\($0.label)" } ?? ""
        var failure = ArchiveError(
            known.code, "\(known.message), at byte \(frame.cursor.position)\(owner)", underlying: known.underlying)
        failure.prepend(.key("$\(frame.valueCount)"))
        for frame in frames.reversed() {
            if let place = frame.place { failure.prepend(.key("$\(place.position)")) }
        }
        self.failure = failure
    }

    /// A name from the archive, made safe for a message.
    static func printable(_ name: String) -> String { NSCodingUnarchiver.printable(name) }

    /// Reports values that were not decoded.
    func expectEnd(of owner: @autoclosure () -> String) throws {
        guard let rest = frames[frames.count - 1].cursor.restOfGroup() else { return }
        let owner = owner()
        var count = 0
        var cursor = frames[frames.count - 1].cursor
        while cursor.nextType() != nil {
            var depth = 0
            repeat {
                switch cursor.next() {
                case .array?, .structure?: depth += 1
                case .endArray?, .endStructure?: depth -= 1
                default: break
                }
            } while depth > 0
            count += 1
        }
        throw ArchiveError(
            .typeMismatch,
            "\(count) value\(count == 1 ? "" : "s") of \(owner) \(count == 1 ? "was" : "were") not read; “\(rest)” is next"
        )
    }

    // MARK: Types

    /// Checks that the next value has a type, and begins to read it.
    func expect(_ type: TypeEncoding, _ text: @autoclosure () -> String) throws {
        guard let found = frames[frames.count - 1].cursor.nextType() else {
            throw ArchiveError(.missingKey, "expected “\(text())”, found the end of the values")
        }
        if case .scalar(let code) = type, found.count == 1, found.withBytes({ $0[0] == code }) { return }
        if let stored = TypeEncoding(found.description, .typedStreamValues),
            type.accepts(stored, isWide: accepts32BitTypes)
        {
            return
        }
        throw ArchiveError(.typeMismatch, "expected “\(text())”, found “\(found)”")
    }

    /// Checks that the next value has one of these types of one character, and returns it with the value.
    func next(_ codes: StaticString) throws -> (code: UInt8, value: TypedStreamValue) {
        guard let found = frames[frames.count - 1].cursor.nextType() else {
            throw ArchiveError(.missingKey, "expected “\(codes)”, found the end of the values")
        }
        let code = found.withBytes { $0[0] }
        let isFound = codes.withUTF8Buffer { $0.contains(code) }
        guard found.count == 1, isFound else {
            throw ArchiveError(.typeMismatch, "expected “\(codes)”, found “\(found)”")
        }
        return (code, try value())
    }

    /// The next value, whose type was checked.
    func value() throws -> TypedStreamValue {
        guard let value = frames[frames.count - 1].cursor.next() else {
            throw ArchiveError(.corrupt, "expected a value, found the end of a group")
        }
        return value
    }

    func endValue() { frames[frames.count - 1].valueCount += 1 }

    // MARK: Memory

    func decode(type text: String, at address: UnsafeMutableRawPointer) {
        guard let type = TypeEncoding(text, .typedStream) else {
            // The size is unknown, so the memory stays unchanged.
            fail(TypeEncoding.unknown(text))
            return
        }
        let isWhole = perform(false) {
            try expect(type, text)
            try decode(type, at: address)
            endValue()
            return true
        }
        if !isWhole { clear(type, at: address) }
    }

    private func decode(_ type: TypeEncoding, at address: UnsafeMutableRawPointer) throws {
        switch type {
        case .scalar(let code): try decode(code, try value(), at: address)
        case .structure(_, let fields):
            _ = try value()
            var offset = 0
            for field in fields {
                offset = offset.rounded(up: field.alignment)
                try decode(field, at: address + offset)
                offset += field.size
            }
            _ = try value()
        case .array(let count, let element):
            switch try value() {
            case .bytes(let bytes, _):
                bytes.withBytes { bytes in
                    if let start = bytes.baseAddress { address.copyMemory(from: start, byteCount: bytes.count) }
                }
            case .emptyArray: break
            default:
                for position in 0..<count { try decode(element, at: address + position * element.stride) }
                _ = try value()
            }
        }
    }

    private func decode(_ code: UInt8, _ value: TypedStreamValue, at address: UnsafeMutableRawPointer) throws {
        func store<T: BitwiseCopyable>(_ value: T) { address.storeBytes(of: value, as: T.self) }
        switch value {
        case .integer(let value): storeInteger(value, code, at: address)
        case .unsigned(let value): storeInteger(Int64(bitPattern: value), code, at: address)
        case .bool(let value): store(value)
        case .float(let bits):
            code == UInt8(ascii: "d") ? store(Double(Float(bitPattern: bits))) : store(Float(bitPattern: bits))
        case .double(let bits): store(Double(bitPattern: bits))
        case .nothing: break
        case .selector(let text), .atom(let text): store(UInt(bitPattern: text.flatMap { string($0) }))
        default:
            switch Character(UnicodeScalar(code)) {
            case "@": address.assumingMemoryBound(to: Any?.self).pointee = try object(value, of: nil)
            case "#": address.assumingMemoryBound(to: AnyClass?.self).pointee = try type(value)
            default: store(UInt(bitPattern: try string(value)))
            }
        }
    }

    private func storeInteger(_ value: Int64, _ code: UInt8, at address: UnsafeMutableRawPointer) {
        switch TypeEncoding.scalarSize(code) {
        case 1: address.storeBytes(of: Int8(truncatingIfNeeded: value), as: Int8.self)
        case 2: address.storeBytes(of: Int16(truncatingIfNeeded: value), as: Int16.self)
        case 4: address.storeBytes(of: Int32(truncatingIfNeeded: value), as: Int32.self)
        default: address.storeBytes(of: value, as: Int64.self)
        }
    }

    private func clear(_ type: TypeEncoding, at address: UnsafeMutableRawPointer) {
        switch type {
        case .scalar(UInt8(ascii: "@")): address.assumingMemoryBound(to: Any?.self).pointee = nil
        case .structure(_, let fields):
            var offset = 0
            for field in fields {
                offset = offset.rounded(up: field.alignment)
                clear(field, at: address + offset)
                offset += field.size
            }
        case .array(let count, let element):
            for position in 0..<count { clear(element, at: address + position * element.stride) }
        default: memset(address, 0, type.size)
        }
    }

    // MARK: Strings

    /// A C string, one pointer for each label.
    private func string(_ value: TypedStreamValue) throws -> UnsafeMutablePointer<CChar>? {
        guard case .label(let label) = value, case .cString(let text) = graph.labels[label] else { return nil }
        if let known = stringsByLabel[label] { return known }
        let string = Self.copy(text)
        stringsByLabel[label] = string
        return string
    }

    /// A selector or an atom, one pointer for each text.
    private func string(_ text: ArchivedText) -> UnsafeMutablePointer<CChar>? {
        if let known = stringsByText[text] { return known }
        let string = Self.copy(text)
        stringsByText[text] = string
        return string
    }

    private static func copy(_ text: ArchivedText) -> UnsafeMutablePointer<CChar>? {
        text.withBytes { bytes in
            bytes.baseAddress.flatMap { strndup($0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? strdup("")
        }
    }

    // MARK: Bytes

    /// Decodes the next bytes, as `encodeBytes(_:length:)` encoded them, under the type `+`; nil if nil is there.
    public func decodeBytes() -> Data? {
        perform(nil) {
            guard case .text(let text) = try next("+").value else {
                endValue()
                return nil
            }
            endValue()
            return text.data
        }
    }

    /// The bytes of `+`, or of a count and an array of `c`, as `encodeDataObject:` writes them.
    func nextData() throws -> Data? {
        let (code, value) = try next("i+")
        endValue()
        if code == UInt8(ascii: "+") {
            guard case .text(let text) = value else { return nil }
            return text.data
        }
        guard case .integer(let count) = value else { return nil }
        let found = frames[frames.count - 1].cursor.nextType()
        guard count >= 0, let found, ["[\(count)c]", "[\(count)C]"].contains(found.description),
            case .bytes(let bytes, _) = try self.value()
        else {
            throw ArchiveError(
                .typeMismatch, "expected “[\(count)c]”, found \(found.map { "“\($0)”" } ?? "the end of the values")")
        }
        endValue()
        return bytes.data
    }

    // MARK: Points, sizes and rectangles

    /// Decodes a point, in the form of 32-bit programs, `{_NSPoint=ff}`, or of 64-bit ones, `{CGPoint=dd}`.
    ///
    /// It is called `decodePoint` elsewhere; on Linux that method cannot be overridden.
    public func decodeStoredPoint() -> NSPoint {
        let numbers = numbers("{CGPoint=dd}", 2)
        return NSPoint(x: numbers[0], y: numbers[1])
    }

    /// Decodes a size, in the form of 32-bit programs, `{_NSSize=ff}`, or of 64-bit ones, `{CGSize=dd}`.
    public func decodeStoredSize() -> NSSize {
        let numbers = numbers("{CGSize=dd}", 2)
        return NSSize(width: numbers[0], height: numbers[1])
    }

    /// Decodes a rectangle, in the form of 32-bit or of 64-bit programs.
    public func decodeStoredRect() -> NSRect {
        let numbers = numbers("{CGRect={CGPoint=dd}{CGSize=dd}}", 4)
        return NSRect(x: numbers[0], y: numbers[1], width: numbers[2], height: numbers[3])
    }

    private func numbers(_ type: String, _ count: Int) -> [Double] {
        var numbers = [Double](repeating: 0, count: count)
        let isWide = accepts32BitTypes
        accepts32BitTypes = true
        defer { accepts32BitTypes = isWide }
        numbers.withUnsafeMutableBytes { bytes in
            if let start = bytes.baseAddress { decode(type: type, at: start) }
        }
        return numbers
    }
}
