import Foundation
import KeyedArchive

extension NSCodingUnarchiver {
    func decode(type text: String, at address: UnsafeMutableRawPointer) {
        guard let type = TypeEncoding(text) else {
            // The size is unknown, so the memory stays unchanged.
            fail(ArchiveError(.unsupported, "the type string “\(text)” is not one that can be archived"))
            return
        }
        let step = ArchiveError.Step.key("$\(frames[frames.count - 1].position)")
        let isWhole = perform(false, [step]) {
            try decode(type, at: address)
            return true
        }
        if !isWhole { clear(type, at: address) }
    }

    private func decode(_ type: TypeEncoding, at address: UnsafeMutableRawPointer) throws {
        switch type {
        case .scalar(let code): try decode(code, try nextValue(type.text), at: address)
        case .structure(_, let fields):
            var offset = 0
            for field in fields {
                offset = offset.rounded(up: field.alignment)
                try decode(field, at: address + offset)
                offset += field.size
            }
        case .array(let count, let element):
            try decodeArray(count, element, try nextValue(type.text), at: address)
        }
    }

    private func decodeArray(
        _ count: Int, _ element: TypeEncoding, _ value: ArchivedValue, at address: UnsafeMutableRawPointer
    ) throws {
        guard case .reference(let index) = value, graph.objects.indices.contains(index),
            let record = graph.objects[index].record, record.typeName == OldStyleArray.className
        else { throw ArchiveError(.typeMismatch, "expected a C array, found \(Scalar.kind(value))") }
        func number(_ key: String) throws -> Int { try record[key].map { try Scalar.integer($0) } ?? -1 }
        let found = try number(OldStyleArray.count)
        guard found == count else {
            throw ArchiveError(.typeMismatch, "expected a C array of \(count) elements, found \(found)")
        }
        guard try number(OldStyleArray.type) == Int(element.text.utf8.first ?? 0),
            try number(OldStyleArray.size) == element.size
        else { throw ArchiveError(.typeMismatch, "a C array of elements of another type than “\(element.text)”") }
        guard frames.count < limits.depth + limits.chain else { throw ArchiveError(.limit, "C arrays nested too deep") }
        frames.append(DecodingFrame(record, steps: [.key("$\(frames[frames.count - 1].position)")], allowsKeys: true))
        defer { frames.removeLast() }
        for position in 0..<count { try decode(element, at: address + position * element.stride) }
    }

    private func decode(_ code: UInt8, _ value: ArchivedValue, at address: UnsafeMutableRawPointer) throws {
        func store<T: BitwiseCopyable>(_ value: T) { address.storeBytes(of: value, as: T.self) }
        func integer<T: FixedWidthInteger>(_ type: T.Type) throws -> T {
            try number(value).map { try Scalar.integer($0) } ?? 0
        }
        switch Character(UnicodeScalar(code)) {
        case "c": store(try integer(Int8.self))
        case "C": store(try integer(UInt8.self))
        case "s": store(try integer(Int16.self))
        case "S": store(try integer(UInt16.self))
        case "i", "l": store(try integer(Int32.self))
        case "I", "L": store(try integer(UInt32.self))
        case "q": store(try integer(Int64.self))
        case "Q": store(try integer(UInt64.self))
        case "f": store(Float(try number(value).map { try Scalar.real($0) } ?? 0))
        case "d": store(try number(value).map { try Scalar.real($0) } ?? 0)
        case "B": store(try number(value).map { try Scalar.bool($0) } ?? false)
        case "*":
            let text = try string(value)
            store(text.flatMap { strdup($0) }.map { keep($0) } ?? 0)
        case "#":
            let type: AnyClass? = try string(value).map { try classNamed($0) }
            address.assumingMemoryBound(to: AnyClass?.self).pointee = type
        default: address.assumingMemoryBound(to: Any?.self).pointee = try object(value, of: nil)
        }
    }

    private func keep(_ string: UnsafeMutablePointer<CChar>) -> UInt {
        strings.append(string)
        return UInt(bitPattern: string)
    }

    private func string(_ value: ArchivedValue) throws -> String? {
        guard let object = try object(value, of: [NSString.self]) else { return nil }
        guard let text = object as? NSString else { throw ArchiveError(.typeMismatch, "expected a string") }
        return text as String
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
}
