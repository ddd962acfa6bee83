public import Foundation
import KeyedArchive

extension NSCodingTypedStreamArchiver {
    // MARK: Steps and errors

    /// Runs a step of encoding unless an earlier one failed, and keeps its error.
    func perform(_ step: () throws -> Void) {
        guard failure == nil else { return }
        do {
            if isFinished { throw ArchiveError(.misuse, "the archive is complete, nothing can be added") }
            try step()
            endValue()
        } catch {
            fail(error)
        }
    }

    /// Keeps the first error, with the path to the value being encoded.
    func fail(_ error: any Error) {
        guard failure == nil else { return }
        var failure =
            (error as? ArchiveError)
            ?? ArchiveError(.thrownByType, "the class's own code threw \(type(of: error))", underlying: error)
        for place in places.reversed() { failure.prepend(.key("$\(place.count)")) }
        self.failure = failure
    }

    // MARK: Groups

    /// Begins a group, whose values have to follow.
    func group(_ type: String) {
        guard pass == .writing else { return }
        var type = type
        type.withUTF8 { writer.sharedString(UnsafeRawBufferPointer($0)) }
    }

    func write(data: Data) {
        guard pass == .writing else { return }
        group("i")
        writer.integer(Int64(data.count), UInt8(ascii: "i"))
        group("[\(data.count)c]")
        data.withUnsafeBytes { writer.raw($0) }
    }

    /// A value of `+`.
    func text(_ bytes: UnsafeRawBufferPointer) {
        guard pass == .writing else { return }
        group("+")
        writer.text(bytes)
    }

    // MARK: Values with types

    /// Encodes values as one group of these types: what `encodeValuesOfObjCTypes:` does elsewhere.
    ///
    /// - Parameters:
    ///   - types: The encodings, one behind the other.
    ///   - values: As many values, of these types.
    /// - Complexity: Linear in the number of the values.
    public func encodeValues(_ types: String, _ values: [CodedValue]) {
        perform {
            guard let list = TypeEncoding.list(types, .typedStreamValues), !list.isEmpty else {
                throw TypeEncoding.unknown(types)
            }
            guard list.count == values.count else {
                throw ArchiveError(.misuse, "\(values.count) values for the \(list.count) types “\(types)”")
            }
            group(types)
            for (type, value) in zip(list, values) { try write(value, type) }
        }
    }

    /// Writes a value of a group.
    func write(_ value: CodedValue, _ type: TypeEncoding) throws {
        switch (type, value) {
        case (.array(let count, let element), .list(let values)):
            guard values.count == count else {
                throw ArchiveError(.misuse, "\(values.count) values for “\(type.fullText)”")
            }
            for value in values { try write(value, element) }
        case (.structure(_, let fields), .list(let values)):
            guard values.count == fields.count else {
                throw ArchiveError(.misuse, "\(values.count) values for “\(type.fullText)”")
            }
            for (field, value) in zip(fields, values) { try write(value, field) }
        case (.array(let count, .scalar(let code)), .bytes(let bytes?)) where "cC".utf8.contains(code):
            guard bytes.count == count else {
                throw ArchiveError(.misuse, "\(bytes.count) bytes for “\(type.fullText)”")
            }
            if pass == .writing { bytes.withUnsafeBytes { writer.raw($0) } }
        case (.array, .nothing) where type.isNothing: break
        case (.scalar(let code), _): try write(value, code)
        default: throw ArchiveError(.misuse, "a value of another type than “\(type.fullText)”")
        }
    }

    private func write(_ value: CodedValue, _ code: UInt8) throws {
        switch (Character(UnicodeScalar(code)), value) {
        case ("@", .object(let object)): try write(object)
        case ("#", .type(let type)): try write(type: type)
        case ("*", .string(let text)): write(cString: text.map { Array($0.utf8) })
        case (":", .string(let text)), ("%", .string(let text)): write(name: text.map { Array($0.utf8) })
        case ("+", .bytes(let bytes)):
            guard pass == .writing else { return }
            guard let bytes else { return writer.null() }
            bytes.withUnsafeBytes { writer.text($0) }
        case ("!", _): break
        case ("B", .bool(let value)): byte(value ? 1 : 0)
        case ("f", .float(let value)): float(value.bitPattern)
        case ("d", .double(let value)): double(value.bitPattern)
        case ("Q", .unsigned(let value)): integer(Int64(bitPattern: value), code)
        case (_, .integer(let value)) where Self.fits(value, code): integer(value, code)
        default:
            throw ArchiveError(.misuse, "a value of another type than “\(UnicodeScalar(code))”, or out of its range")
        }
    }

    private static func fits(_ value: Int64, _ code: UInt8) -> Bool {
        switch Character(UnicodeScalar(code)) {
        case "c": Int8(exactly: value) != nil
        case "C": UInt8(exactly: value) != nil
        case "s": Int16(exactly: value) != nil
        case "S": UInt16(exactly: value) != nil
        case "i", "l": Int32(exactly: value) != nil
        case "I", "L": UInt32(exactly: value) != nil
        case "q": true
        case "Q": value >= 0
        default: false
        }
    }

    // MARK: Memory

    func encode(type text: String, at address: UnsafeRawPointer) {
        perform {
            guard let type = TypeEncoding(text, .typedStream) else { throw TypeEncoding.unknown(text) }
            group(text)
            try write(type, at: address)
        }
    }

