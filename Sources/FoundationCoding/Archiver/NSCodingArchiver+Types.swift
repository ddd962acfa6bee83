import Foundation
import KeyedArchive

extension NSCodingArchiver {
    func encode(type text: String, at address: UnsafeRawPointer) throws {
        guard let type = TypeEncoding(text) else {
            throw ArchiveError(.unsupported, "the type string “\(text)” is not one that can be archived")
        }
        try encode(type, at: address)
    }

    private func encode(_ type: TypeEncoding, at address: UnsafeRawPointer) throws {
        switch type {
        case .scalar(let code):
            let value = try scalar(code, at: address)
            frames[frames.count - 1].append(value, type: type.text)
        case .structure(_, let fields):
            var offset = 0
            for field in fields {
                offset = offset.rounded(up: field.alignment)
                try encode(field, at: address + offset)
                offset += field.size
            }
        case .array(let count, let element):
            let index = try writer.reserve()
            frames.append(EncodingFrame(allowsKeys: true))
            try encodeElements(count, element, at: address)
            let frame = frames.removeLast()
            try writer.fill(
                index, className: OldStyleArray.className, superclasses: ["NSObject"], version: 0, keys: frame.keys,
                values: frame.values)
            frames[frames.count - 1].append(.reference(index), type: type.text)
        }
    }

    /// Encodes a C array as an object, like Apple's archiver.
    private func encodeElements(_ count: Int, _ element: TypeEncoding, at address: UnsafeRawPointer) throws {
        var frame = EncodingFrame(allowsKeys: true)
        frame.set(.integer(Int64(count)), forKey: OldStyleArray.count)
        frame.set(.integer(Int64(element.size)), forKey: OldStyleArray.size)
        frame.set(.integer(Int64(element.text.utf8.first ?? 0)), forKey: OldStyleArray.type)
        frames[frames.count - 1] = frame
        for position in 0..<count { try encode(element, at: address + position * element.stride) }
    }

    private func scalar(_ code: UInt8, at address: UnsafeRawPointer) throws -> ArchivedValue {
        func load<T: BitwiseCopyable>(_ type: T.Type) -> T { address.loadUnaligned(as: type) }
        switch Character(UnicodeScalar(code)) {
        case "c": return .integer(Int64(load(Int8.self)))
        case "C": return .integer(Int64(load(UInt8.self)))
        case "s": return .integer(Int64(load(Int16.self)))
        case "S": return .integer(Int64(load(UInt16.self)))
        case "i", "l": return .integer(Int64(load(Int32.self)))
        case "I", "L": return .integer(Int64(load(UInt32.self)))
        case "q": return .integer(load(Int64.self))
        case "Q": return .whole(Int128(load(UInt64.self)))
        case "f": return .float(bits: load(UInt32.self))
        case "d": return .double(bits: load(UInt64.self))
        case "B": return .bool(load(UInt8.self) != 0)
        case "*":
            let text = UnsafePointer<CChar>(bitPattern: load(UInt.self)).map { String(cString: $0) }
            return try value(of: text.map { $0 as NSString })
        case "#":
            let type: AnyClass? = address.assumingMemoryBound(to: AnyClass?.self).pointee
            return try value(of: type.map { ClassNames.name(of: $0) as NSString })
        default: return try value(of: address.assumingMemoryBound(to: Any?.self).pointee)
        }
    }
}

/// The class that represents a C array in archives.
enum OldStyleArray {
    static let className = "_NSKeyedCoderOldStyleArray"
    static let count = "NS.count"
    static let size = "NS.size"
    static let type = "NS.type"
}