    func write(_ type: TypeEncoding, at address: UnsafeRawPointer) throws {
        switch type {
        case .scalar(let code): try write(code, at: address)
        case .structure(_, let fields):
            var offset = 0
            for field in fields {
                offset = offset.rounded(up: field.alignment)
                try write(field, at: address + offset)
                offset += field.size
            }
        case .array(let count, .scalar(let code)) where code == UInt8(ascii: "c") || code == UInt8(ascii: "C"):
            if pass == .writing { writer.raw(UnsafeRawBufferPointer(start: address, count: count)) }
        case .array(let count, let element):
            for position in 0..<count { try write(element, at: address + position * element.stride) }
        }
    }

    private func write(_ code: UInt8, at address: UnsafeRawPointer) throws {
        func load<T: BitwiseCopyable>(_ type: T.Type) -> T { address.loadUnaligned(as: type) }
        switch Character(UnicodeScalar(code)) {
        case "c": integer(Int64(load(Int8.self)), code)
        case "C": integer(Int64(load(UInt8.self)), code)
        case "B": byte(load(UInt8.self) == 0 ? 0 : 1)
        case "s": integer(Int64(load(Int16.self)), code)
        case "S": integer(Int64(load(UInt16.self)), code)
        case "i", "l": integer(Int64(load(Int32.self)), code)
        case "I", "L": integer(Int64(load(UInt32.self)), code)
        case "q", "Q": integer(load(Int64.self), code)
        case "f": float(load(UInt32.self))
        case "d": double(load(UInt64.self))
        case "!": break
        case "@": try write(address.assumingMemoryBound(to: Any?.self).pointee)
        case "#": try write(type: address.assumingMemoryBound(to: AnyClass?.self).pointee)
        default:
            let text = UnsafePointer<UInt8>(bitPattern: load(UInt.self)).map { start in
                Array(
                    UnsafeBufferPointer(
                        start: start, count: strlen(UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self))))
            }
            code == UInt8(ascii: "*") ? write(cString: text) : write(name: text)
        }
    }

    // MARK: Scalars

    func byte(_ value: UInt8) { if pass == .writing { writer.byte(value) } }

    func float(_ bits: UInt32) { if pass == .writing { writer.float(bits: bits) } }

    func double(_ bits: UInt64) { if pass == .writing { writer.double(bits: bits) } }

    /// An integer of a type; bytes have no tag.
    func integer(_ value: Int64, _ code: UInt8) {
        guard pass == .writing else { return }
        if code == UInt8(ascii: "c") || code == UInt8(ascii: "C") {
            writer.byte(UInt8(truncatingIfNeeded: value))
        } else {
            writer.integer(value, code)
        }
    }

    /// A C string; equal ones are one.
    func write(cString text: [UInt8]?) {
        guard pass == .writing else { return }
        guard let text else { return writer.null() }
        if let label = stringLabels[text] { return writer.reference(label) }
        stringLabels[text] = nextLabel
        nextLabel += 1
        writer.new()
        text.withUnsafeBytes { writer.sharedString($0) }
    }

    /// A selector or an atom.
    func write(name text: [UInt8]?) {
        guard pass == .writing else { return }
        guard let text else { return writer.null() }
        text.withUnsafeBytes { writer.sharedString($0) }
    }

    // MARK: Points, sizes and rectangles

    /// Encodes a point as `{CGPoint=dd}`, or as `{_NSPoint=ff}` for 32-bit programs.
    ///
    /// It is called `encodePoint:` elsewhere; on Linux `encode(_: NSPoint)` cannot be overridden.
    ///
    /// - Parameters:
    ///   - point: The point.
    ///   - as32Bit: Whether to write the form of 32-bit programs.
    public func encodeStored(_ point: NSPoint, as32Bit: Bool = false) {
        encodeReals(as32Bit ? "{_NSPoint=ff}" : "{CGPoint=dd}", [point.x, point.y])
    }

    /// Encodes a size as `{CGSize=dd}`, or as `{_NSSize=ff}` for 32-bit programs.
    ///
    /// - Parameters:
    ///   - size: The size.
    ///   - as32Bit: Whether to write the form of 32-bit programs.
    public func encodeStored(_ size: NSSize, as32Bit: Bool = false) {
        encodeReals(as32Bit ? "{_NSSize=ff}" : "{CGSize=dd}", [size.width, size.height])
    }

    /// Encodes a rectangle in the form of 64-bit or of 32-bit programs.
    ///
    /// - Parameters:
    ///   - rectangle: The rectangle.
    ///   - as32Bit: Whether to write the form of 32-bit programs.
    public func encodeStored(_ rectangle: NSRect, as32Bit: Bool = false) {
        encodeReals(
            as32Bit ? "{_NSRect={_NSPoint=ff}{_NSSize=ff}}" : "{CGRect={CGPoint=dd}{CGSize=dd}}",
            [rectangle.origin.x, rectangle.origin.y, rectangle.size.width, rectangle.size.height])
    }

    private func encodeReals(_ type: String, _ numbers: [CGFloat]) {
        perform { writeReals(type, numbers) }
    }

    /// Writes a group of one structure of reals.
    func writeReals(_ type: String, _ numbers: [CGFloat]) {
        group(type)
        let isNarrow = type.contains("f")
        for number in numbers {
            isNarrow ? float(Float(number).bitPattern) : double(Double(number).bitPattern)
        }
    }
}
